/* rest.c - requests to slurmrestd's paths: routes, questions to the API, answers */

#include "slurm/rest.h"

#include <inttypes.h>
#include <strings.h>

#include "base/mem.h"
#include "base/num.h"
#include "base/stamp.h"
#include "base/vec.h"
#include "kinds/slurm/slurm_rows.h"
#include "slurm/cancel.h"
#include "slurm/job_json.h"
#include "slurm/sdiag.h"
#include "slurm/states.h"

enum {
    STATUS_OK = 200,
    STATUS_WRONG = 400,
    STATUS_ABSENT = 404,
    STATUS_METHOD = 405,
    STATUS_REFUSED = 501,
    STATUS_BROKEN = 502,
    ANSWER_MAX = 8 << 20
};

struct rest_call;

struct rest_route {
    const char *method;
    const char *path; /* behind the version; "ID" is a part of any text */
    void (*begin)(struct rest_call *c);
};

/* A request. It ends with its answer, or with its connection. */
struct rest_call {
    const struct slurm_rest *rest;
    struct exchange *x;
    const struct rest_route *route;
    char *id;       /* the part ID of the path; "": none */
    int64_t number; /* the same as the number of a job */
    char *path;     /* of the question under way, as are: */
    char *body;
    char *bearer; /* the header Authorization; NULL: none */
    VEC(struct http_header) headers;
    struct api_request request;
    struct ask *ask;
    int status;        /* of the answer, as is: */
    struct buf answer; /* its body */
    bool is_answered;
    bool is_inside; /* rest_ask is on the stack */
    /* Takes the answer, which is 200 or 201. */
    void (*then)(struct rest_call *c, const json_t *answer);
    json_t *row; /* of the job to cancel */
};

static void rest_free(struct rest_call *c)
{
    free(c->id);
    free(c->path);
    free(c->body);
    free(c->bearer);
    vec_done(&c->headers);
    json_decref(c->row);
    buf_done(&c->answer);
    free(c);
}

/* ---- answers ---- */

static void rest_end(struct rest_call *c, int status, json_t *document)
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

static json_t *rest_document(void)
{
    json_t *document = slurm_document_new("errors", json_array());

    return document;
}

static void rest_fail(struct rest_call *c, int status, const char *message)
{
    json_t *document = rest_document();

    (void)json_array_append_new(json_array_at(document, "errors"),
                                json_pack("{s:s,s:i,s:s,s:s}", "description", message,
                                          "error_number", status, "error", message, "source",
                                          c->route ? c->route->path : "path"));
    rest_end(c, status, document);
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
    const char *agent = request_header(&c->x->request, "user-agent");
    const char *token = request_header(&c->x->request, "x-slurm-user-token");
    const char *bearer = request_header(&c->x->request, "authorization");

    vec_clear(&c->headers);
    free(c->bearer);
    c->bearer = token ? mem_format("Bearer %s", token) : bearer ? mem_strdup(bearer) : NULL;
    if (c->bearer)
        vec_add(&c->headers, (struct http_header){.name = "authorization", .value = c->bearer});
    if (agent)
        vec_add(&c->headers, (struct http_header){.name = "user-agent", .value = agent});
}

/* Asks the API; takes `path` and `body` (NULL: none). */
static void rest_ask(struct rest_call *c, const char *method, const char *type, char *path,
                     char *body)
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

static void rest_ask_rows(struct rest_call *c, const char *what, const char *more,
                          void (*then)(struct rest_call *c, const json_t *answer))
{
    c->then = then;
    rest_ask(c, "GET", NULL, mem_format(SLURM_REPORT_PATH "?what=%s%s", what, text_or_empty(more)),
             NULL);
}

/* ---- jobs ---- */

static int64_t rest_now_s(const struct rest_call *c)
{
    return loop_wall_ns(c->rest->loop) / NS_PER_SEC;
}

static void rest_tell_jobs(struct rest_call *c, const json_t *answer)
{
    const struct slurm_view view = {.now_s = rest_now_s(c), .zone = c->rest->zone};
    const json_t *rows = json_object_get(answer, "jobs");

    if (*c->id && json_array_size(rows) == 0)
        rest_fail(c, STATUS_ABSENT, "Invalid job id specified");
    else
        rest_end(c, STATUS_OK, slurm_jobs_document(rows, &view));
}

static void rest_jobs(struct rest_call *c)
{
    rest_ask_rows(c, "jobs", "&states=all&detail=1", rest_tell_jobs);
}

/* "&ids=ID&states=all"; NULL: the ID is no number, and the call has ended. */
static char *rest_job_query(struct rest_call *c)
{
    AUTO(err_freep)
    struct err *e = num_parse_int64(str_of(c->id), 1, INT64_MAX, &c->number);

    if (!e)
        return mem_format("&states=all&detail=1&ids=%" PRId64, c->number);
    rest_fail(c, STATUS_WRONG, "Invalid job id specified");
    return NULL;
}

