/*
 * step_use_linux.c - what the tasks of a Slurm step use now: mete step use NUMBER, for sstat
 *
 * sstat starts it in the job's pod through the door of exec, so that it runs as the job's user. The
 * node puts the processes of a step into cgroups below that of the job (EXEC_CGROUP_STEP). A task
 * is all processes of the step with the same SLURM_PROCID.
 */

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/stamp.h"
#include "base/vec.h"
#include "cli/slurm/step_private.h"
#include "cli/term/output.h"

enum {
    USE_FILE_MAX = 1 << 20, /* bytes of a file of /proc, or of a list of processes */
    USE_PROCESSES_MAX = 65536
};

#define CGROUPS      "/sys/fs/cgroup"
#define JOBS_CGROUP  "/mete/" /* above the cgroups of jobs */
#define STEP_CGROUPS "step-%" PRId64 "-"

struct use_process {
    int64_t pid;
    int64_t parent;
    int64_t begun_ticks;
    int64_t cpu_ns; /* with that of its children that ended */
    int64_t rss_bytes;
    int64_t peak_bytes;
    int64_t rank; /* -1: unknown */
};

struct use_processes {
    VEC(struct use_process) all;
};

/* ---- one process ---- */

static struct err *use_read(int64_t pid, const char *name, struct buf *ret)
{
    char path[64];

    (void)snprintf(path, sizeof(path), "/proc/%" PRId64 "/%s", pid, name);
    return file_read(path, USE_FILE_MAX, ret);
}

static int64_t use_number(struct str text)
{
    int64_t n = 0;

    while (text.size > 0 && (*text.at == ' ' || *text.at == '\t')) {
        text.at++;
        text.size--;
    }
    text = str_cut(&text, ' ');
    err_free(num_parse_int64(text, 0, INT64_MAX, &n)); /* the kernel's text; else 0 */
    return n;
}

/* Reads fields by their numbers in proc(5): 4 is the parent, 14 to 17 are ticks of use, 22 is the
 * start in ticks, 24 pages. */
static struct err *use_read_stat(struct use_process *p)
{
    int64_t tick_ns = NS_PER_SEC / sysconf(_SC_CLK_TCK);
    AUTO(buf_done) struct buf text = {0};
    struct str rest;

    TRY(use_read(p->pid, "stat", &text));
    rest = str_of(text.at ? strrchr(text.at, ')') : NULL);
    if (!rest.at || rest.size < 2)
        return err_new(ERR_NOT_FOUND, "process %" PRId64 " is over", p->pid);
    rest = (struct str){rest.at + 2, rest.size - 2};
    for (int field = 3; rest.at && field <= 24; field++) {
        int64_t n = use_number(str_cut(&rest, ' '));

        if (field == 4)
            p->parent = n;
        else if (field >= 14 && field <= 17)
            p->cpu_ns += n * tick_ns;
        else if (field == 22)
            p->begun_ticks = n;
        else if (field == 24)
            p->rss_bytes = n * sysconf(_SC_PAGESIZE);
    }
    return NULL;
}

/* The value of "KEY<separator>VALUE" among lines that `end` ends; {0}: none. */
static struct str use_value(const struct buf *text, char end, const char *key)
{
    struct str rest = {text->at, text->size};

    while (rest.at && rest.size > 0) {
        struct str line = str_cut(&rest, end);

        if (str_starts_with(line, str_of(key)))
            return (struct str){line.at + strlen(key), line.size - strlen(key)};
    }
    return (struct str){0};
}

struct err *step_process_begun(int64_t pid, int64_t *ret_ticks)
{
    struct use_process p = {.pid = pid};

    TRY(use_read_stat(&p));
    *ret_ticks = p.begun_ticks;
    return NULL;
}

static struct err *use_read_process(struct use_process *p)
{
    AUTO(buf_done) struct buf status = {0};
    AUTO(buf_done) struct buf environment = {0};
    AUTO(err_freep) struct err *e = NULL;
    struct str rank;

    TRY(use_read_stat(p));
    TRY(use_read(p->pid, "status", &status));
    p->peak_bytes = use_number(use_value(&status, '\n', "VmHWM:")) << 10;
    e = use_read(p->pid, "environ", &environment); /* a program with another identity: unreadable */
    rank = e ? (struct str){0} : use_value(&environment, '\0', "SLURM_PROCID=");
    p->rank = rank.at ? use_number(rank) : -1;
    return NULL;
}

/* ---- the processes of the step ---- */

/* The directory of the job's cgroup that has the processes, and the name of ours in it. */
static struct err *use_find_cgroup(char **ret_dir, char **ret_own)
{
    AUTO(buf_done) struct buf text = {0};
    struct str path = {0};
    const char *root = CGROUPS "/pids";
    AUTO_FREE char *own = NULL;
    char *below = NULL;
    char *slash = NULL;

