/* slurm_pattern.c - expansion of the names of output files of Slurm jobs */

#include "model/slurm_pattern.h"

#include <inttypes.h>
#include <stdbool.h>

#include "base/mem.h"
#include "base/str.h"

enum {
    WIDTH_MAX = 10
};

/* Slurm's value of the index of a job that is no array. */
#define NOT_AN_ARRAY INT64_C(4294967294)

static char *pattern_without_backslashes(const char *pattern)
{
    struct buf out = {0};

    for (const char *p = pattern; *p; p++)
        if (*p != '\\')
            buf_add_char(&out, *p);
    return buf_steal(&out);
}

/* The job's number of a letter; false: the letter is not a number. */
static bool pattern_number(char letter, const struct slurm_pattern_values *v, int64_t *ret)
{
    switch (letter) {
    case 'A':
        *ret = v->array_id > 0 ? v->array_id : v->job_id;
        return true;
    case 'a':
        *ret = v->array_index >= 0 ? v->array_index : NOT_AN_ARRAY;
        return true;
    case 'b':
        *ret = (v->array_index >= 0 ? v->array_index : NOT_AN_ARRAY) % 10;
        return true;
    case 'J':
    case 'j':
        *ret = v->job_id;
        return true;
    case 'n':
        *ret = v->node;
        return true;
    case 'r':
        *ret = v->restarts;
        return true;
    case 't':
        *ret = v->task;
        return true;
    default:
        return false;
    }
}

static const char *pattern_base(const char *name)
{
    const char *slash = name ? strrchr(name, '/') : NULL;

    return slash ? slash + 1 : text_or_empty(name);
}

/* The text of a letter; NULL: the letter is unknown. */
static const char *pattern_text(char letter, const struct slurm_pattern_values *v)
{
    switch (letter) {
    case '%':
        return "%";
    case 'N':
        return text_or_empty(v->host);
    case 's':
        return v->step ? v->step : "batch";
    case 'u':
        return text_or_empty(v->user);
    case 'x':
        return pattern_base(v->name);
    default:
        return NULL;
    }
}

/* Adds one pattern, whose '%' is at `p`; returns the first byte behind it. */
static const char *pattern_add(const char *p, const struct slurm_pattern_values *v, struct buf *out)
{
    const char *at = p + 1;
    int64_t number = 0;
    const char *text;
    int width = 0;

    for (; *at >= '0' && *at <= '9'; at++)
        if (width <= WIDTH_MAX)
            width = width * 10 + (*at - '0');
    if (width > WIDTH_MAX)
        width = WIDTH_MAX;
    if (pattern_number(*at, v, &number)) {
        buf_printf(out, "%0*" PRId64, width, number);
        if (*at == 'J' && v->step)
            buf_printf(out, ".%s", v->step);
        return at + 1;
    }
    text = pattern_text(*at, v);
    if (text) {
        buf_add_text(out, text);
        return at + 1;
    }
    buf_add_char(out, '%');
    return p + 1;
}

char *slurm_pattern_expand(const char *pattern, const struct slurm_pattern_values *v)
{
    struct buf out = {0};
    const char *p = pattern;

    if (strchr(pattern, '\\'))
        return pattern_without_backslashes(pattern);
    while (*p)
        if (*p == '%')
            p = pattern_add(p, v, &out);
        else
            buf_add_char(&out, *p++);
    return buf_steal(&out);
}
