/*
 * world.h - the world of tests of objects and controllers: virtual time, a store over memory,
 * objects with a seeded random generator, short forms of manifests
 *
 * Manifests are JSON with ' in place of ".
 */
#pragma once

#include "kinds/object/objects.h"
#include "sim_loop.h"

struct world {
    struct loop *loop;
    struct storage *disk;
    struct store *store;
    struct objects *objects;
    uint64_t random;                    /* state of the generator */
    size_t n_done;                      /* writes reported durable */
    size_t n_failed;                    /* writes whose callback had an error */
    struct host_roots host_roots;       /* the roots for hostPath volumes */
    struct network_tiers network_tiers; /* the tiers for Volcano's networkTopology */
};

/* Makes a world with the namespaces default and kube-system. */
void world_init(struct world *w, uint64_t seed);
void world_done(struct world *w);
/* Closes the store and opens it again over the same disk. Watches must be gone. */
void world_restart(struct world *w);

uint64_t world_random(struct world *w);
/* 0 .. n-1 */
size_t world_pick(struct world *w, size_t n);

/* Parses a manifest. Asserts success. New reference. */
json_t *manifest(const char *text);

extern const struct kind_context ann;    /* a person: uid 1000, no administrator */
extern const struct kind_context nobody; /* a person without a uid */
extern const struct kind_context root;   /* an administrator: uid 0 */
extern const struct kind_context ours;   /* a process of Mete */

/* An object's name, and the caller: {.kind = "pods", .ns = "default", .name = "a", .who = &ann} */
struct target {
    const char *group; /* NULL: core */
    const char *kind;
    const char *ns;
    const char *name;
    const char *sub;
    const struct kind_context *who; /* NULL: ann */
    bool is_dry_run;
};

/* Writes, and runs the loop until the write is durable. `ret` may be NULL. */
struct err *world_create(struct world *w, struct target t, const char *text, json_t **ret);
struct err *world_update(struct world *w, struct target t, json_t *object, json_t **ret);
struct err *world_patch(struct world *w, struct target t, const char *text, json_t **ret);
/* `options` may be NULL. */
struct err *world_delete(struct world *w, struct target t, const struct delete_options *options,
                         bool *ret_is_gone);

/* The durable object with its resourceVersion, or NULL. New reference. */
json_t *world_get(struct world *w, struct target t);

/* Asserts success. */
void world_must(struct err *e);
/* Asserts the error's code and message, and frees `e`. */
void world_refused(struct err *e, int http, const char *message);

/* Creates a node with `n_gpus` healthy gpus GPU-<name>-<index>. */
void world_add_node(struct world *w, const char *name, int n_gpus);
/* Creates a pod with one container "main" that asks for `gpus` gpus. */
struct err *world_add_pod(struct world *w, const char *ns, const char *name, int gpus);
/* Binds a pod to a node by a Binding. */
struct err *world_bind(struct world *w, const char *ns, const char *name, const char *node);
