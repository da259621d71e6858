/*
 * srun_run.c - the run of a step: a connection to each node, input, output, signals, ends of tasks
 *
 * Messages have the words of Slurm's srun.
 */

#include <inttypes.h>
#include <signal.h>
#include <string.h>

#include "base/mem.h"
#include "base/stamp.h"
#include "cli/job/remote_session.h"
#include "cli/slurm/srun.h"
#include "cli/slurm/srun_private.h"
#include "cli/term/text_escape.h"
#include "kinds/slurm/slurm_step.h"
#include "model/slurm_array.h"

enum {
    REPORT_MS = 20,       /* ends of tasks within it are one message */
    WAIT_WARN_S = 60,     /* without --wait */
    ABORT_WAIT_MS = 5000, /* between an abort and the end of the connections */
    INTERRUPT_MS = 1000,
    MESSAGE_MAX = 1000 /* bytes of a text of a node */
};

/* ---- messages ---- */

static void run_say(const struct srun_run *r, const char *fmt, ...)
{
    AUTO_FREE char *text = NULL;
    va_list ap;

    va_start(ap, fmt);
    text = mem_vformat(fmt, ap);
    va_end(ap);
    if (!json_bool(r->o->submit->step, "pty", false))
        (void)fprintf(r->o->s->cli->err, "srun: %s\n", text);
    else /* the terminal is raw */
        (void)fprintf(r->o->s->cli->err, "srun: %s\r\n", text);
}

static bool is_same_end(const struct srun_task *a, const struct srun_task *b)
{
    return a->node == b->node && a->code == b->code && a->signal == b->signal &&
           a->has_core == b->has_core;
}

/* "task 3" or "tasks 0-2,5". */
static char *tasks_text(const struct index_set *ranks)
{
    AUTO_FREE char *list = slurm_array_format_ranges(ranks);

    return mem_format("task%s %s", ranks->count > 1 ? "s" : "", list);
}

static void report_one(struct srun_run *r, uint32_t rank)
{
    const struct srun_task *task = &r->tasks[rank];
    AUTO(index_set_done) struct index_set ranks = {0};
    AUTO_FREE char *text = NULL;

    for (uint32_t i = rank; i < (uint32_t)r->o->make->tasks; i++)
        if (r->tasks[i].is_unreported && is_same_end(task, &r->tasks[i])) {
            (void)index_set_add(&ranks, i);
            r->tasks[i].is_unreported = false;
        }
    if (task->code == 0 && task->signal == 0)
        return;
    text = tasks_text(&ranks);
    if (task->signal > 0)
        run_say(r, "error: %s: %s: %s%s", step_make_node(r->o->make, task->node), text,
                strsignal(task->signal), /* NOLINT(concurrency-mt-unsafe): one thread */
                task->has_core ? " (core dumped)" : "");
    else
        run_say(r, "error: %s: %s: Exited with exit code %d",
                step_make_node(r->o->make, task->node), text, task->code);
}

static void run_report(void *arg)
{
    struct srun_run *r = arg;

    for (uint32_t i = 0; i < (uint32_t)r->o->make->tasks; i++)
        if (r->tasks[i].is_unreported)
            report_one(r, i);
}

/* ---- what goes to the nodes ---- */

void srun_send_node(struct srun_node *node, char kind, uint32_t rank, struct str payload)
{
    AUTO(buf_done) struct buf frame = {.cap = SIZE_MAX}; /* of a plan or of data that have caps */

    if (node->is_over)
        return;
    step_frame_add(&frame, kind, rank, payload);
    remote_send(node->remote, (struct str){frame.at, frame.size});
}

void srun_send(struct srun_run *r, char kind, uint32_t rank, struct str payload)
{
    for (size_t i = 0; i < r->n_nodes; i++)
        if (rank == STEP_ALL_RANKS || r->tasks[rank].node == i)
            srun_send_node(&r->nodes[i], kind, rank, payload);
}

static void run_signal(struct srun_run *r, int signal)
{
    const char number = (char)signal;

    srun_send(r, STEP_SIGNAL, STEP_ALL_RANKS, (struct str){&number, 1});
}

static void run_stop_if_done(struct srun_run *r)
{
    if (r->n_nodes_over == r->n_nodes)
        session_stop(r->o->s->session);
}

static void node_over(struct srun_node *node)
{
    if (node->is_over)
        return;
    node->is_over = true;
    node->run->n_nodes_over++;
    run_stop_if_done(node->run);
}

