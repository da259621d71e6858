/*
 * slurm_conf_keys.h - the keys of slurm.conf, and what Mete makes of each
 *
 * docs/slurm-conf.md shows the tables.
 */
#pragma once

#include "base/json.h"
#include "model/slurm_conf.h"

enum slurm_conf_type {
    CONF_TEXT,
    CONF_NAMES,   /* with commas; ALL: none is left out */
    CONF_BOOL,    /* YES, NO, TRUE, FALSE, 1, 0 */
    CONF_COUNT,   /* a number; UNLIMITED: absent */
    CONF_MINUTES, /* a time limit; UNLIMITED: absent */
    CONF_OVER,    /* minutes beyond a time limit; UNLIMITED: SLURM_OVER_ENDLESS */
    CONF_SECONDS,
    CONF_MEMORY,   /* MiB; UNLIMITED: absent */
    CONF_LICENSES, /* NAME:COUNT with commas */
    CONF_BILLING,  /* weights of TRES */
    CONF_PATH,     /* absolute */
    CONF_PREEMPT,  /* a mode, with ",GANG" */
    CONF_EXITS,    /* exit codes and ranges with commas; kept as an index_set's text */
    CONF_WORD,     /* one of `words`; others are refused */
    CONF_IGNORED,
    CONF_REFUSED /* restricts, and is not implemented: one of `words` has no effect */
};

struct slurm_conf_key {
    const char *name;
    enum slurm_conf_type type;
    const char *member; /* of the object; NULL: by its name, of the settings */
    const char *words;  /* with commas */
    const char *why;    /* what holds instead, or what is right; NULL: Mete heeds the key */
    int64_t max;        /* of counts, seconds; 0: 2^31-1 */
};

/* Each ends with a NULL name. */
extern const struct slurm_conf_key slurm_conf_globals[];
extern const struct slurm_conf_key slurm_conf_partition_keys[];
extern const struct slurm_conf_key slurm_conf_node_keys[];

/* NULL: unknown. */
const struct slurm_conf_key *slurm_conf_key_find(const struct slurm_conf_key *keys,
                                                 const char *name);

/* Sets the member of a value in `to`, or removes it where the value is without limit: texts,
 * numbers, or quantities of memory. ERR_INVALID says what would be right. */
struct err *slurm_conf_value_read(const struct slurm_conf_key *key, const char *value,
                                  json_t *to) MUST_CHECK;
/* The same; ERR_INVALID names file and line. */
struct err *slurm_conf_key_read(const struct slurm_conf_line *line,
                                const struct slurm_conf_key *key, const char *value,
                                json_t *to) MUST_CHECK;
