/*
 * image_job.h - one import or pull under way: image_jobs.c (its steps), image_pull.c (calls of
 * skopeo), image_result.c (output of the unpacker)
 */
#pragma once

#include "node/image/image_child_linux.h"
#include "node/image/images_private.h"

/* A caller that waits for a pull. */
struct image_pulling {
    struct image_pulling *prev;
    struct image_pulling *next;
    struct image_job *job;
    image_progress_fn progress;
    image_done_fn done;
    void *arg;
};

/* An import; each has its own job. */
struct image_import {
    struct image_job *job;
    loop_fn drained;
    void *drained_arg;
};

struct image_job {
    struct image_job *prev;
    struct image_job *next;
    struct images *images;
    struct loop_timer *later; /* runs each step in its own turn of the loop */
    void (*step)(struct image_job *j);
    struct image_pulling *waiters;
    struct image_import import;
    char *given; /* the requested name; NULL: the archive names the image */
    char *username;
    char *password;
    struct image_name name; /* `given`, parsed */
    bool is_pull;
    bool has_ended; /* import: all data has come */
    bool is_preparing;
    bool is_committing;
    bool is_dropped; /* has no callers: freed when the worker is done */
    char *dir;
    struct image_work_dir work;
    char *known;
    char *auth;
    struct buf pending; /* import: data that came before the child started */
    struct image_child *child;
    unsigned n_fetched;
    char digest[IMAGE_DIGEST_SIZE]; /* of the image that the registry has under the name */
    json_t *result;
    struct err *error;
    char id[IMAGE_DIGEST_SIZE];
};

/* image_jobs.c */
/* Takes `e`; the job ends in a later turn of the loop. */
void job_fail(struct image_job *j, struct err *e);
void job_succeed(struct image_job *j);
void job_progress(struct image_job *j, const char *line);
void job_unpack(struct image_job *j);

/* image_pull.c */
void job_inspect(struct image_job *j);
/* skopeo's auth.json for one registry; the caller frees the text. */
char *pull_auth_format(const struct image_name *name, const char *username, const char *password);
/* Turns skopeo's exit and stderr into an error. */
struct err *pull_error(const char *name, const struct image_child_end *end) MUST_CHECK;

/* image_result.c */
void job_take_line(struct image_job *j, struct str line);
void job_commit(struct image_job *j);
