/*
 * node_world.h - the pods of a node over fakes: a runtime, a server and a worker that tests steer
 *
 * Time is sim_loop's. The server answers what it is asked in order; the runtime does what it is
 * told in the next turn, unless a knob says otherwise.
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
    bool obeys_term;            /* SIGTERM ends with 143 */
    bool is_stuck;              /* SIGKILL does not end it */

    struct fake_pinger pinger;
    struct fake_execs execs; /* commands in containers, and who is attached */

    VEC(struct fake_request) requests; /* all there ever were */
    VEC(struct client_call *) calls;   /* not answered yet */
    bool is_server_away;
    int patch_status;  /* 0: 200 */
    json_t *objects;   /* "configmaps/NAME" → object */
    unsigned n_tokens; /* given: "T1", "T2" ... */
    VEC(struct client_call *) watches;

    const char *words; /* what ended containers said last; NULL: nothing */
    unsigned n_prepared;
    unsigned n_unprepared;
    const char *prepare_message; /* NULL: it succeeds */
    unsigned n_staged;
    unsigned n_struck;
    unsigned n_updated;
    json_t *shown;             /* what the last update writes: path → text */
    const char *stage_message; /* NULL: it succeeds */
    json_t *disk;              /* path → bytes that it takes; -1: too deep */
    unsigned n_measured;
};

void node_world_init(struct node_world *w);
/* On a machine with images, whose roots are made by `make_root`. */
void node_world_init_images(struct node_world *w, const struct image_source *images,
                            struct err *(*make_root)(struct root *r));
void node_world_done(struct node_world *w);

/* Until nothing moves any more at this time. */
void node_world_run(struct node_world *w);
void node_world_advance(struct node_world *w, int64_t ns);

/* What the runtime tells by itself. */
void node_world_end(struct node_world *w, const char *id, int code);
struct fake_container *node_world_container(struct node_world *w, const char *id);
/* An attempt that is on the machine before the node starts. */
struct fake_container *node_world_found(struct node_world *w, const char *intent,
                                        enum runtime_state state);
/* Gives all containers to pods_adopt. */
void node_world_adopt(struct node_world *w);

/* A pod "default/p", uid "u1"; `spec` and `status` are JSON texts. A new reference. */
json_t *node_world_pod(const char *spec, const char *status);
void node_world_put(struct node_world *w, const json_t *pod);
/* The server's "configmaps/NAME" becomes `object` (JSON text; NULL: deleted), its watches hear of
 * it. */
void node_world_change(struct node_world *w, const char *ref, const char *object);

/* The newest status that the server was sent; NULL: none. Borrowed. */
const json_t *node_world_status(const struct node_world *w);
size_t node_world_count(const struct node_world *w, const char *method, const char *part_of_path);
