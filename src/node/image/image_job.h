/*
 * image_job.h - one import or pull on its way: image_jobs.c (its steps), image_pull.c (what skopeo
 * is asked and says), image_result.c (what the unpacker says)
 */
#pragma once

#include "node/image/image_child_linux.h"
#include "node/image/images_private.h"

/* Who waits for a pull. */
struct image_pulling {
    struct image_pulling *prev;
    struct image_pulling *next;
    struct image_job *job;
    image_progress_fn progress;
    image_done_fn done;
    void *arg;
};

/* An import is a job of its own. */
struct image_import {
    struct image_job *job;
    loop_fn drained;
    void *drained_arg;
};

struct image_job {
    struct image_job *prev;
    struct image_job *next;
    struct images *images;
    struct loop_timer *later; /* each step is one of its own */
    void (*step)(struct image_job *j);
    struct image_pulling *waiters;
    struct image_import import;
    char *given; /* the name as it was asked for; NULL: the archive says it */
    char *username;
    char *password;
    struct image_name name; /* where `given` is */
    bool is_pull;
    bool has_ended; /* import: no more data comes */
    bool is_preparing;
    bool is_committing;
    bool is_dropped; /* nobody waits: freed when the worker is done with it */
    char *dir;
    struct image_work_dir work;
    char *known;
    char *auth;
    struct buf pending; /* import: data before the child is there */
    struct image_child *child;
    unsigned n_fetched;
    char digest[IMAGE_DIGEST_SIZE]; /* of what the registry has by that name */
    json_t *result;
    struct err *error;
    char id[IMAGE_DIGEST_SIZE];
};

/* image_jobs.c */
void job_fail(struct image_job *j, struct err *e); /* takes it; the end follows later */
void job_succeed(struct image_job *j);
void job_progress(struct image_job *j, const char *line);
void job_unpack(struct image_job *j);

/* image_pull.c */
void job_inspect(struct image_job *j);
/* skopeo's file for one registry; the caller frees it. */
char *pull_auth_format(const struct image_name *name, const char *username, const char *password);
/* The error that skopeo ended with. */
struct err *pull_error(const char *name, const struct image_child_end *end) MUST_CHECK;

/* image_result.c */
void job_take_line(struct image_job *j, struct str line);
void job_commit(struct image_job *j);
