/* values.h - the table of learned values that policy "mete" places by */
#pragma once

#include "engine/place/demand.h"

struct values;

/* The demand on nodes of one model, in rows; NULL: the node needs the demand itself. */
struct values_rows;
const struct values_rows *values_rows_of(const struct mete_engine *e, const struct node *n);

/*
 * The value of a node with these free amounts: the gpu that is expected to stay idle in the end,
 * plus the weighted fragment, in 1/1000 of 1/1000 gpu. `rows` are the node's.
 */
int64_t values_of(const struct mete_engine *e, const struct node *n, const struct values_rows *rows,
                  const struct levels *l);

/* Do the levels and rows alone decide the node's value? Else only values_of gives it. */
bool values_are_simple(const struct mete_engine *e, const struct values_rows *rows);

/* The value of a simple node after a pod of this shape took cpu and wholly free gpus. */
int64_t values_less_whole(const struct values *v, const struct values_rows *rows,
                          const struct levels *l, const struct shape *s);

/*
 * The least value of a simple node after a pod of this shape, a share, took cpu and a part of one
 * of the gpus `free` (bits) with enough left; `ret` is the first gpu with that value.
 */
int64_t values_less_share(const struct values *v, const struct values_rows *rows,
                          const struct levels *l, const struct shape *s, uint64_t free,
                          uint64_t *ret);

/* The price of the dearest model among `gpus`, which other pods ask for by name: in the same unit,
 * for each 1/1000 gpu. */
int64_t values_price(const struct mete_engine *e, const struct node *n, uint64_t gpus);

/* Rebuilds the rows. Call it when the demand changes. */
void values_prepare(struct mete_engine *e);

void values_free(struct mete_engine *e, struct values *v);
