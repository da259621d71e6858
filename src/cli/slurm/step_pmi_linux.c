/*
 * step_pmi_linux.c - PMI for the tasks of a step on a node: a socket of each task, the server of
 * their key-value space, and its fences over srun
 */

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "cli/slurm/step_private.h"

enum {
    PIECE = 16384,
    ANSWERS_MAX = 256 << 10 /* bytes that a task does not read: above them it is not heard */
};

/* ---- a task ---- */

void step_pmi_close(struct step_task *t)
{
    loop_io_free(t->pmi_io);
    t->pmi_io = NULL;
    fd_close(fd_take(&t->pmi));
    buf_done(&t->answers);
}

static void pmi_flush(struct step_task *t)
{
    while (t->pmi >= 0 && t->answers.size > 0) {
        ssize_t n = send(t->pmi, t->answers.at, t->answers.size, MSG_NOSIGNAL | MSG_DONTWAIT);

        if (n < 0 && errno == EAGAIN)
            break;
        if (n < 0 && errno != EINTR) { /* the task has closed it */
            step_pmi_close(t);
            return;
        }
        buf_consume(&t->answers, n > 0 ? (size_t)n : 0);
    }
    if (t->pmi_io)
        loop_io_want(t->pmi_io, t->answers.size<ANSWERS_MAX, t->answers.size> 0);
}

static void pmi_read(struct step_task *t)
{
    char piece[PIECE];
    ssize_t n = recv(t->pmi, piece, sizeof(piece), MSG_DONTWAIT);
    AUTO(err_freep) struct err *e = NULL;

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n > 0)
        e = pmi_server_take(t->step->pmi, t->place, (struct str){piece, (size_t)n});
    if (e) {
        AUTO_FREE char *text = mem_format("task %u: %s", t->plan->rank, err_message(e));

        step_say(t->step, STEP_WARNING, t->plan->rank, str_of(text));
    }
    if (n <= 0 || e)
        step_pmi_close(t);
}

static void pmi_on_ready(void *arg, int fd, bool readable, bool writable)
{
    struct step_task *t = arg;

    (void)fd;
    if (readable)
        pmi_read(t);
    if (writable && t->pmi >= 0)
        pmi_flush(t);
}

struct err *step_pmi_make(struct step_task *t, int *ret_child)
{
    int fds[2];

    if (!t->step->pmi)
        return NULL;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) < 0)
        return err_errno(errno, "make a socket");
    t->pmi = fds[0];
    *ret_child = fds[1];
    t->pmi_io = loop_io_new(t->step->loop, t->pmi, pmi_on_ready, t);
    loop_io_want(t->pmi_io, true, false);
    return NULL;
}

/* ---- the server ---- */

static void pmi_on_answer(void *arg, size_t place, struct str bytes)
{
    const struct step *s = arg;
    struct step_task *t = s->tasks.at[place];

    if (t->pmi < 0)
        return;
    buf_add(&t->answers, bytes.at, bytes.size);
    loop_io_want(t->pmi_io, t->answers.size < ANSWERS_MAX, true);
}

/* An empty frame ends the data of a fence. */
static void pmi_on_fence(void *arg, struct str data)
{
    if (data.size > 0)
        step_say(arg, STEP_FENCE, STEP_ALL_RANKS, data);
    step_say(arg, STEP_FENCE, STEP_ALL_RANKS, (struct str){0});
}

static void pmi_on_abort(void *arg, size_t place, struct str message)
{
    struct step *s = arg;

    step_say(s, STEP_ABORT, s->tasks.at[place]->plan->rank, message);
}

void step_pmi_open(struct step *s)
{
    AUTO_FREE uint32_t *ranks = mem_alloc(s->plan.tasks.n * sizeof(*ranks));
    const struct pmi_options o = {.size = s->plan.pmi_size,
                                  .ranks = ranks,
                                  .n_ranks = s->plan.tasks.n,
                                  .job = s->plan.pmi_job,
                                  .mapping = s->plan.pmi_mapping,
                                  .answer = pmi_on_answer,
                                  .fence = pmi_on_fence,
                                  .abort = pmi_on_abort,
                                  .arg = s};

    if (s->plan.pmi_size == 0)
        return;
    for (size_t i = 0; i < s->plan.tasks.n; i++)
        ranks[i] = s->plan.tasks.at[i].rank;
    s->pmi = pmi_server_new(&o);
}

struct err *step_pmi_take(struct step *s, struct str payload)
{
    struct err *e;

    if (!s->pmi)
        return err_new(ERR_INVALID, "the step has no PMI");
    buf_add(&s->fence, payload.at, payload.size);
    if (s->fence.overflow)
        return err_new(ERR_TOO_LARGE, "the data of a fence is too large");
    if (payload.size > 0)
        return NULL;
    e = pmi_server_release(s->pmi, (struct str){s->fence.at, s->fence.size});
    buf_done(&s->fence);
    return e;
}
