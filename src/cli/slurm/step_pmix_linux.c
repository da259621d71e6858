/*
 * step_pmix_linux.c - PMIx for the tasks of a step on a node: its server, a process that the
 * manager starts, and what goes between that and srun
 *
 * The tasks start when the server has told the variables of each. The server lives until srun says
 * that all tasks of the step are over: PMIx_Finalize is no barrier, and tasks of other nodes may
 * still ask for keys of tasks here.
 */

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/proc.h"
#include "cli/slurm/step_private.h"
#include "slurm/pmix_message.h"

enum {
    PIECE = 65536
};

struct pmix_variable {
    uint32_t rank;
    char *text; /* owned */
};

struct step_pmix {
    struct step *step;
    struct proc *proc; /* NULL: it has ended */
    int fd;            /* of its messages */
    struct loop_io *io;
    struct buf received;  /* from the server, not read yet */
    struct buf sent;      /* to the server, not written yet */
    struct buf from_srun; /* not read yet */
    VEC(struct pmix_variable) variables;
    bool *is_connected; /* of each task of the node: PMIx_Init, and no PMIx_Finalize yet */
    bool has_failed;    /* srun knows why */
    bool is_ready;
    bool is_over; /* no task of the step runs on any node */
};

bool step_pmix_is_starting(const struct step *s)
{
    return s->pmix && !s->pmix->is_ready;
}

bool step_pmix_is_needed(const struct step *s)
{
    return s->pmix && s->pmix->proc && !s->pmix->is_over && !s->is_ending;
}

pid_t step_pmix_pid(const struct step *s)
{
    return s->pmix && s->pmix->proc ? proc_pid(s->pmix->proc) : 0;
}

/* ---- to the server ---- */

static void pmix_flush(struct step_pmix *p)
{
    while (p->sent.size > 0) {
        ssize_t n = send(p->fd, p->sent.at, p->sent.size, MSG_NOSIGNAL | MSG_DONTWAIT);

        if (n < 0 && errno == EAGAIN)
            break;
        if (n < 0 && errno != EINTR) /* it has ended, which is seen elsewhere */
            buf_clear(&p->sent);
        else
            buf_consume(&p->sent, n > 0 ? (size_t)n : 0);
    }
    loop_io_want(p->io, true, p->sent.size > 0);
}

static void pmix_send(struct step_pmix *p, const struct pmix_message *m)
{
    pmix_message_add(&p->sent, m);
    pmix_flush(p);
}

/* ---- from the server ---- */

static struct step_task *pmix_task(const struct step_pmix *p, uint32_t rank)
{
    VEC_EACH (&p->step->tasks, task)
        if ((*task)->plan->rank == rank)
            return *task;
    return NULL;
}

static void pmix_fail(struct step_pmix *p, struct err *taken)
{
    if (p->has_failed || p->step->is_finishing)
        err_free(taken);
    else
        step_fail(p->step, taken);
    p->has_failed = true;
}

static void pmix_take_abort(struct step_pmix *p, const struct pmix_message *m)
{
    AUTO_FREE char *text = mem_format("code %d: " STR_FMT, m->status, STR_ARG(m->payload));

    step_say(p->step, STEP_ABORT, m->rank, str_of(text));
}

static void pmix_pass_on(struct step_pmix *p, const struct pmix_message *m)
{
    AUTO(buf_done) struct buf bytes = {.cap = PMIX_MESSAGE_HEAD_SIZE + PMIX_MESSAGE_MAX};

    pmix_message_add(&bytes, m);
    step_say(p->step, STEP_PMIX, STEP_ALL_RANKS, (struct str){bytes.at, bytes.size});
}

static struct err *pmix_take(void *arg, const struct pmix_message *m)
{
    struct step_pmix *p = arg;
    struct step_task *task = pmix_task(p, m->rank);

    switch ((enum pmix_message_kind)m->kind) {
    case PMIX_MESSAGE_VARIABLE:
        vec_add(&p->variables,
                (struct pmix_variable){m->rank, mem_strndup(m->payload.at, m->payload.size)});
        return NULL;
    case PMIX_MESSAGE_READY:
        p->is_ready = true; /* the caller goes on */
        return NULL;
    case PMIX_MESSAGE_CONNECTED:
    case PMIX_MESSAGE_FINALIZED:
        if (task)
            p->is_connected[task->place] = m->kind == PMIX_MESSAGE_CONNECTED;
        return NULL;
    case PMIX_MESSAGE_ABORT:
        pmix_take_abort(p, m);
        return NULL;
    case PMIX_MESSAGE_FAILED:
        return err_new(ERR_INTERNAL, STR_FMT, STR_ARG(m->payload));
    case PMIX_MESSAGE_FENCE:
    case PMIX_MESSAGE_ASK:
    case PMIX_MESSAGE_TELL:
        pmix_pass_on(p, m);
        return NULL;
    case PMIX_MESSAGE_SETUP:
    case PMIX_MESSAGE_OVER:
        break;
    }
    return err_new(ERR_INVALID, "the manager of a step takes no such message of PMIx");
}

/* Reads what is there now. False: nothing follows. */
static bool pmix_read(struct step_pmix *p)
{
    char piece[PIECE];
    ssize_t n;
    struct err *e = NULL;

    while ((n = recv(p->fd, piece, sizeof(piece), MSG_DONTWAIT)) > 0 && !e) {
        buf_add(&p->received, piece, (size_t)n);
        e = pmix_messages_take(&p->received, pmix_take, p);
    }
    if (e)
        pmix_fail(p, e);
    return !e && n < 0 && (errno == EAGAIN || errno == EINTR);
}

