/*
 * step_linux.c - mete step: the manager of a Slurm step on one node
 *
 * srun starts it in the job's pod through the door of exec. It reads its plan and then frames from
 * stdin, and writes frames to stdout (slurm/step_frame.h). It ends when its tasks have ended, and
 * ends them when its connection breaks.
 */

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/loop_linux.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/stamp.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/slurm/pmix_server.h"
#include "cli/slurm/step_private.h"
#include "kinds/slurm/slurm_step.h"

enum {
    PIECE = 65536,
    SENT_MAX = 256 << 10,  /* above it outputs are not read */
    SENT_LOW = 64 << 10,   /* below it they are again */
    INPUT_MAX = 256 << 10, /* bytes that a task does not read: above them srun waits */
    KILL_WAIT_MS = 2000,
    LINGER_MS = 5000,     /* for attachments that have not read all when the tasks are over */
    SENT_CAP = 256 << 20, /* the largest data of fences is far below */
    CHILDREN_MAX = 65536  /* bytes of the list of children */
};

/* ---- what goes to srun ---- */

static void step_end_if_done(struct step *s)
{
    if (s->is_finishing && (s->sent.size == 0 || s->is_lost) && step_pmix_pid(s) == 0 &&
        (s->is_late || !step_attachments_have_unsent(s)))
        loop_linux_stop(s->loop);
}

void step_attachments_changed(struct step *s)
{
    step_end_if_done(s);
}

static void step_pause(struct step *s, bool is_paused)
{
    if (s->is_paused == is_paused)
        return;
    s->is_paused = is_paused;
    VEC_EACH (&s->tasks, task)
        step_task_pause(*task, is_paused);
}

static void step_end(struct step *s);

static void step_flush(struct step *s)
{
    while (s->sent.size > 0 && !s->is_lost) {
        ssize_t n = write(STDOUT_FILENO, s->sent.at, s->sent.size);

        if (n < 0 && errno == EAGAIN)
            break;
        if (n < 0 && errno != EINTR) {
            s->is_lost = true;
            step_end(s);
        }
        buf_consume(&s->sent, n > 0 ? (size_t)n : 0);
    }
    if (s->is_lost)
        buf_clear(&s->sent);
    loop_io_want(s->out, false, s->sent.size > 0);
    if (s->sent.size > SENT_MAX)
        step_pause(s, true);
    else if (s->sent.size < SENT_LOW)
        step_pause(s, false);
    step_end_if_done(s);
}

void step_say(struct step *s, char kind, uint32_t rank, struct str payload)
{
    if (kind == STEP_OUTPUT || kind == STEP_ERRORS || kind == STEP_EXIT)
        step_attachments_say(s, kind, rank, payload);
    if (s->is_lost)
        return;
    step_frame_add(&s->sent, kind, rank, payload);
    loop_io_want(s->out, false, true);
    if (s->sent.size > SENT_MAX)
        step_pause(s, true);
}

static void step_on_writable(void *arg, int fd, bool readable, bool writable)
{
    (void)fd;
    (void)readable;
    (void)writable;
    step_flush(arg);
}

/* ---- the end ---- */

/* Ends processes that tasks have left behind: as their subreaper this process is their parent. Not
 * the PMIx server, a child of another kind. */
static void kill_children(const struct step *s)
{
    char path[64];

    (void)snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
    for (;;) {
        AUTO(buf_done) struct buf list = {0};
        AUTO(err_freep) struct err *e = file_read(path, CHILDREN_MAX, &list);
        struct str rest = {list.at, list.size};
        bool has_any = false;

        while (!e && rest.at) {
            int64_t pid = 0;
            AUTO(err_freep)
            struct err *not = num_parse_int64(str_cut(&rest, ' '), 2, INT32_MAX, &pid);

            if (not || pid == step_pmix_pid(s))
                continue;
            has_any = true;
            (void)kill((pid_t)pid, SIGKILL); /* a child that just ended is reaped now */
            while (waitpid((pid_t)pid, NULL, 0) < 0 && errno == EINTR)
                continue;
        }
        if (!has_any)
            return;
    }
}

