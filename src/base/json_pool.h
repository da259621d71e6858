/*
 * json_pool.h - a fast reader of the server's own stored texts
 *
 * Stored texts come from json_format, and most of a text is the same in many objects: the pods of a
 * Job differ in a name and an index. A pool keeps the trees of parts that occurred in two texts and
 * shares them among all trees with the same part. A tree from a pool is therefore never changed.
 * The pool compares shared trees with their text now and then; a changed tree ends the process.
 */
#pragma once

#include "base/json.h"

struct json_pool;

struct json_pool *json_pool_new(void);
void json_pool_free(struct json_pool *p); /* accepts NULL; shared trees stay valid */

/*
 * The same tree, or the same error, as json_parse. Only the root and its member "metadata" (not the
 * values in it) belong to the caller alone, who may set their members. All other values are shared
 * and read-only. The caller owns the reference.
 */
struct err *json_pool_parse(struct json_pool *p, struct str text, json_t **ret) MUST_CHECK;

/* The number of shared parts that the pool saved reading. For tests and measurements. */
uint64_t json_pool_hits(const struct json_pool *p);

enum json_peeked {
    PEEK_FOUND,
    PEEK_ABSENT,
    PEEK_UNKNOWN /* json_format would write the text differently: parse the tree */
};

/*
 * Finds the text of a member without a tree: json_peek(text, &at, "metadata", "name", NULL) gives
 * `"train-0"` with its quotes. The search skips the members before, and reads nothing behind the
 * member. json_parse must accept `text`.
 */
enum json_peeked json_peek(struct str text, struct str *ret, ...) __attribute__((sentinel));

/* Takes a string's value out of its text. False: the text has escapes, or is no string. */
bool json_peek_string(struct str text, struct str *ret);
