/*
 * prices.h - what an hour of a gpu, a core and a GiB of memory costs: a table for people to write
 *
 *   apiVersion: mete.dev/v1
 *   kind: PriceTable
 *   currency: EUR
 *   gpuHour: {h100: 2.50, default: 1}     # by model; default: all others
 *   cpuHour: 0.02                         # of one core
 *   memoryGibHour: 0.003
 *
 * Prices have at most six digits behind the point, and are kept in millionths.
 */
#pragma once

#include "base/json.h"

struct prices;

/* Errors are ERR_INVALID and begin with "NAME:LINE: ". */
struct err *prices_parse(const char *name, struct str text, struct prices **ret) MUST_CHECK;
/* Loads the first existing file; `*ret` NULL: there is none. `paths` ends with NULL. */
struct err *prices_load(const char *const *paths, struct prices **ret) MUST_CHECK;
void prices_free(struct prices *p); /* accepts NULL */
static inline void prices_freep(struct prices **p)
{
    prices_free(*p);
}

const char *prices_currency(const struct prices *p);
/*
 * Costs in millionths of the currency, each rounded down. `ns` is the time of one gpu or one core.
 */
int64_t prices_gpu(const struct prices *p, const char *model, int64_t ns);
int64_t prices_cpu(const struct prices *p, int64_t ns);
int64_t prices_memory(const struct prices *p, int64_t kib_seconds);
