/*
 * libyaml's events become jansson trees. What a plain scalar means follows resolve.go of go-yaml
 * v2, which sigs.k8s.io/yaml is built on; whole-numbered floats become integers, as they do there
 * on the way through JSON. Aliases are copied, within bounds, so that trees share nothing.
 */
#include "base/yaml.h"

#include <assert.h>
#include <inttypes.h>
#include <yaml.h>

#include "base/mem.h"

enum {
    ALIAS_USES_MAX = 1000,
    ALIAS_COST_MAX = 16 << 20
};

enum meaning {
    IS_TEXT,
    IS_NULL,
    IS_BOOL,
    IS_INT,
    IS_BIG_INT,
    IS_REAL,
    IS_NOT_FINITE
};

struct scalar {
    enum meaning meaning;
    bool truth;
    int64_t number;
    double real;
};

/* ---- what a plain scalar means ---- */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool resolve_word(const char *text, struct scalar *ret)
{
    static const struct {
        const char *text;
        enum meaning meaning;
        bool truth;
    } words[] = {
        {"", IS_NULL, false},      {"~", IS_NULL, false},     {"null", IS_NULL, false},
        {"Null", IS_NULL, false},  {"NULL", IS_NULL, false},  {"y", IS_BOOL, true},
        {"Y", IS_BOOL, true},      {"yes", IS_BOOL, true},    {"Yes", IS_BOOL, true},
        {"YES", IS_BOOL, true},    {"true", IS_BOOL, true},   {"True", IS_BOOL, true},
        {"TRUE", IS_BOOL, true},   {"on", IS_BOOL, true},     {"On", IS_BOOL, true},
        {"ON", IS_BOOL, true},     {"n", IS_BOOL, false},     {"N", IS_BOOL, false},
        {"no", IS_BOOL, false},    {"No", IS_BOOL, false},    {"NO", IS_BOOL, false},
        {"false", IS_BOOL, false}, {"False", IS_BOOL, false}, {"FALSE", IS_BOOL, false},
        {"off", IS_BOOL, false},   {"Off", IS_BOOL, false},   {"OFF", IS_BOOL, false},
    };
    static const char *const not_finite[] = {".nan",  ".NaN",  ".NAN",  ".inf",  ".Inf",  ".INF",
                                             "+.inf", "+.Inf", "+.INF", "-.inf", "-.Inf", "-.INF"};

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (!text_equal(text, words[i].text))
            continue;
        *ret = (struct scalar){.meaning = words[i].meaning, .truth = words[i].truth};
        return true;
    }
    for (size_t i = 0; i < sizeof(not_finite) / sizeof(not_finite[0]); i++) {
        if (!text_equal(text, not_finite[i]))
            continue;
        *ret = (struct scalar){.meaning = IS_NOT_FINITE};
        return true;
    }
    return false;
}

/* Cuts "0x", "0o", "0b" or the 0 of an octal number off `*text`. */
static unsigned cut_base(const char **text)
{
    const char *at = *text;

    if (at[0] != '0' || at[1] == '\0')
        return 10;
    *text += 2;
    switch (at[1]) {
    case 'x':
    case 'X':
        return 16;
    case 'o':
    case 'O':
        return 8;
    case 'b':
    case 'B':
        return 2;
    default:
        *text -= 1;
        return 8;
    }
}

static unsigned digit_value(char c)
{
    if (is_digit(c))
        return (unsigned)(c - '0');
    if (c >= 'a' && c <= 'f')
        return (unsigned)(c - 'a') + 10;
    if (c >= 'A' && c <= 'F')
        return (unsigned)(c - 'A') + 10;
    return 99;
}

/* As strconv.ParseInt and then ParseUint with base 0. */
static bool resolve_int(const char *text, struct scalar *ret)
{
    bool is_negative = *text == '-';
    bool is_signed = is_negative || *text == '+';
    uint64_t size = 0;
    unsigned base;

    text += is_signed;
    base = cut_base(&text);
    if (*text == '\0')
        return false;
    for (; *text; text++) {
        unsigned digit = digit_value(*text);

        if (digit >= base || __builtin_mul_overflow(size, base, &size) ||
            __builtin_add_overflow(size, digit, &size))
            return false;
    }
    if (size > (uint64_t)INT64_MAX + is_negative) {
        *ret = (struct scalar){.meaning = IS_BIG_INT};
        return !is_signed;
    }
    *ret = (struct scalar){.meaning = IS_INT,
                           .number = is_negative ? (int64_t)(0 - size) : (int64_t)size};
    return true;
}

