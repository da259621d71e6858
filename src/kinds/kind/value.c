/* value.c - values without effect, defaults, base64 */

#include "kinds/kind/value.h"

#include <assert.h>
#include <stdint.h>

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static json_t *literal(const char *text)
{
    json_t *value = json_loads(text, JSON_DECODE_ANY, NULL);

    assert(value); /* the tables hold valid JSON */
    return value;
}

static bool is_empty(const json_t *value)
{
    if (json_is_object(value))
        return json_object_size(value) == 0;
    if (json_is_array(value))
        return json_array_size(value) == 0;
    if (json_is_string(value))
        return json_string_length(value) == 0;
    return !value || json_is_null(value);
}

bool value_is_harmless(const struct field *f, const json_t *value)
{
    AUTO(json_freep) json_t *harmless = NULL;

    if (is_empty(value))
        return true;
    if (f->is_switch && json_is_false(json_object_get(value, "enabled")))
        return true;
    if (!f->harmless)
        return false;
    harmless = literal(f->harmless);
    return json_equal(harmless, value) == 1;
}

static void set_defaults_below(const struct field *f, json_t *value)
{
    const char *key;
    json_t *item;

    if (f->type == FIELD_OBJECT) {
        value_set_defaults(f->fields, value);
    } else if (f->type == FIELD_LIST && f->item->type == FIELD_OBJECT) {
        for (size_t i = 0; i < json_array_size(value); i++)
            value_set_defaults(f->item->fields, json_array_get(value, i));
    } else if (f->type == FIELD_MAP && f->item->type == FIELD_OBJECT) {
        json_object_foreach (value, key, item)
            value_set_defaults(f->item->fields, item);
    }
}

static bool is_absent(const json_t *value)
{
    return !value || json_is_null(value) ||
           (json_is_string(value) && json_string_length(value) == 0);
}

void value_set_defaults(const struct field *fields, json_t *object)
{
    for (const struct field *f = fields; f->name; f++) {
        json_t *value = json_object_get(object, f->name);

        if (f->fallback && is_absent(value)) {
            value = literal(f->fallback);
            json_put(object, f->name, value);
        }
        if (value)
            set_defaults_below(f, value);
    }
}

static int digit_of(char c)
{
    const char *at = c ? strchr(digits, c) : NULL;

    return at ? (int)(at - digits) : -1;
}

bool base64_check(struct str text, size_t *ret_bad)
{
    size_t padding = 0;

    while (padding < 2 && padding < text.size && text.at[text.size - 1 - padding] == '=')
        padding++;
    for (size_t i = 0; i < text.size - padding; i++) {
        if (digit_of(text.at[i]) < 0) {
            *ret_bad = i;
            return false;
        }
    }
    *ret_bad = text.size - padding;
    return text.size % 4 == 0;
}

void base64_encode(struct str bytes, struct buf *out)
{
    for (size_t i = 0; i < bytes.size; i += 3) {
        size_t n = bytes.size - i < 3 ? bytes.size - i : 3;
        uint32_t word = 0;

        for (size_t j = 0; j < 3; j++)
            word = word << 8 | (j < n ? (uint8_t)bytes.at[i + j] : 0);
        for (size_t j = 0; j <= n; j++)
            buf_add_char(out, digits[word >> (18 - 6 * j) & 63]);
        for (size_t j = n; j < 3; j++)
            buf_add_char(out, '=');
    }
}

void base64_decode(struct str text, struct buf *out)
{
    for (size_t i = 0; i + 4 <= text.size; i += 4) {
        uint32_t word = 0;
        size_t n = 0;

        for (size_t j = 0; j < 4; j++) {
            int digit = digit_of(text.at[i + j]);

            word = word << 6 | (uint32_t)(digit < 0 ? 0 : digit);
            n += digit >= 0;
        }
        for (size_t j = 0; j + 1 < n; j++)
            buf_add_char(out, (char)(word >> (16 - 8 * j) & 255));
    }
}

const char *value_text(const json_t *object, const char *key)
{
    const char *text = json_text(object, key);

    return text ? text : "";
}

const json_t *value_find_named(const json_t *list, const char *name)
{
    for (size_t i = 0; name && i < json_array_size(list); i++)
        if (text_equal(json_text(json_array_get(list, i), "name"), name))
            return json_array_get(list, i);
    return NULL;
}
