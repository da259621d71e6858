/* partition_run_linux.c - the helper process that changes MIG instances, or resets a gpu */

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/proc.h"
#include "gpu/partition_run.h"

static const int64_t deadline_default_ns = INT64_C(60) * 1000000000;

struct partition_run {
    struct partition_run_options o;
    char *root_env;
    char *machine_env;
    struct proc *proc; /* NULL: none */
    struct loop_timer *deadline;
    void (*done)(void *arg, const struct err *e);
    void *arg;
};

/* No other process of Mete may use the driver while MIG is switched. */
static void leave_driver(struct partition_run *r)
{
    gpu_watch_pause(r->o.watch);
    if (r->o.shares)
        share_watch_pause(r->o.shares);
}

static void return_to_driver(struct partition_run *r)
{
    gpu_watch_resume(r->o.watch);
    if (r->o.shares)
        share_watch_resume(r->o.shares);
}

static void partition_over(struct partition_run *r, struct err *problem)
{
    AUTO(err_freep) struct err *e = problem;

    r->proc = NULL;
    loop_timer_stop(r->deadline);
    return_to_driver(r);
    r->done(r->arg, e);
}

/* The error in the helper's answer; NULL: all steps are done. */
static struct err *read_answer(struct str output)
{
    struct str rest = output;
    AUTO(json_freep) json_t *answer = NULL;
    AUTO(err_freep) struct err *e = NULL;

    while (rest.at && rest.size > 0 && !answer) {
        struct str line = str_cut(&rest, '\n');

        if (line.size > 0 && line.at[0] == '{')
            e = json_parse(line, &answer);
        if (e)
            break;
    }
    if (json_bool(answer, "end", false))
        return NULL;
    if (!json_text(answer, "error"))
        return err_new(ERR_INTERNAL, "the helper for MIG ended without an answer");
    return err_new(json_int(answer, "code", 0) == 503   ? ERR_UNAVAILABLE
                   : json_int(answer, "code", 0) == 409 ? ERR_CONFLICT
                                                        : ERR_INTERNAL,
                   "%.300s", json_text(answer, "error"));
}

/* The last line of nvidia-smi's words says why; NULL: the gpu was reset. */
static struct err *reset_answer(const struct proc_end *end)
{
    AUTO_FREE char *status = proc_format_status(end->status);
    struct str rest = end->output;
    struct str last = {0};

    if (end->status == 0)
        return NULL;
    while (rest.at && rest.size > 0) {
        struct str line = str_cut(&rest, '\n');

        if (line.size > 0)
            last = line;
    }
    if (last.size > 0 && last.at[last.size - 1] == '.')
        last.size--; /* the message goes on after it */
    if (last.size == 0)
        return err_new(ERR_INTERNAL, "nvidia-smi --gpu-reset %s", status);
    return err_new(ERR_INTERNAL, "nvidia-smi --gpu-reset %s: %.*s", status,
                   (int)(last.size < 200 ? last.size : 200), last.at);
}

static void on_reset_end(void *arg, const struct proc_end *end)
{
    struct partition_run *r = arg;

    partition_over(r, reset_answer(end));
}

static void on_partition_end(void *arg, const struct proc_end *end)
{
    struct partition_run *r = arg;

    partition_over(r, read_answer(end->output));
}

static void on_partition_deadline(void *arg)
{
    struct partition_run *r = arg;

    proc_abandon(r->proc);
    partition_over(r, err_new(ERR_UNAVAILABLE, "the driver does not answer"));
}

struct partition_run *partition_run_new(const struct partition_run_options *o)
{
    struct partition_run *r = mem_alloc(sizeof(*r));

    r->o = *o;
    if (r->o.deadline_ns == 0)
        r->o.deadline_ns = deadline_default_ns;
    r->root_env = mem_format("METE_DRIVER_ROOT=%s", o->driver_root ? o->driver_root : "");
    r->machine_env = mem_format("METE_GPUSIM_MACHINE=%s", o->machine ? o->machine : "");
    r->deadline = loop_timer_new(o->loop, on_partition_deadline, r);
    return r;
}

void partition_run_free(struct partition_run *r)
{
    if (!r)
        return;
    if (r->proc)
        proc_abandon(r->proc);
    loop_timer_free(r->deadline);
    free(r->root_env);
    free(r->machine_env);
    free(r);
}

bool partition_run_is_busy(const struct partition_run *r)
{
    return r->proc != NULL;
}

/* Starts `mete gpu-helper TASK UUID`. */
static struct err *partition_helper(struct partition_run *r, const char *task, const char *uuid,
                                    int input, proc_end_fn fn)
{
    const char *argv[] = {r->o.self_path, "gpu-helper", task, uuid, NULL};
    const char *env[] = {r->root_env, r->machine_env, "METE_GPUSIM_ALL=1", NULL};

    return proc_start(r->o.loop,
                      &(struct proc_options){.argv = argv,
                                             .is_self = true,
                                             .env = env,
                                             .fds = {input, -1, -1},
                                             .n_fds = 3,
                                             .has_output = true},
                      fn, r, &r->proc);
}

static struct err *partition_spawn(struct partition_run *r, const char *uuid, struct str plan)
{
    AUTO(fd_closep) int input = -1;
    AUTO(fd_closep) int output = -1;
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) < 0)
        return err_errno(errno, "pipe to the helper for MIG");
    input = ends[0];
    output = ends[1];
    /* A plan fits in the pipe's buffer. */
    if (write(output, plan.at, plan.size) != (ssize_t)plan.size)
        return err_errno(errno, "write to the helper for MIG");
    return partition_helper(r, "partition", uuid, input, on_partition_end);
}

struct err *partition_run_reset(struct partition_run *r, const char *uuid,
                                void (*done)(void *arg, const struct err *e), void *arg)
{
    struct err *e = NULL;

    if (r->proc)
        return err_new(ERR_BUSY, "another gpu is being changed");
    r->done = done;
    r->arg = arg;
    leave_driver(r);
    e = partition_helper(r, "reset", uuid, -1, on_reset_end);
    if (e) {
        return_to_driver(r);
        return e;
    }
    loop_timer_set(r->deadline, r->o.deadline_ns);
    return NULL;
}

struct err *partition_run_start(struct partition_run *r, const char *uuid,
                                const struct partition_plan *plan,
                                void (*done)(void *arg, const struct err *e), void *arg)
{
    AUTO(json_freep) json_t *steps = partition_plan_format(plan);
    AUTO_FREE char *text = json_format(steps);
    AUTO_FREE char *line = mem_format("%s\n", text);
    struct err *e = NULL;

    if (r->proc)
        return err_new(ERR_BUSY, "MIG instances of another gpu are being changed");
    r->done = done;
    r->arg = arg;
    leave_driver(r);
    e = partition_spawn(r, uuid, str_of(line));
    if (e) {
        return_to_driver(r);
        return e;
    }
    loop_timer_set(r->deadline, r->o.deadline_ns);
    return NULL;
}
