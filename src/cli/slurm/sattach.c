/*
 * sattach.c - sattach: the input and output of a step that runs
 *
 * On each node of the step a command in the job connects to the manager of the step
 * (step_attachments_linux.c), so that only the job's user and administrators may attach. The ranks
 * of a node come from its manager.
 */

#include <inttypes.h>
#include <signal.h>

#include "base/mem.h"
#include "base/num.h"
#include "cli/commands.h"
#include "cli/slurm/slurm_command.h"
#include "cli/slurm/task_lines.h"
#include "cli/term/keyboard.h"
#include "cli/term/output.h"
#include "cli/term/text_escape.h"
#include "client/remote.h"
#include "kinds/slurm/slurm_step.h"
#include "slurm/query.h"
#include "slurm/step_frame.h"
#include "slurm/step_layout.h"
#include "slurm/steps.h"

enum {
    FILTERS = 3,
    MESSAGE_MAX = 1000 /* bytes of a text of a node */
};

static const struct slurm_option sattach_options[] = {
    {.name = "error-filter", .takes = SLURM_TAKES_VALUE},
    {.name = "help", .letter = 'h'},
    {.name = "input-filter", .takes = SLURM_TAKES_VALUE},
    {.name = "label", .letter = 'l'},
    {.name = "layout"},
    {.name = "output-filter", .takes = SLURM_TAKES_VALUE},
    {.name = "pty"},
    {.name = "quiet", .letter = 'Q'},
    {.name = "usage", .letter = 'u'},
    {.name = "verbose", .letter = 'v'},
    {.name = "version", .letter = 'V'},
    {0},
};

static const char sattach_help[] =
    "Usage: sattach [options] JOB.STEP\n"
    "      --error-filter=TASK   print the stderr of one task only\n"
    "      --input-filter=TASK   send the input to one task only\n"
    "  -l, --label               begin each line with the number of its task\n"
    "      --layout              print which tasks run on which nodes, and end\n"
    "      --output-filter=TASK  print the stdout of one task only\n"
    "      --pty                 the first task has a terminal\n"
    "  -Q, --quiet               print no messages but errors\n"
    "  -v, --verbose             say what the step is\n"
    "  -V, --version             print the version\n";

struct sattach;

struct sattach_node {
    struct sattach *x;
    const char *name; /* borrowed from the step */
    struct remote *remote;
    struct buf received; /* not read yet */
    VEC(uint32_t) ranks;
    bool has_started; /* `ranks` are known */
    bool is_over;
};

struct sattach {
    struct slurm_command s;
    char *ns;
    json_t *step; /* the SlurmStep */
    int64_t tasks;
    VEC(struct sattach_node *) nodes;
    size_t n_started;
    size_t n_over;
    struct task_lines *lines;
    struct keyboard *keyboard;
    uint32_t filters[FILTERS]; /* of input, stdout and stderr; STEP_ALL_RANKS: all tasks */
    bool *is_task_over;        /* by rank */
    bool is_layout;
    int code;
    struct err *failure;
};

/* ---- the end ---- */

static void sattach_fail(struct sattach *x, struct err *taken)
{
    if (x->failure)
        err_free(taken);
    else
        x->failure = taken;
    session_stop(x->s.session);
}

static void sattach_end_by(struct sattach *x, int signal)
{
    x->code = 128 + signal;
    session_stop(x->s.session);
}

static void sattach_on_interrupt(void *arg)
{
    sattach_end_by(arg, SIGINT);
}

static void sattach_on_term(void *arg)
{
    sattach_end_by(arg, SIGTERM);
}

static void sattach_on_hangup(void *arg)
{
    sattach_end_by(arg, SIGHUP);
}

/* ---- what comes from the nodes ---- */

static bool node_has(const struct sattach_node *node, uint32_t rank)
{
    VEC_EACH (&node->ranks, own)
        if (*own == rank)
            return true;
    return false;
}

