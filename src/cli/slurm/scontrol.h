/* scontrol.h - the parts of scontrol */
#pragma once

#include "cli/slurm/slurm_command.h"

struct scontrol {
    struct slurm_command s;
    bool is_one_line;
    bool is_detailed;
};

/* --json or --yaml */
bool scontrol_wants_document(const struct scontrol *x);
/* Prints a document, which is taken. */
struct err *scontrol_print_document(struct scontrol *x, json_t *document) MUST_CHECK;

/* Each runs a verb with the words behind it. */
struct err *scontrol_show(struct scontrol *x, size_t n, const char *const *words) MUST_CHECK;
/* Jobs with commas, the first one at the top. */
struct err *scontrol_top(struct scontrol *x, const char *list) MUST_CHECK;
struct err *scontrol_update(struct scontrol *x, size_t n, const char *const *words) MUST_CHECK;
/* scontrol_partition.c: of partitions. */
struct err *scontrol_create(struct scontrol *x, size_t n, const char *const *words) MUST_CHECK;
struct err *scontrol_delete(struct scontrol *x, size_t n, const char *const *words) MUST_CHECK;
struct err *scontrol_update_partition(struct scontrol *x, size_t n,
                                      const char *const *words) MUST_CHECK;
/* Is a partition the subject of the words? */
bool scontrol_names_partition(size_t n, const char *const *words);
/* scontrol_reservation.c: create, update, delete; show. */
struct err *scontrol_change_reservation(struct scontrol *x, const char *verb, size_t n,
                                        const char *const *words) MUST_CHECK;
struct err *scontrol_show_reservations(struct scontrol *x, const char *name) MUST_CHECK;
/* Is a reservation the subject of the words? */
bool scontrol_names_reservation(size_t n, const char *const *words);
/* Has the server read its configuration again; its error is returned. */
struct err *scontrol_reconfigure(struct scontrol *x) MUST_CHECK;
/* hold, uhold, release, requeue, requeuehold */
struct err *scontrol_change(struct scontrol *x, const char *verb, size_t n,
                            const char *const *words) MUST_CHECK;

/* The first row of a job, and the elements that the name means, which the caller frees. ERR_INVALID
 * "Invalid job id specified": there is none. New reference. */
struct err *scontrol_find_job(struct scontrol *x, const char *name, json_t **ret_row,
                              char **ret_elements) MUST_CHECK;
