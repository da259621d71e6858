/*
 * runtime.h - the container runtime, as a seam: crun under conmon (runtime_crun_linux.c), host
 * processes without an OCI runtime (runtime_native_linux.c), both behind one (runtime_router.c), or
 * a fake
 *
 * An attempt has the id `<pod uid>-<container>-<attempt>` and passes the states intended, created,
 * running, ended, in this order. An attempt starts at most once, even if the node process dies at
 * any instruction: the intent is durable before anything is created, a mark is written before the
 * start, and `list` derives the state of each attempt from the files and processes on the machine.
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
    RUNTIME_INTENDED, /* only an intent exists: the program certainly never ran */
    RUNTIME_CREATING, /* a creation is under way; on_change tells its result */
    RUNTIME_CREATED,  /* waits for its start; the program has not run */
    RUNTIME_RUNNING,  /* started */
    RUNTIME_ENDED,    /* all its processes are certainly gone */
};

struct runtime_exit {
    int code;            /* 128 + n for signal n; RUNTIME_CODE_UNKNOWN: lost */
    int signal;          /* that ended the first process; 0: none, or unknown */
    const char *message; /* why the program could not be run; NULL: it ran, or unknown */
    const char *failed;  /* "prolog" or "epilog" of Slurm failed; NULL: neither. Static */
    bool was_started;    /* false: the program certainly never ran */
    bool is_oom;         /* the OOM killer ended a process at the memory limit */
    int64_t started_ns;  /* since 1970; 0: unknown */
    int64_t finished_ns; /* since 1970; 0: unknown */
    bool has_usage;
    struct account_usage usage; /* total */
};

/* The present state of an attempt. `exit` is valid in RUNTIME_ENDED, `exit.started_ns` from
 * RUNTIME_RUNNING on. */
struct runtime_container {
    const char *id;
    const json_t *intent; /* as given to create */
    enum runtime_state state;
    struct runtime_exit exit;
};

struct runtime_create {
    const char *id;
    const json_t *intent; /* an object; `list` gives it back */
    json_t *config;       /* config.json of the bundle */
    const json_t *host;   /* value of HOST_PROCESS_ANNOTATION; NULL: a container */
    const char *log_path; /* CRI format; the directory is created */
    const json_t *batch;  /* value of BATCH_CONTAINER_ANNOTATION: there is no log, the streams are
                             files of a user; NULL: a log */
    const char *joined;   /* a running attempt whose process, IPC and user namespaces (the last if
                             the config has one) the new attempt shares; NULL: none */
    bool has_stdin;       /* stdin stays open, for attach */
    bool is_stdin_once;   /* stdin ends with the first attached client */
    bool has_terminal;
};

typedef void (*runtime_done_fn)(void *arg, const struct err *e);
typedef void (*runtime_list_fn)(void *arg, const struct err *e,
                                const struct runtime_container *containers, size_t n);

/* A command in a running container. */
struct runtime_exec {
    const char *id;
    const json_t *process; /* as `process` of config.json: args, cwd, env; user and capabilities
                              default to the container's */
    bool has_stdin;
    bool has_terminal; /* stdout and stderr are then one */
    uint16_t columns;  /* of the terminal; 0: unknown */
    uint16_t rows;
    int64_t deadline_ns; /* from now; then the command ends with ERR_TIMEOUT; 0: none */
    /* `fd` is 1 or 2. */
    void (*output)(void *arg, int fd, struct str bytes);
    void (*drained)(void *arg); /* all input was written; may be NULL */
    /* The command's end, after all output; the exec is dead. `e`: the command could not run
     * (ERR_NOT_FOUND: no such container or program). */
    void (*end)(void *arg, const struct err *e, int code);
    void *arg;
};

struct exec; /* a command under way */

/* A connection to a port of a pod, as an exec: stdin and stdout are the two directions. */
struct runtime_forward {
    const char *const *ids; /* running attempts of the pod; NULL-terminated */
    const char *netns;      /* the path of its network namespace; NULL: the machine's network */
    uint16_t port;
    void (*output)(void *arg, int fd, struct str bytes); /* `fd` 1 */
    void (*output_end)(void *arg);                       /* the pod sends no more */
    void (*drained)(void *arg);
    /* Both directions have ended, or the pod has reset the connection; or `e`: no process of the
     * pod listens on the port. */
    void (*end)(void *arg, const struct err *e, int code);
    void *arg;
};

/* Operations on an exec under way. */
struct exec_ops {
    void (*input)(struct exec *x, struct str bytes);
    size_t (*backlog)(const struct exec *x); /* input not written yet, in bytes */
    void (*input_end)(struct exec *x);
    void (*resize)(struct exec *x, uint16_t columns, uint16_t rows);
    void (*pause)(struct exec *x, bool is_paused); /* output is not read while paused */
    void (*cancel)(struct exec *x);                /* kills the command; no callback afterwards */
};

