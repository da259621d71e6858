/* images_private.h - the image store as images.c, image_commit.c, image_jobs.c and image_gc.c see
 * it */
#pragma once

#include "base/vec.h"
#include "model/image_name.h"
#include "node/image/image_index.h"
#include "node/image/image_store_linux.h"
#include "node/image/images.h"

struct image_use {
    char *id;
    char *pod_uid;
};

/* One change of the index. Commits run one after another, each on the result of the one before. */
struct image_commit {
    struct image_commit *prev;
    struct image_commit *next;
    struct images *images;
    /* Changes `index` and adds the layers to move. After an error the change is dropped. */
    struct err *(*make)(void *arg, json_t *index, struct image_commit *c);
    void (*done)(void *arg, const struct err *e); /* may be NULL */
    void *arg;

    json_t *index; /* the new index */
    char *text;
    VEC(struct image_move) moves;
    json_t *trash; /* directories of layers that no image uses afterwards */
};

struct image_job;

struct images {
    struct images_options o;
    char *dir;
    char *layer_dir;
    char *work_dir;
    char *index_path;
    char *self_path;
    char *architecture;
    char *registries;
    json_t *index;
    struct image *images; /* by id, made from `index` */
    const struct image **list;
    size_t n;
    json_t *used; /* id → realtime of the last use, if later than in the index */
    VEC(struct image_use) uses;
    struct image_commit *commits;
    bool is_committing;
    struct image_job *jobs;
    struct loop_timer *gc_timer;
    bool is_settled;
    bool is_collecting;
    bool is_full_told; /* the log has it */
};

/* image_commit.c: takes `c`. `make` may run at once, `done` never does. */
void images_commit(struct images *i, struct image_commit *c);
void images_commits_free(struct images *i);
/* Replaces the index and rebuilds the list. Takes `index`. */
void images_index_set(struct images *i, json_t *index);
/* Removes a directory in the worker; logs a failure. Takes `path`. */
void images_discard(struct images *i, char *path);

/* image_jobs.c */
void image_jobs_free(struct images *i);

/* image_gc.c */
void images_gc_begin(struct images *i);
void images_gc_end(struct images *i);
int64_t images_used_ns(const struct images *i, const char *id);
bool images_is_used(const struct images *i, const char *id);