static struct err *node_take_start(struct sattach_node *node, struct str payload)
{
    struct sattach *x = node->x;
    AUTO(json_freep) json_t *start = NULL;
    const json_t *rank = NULL;
    size_t i = 0;

    TRY(json_parse(payload, &start));
    json_array_foreach (json_object_get(start, "ranks"), i, rank)
        if (json_is_integer(rank) && json_integer_value(rank) >= 0 &&
            json_integer_value(rank) < x->tasks)
            vec_add(&node->ranks, (uint32_t)json_integer_value(rank));
    x->n_started += !node->has_started;
    node->has_started = true;
    if (x->is_layout && x->n_started == x->nodes.n)
        session_stop(x->s.session);
    return NULL;
}

static struct err *node_take_exit(struct sattach_node *node, const struct step_frame *f)
{
    struct sattach *x = node->x;
    AUTO(json_freep) json_t *end = NULL;
    int code;

    TRY(json_parse(f->payload, &end));
    code = json_int(end, "signal", 0) > 0 ? 128 + (int)json_int(end, "signal", 0)
                                          : (int)json_int(end, "exit", 0);
    x->is_task_over[f->rank] = true;
    x->code = code > x->code ? code : x->code;
    return NULL;
}

static struct err *node_take(void *arg, const struct step_frame *f)
{
    struct sattach_node *node = arg;
    struct sattach *x = node->x;
    size_t stream = f->kind == STEP_ERRORS;
    AUTO_FREE char *text = NULL;

    if (f->kind == STEP_START)
        return node_take_start(node, f->payload);
    if (f->kind == STEP_WARNING) {
        text = text_escape(f->payload, TEXT_ESCAPE_LINE);
        if (!slurm_words_has(&x->s.words, "quiet"))
            (void)fprintf(x->s.cli->err, "sattach: warning: %s: %.*s\n", node->name, MESSAGE_MAX,
                          text);
        return NULL;
    }
    if (!node_has(node, f->rank))
        return err_new(ERR_INVALID, "%s: output of a task that is not there", node->name);
    if (f->kind == STEP_EXIT)
        return node_take_exit(node, f);
    if (f->kind != STEP_OUTPUT && f->kind != STEP_ERRORS)
        return err_new(ERR_INVALID, "%s: the node sent what sattach does not take", node->name);
    if (x->is_layout ||
        (x->filters[stream + 1] != STEP_ALL_RANKS && x->filters[stream + 1] != f->rank))
        return NULL;
    return task_lines_write(x->lines, stream, f->rank, f->payload);
}

static void sattach_on_output(void *arg, int fd, struct str bytes)
{
    struct sattach_node *node = arg;
    struct err *e;

    if (node->is_over)
        return;
    if (fd != 1) /* the reason is in the code, too */
        return;
    buf_add(&node->received, bytes.at, bytes.size);
    e = step_frames_take(&node->received, node_take, node);
    if (e)
        sattach_fail(node->x, e);
}

static struct err *node_failure(const struct sattach_node *node, const struct err *e, int code)
{
    if (e && err_code(e) == ERR_FORBIDDEN)
        return err_new(ERR_FORBIDDEN, "Access/permission denied: %s", err_message(e));
    if (e)
        return err_new(err_code(e), "%s: %s", node->name, err_message(e));
    if (node->has_started)
        return err_new(ERR_UNAVAILABLE, "%s: the manager of the step is gone", node->name);
    return err_new(ERR_NOT_FOUND,
                   "%s: Job/step already completing or completed, or not started yet (code %d)",
                   node->name, code);
}

static void sattach_on_end(void *arg, const struct err *e, int code)
{
    struct sattach_node *node = arg;
    struct sattach *x = node->x;
    bool is_broken = !node->has_started;

    VEC_EACH (&node->ranks, rank)
        is_broken = is_broken || !x->is_task_over[*rank];
    if (is_broken)
        sattach_fail(x, node_failure(node, e, code));
    x->n_over += !node->is_over;
    node->is_over = true;
    if (x->n_over == x->nodes.n)
        session_stop(x->s.session);
}

