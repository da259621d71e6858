/* sbatch.c - sbatch: submits a batch script */

#include <inttypes.h>
#include <unistd.h>

#include "base/file.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/stamp.h"
#include "cli/commands.h"
#include "cli/slurm/caller.h"
#include "cli/slurm/slurm_command.h"
#include "cli/term/output.h"
#include "kinds/pod/pod_state.h"
#include "kinds/slurm/slurm_ask.h"
#include "kinds/slurm/slurm_job.h"
#include "model/hostlist.h"
#include "model/slurm_time.h"
#include "slurm/query.h"
#include "slurm/script.h"
#include "slurm/states.h"
#include "slurm/submit_het.h"

/* The answer without the script and the environment, which the caller has. */
#define JUST_METADATA "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"

enum {
    EXIT_VALUE = 255, /* of a malformed value */
    WAIT_FIRST_MS = 100,
    WAIT_LONGEST_MS = 2000
};

/* A submission in the making. */
struct sbatch {
    struct slurm_command s;
    struct slurm_submit submit;
    struct slurm_script script;
    struct caller caller;
    VEC(struct slurm_words) groups;        /* of the components behind the first one */
    VEC(struct slurm_words) script_groups; /* of all components; borrowed from `script` */
    struct slurm_option *options;
    char *text; /* of the script */
};

static void sbatch_done(struct sbatch *b)
{
    VEC_EACH (&b->groups, words)
        slurm_words_done(words);
    vec_done(&b->groups);
    VEC_EACH (&b->script_groups, words)
        slurm_words_done(words);
    vec_done(&b->script_groups);
    slurm_script_done(&b->script);
    slurm_submit_done(&b->submit);
    caller_done(&b->caller);
    slurm_command_done(&b->s);
    free(b->options);
    free(b->text);
}

/* ---- components ---- */

/* The words of a component on the command line; those of the last one have the script. */
static const struct slurm_words *sbatch_words(const struct sbatch *b, size_t component)
{
    return component == 0 ? &b->s.words : &b->groups.at[component - 1];
}

static const struct slurm_words *sbatch_last(const struct sbatch *b)
{
    return sbatch_words(b, b->groups.n);
}

/* A word ":" in the place of the script begins the next component. */
static struct err *sbatch_split(struct sbatch *b)
{
    for (;;) {
        const struct slurm_words *last = sbatch_last(b);
        struct slurm_words next = {0};

        if (last->arguments.n == 0 || !text_equal(last->arguments.at[0], ":"))
            return NULL;
        TRY(slurm_words_parse(b->options, true, last->arguments.n - 1, last->arguments.at + 1,
                              &next));
        vec_add(&b->groups, next);
    }
}

/* ---- the script ---- */

/* The file of the command line; NULL: none. */
static const char *sbatch_file(const struct sbatch *b)
{
    return sbatch_last(b)->arguments.n > 0 ? sbatch_last(b)->arguments.at[0] : NULL;
}

/* The command of --wrap; NULL: none. */
static const char *sbatch_wrap(const struct sbatch *b)
{
    const char *wrap = NULL;

    for (size_t i = 0; i <= b->groups.n && !wrap; i++)
        wrap = slurm_words_value(sbatch_words(b, i), "wrap");
    return wrap;
}

static struct err *sbatch_read_file(struct sbatch *b)
{
    const char *file = sbatch_file(b);
    struct buf text = {0};
    struct err *e = NULL;

    if (file)
        e = file_read(file, SLURM_SCRIPT_MAX, &text);
    else /* a path to it could not be opened where another user made the pipe */
        e = file_read_fd(STDIN_FILENO, "standard input", SLURM_SCRIPT_MAX, &text);
    if (!e) {
        b->text = buf_steal(&text);
        return NULL;
    }
    buf_done(&text);
    if (err_code(e) == ERR_TOO_LARGE)
        return err_wrap(e, "Batch job submission failed: Pathname of a file, directory or other "
                           "parameter too long");
    err_free(e);
    return err_new(ERR_INVALID, "Unable to open file %s", file ? file : "standard input");
}

