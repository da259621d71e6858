/*
 * runtime.h - what runs containers, as a seam: crun under conmon (runtime_crun_linux.c), or a fake
 *
 * An attempt has an id, `<pod uid>-<container>-<attempt>`, and goes one way: intent, created,
 * started, ended. The implementation keeps the promise "started at most once" over its own death at
 * any instruction: the intent is durable before anything is created, a mark is written before the
 * start, and `list` tells from what it finds on the machine how far each attempt came.
 *
 * All calls return at once. Callbacks come from the loop, never from inside a call.
 */
#pragma once

#include "base/json.h"
#include "base/loop.h"
#include "node/runtime/usage.h"

struct runtime;

enum {
    RUNTIME_ID_SIZE = 160,
    RUNTIME_CODE_UNKNOWN = -1
};

enum runtime_state {
    RUNTIME_INTENDED, /* an intent and nothing else: it is proven that its program never ran */
    RUNTIME_CREATING, /* somebody is at it; on_change tells what became of it */
    RUNTIME_CREATED,  /* waits for its start; its program has not run */
    RUNTIME_RUNNING,  /* started */
    RUNTIME_ENDED,    /* proven gone, with all its processes */
};

struct runtime_exit {
    int code;            /* 128 + n for signal n; RUNTIME_CODE_UNKNOWN: nobody saw it */
    bool was_started;    /* false: proven that the program never ran */
    bool is_oom;         /* its memory limit killed something in it */
    int64_t started_ns;  /* since 1970; 0: not known */
    int64_t finished_ns; /* since 1970; 0: not known */
    bool has_usage;
    struct account_usage usage; /* all that it used */
};

/* An attempt as it is. `exit` counts in RUNTIME_ENDED, `exit.started_ns` from RUNTIME_RUNNING on.
 */
struct runtime_container {
    const char *id;
    const json_t *intent; /* as given to create */
    enum runtime_state state;
    struct runtime_exit exit;
};

struct runtime_create {
    const char *id;
    const json_t *intent; /* an object; comes back by `list` */
    json_t *config;       /* config.json of the bundle */
    const char *log_path; /* CRI format; its directory is made */
    bool has_stdin;       /* its input stays open, for attach */
    bool is_stdin_once;   /* until the first who was attached leaves */
    bool has_terminal;
};

typedef void (*runtime_done_fn)(void *arg, const struct err *e);
typedef void (*runtime_list_fn)(void *arg, const struct err *e,
                                const struct runtime_container *containers, size_t n);

/* A command in a running container. */
struct runtime_exec {
    const char *id;
    const json_t *process; /* as `process` of config.json: args, cwd, env; user and capabilities are
                              the container's own where absent */
    bool has_stdin;
    bool has_terminal; /* stdout and stderr are one then */
    uint16_t columns;  /* of the terminal; 0: not known */
    uint16_t rows;
    int64_t deadline_ns; /* from now; then it is killed and its end is ERR_TIMEOUT; 0: none */
    /* `fd` 1 or 2. */
    void (*output)(void *arg, int fd, struct str bytes);
    void (*drained)(void *arg); /* all input was taken; may be NULL */
    /* Its end, after all output; the exec is dead. `e`: it could not run (ERR_NOT_FOUND: no such
     * container or program). */
    void (*end)(void *arg, const struct err *e, int code);
    void *arg;
};

struct exec; /* one under way */

/* A connection to a port of a pod, as an exec: stdin and stdout are its two directions. */
struct runtime_forward {
    const char *const *ids; /* running attempts of the pod; NULL-terminated */
    uint16_t port;
    void (*output)(void *arg, int fd, struct str bytes); /* `fd` 1 */
    void (*output_end)(void *arg);                       /* the pod sends no more */
    void (*drained)(void *arg);
    /* Both directions have ended, or the pod has reset it; or `e`: no process of the pod takes
     * connections on the port. */
    void (*end)(void *arg, const struct err *e, int code);
    void *arg;
};

/* Moves on an exec under way. */
struct exec_ops {
    void (*input)(struct exec *x, struct str bytes);
    size_t (*backlog)(const struct exec *x); /* input that it has not taken yet */
    void (*input_end)(struct exec *x);
    void (*resize)(struct exec *x, uint16_t columns, uint16_t rows);
    void (*pause)(struct exec *x, bool is_paused); /* output is not read while paused */
    void (*cancel)(struct exec *x);                /* kills it; no callback after it */
};

struct exec {
    const struct exec_ops *ops;
};

struct runtime_ops {
    /*
     * ERR_INVALID: the runtime refused it, saying why (no such program, no such directory): trying
     * again would not help. Other errors: this machine could not, now.
     */
    void (*create)(void *self, const struct runtime_create *c, runtime_done_fn done, void *arg);
    /* Lets a created one run. A second start of an id does nothing. */
    void (*start)(void *self, const char *id, runtime_done_fn done, void *arg);
    /* To its first process; SIGKILL ends them all. One that has ended is no error. */
    void (*kill)(void *self, const char *id, int signal, runtime_done_fn done, void *arg);
    /* Forgets an ended or intended attempt: state, cgroup, bundle, at last the intent. */
    void (*remove)(void *self, const char *id, runtime_done_fn done, void *arg);
    /* What is on this machine; called before the others, and again where it failed. What runs is
     * watched from then on. */
    void (*list)(void *self, runtime_list_fn fn, void *arg);
    /* Begins a command in a running container; what goes wrong comes by its `end`. */
    struct exec *(*exec)(void *self, const struct runtime_exec *e);
    /* Joins the container's own input and output, from now on; conmon's socket. */
    struct exec *(*attach)(void *self, const struct runtime_exec *e);
    struct exec *(*forward)(void *self, const struct runtime_forward *f);
    /* Takes a sample of what a running attempt uses. False: it does not run, or nobody can tell. */
    bool (*usage)(void *self, const char *id, struct usage *ret);
    void (*free)(void *self); /* containers go on; no callback after it */
};

struct runtime {
    const struct runtime_ops *ops;
    void *self;
    const char *name; /* "crun"; NULL in fakes: the same */
    const char *version;
    /* Set by the user: an attempt became RUNTIME_CREATED (out of CREATING) or RUNTIME_ENDED. */
    void (*on_change)(void *arg, const struct runtime_container *c);
    void *arg;
};

struct runtime_crun_options {
    struct loop *loop;
    struct worker *worker;         /* freed before the runtime: none of its jobs is left then */
    struct worker *forward_worker; /* the same; looks for the processes that hold a port */
    const char *dir;               /* DATA/node */
    const char *boot_id;           /* of the running kernel */
    const char *program;           /* of new containers: "crun", "runc" or "auto", as NULL */
    int64_t log_max_bytes;         /* conmon begins a new file after so many; 0: never */
};

/* Fails where the runtime (oci.h) or conmon are missing or too old. */
struct err *runtime_crun_new(const struct runtime_crun_options *o, struct runtime **ret) MUST_CHECK;
void runtime_free(struct runtime *r); /* accepts NULL */