static const char *skip_digits(const char *at)
{
    while (is_digit(*at))
        at++;
    return at;
}

/*
 * ^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$ rewritten as JSON writes it: no plus, no
 * leading zeros, digits on both sides of the point. NULL where it does not match.
 */
static char *float_as_json(const char *text)
{
    AUTO(buf_done) struct buf out = {0};
    const char *start;
    const char *end;
    bool has_whole;

    if (*text == '-')
        buf_add_char(&out, '-');
    start = text + (*text == '-' || *text == '+');
    end = skip_digits(start);
    has_whole = end > start;
    while (end - start > 1 && *start == '0')
        start++;
    buf_add(&out, has_whole ? start : "0", has_whole ? (size_t)(end - start) : 1);
    if (*end == '.') {
        start = end;
        end = skip_digits(start + 1);
        if (end > start + 1)
            buf_add(&out, start, (size_t)(end - start));
        else if (!has_whole)
            return NULL;
    } else if (!has_whole) {
        return NULL;
    }
    if (*end == 'e' || *end == 'E') {
        start = end;
        end += 1 + (end[1] == '-' || end[1] == '+');
        if (!is_digit(*end))
            return NULL;
        end = skip_digits(end);
        buf_add(&out, start, (size_t)(end - start));
    }
    return *end == '\0' ? buf_steal(&out) : NULL;
}

static bool resolve_real(const char *text, struct scalar *ret)
{
    AUTO_FREE char *json = float_as_json(text);
    AUTO(json_freep) json_t *j = NULL;
    double real;

    if (json)
        j = json_loads(json, JSON_DECODE_ANY | JSON_DECODE_INT_AS_REAL, NULL);
    if (!j)
        return false; /* not a number, or past the largest: text, as in go-yaml */
    real = json_real_value(j);
    *ret = (struct scalar){.meaning = IS_REAL, .real = real};
    if (real > -9.2e18 && real < 9.2e18) {
        int64_t whole = (int64_t)real;

        if (!((double)whole < real) && !((double)whole > real))
            *ret = (struct scalar){.meaning = IS_INT, .number = whole};
    }
    return true;
}

static struct scalar resolve(const char *text)
{
    struct scalar is = {.meaning = IS_TEXT};
    AUTO_FREE char *plain = NULL;
    size_t n = 0;

    if (resolve_word(text, &is))
        return is;
    if (!is_digit(*text) && *text != '-' && *text != '+' && *text != '.')
        return (struct scalar){.meaning = IS_TEXT};
    plain = mem_alloc(strlen(text) + 1);
    for (const char *at = text; *at; at++)
        if (*at != '_')
            plain[n++] = *at;
    if ((*text != '.' && resolve_int(plain, &is)) || resolve_real(plain, &is))
        return is;
    return (struct scalar){.meaning = IS_TEXT};
}

/* ---- reading ---- */

struct reader {
    const char *name;
    struct str text;
    yaml_parser_t parser;
    json_t *anchors; /* of the document: name to tree */
    unsigned depth;
    unsigned alias_uses;
    size_t alias_cost;
};

static void reader_done(struct reader *r)
{
    yaml_parser_delete(&r->parser);
    json_decref(r->anchors);
}

static struct err *fail(const struct reader *r, yaml_mark_t at, const char *fmt, ...) PRINTF(3, 4);

static struct err *fail(const struct reader *r, yaml_mark_t at, const char *fmt, ...)
{
    AUTO_FREE char *message = NULL;
    va_list ap;

    va_start(ap, fmt);
    message = mem_vformat(fmt, ap);
    va_end(ap);
    return err_new(ERR_BAD_REQUEST, "%s:%zu:%zu: %s", r->name, at.line + 1, at.column + 1, message);
}

static struct err *parser_failure(const struct reader *r)
{
    const yaml_parser_t *p = &r->parser;
    const char *problem = p->problem ? p->problem : "not YAML";
    yaml_mark_t at = p->problem_mark;

