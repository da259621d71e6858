/*
 * jobs_index.h - every job in a few words of memory, for lists that are filtered, sorted and
 * counted
 *
 * A job is a batch/v1 Job, or a pod that belongs to none. Pods of Jobs have rows, too, which lists
 * of jobs skip while the Job is listed. The index is made when it is first asked for, in small
 * steps, and then follows the store.
 */
#pragma once

#include "base/map.h"
#include "kinds/object/objects.h"

enum jobs_state {
    JOBS_WAITING,
    JOBS_STARTING,
    JOBS_RUNNING,
    JOBS_ENDING,
    JOBS_SUSPENDED,
    JOBS_FINISHED,
    JOBS_FAILED,
    JOBS_STATES
};

extern const char *const jobs_state_names[JOBS_STATES];

/* Where the whole object is. */
struct jobs_entry {
    struct map_handle handle;
    uint32_t row;
    bool is_batch;
    const char *ns;
    const char *name;
    char key[]; /* "p" or "j", namespace, '/', name; NUL in between */
};

/* A Job and its pods. */
struct jobs_family {
    struct map_handle handle;
    size_t n_rows;
    bool is_listed; /* the Job has a row */
    bool is_ended;  /* the Job is finished or failed */
    char key[];     /* namespace, '/', uid of the Job */
};

struct jobs_row {
    const struct jobs_entry *entry; /* NULL: the row is free */
    struct jobs_family *family;     /* of a Job, and of a pod of a Job; NULL: of another pod */
    int64_t id;
    int64_t created_ns;
    int64_t started_ns;
    int64_t ended_ns;
    uint32_t ns; /* words of the index, as below */
    uint32_t user;
    uint32_t queue;
    uint32_t n_gpus;
    uint32_t name_at; /* jobs_index_names */
    uint8_t name_size;
    uint8_t state; /* enum jobs_state */
    bool is_part;  /* a pod of a Job: lists that count jobs skip it */
};

/* The present use of gpus by a pod on a node: 1,000 is all of one gpu; -1: unknown. `of` is NULL
 * where nobody knows. */
struct jobs_use {
    void (*of)(const void *arg, const char *node, const char *uid, int64_t *ret_gpu_milli,
               int64_t *ret_gpu_memory_bytes);
    const void *arg;
};

struct jobs_index;
struct jobs_index *jobs_index_new(struct loop *loop, struct objects *objects);
void jobs_index_free(struct jobs_index *x); /* accepts NULL */
void jobs_index_set_use(struct jobs_index *x, struct jobs_use use);
const struct jobs_use *jobs_index_use(const struct jobs_index *x);

/* Calls `fn` when the index is made: later, from the loop. */
struct jobs_wait {
    loop_fn fn;
    void *arg;
    struct jobs_wait *prev, *next;
};
struct err *jobs_index_wait(struct jobs_index *x, struct jobs_wait *w) MUST_CHECK;
void jobs_index_forget(struct jobs_index *x, struct jobs_wait *w);
/* Begins to make the index, unless it is made or being made. */
struct err *jobs_index_make(struct jobs_index *x) MUST_CHECK;
bool jobs_index_is_made(const struct jobs_index *x);
/* Of an index that is made: the last revision whose changes it has. */
int64_t jobs_index_revision(const struct jobs_index *x);
struct store *jobs_index_store(const struct jobs_index *x);
struct loop *jobs_index_loop(const struct jobs_index *x);

/* All rows, free ones, too; until the next turn of the loop. */
const struct jobs_row *jobs_index_rows(const struct jobs_index *x, size_t *ret_count);

/* The names of all jobs, one behind the other: a search reads them in the order of the rows, and
 * does not follow a pointer for each. Until the next turn of the loop. */
const char *jobs_index_names(const struct jobs_index *x);
size_t jobs_index_names_size(const struct jobs_index *x);

/* Words: namespaces, users and queues, by number. */
size_t jobs_index_words(const struct jobs_index *x);
const char *jobs_index_word(const struct jobs_index *x, uint32_t word);
/* False: no job has this word. */
bool jobs_index_find_word(const struct jobs_index *x, const char *text, uint32_t *ret);

/* The job's object, as a new reference, or NULL. */
json_t *jobs_index_object(const struct jobs_index *x, const struct jobs_row *row);
/* The job's item (kinds/job/job_item.h), as a new reference to a tree that stays unchanged, or
 * NULL. Items of rows that are shown again and again are made once a version. */
json_t *jobs_index_item(struct jobs_index *x, const struct jobs_row *row);