/* The tasks did not end in time: the nodes end them when their connections are gone. */
static void run_on_abort(void *arg)
{
    struct srun_run *r = arg;

    for (size_t i = 0; i < r->n_nodes; i++) {
        if (!r->nodes[i].is_over)
            r->end->code = r->end->code > 0 ? r->end->code : 1;
        node_over(&r->nodes[i]);
    }
}

static void run_kill(struct srun_run *r)
{
    if (r->is_killed)
        return;
    r->is_killed = true;
    run_signal(r, SIGCONT);
    run_signal(r, SIGKILL);
    loop_timer_set(r->abort_timer, ABORT_WAIT_MS * NS_PER_MS);
}

static void run_on_wait(void *arg)
{
    struct srun_run *r = arg;

    if (!r->has_wait) {
        run_say(r, "warning: first task terminated %ds ago", WAIT_WARN_S);
        return;
    }
    run_say(r, "error: Timed out waiting for job step to complete");
    run_kill(r);
}

/* ---- what comes from the nodes ---- */

static void run_add_usage(struct srun_run *r, uint32_t rank, const json_t *end)
{
    json_t *usage = r->end->usage;
    int64_t cpu_ns = json_int(end, "cpuNs", 0);
    int64_t peak = json_int(end, "maxRssBytes", 0);

    json_put_int(usage, "cpuNs", json_int(usage, "cpuNs", 0) + cpu_ns);
    json_put_int(usage, "memorySumBytes", json_int(usage, "memorySumBytes", 0) + peak);
    if (!json_object_get(usage, "cpuLeastNs") || cpu_ns < json_int(usage, "cpuLeastNs", 0)) {
        json_put_int(usage, "cpuLeastNs", cpu_ns);
        json_put_int(usage, "cpuLeastTask", rank);
    }
    if (!json_object_get(usage, "memoryPeakBytes") ||
        peak > json_int(usage, "memoryPeakBytes", 0)) {
        json_put_int(usage, "memoryPeakBytes", peak);
        json_put_int(usage, "memoryPeakTask", rank);
        json_put_text(usage, "memoryPeakNode", step_make_node(r->o->make, r->tasks[rank].node));
    }
}

static void task_over(struct srun_run *r, uint32_t rank, int code, int signal)
{
    struct srun_task *task = &r->tasks[rank];
    struct srun_end *end = r->end;
    int own = signal > 0 ? 128 + signal : code;

    if (task->is_over)
        return;
    task->is_over = true;
    task->is_unreported = true;
    task->code = code;
    task->signal = signal;
    r->n_over++;
    end->code = own > end->code ? own : end->code;
    end->task_code = code > end->task_code ? code : end->task_code;
    end->task_signal = signal > end->task_signal ? signal : end->task_signal;
    loop_timer_set(r->report_timer, REPORT_MS * NS_PER_MS);
    if (own != 0 && json_bool(r->o->submit->step, "killOnBadExit", false) && !r->is_killed &&
        r->n_over < (size_t)r->o->make->tasks) {
        run_say(r, "launch/slurm: _step_signal: Terminating StepId=%" PRId64 ".%" PRId64,
                step_make_job(r->o->make), step_make_number(r->o->make));
        run_kill(r);
    }
    if (r->n_over == 1 && r->n_over < (size_t)r->o->make->tasks) {
        int64_t wait_s = json_int(r->o->submit->step, "wait", 0);

        r->has_wait = wait_s > 0;
        loop_timer_set(r->wait_timer, (r->has_wait ? wait_s : WAIT_WARN_S) * NS_PER_SEC);
    }
    if (r->n_over == (size_t)r->o->make->tasks) {
        loop_timer_stop(r->wait_timer);
        srun_pmix_end(r);
    }
}

static struct err *run_take_exit(struct srun_run *r, const struct step_frame *f)
{
    AUTO(json_freep) json_t *end = NULL;

    TRY(json_parse(f->payload, &end));
    run_add_usage(r, f->rank, end);
    r->tasks[f->rank].has_core = json_bool(end, "core", false);
    task_over(r, f->rank, (int)json_int(end, "exit", 0), (int)json_int(end, "signal", 0));
    return NULL;
}

/* A text of the node may have words of a task. */
static void run_say_text(const struct srun_node *node, const char *how, struct str text)
{
    AUTO_FREE char *clean = text_escape(text, TEXT_ESCAPE_LINE);

    run_say(node->run, "%s: %s: %.*s", how, step_make_node(node->run->o->make, node->i),
            MESSAGE_MAX, clean);
}

