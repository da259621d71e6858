/* metrics.c - the page of metrics, on its own door and as /metrics of the API */

#include "api/metrics.h"

#include "api/handlers.h"
#include "base/mem.h"

enum {
    PAGE_MAX = 256 << 20
};

/* Reads the parameters `families` and `drop`; each is a list with commas. */
static struct err *question_read(const struct query *query, struct metrics_question *q)
{
    const char *families = query_get(query, "families");
    struct str rest = str_of(families ? families : "mete,dcgm");

    while (rest.at) {
        struct str one = str_cut(&rest, ',');

        if (str_equal(one, STR("mete")))
            q->has_mete = true;
        else if (str_equal(one, STR("dcgm")))
            q->has_dcgm = true;
        else if (str_equal(one, STR("dcgm-old")))
            q->has_old = true;
        else
            return err_new(ERR_BAD_REQUEST, "families: \"%.*s\" is not one of mete, dcgm, dcgm-old",
                           (int)(one.size < 64 ? one.size : 64), one.at);
    }
    if (query_get(query, "drop") && !text_equal(query_get(query, "drop"), "user"))
        return err_new(ERR_BAD_REQUEST, "drop: want user");
    q->drops_users = query_get(query, "drop") != NULL;
    return NULL;
}

static struct err *metrics_reply(const struct metrics_maker *maker, const struct query *query,
                                 struct exchange *x)
{
    struct metrics_question q = {.is_open =
                                     exposition_wants_open(request_header(&x->request, "accept"))};
    AUTO(buf_done) struct buf page = {.cap = PAGE_MAX};
    struct api_reply r = {.status = 200,
                          .content_type = q.is_open ? EXPOSITION_OPEN_TYPE : EXPOSITION_PLAIN_TYPE};

    TRY(question_read(query, &q));
    maker->make(maker->arg, &q, &page);
    if (page.overflow)
        return err_new(ERR_INTERNAL, "the page of metrics is larger than %d bytes", (int)PAGE_MAX);
    r.body = (struct str){.at = page.at ? page.at : "", .size = page.size};
    x->ops->reply(x, &r);
    return NULL;
}

struct err *handle_metrics(struct call *c)
{
    const struct metrics_maker *maker = core_metrics(c->core);
    AUTO(json_freep) json_t *namespaces = NULL;

    if (!maker)
        return not_found_path();
    TRY(call_find_namespaces(c, &namespaces));
    if (namespaces)
        return err_new(ERR_FORBIDDEN,
                       "User \"%s\" cannot get path \"/metrics\": it shows all namespaces",
                       c->who.user);
    return metrics_reply(maker, &c->query, c->x);
}

/* ---- the door without callers ---- */

static struct err *door_answer(const struct metrics_maker *maker, struct arena *a,
                               struct exchange *x)
{
    struct query *query = arena_alloc(a, sizeof(*query));

    if (!text_equal(x->request.path, "/metrics"))
        return err_new(ERR_NOT_FOUND, "want /metrics");
    if (!text_equal(x->request.method, "GET"))
        return err_new(ERR_BAD_REQUEST, "want GET");
    TRY(query_parse(a, x->request.query, query));
    return metrics_reply(maker, query, x);
}

void metrics_handle(void *arg, struct exchange *x)
{
    const struct status_about about = {0};
    struct arena *a = arena_new();
    AUTO(err_freep) struct err *e = door_answer(arg, a, x);

    if (e)
        reply_error(x, e, &about);
    arena_free(a);
}
