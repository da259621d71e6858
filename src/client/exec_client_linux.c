/*
 * exec_client_linux.c - a client whose credential comes from a program
 *
 * A credential has a client of its own (a session). A session ends with its last call once there is
 * a newer credential. A call that waits for a credential has no session.
 */

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/proc.h"
#include "base/stamp.h"
#include "base/vec.h"
#include "client/exec_answer.h"
#include "client/exec_client.h"
#include "client/pem_linux.h"

#define PLUGIN_NS (300 * NS_PER_SEC) /* a login in a browser takes its time */

enum {
    ANSWER_MAX = 1 << 20
};

/* A client with one credential. */
struct exec_session {
    struct client *client;
    char *paths[2]; /* certificate and key; NULL: none */
    int fds[2];
    size_t n_calls;
    struct exec_session *prev;
    struct exec_session *next;
};

struct exec_call {
    struct client_call call; /* first */
    struct exec_client *x;
    struct client_request request; /* owns its texts */
    client_data_fn data;
    client_done_fn done;
    void *arg;
    struct exec_session *session; /* NULL: waits for a credential */
    struct client_call *inner;
    bool is_again;  /* sent for a second time */
    bool is_failed; /* hears why there is no credential */
    struct exec_call *prev;
    struct exec_call *next;
};

struct exec_client {
    struct client client; /* the user's handle */
    struct client_options *options;
    char *api_version;
    char **argv;
    char **env;
    char *hint;
    bool is_interactive;
    struct exec_session *sessions;
    struct exec_session *now; /* of the credential that counts; NULL: none */
    int64_t expires_ns;       /* of `now` */
    struct exec_call *calls;
    struct proc *proc; /* the program, running; NULL: not */
    int answer_fd;
    struct loop_timer *timer; /* begins the program */
    exec_client_fn begun;
    void *begun_arg;
    bool is_busy;   /* callbacks run that may free the client */
    bool is_doomed; /* freed meanwhile */
};

/* ---- sessions ---- */

static void exec_session_free(struct exec_client *x, struct exec_session *s)
{
    LIST_REMOVE(x->sessions, s);
    client_free(s->client);
    for (size_t i = 0; i < COUNT(s->fds); i++) {
        free(s->paths[i]);
        fd_close(s->fds[i]);
    }
    free(s);
}

/* Frees the session if it is old and no call needs it any more. */
static void exec_session_leave(struct exec_client *x, struct exec_session *s)
{
    if (s && s->n_calls == 0 && s != x->now)
        exec_session_free(x, s);
}

static void exec_drop_credential(struct exec_client *x)
{
    exec_session_leave(x, TAKE(x->now));
}

static struct err *exec_take_credential(struct exec_client *x, const struct exec_answer *a)
{
    struct exec_session *s = mem_alloc(sizeof(*s));
    struct client_options o = *x->options;
    struct err *e = NULL;

    *s = (struct exec_session){.fds = {-1, -1}};
    LIST_ADD(x->sessions, s);
    if (a->cert)
        e = pem_open(a->cert, &s->fds[0], &s->paths[0]);
    if (!e && a->key)
        e = pem_open(a->key, &s->fds[1], &s->paths[1]);
    o.token = a->token;
    o.cert_file = s->paths[0];
    o.key_file = s->paths[1];
    if (!e)
        e = client_new(&o, &s->client);
    if (e) {
        exec_session_free(x, s);
        return e;
    }
    exec_drop_credential(x);
    x->now = s;
    x->expires_ns = a->expires_ns;
    return NULL;
}

/* ---- calls ---- */

static void exec_call_free(struct exec_call *call)
{
    struct exec_client *x = call->x;

    LIST_REMOVE(x->calls, call);
    if (call->session) {
        call->session->n_calls--;
        exec_session_leave(x, call->session);
    }
    free((char *)(uintptr_t)call->request.method);
    free((char *)(uintptr_t)call->request.path);
    free((char *)(uintptr_t)call->request.accept);
    free((char *)(uintptr_t)call->request.content_type);
    free((char *)(uintptr_t)call->request.body.at);
    free(call);
}

/* Ends a call; the user's callback is the last that happens. */
static void exec_call_end(struct exec_call *call, const struct err *e,
                          const struct client_reply *reply)
{
    client_done_fn done = call->done;
    void *arg = call->arg;

    exec_call_free(call);
    done(arg, e, reply);
}

static void on_exec_data(void *arg, struct str piece)
{
    struct exec_call *call = arg;

    call->data(call->arg, piece);
}

/* Sends the call again with a new credential. */
static void exec_call_again(struct exec_call *call)
{
    struct exec_client *x = call->x;
    struct exec_session *s = TAKE(call->session);

    call->is_again = true;
    s->n_calls--;
    if (s == x->now)
        exec_drop_credential(x);
    else
        exec_session_leave(x, s);
    loop_timer_set(x->timer, 0);
}

