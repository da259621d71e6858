/* page_views.c - the data of a view is asked for, all at once, and then written as HTML */

#include "page/page_views.h"

#include "base/mem.h"
#include "client/client.h"
#include "page/assets.h"
#include "page/html.h"
#include "page/jobs_report.h"

enum {
    ANSWERS_MAX = 3
};

enum view_kind {
    VIEW_NOW,
    VIEW_JOBS,
    VIEW_JOB,
    VIEW_SCRIPT
};

struct view;

struct view_answer {
    struct view *view;
    struct forward_get *get; /* NULL: not asked, or answered */
    int status;              /* 0: not answered */
    struct buf body;
};

struct view {
    struct exchange *x;
    enum view_kind kind;
    char *user;
    char *here;  /* of the navigation */
    char *query; /* of the view */
    struct view_answer answers[ANSWERS_MAX];
    size_t n_asked;
    size_t n_waiting;
};

static void view_free(struct view *v)
{
    for (size_t i = 0; i < ANSWERS_MAX; i++) {
        forward_cancel(v->answers[i].get);
        buf_done(&v->answers[i].body);
    }
    free(v->user);
    free(v->here);
    free(v->query);
    free(v);
}

/* ---- the answer ---- */

/* NULL: the answer is no success. New reference. */
static json_t *answer_tree(const struct view_answer *a)
{
    AUTO(err_freep) struct err *e = NULL;
    json_t *tree = NULL;

    if (a->status == 200)
        e = json_parse((struct str){.at = a->body.at, .size = a->body.size}, &tree);
    return tree;
}

/* What the API said about its refusal. */
static void add_refusal(struct buf *b, const struct view_answer *a)
{
    AUTO(json_freep) json_t *status = NULL;
    AUTO(err_freep)
    struct err *e =
        json_parse((struct str){.at = text_or_empty(a->body.at), .size = a->body.size}, &status);

    buf_add_text(b, "<p role=\"alert\" class=\"problem\">");
    html_text(b, e ? "The server gave no answer" : json_text(status, "message"));
    buf_add_text(b, "</p>");
}

/* "state=waiting&offset=50" as an object of texts; escapes stay. New reference. */
static json_t *query_tree(const char *query)
{
    struct str rest = str_of(query);
    json_t *tree = json_object();

    while (rest.at && rest.size > 0) {
        struct str value = str_cut(&rest, '&');
        struct str key = str_cut(&value, '=');
        AUTO_FREE char *name = mem_strndup(key.at, key.size);
        AUTO_FREE char *text = mem_strndup(value.at ? value.at : "", value.size);

        json_put_text(tree, name, text);
    }
    return tree;
}

static void add_content(const struct view *v, struct buf *b)
{
    AUTO(json_freep) json_t *first = answer_tree(&v->answers[0]);
    AUTO(json_freep) json_t *second = answer_tree(&v->answers[1]);
    const struct view_answer *log = &v->answers[2];
    AUTO(json_freep) json_t *query = NULL;

    if (v->kind == VIEW_SCRIPT) {
        buf_add_text(b, "<noscript><p>This view needs JavaScript. Now, Jobs and each job can be "
                        "read without.</p></noscript>");
        return;
    }
    if (!first) {
        add_refusal(b, &v->answers[0]);
        return;
    }
    switch (v->kind) {
    case VIEW_NOW:
        html_now(b, second, first);
        break;
    case VIEW_JOBS:
        query = query_tree(v->query);
        html_jobs(b, first, query);
        break;
    case VIEW_JOB:
        html_job(b, first, second,
                 log->status == 200 ? (struct str){.at = log->body.at, .size = log->body.size}
                                    : (struct str){0});
        break;
    case VIEW_SCRIPT:
        break;
    }
}

static void view_reply(struct view *v)
{
    static const char *const titles[] = {
        [VIEW_NOW] = "Now", [VIEW_JOBS] = "Jobs", [VIEW_JOB] = "Job", [VIEW_SCRIPT] = "Mete"};
    const struct html_page page = {
        .title = titles[v->kind], .user = v->user, .here = v->here, .script = asset_app};
    AUTO(buf_done) struct buf b = {0};
    struct exchange *x = v->x;
    int status = v->n_asked > 0 ? v->answers[0].status : 200;
    struct api_reply r = {.status = status,
                          .content_type = "text/html; charset=utf-8",
                          .cache = "no-store",
                          .headers = PAGE_SECURITY};

    html_begin(&b, &page);
    add_content(v, &b);
    html_end(&b);
    r.body = (struct str){.at = b.at, .size = b.size};
    x->on_close = NULL;
    view_free(v);
    x->ops->reply(x, &r);
}

