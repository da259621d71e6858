/*
 * order.h - the waiting workloads of a queue in order, with the place of each
 *
 * A treap (Aragon and Seidel, "Randomized search trees", 1989) with sizes; the heap keys come from
 * a hash of the workload's id, so that the same calls build the same tree. All calls are O(log n).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The order: more points first, then the smaller due_s (sizes.h; 0: no order by size), then the
 * earlier submission, then the smaller id (unique). */
struct order_key {
    int64_t points;
    int64_t due_s;
    int64_t submit_ns;
    uint64_t id;
};

struct order_link {
    struct order_link *parent;
    struct order_link *left;
    struct order_link *right;
    size_t size; /* of the tree from here down; 0: in no tree */
    const struct order_key *key;
};

struct order {
    struct order_link *root;
};

bool order_before(const struct order_key *a, const struct order_key *b);

/* `link` is {0}; `key` is borrowed until it is removed. */
void order_add(struct order *o, struct order_link *link, const struct order_key *key);
void order_remove(struct order *o, struct order_link *link);

struct order_link *order_first(const struct order *o);
struct order_link *order_next(const struct order_link *link);
struct order_link *order_previous(const struct order_link *link);
size_t order_count(const struct order *o);
/* The link with `place` links before it; NULL: there are fewer. */
struct order_link *order_at(const struct order *o, size_t place);

/* The number of workloads before this one. */
size_t order_place(const struct order_link *link);
