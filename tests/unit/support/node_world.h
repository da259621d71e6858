/*
 * node_world.h - the pods of a node over a fake runtime, server and worker, controlled by tests
 *
 * Time is sim_loop's. The server answers requests in order; the runtime carries out calls in the
 * next turn of the loop, unless a member changes that.
 */
#pragma once

#include "base/vec.h"
#include "fake_exec.h"
#include "fake_pinger.h"
#include "node/pod/pod.h"
#include "sim_loop.h"

struct fake_container {
    char *id;
    json_t *intent;
    json_t *config;
    enum runtime_state state;
    struct runtime_exit exit;
    unsigned n_creates;
    unsigned n_starts;
    unsigned n_terms;
    unsigned n_kills;
};

struct fake_request {
    char *method;
    char *path;
    json_t *body;
};

struct node_world {
    struct loop *loop;
    struct client client;
    struct runtime runtime;
    struct worker worker;
    struct pods *pods;
    struct host_info host;
    struct gpu gpus[8];
    size_t n_gpus;
    bool gpus_known;

    VEC(struct fake_container *) containers;
    enum err_code create_error;
    const char *create_message; /* NULL: creations succeed */
    bool obeys_term;            /* SIGTERM ends the container with 143 */
    bool is_stuck;              /* SIGKILL does not end the container */

    struct fake_pinger pinger;
    struct fake_execs execs; /* commands in containers, and attached clients */

    VEC(struct fake_request) requests; /* all requests so far */
    VEC(struct client_call *) calls;   /* unanswered */
    bool is_server_away;
    int patch_status;  /* 0: 200 */
    json_t *objects;   /* "configmaps/NAME" → object */
    unsigned n_tokens; /* tokens issued: "T1", "T2" ... */
    VEC(struct client_call *) watches;

    const char *words; /* termination message of containers; NULL: none */
    unsigned n_prepared;
    unsigned n_unprepared;
    const char *prepare_message; /* NULL: preparations succeed */
    unsigned n_staged;
    unsigned n_struck;
    unsigned n_updated;
    json_t *shown;             /* files of the last volume update: path → text */
    const char *stage_message; /* NULL: stages succeed */
    json_t *disk;              /* path → usage in bytes; -1: too deep */
    unsigned n_measured;
    json_t *shares; /* pods with capped shares, as last told */
};

void node_world_init(struct node_world *w);
/* Begins a world on a machine with images, whose roots `make_root` makes. */
void node_world_init_images(struct node_world *w, const struct image_source *images,
                            struct err *(*make_root)(struct root *r));
void node_world_done(struct node_world *w);

/* Runs until no work is left at the present time. */
void node_world_run(struct node_world *w);
void node_world_advance(struct node_world *w, int64_t ns);

/* Ends a container with `code`. */
void node_world_end(struct node_world *w, const char *id, int code);
struct fake_container *node_world_container(struct node_world *w, const char *id);
/* Adds an attempt that is on the machine before the node starts. */
struct fake_container *node_world_found(struct node_world *w, const char *intent,
                                        enum runtime_state state);
/* Gives all containers to pods_adopt. */
void node_world_adopt(struct node_world *w);

/* A pod "default/p", uid "u1"; `spec` and `status` are JSON texts. A new reference. */
json_t *node_world_pod(const char *spec, const char *status);
void node_world_put(struct node_world *w, const json_t *pod);
/* Sets the server's "configmaps/NAME" to `object` (JSON text; NULL: deleted), and notifies its
 * watches. */
void node_world_change(struct node_world *w, const char *ref, const char *object);

/* The newest status sent to the server; NULL: none. Borrowed. */
const json_t *node_world_status(const struct node_world *w);
size_t node_world_count(const struct node_world *w, const char *method, const char *part_of_path);
