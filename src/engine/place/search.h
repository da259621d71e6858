/*
 * search.h - the best node for a shape, at the cost of what changed
 *
 * Each shape in use keeps a winner tree over the nodes by name: a leaf is the node's score plus 1,
 * or 0 when the pod does not fit. Lists hold the nodes by their last change, one list for each
 * amount of free gpus (a tier). So a search looks once at each node that changed since the shape's
 * last search and may have the gpus. Leaves of nodes without the gpus stay stale, and are cleared
 * when one comes out best. A shape that fits nowhere keeps no tree, only the number of changes
 * seen.
 */
#pragma once

#include "engine/state.h"

/* Notes a change of the node that fit or score depend on. Undone with the trial. */
void node_touch(struct mete_engine *e, struct node *n);

/* Undoes a touch. A callback for the journal. */
void search_undone(void *engine, void *node);

/* The set of nodes or their order changed: shapes rebuild their trees at the next use. */
void search_reset(struct mete_engine *e);

/* Sets each node->rank to the node's place in e->order. */
void search_rank(struct mete_engine *e);

/* The key of the node: larger is better; on ties the first name wins; 0: the pod does not fit.
 * Needs ranks. */
uint64_t search_key(struct mete_engine *e, const struct node *n, const struct shape *s);

/* The best node without a reservation or backfill reservation, or NULL; `*ret_key` is its key. */
struct node *search_best(struct mete_engine *e, struct shape *s, uint64_t *ret_key);

/*
 * Searches over some nodes: search_prepare once, then search_key_there for each node, as long as
 * nothing changes. A node with a reservation or backfill reservation has key 0.
 */
void search_prepare(struct mete_engine *e, struct shape *s);
uint64_t search_key_there(struct mete_engine *e, const struct node *n, const struct shape *s);
/* The node of a key; NULL for 0. */
struct node *search_node(const struct mete_engine *e, uint64_t key);
/* The keys of all nodes by rank; 0 for a node with a reservation or backfill reservation. Valid
 * until the next call. */
const uint64_t *search_keys(struct mete_engine *e, struct shape *s);

/* The node's detail, up to date. Needs ranks. */
const struct detail *search_detail(const struct mete_engine *e, const struct node *n);

/* The nodes that changed after `seen` (a value of e->changes), each once, the last change first;
 * NULL: no more. */
struct node *search_newest(const struct mete_engine *e, uint64_t seen);
struct node *search_older(const struct mete_engine *e, const struct node *n, uint64_t seen);

/* The node is about to be freed. */
void search_drop_node(struct mete_engine *e, const struct node *n);

void search_forget(struct mete_engine *e, struct shape *s);

/* NULL, or the first difference from a search of every node. Allocates nothing. */
const char *search_check(struct mete_engine *e);