/* ---- the questions ---- */

static void view_on_answer(void *arg, int status, struct str body)
{
    struct view_answer *a = arg;
    struct view *v = a->view;

    a->get = NULL;
    a->status = status;
    buf_add(&a->body, body.at, body.size);
    v->n_waiting--;
    if (v->n_waiting == 0)
        view_reply(v);
}

static void view_ask(struct view *v, const struct forward_target *api, const struct credential *who,
                     const char *path, const char *query)
{
    struct view_answer *a = &v->answers[v->n_asked++];
    const struct forward_question q = {
        .from = &v->x->request, .path = path, .query = query, .done = view_on_answer, .arg = a};
    struct forward_get *get = NULL;

    a->view = v;
    v->n_waiting++;
    forward_get(api, who, &q, &get);
    if (get)
        a->get = get;
}

/* A word of a path that needs no escapes, as names of objects are. */
static bool is_name(struct str s)
{
    for (size_t i = 0; i < s.size; i++)
        if (!strchr("abcdefghijklmnopqrstuvwxyz0123456789.-", s.at[i]))
            return false;
    return s.size > 0;
}

/* "/jobs/pod/NS/NAME" */
static bool job_path_cut(const char *path, bool *ret_is_batch, struct str *ret_ns,
                         struct str *ret_name)
{
    struct str rest = str_of(path + strlen("/jobs/"));
    struct str object = str_cut(&rest, '/');

    *ret_is_batch = str_equal(object, STR("job"));
    *ret_ns = str_cut(&rest, '/');
    *ret_name = rest;
    return (*ret_is_batch || str_equal(object, STR("pod"))) && rest.at && is_name(*ret_ns) &&
           is_name(*ret_name);
}

static void ask_job(struct view *v, const struct forward_target *api, const struct credential *who)
{
    bool is_batch = false;
    struct str ns;
    struct str name;
    AUTO_FREE char *object = NULL;
    AUTO_FREE char *workload = NULL;
    AUTO_FREE char *log = NULL;

    if (!job_path_cut(v->x->request.path, &is_batch, &ns, &name)) {
        v->kind = VIEW_SCRIPT;
        return;
    }
    object =
        mem_format("%s/namespaces/" STR_FMT "/%s/" STR_FMT, is_batch ? "/apis/batch/v1" : "/api/v1",
                   STR_ARG(ns), is_batch ? "jobs" : "pods", STR_ARG(name));
    view_ask(v, api, who, object, "");
    if (is_batch)
        return;
    workload = mem_format("/apis/mete.dev/v1/namespaces/" STR_FMT "/workloads/" STR_FMT,
                          STR_ARG(ns), STR_ARG(name));
    log = mem_format("%s/log", object);
    view_ask(v, api, who, workload, "");
    view_ask(v, api, who, log, "tailLines=200&limitBytes=65536");
}

static void view_begin(struct view *v, const struct forward_target *api,
                       const struct credential *who)
{
    const char *path = v->x->request.path;

    v->kind = VIEW_SCRIPT;
    if (text_equal(path, "/")) {
        v->kind = VIEW_NOW;
        view_ask(v, api, who, JOBS_REPORT_PATH, "state=waiting,starting,running&limit=20");
        view_ask(v, api, who, "/apis/mete.dev/v1/free", "");
    } else if (text_equal(path, "/jobs")) {
        v->kind = VIEW_JOBS;
        view_ask(v, api, who, JOBS_REPORT_PATH, v->query);
    } else if (text_starts_with(path, "/jobs/")) {
        v->kind = VIEW_JOB;
        ask_job(v, api, who);
    }
}

static void view_on_close(void *arg)
{
    view_free(arg);
}

void page_view(const struct forward_target *api, const struct credential *who, struct exchange *x)
{
    struct view *v = mem_alloc(sizeof(*v));

    v->x = x;
    v->user = mem_strdup(who->user);
    v->here = mem_strdup(text_starts_with(x->request.path, "/jobs") ? "/jobs" : x->request.path);
    v->query = mem_strdup(x->request.query);
    v->n_waiting = 1; /* until all questions are asked */
    x->arg = v;
    x->on_close = view_on_close;
    view_begin(v, api, who);
    v->n_waiting--;
    if (v->n_waiting == 0)
        view_reply(v);
}