/* Reads the words of #SBATCH lines. ERR_UNAUTHENTICATED: the words are malformed. */
static struct err *sbatch_read_script(struct sbatch *b)
{
    const char *wrap = sbatch_wrap(b);
    const char *file = sbatch_file(b);

    if (wrap && file)
        return err_new(ERR_INVALID, "Script arguments not permitted with --wrap option");
    if (wrap) {
        b->text = slurm_script_wrap(wrap);
        return NULL;
    }
    TRY(sbatch_read_file(b));
    return slurm_script_parse(str_of(b->text), file ? file : "stdin", &b->script);
}

/* Reads the words of one component. */
static struct err *sbatch_read_group(struct sbatch *b, size_t component)
{
    size_t first = component > 0 ? b->script.groups.at[component - 1] : 0;
    size_t end =
        component < b->script.groups.n ? b->script.groups.at[component] : b->script.words.n;
    const char *const *words = (const char *const *)b->script.words.at;
    struct slurm_words group = {0};

    TRY(slurm_words_parse(b->options, false, end - first, end > first ? words + first : NULL,
                          &group));
    vec_add(&b->script_groups, group);
    return NULL;
}

/* Prints the words of getopt_long about #SBATCH lines. False: the exit code is set. */
static bool sbatch_read_script_words(struct sbatch *b)
{
    AUTO(err_freep) struct err *e = NULL;

    for (size_t i = 0; i <= b->script.groups.n && !e; i++)
        e = sbatch_read_group(b, i);
    if (e) {
        (void)fprintf(b->s.cli->err, "sbatch: %s\nTry \"sbatch --help\" for more information\n",
                      err_message(e));
        b->s.cli->exit_code = EXIT_VALUE;
        return false;
    }
    VEC_EACH (&b->script_groups, words) {
        if (words->arguments.n == 0)
            continue;
        slurm_say(&b->s, "Invalid directive found in batch script: %s", words->arguments.at[0]);
        b->s.cli->exit_code = EXIT_VALUE;
        return false;
    }
    return true;
}

/* ---- the job ---- */

static const char *sbatch_base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

/* The texts that depend on the script and the shell. */
static void sbatch_put_texts(struct sbatch *b)
{
    json_t *spec = b->submit.spec;
    const char *file = sbatch_file(b);
    AUTO_FREE char *command = NULL;
    struct buf line = {0};

    if (file)
        command = *file == '/' ? mem_strdup(file) : mem_format("%s/%s", b->caller.cwd, file);
    json_put_text(spec, "script", b->text);
    json_put_text(spec, "command", command);
    if (!json_text_filled(spec, "name"))
        json_put_text(spec, "name",
                      sbatch_wrap(b) ? "wrap"
                      : file         ? sbatch_base_name(file)
                                     : "sbatch");
    if (!json_text(spec, "workDir"))
        json_put_text(spec, "workDir", b->caller.cwd);
    json_put_text(spec, "submitHost", b->caller.host);
    json_put_int(spec, "umask", b->caller.umask);
    buf_add_text(&line, "sbatch");
    for (size_t i = 0; i < b->s.cli->in->arguments.n; i++)
        buf_printf(&line, " %s", b->s.cli->in->arguments.at[i]);
    if (line.size < UINT16_MAX)
        json_put_text(spec, "submitLine", line.at);
    buf_done(&line);
}

static void sbatch_put_arguments(struct sbatch *b)
{
    const struct slurm_words *words = sbatch_last(b);
    json_t *arguments;

    if (words->arguments.n < 2)
        return;
    arguments = json_array_at(b->submit.spec, "arguments");
    for (size_t i = 1; i < words->arguments.n; i++)
        json_array_append_new(arguments, json_string(words->arguments.at[i]));
}

/* The home directory is that of the submitting shell. */
static struct err *sbatch_put_home(struct sbatch *b)
{
    const char *home = slurm_variable("HOME");

    if (!b->submit.mounts_home)
        return NULL;
    if (!home || *home != '/')
        return err_new(ERR_INVALID, "--container-mount-home: $HOME is not set");
    json_put_text(json_object_at(b->submit.spec, "container"), "home", home);
    return NULL;
}

