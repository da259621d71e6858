/*
 * hostlist.h - lists of host names and their short form "n[1-3,07-10],gpu1"
 *
 * Several brackets of one name multiply: "r[1-2]n[1-4]" is eight names. Zeros before a number of a
 * range are kept: n[08-11] is n08, n09, n10, n11. https://slurm.schedmd.com/scontrol.html
 */
#pragma once

#include "base/err.h"
#include "base/str.h"
#include "base/vec.h"

enum {
    HOSTLIST_MAX = 1 << 16,   /* names of a list */
    HOSTLIST_NAME_MAX = 256,  /* bytes of a name */
    HOSTLIST_BRACKETS_MAX = 4 /* brackets of a name */
};

/* Names in the order of the text; a name may appear twice. {0} is the empty list. */
struct hostlist {
    VEC(char *) names; /* owned */
};

/*
 * Reads names separated by commas or blanks; "" is no name. ERR_INVALID: the text is malformed, or
 * has more than `max` names (at most HOSTLIST_MAX). `*ret`, which must be empty, changes on success
 * only.
 */
struct err *hostlist_parse(struct str text, size_t max, struct hostlist *ret) MUST_CHECK;

/* Adds a copy of the name. */
void hostlist_add(struct hostlist *h, const char *name);

/* Sorts by the text before the last number, then by the number, then by the count of its digits;
 * drops duplicates. */
void hostlist_sort(struct hostlist *h);

/* Neighbours that differ in their last number are joined; the order stays. The caller frees the
 * text. */
char *hostlist_format(const struct hostlist *h);

void hostlist_done(struct hostlist *h);