static void step_finish(struct step *s)
{
    if (s->is_finishing)
        step_end_if_done(s);
    if (s->is_finishing || step_pmix_is_needed(s))
        return;
    kill_children(s);
    VEC_EACH (&s->tasks, task)
        step_task_drain(*task);
    s->is_finishing = true;
    step_pmix_kill(s);
    loop_timer_set(s->timer, LINGER_MS * NS_PER_MS);
    loop_io_want(s->out, false, true);
    step_end_if_done(s);
}

void step_finish_if_over(struct step *s)
{
    if (s->n_over == s->tasks.n && !step_pmix_is_starting(s))
        step_finish(s);
}

static void step_signal(struct step *s, uint32_t rank, int signal)
{
    VEC_EACH (&s->tasks, task)
        if (rank == STEP_ALL_RANKS || (*task)->plan->rank == rank)
            step_task_signal(*task, signal);
}

static void step_on_timer(void *arg)
{
    struct step *s = arg;

    step_signal(s, STEP_ALL_RANKS, SIGKILL);
    s->is_late = s->is_finishing;
    step_end_if_done(s);
}

/* The connection broke: the tasks end. */
static void step_end(struct step *s)
{
    if (s->is_ending)
        return;
    s->is_ending = true;
    s->code = EXIT_FAILED;
    loop_io_want(s->in, false, false);
    step_signal(s, STEP_ALL_RANKS, SIGCONT);
    step_signal(s, STEP_ALL_RANKS, SIGTERM);
    loop_timer_set(s->timer, KILL_WAIT_MS * NS_PER_MS);
    if (s->n_over == s->tasks.n)
        step_finish(s);
}

static int64_t time_ns(struct timeval t)
{
    return (int64_t)t.tv_sec * NS_PER_SEC + (int64_t)t.tv_usec * 1000;
}

void step_task_ended(struct step_task *t)
{
    struct step *s = t->step;
    struct rusage usage = {0};
    int status = 0;
    AUTO(json_freep) json_t *end = json_object();

    if (t->has_ended || wait4(t->pid, &status, WNOHANG, &usage) != t->pid)
        return;
    loop_io_want(t->pid_io, false, false);
    json_put_int(end, "exit", WIFEXITED(status) ? WEXITSTATUS(status) : 0);
    json_put_int(end, "signal", WIFSIGNALED(status) ? WTERMSIG(status) : 0);
    json_put_bool(end, "core", WIFSIGNALED(status) && WCOREDUMP(status));
    json_put_int(end, "cpuNs", time_ns(usage.ru_utime) + time_ns(usage.ru_stime));
    json_put_int(end, "maxRssBytes", (int64_t)usage.ru_maxrss << 10);
    t->end = json_format(end);
    step_task_signal(t, SIGKILL); /* what it left in its group */
    t->has_ended = true;
    step_pmix_task_ended(t);
    if (s->failed_prologs[t->place])
        step_say(s, STEP_ABORT, t->plan->rank, STR("its task prolog failed"));
    step_epilogs_run(t);
}

void step_task_over(struct step_task *t)
{
    struct step *s = t->step;

    t->is_over = true;
    s->n_over++;
    if (s->n_over == s->tasks.n) {
        kill_children(s);
        VEC_EACH (&s->tasks, task)
            step_task_drain(*task);
    }
    step_say(s, STEP_EXIT, t->plan->rank, str_of(t->end));
    if (s->n_over == s->tasks.n)
        step_finish(s);
}

void step_fail(struct step *s, struct err *taken)
{
    step_say(s, STEP_FAILED, STEP_ALL_RANKS, str_of(err_message(taken)));
    err_free(taken);
    step_end(s);
}

/* ---- what comes from srun ---- */

static void step_say_start(struct step *s)
{
    AUTO(json_freep) json_t *start = json_object();
    AUTO_FREE char *text = NULL;
    json_t *pids = json_array_at(start, "pids");

    VEC_EACH (&s->tasks, task)
        (void)json_array_append_new(pids, json_integer((*task)->pid)); /* fresh: cannot fail */
    text = json_format(start);
    step_say(s, STEP_START, STEP_ALL_RANKS, str_of(text));
}

