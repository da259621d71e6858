/*
 * inventory.h - the gpus of all nodes with what holds them, for metrics
 *
 * The inventory keeps a decoded copy of each node's gpus until the node's object changes: a page of
 * metrics decodes nothing.
 */
#pragma once

#include "control/scheduler/scheduler.h"
#include "kinds/metrics.h"
#include "store/store.h"

struct inventory;

/* Both arguments are borrowed. */
struct inventory *inventory_new(struct store *store, const struct scheduler *scheduler);
void inventory_free(struct inventory *i); /* accepts NULL */

/* Adds the families of nodes to a page of metrics. */
void inventory_write(struct inventory *i, struct exposition *x);

/* For struct device_table. The texts of rows are valid until the next call. */
void inventory_each(void *inventory, device_row_fn fn, void *fn_arg);
void inventory_each_node(void *inventory, node_row_fn fn, void *fn_arg);