static void sbatch_put_environment(struct sbatch *b)
{
    json_t *environment;

    slurm_submit_put_environment(&b->submit, b->caller.environment);
    environment = json_array_at(b->submit.spec, "environment");
    json_array_append_new(environment, json_sprintf("SLURM_SUBMIT_DIR=%s", b->caller.cwd));
    json_array_append_new(environment, json_sprintf("SLURM_SUBMIT_HOST=%s", b->caller.host));
}

static json_t *sbatch_object(struct sbatch *b)
{
    json_t *object = json_object();

    sbatch_put_texts(b);
    sbatch_put_arguments(b);
    sbatch_put_environment(b);
    json_put_text(object, "apiVersion", "mete.dev/v1");
    json_put_text(object, "kind", "SlurmJob");
    json_put_text(json_object_at(object, "metadata"), "generateName", "slurm-");
    json_put(object, "spec", json_incref(b->submit.spec));
    return object;
}

static struct err *sbatch_create(struct sbatch *b, json_t **ret)
{
    AUTO(json_freep) json_t *object = sbatch_object(b);
    AUTO_FREE char *path = NULL;
    struct call call = {
        .method = "POST", .accept = b->submit.is_test ? NULL : JUST_METADATA, .body = object};

    TRY(slurm_command_open(&b->s));
    path = path_format("/apis/mete.dev/v1/namespaces/%s/slurmjobs?fieldManager=sbatch&"
                       "fieldValidation=Strict%s",
                       session_namespace(b->s.session), b->submit.is_test ? "&dryRun=All" : "");
    call.path = path;
    return slurm_call(&b->s, &call, ret);
}

/* ---- --test-only ---- */

/* The first nodes with room now for the job, as many as it asks for, as a hostlist; NULL: too few.
 * The caller frees it. */
static char *sbatch_room(const json_t *nodes, const struct slurm_ask *ask)
{
    struct hostlist found = {0};
    char *text = NULL;

    for (size_t i = 0; i < json_array_size(nodes) && (int64_t)found.names.n < ask->nodes; i++) {
        const json_t *node = json_array_get(nodes, i);
        bool is_up = json_array_size(json_object_get(node, "flags")) == 0 &&
                     !text_equal(json_text(node, "state"), "DOWN") &&
                     !text_equal(json_text(node, "state"), "UNKNOWN");

        if (is_up && json_int(node, "cpus", 0) - json_int(node, "cpusAllocated", 0) >= ask->cpus)
            hostlist_add(&found, json_text(node, "name"));
    }
    hostlist_sort(&found);
    if ((int64_t)found.names.n >= ask->nodes)
        text = hostlist_format(&found);
    hostlist_done(&found);
    return text;
}

/* Says that the job was accepted, and where it could start by cpus now. */
static struct err *sbatch_tell_test(struct sbatch *b, const json_t *job)
{
    const json_t *spec = json_object_get(job, "spec");
    const char *partition = json_text_filled(spec, "partition");
    struct slurm_ask ask = {.nodes = 1, .cpus = 1};
    AUTO(json_freep) json_t *nodes = NULL;
    struct slurm_query query = {0};
    AUTO_FREE char *path = NULL;
    AUTO_FREE char *found = NULL;
    char at[SLURM_TIME_TEXT_SIZE];

    slurm_query_begin(&query, "nodes");
    path = slurm_query_end(&query);
    TRY(slurm_rows(&b->s, path, "nodes", &nodes));
    TRY(slurm_ask_read(spec, &ask));
    found = sbatch_room(nodes, &ask);
    slurm_stamp_format(found ? b->s.view.now_s : 0, b->s.view.zone, "Unknown", at);
    (void)fprintf(b->s.cli->err,
                  "sbatch: Job %" PRId64 " to start at %s using %" PRId64
                  " processors on nodes %s in partition %s\n",
                  json_int_at(job, "status", "jobId", NULL), at, ask.cpus * ask.nodes,
                  found ? found : "(null)", partition ? partition : SLURM_PARTITION);
    return NULL;
}

/* ---- --wait ---- */

static void sbatch_on_time(void *arg)
{
    session_stop(arg);
}