static struct err *step_start_tasks(struct step *s)
{
    struct err *e;

    s->failed_prologs = mmap(NULL, s->plan.tasks.n * sizeof(bool), PROT_READ | PROT_WRITE,
                             MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (s->failed_prologs == MAP_FAILED)
        return err_errno(errno, "share memory with the tasks");
    VEC_EACH (&s->plan.tasks, plan) {
        struct step_task *task = mem_alloc(sizeof(*task));

        *task = (struct step_task){.step = s,
                                   .plan = plan,
                                   .place = s->tasks.n,
                                   .pidfd = -1,
                                   .input = -1,
                                   .output = -1,
                                   .errors = -1,
                                   .pmi = -1};
        vec_add(&s->tasks, task);
        e = step_task_start(task);
        if (e) { /* this task has no end that would be seen */
            task->has_ended = true;
            task->is_over = true;
            s->n_over++;
            return e;
        }
    }
    step_say_start(s);
    step_attachments_open(s);
    return NULL;
}

static struct err *step_start(struct step *s, struct str line)
{
    TRY(step_plan_read(line, &s->plan));
    s->has_plan = true;
    step_pmi_open(s);
    TRY(step_pmix_open(s));
    return step_pmix_is_starting(s) ? NULL : step_start_tasks(s);
}

static uint16_t two_bytes(const char *at)
{
    return (uint16_t)((unsigned char)at[0] << 8 | (unsigned char)at[1]);
}

void step_feed(struct step *s, uint32_t rank, struct str bytes)
{
    VEC_EACH (&s->tasks, task)
        if (rank == STEP_ALL_RANKS || (*task)->plan->rank == rank)
            step_task_feed(*task, bytes);
}

static struct err *step_take(void *arg, const struct step_frame *f)
{
    struct step *s = arg;

    switch ((enum step_frame_kind)f->kind) {
    case STEP_INPUT:
        step_feed(s, f->rank, f->payload);
        return NULL;
    case STEP_SIGNAL:
        if (f->payload.size == 1)
            step_signal(s, f->rank, (unsigned char)f->payload.at[0]);
        return NULL;
    case STEP_SIZE:
        if (f->payload.size == 4)
            VEC_EACH (&s->tasks, task)
                step_task_resize(*task, two_bytes(f->payload.at), two_bytes(f->payload.at + 2));
        return NULL;
    case STEP_FENCE:
        return step_pmi_take(s, f->payload);
    case STEP_PMIX:
        return step_pmix_take(s, f->payload);
    case STEP_OUTPUT:
    case STEP_ERRORS:
    case STEP_START:
    case STEP_EXIT:
    case STEP_ABORT:
    case STEP_WARNING:
    case STEP_FAILED:
        break;
    }
    return err_new(ERR_INVALID, "the manager of a step takes no such frame");
}

/* Takes what is whole: the plan's line, then frames when the tasks have started. */
static struct err *step_take_all(struct step *s)
{
    if (!s->has_plan) {
        const char *end = memchr(s->received.at, '\n', s->received.size);
        size_t size = end ? (size_t)(end - s->received.at) : 0;
        struct err *e;

        if (!end)
            return s->received.size > STEP_PLAN_MAX
                       ? err_new(ERR_TOO_LARGE, "the plan of the step is too long")
                       : NULL;
        e = step_start(s, (struct str){s->received.at, size});
        buf_consume(&s->received, size + 1);
        TRY(e);
    }
    return step_pmix_is_starting(s) ? NULL : step_frames_take(&s->received, step_take, s);
}

void step_begin(struct step *s)
{
    struct err *e = s->is_ending ? NULL : step_start_tasks(s);

    if (!e && !s->is_ending)
        e = step_take_all(s);
    if (e)
        step_fail(s, e);
}

bool step_is_flooded(const struct step *s)
{
    if (step_pmix_is_starting(s) && s->received.size > INPUT_MAX)
        return true;
    VEC_EACH (&s->tasks, task)
        if ((*task)->bytes.size > INPUT_MAX)
            return true;
    return false;
}

void step_resume_input(struct step *s)
{
    if (step_is_flooded(s))
        return;
    if (!s->is_ending)
        loop_io_want(s->in, true, false);
    step_attachments_resume(s);
}

static void step_on_readable(void *arg, int fd, bool readable, bool writable)
{
    struct step *s = arg;
    char piece[PIECE];
    ssize_t n;
    struct err *e;

    (void)fd;
    (void)readable;
    (void)writable;
    if (step_is_flooded(s)) {
        loop_io_want(s->in, false, false);
        return;
    }
    n = read(STDIN_FILENO, piece, sizeof(piece));
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0) {
        step_end(s);
        return;
    }
    buf_add(&s->received, piece, (size_t)n);
    e = step_take_all(s);
    if (e)
        step_fail(s, e);
}

