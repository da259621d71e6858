/*
 * crun_attempt_linux.h - an attempt under crun and conmon: its files and its state in memory
 *
 * Each attempt has a bundle, DATA/node/pods/<uid>/<container>-<attempt>/. After a restart the files
 * alone tell the attempt's state, because of the order in which they are written:
 *
 *   intents/<id>.json  durable before anything else exists
 *   lock               flocked by the node, then inherited by conmon, crun and the waiting first
 *                      process: held while one of these lives, unlike a pid never ambiguous
 *   monitor            a fifo, flocked likewise, by conmon alone: conmon releases `lock` before it
 *                      writes the exit code, and `monitor` by its own end
 *   pidfile            written by crun when the container is created
 *   started            the node's mark, before the start; without it the program has never run
 *   exits/<id>         written by conmon when the container's first process was reaped, which the
 *                      kernel allows only after all others of its pid namespace are gone
 *   LAST_DIR/<id>/exit the same, written earlier: read if the disk of DATA was full
 *
 * Only the intent is synced: a power failure also ends the containers, and the changed boot id then
 * tells that an attempt is over and may have run.
 *
 * The start writes one byte to crun's exec.fifo and removes the fifo, as `crun start` does, but
 * saves a process (4.5 ms). In this order the start may be repeated: a fifo without a reader was
 * already used.
 */
#pragma once

#include "base/map.h"
#include "base/proc.h"
#include "base/vec.h"
#include "node/runtime/join_linux.h"
#include "node/runtime/oci.h"
#include "node/runtime/runtime.h"
#include "node/session/exec_linux.h"

#define LAST_PARENT "/run/mete"
#define LAST_DIR    LAST_PARENT "/exits" /* in memory: no attempt outlives its boot */

enum {
    SYNC_TEXT_MAX = 65536
};

struct crun_attempt;
struct crun;

/* An answer to be given from the loop. */
struct deferred {
    struct deferred *prev;
    struct deferred *next;
    struct crun *r;
    struct loop_timer *timer;
    runtime_done_fn done;
    void *arg;
    struct err *e;
    char *kill_id; /* not NULL: not an answer, but a signal to send again */
    int kill_signal;
};

/* A call that waits for a removal. */
struct removal_call {
    runtime_done_fn done;
    void *arg;
};

/* A run of crun. */
struct command {
    struct command *prev;
    struct command *next;
    struct crun *r;
    struct proc *proc;
    char *id; /* the attempt may be gone when the command ends */
    void (*then)(struct crun_attempt *b, const struct err *e, void *arg);
    void *arg;
    runtime_done_fn done;
};

struct crun {
    struct runtime runtime;
    struct runtime_crun_options o;
    char *dir;
    char *boot_id;
    struct oci oci;
    char *conmon_path;
    char *root; /* crun's state directory */
    struct crun_attempt *attempts;
    struct deferred *deferred;
    struct command *commands;
    struct listing *listing; /* a `list` under way */
    struct exec_set execs;
    struct attached *attached_list; /* attach_linux.c */
    struct forward *forwards;       /* forward_linux.c */
};

struct crun_attempt {
    struct map_handle handle;
    struct crun *r;
    char *id;
    char *bundle;
    enum oci_kind kind; /* the attempt's runtime; new attempts may have another */
    char *log_path;
    bool has_stdin; /* from the creation, as are: */
    bool is_stdin_once;
    bool has_terminal;
    bool has_files; /* streams are files of a user, and conmon passes them on */
    int outputs[2]; /* these files until the creation's end; -1: none */
    gid_t groups[2];
    struct join join; /* namespaces of another container, until the creation's end */
    json_t *intent;
    enum runtime_state state;
    struct runtime_exit exit;
    struct usage usage; /* from its file in the bundle */
    bool is_usage_read;
    int64_t usage_saved_ns; /* monotonic: the last write of that file; 0: none by this process */
    bool is_usage_final;    /* the last sample was taken */

    struct proc *conmon; /* our child; NULL if adopted, with these: */
    int pidfd;
    struct loop_io *pidfd_io;
    struct loop_timer *timer; /* polls, retries */
    int64_t poll_until_ns;

    int sync_fd; /* conmon reports the result of the creation */
    struct loop_io *sync_io;
    struct buf sync_text;
    struct err *create_error;

    runtime_done_fn done; /* of create */
    void *done_arg;
    bool is_being_removed;
    VEC(struct removal_call) removals; /* each call gets an answer */
};

struct crun_attempt *crun_find(struct crun *r, const char *id);
bool crun_is_name(const char *text, size_t max);
/* crun_command_linux.c. Calls `done` from the loop; takes `e`. */
void crun_defer(struct crun *r, runtime_done_fn done, void *arg, struct err *e);
/* Sends the signal again after a moment. */
void crun_kill_later(struct crun *r, const char *id, int signal, runtime_done_fn done, void *arg);
void deferred_free(struct deferred *d);
/* Runs `crun --root R WORDS...`; words end with NULL. Takes `c`. */
void crun_run(struct crun *r, const char *const words[4], struct command *c);
void command_free(struct command *c);

struct crun_attempt *attempt_new(struct crun *r, const char *id, const json_t *intent);
void attempt_free(struct crun_attempt *b);
/* The path of a file of the bundle. The caller frees it, as those below. */
char *attempt_path(const struct crun_attempt *b, const char *name);

/* The pid in the pidfile, written at the creation; 0: none. The process may be gone by now. */
pid_t attempt_first_process(const struct crun_attempt *b);
/* Does the first process run the container's program? Before, it is the runtime's own. True also
 * once the process is gone. */
bool attempt_has_begun(const struct crun_attempt *b);
/* Does the container's first process live? Its end may not have been reported yet. */
bool attempt_is_alive(const struct crun_attempt *b);
char *attempt_exit_path(const struct crun_attempt *b);
char *attempt_last_dir(const struct crun_attempt *b);
char *attempt_intent_path(const struct crun_attempt *b);
char *attempt_state_path(const struct crun_attempt *b);

/* Answers the `create` under way. */
void attempt_finish(struct crun_attempt *b, const struct err *e);
/* Finds the attempt's state. A state that is not known at once comes later, by on_change. */
void attempt_inspect(struct crun_attempt *b);
/* The attempt's conmon is gone: reads the exit code, removes the cgroup, then reports the end. */
void attempt_monitor_gone(struct crun_attempt *b);
/* crun_usage_linux.c: puts the total usage into `exit`, after a last sample if the cgroup exists.
 */
void attempt_end_usage(struct crun_attempt *b);
/* crun_create_linux.c: runtime_ops.create */
void crun_create(void *self, const struct runtime_create *c, runtime_done_fn done, void *arg);
/* runtime_ops.usage */
bool crun_usage(void *self, const char *id, struct usage *ret);
/* runtime_ops.add_gpus */
void crun_add_gpus(void *self, const char *id, const struct gpu_used *g);
/* Lets the first process of a created container go on. Repeatable. */
void attempt_release(struct crun_attempt *b, runtime_done_fn done, void *arg);
/* The path of the attempt's OCI runtime. */
const char *attempt_program(const struct crun_attempt *b);