struct exec {
    const struct exec_ops *ops;
};

struct runtime_signal {
    int number;
    bool is_for_first; /* process */
    bool is_for_steps; /* all processes of all steps; containers have none */
    const char *step;  /* the number of one of them; NULL: all */
};

struct runtime_ops {
    /*
     * Creates an attempt. ERR_INVALID: the runtime refused the configuration (no such program, no
     * such directory), so a retry would not help. Other errors: this machine cannot do it now.
     */
    void (*create)(void *self, const struct runtime_create *c, runtime_done_fn done, void *arg);
    /* Starts a created attempt. A second start of an id does nothing. */
    void (*start)(void *self, const char *id, runtime_done_fn done, void *arg);
    /* Signals the first process; SIGKILL ends all processes. An ended attempt is no error. */
    void (*kill)(void *self, const char *id, int signal, runtime_done_fn done, void *arg);
    /* Sends a signal that is not for the attempt's end. An ended attempt is no error. NULL: as
     * `kill`, and no steps. */
    void (*signal)(void *self, const char *id, const struct runtime_signal *s);
    /* Stops all processes of a running attempt, or lets them go on; repeatable. NULL (in fakes):
     * not possible. */
    void (*suspend)(void *self, const char *id, bool is_suspended);
    /* Removes an ended or intended attempt: state, cgroup, bundle, and last the intent. */
    void (*remove)(void *self, const char *id, runtime_done_fn done, void *arg);
    /* Lists the attempts on this machine; called before the others, and again after a failure. From
     * then on the runtime watches the running attempts. */
    void (*list)(void *self, runtime_list_fn fn, void *arg);
    /* Begins a command in a running container; `end` reports errors. */
    struct exec *(*exec)(void *self, const struct runtime_exec *e);
    /* Attaches to the container's own stdin and output from now on, through conmon's socket. */
    struct exec *(*attach)(void *self, const struct runtime_exec *e);
    struct exec *(*forward)(void *self, const struct runtime_forward *f);
    /* Has the runtime the attempt? NULL: unknown, and the router does not ask. */
    bool (*has)(void *self, const char *id);
    /* Samples the usage of a running attempt. False: it does not run, or its usage is unknown. */
    bool (*usage)(void *self, const char *id, struct usage *ret);
    /* Adds what a running attempt used of its gpus to its usage. NULL (in fakes): not kept. */
    void (*add_gpus)(void *self, const char *id, const struct gpu_used *g);
    /* Says why an attempt does not end (cgroup_stuck.h); NULL: unknown. The caller frees it. */
    char *(*stuck)(void *self, const char *id);
    void (*free)(void *self); /* containers keep running; no callback afterwards */
};

struct runtime {
    const struct runtime_ops *ops;
    void *self;
    const char *name; /* "crun"; NULL (in fakes): crun */
    const char *version;
    /* Set by the caller: an attempt became RUNTIME_CREATED (from CREATING) or RUNTIME_ENDED, or
     * RUNTIME_INTENDED again, because its start was lost before its program ran. */
    void (*on_change)(void *arg, const struct runtime_container *c);
    void *arg;
};

struct runtime_crun_options {
    struct loop *loop;
    struct worker *worker;         /* freed before the runtime, so no job of it remains */
    struct worker *forward_worker; /* the same; finds the processes that hold a port */
    const char *dir;               /* DATA/node */
    const char *boot_id;           /* of the running kernel */
    const char *program;           /* for new containers: "crun", "runc" or "auto"; NULL: auto */
    int64_t log_max_bytes;         /* size at which conmon begins a new file; 0: never */
};

struct runtime_native_options {
    struct loop *loop;
    const char *dir;         /* DATA/node */
    const char *mask_dir;    /* appears empty to the processes */
    const char *boot_id;     /* of the running kernel */
    const char *cgroup_root; /* NULL: CGROUP_ROOT */
    const char *launcher;    /* program with the role of launch_helper.h; NULL: this one */
};

/* Processes of the host in a cgroup, without an OCI runtime: native_linux.h. */
struct err *runtime_native_new(const struct runtime_native_options *o,
                               struct runtime **ret) MUST_CHECK;

/*
 * Gives each attempt to one of the two runtimes, which the router owns from now on: a creation with
 * `host` to `native`, others to `oci`; later calls to the runtime that has the attempt. The name is
 * that of `oci`.
 */
struct runtime *runtime_router_new(struct runtime *oci, struct runtime *native);

/* Fails if the OCI runtime (oci.h) or conmon is missing or too old. */
struct err *runtime_crun_new(const struct runtime_crun_options *o, struct runtime **ret) MUST_CHECK;
void runtime_free(struct runtime *r); /* accepts NULL */