static void rest_job(struct rest_call *c)
{
    AUTO_FREE char *query = rest_job_query(c);

    if (query)
        rest_ask_rows(c, "jobs", query, rest_tell_jobs);
}

/* ---- a new job ---- */

static void rest_tell_submitted(struct rest_call *c, const json_t *answer)
{
    json_t *document = rest_document();
    int64_t id = json_int_at(answer, "status", "jobId", NULL);

    json_put_int(document, "job_id", id);
    json_put_text(document, "step_id", "batch");
    json_put_text(document, "job_submit_user_msg", "");
    json_put(document, "result",
             json_pack("{s:I,s:s,s:i,s:s}", "job_id", (json_int_t)id, "step_id", "batch",
                       "error_code", 0, "error", "No error"));
    rest_end(c, STATUS_OK, document);
}

static void rest_submit(struct rest_call *c)
{
    AUTO(json_freep) json_t *body = NULL;
    AUTO(json_freep) json_t *job = NULL;
    AUTO(err_freep) struct err *e = json_parse(c->x->request.body, &body);

    if (!e)
        e = slurm_rest_job(body, rest_now_s(c), c->rest->zone, &job);
    if (e) {
        rest_fail(c, STATUS_WRONG, err_message(e));
        return;
    }
    c->then = rest_tell_submitted;
    rest_ask(c, "POST", "application/json",
             mem_strdup("/apis/mete.dev/v1/namespaces/default/slurmjobs?fieldManager=slurmrestd&"
                        "fieldValidation=Strict"),
             json_format(job));
}

/* ---- the end of a job: its row, its object, and the change ---- */

static void rest_tell_done(struct rest_call *c, const json_t *answer)
{
    (void)answer;
    rest_end(c, STATUS_OK, rest_document());
}

/* The path of the job's object; NULL: a pod of another door. */
static char *rest_object_path(const json_t *row)
{
    const char *object = json_text(row, "object");
    const char *slash = object ? strchr(object, '/') : NULL;

    if (!slash || !json_bool(row, "batch", false))
        return NULL;
    return mem_format("/apis/mete.dev/v1/namespaces/%.*s/slurmjobs/%s", (int)(slash - object),
                      object, slash + 1);
}

static void rest_change(struct rest_call *c, const json_t *answer)
{
    const struct index_set none = {0};
    AUTO_FREE char *elements = slurm_cancel_elements(c->row, c->number, &none);
    AUTO(json_freep) json_t *patch = NULL;
    AUTO(err_freep) struct err *e = slurm_cancel_patch(answer, elements, &patch);

    if (e) {
        rest_fail(c, STATUS_BROKEN, err_message(e));
        return;
    }
    c->then = rest_tell_done;
    rest_ask(c, "PATCH", "application/merge-patch+json", rest_object_path(c->row),
             json_format(patch));
}

static void rest_find(struct rest_call *c, const json_t *answer)
{
    const json_t *row = json_array_get(json_object_get(answer, "jobs"), 0);
    AUTO_FREE char *path = rest_object_path(row);

    if (!row) {
        rest_fail(c, STATUS_ABSENT, "Invalid job id specified");
    } else if (!path) {
        rest_fail(c, STATUS_REFUSED, "jobs of other doors are not cancelled here: mete cancel");
    } else if (!slurm_state_is_live(json_text(row, "state"))) {
        rest_tell_done(c, NULL);
    } else {
        c->row = json_deep_copy(row);
        c->then = rest_change;
        rest_ask(c, "GET", NULL, TAKE(path), NULL);
    }
}

static void rest_cancel(struct rest_call *c)
{
    AUTO_FREE char *query = rest_job_query(c);

    if (query)
        rest_ask_rows(c, "jobs", query, rest_find);
}

/* ---- the cluster ---- */

/* The row of the name in the path alone, or all. New reference. */
static json_t *rest_named(const struct rest_call *c, const json_t *rows)
{
    json_t *chosen = json_array();
    const json_t *row = NULL;
    size_t i = 0;

    json_array_foreach (rows, i, row)
        if (!*c->id || text_equal(json_text(row, "name"), c->id))
            (void)json_array_append(chosen, (json_t *)(uintptr_t)row);
    return chosen;
}

static void rest_tell_rows(struct rest_call *c, const json_t *answer, const char *member,
                           json_t *(*form)(const json_t *rows))
{
    AUTO(json_freep) json_t *rows = rest_named(c, json_object_get(answer, member));
    json_t *document;

    if (*c->id && json_array_size(rows) == 0) {
        rest_fail(c, STATUS_ABSENT, "not found");
        return;
    }
    document = slurm_document_new(member, form(rows));
    json_put(document, "last_update", slurm_number(true, rest_now_s(c)));
    rest_end(c, STATUS_OK, document);
}

