/*
 * json_pool.h - the server's own stored texts, read fast
 *
 * Stored texts are the server's own (json_format), and most of a text is the same in many objects:
 * the pods of a Job differ in a name and an index. A pool keeps the trees of parts that it has met
 * twice and lends them to every tree that has the same part. A tree of a pool is therefore shared
 * and never changed; the pool compares what it lends with the part's text now and then, and a
 * changed tree ends the process.
 */
#pragma once

#include "base/json.h"

struct json_pool;

struct json_pool *json_pool_new(void);
void json_pool_free(struct json_pool *p); /* accepts NULL; trees that it lent stay valid */

/*
 * The same tree, or the same error, as json_parse. Only the root and its member "metadata" (the
 * object, not what is in it) belong to the caller alone: members may be set there. All else is
 * shared and read-only. The caller owns the reference.
 */
struct err *json_pool_parse(struct json_pool *p, struct str text, json_t **ret) MUST_CHECK;

/* The number of parts lent instead of read: for tests and measurements. */
uint64_t json_pool_hits(const struct json_pool *p);

enum json_peeked {
    PEEK_FOUND,
    PEEK_ABSENT,
    PEEK_UNKNOWN /* the text is not as json_format writes it: read the tree */
};

/*
 * The text of a member, found without a tree: json_peek(text, &at, "metadata", "name", NULL) gives
 * `"train-0"` with its quotes. Members before the one that is asked for are passed over, none
 * behind it is looked at. `text` is one that json_parse accepts.
 */
enum json_peeked json_peek(struct str text, struct str *ret, ...) __attribute__((sentinel));

/* A string's value out of its text; false where it has escapes, or is no string. */
bool json_peek_string(struct str text, struct str *ret);
