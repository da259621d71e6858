/* squeue.c - squeue: the jobs that wait, run or have just ended */

#include "slurm/squeue.h"

#include "base/loop.h"
#include "base/mem.h"
#include "base/stamp.h"
#include "cli/commands.h"
#include "cli/slurm/slurm_command.h"
#include "cli/term/output.h"

static struct err *squeue_once(struct slurm_command *s, const struct squeue *q)
{
    AUTO(json_freep) json_t *rows = NULL;
    struct buf out = {0};
    struct err *e = slurm_rows(s, q->path, q->is_steps ? "steps" : "jobs", &rows);

    s->view.now_s = loop_wall_ns(session_loop(s->session)) / NS_PER_SEC;
    if (!e)
        e = squeue_print(q, rows, &s->view, &out);
    if (!e)
        e = output_write(s->cli, (struct str){out.at, out.size});
    buf_done(&out);
    return e;
}

static void squeue_on_time(void *arg)
{
    session_stop(arg);
}

/* Prints again after each interval, until a failure. */
static struct err *squeue_repeat(struct slurm_command *s, const struct squeue *q)
{
    for (;;) {
        struct loop_timer *timer;
        struct err *e = squeue_once(s, q);

        if (e || q->every_s == 0)
            return e;
        timer = loop_timer_new(session_loop(s->session), squeue_on_time, s->session);
        loop_timer_set(timer, q->every_s * NS_PER_SEC);
        e = session_run(s->session);
        loop_timer_free(timer);
        TRY(e);
    }
}

/* "slurm_load_jobs error: TEXT", as squeue prints failures of the server. */
static struct err *squeue_fail(struct slurm_command *s, struct err *e)
{
    (void)fprintf(s->cli->err, "slurm_load_jobs error: %s\n", err_message(e));
    s->cli->exit_code = 1;
    err_free(e);
    return NULL;
}

static struct err *squeue_run_options(struct slurm_command *s)
{
    AUTO_FREE char *user = slurm_user_name();
    struct squeue q = {0};
    struct err *e = NULL;

    if (slurm_words_has(&s->words, "version"))
        return slurm_print_version(s->cli);
    if (slurm_words_has(&s->words, "help"))
        return output_write(s->cli, str_of(squeue_help));
    e = squeue_read(&s->words, slurm_variable, user, &q);
    if (e)
        return slurm_fail(s, 1, e);
    e = squeue_repeat(s, &q);
    squeue_done(&q);
    return e ? squeue_fail(s, e) : NULL;
}

static struct err *squeue_run(struct cli *c)
{
    struct slurm_command s = {0};
    struct err *e = NULL;

    if (slurm_command_begin(&s, c, squeue_options, false))
        e = squeue_run_options(&s);
    slurm_command_done(&s);
    return e;
}

const struct command command_squeue = {
    .name = "squeue",
    .arguments = "[OPTION...]",
    .summary = "list jobs, with the options and columns of Slurm's squeue",
    .doc =
        "Pods and Jobs of the other doors are in the list, too. docs/slurm.md lists the options.",
    .examples = {{"squeue --me", "lists the jobs of the calling user"},
                 {"squeue -h -t all -o '%i %T'", "prints the number and the state of each job"},
                 {0}},
    .groups = FLAGS_SERVER,
    .n_max = SIZE_MAX,
    .reads_words = true,
    .run = squeue_run,
};
