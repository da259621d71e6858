/*
 * yaml_write.c - trees as YAML
 *
 * Readers of YAML 1.1 and 1.2 take the output for the same tree.
 */

#include <assert.h>
#include <inttypes.h>
#include <yaml.h>

#include "base/mem.h"
#include "base/yaml.h"
#include "base/yaml_scalar.h"

static int write_bytes(void *out, unsigned char *bytes, size_t size)
{
    buf_add(out, bytes, size);
    return 1;
}

static void emit(yaml_emitter_t *emitter, yaml_event_t *event)
{
    int done = yaml_emitter_emit(emitter, event);

    assert(done); /* our events are in order, and the buffer takes all output */
    (void)done;
}

/* ^[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?$: a number of base 60 to readers of YAML 1.1 */
static bool is_base60(const char *text)
{
    text += *text == '-' || *text == '+';
    if (!is_digit(*text))
        return false;
    text += strspn(text, "0123456789_");
    if (*text != ':')
        return false;
    while (*text == ':') {
        size_t digits = strspn(text + 1, "0123456789");

        if (digits == 0 || digits > 2 || (digits == 2 && text[1] > '5'))
            return false;
        text += 1 + digits;
    }
    text += *text == '.' ? 1 + strspn(text + 1, "0123456789_") : 0;
    return *text == '\0';
}

/* "2026-1-2", and with a time after it, which readers of YAML 1.1 take for a time stamp */
static bool is_stamp(const char *text)
{
    static const char *const after[] = {"-", "-", ""};

    for (int i = 0; i < 3; i++) {
        size_t digits = strspn(text, "0123456789");

        if (i == 0 ? digits != 4 : digits == 0 || digits > 2)
            return false;
        text += digits;
        if (!text_starts_with(text, after[i]))
            return false;
        text += strlen(after[i]);
    }
    return *text == '\0' || *text == 'T' || *text == 't' || *text == ' ';
}

/* Does the text have bytes that need double quotes: control characters, Unicode's line breaks or
 * its byte order mark? */
static bool needs_escapes(struct str text)
{
    for (size_t i = 0; i < text.size; i++) {
        unsigned char c = (unsigned char)text.at[i];
        struct str rest = {text.at + i, text.size - i};

        if ((c < ' ' && c != '\n') || c == 0x7f)
            return true;
        if (c == 0xc2 && (unsigned char)rest.at[1] < 0xa0)
            return true;
        if (str_starts_with(rest, STR("\xe2\x80\xa8")) ||
            str_starts_with(rest, STR("\xe2\x80\xa9")) ||
            str_starts_with(rest, STR("\xef\xbb\xbf")))
            return true;
    }
    return false;
}

/* Is the text of several lines, which a literal block preserves? */
static bool fits_block(struct str text)
{
    return !str_ends_with(text, STR(" ")) && !memmem(text.at, text.size, " \n", 2);
}

static yaml_scalar_style_t text_style(struct str text, bool is_key)
{
    if (needs_escapes(text))
        return YAML_DOUBLE_QUOTED_SCALAR_STYLE;
    if (memchr(text.at, '\n', text.size))
        return !is_key && fits_block(text) ? YAML_LITERAL_SCALAR_STYLE
                                           : YAML_DOUBLE_QUOTED_SCALAR_STYLE;
    if (yaml_resolve(text.at).meaning != IS_TEXT || is_base60(text.at) || is_stamp(text.at) ||
        text_equal(text.at, "<<"))
        return YAML_DOUBLE_QUOTED_SCALAR_STYLE;
    return YAML_PLAIN_SCALAR_STYLE; /* libyaml uses single quotes if necessary */
}

static void write_scalar(yaml_emitter_t *emitter, struct str text, yaml_scalar_style_t style)
{
    yaml_event_t event = {0};
    int made = yaml_scalar_event_initialize(&event, NULL, NULL, (const yaml_char_t *)text.at,
                                            (int)text.size, 1, 1, style);

    assert(made);
    (void)made;
    emit(emitter, &event);
}

static void write_text(yaml_emitter_t *emitter, struct str text, bool is_key)
{
    write_scalar(emitter, text, text_style(text, is_key));
}

static void write_value(yaml_emitter_t *emitter, json_t *j);

static void write_mapping(yaml_emitter_t *emitter, json_t *object)
{
    yaml_mapping_style_t style =
        json_object_size(object) > 0 ? YAML_BLOCK_MAPPING_STYLE : YAML_FLOW_MAPPING_STYLE;
    yaml_event_t event = {0};
    const char *key;
    json_t *value;

    (void)yaml_mapping_start_event_initialize(&event, NULL, NULL, 1, style); /* cannot fail so */
    emit(emitter, &event);
    json_object_foreach (object, key, value) {
        write_text(emitter, str_of(key), true);
        write_value(emitter, value);
    }
    (void)yaml_mapping_end_event_initialize(&event); /* never fails */
    emit(emitter, &event);
}

static void write_sequence(yaml_emitter_t *emitter, json_t *array)
{
    yaml_sequence_style_t style =
        json_array_size(array) > 0 ? YAML_BLOCK_SEQUENCE_STYLE : YAML_FLOW_SEQUENCE_STYLE;
    yaml_event_t event = {0};
    json_t *value;
    size_t i;

    (void)yaml_sequence_start_event_initialize(&event, NULL, NULL, 1, style); /* cannot fail so */
    emit(emitter, &event);
    json_array_foreach (array, i, value)
        write_value(emitter, value);
    (void)yaml_sequence_end_event_initialize(&event); /* never fails */
    emit(emitter, &event);
}

static void write_value(yaml_emitter_t *emitter, json_t *j)
{
    AUTO_FREE char *plain = NULL;

    if (json_is_object(j)) {
        write_mapping(emitter, j);
    } else if (json_is_array(j)) {
        write_sequence(emitter, j);
    } else if (json_is_string(j)) {
        write_text(emitter, (struct str){json_string_value(j), json_string_length(j)}, false);
    } else {
        plain = json_format(j); /* null, true, 12 and 0.5 look the same */
        write_scalar(emitter, str_of(plain), YAML_PLAIN_SCALAR_STYLE);
    }
}

char *yaml_format(const json_t *j)
{
    struct buf out = {.cap = SIZE_MAX / 4};
    yaml_emitter_t emitter;
    yaml_event_t event = {0};
    int initialized = yaml_emitter_initialize(&emitter);

    assert(initialized);
    (void)initialized;
    yaml_emitter_set_output(&emitter, write_bytes, &out);
    yaml_emitter_set_unicode(&emitter, 1);
    yaml_emitter_set_width(&emitter, -1);
    (void)yaml_stream_start_event_initialize(&event, YAML_UTF8_ENCODING); /* never fails */
    emit(&emitter, &event);
    (void)yaml_document_start_event_initialize(&event, NULL, NULL, NULL, 1); /* cannot fail so */
    emit(&emitter, &event);
    /* jansson's iterators take a mutable tree; nothing is changed */
    write_value(&emitter, (json_t *)(uintptr_t)j);
    (void)yaml_document_end_event_initialize(&event, 1); /* never fails */
    emit(&emitter, &event);
    (void)yaml_stream_end_event_initialize(&event); /* never fails */
    emit(&emitter, &event);
    yaml_emitter_delete(&emitter);
    return buf_steal(&out);
}
