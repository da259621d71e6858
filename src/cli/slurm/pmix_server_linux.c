/*
 * pmix_server_linux.c - mete step pmix: the PMIx server of a step on a node
 *
 * A process of its own, started by the manager of the step: libpmix has threads, reads the
 * environment and loads modules. Standard input is a socket of the manager, with messages both ways
 * (slurm/pmix_message.h); its end ends the server.
 *
 * libpmix calls from its thread (pmix_upcall_linux.c). The main thread answers it when the manager
 * has the message: what a task does behind an answer comes after that message.
 */

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "cli/slurm/pmix_private.h"
#include "cli/slurm/pmix_server.h"
#include "slurm/pmix_message.h"

enum {
    PIECE = 65536,
    AGAIN_MS = 20, /* between looks for a key that a task has not put yet; doubled up to the next */
    AGAIN_LONGEST_MS = 500,
    LAST_MS = 1000 /* for libpmix to answer when a task has called PMIx_Finalize */
};

/* A request of another node for what a task here has put. */
struct pmix_asked {
    uint32_t rank;
    uint32_t number;
    char *key;
    int64_t pause_ms;
    int64_t at_ms;   /* of the next look, or of the end; 0: none */
    bool is_in_hand; /* libpmix has it, for ever if the task never commits */
    bool is_told;
};

struct pmix_server {
    struct pmix_space space;
    bool has_space;
    bool is_over; /* the manager is gone */
    struct buf received;
    VEC(struct pmix_upcall *) waiting; /* fences and requests whose answer comes from srun */
    VEC(struct pmix_asked *) asked;    /* not answered yet */
    bool *finalized;                   /* of each rank */
    uint32_t number;                   /* of the next request */
};

/* ---- what goes to the manager ---- */

/* Waits until the manager has taken it: the manager never waits for the server. */
static void server_say(struct pmix_server *s, const struct pmix_message *m)
{
    AUTO(buf_done) struct buf out = {.cap = PMIX_MESSAGE_MAX + PMIX_MESSAGE_HEAD_SIZE};

    pmix_message_add(&out, m);
    for (size_t sent = 0; sent < out.size && !s->is_over;) {
        ssize_t n = write(STDOUT_FILENO, out.at + sent, out.size - sent);

        if (n > 0)
            sent += (size_t)n;
        else if (errno != EINTR)
            s->is_over = true;
    }
}

static void server_say_text(struct pmix_server *s, char kind, uint32_t rank, const char *text)
{
    const struct pmix_message m = {.kind = kind, .rank = rank, .payload = str_of(text)};

    server_say(s, &m);
}

/* ---- keys of other nodes' tasks ---- */