static void rest_tell_nodes(struct rest_call *c, const json_t *answer)
{
    rest_tell_rows(c, answer, "nodes", slurm_rest_nodes);
}

static void rest_tell_partitions(struct rest_call *c, const json_t *answer)
{
    rest_tell_rows(c, answer, "partitions", slurm_rest_partitions);
}

static void rest_nodes(struct rest_call *c)
{
    rest_ask_rows(c, "nodes", NULL, rest_tell_nodes);
}

static void rest_partitions(struct rest_call *c)
{
    rest_ask_rows(c, "partitions", NULL, rest_tell_partitions);
}

static void rest_tell_ping(struct rest_call *c, const json_t *answer)
{
    (void)answer;
    rest_end(c, STATUS_OK,
             slurm_document_new("pings", json_pack("[{s:s,s:s,s:s,s:b,s:b,s:i}]", "hostname",
                                                   "mete", "pinged", "UP", "mode", "primary",
                                                   "primary", 1, "responding", 1, "latency", 0)));
}

static void rest_ping(struct rest_call *c)
{
    rest_ask_rows(c, "config", NULL, rest_tell_ping);
}

static void rest_tell_statistics(struct rest_call *c, const json_t *answer)
{
    rest_end(c, STATUS_OK,
             slurm_document_new("statistics", sdiag_statistics(json_object_get(answer, "diag"),
                                                               NULL, rest_now_s(c))));
}

static void rest_diag(struct rest_call *c)
{
    rest_ask_rows(c, "diag", NULL, rest_tell_statistics);
}

/* ---- routes ---- */

static const struct rest_route rest_routes[] = {
    {"GET", "ping", rest_ping},
    {"GET", "diag", rest_diag},
    {"GET", "jobs", rest_jobs},
    {"GET", "job/ID", rest_job},
    {"DELETE", "job/ID", rest_cancel},
    {"POST", "job/submit", rest_submit},
    {"GET", "nodes", rest_nodes},
    {"GET", "node/ID", rest_nodes},
    {"GET", "partitions", rest_partitions},
    {"GET", "partition/ID", rest_partitions},
};

static const char *const rest_versions[] = {"v0.0.42", "v0.0.43", "v0.0.44"};

/* Does the path behind the version fit? `*ret_id` is the part ID. */
static bool rest_fits(struct str path, const char *pattern, struct str *ret_id)
{
    struct str want = str_of(pattern);
    struct str id = {0};

    while (path.at && want.at) {
        struct str part = str_cut(&path, '/');
        struct str form = str_cut(&want, '/');

        if (str_equal(form, STR("ID")) && part.size > 0)
            id = part;
        else if (!str_equal(part, form))
            return false;
    }
    *ret_id = id;
    return !path.at && !want.at;
}

/* The path behind "/slurm/VERSION/"; {0}: another path. */
static struct str rest_below(const char *path)
{
    struct str rest = str_of(path);
    struct str version;

    (void)str_cut(&rest, '/');
    if (!str_equal(str_cut(&rest, '/'), STR("slurm")) || !rest.at)
        return (struct str){0};
    version = str_cut(&rest, '/');
    for (size_t i = 0; i < COUNT(rest_versions); i++)
        if (str_equal(version, str_of(rest_versions[i])))
            return rest;
    return (struct str){0};
}

static void rest_on_close(void *arg)
{
    struct rest_call *c = arg;

    ask_cancel(c->ask);
    rest_free(c);
}

static void rest_refuse(struct rest_call *c, bool is_other_method)
{
    AUTO_FREE char *message =
        mem_format("%s %s is not available yet: docs/slurm.md lists the paths",
                   c->x->request.method, c->x->request.path);

    if (is_other_method)
        rest_fail(c, STATUS_METHOD, message);
    else
        rest_fail(c, STATUS_ABSENT, message);
}

void slurm_rest_handle(void *arg, struct exchange *x)
{
    struct rest_call *c = mem_alloc(sizeof(*c));
    struct str path = rest_below(x->request.path);
    bool is_path = false;
    struct str id = {0};

    *c = (struct rest_call){.rest = arg, .x = x};
    x->on_close = rest_on_close;
    x->arg = c;
    for (size_t i = 0; path.at && i < COUNT(rest_routes); i++) {
        const struct rest_route *r = &rest_routes[i];

        if (!rest_fits(path, r->path, &id))
            continue;
        is_path = true;
        if (!text_equal(r->method, x->request.method))
            continue;
        c->route = r;
        c->id = mem_strndup(id.at ? id.at : "", id.size);
        r->begin(c);
        return;
    }
    c->id = mem_strdup("");
    rest_refuse(c, is_path);
}
