/*
 * report.c - reports: the namespaces that a caller may read, and answers that come later
 *
 * Callers that ask the same share a report. A caller that comes while a report is being made
 * waits for the next one, with all that come meanwhile: no answer is older than its request, and a
 * thousand clients that poll cost little more than one. An answer is given again while its maker
 * says that another would be the same.
 */

#include "access/authz.h"
#include "api/handlers.h"
#include "api/routes.h"
#include "base/list.h"
#include "base/mem.h"

enum {
    KEPT_MAX = 1 << 20 /* bytes of an answer */
};

struct report_call {
    struct report_call *prev;
    struct report_call *next;
    struct exchange *x;
    struct report_share *share;
};

struct report_share {
    struct report_share *prev;
    struct report_share *next;
    struct core *core;
    char *key; /* equal for equal questions of callers with equal rights */
    const struct report_maker *maker;
    json_t *parameters;
    json_t *namespaces; /* NULL: all */
    char *user;
    bool is_admin;
    uint64_t stamp;        /* at the begin; 0: the answer is not kept */
    struct report *report; /* NULL: waits for the end of an earlier one with this key */
    struct report_call *calls;
};

static void share_free(struct report_share *s)
{
    LIST_REMOVE(*core_report_shares(s->core), s);
    json_decref(s->parameters);
    json_decref(s->namespaces);
    free(s->user);
    free(s->key);
    free(s);
}

static struct report_share *share_find(struct core *core, const char *key, bool is_begun)
{
    struct report_share *s;

    LIST_EACH (*core_report_shares(core), s) {
        if ((s->report != NULL) == is_begun && text_equal(s->key, key))
            return s;
    }
    return NULL;
}

/* ---- answers given again ---- */

static uint64_t stamp_of(const struct report_maker *maker, const struct report_question *q)
{
    return maker->stamp ? maker->stamp(maker->arg, q) : 0;
}

static const char *kept_find(struct core *core, const char *key, uint64_t stamp)
{
    const struct kept_report *all = core_kept_reports(core);

    for (size_t i = 0; i < REPORTS_KEPT && stamp != 0; i++)
        if (all[i].stamp == stamp && text_equal(all[i].key, key))
            return all[i].text;
    return NULL;
}

/* In the place of the key's last answer, or of the oldest: newer ones come first. */
static void kept_put(const struct report_share *s, const char *text)
{
    struct kept_report *all = core_kept_reports(s->core);
    size_t at = 0;

    if (s->stamp == 0 || strlen(text) > KEPT_MAX)
        return;
    while (at < REPORTS_KEPT - 1 && !text_equal(all[at].key, s->key))
        at++;
    free(all[at].key);
    free(all[at].text);
    memmove(&all[1], &all[0], at * sizeof(all[0]));
    all[0] = (struct kept_report){
        .key = mem_strdup(s->key), .text = mem_strdup(text), .stamp = s->stamp};
}

/* ---- shares ---- */

static void share_answer(struct report_share *s, const struct err *e, const json_t *report)
{
    AUTO_FREE char *text = e ? NULL : json_format(report);
    const struct status_about about = {0};
    struct report_call *call;

    if (text)
        kept_put(s, text);
    LIST_EACH (s->calls, call) {
        struct exchange *x = call->x;

        LIST_REMOVE(s->calls, call);
        free(call);
        if (e)
            reply_error(x, e, &about);
        else
            reply_bytes(x, str_of(text));
    }
}

static struct err *share_begin(struct report_share *s);

/* Ends the report, and begins that of the callers who came meanwhile. */
static void share_end(struct report_share *s)
{
    struct core *core = s->core;
    AUTO_FREE char *key = TAKE(s->key);
    struct report_share *next = share_find(core, key, false);
    AUTO(err_freep) struct err *e = NULL;

    share_free(s);
    e = next ? share_begin(next) : NULL;
    if (!e)
        return;
    share_answer(next, e, NULL);
    share_free(next);
}