/* ---- the command ---- */

/* The node starts this program with all signals blocked, and sends signals for the tasks to it,
 * too: it ends with its tasks and its connection only. */
static void step_ignore_signals(void)
{
    sigset_t none;

    for (int i = 1; i < NSIG; i++)
        if (i != SIGCHLD && i != SIGSEGV && i != SIGBUS && i != SIGABRT && i != SIGFPE &&
            i != SIGILL)
            (void)signal(i, SIG_IGN); /* fails for KILL, STOP and those of the C library */
    sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
}

static void step_open(struct step *s)
{
    s->loop = loop_linux_new();
    (void)fcntl(STDIN_FILENO, F_SETFL, O_NONBLOCK);
    (void)fcntl(STDOUT_FILENO, F_SETFL, O_NONBLOCK);
    s->in = loop_io_new(s->loop, STDIN_FILENO, step_on_readable, s);
    s->out = loop_io_new(s->loop, STDOUT_FILENO, step_on_writable, s);
    s->timer = loop_timer_new(s->loop, step_on_timer, s);
    step_ignore_signals();
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); /* cannot fail */
    loop_io_want(s->in, true, false);
}

static void step_close(struct step *s)
{
    VEC_EACH (&s->tasks, task)
        step_task_free(*task);
    vec_done(&s->tasks);
    step_attachments_close(s);
    pmi_server_free(s->pmi);
    step_pmix_close(s);
    buf_done(&s->fence);
    step_plan_done(&s->plan);
    loop_io_free(s->in);
    loop_io_free(s->out);
    loop_timer_free(s->timer);
    buf_done(&s->received);
    buf_done(&s->sent);
    loop_linux_free(s->loop);
}

static struct err *step_run(struct cli *c)
{
    struct step s = {
        .received = {.cap = STEP_PLAN_MAX + 2 * PIECE}, .sent = {.cap = SENT_CAP}, .listener = -1};
    struct err *e;

    if (c->in->arguments.n == 2 && text_equal(c->in->arguments.at[0], SLURM_STEP_USE))
        return step_use_print(c, c->in->arguments.at[1]);
    if (c->in->arguments.n == 2 && text_equal(c->in->arguments.at[0], SLURM_STEP_ATTACH))
        return step_attach_run(c->in->arguments.at[1]);
    if (c->in->arguments.n == 1 && text_equal(c->in->arguments.at[0], STEP_PMIX_WORD)) {
        step_ignore_signals();
        return pmix_server_run();
    }
    if (c->in->arguments.n > 0)
        return cli_usage(c, "want use NUMBER, attach NUMBER, or nothing");
    step_open(&s);
    e = loop_linux_run(s.loop);
    c->exit_code = s.code;
    step_close(&s);
    return e;
}

const struct command command_step = {
    .name = "step",
    .arguments = "[use|attach NUMBER]",
    .summary = "run the tasks of a Slurm step on this node",
    .doc = "srun starts this program inside of a job. It reads a plan and frames from standard "
           "input, and writes frames. sstat starts it with 'use NUMBER': it prints what the tasks "
           "of the step use now. sattach starts it with 'attach NUMBER': it passes frames on.",
    .examples = {{"step", "runs the tasks of the plan on standard input"},
                 {"step use 0", "prints what the tasks of step 0 use"},
                 {"step attach 0", "passes input and output of the tasks of step 0"},
                 {0}},
    .n_max = 2,
    .is_hidden = true,
    .run = step_run,
};
