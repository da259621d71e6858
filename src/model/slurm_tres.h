/*
 * slurm_tres.h - lists of trackable resources, as sacctmgr writes them: "cpu=4,mem=16G,gres/gpu=2"
 *
 * https://slurm.schedmd.com/tres.html
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "base/vec.h"

struct slurm_tres_item {
    char *name;    /* "cpu", "mem", "node", "billing", "gres/gpu:h100"; owned, in lower case */
    int64_t count; /* mem: MiB; -1: no limit (as a change: removes the limit) */
};

/* {0} is an empty list; slurm_tres_done frees it. */
struct slurm_tres {
    VEC(struct slurm_tres_item) items;
};

/* Reads NAME=COUNT with commas; counts may have K, M, G, T, P, of `mem` as memory. ERR_INVALID: a
 * malformed text or an unknown resource. `*ret`, which must be empty, changes on success only. */
struct err *slurm_tres_parse(struct str text, struct slurm_tres *ret) MUST_CHECK;
void slurm_tres_done(struct slurm_tres *t);

/* The count of a resource; `absent` if the list does not have it. */
int64_t slurm_tres_get(const struct slurm_tres *t, const char *name, int64_t absent);
void slurm_tres_set(struct slurm_tres *t, const char *name, int64_t count);

/* "cpu=4,mem=16G,node=1,gres/gpu=2": cpu, mem, energy, node and billing first, then by name. The
 * caller frees it. */
char *slurm_tres_format(const struct slurm_tres *t);

/* `list` with the changes: counts of -1 take a resource out. The caller frees the text. */
struct err *slurm_tres_change(const char *list, const char *changes, char **ret) MUST_CHECK;

/* Reads a number of at least 0 such as "0.5", in millionths; further digits are cut. ERR_INVALID
 * otherwise. */
struct err *slurm_factor_parse(const char *text, int64_t *ret_micro) MUST_CHECK;