/* ---- what goes to the nodes ---- */

static void sattach_on_input(void *arg, struct str bytes)
{
    struct sattach *x = arg;
    AUTO(buf_done) struct buf frame = {0};

    step_frame_add(&frame, STEP_INPUT, x->filters[0], bytes);
    VEC_EACH (&x->nodes, node)
        if (!(*node)->is_over)
            remote_send((*node)->remote, (struct str){frame.at, frame.size});
}

static size_t sattach_backlog(void *arg)
{
    const struct sattach *x = arg;
    size_t most = 0;

    VEC_EACH (&x->nodes, node) {
        size_t n = (*node)->is_over ? 0 : remote_backlog((*node)->remote);

        most = n > most ? n : most;
    }
    return most;
}

static void sattach_on_drain(void *arg)
{
    const struct sattach_node *node = arg;

    if (node->x->keyboard)
        keyboard_resume(node->x->keyboard);
}

static void sattach_on_detached(void *arg)
{
    (void)arg; /* signals are handled here */
}

static void sattach_on_resized(void *arg, uint16_t columns, uint16_t rows)
{
    (void)arg; /* as with Slurm, the terminal keeps the size of that of srun */
    (void)columns;
    (void)rows;
}

/* ---- the step ---- */

static struct err *sattach_read_filters(struct sattach *x)
{
    static const char *const names[FILTERS] = {"input-filter", "output-filter", "error-filter"};

    for (size_t i = 0; i < FILTERS; i++) {
        const char *value = slurm_words_value(&x->s.words, names[i]);
        AUTO(err_freep) struct err *e = NULL;
        int64_t rank = 0;

        x->filters[i] = i == 0 && slurm_words_has(&x->s.words, "pty") ? 0 : STEP_ALL_RANKS;
        if (!value || text_equal(value, "all"))
            continue;
        if (slurm_words_has(&x->s.words, "pty"))
            return err_new(ERR_INVALID, "--%s is not compatible with --pty", names[i]);
        e = num_parse_int64(str_of(value), 0, STEP_TASKS_MAX, &rank);
        if (e)
            return err_new(ERR_INVALID, "--%s: '%s' is not the number of a task", names[i], value);
        x->filters[i] = (uint32_t)rank;
    }
    return NULL;
}

/* The row of the step that runs. */
static struct err *sattach_find_row(struct sattach *x, const char *name, json_t **ret)
{
    struct slurm_query query = {0};
    AUTO(buf_done) struct buf ids = {0};
    AUTO_FREE char *path = NULL;
    AUTO(json_freep) json_t *all = NULL;
    AUTO(json_freep) json_t *rows = NULL;
    json_t *row = NULL;
    size_t i = 0;

    if (!strchr(name, '.') || strchr(name, ','))
        return err_new(ERR_INVALID, "Invalid job_step id: %s: want JOB.STEP, as 12.0", name);
    TRY(slurm_steps_jobs(name, &ids));
    slurm_query_begin(&query, "steps");
    slurm_query_add(&query, "ids", ids.at);
    slurm_query_add(&query, "states", "all");
    path = slurm_query_end(&query);
    TRY(slurm_rows(&x->s, path, "steps", &all));
    TRY(slurm_steps_choose(all, name, &rows));
    json_array_foreach (rows, i, row)
        if (text_equal(json_text(row, "state"), "RUNNING")) {
            *ret = json_incref(row);
            return NULL;
        }
    return err_new(ERR_NOT_FOUND, json_array_size(rows) > 0
                                      ? "Job/step already completing or completed"
                                      : "Invalid job id specified");
}

