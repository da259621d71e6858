/*
 * slurm_amount.h - memory sizes and generic resources as Slurm's commands write them
 *
 * https://slurm.schedmd.com/sbatch.html, --mem, --gres and --gpus
 */
#pragma once

#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "base/vec.h"

enum {
    SLURM_AMOUNT_TEXT_SIZE = 32,
    SLURM_GRES_MAX = 64 /* items of a list */
};

/* Reads "16G", "500M", "100K", "1T"; a number alone is in MiB. KiB round up to MiB. ERR_INVALID
 * otherwise. */
struct err *slurm_memory_parse(struct str text, int64_t *ret_mib) MUST_CHECK;

/* "16G" for 16384, "1500M": the largest unit that keeps the number whole. 0: "0". */
void slurm_memory_format(int64_t mib, char ret[SLURM_AMOUNT_TEXT_SIZE]);

/* Bytes in the largest unit of K, M, G, T that keeps the number whole, as sacct: "1256K", "3G";
 * less than a KiB: "500". */
void slurm_bytes_format(int64_t bytes, char ret[SLURM_AMOUNT_TEXT_SIZE]);

/* Bytes in the unit K, M, G, T or P, as sacct --units: "97.66M", "3G"; 0: "0". */
void slurm_unit_format(int64_t bytes, char unit, char ret[SLURM_AMOUNT_TEXT_SIZE]);

struct slurm_gres {
    char *name; /* "gpu", "shard", "mps"; owned */
    char *type; /* "h100"; owned; NULL: any */
    int64_t count;
};

/* {0} is an empty list; slurm_gres_list_done frees it. */
struct slurm_gres_list {
    VEC(struct slurm_gres) items;
};

/*
 * Reads NAME[:TYPE][:COUNT], with commas; counts may have K, M, G, T, P (powers of 1024); "none"
 * and "" are no items; a leading "gres/" or "gres:" counts for nothing. With a `name`, reads
 * [TYPE:]COUNT of --gpus instead. ERR_INVALID: the text is malformed, or a name is there with and
 * without a type. `*ret`, which must be empty, changes on success only.
 */
struct err *slurm_gres_parse(struct str text, const char *name,
                             struct slurm_gres_list *ret) MUST_CHECK;

/* "gpu:h100:2,shard:4"; `prefix` ("gres/" or "") comes before each item. The caller frees the text.
 */
char *slurm_gres_format(const struct slurm_gres_list *list, const char *prefix);

void slurm_gres_list_done(struct slurm_gres_list *list);