/* Waits for the end of the job; its exit code becomes that of the command. */
static struct err *sbatch_wait(struct sbatch *b, const char *ns, const char *name)
{
    AUTO_FREE char *path = path_format("/apis/mete.dev/v1/namespaces/%s/slurmjobs/%s", ns, name);
    int64_t pause_ms = WAIT_FIRST_MS;
    struct loop_timer *timer =
        loop_timer_new(session_loop(b->s.session), sbatch_on_time, b->s.session);
    struct err *e = NULL;
    bool is_over = false;

    while (!e && !is_over) {
        AUTO(json_freep) json_t *job = NULL;

        e = session_get(b->s.session, path, &job);
        is_over = !e && json_text_at(job, "status", "state", NULL) &&
                  !slurm_state_is_live(json_text_at(job, "status", "state", NULL));
        if (is_over) {
            int64_t code = json_int_at(job, "status", "exitCode", NULL);
            bool is_done = text_equal(json_text_at(job, "status", "state", NULL), "COMPLETED");

            b->s.cli->exit_code = code > 0 ? (int)(code & 0xff) : is_done ? 0 : 1;
        } else if (!e) {
            loop_timer_set(timer, pause_ms * NS_PER_MS);
            e = session_run(b->s.session);
            pause_ms = pause_ms * 2 < WAIT_LONGEST_MS ? pause_ms * 2 : WAIT_LONGEST_MS;
        }
    }
    loop_timer_free(timer);
    return e;
}

/* ---- the command ---- */

static struct err *sbatch_tell(struct sbatch *b, const json_t *job)
{
    const char *text = json_text_at(job, "metadata", "labels", POD_JOB_ID, NULL);
    AUTO_FREE char *line = NULL;
    int64_t id = 0;

    TRY(num_parse_int64(str_of(text), 1, INT64_MAX, &id));
    if (b->submit.is_parsable)
        line = mem_format("%" PRId64 "\n", id);
    else
        line = mem_format("Submitted batch job %" PRId64 "\n", id);
    if (b->submit.is_quiet && !b->submit.is_parsable)
        return NULL;
    return output_write(b->s.cli, str_of(line));
}

static void sbatch_warn(struct sbatch *b)
{
    for (size_t i = 0; i < b->submit.warnings.n && !b->submit.is_quiet; i++)
        (void)fprintf(b->s.cli->err, "sbatch: warning: %s\n", b->submit.warnings.at[i]);
    if (b->script.has_pbs && !b->submit.ignores_pbs)
        (void)fprintf(b->s.cli->err, "sbatch: warning: #PBS lines are not read\n");
}

/* Applies the options of one component: #SBATCH lines, variables, command line. */
static struct err *sbatch_apply_group(struct sbatch *b, size_t component,
                                      struct slurm_submit *submit)
{
    if (component < b->script_groups.n)
        TRY(slurm_submit_apply(submit, &b->script_groups.at[component]));
    TRY(slurm_submit_apply_variables(submit, slurm_variable));
    if (component <= b->groups.n)
        TRY(slurm_submit_apply(submit, sbatch_words(b, component)));
    return NULL;
}

/* Adds the components behind the first one. */
static struct err *sbatch_apply_components(struct sbatch *b)
{
    struct slurm_submit before = {0};
    struct err *e = NULL;

    for (size_t i = 1; !e && (i < b->script_groups.n || i <= b->groups.n); i++) {
        struct slurm_submit next;

        slurm_submit_component_begin(i == 1 ? &b->submit : &before, &next);
        e = sbatch_apply_group(b, i, &next);
        if (!e)
            e = slurm_submit_component_end(&b->submit, &next);
        b->submit.is_parsable |= next.is_parsable;
        b->submit.is_test |= next.is_test;
        b->submit.waits |= next.waits;
        slurm_submit_done(&before);
        before = next;
    }
    slurm_submit_done(&before);
    return e;
}

static struct err *sbatch_apply(struct sbatch *b)
{
    b->submit.now_s = b->s.view.now_s;
    b->submit.zone = b->s.view.zone;
    b->submit.read_file = file_read;
    b->submit.cwd = b->caller.cwd;
    TRY(sbatch_apply_group(b, 0, &b->submit));
    TRY(sbatch_apply_components(b));
    if (b->submit.cluster)
        return err_new(ERR_INVALID,
                       "'%s' can't be reached now, or it is an invalid entry for --cluster.",
                       b->submit.cluster);
    return sbatch_put_home(b);
}

