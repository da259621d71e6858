/*
 * slurm_accounts.h - Slurm's accounts: associations of users, qualities of service, their limits
 *
 * An account is a Queue, its shares are `weight`; its limits are in `spec.slurm`. A user's
 * associations are in the SlurmUser of the user's name, a quality of service is a SlurmQos. The
 * object Queue `root` is the root account. The parameters are those of the SlurmConfig.
 */
#pragma once

#include "base/json.h"

enum {
    SLURM_ACCOUNTS_DEEP = 64 /* levels of accounts that are followed */
};

#define SLURM_QOS_DEFAULT "normal" /* exists always */

/* What AccountingStorageEnforce says. A value. */
struct slurm_enforce {
    bool associations;
    bool limits;
    bool qos;
};
/* Reads the parameters of slurm.conf (an object of texts; NULL: none). */
struct slurm_enforce slurm_enforce_read(const json_t *parameters);

/* The objects: `find` gives a new reference, or NULL. */
struct slurm_books {
    json_t *(*find)(void *arg, const char *plural, const char *name);
    void *arg;
};

/* The user's association with the account: that of the partition, else that of all. Borrowed; NULL:
 * none. */
const json_t *slurm_association_of(const json_t *user, const char *account, const char *partition);

/*
 * The spec of an association and of the accounts above it, the nearest first: borrowed from the
 * objects, which `chain` holds until slurm_chain_done.
 */
struct slurm_chain {
    const json_t *at[SLURM_ACCOUNTS_DEEP + 2]; /* the user's association, `slurm` of the accounts */
    const char *names[SLURM_ACCOUNTS_DEEP + 2]; /* of the account; NULL: the user's association */
    json_t *objects[SLURM_ACCOUNTS_DEEP + 2];
    size_t n;
    size_t n_objects;
    bool has_association;
};
void slurm_chain_find(const struct slurm_books *b, const char *user, const char *account,
                      const char *partition, struct slurm_chain *ret);
void slurm_chain_done(struct slurm_chain *c);

/* Member `key` of the nearest part of the chain that has it; NULL: none has. Borrowed. */
const json_t *slurm_chain_get(const struct slurm_chain *c, const char *key);

/*
 * Fills in the account and the quality of service of a new job's `spec`, and checks both.
 * ERR_INVALID in the words of Slurm.
 */
struct err *slurm_accounts_admit(const struct slurm_books *b, json_t *spec) MUST_CHECK;

/* A job as limits see it. A value. */
struct slurm_size {
    int64_t cpus; /* of all nodes, as the following */
    int64_t memory_mib;
    int64_t gpus;
    int64_t nodes;
    int64_t billing;   /* 0: not counted */
    int64_t minutes;   /* time limit; 0: none */
    const char *model; /* of the gpus; "": any */
};
struct slurm_ask;
struct slurm_size slurm_size_of(const struct slurm_ask *ask, const json_t *spec);

/* The count of a resource ("cpu", "gres/gpu") in a job. */
int64_t slurm_size_get(const struct slurm_size *s, const char *resource);

/*
 * The limit that the job alone exceeds, as Slurm's reason ("QOSMaxGRESPerUser",
 * "AssocMaxWallDurationPerJobLimit"); NULL: none. `qos` is the spec of the SlurmQos (NULL: none).
 * The caller frees it. `*ret_denies`: a job with this reason is refused, never queued.
 */
char *slurm_limits_find(const struct slurm_chain *c, const json_t *qos, const struct slurm_size *s,
                        bool *ret_denies);

/*
 * The reason if the job, beside what others hold, exceeds the list `key` of the part, of a QOS or
 * an association; NULL: it does not. Resources with a type count for a job alone only. The caller
 * frees it.
 */
char *slurm_limits_with(const json_t *part, const char *key, bool is_of_qos,
                        const struct slurm_size *s, const struct slurm_size *held);

enum {
    SLURM_MINUTES_ENDLESS = 1 << 25 /* of a job without a time limit: 64 years */
};
/* The resources x minutes: for the lists of "RunMins". */
struct slurm_size slurm_size_minutes(const struct slurm_size *s, int64_t minutes);
void slurm_size_add(struct slurm_size *to, const struct slurm_size *more);

/* "Cpu", "Mem", "Node", "GRES", "Billing": the word for a resource in reasons. Static. */
const char *slurm_resource_word(const char *resource);