/* A task called MPI_Abort. */
static void run_abort(struct srun_node *node, const struct step_frame *f)
{
    struct srun_run *r = node->run;
    AUTO_FREE char *text =
        mem_format("task %u ends the step: " STR_FMT, f->rank, STR_ARG(f->payload));

    if (r->is_killed)
        return;
    run_say_text(node, "error", str_of(text));
    r->end->code = r->end->code > 0 ? r->end->code : 1;
    run_kill(r);
}

static struct err *run_take(void *arg, const struct step_frame *f)
{
    struct srun_node *node = arg;
    struct srun_run *r = node->run;
    bool is_task = f->rank < (uint64_t)r->o->make->tasks && r->tasks[f->rank].node == node->i;

    switch ((enum step_frame_kind)f->kind) {
    case STEP_OUTPUT:
    case STEP_ERRORS:
        if (!is_task)
            break;
        return srun_output_write(r->output, f->kind == STEP_ERRORS, f->rank, f->payload);
    case STEP_EXIT:
        if (!is_task)
            break;
        return run_take_exit(r, f);
    case STEP_START:
        return NULL;
    case STEP_FAILED:
        run_say_text(node, "error", f->payload);
        r->end->code = r->end->code > 0 ? r->end->code : 1;
        return NULL;
    case STEP_FENCE:
        return srun_fence_take(node, f->payload);
    case STEP_PMIX:
        return srun_pmix_take(node, f->payload);
    case STEP_ABORT:
        if (!is_task)
            break;
        run_abort(node, f);
        return NULL;
    case STEP_WARNING:
        run_say_text(node, "warning", f->payload);
        return NULL;
    case STEP_INPUT:
    case STEP_SIGNAL:
    case STEP_SIZE:
        break;
    }
    return err_new(ERR_INVALID, "the node sent what srun does not take");
}

/* An output of srun that is closed, or a stream that cannot be read: the step ends. */
static void run_fail(struct srun_run *r, struct err *taken)
{
    if (!r->is_killed)
        run_say(r, "error: %s", err_message(taken));
    err_free(taken);
    r->end->code = r->end->code > 0 ? r->end->code : 1;
    run_kill(r);
}

static void node_on_output(void *arg, int fd, struct str bytes)
{
    struct srun_node *node = arg;
    struct err *e;

    if (node->is_over)
        return;
    if (fd != 1) { /* of the node: why the manager was not started */
        (void)fprintf(node->run->o->s->cli->err, STR_FMT, STR_ARG(bytes));
        return;
    }
    buf_add(&node->received, bytes.at, bytes.size);
    e = step_frames_take(&node->received, run_take, node);
    if (e)
        run_fail(node->run, e);
}

static void node_on_end(void *arg, const struct err *e, int code)
{
    struct srun_node *node = arg;
    struct srun_run *r = node->run;
    const char *name = step_make_node(r->o->make, node->i);
    bool is_broken = false;

    for (uint32_t rank = 0; rank < (uint32_t)r->o->make->tasks; rank++)
        is_broken = is_broken || (r->tasks[rank].node == node->i && !r->tasks[rank].is_over);
    if (is_broken && !r->is_killed) {
        if (e)
            run_say(r, "error: %s: the connection to the tasks broke: %s", name, err_message(e));
        else if (r->end->code == 0)
            run_say(r, "error: %s: the manager of the step ended with code %d", name, code);
    }
    for (uint32_t rank = 0; is_broken && rank < (uint32_t)r->o->make->tasks; rank++)
        if (r->tasks[rank].node == node->i && !r->tasks[rank].is_over) {
            task_over(r, rank, 0, r->is_killed ? SIGKILL : 0);
            r->tasks[rank].is_unreported = r->is_killed;
            r->end->code = r->end->code > 0 ? r->end->code : 1;
        }
    node_over(node);
    srun_pmix_lose(r, node->i);
    if (is_broken && !json_bool(r->o->submit->step, "noKill", false))
        run_kill(r);
}

/* ---- the user ---- */