    if (p->error == YAML_READER_ERROR) { /* has no mark, only an offset */
        at = (yaml_mark_t){0};
        for (size_t i = 0; i < p->problem_offset && i < r->text.size; i++) {
            at.line += r->text.at[i] == '\n';
            at.column = r->text.at[i] == '\n' ? 0 : at.column + 1;
        }
    }
    if (p->context && p->context_mark.line != at.line)
        return fail(r, at, "%s (%s at line %zu)", problem, p->context, p->context_mark.line + 1);
    return fail(r, at, "%s", problem);
}

static struct err *next_event(struct reader *r, yaml_event_t *ret)
{
    yaml_event_delete(ret);
    *ret = (yaml_event_t){0};
    if (!yaml_parser_parse(&r->parser, ret))
        return parser_failure(r);
    return NULL;
}

static struct err *read_node(struct reader *r, const yaml_event_t *event, json_t **ret);

/* The meaning that a tag asks for; IS_TEXT also stands for what is text anyway. */
static bool find_tag(const char *tag, enum meaning *ret)
{
    static const struct {
        const char *tag;
        enum meaning meaning;
    } tags[] = {
        {"!", IS_TEXT},
        {YAML_STR_TAG, IS_TEXT},
        {YAML_TIMESTAMP_TAG, IS_TEXT},
        {YAML_NULL_TAG, IS_NULL},
        {YAML_BOOL_TAG, IS_BOOL},
        {YAML_INT_TAG, IS_INT},
        {YAML_FLOAT_TAG, IS_REAL},
    };

    for (size_t i = 0; i < sizeof(tags) / sizeof(tags[0]); i++) {
        if (!text_equal(tag, tags[i].tag))
            continue;
        *ret = tags[i].meaning;
        return true;
    }
    return false;
}

static struct err *scalar_meaning(const struct reader *r, const yaml_event_t *event,
                                  struct scalar *ret)
{
    const char *text = (const char *)event->data.scalar.value;
    const char *tag = (const char *)event->data.scalar.tag;
    enum meaning want = IS_TEXT;

    *ret = (struct scalar){.meaning = IS_TEXT};
    if (!tag) {
        if (event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE)
            *ret = resolve(text);
        return NULL;
    }
    if (!find_tag(tag, &want))
        return fail(r, event->start_mark, "tag '%s' is not supported", tag);
    if (want == IS_TEXT)
        return NULL;
    *ret = resolve(text);
    if (want != ret->meaning && !(want == IS_REAL && ret->meaning == IS_INT))
        return fail(r, event->start_mark, "'%s' is not what its tag '%s' says", text, tag);
    return NULL;
}

static struct err *read_scalar(const struct reader *r, const yaml_event_t *event, json_t **ret)
{
    const char *text = (const char *)event->data.scalar.value;
    struct scalar is = {0};

    if (memchr(text, '\0', event->data.scalar.length))
        return fail(r, event->start_mark, "a NUL byte in text");
    TRY(scalar_meaning(r, event, &is));
    switch (is.meaning) {
    case IS_NULL:
        *ret = json_null();
        break;
    case IS_BOOL:
        *ret = json_boolean(is.truth);
        break;
    case IS_INT:
        *ret = json_integer(is.number);
        break;
    case IS_REAL:
        *ret = json_real(is.real);
        break;
    case IS_BIG_INT:
        return fail(r, event->start_mark, "integer '%s' is over %" PRId64, text, INT64_MAX);
    case IS_NOT_FINITE:
        return fail(r, event->start_mark, "'%s' has no form in JSON", text);
    case IS_TEXT:
    default:
        *ret = json_string(text);
        break;
    }
    assert(*ret); /* libyaml lets only UTF-8 through */
    return NULL;
}

/* What a copy of `j` costs, in bytes or so, and how deep it is. */
static size_t copy_cost(json_t *j, unsigned depth, unsigned *ret_depth)
{
    size_t cost = 64 + json_string_length(j);
    const char *key;
    json_t *value;
    size_t i;

    *ret_depth = depth > *ret_depth ? depth : *ret_depth;
    json_object_foreach (j, key, value)
        cost += strlen(key) + copy_cost(value, depth + 1, ret_depth);
    json_array_foreach (j, i, value)
        cost += copy_cost(value, depth + 1, ret_depth);
    return cost;
}

