/* object.h - creation and comparison of objects and keys, inside the store */
#pragma once

#include "store/store.h"

/* Makes an object with one ref; the key and the bytes are copied into the same allocation. The
 * caller sets version, created_revision and ordinal before it shares the object. */
struct store_object *object_new(const struct store_key *key, struct str bytes);

/* The object's memory in bytes. */
int64_t object_size(const struct store_object *o);

/* Orders by group, resource, namespace, name, bytewise. */
int key_compare(const struct store_key *a, const struct store_key *b);

bool key_in_range(const struct store_key *key, const struct store_range *range);

/* "pods.mete.dev 'team-a/train-0'". The caller frees it. */
char *key_format(const struct store_key *key);
