/*
 * search.h - the best node for a shape, at the cost of what changed
 *
 * Each shape in use keeps a winner tree over the nodes by name: a leaf is the score of that node, 0
 * where the pod does not fit. The nodes stand in lists by their last change, one for each amount of
 * free gpus (a tier), so a search looks once at each that changed since the last one and may have
 * the gpus, whatever happened to it in between. The leaves of the others stay as they were, and are
 * cleared when one turns out the best. A shape that fits nowhere keeps no tree at all, only how
 * many changes there were when that was found.
 */
#pragma once

#include "engine/state.h"

/* Something about the node changed that fit or score depend on. Undone with the trial. */
void node_touch(struct mete_engine *e, struct node *n);

/* What undoing a touch does: for the journal. */
void search_undone(void *engine, void *node);

/* The node came, went or was renamed: the trees are built anew at their next use. */
void search_reset(struct mete_engine *e);

/* Makes node->rank the node's place in e->order. */
void search_rank(struct mete_engine *e);

/* What a pod there is worth: larger is better, the first by name on ties; 0: does not fit. Needs
 * ranks. */
uint64_t search_key(struct mete_engine *e, const struct node *n, const struct shape *s);

/* The best of the nodes on which nothing is reserved or reserved, or NULL; `*ret_key` its key. */
struct node *search_best(struct mete_engine *e, struct shape *s, uint64_t *ret_key);

/*
 * For searches of some of the nodes: search_prepare once, then the key of each that search_best
 * would look at (0 where something is reserved), as long as nothing changes.
 */
void search_prepare(struct mete_engine *e, struct shape *s);
uint64_t search_key_there(struct mete_engine *e, const struct node *n, const struct shape *s);
/* Whose key it is; NULL for 0. */
struct node *search_node(const struct mete_engine *e, uint64_t key);
/* The keys of all nodes by rank, 0 of those on which something is reserved, or set aside. Valid
 * until the next call. */
const uint64_t *search_keys(struct mete_engine *e, struct shape *s);

/* What is kept of a node as it is. Needs ranks. */
const struct detail *search_detail(const struct mete_engine *e, const struct node *n);

/* The nodes that changed after `seen` (e->changes then), each once, the last change first; NULL: no
 * more. */
struct node *search_newest(const struct mete_engine *e, uint64_t seen);
struct node *search_older(const struct mete_engine *e, const struct node *n, uint64_t seen);

/* The node is about to be freed. */
void search_drop_node(struct mete_engine *e, const struct node *n);

void search_forget(struct mete_engine *e, struct shape *s);

/* NULL, or what differs from a search of every node. Allocates nothing. */
const char *search_check(struct mete_engine *e);