static struct err *read_alias(struct reader *r, const yaml_event_t *event, json_t **ret)
{
    const char *anchor = (const char *)event->data.alias.anchor;
    json_t *target = json_object_get(r->anchors, anchor);
    unsigned depth = 0;

    if (!target)
        return fail(r, event->start_mark, "unknown anchor '%s'", anchor);
    r->alias_cost += copy_cost(target, 0, &depth);
    if (++r->alias_uses > ALIAS_USES_MAX || r->alias_cost > ALIAS_COST_MAX)
        return fail(r, event->start_mark, "aliases expand to too much");
    if (r->depth + depth > JSON_DEPTH_MAX)
        return fail(r, event->start_mark, "nested deeper than %u", JSON_DEPTH_MAX);
    *ret = json_deep_copy(target);
    assert(*ret);
    return NULL;
}

static struct err *read_sequence(struct reader *r, json_t **ret)
{
    AUTO(json_freep) json_t *array = json_array();
    AUTO(yaml_event_delete) yaml_event_t event = {0};

    TRY(next_event(r, &event));
    while (event.type != YAML_SEQUENCE_END_EVENT) {
        json_t *item = NULL;

        TRY(read_node(r, &event, &item));
        (void)json_array_append_new(array, item); /* a fresh array takes any value */
        TRY(next_event(r, &event));
    }
    *ret = TAKE(array);
    return NULL;
}

/* Keys are text in JSON: numbers and booleans become what JSON would show. */
static struct err *read_key(struct reader *r, const yaml_event_t *event, char **ret)
{
    AUTO(json_freep) json_t *key = NULL;

    TRY(read_node(r, event, &key));
    if (json_is_object(key) || json_is_array(key) || json_is_null(key))
        return fail(r, event->start_mark, "a key must be text, a number or a boolean");
    *ret = json_is_string(key) ? mem_strdup(json_string_value(key)) : json_format(key);
    return NULL;
}

static bool is_merge_key(const yaml_event_t *event)
{
    return event->type == YAML_SCALAR_EVENT &&
           event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE &&
           (!event->data.scalar.tag ||
            text_equal((const char *)event->data.scalar.tag, "tag:yaml.org,2002:merge")) &&
           text_equal((const char *)event->data.scalar.value, "<<");
}

/* The value of "<<": one mapping or a list of them, appended to `merges`. */
static struct err *read_merge(struct reader *r, json_t *merges)
{
    AUTO(yaml_event_delete) yaml_event_t event = {0};
    AUTO(json_freep) json_t *value = NULL;
    json_t *item;
    size_t i;

    TRY(next_event(r, &event));
    TRY(read_node(r, &event, &value));
    if (json_is_object(value)) {
        (void)json_array_append(merges, value);
        return NULL;
    }
    if (!json_is_array(value))
        return fail(r, event.start_mark, "'<<' wants a mapping or a list of mappings");
    json_array_foreach (value, i, item) {
        if (!json_is_object(item))
            return fail(r, event.start_mark, "'<<' wants a mapping or a list of mappings");
        (void)json_array_append(merges, item);
    }
    return NULL;
}

static struct err *read_pair(struct reader *r, const yaml_event_t *key_event, json_t *object)
{
    AUTO_FREE char *key = NULL;
    AUTO(yaml_event_delete) yaml_event_t event = {0};
    json_t *value = NULL;

    TRY(read_key(r, key_event, &key));
    if (json_object_get(object, key))
        return fail(r, key_event->start_mark, "key '%s' is there twice", key);
    TRY(next_event(r, &event));
    TRY(read_node(r, &event, &value));
    json_put(object, key, value);
    return NULL;
}

/* What is written in the mapping itself wins over what is merged, the first merged over later ones.
 */
static struct err *read_mapping(struct reader *r, json_t **ret)
{
    AUTO(json_freep) json_t *object = json_object();
    AUTO(json_freep) json_t *merges = json_array();
    AUTO(yaml_event_delete) yaml_event_t event = {0};
    json_t *merge;
    size_t i;

    TRY(next_event(r, &event));
    while (event.type != YAML_MAPPING_END_EVENT) {
        if (is_merge_key(&event))
            TRY(read_merge(r, merges));
        else
            TRY(read_pair(r, &event, object));
        TRY(next_event(r, &event));
    }
    json_array_foreach (merges, i, merge)
        (void)json_object_update_missing(object, merge); /* both are objects */
    *ret = TAKE(object);
    return NULL;
}