static void run_say_states(struct srun_run *r)
{
    AUTO(index_set_done) struct index_set running = {0};
    AUTO(index_set_done) struct index_set over = {0};

    for (uint32_t i = 0; i < (uint32_t)r->o->make->tasks; i++)
        (void)index_set_add(r->tasks[i].is_over ? &over : &running, i);
    for (int i = 0; i < 2; i++) {
        const struct index_set *set = i == 0 ? &running : &over;
        AUTO_FREE char *text = set->count > 0 ? tasks_text(set) : NULL;

        if (text)
            run_say(r, "StepId=%" PRId64 ".%" PRId64 " %s: %s", step_make_job(r->o->make),
                    step_make_number(r->o->make), text, i == 0 ? "running" : "exited");
    }
}

static void run_on_interrupt(void *arg)
{
    struct srun_run *r = arg;
    int64_t now_ns = loop_now_ns(session_loop(r->o->s->session));
    const json_t *step = r->o->submit->step;
    bool is_second = r->interrupted_ns > 0 && now_ns - r->interrupted_ns < INTERRUPT_MS * NS_PER_MS;

    if (json_bool(step, "quitOnInterrupt", false)) {
        run_say(r, "forcing job termination");
        r->end->is_cancelled = true;
        run_kill(r);
        return;
    }
    if (!json_bool(step, "disableStatus", false) && !is_second) {
        r->interrupted_ns = now_ns;
        run_say(r, "interrupt (one more within 1 sec to abort)");
        run_say_states(r);
        return;
    }
    if (r->passed_ns > 0 && now_ns - r->passed_ns < INTERRUPT_MS * NS_PER_MS) {
        run_say(r, "forcing job termination");
        run_kill(r);
        return;
    }
    run_say(r, "sending Ctrl-C to StepId=%" PRId64 ".%" PRId64, step_make_job(r->o->make),
            step_make_number(r->o->make));
    r->passed_ns = now_ns;
    r->interrupted_ns = now_ns;
    r->end->is_cancelled = true;
    run_signal(r, SIGINT);
}

static void run_on_end_signal(void *arg)
{
    struct srun_run *r = arg;

    run_say(r, "forcing job termination");
    r->end->is_cancelled = true;
    run_kill(r);
}

#define FORWARDED(noun, number)                       \
    static void run_on_##noun(void *arg)              \
    {                                                 \
        run_say(arg, "forwarding signal %d", number); \
        run_signal(arg, number);                      \
    }

FORWARDED(quit, SIGQUIT)
FORWARDED(usr1, SIGUSR1)
FORWARDED(usr2, SIGUSR2)
FORWARDED(alarm, SIGALRM)
FORWARDED(go_on, SIGCONT)

static void run_take_signals(struct srun_run *r)
{
    struct session *s = r->o->s->session;

    session_on_signal(s, SIGINT, run_on_interrupt, r);
    session_on_signal(s, SIGTERM, run_on_end_signal, r);
    session_on_signal(s, SIGHUP, run_on_end_signal, r);
    session_on_signal(s, SIGQUIT, run_on_quit, r);
    session_on_signal(s, SIGUSR1, run_on_usr1, r);
    session_on_signal(s, SIGUSR2, run_on_usr2, r);
    session_on_signal(s, SIGALRM, run_on_alarm, r);
    session_on_signal(s, SIGCONT, run_on_go_on, r);
}

static void run_on_input(void *arg, struct str bytes)
{
    struct srun_run *r = arg;

    srun_send(r, STEP_INPUT, r->input_rank, bytes);
}

static void run_on_input_end(void *arg)
{
    struct srun_run *r = arg;

    srun_send(r, STEP_INPUT, r->input_rank, (struct str){0});
}

static size_t run_backlog(void *arg)
{
    struct srun_run *r = arg;
    size_t most = 0;

    for (size_t i = 0; i < r->n_nodes; i++) {
        size_t n = r->nodes[i].is_over ? 0 : remote_backlog(r->nodes[i].remote);

        most = n > most ? n : most;
    }
    return most;
}

static void node_on_drain(void *arg)
{
    struct srun_node *node = arg;

    if (node->run->keyboard)
        keyboard_resume(node->run->keyboard);
}

static void run_on_resized(void *arg, uint16_t columns, uint16_t rows)
{
    const char size[4] = {(char)(columns >> 8), (char)columns, (char)(rows >> 8), (char)rows};

    srun_send(arg, STEP_SIZE, 0, (struct str){size, sizeof(size)});
}

static void run_on_detached(void *arg)
{
    (void)arg; /* signals are handled here */
}

/* ---- the whole ---- */