static void report_on_done(void *arg, const struct err *e, const json_t *report)
{
    struct report_share *s = arg;

    share_answer(s, e, report);
    share_end(s);
}

static struct err *share_begin(struct report_share *s)
{
    const struct report_question q = {.parameters = s->parameters,
                                      .namespaces = s->namespaces,
                                      .user = s->user,
                                      .is_admin = s->is_admin};

    s->stamp = stamp_of(s->maker, &q);
    return s->maker->begin(s->maker->arg, &q, report_on_done, s, &s->report);
}

static void report_on_close(void *arg)
{
    struct report_call *call = arg;
    struct report_share *s = call->share;

    LIST_REMOVE(s->calls, call);
    free(call);
    if (s->calls)
        return;
    if (!s->report) {
        share_free(s);
        return;
    }
    s->maker->cancel(s->report);
    share_end(s);
}

static void share_join(struct report_share *s, struct exchange *x)
{
    struct report_call *call = mem_alloc(sizeof(*call));

    *call = (struct report_call){.x = x, .share = s};
    LIST_ADD(s->calls, call);
    x->arg = call;
    x->on_close = report_on_close;
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

static char *share_key(const struct call *c, const json_t *namespaces)
{
    AUTO_FREE char *seen = namespaces ? json_format(namespaces) : NULL;

    return mem_format("%s\n%s\n%s\n%d\n%s", c->route->path, text_or_empty(c->x->request.query),
                      text_or_empty(c->who.user), c->who.is_admin, text_or_empty(seen));
}

/* Answers with the report of the call's path. Takes the namespaces that the caller may see; NULL:
 * all. */
static struct err *report_answer(struct call *c, json_t *taken)
{
    const struct report_maker *maker = core_report(c->core, c->route->path);
    AUTO(json_freep) json_t *parameters = json_object();
    AUTO(json_freep) json_t *namespaces = taken;
    AUTO_FREE char *key = NULL;
    struct report_question q = {.user = c->who.user, .is_admin = c->who.is_admin};
    const char *kept = NULL;
    struct report_share *s;

    if (!maker)
        return not_found_path();
    TRY(read_parameters(c, parameters));
    key = share_key(c, namespaces);
    q.parameters = parameters;
    q.namespaces = namespaces;
    kept = kept_find(c->core, key, stamp_of(maker, &q));
    if (kept) {
        reply_bytes(c->x, str_of(kept));
        return NULL;
    }
    s = share_find(c->core, key, false);
    if (!s) {
        bool is_first = !share_find(c->core, key, true);
        struct err *e;

        s = mem_alloc(sizeof(*s));
        *s = (struct report_share){.core = c->core,
                                   .maker = maker,
                                   .parameters = TAKE(parameters),
                                   .namespaces = TAKE(namespaces),
                                   .is_admin = c->who.is_admin};
        s->key = TAKE(key);
        s->user = mem_strdup(c->who.user);
        LIST_ADD(*core_report_shares(c->core), s);
        e = is_first ? share_begin(s) : NULL;
        if (e) {
            share_free(s);
            return e;
        }
    }
    share_join(s, c->x);
    return NULL;
}

struct err *handle_report(struct call *c)
{
    json_t *namespaces = NULL;

    TRY(call_find_namespaces(c, &namespaces));
    return report_answer(c, namespaces);
}

/* A page of `mete ps` shows pods and Jobs, to callers that may list both. */
struct err *handle_ps(struct call *c)
{
    static const char *const groups[] = {"batch", ""};
    static const char *const plurals[] = {"jobs", "pods"};
    const char *ns = query_get(&c->query, "namespace");

    for (size_t i = 0; i < COUNT(plurals); i++) {
        const struct access a = {
            .verb = "list", .kind = kind_find(groups[i], plurals[i]), .ns = ns && *ns ? ns : NULL};

        TRY(authz_check(core_store(c->core), &c->who, &a));
    }
    return report_answer(c, NULL);
}
