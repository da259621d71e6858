/* top_items.c - counts brackets outside of texts */

#include "cli/top/top_items.h"

enum {
    ITEM_DEPTH = 2, /* the outermost object, and its array */
    ITEM_MAX = 4 << 20
};

static void items_end(struct top_items *s)
{
    AUTO(json_freep) json_t *tree = NULL;
    struct err *e = s->item.overflow ? err_new(ERR_TOO_LARGE, "an item of the list is too large")
                                     : json_parse((struct str){s->item.at, s->item.size}, &tree);

    if (!e)
        s->take(s->arg, tree);
    else if (!s->failed)
        s->failed = e;
    else
        err_free(e);
    buf_clear(&s->item);
}

/* Follows one byte; returns whether an item ends with it. */
static bool items_follow(struct top_items *s, char c)
{
    if (s->is_in_text) {
        s->is_in_text = s->is_escaped || c != '"';
        s->is_escaped = !s->is_escaped && c == '\\';
        return false;
    }
    if (c == '"')
        s->is_in_text = true;
    else if ((c == '{' || c == '[') && ++s->depth == ITEM_DEPTH)
        s->is_array = c == '[';
    else if (c == '}' || c == ']')
        return --s->depth == ITEM_DEPTH && c == '}' && s->is_array;
    return false;
}

void top_items_add(struct top_items *s, struct str piece)
{
    size_t from = 0; /* of the bytes that belong to the present item */

    s->item.cap = ITEM_MAX;
    for (size_t i = 0; i < piece.size; i++) {
        bool was_outside = s->depth <= ITEM_DEPTH;

        if (items_follow(s, piece.at[i])) {
            buf_add(&s->item, piece.at + from, i + 1 - from);
            items_end(s);
        }
        if (was_outside)
            from = s->depth > ITEM_DEPTH ? i : i + 1;
        else if (s->depth <= ITEM_DEPTH)
            from = i + 1;
        if (s->depth <= ITEM_DEPTH)
            buf_clear(&s->item); /* an object that was no item */
    }
    if (s->depth > ITEM_DEPTH)
        buf_add(&s->item, piece.at + from, piece.size - from);
}

void top_items_done(struct top_items *s)
{
    buf_done(&s->item);
    err_free(s->failed);
    s->failed = NULL;
}
