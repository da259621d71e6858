/*
 * sacctmgr.h - sacctmgr: its words, its tables, and its changes as writes of objects
 *
 * An account is a Queue, a user with associations a SlurmUser, a quality of service a SlurmQos:
 * kinds/slurm/slurm_accounts.h.
 */
#pragma once

#include "base/json.h"
#include "base/vec.h"
#include "slurm/words.h"

/* Ends with a NULL name. */
extern const struct slurm_option sacctmgr_options[];
extern const char sacctmgr_help[];

enum acct_verb {
    ACCT_LIST,
    ACCT_ADD,
    ACCT_MODIFY,
    ACCT_DELETE,
    ACCT_DUMP,
    ACCT_LOAD,
    ACCT_VERSION
};

enum acct_entity {
    ACCT_ACCOUNT,
    ACCT_ASSOCIATION,
    ACCT_CLUSTER,
    ACCT_QOS,
    ACCT_TRES,
    ACCT_USER
};

/* KEY=VALUE, KEY+=VALUE, KEY-=VALUE, or a word alone (`key` is the word, `value` NULL). */
struct acct_term {
    char *key;
    char *value;
    char operation; /* '=', '+' or '-' */
};

/* {0} before; acct_request_done frees it. */
struct acct_request {
    enum acct_verb verb;
    enum acct_entity entity;
    VEC(struct acct_term) where; /* of list, add and delete: all terms */
    VEC(struct acct_term) set;   /* of modify */
    char *format;
    bool has_associations; /* -s, withassoc */
    bool is_load;          /* from a file: default accounts are settled at its end */
};

/* Reads the arguments. ERR_INVALID has the words of sacctmgr. */
struct err *acct_request_read(size_t n, const char *const *words,
                              struct acct_request *ret) MUST_CHECK;
void acct_request_done(struct acct_request *r);

/* The objects that exist: JSON arrays, borrowed. */
struct acct_books {
    const json_t *queues;
    const json_t *users;
    const json_t *qoses;
    const char *cluster;
};

struct acct_table {
    bool has_header;
    bool is_parsable; /* -p, -P */
    bool ends_with_delimiter;
};

/* Adds the table of a list. ERR_INVALID: an unknown field or condition. */
struct err *acct_list(const struct acct_request *r, const struct acct_books *b,
                      const struct acct_table *t, struct buf *out) MUST_CHECK;

/* The document of the same list: {"accounts": [...]}, "associations", "clusters", "qos", "TRES" or
 * "users". ERR_INVALID: an unknown condition. New reference. */
struct err *acct_document(const struct acct_request *r, const struct acct_books *b,
                          json_t **ret) MUST_CHECK;

/* A write of an object. */
struct acct_write {
    const char *method; /* "POST", "PUT", "DELETE"; static */
    const char *plural; /* "queues", "slurmusers", "slurmqoses"; static */
    char *name;
    json_t *body; /* NULL: DELETE */
};

/* {0} before; acct_plan_done frees it. */
struct acct_plan {
    struct buf text; /* what is printed before the changes */
    VEC(struct acct_write) writes;
    bool is_nothing; /* nothing matched, or all exists already */
};

/* Makes the changes of add, modify and delete, on top of those in `ret`. ERR_INVALID has the words
 * of sacctmgr. */
struct err *acct_change(const struct acct_request *r, const struct acct_books *b,
                        struct acct_plan *ret) MUST_CHECK;
void acct_plan_done(struct acct_plan *p);

/* sacctmgr_file.c: adds the file of `sacctmgr dump`. */
void acct_dump(const struct acct_books *b, struct buf *out);
/* Makes the changes that add what a file has and the objects lack. ERR_INVALID names the line. */
struct err *acct_load(struct str text, const struct acct_books *b,
                      struct acct_plan *ret) MUST_CHECK;
