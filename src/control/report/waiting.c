/* waiting.c - the report of a queue in the order of the scheduler */

#include "control/report/waiting.h"

#include "base/mem.h"
#include "base/num.h"
#include "base/stamp.h"
#include "control/scheduler/scheduler_private.h"

enum {
    WAITING_DEFAULT = 50,
    WAITING_MAX = 200,
    WAITING_OFFSET_MAX = 100000000
};

struct report {
    struct loop_timer *timer;
    report_done_fn done;
    void *arg;
    json_t *tree;
};

static struct err *waiting_number(const struct report_question *q, const char *key,
                                  int64_t fallback, int64_t max, int64_t *ret)
{
    const char *text = json_text_filled(q->parameters, key);
    struct err *e;

    *ret = fallback;
    e = text ? num_parse_int64(str_of(text), 0, max, ret) : NULL;
    return e ? err_wrap(e, "parameter %s", key) : NULL;
}

/* Adds the queues to the answer. Returns the number of workloads that wait in `*queue`; "": chooses
 * the queue with the most. */
static int64_t add_queues(struct mete_engine *e, json_t *o, char **queue)
{
    json_t *list = json_array_at(o, "queues");
    bool is_chosen = **queue != '\0';
    int64_t most = -1;

    for (size_t i = 0; i < mete_queue_count(e); i++) {
        struct mete_queue_view v;
        bool is_this;
        json_t *one;

        if (mete_queue_view(e, i, &v) != METE_OK || text_equal(v.name, "root"))
            continue;
        is_this = is_chosen ? text_equal(v.name, *queue) : (int64_t)v.waiting > most;
        if (is_this) {
            most = v.waiting;
            free(*queue);
            *queue = mem_strdup(v.name);
        }
        one = json_object();
        json_put_text(one, "name", v.name);
        json_put_int(one, "waiting", v.waiting);
        json_put_int(one, "running", v.running);
        (void)json_array_append_new(list, one); /* a fresh object: cannot fail */
    }
    return most > 0 ? most : 0;
}

static void put_moment(json_t *o, const char *key, int64_t ns)
{
    char text[STAMP_TEXT_SIZE];

    stamp_format(ns, text);
    json_put(o, key, ns > 0 ? json_string(text) : json_null());
}

static void put_reason(struct views *v, const struct sched_pod *p, json_t *o)
{
    struct mete_reason r;
    bool is_known = scheduler_why(v->scheduler, p->key, p->uid, true, &r);

    json_put(o, "code", is_known ? json_text_new(r.code_text) : json_null());
    json_put(o, "class", is_known ? json_text_new(r.class_text) : json_null());
    json_put(o, "reason", is_known ? json_text_new(r.message) : json_null());
}

/* A gang is one workload: its first pod stands for it. */
static json_t *waiting_tree(struct views *v, const struct report_question *q,
                            const struct sched_work *work, int64_t place)
{
    const struct sched_pod *p = work->pods.at[0];
    bool is_shown = report_may_show(q->namespaces, p->ns);
    json_t *o = json_object();
    int64_t gpus = 0;

    for (size_t i = 0; i < work->pods.n; i++)
        gpus += work->pods.at[i]->gpus;
    json_put_int(o, "place", place);
    json_put(o, "id", is_shown && p->job_id > 0 ? json_integer(p->job_id) : json_null());
    json_put(o, "namespace", is_shown ? json_text_new(p->ns) : json_null());
    json_put(o, "name", is_shown ? json_text_new(p->name) : json_null());
    json_put(o, "user", is_shown ? json_text_new(p->user) : json_null());
    json_put_int(o, "pods", (int64_t)work->pods.n);
    json_put_int(o, "gpus", gpus);
    put_moment(o, "submittedAt", p->submit_ns);
    put_reason(v, p, o);
    return o;
}

static struct err *waiting_make(struct views *v, const struct report_question *q, json_t *o)
{
    struct mete_engine *e = scheduler_engine(v->scheduler);
    AUTO_FREE char *queue = mem_strdup(text_or_empty(json_text(q->parameters, "queue")));
    uint64_t ids[WAITING_MAX];
    int64_t offset = 0;
    int64_t limit = 0;
    int64_t total;
    json_t *items;
    size_t n;

    TRY(waiting_number(q, "offset", 0, WAITING_OFFSET_MAX, &offset));
    TRY(waiting_number(q, "limit", WAITING_DEFAULT, WAITING_MAX, &limit));
    json_put_text(o, "apiVersion", "mete.dev/v1");
    json_put_text(o, "kind", "WaitingList");
    total = add_queues(e, o, &queue);
    json_put_text(o, "queue", queue);
    json_put_int(o, "total", total);
    json_put_int(o, "offset", offset);
    items = json_array_at(o, "items");
    n = mete_queue_waiting(e, queue, (size_t)offset, ids, (size_t)limit);
    for (size_t i = 0; i < n; i++) {
        const struct sched_work *work = scheduler_find_work(v->scheduler, ids[i]);

        if (work && work->pods.n > 0)
            (void)json_array_append_new(items, waiting_tree(v, q, work, offset + 1 + (int64_t)i));
    }
    return NULL;
}

void waiting_cancel(struct report *r)
{
    loop_timer_free(r->timer);
    json_decref(r->tree);
    free(r);
}

static void waiting_on_time(void *arg)
{
    struct report *r = arg;

    r->done(r->arg, NULL, r->tree);
    waiting_cancel(r);
}

struct err *waiting_begin(struct views *v, const struct report_question *q, report_done_fn done,
                          void *done_arg, struct report **ret)
{
    AUTO(json_freep) json_t *tree = json_object();
    struct report *r;

    TRY(scheduler_check_loaded(v->scheduler));
    TRY(waiting_make(v, q, tree));
    r = mem_alloc(sizeof(*r));
    *r = (struct report){.done = done, .arg = done_arg, .tree = TAKE(tree)};
    r->timer = loop_timer_new(v->loop, waiting_on_time, r);
    loop_timer_set(r->timer, 0);
    *ret = r;
    return NULL;
}
