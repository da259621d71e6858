/* order.c - the treap of waiting workloads */

#include "engine/queue/order.h"

#include <assert.h>

#include "base/num.h"

bool order_before(const struct order_key *a, const struct order_key *b)
{
    if (a->points != b->points)
        return a->points > b->points;
    if (a->due_s != b->due_s)
        return a->due_s < b->due_s;
    if (a->submit_ns != b->submit_ns)
        return a->submit_ns < b->submit_ns;
    return a->id < b->id;
}

/* Different ids have different heap keys. */
static uint64_t heap_key(const struct order_link *link)
{
    return num_scatter(link->key->id + NUM_SCATTER_STEP);
}

static size_t size_of(const struct order_link *link)
{
    return link ? link->size : 0;
}

static void resize(struct order_link *link)
{
    link->size = size_of(link->left) + size_of(link->right) + 1;
}

/* Puts `child` in the place of `old`. */
static void order_replace(struct order *o, const struct order_link *old, struct order_link *child)
{
    struct order_link *parent = old->parent;

    if (!parent)
        o->root = child;
    else if (parent->left == old)
        parent->left = child;
    else
        parent->right = child;
    if (child)
        child->parent = parent;
}

/* Rotates `link` into its parent's place. */
static void order_rotate_up(struct order *o, struct order_link *link)
{
    struct order_link *parent = link->parent;
    struct order_link *middle;

    order_replace(o, parent, link);
    if (parent->left == link) {
        middle = link->right;
        parent->left = middle;
        link->right = parent;
    } else {
        middle = link->left;
        parent->right = middle;
        link->left = parent;
    }
    if (middle)
        middle->parent = parent;
    parent->parent = link;
    resize(parent);
    resize(link);
}

void order_add(struct order *o, struct order_link *link, const struct order_key *key)
{
    struct order_link **at = &o->root;
    struct order_link *parent = NULL;

    assert(link->size == 0);
    *link = (struct order_link){.size = 1, .key = key};
    while (*at) {
        parent = *at;
        parent->size++;
        at = order_before(key, parent->key) ? &parent->left : &parent->right;
    }
    *at = link;
    link->parent = parent;
    while (link->parent && heap_key(link) < heap_key(link->parent))
        order_rotate_up(o, link);
}

void order_remove(struct order *o, struct order_link *link)
{
    assert(link->size > 0);
    while (link->left && link->right)
        order_rotate_up(o, heap_key(link->left) < heap_key(link->right) ? link->left : link->right);
    order_replace(o, link, link->left ? link->left : link->right);
    for (struct order_link *up = link->parent; up; up = up->parent)
        up->size--;
    *link = (struct order_link){0};
}

struct order_link *order_first(const struct order *o)
{
    struct order_link *link = o->root;

    while (link && link->left)
        link = link->left;
    return link;
}

struct order_link *order_next(const struct order_link *link)
{
    struct order_link *next = link->right;

    if (next) {
        while (next->left)
            next = next->left;
        return next;
    }
    while (link->parent && link->parent->right == link)
        link = link->parent;
    return link->parent;
}

struct order_link *order_previous(const struct order_link *link)
{
    struct order_link *previous = link->left;

    if (previous) {
        while (previous->right)
            previous = previous->right;
        return previous;
    }
    while (link->parent && link->parent->left == link)
        link = link->parent;
    return link->parent;
}

size_t order_count(const struct order *o)
{
    return size_of(o->root);
}

struct order_link *order_at(const struct order *o, size_t place)
{
    struct order_link *link = o->root;

    while (link && place != size_of(link->left)) {
        bool is_right = place > size_of(link->left);

        place -= is_right ? size_of(link->left) + 1 : 0;
        link = is_right ? link->right : link->left;
    }
    return link;
}

size_t order_place(const struct order_link *link)
{
    size_t place = size_of(link->left);

    for (; link->parent; link = link->parent)
        if (link->parent->right == link)
            place += size_of(link->parent->left) + 1;
    return place;
}