static struct err *sattach_find(struct sattach *x, const char *name)
{
    AUTO(json_freep) json_t *row = NULL;
    AUTO_FREE char *path = NULL;
    struct call call = {0};
    const json_t *place = NULL;
    const char *object;
    const char *slash;
    size_t i = 0;

    TRY(sattach_find_row(x, name, &row));
    object = text_or_empty(json_text(row, "object"));
    slash = strchr(object, '/');
    x->ns = mem_strndup(object, slash ? (size_t)(slash - object) : 0);
    path =
        path_format("/apis/mete.dev/v1/namespaces/%s/slurmsteps/%s", x->ns, slash ? slash + 1 : "");
    call.path = path;
    TRY(slurm_call(&x->s, &call, &x->step));
    x->tasks = json_int_at(x->step, "spec", "tasks", NULL);
    if (x->tasks < 1 || x->tasks > STEP_TASKS_MAX)
        return err_new(ERR_INVALID, "the step has no tasks");
    for (size_t k = 0; k < FILTERS; k++)
        if (x->filters[k] != STEP_ALL_RANKS && x->filters[k] >= x->tasks)
            return err_new(ERR_INVALID, "task %u: the tasks are 0 to %" PRId64, x->filters[k],
                           x->tasks - 1);
    x->is_task_over = mem_alloc((size_t)x->tasks * sizeof(*x->is_task_over));
    for (int64_t k = 0; k < x->tasks; k++)
        x->is_task_over[k] = false;
    json_array_foreach (json_at(x->step, "spec", "nodes", NULL), i, place) {
        struct sattach_node *node = mem_alloc(sizeof(*node));

        *node = (struct sattach_node){.x = x, .name = text_or_empty(json_text(place, "node"))};
        vec_add(&x->nodes, node);
    }
    return NULL;
}

/* ---- the run ---- */

static struct err *sattach_open_node(struct sattach *x, size_t i)
{
    const json_t *place = json_array_get(json_at(x->step, "spec", "nodes", NULL), i);
    AUTO_FREE char *path =
        path_format("/api/v1/namespaces/%s/pods/%s/"
                    "exec?stdin=true&stdout=true&stderr=true&command=" SLURM_STEP_PROGRAM
                    "&command=%" PRId64 "&command=" SLURM_STEP_ATTACH,
                    x->ns, text_or_empty(json_text(place, "pod")),
                    json_int_at(x->step, "status", "step", NULL));
    const struct remote_options o = {.path = path,
                                     .on_output = sattach_on_output,
                                     .on_drain = sattach_on_drain,
                                     .on_end = sattach_on_end,
                                     .arg = x->nodes.at[i]};

    return remote_open(session_client(x->s.session), &o, &x->nodes.at[i]->remote);
}

static struct err *sattach_pass(struct sattach *x)
{
    const struct slurm_words *w = &x->s.words;
    bool has_terminal = slurm_words_has(w, "pty");
    const struct task_lines_options lines = {
        .tasks = x->tasks,
        .has_labels = slurm_words_has(w, "label"),
        .has_terminal = has_terminal,
        .is_terminal = {x->s.cli->terminal.out, x->s.cli->terminal.err}};
    const struct keyboard_options k = {.session = x->s.session,
                                       .is_raw = has_terminal && x->s.cli->terminal.in,
                                       .reads_input = !x->is_layout,
                                       .has_signals = true,
                                       .input = sattach_on_input,
                                       .backlog = sattach_backlog,
                                       .detached = sattach_on_detached,
                                       .resized = sattach_on_resized,
                                       .arg = x};

    x->lines = task_lines_new(&lines);
    for (size_t i = 0; i < x->nodes.n; i++)
        TRY(sattach_open_node(x, i));
    session_on_signal(x->s.session, SIGINT, sattach_on_interrupt, x);
    session_on_signal(x->s.session, SIGTERM, sattach_on_term, x);
    session_on_signal(x->s.session, SIGHUP, sattach_on_hangup, x);
    TRY(keyboard_new(&k, &x->keyboard));
    TRY(session_run(x->s.session));
    return TAKE(x->failure);
}

