/* rest_call.c - requests to slurmrestd's paths: questions to the API, answers */

#include "slurm/rest_call.h"

#include "base/mem.h"
#include "base/stamp.h"
#include "kinds/slurm/slurm_rows.h"
#include "slurm/document.h"

enum {
    ANSWER_MAX = 8 << 20,
    TRIES_MAX = 20 /* of a change, while others change the object */
};

void rest_free(struct rest_call *c)
{
    free(c->path);
    free(c->body);
    free(c->bearer);
    vec_done(&c->headers);
    json_decref(c->row);
    json_decref(c->held);
    buf_done(&c->answer);
    index_set_done(&c->indexes);
    slurm_words_done(&c->words);
    sacct_done(&c->sacct);
    arena_free(c->arena);
    free(c);
}

/* ---- answers ---- */

void rest_end(struct rest_call *c, int status, json_t *document)
{
    AUTO_FREE char *text = json_format(document);
    const struct api_reply reply = {.status = status, .body = str_of(text)};
    struct exchange *x = c->x;

    x->on_close = NULL;
    x->arg = NULL;
    json_decref(document);
    rest_free(c);
    x->ops->reply(x, &reply);
}

json_t *rest_document(void)
{
    return slurm_document_new("errors", json_array());
}

void rest_fail(struct rest_call *c, int status, const char *message)
{
    json_t *document = rest_document();

    (void)json_array_append_new(json_array_at(document, "errors"),
                                json_pack("{s:s,s:i,s:s,s:s}", "description", message,
                                          "error_number", status, "error", message, "source",
                                          c->route ? c->route->path : "path"));
    rest_end(c, status, document);
}

struct slurm_view rest_view(const struct rest_call *c)
{
    return (struct slurm_view){.now_s = loop_wall_ns(c->rest->loop) / NS_PER_SEC,
                               .zone = c->rest->zone};
}

/* ---- questions ---- */

/* Goes on with the answer; `c` may be dead after it. */
static void rest_take(struct rest_call *c)
{
    AUTO(buf_done) struct buf text = c->answer;
    AUTO(json_freep) json_t *answer = NULL;
    AUTO(err_freep)
    struct err *e = text.size > 0 ? json_parse((struct str){text.at, text.size}, &answer) : NULL;
    const char *message = json_text(answer, "message");
    bool is_good = c->status / 100 == 2;

    c->answer = (struct buf){0};
    c->is_answered = false;
    if (is_good && answer && !e)
        c->then(c, answer);
    else if (c->status == STATUS_CONFLICT && c->again && ++c->tries < TRIES_MAX)
        c->again(c);
    else
        rest_fail(c, is_good || c->status == 0 ? STATUS_BROKEN : c->status,
                  message ? message : "the server gave no answer");
}

static void rest_on_answer(void *arg, int status, struct str body)
{
    struct rest_call *c = arg;

    c->ask = NULL;
    c->status = status;
    c->answer.cap = ANSWER_MAX;
    buf_add(&c->answer, body.at ? body.at : "", body.size);
    c->is_answered = true;
    if (!c->is_inside)
        rest_take(c);
}

/* Passes the caller's credential on: slurmrestd's header is a bearer token. */
static void rest_add_headers(struct rest_call *c)
{
    static const char *const kept[] = {"user-agent", "x-slurm-user-name"};
    const char *token = request_header(&c->x->request, "x-slurm-user-token");
    const char *bearer = request_header(&c->x->request, "authorization");

    vec_clear(&c->headers);
    free(c->bearer);
    c->bearer = token ? mem_format("Bearer %s", token) : bearer ? mem_strdup(bearer) : NULL;
    if (c->bearer)
        vec_add(&c->headers, (struct http_header){.name = "authorization", .value = c->bearer});
    for (size_t i = 0; i < COUNT(kept); i++) {
        const char *value = request_header(&c->x->request, kept[i]);

        if (value)
            vec_add(&c->headers, (struct http_header){.name = kept[i], .value = value});
    }
}

void rest_ask(struct rest_call *c, const char *method, const char *type, char *path, char *body)
{
    char *query;

    free(c->path);
    free(c->body);
    c->path = path;
    c->body = body;
    query = strchr(path, '?');
    if (query)
        *query++ = '\0';
    rest_add_headers(c);
    if (type)
        vec_add(&c->headers, (struct http_header){.name = "content-type", .value = type});
    c->request = (struct api_request){.method = method,
                                      .path = path,
                                      .query = text_or_empty(query),
                                      .headers = c->headers.at,
                                      .n_headers = c->headers.n,
                                      .body = str_of(body ? body : ""),
                                      .peer = c->x->request.peer};
    c->is_inside = true;
    ask_begin(&c->rest->api, &c->request, rest_on_answer, c, &c->ask);
    c->is_inside = false;
    if (c->is_answered)
        rest_take(c);
}

void rest_ask_rows(struct rest_call *c, const char *what, const char *more, rest_then_fn then)
{
    c->then = then;
    rest_ask(c, "GET", NULL, mem_format(SLURM_REPORT_PATH "?what=%s%s", what, text_or_empty(more)),
             NULL);
}