static struct err *read_collection(struct reader *r, const yaml_event_t *event, json_t **ret)
{
    bool is_mapping = event->type == YAML_MAPPING_START_EVENT;
    const char *tag =
        (const char *)(is_mapping ? event->data.mapping_start.tag : event->data.sequence_start.tag);

    if (tag && !text_equal(tag, is_mapping ? YAML_MAP_TAG : YAML_SEQ_TAG))
        return fail(r, event->start_mark, "tag '%s' is not supported", tag);
    if (r->depth >= JSON_DEPTH_MAX)
        return fail(r, event->start_mark, "nested deeper than %u", JSON_DEPTH_MAX);
    r->depth++;
    TRY(is_mapping ? read_mapping(r, ret) : read_sequence(r, ret));
    r->depth--;
    return NULL;
}

/* `event` starts the node. An anchor is known once its node is whole, so none contains itself. */
static struct err *read_node(struct reader *r, const yaml_event_t *event, json_t **ret)
{
    const yaml_char_t *anchor = NULL;

    if (event->type == YAML_ALIAS_EVENT)
        return read_alias(r, event, ret);
    if (event->type == YAML_SCALAR_EVENT) {
        anchor = event->data.scalar.anchor;
        TRY(read_scalar(r, event, ret));
    } else {
        anchor = event->type == YAML_MAPPING_START_EVENT ? event->data.mapping_start.anchor
                                                         : event->data.sequence_start.anchor;
        TRY(read_collection(r, event, ret));
    }
    if (anchor)
        (void)json_object_set(r->anchors, (const char *)anchor, *ret); /* alphanumeric */
    return NULL;
}

/* After the start of a document, up to its end. */
static struct err *read_document(struct reader *r, json_t *documents)
{
    AUTO(yaml_event_delete) yaml_event_t event = {0};
    json_t *root = NULL;

    (void)json_object_clear(r->anchors);
    TRY(next_event(r, &event));
    TRY(read_node(r, &event, &root));
    if (json_is_null(root))
        json_decref(root);
    else
        (void)json_array_append_new(documents, root); /* a fresh array takes any value */
    return next_event(r, &event);
}

struct err *yaml_parse(const char *name, struct str text, json_t **ret_documents)
{
    AUTO(reader_done) struct reader r = {.name = name, .text = text};
    AUTO(json_freep) json_t *documents = json_array();
    AUTO(yaml_event_delete) yaml_event_t event = {0};
    int initialized = yaml_parser_initialize(&r.parser);

    assert(initialized);
    (void)initialized;
    r.anchors = json_object();
    yaml_parser_set_input_string(&r.parser, (const unsigned char *)(text.at ? text.at : ""),
                                 text.size);
    while (event.type != YAML_STREAM_END_EVENT) {
        TRY(next_event(&r, &event));
        if (event.type == YAML_DOCUMENT_START_EVENT)
            TRY(read_document(&r, documents));
    }
    *ret_documents = TAKE(documents);
    return NULL;
}

/* ---- writing ---- */

static int write_bytes(void *out, unsigned char *bytes, size_t size)
{
    buf_add(out, bytes, size);
    return 1;
}

static void emit(yaml_emitter_t *emitter, yaml_event_t *event)
{
    int done = yaml_emitter_emit(emitter, event);

    assert(done); /* our events are in order, and what it writes into takes all */
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

/* Bytes that only double quotes carry: control, and the breaks and the mark that Unicode adds. */
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

/* Text of several lines that a literal block gives back as it is. */
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
    if (resolve(text.at).meaning != IS_TEXT || is_base60(text.at) || is_stamp(text.at) ||
        text_equal(text.at, "<<"))
        return YAML_DOUBLE_QUOTED_SCALAR_STYLE;
    return YAML_PLAIN_SCALAR_STYLE; /* which libyaml turns into single quotes where it must */
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
    /* jansson's iterators want it mutable; nothing is changed */
    write_value(&emitter, (json_t *)(uintptr_t)j);
    (void)yaml_document_end_event_initialize(&event, 1); /* never fails */
    emit(&emitter, &event);
    (void)yaml_stream_end_event_initialize(&event); /* never fails */
    emit(&emitter, &event);
    yaml_emitter_delete(&emitter);
    return buf_steal(&out);
}
