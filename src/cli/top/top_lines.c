/* top_lines.c - a bounded list of lines */

#include "cli/top/top_lines.h"

#include "cli/term/text_escape.h"

enum {
    LINE_MAX_BYTES = 4096 /* longer lines are cut */
};

static void lines_drop(struct top_lines *l)
{
    char *line = l->list.at[l->dropped];

    l->bytes -= strlen(line);
    free(line);
    l->list.at[l->dropped++] = NULL;
    if (l->dropped < TOP_LINES_MAX)
        return;
    l->list.n -= l->dropped;
    memmove(l->list.at, l->list.at + l->dropped, l->list.n * sizeof(*l->list.at));
    l->dropped = 0;
}

void top_lines_take(struct top_lines *l, char *line)
{
    vec_add(&l->list, line);
    l->bytes += strlen(line);
    while (top_lines_count(l) > TOP_LINES_MAX || l->bytes > TOP_LINES_BYTES)
        lines_drop(l);
}

static void lines_add_one(struct top_lines *l, struct str text)
{
    text.size = text.size < LINE_MAX_BYTES ? text.size : LINE_MAX_BYTES;
    top_lines_take(l, text_escape(text, TEXT_ESCAPE_LINE));
}

void top_lines_add(struct top_lines *l, struct str text)
{
    while (text.at && text.size > 0) {
        struct str line = str_cut(&text, '\n');

        if (l->rest.size < LINE_MAX_BYTES)
            buf_add(&l->rest, line.at, line.size);
        if (text.at)
            top_lines_end(l);
    }
}

void top_lines_end(struct top_lines *l)
{
    lines_add_one(l, (struct str){.at = text_or_empty(l->rest.at), .size = l->rest.size});
    buf_clear(&l->rest);
}

size_t top_lines_count(const struct top_lines *l)
{
    return l->list.n - l->dropped;
}

const char *top_lines_at(const struct top_lines *l, size_t i)
{
    return l->list.at[l->dropped + i];
}

void top_lines_done(struct top_lines *l)
{
    VEC_EACH (&l->list, line)
        free(*line);
    vec_done(&l->list);
    buf_done(&l->rest);
    *l = (struct top_lines){0};
}
