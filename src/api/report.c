/* report.c - reports: the namespaces that a caller may read, and answers that come later */

#include "api/handlers.h"
#include "api/routes.h"
#include "base/mem.h"

struct report_call {
    struct exchange *x;
    const struct report_maker *maker;
    struct report *report;
};

static void report_on_done(void *arg, const struct err *e, const json_t *report)
{
    struct report_call *r = arg;
    const struct status_about about = {0};

    if (e)
        reply_error(r->x, e, &about);
    else
        reply_json(r->x, 200, report, NULL);
    free(r);
}

static void on_close(void *arg)
{
    struct report_call *r = arg;

    r->maker->cancel(r->report);
    free(r);
}

struct err *call_find_namespaces(const struct call *c, json_t **ret)
{
    AUTO(json_freep) json_t *list = NULL;

    if (c->who.is_admin)
        return NULL;
    list = json_array();
    for (size_t i = 0; i < c->who.n_grants; i++) {
        if (text_equal(c->who.grants[i].ns, "*"))
            return NULL;
        (void)json_array_append_new(list, json_string(c->who.grants[i].ns)); /* names are ASCII */
    }
    if (c->who.node || json_array_size(list) == 0)
        return err_new(ERR_FORBIDDEN, "User \"%s\" cannot get path \"%s\"", c->who.user,
                       c->x->request.path);
    *ret = TAKE(list);
    return NULL;
}

static struct err *read_parameters(const struct call *c, json_t *parameters)
{
    for (size_t i = 0; i < c->query.n; i++) {
        const char *key = c->query.pairs[i].key;

        if (text_equal(key, "timeout")) /* deadline.c */
            continue;
        if (json_object_get(parameters, key))
            return err_new(ERR_BAD_REQUEST, "parameter %.64s is given twice", key);
        json_put_text(parameters, key, c->query.pairs[i].value);
    }
    return NULL;
}

struct err *handle_report(struct call *c)
{
    const struct report_maker *maker = core_report(c->core, c->route->path);
    AUTO(json_freep) json_t *parameters = json_object();
    AUTO(json_freep) json_t *namespaces = NULL;
    struct report_question q = {
        .parameters = parameters, .user = c->who.user, .is_admin = c->who.is_admin};
    struct report_call *r;
    struct err *e;

    if (!maker)
        return not_found_path();
    TRY(call_find_namespaces(c, &namespaces));
    TRY(read_parameters(c, parameters));
    q.namespaces = namespaces;
    r = mem_alloc(sizeof(*r));
    *r = (struct report_call){.x = c->x, .maker = maker};
    e = maker->begin(maker->arg, &q, report_on_done, r, &r->report);
    if (e) {
        free(r);
        return e;
    }
    c->x->arg = r;
    c->x->on_close = on_close;
    return NULL;
}