static struct err *node_open(struct srun_node *node)
{
    struct srun_run *r = node->run;
    AUTO_FREE char *path = path_format(
        "/api/v1/namespaces/%s/pods/%s/"
        "exec?stdin=true&stdout=true&stderr=true&command=" SLURM_STEP_PROGRAM "&command=%" PRId64,
        r->o->ns, step_make_pod(r->o->make, node->i), step_make_number(r->o->make));
    const struct remote_options o = {.path = path,
                                     .on_output = node_on_output,
                                     .on_drain = node_on_drain,
                                     .on_end = node_on_end,
                                     .arg = node};
    AUTO(json_freep) json_t *plan = NULL;
    AUTO_FREE char *text = NULL;

    TRY(step_make_plan(r->o->make, node->i, &plan));
    text = json_format(plan);
    TRY(remote_open(session_client(r->o->s->session), &o, &node->remote));
    remote_send(node->remote, str_of(text));
    remote_send(node->remote, STR("\n"));
    return NULL;
}

static struct err *run_open(struct srun_run *r)
{
    const struct srun_output_options output = {
        .submit = r->o->submit,
        .make = r->o->make,
        .is_terminal = {r->o->s->cli->terminal.out, r->o->s->cli->terminal.err}};
    bool has_terminal = json_bool(r->o->submit->step, "pty", false);
    struct keyboard_options k = {.session = r->o->s->session,
                                 .is_raw = has_terminal && r->o->s->cli->terminal.in,
                                 .has_signals = true,
                                 .input = run_on_input,
                                 .end = run_on_input_end,
                                 .backlog = run_backlog,
                                 .detached = run_on_detached,
                                 .resized = run_on_resized,
                                 .arg = r};

    TRY(srun_output_new(&output, &r->output));
    TRY(srun_input_open(r->o->submit, r->o->make, &k.fd, &r->input_rank));
    r->input_fd = k.fd;
    k.reads_input = k.fd >= 0;
    for (size_t i = 0; i < r->n_nodes; i++)
        TRY(node_open(&r->nodes[i]));
    run_take_signals(r);
    return keyboard_new(&k, &r->keyboard);
}

static void run_on_renew(void *arg)
{
    struct srun_run *r = arg;

    srun_renew(r);
    loop_timer_set(r->renew_timer, SLURM_STEP_RENEW_S * NS_PER_SEC);
}

static void run_init(struct srun_run *r, const struct srun_run_options *o, struct srun_end *end)
{
    struct loop *loop = session_loop(o->s->session);

    *r = (struct srun_run){.o = o, .end = end, .n_nodes = o->make->nodes.n, .input_fd = -1};
    r->nodes = mem_alloc(r->n_nodes * sizeof(*r->nodes));
    r->tasks = mem_alloc((size_t)o->make->tasks * sizeof(*r->tasks));
    for (size_t i = 0; i < r->n_nodes; i++) {
        r->nodes[i] = (struct srun_node){.run = r, .i = i};
        VEC_EACH (&o->make->layout.nodes.at[i].ranks, rank)
            r->tasks[*rank] = (struct srun_task){.node = i};
    }
    r->report_timer = loop_timer_new(loop, run_report, r);
    r->wait_timer = loop_timer_new(loop, run_on_wait, r);
    r->abort_timer = loop_timer_new(loop, run_on_abort, r);
    r->renew_timer = loop_timer_new(loop, run_on_renew, r);
    loop_timer_set(r->renew_timer, SLURM_STEP_RENEW_S * NS_PER_SEC);
    end->usage = json_object();
}

static void run_done(struct srun_run *r)
{
    for (size_t i = 0; i < r->n_nodes; i++) {
        remote_free(r->nodes[i].remote);
        buf_done(&r->nodes[i].received);
        buf_done(&r->nodes[i].pmix);
    }
    keyboard_free(r->keyboard);
    srun_output_free(r->output);
    run_report(r);
    srun_input_close(r->input_fd);
    loop_timer_free(r->report_timer);
    loop_timer_free(r->wait_timer);
    loop_timer_free(r->abort_timer);
    loop_timer_free(r->renew_timer);
    buf_done(&r->fence);
    srun_pmix_done(r);
    free(r->renewal);
    free(r->nodes);
    free(r->tasks);
}

struct err *srun_run_step(const struct srun_run_options *o, struct srun_end *ret)
{
    struct srun_run r;
    struct err *e;

    run_init(&r, o, ret);
    e = run_open(&r);
    if (!e)
        e = session_run(o->s->session);
    run_done(&r);
    return e;
}
