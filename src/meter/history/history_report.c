/* history_report.c - the report of the history, and the pods that it names */

#include <assert.h>

#include "base/mem.h"
#include "base/num.h"
#include "meter/meter_private.h"

enum {
    ROWS_DEFAULT = 500
};

/* ---- the name of a pod ---- */

struct pod_search {
    const char *uid;
    char *ns;
    char *name;
};

static void search_on_row(void *arg, const struct account_row *row)
{
    struct pod_search *s = arg;

    if (s->ns || !text_equal(row->uid, s->uid))
        return;
    s->ns = mem_strdup(row->ns);
    s->name = mem_strdup(row->pod);
}

/* A placement has the uids of its pods: only the one that contains the uid is decoded. */
bool meter_find_pod(void *meter, const char *uid, char **ret_ns, char **ret_name)
{
    const struct meter *m = meter;
    const struct store_range range = account_placements();
    struct pod_search search = {.uid = uid};
    struct store_list list = {0};
    AUTO(err_freep) struct err *e = store_list(m->store, &range, NULL, NULL, 0, 0, &list);

    for (size_t i = 0; !e && !search.ns && i < list.n; i++) {
        if (memmem(list.at[i]->bytes.at, list.at[i]->bytes.size, uid, strlen(uid)))
            account_each_open(list.at[i], search_on_row, &search);
    }
    store_list_done(&list);
    if (!search.ns)
        return false;
    *ret_ns = search.ns;
    *ret_name = search.name;
    return true;
}

/* ---- the report ---- */

struct history_report {
    struct report report; /* first */
    struct loop_timer *timer;
    report_done_fn done;
    void *arg;
    json_t *tree;
};

static void history_report_free(struct report *report)
{
    struct history_report *r = (struct history_report *)report;

    loop_timer_free(r->timer);
    json_decref(r->tree);
    free(r);
}

static void history_report_on_timer(void *arg)
{
    struct history_report *r = arg;

    r->done(r->arg, NULL, r->tree);
    history_report_free(&r->report);
}

/* The pod of the question; NULL: there is none that the caller may see. */
static const struct pod_history *find_pod_history(const struct meter *m,
                                                  const struct report_question *q, const char *text)
{
    const char *slash = strchr(text, '/');
    AUTO_FREE char *ns = slash ? mem_strndup(text, (size_t)(slash - text)) : NULL;
    const struct pod_history *p = slash ? use_history_pod_named(&m->history, ns, slash + 1)
                                        : use_history_pod(&m->history, text);

    return p && report_may_show(q->namespaces, p->ns) ? p : NULL;
}

/* The history that the question asks for: its rows, the names of its fields, and who it is of. */
struct history_subject {
    const struct band *band;
    const char *const *fields;
    int64_t from_s; /* default */
};

static struct err *find_subject(const struct meter *m, const struct report_question *q,
                                int64_t now_ns, json_t *tree, struct history_subject *ret)
{
    const char *uuid = question_parameter(q, "uuid");
    const char *pod = question_parameter(q, "pod");
    const struct device_history *d;
    const struct pod_history *p = NULL;
    int64_t from_ns = 0;

    if (!uuid == !pod)
        return err_new(ERR_BAD_REQUEST, "want one of the parameters uuid and pod");
    TRY(question_moment(q, "from", "1h", now_ns, &from_ns));
    if (pod) {
        p = find_pod_history(m, q, pod);
        if (!p)
            return err_new(ERR_NOT_FOUND, "no history of pod \"%.300s\"", pod);
        json_put_text(tree, "namespace", p->ns);
        json_put_text(tree, "pod", p->name);
        json_put_text(tree, "uid", p->uid);
        ret->band = &p->band;
        ret->fields = use_history_pod_fields;
        ret->from_s = band_row(&p->band, 0).at_s;
        return NULL;
    }
    d = use_history_device(&m->history, uuid);
    if (!d)
        return err_new(ERR_NOT_FOUND, "no history of gpu \"%.100s\"", uuid);
    json_put_text(tree, "uuid", d->uuid);
    ret->from_s = from_ns / NS_PER_SEC;
    ret->band = use_history_band(d, ret->from_s);
    ret->fields = use_history_device_fields;
    return NULL;
}

static struct err *read_step(const struct report_question *q, const struct band *b,
                             struct use_history_span *span)
{
    const char *text = question_parameter(q, "step");
    int64_t length_s = span->to_s - span->from_s;
    int64_t step_ns = 0;
    struct err *e;

    span->step_s = length_s / ROWS_DEFAULT + 1;
    if (text) {
        e = num_parse_duration(str_of(text), &step_ns);
        if (e)
            return err_wrap(e, "parameter step");
        span->step_s = step_ns / NS_PER_SEC > 0 ? step_ns / NS_PER_SEC : 1;
    }
    if (span->step_s < b->step_s)
        span->step_s = b->step_s;
    if (length_s / span->step_s >= HISTORY_ROWS_MAX)
        return err_new(ERR_BAD_REQUEST, "parameter step: the answer has at most %d rows",
                       (int)HISTORY_ROWS_MAX);
    return NULL;
}

static struct err *history_tree(const struct meter *m, const struct report_question *q,
                                json_t *tree)
{
    int64_t now_ns = loop_wall_ns(m->o.loop);
    struct history_subject of = {0};
    struct use_history_span span;
    int64_t from_ns = 0;
    int64_t to_ns = 0;

    TRY(find_subject(m, q, now_ns, tree, &of));
    assert(of.band);
    TRY(question_moment(q, "from", "1h", now_ns, &from_ns));
    TRY(question_moment(q, "to", "now", now_ns, &to_ns));
    span = (struct use_history_span){.from_s = question_parameter(q, "from") ? from_ns / NS_PER_SEC
                                                                             : of.from_s,
                                     .to_s = to_ns / NS_PER_SEC + 1};
    if (span.from_s > span.to_s)
        return err_new(ERR_BAD_REQUEST, "parameter from: the period ends before it begins");
    TRY(read_step(q, of.band, &span));
    json_put_int(tree, "fromS", span.from_s);
    json_put_int(tree, "toS", span.to_s);
    json_put_int(tree, "stepS", span.step_s);
    for (size_t f = 0; f < of.band->n_fields; f++)
        (void)json_array_append_new(json_array_at(tree, "fields"),
                                    json_string(of.fields[f])); /* fresh: cannot fail */
    json_put(tree, "rows", use_history_rows(of.band, span));
    return NULL;
}

struct err *meter_history(void *meter, const struct report_question *q, report_done_fn done,
                          void *done_arg, struct report **ret)
{
    static const char *const known[] = {"uuid", "pod", "from", "to", "step", NULL};
    struct meter *m = meter;
    AUTO(json_freep) json_t *tree = json_object();
    struct history_report *r;

    TRY(question_check_known(q, known));
    json_put_text(tree, "kind", "History");
    json_put_text(tree, "apiVersion", "mete.dev/v1");
    TRY(history_tree(m, q, tree));
    r = mem_alloc(sizeof(*r));
    *r = (struct history_report){
        .report = {.free = history_report_free}, .done = done, .arg = done_arg, .tree = TAKE(tree)};
    r->timer = loop_timer_new(m->o.loop, history_report_on_timer, r);
    loop_timer_set(r->timer, 0);
    *ret = &r->report;
    return NULL;
}

const struct use_history *meter_history_of(const struct meter *m)
{
    return &m->history;
}
