/*
 * gc_private.h - the parts of the garbage collector: a queue of work, an index of owners, timed
 * sweeps
 */
#pragma once

#include "base/map.h"
#include "base/vec.h"
#include "control/gc/gc.h"
#include "control/writes.h"

enum work_type {
    WORK_DEPENDENT,
    WORK_OWNER,
    WORK_NAMESPACE,
    WORK_DEFINITION,
    WORK_NAMES /* a definition is gone: others may take its names */
};

/* One object to look at; in the queue once, however often enqueued. */
struct work {
    struct map_handle handle;
    struct work *prev;
    struct work *next;
    char *id; /* type and key as one text */
    enum work_type type;
    const struct kind *kind;
    char *ns;
    char *name;
};

struct dependent;

/* One owner uid and its dependents. */
struct owner {
    struct map_handle handle;
    char *uid;
    VEC(struct dependent *) dependents;
    /*
     * The owner's deletion waits for its dependents: each change of one looks at the owner again.
     * NULL: not waiting.
     */
    const struct kind *waiting_kind;
    char *waiting_ns;
    char *waiting_name;
};

struct owner_link {
    struct owner *owner;
    bool is_blocking;
};

struct dependent {
    struct map_handle handle;
    char *id;
    const struct kind *kind;
    char *ns;
    char *name;
    VEC(struct owner_link) links;
};

struct missing_node {
    struct map_handle handle;
    char *name;
    int64_t since_ns; /* monotonic */
};

struct gc {
    struct gc_options options;
    struct store *store;
    struct kind_context who;
    struct store_watch *watch;
    struct store_list initial; /* the objects at the start, looked at in turns */
    size_t next_initial;
    struct loop_timer *load_timer;
    bool is_loaded; /* the index of owners is complete: work may be done */

    struct work *work_map;
    struct work *work_list;
    struct loop_timer *work_timer;

    struct owner *owners;
    struct dependent *dependents;

    struct loop_timer *event_timer;
    char *event_ns; /* the sweep of events goes on after this event; NULL: at the beginning */
    char *event_name;

    struct missing_node *missing;
    struct loop_timer *missing_timer;
    struct store_list swept; /* the pods of a sweep for missing nodes, in turns */
    size_t next_swept;
    bool is_sweeping;
    bool has_lost; /* the sweep has failed or removed pods */
    struct loop_timer *check_timer;

    struct writes *writes;
    struct loop_timer *anew_timer; /* the store took a write back: looks at everything anew */
};

void gc_enqueue(struct gc *gc, enum work_type type, const struct kind *k, const char *ns,
                const char *name);
struct objects_request gc_request(const struct gc *gc, const struct kind *k, const char *ns,
                                  const char *name);
/*
 * The answer for a write, then writes_end: if the store takes the write back, everything is looked
 * at anew.
 */
struct cluster_answer gc_answer(const struct gc *gc);
/*
 * Deletes this version of one object. An object that is gone or has changed is no failure: the
 * watch brings it back.
 */
struct err *gc_delete(const struct gc *gc, const struct kind *k, const json_t *object,
                      const char *propagation) MUST_CHECK;
/* Merges `patch` (consumed) into this version of the object only. */
struct err *gc_patch(const struct gc *gc, const struct kind *k, const char *sub,
                     const json_t *object, json_t *patch) MUST_CHECK;

/* gc_index.c */
void gc_index_put(struct gc *gc, const struct kind *k, const struct store_object *o,
                  const json_t *object);
void gc_index_remove(struct gc *gc, const struct store_object *o);
struct owner *gc_owner_find(struct gc *gc, const char *uid);
/* NULL: the object has no owner references. */
struct dependent *gc_dependent_find(struct gc *gc, const struct kind *k, const char *ns,
                                    const char *name);
/* Enqueues the dependents of `uid`. */
void gc_wake_dependents(struct gc *gc, const char *uid);
void gc_index_done(struct gc *gc);

/* gc_owners.c */
struct err *gc_look_at_dependent(struct gc *gc, const struct work *w) MUST_CHECK;
struct err *gc_look_at_owner(struct gc *gc, const struct work *w) MUST_CHECK;
/* gc_namespaces.c */

/* Adds the number of a kind's objects to `*count` (NULL `ns`: of all namespaces); deletes at most
 * `*left` of those that are not being deleted yet. */
struct err *gc_empty_kind(const struct gc *gc, const struct kind *k, const char *ns, size_t *count,
                          size_t *left) MUST_CHECK;
/* `*ret_again`: more work remains. */
struct err *gc_look_at_namespace(struct gc *gc, const struct work *w, bool *ret_again) MUST_CHECK;

/* gc_definitions.c; `*ret_again`: more work remains. */
struct err *gc_look_at_definition(struct gc *gc, const struct work *w, bool *ret_again) MUST_CHECK;
struct err *gc_look_at_names(struct gc *gc, const struct work *w) MUST_CHECK;

/* gc_sweeps.c */
void gc_sweeps_start(struct gc *gc);
void gc_sweeps_done(struct gc *gc);
void gc_node_seen(struct gc *gc, const char *name, bool is_there);