static void on_exec_done(void *arg, const struct err *e, const struct client_reply *reply)
{
    struct exec_call *call = arg;

    call->inner = NULL;
    if (reply && reply->status == 401 && !call->is_again)
        exec_call_again(call);
    else
        exec_call_end(call, e, reply);
}

static void exec_call_send(struct exec_call *call)
{
    struct exec_session *s = call->x->now;

    call->session = s;
    s->n_calls++;
    if (call->data)
        client_stream(s->client, &call->request, on_exec_data, on_exec_done, call, &call->inner);
    else
        client_send(s->client, &call->request, on_exec_done, call, &call->inner);
}

/* ---- the program ---- */

static bool has_credential(const struct exec_client *x)
{
    return x->now && loop_wall_ns(x->options->loop) < x->expires_ns;
}

static void exec_destroy(struct exec_client *x);

/* Tells those who wait why there is no credential. Callbacks may free the client. */
static void exec_fail(struct exec_client *x, const struct err *e)
{
    exec_client_fn begun = TAKE(x->begun);
    struct exec_call *call;

    for (call = x->calls; call; call = call->next)
        call->is_failed = !call->session;
    x->is_busy = true;
    if (begun)
        begun(x->begun_arg, e);
    while (!x->is_doomed) {
        for (call = x->calls; call && !call->is_failed; call = call->next)
            ;
        if (!call)
            break;
        exec_call_end(call, e, NULL);
    }
    x->is_busy = false;
    if (x->is_doomed)
        exec_destroy(x);
}

static void exec_send_waiting(struct exec_client *x)
{
    exec_client_fn begun = TAKE(x->begun);
    struct exec_call *call;

    for (call = x->calls; call; call = call->next)
        if (!call->session)
            exec_call_send(call);
    if (begun)
        begun(x->begun_arg, NULL);
}

static struct err *exec_read(struct exec_client *x, const struct proc_end *end)
{
    AUTO_FREE char *how = proc_format_status(end->status);
    AUTO(buf_done) struct buf text = {.cap = ANSWER_MAX};
    struct exec_answer a = {0};
    struct err *e = NULL;

    if (end->timed_out)
        return err_new(ERR_UNAUTHENTICATED, "no answer within %d s", (int)(PLUGIN_NS / NS_PER_SEC));
    if (!WIFEXITED(end->status) || WEXITSTATUS(end->status) != 0)
        return err_new(ERR_UNAUTHENTICATED, "%s", how);
    if (lseek(x->answer_fd, 0, SEEK_SET) < 0)
        return err_errno(errno, "seek in its output");
    TRY(file_read_fd(x->answer_fd, "its output", ANSWER_MAX, &text));
    TRY(exec_answer_parse((struct str){.at = text.at ? text.at : "", .size = text.size},
                          x->api_version, &a));
    e = exec_take_credential(x, &a);
    exec_answer_done(&a);
    return e;
}

static void on_exec_end(void *arg, const struct proc_end *end)
{
    struct exec_client *x = arg;
    AUTO(err_freep) struct err *e = exec_read(x, end);

    x->proc = NULL;
    fd_close(fd_take(&x->answer_fd));
    if (e) {
        e = err_wrap(TAKE(e), "credential plugin '%s'", x->argv[0]);
        exec_fail(x, e);
    } else {
        exec_send_waiting(x);
    }
}

static struct err *exec_run(struct exec_client *x)
{
    struct proc_options o = {.argv = (const char *const *)x->argv,
                             .env = (const char *const *)x->env,
                             .n_fds = 3,
                             .deadline_ns = PLUGIN_NS};
    struct err *e;

    x->answer_fd = memfd_create("mete-credential", MFD_CLOEXEC);
    if (x->answer_fd < 0)
        return err_errno(errno, "make a file for a credential");
    o.fds[0] = x->is_interactive ? 0 : -1;
    o.fds[1] = x->answer_fd;
    o.fds[2] = 2;
    e = proc_start(x->options->loop, &o, on_exec_end, x, &x->proc);
    if (!e)
        return NULL;
    fd_close(fd_take(&x->answer_fd));
    if (!x->hint)
        return err_wrap(e, "credential plugin '%s'", x->argv[0]);
    return err_wrap(e, "credential plugin '%s' (%s)", x->argv[0], x->hint);
}

/* Begins the program, if a call still wants a credential. */
static void on_exec_timer(void *arg)
{
    struct exec_client *x = arg;
    AUTO(err_freep) struct err *e = NULL;

    if (x->proc)
        return;
    if (has_credential(x)) {
        exec_send_waiting(x);
        return;
    }
    e = exec_run(x);
    if (e)
        exec_fail(x, e);
}

/* ---- the client ---- */