    TRY(file_read("/proc/self/cgroup", USE_FILE_MAX, &text));
    for (struct str rest = {text.at, text.size}; rest.at && !path.at;) {
        struct str line = str_cut(&rest, '\n');

        (void)str_cut(&line, ':');
        if (line.at && str_equal(str_cut(&line, ':'), STR("pids")))
            path = line;
    }
    if (!path.at) {
        root = CGROUPS;
        path = use_value(&text, '\n', "0::");
    }
    own = mem_strndup(text_or_empty(path.at), path.size);
    below = strstr(own, JOBS_CGROUP);
    slash = strrchr(own, '/');
    if (!below || slash < below + strlen(JOBS_CGROUP))
        return err_new(ERR_INVALID, "this is no command in a job: cgroup '%s'", own);
    *ret_own = mem_strdup(slash + 1);
    *slash = '\0';
    *ret_dir = mem_format("%s%s", root, below);
    return NULL;
}

static struct err *use_add_processes(const char *cgroup, struct use_processes *to)
{
    AUTO_FREE char *path = mem_format("%s/cgroup.procs", cgroup);
    AUTO(buf_done) struct buf list = {0};
    struct str rest;

    TRY(file_read(path, USE_FILE_MAX, &list));
    rest = (struct str){list.at, list.size};
    while (rest.at && rest.size > 0 && to->all.n < USE_PROCESSES_MAX) {
        struct use_process p = {.pid = use_number(str_cut(&rest, '\n')), .rank = -1};
        AUTO(err_freep) struct err *e = use_read_process(&p);

        if (!e) /* else it has just ended */
            vec_add(&to->all, p);
    }
    return NULL;
}

static struct err *use_find_processes(int64_t step, struct use_processes *to)
{
    AUTO_FREE char *prefix = mem_format(STEP_CGROUPS, step);
    AUTO_FREE char *dir = NULL;
    AUTO_FREE char *own = NULL;
    char **names = NULL;
    size_t n = 0;

    TRY(use_find_cgroup(&dir, &own));
    TRY(dir_list(dir, &names, &n));
    for (size_t i = 0; i < n; i++) {
        AUTO_FREE char *path = mem_format("%s/%s", dir, names[i]);

        if (text_starts_with(names[i], prefix) && !text_equal(names[i], own))
            err_free(use_add_processes(path, to)); /* a cgroup that is gone has no processes */
    }
    names_free(names, n);
    return NULL;
}

static struct use_process *use_find(const struct use_processes *in, int64_t pid)
{
    VEC_EACH (&in->all, p)
        if (p->pid == pid)
            return p;
    return NULL;
}

/* A process whose parent is outside of the step is its manager. */
static bool is_manager(const struct use_processes *in, const struct use_process *p)
{
    return !use_find(in, p->parent);
}

/* The rank of the process, or of the nearest process above whose rank is known; -1: none. */
static int64_t use_rank(const struct use_processes *in, const struct use_process *p)
{
    for (size_t i = 0; i < in->all.n && p && !is_manager(in, p); i++) {
        if (p->rank >= 0)
            return p->rank;
        p = use_find(in, p->parent);
    }
    return -1;
}

struct err *step_managers_find(int64_t step, struct step_numbers *ret)
{
    struct use_processes in = {0};
    struct err *e = use_find_processes(step, &in);

    VEC_EACH (&in.all, p)
        if (!e && is_manager(&in, p))
            vec_add(ret, p->pid);
    vec_done(&in.all);
    return e;
}

/* ---- the answer ---- */

static json_t *use_task(json_t *tasks, int64_t rank)
{
    json_t *task = NULL;
    size_t i = 0;

    json_array_foreach (tasks, i, task)
        if (json_int(task, "rank", -1) == rank)
            return task;
    task = json_object();
    json_put_int(task, "rank", rank);
    (void)json_array_append_new(tasks, task); /* fresh: cannot fail */
    return task;
}

/* The peak of a task is the largest that is known: of all its processes now, or ever of one. */
static void use_add(json_t *task, const struct use_process *p)
{
    int64_t rss_bytes = json_int(task, "rssBytes", 0) + p->rss_bytes;
    int64_t peak_bytes = json_int(task, "peakBytes", 0);

    peak_bytes = p->peak_bytes > peak_bytes ? p->peak_bytes : peak_bytes;
    json_put_int(task, "cpuNs", json_int(task, "cpuNs", 0) + p->cpu_ns);
    json_put_int(task, "rssBytes", rss_bytes);
    json_put_int(task, "peakBytes", rss_bytes > peak_bytes ? rss_bytes : peak_bytes);
    (void)json_array_append_new(json_array_at(task, "pids"),
                                json_integer(p->pid)); /* fresh: cannot fail */
}

struct err *step_use_print(struct cli *c, const char *number)
{
    AUTO(json_freep) json_t *answer = json_object();
    AUTO_FREE char *text = NULL;
    AUTO_FREE char *line = NULL;
    json_t *tasks = json_array_at(answer, "tasks");
    struct use_processes in = {0};
    int64_t step = 0;
    struct err *e = num_parse_int64(str_of(number), 0, INT32_MAX, &step);

    if (!e)
        e = use_find_processes(step, &in);
    VEC_EACH (&in.all, p) {
        int64_t rank = use_rank(&in, p);

        if (rank >= 0)
            use_add(use_task(tasks, rank), p);
    }
    vec_done(&in.all);
    TRY(e);
    text = json_format(answer);
    line = mem_format("%s\n", text);
    return output_write(c, str_of(line));
}