/* Prints what a refusal says before its last line, which has Slurm's words. Takes `e`. */
static struct err *sbatch_take_reasons(struct sbatch *b, struct err *e)
{
    const char *last = strrchr(err_message(e), '\n');
    struct err *rest;

    if ((err_code(e) != ERR_INVALID && err_code(e) != ERR_FORBIDDEN) || !last)
        return e;
    slurm_say(&b->s, "%.*s", (int)(last - err_message(e)), err_message(e));
    rest = err_new(err_code(e), "%s", last + 1);
    err_free(e);
    return rest;
}

/* Submits, and tells the result. */
static struct err *sbatch_submit(struct sbatch *b)
{
    AUTO(json_freep) json_t *job = NULL;
    struct err *e;

    sbatch_warn(b);
    e = sbatch_create(b, &job);
    if (e)
        return err_wrap(sbatch_take_reasons(b, e),
                        b->submit.is_test ? "allocation failure" : "Batch job submission failed");
    if (b->submit.is_test)
        return sbatch_tell_test(b, job);
    TRY(sbatch_tell(b, job));
    if (!b->submit.waits)
        return NULL;
    return sbatch_wait(b, json_text_at(job, "metadata", "namespace", NULL),
                       json_text_at(job, "metadata", "name", NULL));
}

static const char sbatch_help[] =
    "Usage: sbatch [OPTIONS...] [SCRIPT [ARGUMENT...]]\n"
    "       sbatch [OPTIONS...] --wrap=COMMAND\n\n"
    "Submits a batch script; without SCRIPT the script is read from standard input.\n"
    "docs/slurm.md lists the options; https://slurm.schedmd.com/sbatch.html describes them.\n";

static struct err *sbatch_steps(struct sbatch *b)
{
    struct err *e;

    if (slurm_words_has(&b->s.words, "version"))
        return slurm_print_version(b->s.cli);
    if (slurm_words_has(&b->s.words, "help") || slurm_words_has(&b->s.words, "usage"))
        return output_write(b->s.cli, str_of(sbatch_help));
    e = caller_look(&b->caller);
    if (!e)
        e = sbatch_split(b);
    if (!e)
        e = sbatch_read_script(b);
    if (e)
        return slurm_fail(&b->s, EXIT_FAILED, e);
    if (!sbatch_read_script_words(b))
        return NULL;
    e = sbatch_apply(b);
    if (e)
        return slurm_fail(&b->s, err_code(e) == ERR_BAD_REQUEST ? EXIT_VALUE : EXIT_FAILED, e);
    e = sbatch_submit(b);
    return e ? slurm_fail(&b->s, EXIT_FAILED, e) : NULL;
}

static struct err *sbatch_run(struct cli *c)
{
    struct sbatch b = {.s = {.usage_code = EXIT_VALUE},
                       .options = slurm_submit_options(SLURM_SBATCH)};
    struct err *e = NULL;

    if (slurm_command_begin(&b.s, c, b.options, true))
        e = sbatch_steps(&b);
    sbatch_done(&b);
    return e;
}

const struct command command_sbatch = {
    .name = "sbatch",
    .arguments = "[OPTION...] [SCRIPT [ARGUMENT...]]",
    .summary = "submit a batch script, with the options of Slurm's sbatch",
    .doc = "The job runs on the node's own file system as the calling user. #SBATCH lines of the "
           "script, SBATCH_* variables and\noptions count, later ones first. docs/slurm.md lists "
           "the options.",
    .examples = {{"sbatch --gres=gpu:1 --mem=16G --time=04:00:00 train.sh",
                  "submits a script that needs a GPU for at most four hours"},
                 {"sbatch --array=0-9 --wrap='python eval.py $SLURM_ARRAY_TASK_ID'",
                  "submits ten jobs as an array"},
                 {0}},
    .groups = FLAGS_SERVER,
    .takes = TAKES_FILES,
    .n_max = SIZE_MAX,
    .reads_words = true,
    .run = sbatch_run,
};
