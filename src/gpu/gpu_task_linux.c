/* gpu_task_linux.c - helper processes for tasks on one gpu */

#include <stdio.h>

#include "base/list.h"
#include "base/mem.h"
#include "base/proc.h"
#include "gpu/gpu_task.h"

static const int64_t task_deadline_ns = INT64_C(60) * 1000000000;

struct gpu_task {
    struct gpu_task *prev;
    struct gpu_task *next;
    struct gpu_tasks *set;
    char *uuid;
    struct proc *proc;
    struct loop_timer *deadline;
    void (*done)(void *arg, const char *uuid, const struct err *e);
    void *arg;
};

struct gpu_tasks {
    struct gpu_tasks_options o;
    char *root_env;
    char *machine_env;
    struct gpu_task *tasks;
};

struct gpu_tasks *gpu_tasks_new(const struct gpu_tasks_options *o)
{
    struct gpu_tasks *t = mem_alloc(sizeof(*t));

    t->o = *o;
    if (t->o.deadline_ns == 0)
        t->o.deadline_ns = task_deadline_ns;
    t->root_env = mem_format("METE_DRIVER_ROOT=%s", o->driver_root ? o->driver_root : "");
    t->machine_env = mem_format("METE_GPUSIM_MACHINE=%s", o->machine ? o->machine : "");
    return t;
}

static void gpu_task_free(struct gpu_task *t)
{
    LIST_REMOVE(t->set->tasks, t);
    if (t->proc)
        proc_abandon(t->proc);
    loop_timer_free(t->deadline);
    free(t->uuid);
    free(t);
}

void gpu_tasks_free(struct gpu_tasks *t)
{
    if (!t)
        return;
    while (t->tasks)
        /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): the task leaves the list */
        gpu_task_free(t->tasks);
    free(t->root_env);
    free(t->machine_env);
    free(t);
}

/* Takes `problem`. */
static void gpu_task_over(struct gpu_task *t, struct err *problem)
{
    AUTO(err_freep) struct err *e = problem;
    AUTO_FREE char *uuid = mem_strdup(t->uuid);
    void (*done)(void *arg, const char *name, const struct err *e) = t->done;
    void *arg = t->arg;

    gpu_task_free(t);
    done(arg, uuid, e);
}

/* The error in the helper's answer; NULL: success. */
static struct err *gpu_task_answer(struct str output)
{
    struct str rest = output;
    AUTO(json_freep) json_t *answer = NULL;
    AUTO(err_freep) struct err *e = NULL;

    while (rest.at && rest.size > 0 && !answer && !e) {
        struct str line = str_cut(&rest, '\n');

        if (line.size > 0 && line.at[0] == '{')
            e = json_parse(line, &answer);
    }
    if (json_bool(answer, "ok", false))
        return NULL;
    if (!json_text(answer, "error"))
        return err_new(ERR_INTERNAL, "the helper ended without an answer");
    return err_new(json_int(answer, "code", 0) == 429 ? ERR_BUSY : ERR_INTERNAL, "%.300s",
                   json_text(answer, "error"));
}

static void on_task_end(void *arg, const struct proc_end *end)
{
    struct gpu_task *t = arg;

    t->proc = NULL;
    gpu_task_over(t, gpu_task_answer(end->output));
}

static void on_task_deadline(void *arg)
{
    gpu_task_over(arg, err_new(ERR_UNAVAILABLE, "the driver does not answer"));
}

struct err *gpu_task_check(struct gpu_tasks *set, const char *uuid,
                           void (*done)(void *arg, const char *uuid, const struct err *e),
                           void *arg)
{
    AUTO_FREE char *visible = mem_format("CUDA_VISIBLE_DEVICES=%s", uuid);
    const char *argv[] = {set->o.self_path, "gpu-helper", "check", uuid, NULL};
    const char *env[] = {set->root_env, set->machine_env, visible, "METE_GPUSIM_ALL=1", NULL};
    struct gpu_task *t = mem_alloc(sizeof(*t));
    struct err *e = NULL;

    *t = (struct gpu_task){.set = set, .uuid = mem_strdup(uuid), .done = done, .arg = arg};
    LIST_ADD(set->tasks, t);
    t->deadline = loop_timer_new(set->o.loop, on_task_deadline, t);
    e = proc_start(set->o.loop,
                   &(struct proc_options){.argv = argv,
                                          .is_self = true,
                                          .env = env,
                                          .fds = {-1, -1, -1},
                                          .n_fds = 3,
                                          .has_output = true},
                   on_task_end, t, &t->proc);
    if (e) {
        gpu_task_free(t);
        return err_wrap(e, "start the gpu helper");
    }
    loop_timer_set(t->deadline, set->o.deadline_ns);
    return NULL;
}
