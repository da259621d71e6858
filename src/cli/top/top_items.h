/*
 * top_items.h - splits the text of a list into its items, as the text arrives
 *
 * A list of 1,000 GPUs is 2 MB of text and ten times as much as a tree. The splitter keeps one
 * item.
 */
#pragma once

#include "base/json.h"

struct top_items {
    struct buf item; /* the text of the present item */
    int depth;       /* open objects and arrays */
    bool is_array;   /* the container at depth 2 */
    bool is_in_text;
    bool is_escaped;
    void (*take)(void *arg, const json_t *item);
    void *arg;
    struct err *failed; /* an item that is no JSON */
};

/* Calls `take` for each object that is in an array of the outermost object: the items. */
void top_items_add(struct top_items *s, struct str piece);
void top_items_done(struct top_items *s);
