/* remote_session.c - a session of exec or attach at this terminal */

#include "cli/job/remote_session.h"

#include "base/mem.h"
#include "cli/job/jobs.h"
#include "cli/term/keyboard.h"
#include "cli/term/text_escape.h"
#include "client/remote.h"

struct running {
    struct cli *cli;
    struct session *session;
    const struct remote_session *o;
    struct remote *remote;
    struct keyboard *keyboard;
    struct text_escaper cleaners[2];
    struct err *result;
    int code;
    bool is_over;
};

static void remote_stop(struct running *r, struct err *taken)
{
    if (r->is_over)
        err_free(taken);
    else
        r->result = taken;
    r->is_over = true;
    session_stop(r->session);
}

/* Output of a program without a terminal of its own must not control the user's terminal. */
static void remote_session_on_output(void *arg, int fd, struct str bytes)
{
    struct running *r = arg;
    bool is_terminal = fd == 1 ? r->cli->terminal.out : r->cli->terminal.err;
    AUTO(buf_done) struct buf clean = {0};
    struct err *e = NULL;

    if (r->is_over)
        return;
    if (fd == 1 && r->o->output) {
        e = r->o->output(r->o->arg, bytes);
        if (e)
            remote_stop(r, e);
        return;
    }
    if (is_terminal && !r->o->has_terminal) {
        text_escape_piece(&r->cleaners[fd - 1], bytes, &clean);
        bytes = (struct str){clean.at, clean.size};
    }
    e = pipe_write(fd, bytes);
    if (e)
        remote_stop(r, e);
}

static void on_end(void *arg, const struct err *e, int code)
{
    struct running *r = arg;

    r->code = code;
    remote_stop(r, e ? err_new(err_code(e), "%s", err_message(e)) : NULL);
}

static void on_drain(void *arg)
{
    struct running *r = arg;

    if (r->keyboard)
        keyboard_resume(r->keyboard);
}

static void on_input(void *arg, struct str bytes)
{
    struct running *r = arg;

    remote_send(r->remote, bytes);
}

static void on_input_end(void *arg)
{
    struct running *r = arg;

    remote_send_end(r->remote);
}

static size_t input_backlog(void *arg)
{
    struct running *r = arg;

    return remote_backlog(r->remote);
}

static void on_detached(void *arg)
{
    struct running *r = arg;

    r->code = 0;
    remote_stop(r, NULL);
}

static void on_resized(void *arg, uint16_t columns, uint16_t rows)
{
    struct running *r = arg;

    remote_resize(r->remote, columns, rows);
}

static struct err *open_keyboard(struct running *r)
{
    const struct keyboard_options k = {.session = r->session,
                                       .fd = r->o->input_fd,
                                       .is_raw = r->o->has_terminal && r->cli->terminal.in,
                                       .can_detach = r->o->can_detach,
                                       .reads_input = r->o->has_stdin,
                                       .input = on_input,
                                       .end = on_input_end,
                                       .backlog = input_backlog,
                                       .detached = on_detached,
                                       .resized = on_resized,
                                       .arg = r};

    return keyboard_new(&k, &r->keyboard);
}

static struct err *remote_run(struct running *r)
{
    const struct remote_options o = {.path = r->o->path,
                                     .on_output = remote_session_on_output,
                                     .on_drain = on_drain,
                                     .on_end = on_end,
                                     .arg = r};

    TRY(remote_open(session_client(r->session), &o, &r->remote));
    TRY(open_keyboard(r));
    if (!r->is_over)
        TRY(session_run(r->session));
    return TAKE(r->result);
}

struct err *remote_session_run(struct cli *c, struct session *s, const struct remote_session *o,
                               int *ret_code)
{
    struct running r = {.cli = c, .session = s, .o = o};
    struct err *e = NULL;

    r.cleaners[0].how = TEXT_ESCAPE_LOG;
    r.cleaners[1].how = TEXT_ESCAPE_LOG;
    e = remote_run(&r);
    keyboard_free(r.keyboard);
    remote_free(r.remote);
    err_free(r.result);
    if (e)
        return session_explain(s, e);
    *ret_code = r.code;
    return NULL;
}

void remote_path_begin(struct buf *b, const json_t *pod, const char *subresource,
                       const char *container)
{
    AUTO_FREE char *path = job_path(pod);

    buf_printf(b, "%s/%s?stdout=true", path, subresource);
    if (container) {
        buf_add_text(b, "&container=");
        client_add_escaped(b, str_of(container));
    }
}

void remote_path_streams(struct buf *b, bool has_stdin, bool has_terminal)
{
    buf_add_text(b, has_stdin ? "&stdin=true" : "");
    buf_add_text(b, has_terminal ? "&tty=true" : "&stderr=true");
}

void remote_path_command(struct buf *b, const char *word)
{
    buf_add_text(b, "&command=");
    client_add_escaped(b, str_of(word));
}