static int64_t clock_ms(void)
{
    struct timespec now = {0};

    (void)clock_gettime(CLOCK_MONOTONIC, &now); /* cannot fail */
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void asked_free_if_done(struct pmix_asked *a)
{
    if (!a->is_told || a->is_in_hand)
        return;
    free(a->key);
    free(a);
}

/* Answers the request: it is no longer in the list, and may be freed. */
static void server_tell(struct pmix_server *s, struct pmix_asked *a, pmix_status_t status,
                        struct str data)
{
    const struct pmix_message m = {
        .kind = PMIX_MESSAGE_TELL, .number = a->number, .status = status, .payload = data};

    server_say(s, &m);
    for (size_t i = 0; i < s->asked.n; i++)
        if (s->asked.at[i] == a) {
            vec_remove(&s->asked, i);
            break;
        }
    a->is_told = true;
    asked_free_if_done(a);
}

static void server_look(struct pmix_server *s, struct pmix_asked *a)
{
    pmix_proc_t proc = {.rank = a->rank};
    pmix_status_t status;

    memcpy(proc.nspace, s->space.name, sizeof(proc.nspace));
    assert(s->finalized); /* made with the space */
    a->at_ms = s->finalized[a->rank] ? clock_ms() + LAST_MS : 0;
    a->is_in_hand = true;
    status = sym_PMIx_server_dmodex_request(&proc, pmix_upcall_on_asked, a);
    if (status == PMIX_SUCCESS)
        return;
    a->is_in_hand = false;
    server_tell(s, a, status, (struct str){0});
}

/* Is the key, with its NUL, in the packed keys and values? A value with these bytes costs a task
 * one PMIX_ERR_NOT_FOUND more. */
static bool has_key(const struct pmix_upcall *u, const char *key)
{
    return !*key || (u->data && memmem(u->data, u->size, key, strlen(key) + 1));
}

/* The first commit of a task need not have the key. */
static void server_take_told(struct pmix_server *s, const struct pmix_upcall *u)
{
    struct pmix_asked *a = u->cbdata;
    pmix_status_t status = u->status;

    assert(s->finalized); /* made with the space */
    a->is_in_hand = false;
    if (a->is_told) {
        asked_free_if_done(a);
    } else if (status == PMIX_SUCCESS && has_key(u, a->key)) {
        server_tell(s, a, status, (struct str){u->data, u->size});
    } else if ((status != PMIX_SUCCESS && status != PMIX_ERR_NOT_FOUND) || s->finalized[a->rank]) {
        server_tell(s, a, status == PMIX_SUCCESS ? PMIX_ERR_NOT_FOUND : status, (struct str){0});
    } else {
        a->at_ms = clock_ms() + a->pause_ms;
        a->pause_ms = a->pause_ms * 2 < AGAIN_LONGEST_MS ? a->pause_ms * 2 : AGAIN_LONGEST_MS;
    }
}

/* The task puts nothing more. libpmix answers no request for a task that has never committed. */
static void server_end_asked(struct pmix_server *s, uint32_t rank)
{
    VEC_EACH (&s->asked, one)
        if ((*one)->rank == rank)
            (*one)->at_ms = clock_ms() + ((*one)->is_in_hand ? LAST_MS : 0);
}

/* The first request whose time has come; NULL: none. `*ret_next_ms`: the next time, -1: none. */
static struct pmix_asked *server_due(const struct pmix_server *s, int64_t now_ms,
                                     int64_t *ret_next_ms)
{
    *ret_next_ms = -1;
    VEC_EACH (&s->asked, one) {
        int64_t at_ms = (*one)->at_ms;

        if (at_ms > 0 && at_ms <= now_ms)
            return *one;
        if (at_ms > 0 && (*ret_next_ms < 0 || at_ms < *ret_next_ms))
            *ret_next_ms = at_ms;
    }
    return NULL;
}

/* The time until the next look, -1: none. */
static int server_look_again(struct pmix_server *s)
{
    int64_t now_ms = clock_ms();
    int64_t next_ms = -1;
    struct pmix_asked *a;

    while ((a = server_due(s, now_ms, &next_ms)))
        if (a->is_in_hand)
            server_tell(s, a, PMIX_ERR_NOT_FOUND, (struct str){0});
        else
            server_look(s, a);
    return next_ms < 0 ? -1 : (int)(next_ms - now_ms);
}

/* ---- from libpmix ---- */

static int compare_ranks(const void *a, const void *b)
{
    uint32_t left = *(const uint32_t *)a;
    uint32_t right = *(const uint32_t *)b;

    return (left > right) - (left < right);
}

/* Tasks name the ranks of a fence in any order: sorted, they name the fence. Data over the limit
 * ends the step. */
static void server_take_fence(struct pmix_server *s, struct pmix_upcall *u)
{
    AUTO(buf_done) struct buf all = {.cap = PMIX_MESSAGE_MAX};
    struct pmix_message m = {
        .kind = PMIX_MESSAGE_FENCE, .number = (uint32_t)u->ranks.n, .status = u->status};

    if (u->ranks.n > 0)
        qsort(u->ranks.at, u->ranks.n, sizeof(*u->ranks.at), compare_ranks);
    vec_add(&s->waiting, u);
    if (u->size > PMIX_MESSAGE_DATA_MAX) {
        AUTO_FREE char *text = mem_format("the tasks have put %zu bytes for PMIx: at most %d",
                                          u->size, PMIX_MESSAGE_DATA_MAX);

        server_say_text(s, PMIX_MESSAGE_FAILED, 0, text);
        return;
    }
    VEC_EACH (&u->ranks, rank)
        pmix_fence_rank_add(&all, *rank);
    buf_add(&all, u->data, u->size);
    m.payload = (struct str){all.at, all.size};
    server_say(s, &m);
    free(u->data);
    u->data = NULL;
}

static void server_take_upcall(struct pmix_server *s, struct pmix_upcall *u)
{
    const struct pmix_message m = {.kind = u->kind,
                                   .rank = u->rank,
                                   .number = s->number,
                                   .status = u->status,
                                   .payload = {u->data, u->size}};

    switch ((enum pmix_message_kind)u->kind) {
    case PMIX_MESSAGE_FENCE:
        server_take_fence(s, u);
        return; /* its answer comes from srun */
    case PMIX_MESSAGE_ASK:
        u->number = s->number++;
        vec_add(&s->waiting, u);
        server_say(s, &m);
        return; /* likewise */
    case PMIX_MESSAGE_TELL:
        server_take_told(s, u);
        break;
    case PMIX_MESSAGE_FINALIZED:
        s->finalized[u->rank] = true;
        server_say(s, &m);
        server_end_asked(s, u->rank);
        break;
    case PMIX_MESSAGE_CONNECTED:
    case PMIX_MESSAGE_ABORT:
        server_say(s, &m);
        break;
    case PMIX_MESSAGE_SETUP:
    case PMIX_MESSAGE_VARIABLE:
    case PMIX_MESSAGE_READY:
    case PMIX_MESSAGE_FAILED:
    case PMIX_MESSAGE_OVER:
        break; /* no upcalls */
    }
    if (u->done)
        u->done(PMIX_SUCCESS, u->cbdata);
    pmix_upcall_free(u);
}

/* ---- from the manager ---- */

/* Answers the upcall; libpmix keeps the data until it frees it. */
static void server_answer(struct pmix_server *s, size_t i, pmix_status_t status, struct str data)
{
    struct pmix_upcall *u = s->waiting.at[i];
    char *copy = data.size > 0 ? mem_dup(data.at, data.size) : NULL;

    vec_remove(&s->waiting, i);
    u->modex(status, copy, data.size, u->cbdata, free, copy);
    pmix_upcall_free(u);
}

static bool is_of_ranks(const struct pmix_upcall *u, struct str ranks, uint32_t n)
{
    if (u->kind != PMIX_MESSAGE_FENCE || u->ranks.n != n)
        return false;
    for (size_t i = 0; i < n; i++)
        if (u->ranks.at[i] != pmix_fence_rank(ranks, i))
            return false;
    return true;
}

static struct err *server_take_fence_end(struct pmix_server *s, const struct pmix_message *m)
{
    struct str ranks;
    struct str data;

    TRY(pmix_fence_read(m, &ranks, &data));
    for (size_t i = 0; i < s->waiting.n; i++)
        if (is_of_ranks(s->waiting.at[i], ranks, m->number)) {
            server_answer(s, i, m->status, data);
            return NULL;
        }
    return err_new(ERR_INVALID, "no such fence is open");
}

static struct err *server_take_tell(struct pmix_server *s, const struct pmix_message *m)
{
    for (size_t i = 0; i < s->waiting.n; i++)
        if (s->waiting.at[i]->kind == PMIX_MESSAGE_ASK && s->waiting.at[i]->number == m->number) {
            server_answer(s, i, m->status, m->payload);
            return NULL;
        }
    return err_new(ERR_INVALID, "no such request is open");
}

static struct err *server_take_ask(struct pmix_server *s, const struct pmix_message *m)
{
    struct pmix_asked *a;

    if (m->rank >= s->space.size || s->space.owners.at[m->rank] != s->space.node)
        return err_new(ERR_INVALID, "rank %u is not on this node", m->rank);
    a = mem_alloc(sizeof(*a));
    *a = (struct pmix_asked){.rank = m->rank,
                             .number = m->number,
                             .key = mem_strndup(m->payload.at, m->payload.size),
                             .pause_ms = AGAIN_MS};
    vec_add(&s->asked, a);
    server_look(s, a);
    return NULL;
}

/* ---- the start ---- */

/* Names and addresses of the server in the environment of a task. */
static struct err *server_say_variables(struct pmix_server *s, uint32_t rank)
{
    pmix_proc_t proc = {.rank = rank};
    char **env = NULL;

    memcpy(proc.nspace, s->space.name, sizeof(proc.nspace));
    TRY(pmix_check(sym_PMIx_server_setup_fork(&proc, &env), "make variables of a task"));
    for (char **one = env; one && *one; one++) {
        server_say_text(s, PMIX_MESSAGE_VARIABLE, rank, *one);
        free(*one);
    }
    free(env);
    return NULL;
}

static struct err *server_take_setup(struct pmix_server *s, const struct pmix_message *m)
{
    const struct pmix_message ready = {.kind = PMIX_MESSAGE_READY};

    TRY(pmix_load());
    TRY(pmix_space_read(m->payload, &s->space));
    s->has_space = true;
    s->finalized = mem_alloc(s->space.size * sizeof(*s->finalized));
    TRY(pmix_upcalls_init(&s->space));
    TRY(pmix_space_register(&s->space));
    VEC_EACH (&s->space.ranks, rank)
        TRY(server_say_variables(s, *rank));
    server_say(s, &ready);
    return NULL;
}

static struct err *server_take(void *arg, const struct pmix_message *m)
{
    struct pmix_server *s = arg;

    if (s->has_space != (m->kind != PMIX_MESSAGE_SETUP))
        return err_new(ERR_INVALID, "the setup comes first, and once");
    switch ((enum pmix_message_kind)m->kind) {
    case PMIX_MESSAGE_SETUP:
        return server_take_setup(s, m);
    case PMIX_MESSAGE_FENCE:
        return server_take_fence_end(s, m);
    case PMIX_MESSAGE_ASK:
        return server_take_ask(s, m);
    case PMIX_MESSAGE_TELL:
        return server_take_tell(s, m);
    case PMIX_MESSAGE_VARIABLE:
    case PMIX_MESSAGE_READY:
    case PMIX_MESSAGE_CONNECTED:
    case PMIX_MESSAGE_FINALIZED:
    case PMIX_MESSAGE_ABORT:
    case PMIX_MESSAGE_FAILED:
    case PMIX_MESSAGE_OVER:
        break;
    }
    return err_new(ERR_INVALID, "the PMIx server of a step takes no such message");
}

/* ---- the program ---- */

static struct err *server_read(struct pmix_server *s)
{
    char piece[PIECE];
    ssize_t n = read(STDIN_FILENO, piece, sizeof(piece));

    if (n < 0 && errno == EINTR)
        return NULL;
    if (n <= 0) {
        s->is_over = true;
        return NULL;
    }
    buf_add(&s->received, piece, (size_t)n);
    return pmix_messages_take(&s->received, server_take, s);
}

/* Pointers are written whole: they are shorter than PIPE_BUF. */
static void server_read_upcall(struct pmix_server *s, int fd)
{
    struct pmix_upcall *u = NULL;

    assert(s->has_space); /* libpmix was not started before */
    if (read(fd, &u, sizeof(u)) == sizeof(u))
        server_take_upcall(s, u);
}

static struct err *server_loop(struct pmix_server *s, int upcalls_out)
{
    struct err *e = NULL;

    while (!e && !s->is_over) {
        struct pollfd fds[] = {{.fd = STDIN_FILENO, .events = POLLIN},
                               {.fd = upcalls_out, .events = POLLIN}};

        if (poll(fds, COUNT(fds), server_look_again(s)) < 0)
            continue; /* a signal */
        if (fds[1].revents)
            server_read_upcall(s, upcalls_out);
        if (fds[0].revents)
            e = server_read(s);
    }
    return e;
}

/* Ends without the thread of libpmix: no task is left, and nothing of it is in files. */
struct err *pmix_server_run(void)
{
    struct pmix_server s = {.received = {.cap = PMIX_MESSAGE_MAX + PMIX_MESSAGE_HEAD_SIZE + PIECE}};
    int fd = -1;
    AUTO(err_freep) struct err *e = pmix_upcalls_open(&fd);

    if (!e)
        e = server_loop(&s, fd);
    if (e) {
        AUTO_FREE char *text = mem_format("--mpi=pmix: %s", err_message(e));

        server_say_text(&s, PMIX_MESSAGE_FAILED, 0, text);
    }
    _exit(e ? 1 : 0);
}
