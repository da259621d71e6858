/* values.h - the table of learned values that policy "mete" places by */
#pragma once

#include "engine/place/demand.h"

struct values;

/* The demand as far as nodes of one model are concerned; NULL where it has to be asked itself. */
struct values_rows;
const struct values_rows *values_rows_of(const struct mete_engine *e, const struct node *n);

/*
 * What a node comes to with this left free: the gpu that is expected to stay idle on it in the end,
 * with the part of its fragment that counts, in 1/1000 of 1/1000 gpu. `rows` are the node's.
 */
int64_t values_of(const struct mete_engine *e, const struct node *n, const struct values_rows *rows,
                  const struct levels *l);

/* Is all that decides what a node comes to in its levels and rows? Else only values_of knows. */
bool values_are_simple(const struct mete_engine *e, const struct values_rows *rows);

/* Of a simple one, with what the shape asks for taken: cpu, and gpus that are wholly free. */
int64_t values_less_whole(const struct values *v, const struct values_rows *rows,
                          const struct levels *l, const struct shape *s);

/*
 * Of a simple one, with what the shape, a share, asks for taken: cpu, and a part of one of the gpus
 * `free` (bits) that has so much. The least that the node comes to, in `ret` the first such gpu.
 */
int64_t values_less_share(const struct values *v, const struct values_rows *rows,
                          const struct levels *l, const struct shape *s, uint64_t free,
                          uint64_t *ret);

/* What it costs that the gpus of a node are taken from pods that name their model: the same unit,
 * for each 1/1000 gpu. */
int64_t values_price(const struct mete_engine *e, const struct node *n, uint64_t gpus);

/* To be called when the demand changes. */
void values_prepare(struct mete_engine *e);

void values_free(struct mete_engine *e, struct values *v);
