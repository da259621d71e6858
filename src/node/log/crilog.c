/* crilog.c - lines of the CRI log format */

#include "node/log/crilog.h"

static bool cut_word(struct str *rest, struct str *ret)
{
    *ret = str_cut(rest, ' ');
    return rest->at && ret->size > 0;
}

static bool read_line(struct str line, struct crilog_line *ret)
{
    struct str rest = line;
    struct str stream = {0};
    struct str tag = {0};

    if (!cut_word(&rest, &ret->stamp) || !cut_word(&rest, &stream))
        return false;
    tag = str_cut(&rest, ' ');
    ret->is_stderr = str_equal(stream, STR("stderr"));
    /* Of several tags, separated by colons, the first tells whether the line is partial. */
    ret->is_partial = str_equal(tag, STR("P")) || str_starts_with(tag, STR("P:"));
    if (!ret->is_stderr && !str_equal(stream, STR("stdout")))
        return false;
    if (!ret->is_partial && !str_equal(tag, STR("F")) && !str_starts_with(tag, STR("F:")))
        return false;
    ret->text = rest.at ? rest : (struct str){line.at + line.size, 0};
    return true;
}

void crilog_read(struct str bytes, struct crilog_line *ret, size_t *ret_size)
{
    const char *end = bytes.size > 0 ? memchr(bytes.at, '\n', bytes.size) : NULL;
    struct str line = {0};

    *ret = (struct crilog_line){0};
    *ret_size = 0;
    if (!end)
        return;
    line = (struct str){bytes.at, (size_t)(end - bytes.at)};
    *ret_size = line.size + 1;
    if (!read_line(line, ret))
        *ret = (struct crilog_line){.text = line};
}

size_t crilog_tail(struct str bytes, size_t n, size_t *count, bool *ret_is_found)
{
    size_t from = bytes.size;

    *ret_is_found = false;
    while (from > 0) {
        const char *before = from > 1 ? memrchr(bytes.at, '\n', from - 1) : NULL;
        size_t start = before ? (size_t)(before - bytes.at) + 1 : 0;
        struct crilog_line line = {0};
        size_t size = 0;

        crilog_read((struct str){bytes.at + start, from - start}, &line, &size);
        if (size > 0 && !line.is_partial && (*count)++ == n) {
            *ret_is_found = true;
            return from;
        }
        from = start;
    }
    return from;
}