static void pmix_on_ready(void *arg, int fd, bool readable, bool writable)
{
    struct step_pmix *p = arg;
    bool was_ready = p->is_ready;

    (void)fd;
    if (writable)
        pmix_flush(p);
    if (readable && !pmix_read(p))
        loop_io_want(p->io, false, false); /* its end is seen by pmix_on_end */
    if (p->is_ready && !was_ready)
        step_begin(p->step);
}

static void pmix_on_end(void *arg, const struct proc_end *end)
{
    struct step_pmix *p = arg;
    AUTO_FREE char *how = proc_format_status(end->status);

    p->proc = NULL;
    (void)pmix_read(p); /* why it ended */
    pmix_fail(p, err_new(ERR_INTERNAL, "the PMIx server of the step ended: %s", how));
    step_finish_if_over(p->step);
}

/* ---- tasks ---- */

void step_pmix_put_variables(const struct step *s, uint32_t rank, char ***env)
{
    if (!s->pmix)
        return;
    VEC_EACH (&s->pmix->variables, variable)
        if (variable->rank == rank)
            step_env_set(env, mem_strdup(variable->text));
    step_env_set(env, mem_strdup(STEP_PMIX_STORE));
}

void step_pmix_task_ended(const struct step_task *t)
{
    struct step_pmix *p = t->step->pmix;

    if (!p)
        return;
    (void)pmix_read(p); /* the server tells of PMIx_Finalize before it answers the task */
    if (p->is_connected[t->place])
        step_say(t->step, STEP_ABORT, t->plan->rank, STR("it ended before PMIx_Finalize"));
}

/* ---- from srun ---- */

static struct err *pmix_take_of_srun(void *arg, const struct pmix_message *m)
{
    struct step_pmix *p = arg;

    switch ((enum pmix_message_kind)m->kind) {
    case PMIX_MESSAGE_FENCE:
    case PMIX_MESSAGE_ASK:
    case PMIX_MESSAGE_TELL:
        pmix_send(p, m);
        return NULL;
    case PMIX_MESSAGE_OVER:
        p->is_over = true;
        step_finish_if_over(p->step);
        return NULL;
    case PMIX_MESSAGE_SETUP:
    case PMIX_MESSAGE_VARIABLE:
    case PMIX_MESSAGE_READY:
    case PMIX_MESSAGE_CONNECTED:
    case PMIX_MESSAGE_FINALIZED:
    case PMIX_MESSAGE_ABORT:
    case PMIX_MESSAGE_FAILED:
        break;
    }
    return err_new(ERR_INVALID, "the manager of a step takes no such message of PMIx");
}

struct err *step_pmix_take(struct step *s, struct str payload)
{
    if (!s->pmix)
        return err_new(ERR_INVALID, "the step has no PMIx");
    buf_add(&s->pmix->from_srun, payload.at, payload.size);
    return pmix_messages_take(&s->pmix->from_srun, pmix_take_of_srun, s->pmix);
}

/* ---- the server ---- */

/* The server gets no variable of the job: libpmix would read some of them, and sstat takes
 * processes with SLURM_PROCID for tasks. */
static struct err *pmix_start(struct step_pmix *p, int fd)
{
    static const char *const argv[] = {"mete", "step", STEP_PMIX_WORD, NULL};
    static const char *const env[] = {"PATH=/usr/local/bin:/usr/bin:/bin", STEP_PMIX_STORE,
                                      "PMIX_MCA_psec=native", NULL};
    const struct proc_options o = {.argv = argv,
                                   .is_self = true,
                                   .env = env,
                                   .cwd = "/",
                                   .fds = {fd, fd, STDERR_FILENO},
                                   .n_fds = 3};

    struct err *e = proc_start(p->step->loop, &o, pmix_on_end, p, &p->proc);

    return e ? err_wrap(e, "start the PMIx server of the step") : NULL;
}

struct err *step_pmix_open(struct step *s)
{
    struct step_pmix *p;
    AUTO_FREE char *text = NULL;
    struct err *e;
    int fds[2];

    if (!s->plan.pmix)
        return NULL;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) < 0)
        return err_errno(errno, "make a socket");
    p = mem_alloc(sizeof(*p));
    *p = (struct step_pmix){.step = s,
                            .fd = fds[0],
                            .received = {.cap = PMIX_MESSAGE_HEAD_SIZE + PMIX_MESSAGE_MAX + PIECE},
                            .sent = {.cap = SIZE_MAX}, /* srun sends what it has asked for */
                            .from_srun = {.cap = PMIX_MESSAGE_HEAD_SIZE + PMIX_MESSAGE_MAX + PIECE},
                            .is_connected = mem_alloc(s->plan.tasks.n * sizeof(bool))};
    s->pmix = p;
    p->io = loop_io_new(s->loop, p->fd, pmix_on_ready, p);
    e = pmix_start(p, fds[1]);
    fd_close(fds[1]);
    TRY(e);
    text = json_format(s->plan.pmix);
    pmix_send(p, &(struct pmix_message){.kind = PMIX_MESSAGE_SETUP, .payload = str_of(text)});
    return NULL;
}

/* The server has nothing in files. */
void step_pmix_kill(struct step *s)
{
    if (s->pmix && s->pmix->proc)
        proc_kill(s->pmix->proc, SIGKILL);
}

void step_pmix_close(struct step *s)
{
    struct step_pmix *p = s->pmix;

    if (!p)
        return;
    loop_io_free(p->io);
    fd_close(p->fd);
    buf_done(&p->received);
    buf_done(&p->sent);
    buf_done(&p->from_srun);
    VEC_EACH (&p->variables, variable)
        free(variable->text);
    vec_done(&p->variables);
    free(p->is_connected);
    free(p);
    s->pmix = NULL;
}
