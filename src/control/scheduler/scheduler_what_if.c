/* scheduler_what_if.c - the words of a what-if question to the engine, its answer in names */
#include <inttypes.h>

#include "base/arena.h"
#include "base/num.h"
#include "control/scheduler/scheduler_private.h"
#include "kinds/report.h"

enum {
    CHANGES_MAX = 64,
    ADDED_MAX = 1024
};

struct question {
    struct scheduler *s;
    struct arena *a;
    struct mete_change changes[CHANGES_MAX];
    size_t n;
};

static struct err *read_end(struct question *q, const char *key, struct mete_change *ret)
{
    const struct sched_pod *p = scheduler_find_pod(q->s, key);

    if (!p || !p->work)
        return err_new(ERR_NOT_FOUND, "pod %.256s neither waits nor runs", key);
    *ret = (struct mete_change){.kind = METE_CHANGE_END, .workload = p->work->id};
    return NULL;
}

static struct err *read_add(struct question *q, struct str rest, struct mete_change *ret)
{
    struct str number = str_cut(&rest, ':');
    struct mete_node *like = arena_alloc(q->a, sizeof(*like));
    const char *name = arena_format(q->a, STR_FMT, STR_ARG(rest));
    int64_t count = 0;

    TRY(num_parse_int64(number, 1, ADDED_MAX, &count));
    if (!scheduler_describe_node(q->a, q->s, name, like))
        return err_new(ERR_NOT_FOUND, "there is no node %.256s: add:N:NODE means N more like NODE",
                       name);
    *ret = (struct mete_change){.kind = METE_CHANGE_ADD, .like = like, .count = (uint32_t)count};
    return NULL;
}

static struct err *read_change(struct question *q, const char *text, struct mete_change *ret)
{
    struct str rest = str_of(text);
    struct str verb = str_cut(&rest, ':');
    const char *name = arena_format(q->a, STR_FMT, STR_ARG(rest));

    if (str_equal(verb, str_of("end")))
        return read_end(q, name, ret);
    if (str_equal(verb, str_of("add")))
        return read_add(q, rest, ret);
    *ret = (struct mete_change){.kind = METE_CHANGE_DRAIN, .node = name};
    if (str_equal(verb, str_of("drain")))
        return NULL;
    ret->kind = METE_CHANGE_RESUME;
    if (str_equal(verb, str_of("resume")))
        return NULL;
    return err_new(ERR_BAD_REQUEST,
                   "change \"%.256s\": want end:NS/POD, add:N:NODE, drain:NODE or resume:NODE",
                   text);
}

static struct err *read_changes(struct question *q, const json_t *changes)
{
    if (json_array_size(changes) > CHANGES_MAX)
        return err_new(ERR_BAD_REQUEST, "over %d changes", CHANGES_MAX);
    for (size_t i = 0; i < json_array_size(changes); i++) {
        const char *text = json_string_value(json_array_get(changes, i));

        TRY(read_change(q, text ? text : "", &q->changes[q->n]));
        q->n++;
    }
    return NULL;
}

/* Lists the workloads by name. Returns the number of those that may not be named. */
static int64_t list_works(const struct scheduler *s, const uint64_t *ids, size_t n,
                          const json_t *namespaces, json_t *to)
{
    int64_t others = 0;

    for (size_t i = 0; i < n; i++) {
        struct sched_work *w = scheduler_find_work(s, ids[i]);
        json_t *one;

        if (!w || !report_may_show(namespaces, w->ns)) {
            others++;
            continue;
        }
        one = json_object();
        json_put_text(one, "namespace", w->ns);
        json_put_text(one, "name", w->name);
        json_put_int(one, "jobId", w->pods.n > 0 ? w->pods.at[0]->job_id : 0);
        json_put_int(one, "pods", (int64_t)w->pods.n);
        (void)json_array_append_new(to, one); /* a fresh object: cannot fail */
    }
    return others;
}

enum scheduler_start scheduler_could_start(struct scheduler *s, const json_t *pod)
{
    AUTO_FREE char *key = mem_format("%s/%s", json_text_at(pod, "metadata", "namespace", NULL),
                                     json_text_at(pod, "metadata", "name", NULL));
    const struct sched_pod *p = scheduler_find_pod(s, key);
    struct sched_ask ask;
    struct arena *a;
    uint32_t n = 0;
    bool is_known;

    if (s->is_loading || (p && sched_pod_is_placed(p)))
        return SCHEDULER_HAS_PLACED;
    a = arena_new();
    scheduler_ask(s, a, pod, &ask);
    ask.workload.id = METE_ID_UNNAMED;
    is_known = mete_count_starts(s->engine, &ask.workload, 1, loop_wall_ns(s->options.loop), &n) ==
               METE_OK;
    arena_free(a);
    return is_known && n > 0 ? SCHEDULER_CAN_START : SCHEDULER_CANNOT_START;
}

struct err *scheduler_what_if(struct scheduler *s, const json_t *changes, const json_t *namespaces,
                              json_t **ret)
{
    struct question q = {.s = s, .a = arena_new()};
    struct err *e = read_changes(&q, changes);
    struct mete_what_if w = {0};
    json_t *report;

    if (!e && mete_what_if(s->engine, q.changes, q.n, loop_wall_ns(s->options.loop), &w) != METE_OK)
        e = err_new(ERR_NOT_FOUND, "%s", mete_last_error(s->engine));
    arena_free(q.a);
    if (e)
        return e;
    report = json_object();
    json_put_text(report, "apiVersion", "mete.dev/v1");
    json_put_text(report, "kind", "WhatIfReport");
    json_put_int(
        report, "othersStarted",
        list_works(s, w.started, w.n_started, namespaces, json_array_at(report, "started")));
    json_put_int(
        report, "othersMoved",
        list_works(s, w.displaced, w.n_restarted, namespaces, json_array_at(report, "moved")));
    json_put_int(report, "othersEnded",
                 list_works(s, w.displaced + w.n_restarted, w.n_displaced - w.n_restarted,
                            namespaces, json_array_at(report, "ended")));
    *ret = report;
    return NULL;
}
