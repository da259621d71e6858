/*
 * dra_store.h - the claims whose devices are prepared on this node: a file for each
 *
 * A kubelet may ask again at any time, also of a new process of this driver: the answer stays. A
 * file that cannot be read counts as absent, with a warning.
 */
#pragma once

#include "kubelet/dra/dra_claim.h"

struct dra_store;

/* Reads the files of `dir`, which is made if it is missing. */
struct err *dra_store_new(const char *dir, struct dra_store **ret) MUST_CHECK;
void dra_store_free(struct dra_store *s); /* accepts NULL; the files stay */

/* NULL: not prepared. */
const struct dra_claim *dra_store_find(const struct dra_store *s, const char *uid);

/* Another claim that holds a device of `c` alone; NULL: none. `*ret_device` is its name. */
const struct dra_claim *dra_store_holder(const struct dra_store *s, const struct dra_claim *c,
                                         const char **ret_device);

/* Writes the claim's file; takes `c`, also on a failure. */
struct err *dra_store_add(struct dra_store *s, struct dra_claim *c) MUST_CHECK;

/* Removes the file. An unknown claim counts as removed. */
struct err *dra_store_remove(struct dra_store *s, const char *uid) MUST_CHECK;