static void exec_cancel(struct client_call *base)
{
    struct exec_call *call = (struct exec_call *)base;

    client_cancel(TAKE(call->inner));
    exec_call_free(call);
}

static struct err *exec_upgrade(void *self, const struct stream_options *o, struct stream **ret)
{
    const struct exec_client *x = self;

    if (!x->now)
        return err_new(ERR_UNAUTHENTICATED, "credential plugin '%s': no credential yet",
                       x->argv[0]);
    return client_upgrade(x->now->client, o, ret);
}

static void texts_free(char **texts)
{
    for (size_t i = 0; texts && texts[i]; i++)
        free(texts[i]);
    free(texts);
}

static void exec_destroy(struct exec_client *x)
{
    struct exec_call *call;
    struct exec_session *s;

    if (x->proc) {
        proc_kill(x->proc, SIGTERM);
        proc_abandon(x->proc);
    }
    fd_close(x->answer_fd);
    LIST_EACH (x->calls, call) {
        client_cancel(TAKE(call->inner));
        exec_call_free(call);
    }
    LIST_EACH (x->sessions, s)
        exec_session_free(x, s);
    loop_timer_free(x->timer);
    client_options_free(x->options);
    texts_free(x->argv);
    texts_free(x->env);
    free(x->api_version);
    free(x->hint);
    free(x);
}

static void exec_free(void *self)
{
    struct exec_client *x = self;

    if (x->is_busy)
        x->is_doomed = true;
    else
        exec_destroy(x);
}

static char *copy_of(const char *text)
{
    return text ? mem_strdup(text) : NULL;
}

static struct client_call *exec_start(void *self, const struct client_request *r,
                                      client_data_fn data, client_done_fn done, void *arg);

static const struct client_ops exec_ops = {
    .start = exec_start,
    .cancel = exec_cancel,
    .upgrade = exec_upgrade,
    .free = exec_free,
};

static struct client_call *exec_start(void *self, const struct client_request *r,
                                      client_data_fn data, client_done_fn done, void *arg)
{
    struct exec_client *x = self;
    struct exec_call *call = mem_alloc(sizeof(*call));

    *call = (struct exec_call){
        .call.ops = &exec_ops, .x = x, .request = *r, .data = data, .done = done, .arg = arg};
    call->request.method = copy_of(r->method);
    call->request.path = copy_of(r->path);
    call->request.accept = copy_of(r->accept);
    call->request.content_type = copy_of(r->content_type);
    call->request.body.at = r->body.at ? mem_dup(r->body.at, r->body.size) : NULL;
    LIST_ADD(x->calls, call);
    if (has_credential(x))
        exec_call_send(call);
    else
        loop_timer_set(x->timer, 0);
    return &call->call;
}

/* Copies of `texts`, and one more, which may be NULL. */
static char **texts_copy(const char *const *texts, const char *more)
{
    VEC(char *) copies = {0};

    for (; *texts; texts++)
        vec_add(&copies, mem_strdup(*texts));
    if (more)
        vec_add(&copies, mem_strdup(more));
    vec_add(&copies, NULL);
    return copies.at;
}

/* KUBERNETES_EXEC_INFO: how the program is run. The caller frees it. */
static char *exec_info(const struct exec_plugin *p)
{
    AUTO(json_freep) json_t *info = json_object();
    json_t *spec = json_object_at(info, "spec");
    AUTO_FREE char *text = NULL;

    json_put_text(info, "kind", "ExecCredential");
    json_put_text(info, "apiVersion", p->api_version);
    json_put_bool(spec, "interactive", p->is_interactive);
    if (p->cluster)
        json_put(spec, "cluster", json_incref((json_t *)(uintptr_t)p->cluster));
    text = json_format(info);
    return mem_format("KUBERNETES_EXEC_INFO=%s", text);
}

struct err *exec_client_new(const struct client_options *o, const struct exec_plugin *plugin,
                            struct client **ret)
{
    AUTO_FREE char *info = exec_info(plugin);
    struct exec_client *x = mem_alloc(sizeof(*x));

    *x = (struct exec_client){.client = {.ops = &exec_ops, .self = x},
                              .options = client_options_copy(o),
                              .api_version = mem_strdup(plugin->api_version),
                              .argv = texts_copy(plugin->argv, NULL),
                              .env = texts_copy(plugin->env, info),
                              .hint = copy_of(plugin->hint),
                              .is_interactive = plugin->is_interactive,
                              .answer_fd = -1};
    x->timer = loop_timer_new(o->loop, on_exec_timer, x);
    *ret = &x->client;
    return NULL;
}

void exec_client_begin(struct client *c, exec_client_fn fn, void *arg)
{
    struct exec_client *x = c->self;

    x->begun = fn;
    x->begun_arg = arg;
    loop_timer_set(x->timer, 0);
}
