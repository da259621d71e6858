/* srun.c - srun: runs a step of a job, in its own job if there is none */

#include <inttypes.h>
#include <signal.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/stamp.h"
#include "cli/commands.h"
#include "cli/slurm/srun_bcast.h"
#include "cli/slurm/srun_het.h"
#include "cli/slurm/srun_private.h"
#include "cli/term/output.h"
#include "kinds/slurm/slurm_step.h"
#include "slurm/multi_prog.h"
#include "slurm/query.h"
#include "slurm/step_bind.h"
#include "slurm/submit_het.h"

enum {
    EXIT_VALUE = 255,
    BUSY_FIRST_MS = 50,
    BUSY_LONGEST_MS = 1000,
    END_TRIES = 20,
    END_PAUSE_MS = 500
};

struct srun {
    struct slurm_command s;
    struct slurm_submit submit;
    struct caller caller;
    struct slurm_option *options;
    struct allocation allocation;
    struct srun_het het;
    struct step_make make;
    char *copy; /* of --bcast, the program of the tasks; NULL: none */
    char secret[37];
    bool is_registered;
};

static void srun_done(struct srun *r)
{
    step_make_done(&r->make);
    srun_het_done(&r->het);
    allocation_done(&r->allocation);
    slurm_submit_done(&r->submit);
    caller_done(&r->caller);
    free(r->copy);
    slurm_command_done(&r->s);
    free(r->options);
}

/* ---- options ---- */

static const char *outer_job(const struct srun *r)
{
    const char *id = json_text_filled(r->submit.step, "jobId");

    if (!id)
        id = slurm_variable("SLURM_JOB_ID");
    if (!id)
        id = slurm_variable("SLURM_JOBID");
    return id && *id ? id : NULL;
}

/* A step has the job's gpus unless its own options ask: the variables of the job ask for the job.
 */
static void drop_gpus_of_job(struct srun *r)
{
    static const char *const keys[][2] = {
        {"gres", "gres"}, {"gpus", "gpus"}, {"gpusPerNode", "gpus-per-node"}};

    for (size_t i = 0; i < COUNT(keys) && outer_job(r); i++)
        if (!slurm_words_has(&r->s.words, keys[i][1]))
            (void)json_object_del(r->submit.spec, keys[i][0]); /* fails where it is absent */
}

