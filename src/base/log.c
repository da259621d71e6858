/* log.c - formatting of log lines, as key=value and as JSON */

#include "base/log.h"

#include <inttypes.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/stamp.h"
#include "base/str.h"

/* Limits of a line, which people and log collectors read: longer values are cut. */
enum {
    VALUE_MAX_BYTES = 4096
};

static const char *level_name(enum log_level level)
{
    static const char *const names[] = {
        [LOG_ERROR] = "error", [LOG_WARN] = "warn", [LOG_INFO] = "info", [LOG_DEBUG] = "debug"};

    return names[level];
}

static struct str cut_value(const char *text)
{
    struct str s = {text, strnlen(text, VALUE_MAX_BYTES)};

    while (text[s.size] != '\0' && s.size > 0 && ((unsigned char)text[s.size] & 0xc0) == 0x80)
        s.size--; /* do not cut inside a character */
    return s;
}

static bool is_plain(struct str s)
{
    for (size_t i = 0; i < s.size; i++) {
        unsigned char c = (unsigned char)s.at[i];

        if (c <= ' ' || c == '"' || c == '=' || c == '\\' || c == 0x7f)
            return false;
    }
    return s.size > 0;
}

static void add_text(struct buf *out, const char *text, bool is_json)
{
    struct str s;

    if (!text) {
        buf_add_text(out, "null");
        return;
    }
    s = cut_value(text);
    if (!is_json && is_plain(s))
        buf_add(out, s.at, s.size);
    else
        json_add_quoted(out, s);
}

static void add_key(struct buf *out, const char *key, bool is_json)
{
    if (is_json)
        buf_printf(out, "%s\"%s\":", out->size == 1 ? "" : ",", key);
    else
        buf_printf(out, "%s%s=", out->size == 0 ? "" : " ", key);
}

static void add_member(struct buf *out, const char *key, const char *text, bool is_json)
{
    add_key(out, key, is_json);
    add_text(out, text, is_json);
}

char *log_format(const struct log_line *line, bool is_json)
{
    struct buf out = {0};
    char stamp[STAMP_TEXT_SIZE];

    stamp_format_micro(line->stamp_ns, stamp);
    if (is_json)
        buf_add_char(&out, '{');
    add_member(&out, "time", stamp, is_json);
    add_member(&out, "level", level_name(line->level), is_json);
    if (line->process)
        add_member(&out, "process", line->process, is_json);
    add_member(&out, "msg", line->message, is_json);
    for (const struct log_pair *pair = line->pairs; pair->key; pair++) {
        add_key(&out, pair->key, is_json);
        if (pair->is_number)
            buf_printf(&out, "%" PRId64, pair->number);
        else
            add_text(&out, pair->text, is_json);
    }
    buf_add_text(&out, is_json ? "}\n" : "\n");
    return buf_steal(&out);
}
