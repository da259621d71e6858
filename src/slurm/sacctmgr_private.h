/* sacctmgr_private.h - the parts of sacctmgr: keys of its words, rows, objects in change */
#pragma once

#include "slurm/sacctmgr.h"

enum acct_type {
    ACCT_TEXT,
    ACCT_NUMBER,
    ACCT_MINUTES,
    ACCT_SECONDS,
    ACCT_TRES_LIST,
    ACCT_TRES_OF, /* a number that is one resource of a list: MaxNodes is MaxTRES node= */
    ACCT_NAMES,   /* a list with commas */
    ACCT_FACTOR,
    ACCT_SHARES,
    ACCT_LEVEL
};

/* Parts of objects that a key belongs to, as bits. */
enum {
    ACCT_OF_ACCOUNT = 1,
    ACCT_OF_USER = 2,        /* spec of the SlurmUser */
    ACCT_OF_ASSOCIATION = 4, /* of accounts and users */
    ACCT_OF_QOS = 8
};

struct acct_key {
    const char *name;   /* as in words: "MaxWall"; words may be shortened to `least` bytes */
    const char *member; /* of the object */
    enum acct_type type;
    unsigned of;
    size_t least;
    const char *resource; /* of ACCT_TRES_OF */
};

/* The key that a word names, among those of the parts `of`; NULL: none. */
const struct acct_key *acct_key_find(const char *word, unsigned of);

/* Sets, or with '+' and '-' changes, a member of an association, user or QOS. */
struct err *acct_key_put(const struct acct_key *k, const struct acct_term *t,
                         json_t *to) MUST_CHECK;

/* Does the word begin with at least `least` bytes of `name`, and go on as it, in any case? */
bool acct_is_word(const char *word, const char *name, size_t least);

/* The value of the last term with that name (least bytes); NULL: none. */
const char *acct_term_value(const struct acct_term *terms, size_t n, const char *name,
                            size_t least);

/* Is `name` in the list with commas, in any case? A NULL list has all. */
bool acct_in_list(const char *list, const char *name);

/* The object of that name in an array, or NULL. Borrowed. */
const json_t *acct_find(const json_t *objects, const char *name);
const char *acct_name_of(const json_t *object);

/* The names of the accounts right below one, in order: a new array, which the caller frees. */
const char **acct_names_below(const struct acct_books *b, const char *account, size_t *ret_n);

/*
 * The associations in the order of the tree: an object each, with account, parent (accounts),
 * user (users), partition, shares, and the members of the association itself. New reference.
 */
json_t *acct_associations(const struct acct_books *b);

/* The rows of the entity that meet the conditions of `r`. ERR_INVALID: an unknown condition. New
 * reference. */
struct err *acct_rows(const struct acct_request *r, const struct acct_books *b,
                      json_t **ret) MUST_CHECK;