/* The words of Slurm's sattach. */
static struct err *sattach_print_layout(const struct sattach *x)
{
    AUTO(buf_done) struct buf out = {0};
    AUTO(json_freep) json_t *row = slurm_step_row(x->step);

    buf_printf(&out, "Job step layout:\n\t%" PRId64 " tasks, %zu nodes (%s)\n\n", x->tasks,
               x->nodes.n, text_or_empty(json_text(row, "nodes")));
    for (size_t i = 0; i < x->nodes.n; i++) {
        const struct sattach_node *node = x->nodes.at[i];

        buf_printf(&out, "\tNode %zu (%s), %zu task(s): ", i, node->name, node->ranks.n);
        VEC_EACH (&node->ranks, rank)
            buf_printf(&out, "%u ", *rank);
        buf_add_char(&out, '\n');
    }
    return output_write(x->s.cli, (struct str){out.at, out.size});
}

static struct err *sattach_steps(struct sattach *x)
{
    const struct slurm_words *w = &x->s.words;
    const char *name = w->arguments.n == 1 ? w->arguments.at[0] : NULL;

    if (!name)
        return err_new(ERR_INVALID, "want one JOB.STEP: sattach --help");
    x->is_layout = slurm_words_has(w, "layout");
    TRY(sattach_read_filters(x));
    TRY(slurm_command_open(&x->s));
    TRY(sattach_find(x, name));
    if (slurm_words_has(w, "verbose") && !slurm_words_has(w, "quiet"))
        (void)fprintf(x->s.cli->err, "sattach: StepId=%s: %" PRId64 " tasks on %zu nodes\n", name,
                      x->tasks, x->nodes.n);
    TRY(sattach_pass(x));
    if (x->is_layout)
        return sattach_print_layout(x);
    x->s.cli->exit_code = x->code;
    return NULL;
}

static void sattach_done(struct sattach *x)
{
    keyboard_free(x->keyboard);
    VEC_EACH (&x->nodes, node) {
        remote_free((*node)->remote);
        buf_done(&(*node)->received);
        vec_done(&(*node)->ranks);
        free(*node);
    }
    vec_done(&x->nodes);
    task_lines_free(x->lines);
    free(x->is_task_over);
    json_decref(x->step);
    free(x->ns);
    err_free(x->failure);
    slurm_command_done(&x->s);
}

static struct err *sattach_run(struct cli *c)
{
    struct sattach x = {0};
    struct err *e = NULL;

    if (slurm_command_begin(&x.s, c, sattach_options, false)) {
        if (slurm_words_has(&x.s.words, "version"))
            e = slurm_print_version(c);
        else if (slurm_words_has(&x.s.words, "help") || slurm_words_has(&x.s.words, "usage"))
            e = output_write(c, str_of(sattach_help));
        else
            e = sattach_steps(&x);
        if (e)
            e = slurm_fail(&x.s, EXIT_FAILED, e);
    }
    sattach_done(&x);
    return e;
}

const struct command command_sattach = {
    .name = "sattach",
    .arguments = "[OPTION...] JOB.STEP",
    .summary = "attach to the input and output of a running step, with the options of Slurm's "
               "sattach",
    .doc = "Prints what the tasks write from now on, passes standard input to them, and ends with "
           "the code of the step. Ctrl-C detaches. docs/slurm.md lists the options.",
    .examples = {{"sattach 12.0", "shows what the tasks of step 0 of job 12 write"},
                 {"sattach -l --output-filter=3 12.0", "shows the output of task 3, with labels"},
                 {"sattach --layout 12.0", "prints which tasks run on which nodes"},
                 {0}},
    .groups = FLAGS_SERVER,
    .n_max = SIZE_MAX,
    .reads_words = true,
    .run = sattach_run,
};
