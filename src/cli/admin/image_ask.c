/* image_ask.c - requests of `mete image` whose answer is a stream of progress lines */

#include "base/mem.h"
#include "cli/admin/image.h"
#include "cli/term/progress.h"

/* ---- lines ---- */

void image_lines_init(struct image_lines *l, struct cli *c, struct session *s, const char *what)
{
    *l = (struct image_lines){.progress = progress_new(c, session_loop(s), what),
                              .is_live = c->terminal.err && !c->terminal.is_plain};
    l->text.cap = 1 << 20;
    progress_phase(l->progress, "waiting", "");
}

/* "layer 3 of 7: 12.1 of 40.0 MiB" is a phase and its detail. */
static void image_lines_show(struct image_lines *l, const char *line)
{
    const char *colon = strstr(line, ": ");
    AUTO_FREE char *phase = mem_strndup(line, colon ? (size_t)(colon - line) : strlen(line));

    progress_phase(l->progress, phase, colon && l->is_live ? colon + 2 : "");
}

static void take_line(struct image_lines *l, struct str line)
{
    AUTO(json_freep) json_t *j = NULL;
    AUTO(err_freep) struct err *e = json_parse(line, &j);

    if (e)
        return; /* image_lines_result reports the missing end */
    if (json_text(j, "progress")) {
        image_lines_show(l, json_text(j, "progress"));
        return;
    }
    json_decref(l->last);
    l->last = TAKE(j);
}

void image_lines_take(struct image_lines *l, struct str piece)
{
    const char *end;

    buf_add(&l->text, piece.at, piece.size);
    while (l->text.size > 0 && (end = memchr(l->text.at, '\n', l->text.size))) {
        take_line(l, (struct str){l->text.at, (size_t)(end - l->text.at)});
        buf_consume(&l->text, (size_t)(end - l->text.at) + 1);
    }
}

static enum err_code code_of(int64_t http)
{
    switch (http) {
    case 400:
        return ERR_BAD_REQUEST;
    case 403:
        return ERR_FORBIDDEN;
    case 404:
        return ERR_NOT_FOUND;
    case 409:
        return ERR_CONFLICT;
    case 422:
        return ERR_INVALID;
    case 503:
        return ERR_UNAVAILABLE;
    case 504:
        return ERR_TIMEOUT;
    case 507:
        return ERR_NO_SPACE;
    default:
        return ERR_INTERNAL;
    }
}

struct err *image_lines_result(struct image_lines *l, json_t **ret)
{
    const char *error = json_text(l->last, "error");

    progress_quiet(l->progress);
    if (error)
        return err_new(code_of(json_int(l->last, "code", 500)), "%s", error);
    if (!l->last)
        return err_new(ERR_UNAVAILABLE, "the answer ended too early: try again");
    *ret = TAKE(l->last);
    return NULL;
}

void image_lines_done(struct image_lines *l)
{
    progress_free(l->progress);
    buf_done(&l->text);
    json_decref(l->last);
}

/* ---- requests ---- */

struct question {
    struct session *session;
    struct image_lines lines;
    struct err *failure;
};

static void on_data(void *arg, struct str piece)
{
    struct question *q = arg;

    image_lines_take(&q->lines, piece);
}

static void on_done(void *arg, const struct err *e, const struct client_reply *reply)
{
    struct question *q = arg;

    q->failure = client_error(e, reply);
    session_stop(q->session);
}

struct err *image_ask(struct cli *c, struct session *s, const char *path, const char *what,
                      json_t **ret)
{
    struct question q = {.session = s};
    struct client_request r = {.method = "POST", .path = path, .timeout_ns = -1};
    struct err *e;

    image_lines_init(&q.lines, c, s, what);
    client_stream(session_client(s), &r, on_data, on_done, &q, NULL);
    e = session_run(s);
    if (!e && q.failure)
        e = session_explain(s, TAKE(q.failure));
    if (!e)
        e = image_lines_result(&q.lines, ret);
    err_free(q.failure);
    image_lines_done(&q.lines);
    return e;
}