static const char *program_name(const struct srun *r)
{
    const char *path = srun_het_program(&r->het, 0)->arguments.at[0];
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

/* libpmix of today speaks the protocols of its predecessors: one server serves all. */
static const char *const mpi_types[] = {"none", "pmi2", "pmix", "pmix_v4"};

static bool is_mpi_type(const char *text)
{
    for (size_t i = 0; i < COUNT(mpi_types); i++)
        if (text_equal(mpi_types[i], text))
            return true;
    return false;
}

static struct err *print_mpi_types(struct cli *c)
{
    AUTO(buf_done) struct buf out = {0};

    buf_add_text(&out, "MPI plugin types are...\n");
    for (size_t i = 0; i < COUNT(mpi_types); i++)
        buf_printf(&out, "\t%s\n", mpi_types[i]);
    return output_write(c, (struct str){out.at, out.size});
}

/* Options whose values are read late are checked early. */
static struct err *check_values(struct slurm_submit *submit)
{
    const json_t *step = submit->step;
    const char *mpi = json_text_filled(step, "mpi");
    const char *distribution = json_text_filled(step, "distribution");
    enum step_distribution kind;
    struct step_bind bind = {0};
    int64_t plane = 0;
    bool has_effect = true;

    if (mpi && !is_mpi_type(mpi))
        return err_new(ERR_INVALID, "Invalid MPI type '%s', --mpi=list for acceptable types", mpi);
    if (distribution && !step_distribution_read(distribution, &kind, &plane))
        return err_new(ERR_BAD_REQUEST, "Invalid --distribution specification");
    if (json_text_filled(step, "gpuBind"))
        TRY(step_gpu_bind_read(json_text(step, "gpuBind"), &bind));
    step_bind_done(&bind);
    if (json_text_filled(step, "cpuBind"))
        TRY(step_cpu_bind_read(json_text(step, "cpuBind"), &bind, &has_effect));
    step_bind_done(&bind);
    if (!has_effect)
        vec_add(&submit->warnings,
                mem_format("--cpu-bind: tasks are bound by map_cpu and mask_cpu only"));
    return NULL;
}

/* Applies the options of one group. */
static struct err *apply_group(struct slurm_submit *submit, const struct slurm_words *words)
{
    TRY(slurm_submit_apply_variables(submit, slurm_variable));
    TRY(slurm_submit_apply(submit, words));
    if (submit->cluster)
        return err_new(ERR_INVALID,
                       "'%s' can't be reached now, or it is an invalid entry for --cluster.",
                       submit->cluster);
    /* -c asks for exact resources, -N for so many nodes; the variables of the job do not. */
    json_put_bool(submit->step, "cpusGiven", slurm_words_has(words, "cpus-per-task"));
    json_put_bool(submit->step, "nodesGiven", slurm_words_has(words, "nodes"));
    json_put_bool(submit->step, "noKill", slurm_words_has(words, "no-kill"));
    if (slurm_words_has(words, "job-name"))
        json_put_text(submit->step, "name", json_text(submit->spec, "name"));
    if (text_equal(slurm_words_value(words, "gres"), "none"))
        json_put_text(submit->step, "gres", "none");
    return check_values(submit);
}

static struct err *srun_apply(struct srun *r)
{
    struct slurm_submit *submit = &r->submit;

    submit->now_s = r->s.view.now_s;
    submit->zone = r->s.view.zone;
    submit->read_file = file_read;
    submit->cwd = r->caller.cwd;
    submit->step = json_object();
    TRY(apply_group(submit, &r->s.words));
    drop_gpus_of_job(r);
    for (size_t i = 1; i < r->het.groups.n; i++) {
        struct srun_group *group = r->het.groups.at[i];

        slurm_submit_component_begin(r->het.groups.at[i - 1]->submit, &group->own_submit);
        TRY(apply_group(&group->own_submit, &group->own_words));
    }
    return NULL;
}

/* ---- the job ---- */

static void srun_on_signal(void *arg)
{
    struct srun *r = arg;

    if (r->is_registered)
        return; /* the tasks of the step get signals */
    r->allocation.signal = SIGINT;
    session_stop(r->s.session);
}

static struct err *srun_allocate(struct srun *r)
{
    const char *id = outer_job(r);
    struct err *e;

    TRY(slurm_command_open(&r->s));
    if (!id) {
        TRY(srun_het_put_components(&r->het, &r->submit));
        json_put_bool(r->submit.spec, "endsWithSteps", true);
    }
    if (id)
        TRY(allocation_find(&r->allocation, id));
    else
        TRY(allocation_create(&r->allocation, &r->submit, &r->caller, program_name(r)));
    session_on_signal(r->s.session, SIGINT, srun_on_signal, r);
    session_on_signal(r->s.session, SIGTERM, srun_on_signal, r);
    e = allocation_wait(&r->allocation, json_int(r->submit.step, "immediate", -1),
                        r->submit.is_quiet);
    return e;
}

/* ---- the step ---- */

static struct err *srun_make(struct srun *r)
{
    const struct slurm_words *program = srun_het_program(&r->het, 0);
    const char *standard = json_text(r->allocation.report, "mpiDefault");
    AUTO_FREE char *warning = NULL;

    r->make = (struct step_make){.submit = &r->submit,
                                 .allocation = r->allocation.report,
                                 .caller = {.cwd = r->caller.cwd,
                                            .host = r->caller.host,
                                            .umask = r->caller.umask,
                                            .pid = getpid(),
                                            .argv = (const char *const *)program->arguments.at,
                                            .n_argv = program->arguments.n}};
    if (srun_het_is_needed(&r->het, r->allocation.report))
        return srun_het_make(&r->het, &r->caller, &r->make);
    slurm_submit_put_environment(&r->submit, r->caller.environment);
    /* A site's default that is not there is no reason to refuse what did not ask for it. */
    if (!json_text(r->submit.step, "mpi") && standard && is_mpi_type(standard))
        json_put_text(r->submit.step, "mpi", standard);
    TRY(step_make_request(&r->make, &warning));
    if (warning && !r->submit.is_quiet)
        (void)fprintf(r->s.cli->err, "srun: Warning: %s\n", warning);
    if (json_bool(r->submit.step, "multiProg", false)) {
        AUTO(buf_done) struct buf text = {0};

        TRY(file_read(r->s.words.arguments.at[0], MULTI_PROG_MAX, &text));
        TRY(multi_prog_read((struct str){text.at, text.size}, r->make.tasks,
                            &r->make.caller.programs));
    }
    return NULL;
}

static bool is_busy(const struct err *e)
{
    return err_code(e) == ERR_CONFLICT && strstr(err_message(e), SLURM_STEP_BUSY);
}

/* Registers the step; waits while others hold what it needs. */
static struct err *srun_register(struct srun *r)
{
    AUTO_FREE char *path =
        path_format("/apis/mete.dev/v1/namespaces/%s/slurmsteps?fieldManager=srun&"
                    "fieldValidation=Strict",
                    r->allocation.ns);
    bool is_immediate = json_object_get(r->submit.step, "immediate") != NULL;
    int64_t pause_ms = BUSY_FIRST_MS;
    bool was_said = false;

    for (;;) {
        struct call call = {.method = "POST", .path = path, .body = r->make.object};
        json_t *answer = NULL;
        struct err *e = slurm_call(&r->s, &call, &answer);

        if (!e) {
            json_decref(r->make.object);
            r->make.object = answer;
            r->is_registered = true;
            if (was_said)
                (void)fprintf(r->s.cli->err,
                              "srun: Step created for StepId=%" PRId64 ".%" PRId64 "\n",
                              step_make_job(&r->make), step_make_number(&r->make));
            return NULL;
        }
        if (!is_busy(e) || is_immediate || r->allocation.signal != 0)
            return err_wrap(e, "Unable to create step for job %" PRId64, r->allocation.job_id);
        err_free(e);
        if (!was_said && !r->submit.is_quiet)
            (void)fprintf(r->s.cli->err,
                          "srun: Job %" PRId64 " step creation temporarily disabled, retrying "
                          "(" SLURM_STEP_BUSY ")\n",
                          r->allocation.job_id);
        was_said = !r->submit.is_quiet;
        TRY(allocation_pause(&r->s, pause_ms));
        pause_ms = pause_ms * 2 < BUSY_LONGEST_MS ? pause_ms * 2 : BUSY_LONGEST_MS;
    }
}

static char *step_path(const struct step_make *make, const char *ns)
{
    return path_format("/apis/mete.dev/v1/namespaces/%s/slurmsteps/%s", ns,
                       text_or_empty(json_text_at(make->object, "metadata", "name", NULL)));
}

static void on_renewed(void *arg, const struct err *e, const struct client_reply *reply)
{
    (void)arg; /* the next one follows, and a step without renewals only loses its claim */
    (void)e;
    (void)reply;
}

void srun_renew(struct srun_run *r)
{
    AUTO_FREE char *path = step_path(r->o->make, r->o->ns);
    char now[STAMP_TEXT_SIZE];
    struct client_request request = {
        .method = "PATCH", .path = path, .content_type = "application/merge-patch+json"};

    stamp_format_micro(loop_wall_ns(session_loop(r->o->s->session)), now);
    free(r->renewal);
    r->renewal = mem_format("{\"spec\":{\"renewTime\":\"%s\"}}", now);
    request.body = str_of(r->renewal);
    client_send(session_client(r->o->s->session), &request, on_renewed, NULL, NULL);
}

/* Writes the end of the step; a server that starts anew is given time. */
static struct err *srun_write_end(struct srun *r, const struct srun_end *end)
{
    const char *state = end->is_cancelled ? "CANCELLED" : end->code == 0 ? "COMPLETED" : "FAILED";
    AUTO(json_freep)
    json_t *patch =
        json_pack("{s:{s:{s:s,s:i,s:i},s:O}}", "spec", "end", "state", state, "exitCode",
                  end->task_code, "exitSignal", end->task_signal, "usage", end->usage);
    AUTO_FREE char *path = step_path(&r->make, r->allocation.ns);
    struct call call = {.method = "PATCH",
                        .path = path,
                        .content_type = "application/merge-patch+json",
                        .body = patch};
    struct err *e = NULL;

    for (int i = 0; i < END_TRIES; i++) {
        err_free(e);
        e = slurm_call(&r->s, &call, NULL);
        if (!e || err_code(e) != ERR_UNAVAILABLE)
            break;
        err_free(allocation_pause(&r->s, END_PAUSE_MS));
    }
    if (e && err_code(e) == ERR_NOT_FOUND) { /* the job is gone, and its steps with it */
        err_free(e);
        return NULL;
    }
    return e;
}

/* --bcast: the tasks run the copy. */
static struct err *srun_copy(struct srun *r)
{
    struct slurm_words *words = &r->s.words;
    const struct srun_bcast o = {.s = &r->s,
                                 .submit = &r->submit,
                                 .ns = r->allocation.ns,
                                 .nodes = json_object_get(r->allocation.report, "nodes"),
                                 .cwd = r->caller.cwd,
                                 .program = r->make.caller.argv[0],
                                 .job = step_make_job(&r->make),
                                 .step = step_make_number(&r->make),
                                 .is_het = srun_het_is_needed(&r->het, r->allocation.report)};

    TRY(srun_bcast(&o, &r->copy));
    if (r->copy)
        words->arguments.at[0] = r->copy;
    return NULL;
}

static struct err *srun_step(struct srun *r)
{
    const struct srun_run_options run = {
        .s = &r->s, .submit = &r->submit, .make = &r->make, .ns = r->allocation.ns};
    struct srun_end end = {0};
    struct err *e;

    TRY(srun_make(r));
    TRY(srun_register(r));
    uuid_make(r->secret);
    r->make.caller.secret = r->secret;
    e = srun_copy(r);
    if (!e)
        e = srun_run_step(&run, &end);
    if (e) {
        end.code = 1;
        end.task_code = 1;
    }
    if (end.task_code == 0 && end.task_signal == 0)
        end.task_code = end.code; /* the step broke, not a task */
    r->s.cli->exit_code = end.code;
    if (e)
        err_free(srun_write_end(r, &end)); /* the first error is told */
    else
        e = srun_write_end(r, &end);
    json_decref(end.usage);
    if (r->allocation.is_ours) {
        struct err *other = allocation_end(&r->allocation, end.task_code, end.task_signal);

        if (e)
            err_free(other);
        else
            e = other;
    }
    return e;
}

/* ---- the command ---- */

static const char srun_help[] =
    "Usage: srun [OPTIONS...] PROGRAM [ARGUMENT...]\n\n"
    "Runs a program as the tasks of a step, in the job of SLURM_JOB_ID or in a job of its own.\n"
    "docs/slurm.md lists the options; https://slurm.schedmd.com/srun.html describes them.\n";

static struct err *srun_work(struct srun *r)
{
    struct err *e = srun_allocate(r);

    if (!e)
        e = srun_step(r);
    if (e && r->allocation.is_ours)
        err_free(allocation_end(&r->allocation, 1, 0)); /* the first error is told */
    return e;
}

static struct err *srun_steps(struct srun *r)
{
    struct err *e;

    if (slurm_words_has(&r->s.words, "version"))
        return slurm_print_version(r->s.cli);
    if (slurm_words_has(&r->s.words, "help") || slurm_words_has(&r->s.words, "usage"))
        return output_write(r->s.cli, str_of(srun_help));
    if (text_equal(slurm_words_value(&r->s.words, "mpi"), "list"))
        return print_mpi_types(r->s.cli);
    e = srun_het_split(&r->het, r->options, &r->s.words, &r->submit);
    if (!e && !srun_het_program(&r->het, r->het.groups.n - 1))
        e = err_new(ERR_INVALID, "fatal: No command given to execute.");
    if (!e)
        e = caller_look(&r->caller);
    if (!e)
        e = srun_apply(r);
    for (size_t i = 0; !e && i < r->submit.warnings.n && !r->submit.is_quiet; i++)
        (void)fprintf(r->s.cli->err, "srun: warning: %s\n", r->submit.warnings.at[i]);
    if (!e)
        e = srun_work(r);
    if (!e)
        return NULL;
    return slurm_fail(&r->s, err_code(e) == ERR_BAD_REQUEST ? EXIT_VALUE : EXIT_FAILED, e);
}

static struct err *srun_run(struct cli *c)
{
    struct srun r = {.s = {.usage_code = EXIT_VALUE},
                     .submit = {.command = SLURM_SRUN},
                     .options = slurm_submit_options(SLURM_SRUN)};
    struct err *e = NULL;

    r.allocation.s = &r.s;
    if (slurm_command_begin(&r.s, c, r.options, true))
        e = srun_steps(&r);
    srun_done(&r);
    return e;
}

const struct command command_srun = {
    .name = "srun",
    .arguments = "[OPTION...] PROGRAM [ARGUMENT...]",
    .summary = "run the tasks of a step, with the options of Slurm's srun",
    .doc = "In a job (SLURM_JOB_ID, --jobid) the tasks are a step of the job; elsewhere a job is "
           "made for them. The exit code is the highest\nof the tasks. docs/slurm.md lists the "
           "options.",
    .examples = {{"srun --gres=gpu:1 --pty bash", "opens a shell on a node, with a GPU"},
                 {"srun -n 4 -l hostname", "runs four tasks, whose lines have their numbers"},
                 {0}},
    .groups = FLAGS_SERVER,
    .takes = TAKES_FILES,
    .n_max = SIZE_MAX,
    .reads_words = true,
    .run = srun_run,
};
