/* remove.h - deletes objects and waits until they are gone: for delete, cancel and down */
#pragma once

#include "cli/object/resource.h"
#include "cli/session.h"

struct remove_target {
    char *ns; /* "" for cluster-scoped kinds */
    char *name;
    char *uid;   /* "" if unknown */
    char *title; /* name in messages; NULL: kind and name */
    bool is_gone;
};

struct removal {
    struct cli *cli;
    struct session *session;
    const struct resource *resource;
    VEC(struct remove_target) targets;
    int64_t grace_s; /* -1: the object's own */
    bool waits;
    int64_t timeout_ns; /* of the wait; 0: none */
    const char *past;   /* verb in messages: "deleted", "cancelled"; NULL: no message */
};

/* Adds a target; copies the texts. `uid` and `title` may be NULL. */
void removal_add(struct removal *r, const char *ns, const char *name, const char *uid,
                 const char *title);
/* Adds a pod with the title "job 12 train". */
void removal_add_job(struct removal *r, const json_t *pod);
void removal_done(struct removal *r);

/* Deletes all targets, then waits for all. Returns the first failure after trying every target. */
struct err *removal_run(struct removal *r) MUST_CHECK;
