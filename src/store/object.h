/* object.h - making and comparing objects and keys, inside the store */
#pragma once

#include "store/store.h"

/*
 * One allocation with copies of the key and the bytes, one ref. Its version, created_revision and
 * ordinal are the caller's to set, before it is shared.
 */
struct store_object *object_new(const struct store_key *key, struct str bytes);

/* What it costs in memory. */
int64_t object_size(const struct store_object *o);

/* By group, resource, namespace, name; each by its bytes. */
int key_compare(const struct store_key *a, const struct store_key *b);

bool key_in_range(const struct store_key *key, const struct store_range *range);

/* "pods.mete.dev 'team-a/train-0'". The caller frees it. */
char *key_format(const struct store_key *key);
