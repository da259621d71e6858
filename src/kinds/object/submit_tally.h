/*
 * submit_tally.h - the jobs of the Slurm commands that wait or run, counted by account, user, QOS,
 * partition
 *
 * The tally is a function of the applied state: an update reads the jobs that were written since
 * the last one. An entry belongs to one store_object, of which it holds a ref, so that a write that
 * was taken back is not counted.
 */
#pragma once

#include <stdint.h>

#include "base/map.h"
#include "kinds/object/objects.h"

/* Jobs that agree in these; an element of an array is a job. */
struct submit_kind {
    struct map_handle handle; /* by all four texts */
    char *key;
    char *account; /* "": none, as `user` */
    char *user;
    char *qos;
    char *partition; /* the list of the job */
    int64_t jobs;
    size_t entries; /* SlurmJobs, also those that are over */
};

struct submit_tally {
    struct submit_kind *kinds;
    struct submit_entry *entries; /* by the job's key */
    uint64_t updates;
};

void submit_tally_done(struct submit_tally *t);

/* Brings the tally to the applied state. The cost is one look at each SlurmJob. */
struct err *submit_tally_update(struct submit_tally *t, struct store *store,
                                struct objects *objects) MUST_CHECK;
