/* advice_report.c - the report of what jobs could do without, with the evidence and the money */

#include "base/num.h"
#include "kinds/pod/pod_asks.h"
#include "kinds/pod/pod_state.h"
#include "meter/usage_private.h"

enum {
    NODES_A_TURN = 16,
    CPU_SPARE_MILLI = 1000 /* less is not worth a word */
};

static const int64_t LEAST_NS = 600 * NS_PER_SEC;
static const int64_t MEMORY_SPARE_BYTES = INT64_C(1) << 30;

/* ---- facts ---- */

static void facts_take_asks(const struct usage_report *r, struct job_facts *f,
                            const struct account_row *row, const struct share *s)
{
    int64_t cpu_milli = row->cpu_asked_milli;
    int64_t memory_bytes = row->memory_asked_bytes;

    if (!row->cause) { /* a running attempt has no row yet: its pod tells */
        AUTO(json_freep) json_t *pod = meter_pod_of(r->meter, row);
        const struct pod_asks asks = pod ? pod_asks(pod) : (struct pod_asks){0};

        cpu_milli = asks.cpu_milli;
        memory_bytes = asks.memory_bytes;
    }
    if (cpu_milli > 0 && s->used.cpu_ns >= 0) {
        f->cpu_milli = cpu_milli > f->cpu_milli ? cpu_milli : f->cpu_milli;
        f->cpu_ns = saturated(f->cpu_ns, s->used.cpu_ns);
        f->cpu_wall_ns = saturated(f->cpu_wall_ns, s->ns);
    }
    if (memory_bytes > 0 && s->used.memory_peak_bytes >= 0) {
        f->memory_bytes = memory_bytes > f->memory_bytes ? memory_bytes : f->memory_bytes;
        f->memory_wall_ns = saturated(f->memory_wall_ns, s->ns);
        if (s->used.memory_peak_bytes > f->memory_peak_bytes)
            f->memory_peak_bytes = s->used.memory_peak_bytes;
    }
}

/* What the attempt held. False: devices of several kinds or models, or replicas. */
static bool need_of(const struct account_row *row, struct advice_need *ret)
{
    struct advice_need n = {.n_gpus = (int64_t)json_array_size(row->gpus)};
    const json_t *gpu;
    size_t i;

    json_array_foreach (row->gpus, i, gpu) {
        const char *text = json_text(gpu, "device");
        const char *model = json_text(gpu, "model");
        struct device d = {.kind = DEVICE_WHOLE};
        AUTO(err_freep) struct err *e = text ? device_parse(text, &d) : NULL;

        if (e || !model || d.kind == DEVICE_REPLICA ||
            (i > 0 && (d.kind != n.kind || !text_equal(model, n.model))))
            return false;
        n.kind = d.kind;
        n.model = model;
        n.held_milli += account_gpu_milli(gpu);
    }
    *ret = n;
    return n.n_gpus > 0;
}

/* The name of the model outlives the row in the report's sizes: a model that no node has gets no
 * advice. */
static const char *model_kept(const struct usage_report *r, const char *model)
{
    VEC_EACH (&r->sizes.all, size) {
        if (text_equal(size->model, model))
            return size->model;
    }
    return NULL;
}

static void facts_take_gpus(const struct usage_report *r, struct job_facts *f,
                            const struct account_row *row, const struct share *s)
{
    struct advice_need need = {0};
    int64_t held_ns;
    int64_t known_ns;

    if (s->ns == 0 || json_array_size(row->gpus) == 0)
        return;
    if (!need_of(row, &need) || !(need.model = model_kept(r, need.model)) ||
        (f->held_ns > 0 &&
         (f->need.model != need.model || f->need.kind != need.kind ||
          f->need.n_gpus != need.n_gpus || f->need.held_milli != need.held_milli))) {
        f->is_mixed = true;
        return;
    }
    need.memory_bytes = f->need.memory_bytes;
    f->need = need;
    held_ns = gpu_times_begin(row, s, r->q.period, r->now_ns).total_ns;
    f->held_ns = saturated(f->held_ns, held_ns);
    if (s->used.gpu_busy_ns < 0 || s->used.gpu_idle_ns < 0)
        return;
    known_ns = saturated(s->used.gpu_busy_ns, s->used.gpu_idle_ns);
    f->known_ns = saturated(f->known_ns, known_ns);
    f->busy_ns = saturated(f->busy_ns, s->used.gpu_busy_ns);
    if (s->used.gpu_memory_peak_bytes < 0)
        f->is_mixed = f->is_mixed || known_ns > 0;
    else if (s->used.gpu_memory_peak_bytes > f->need.memory_bytes)
        f->need.memory_bytes = s->used.gpu_memory_peak_bytes;
}

static void facts_take_idle(const struct usage_report *r, struct job_facts *f,
                            const struct account_row *row)
{
    int64_t idle_for_ns = r->is_waiting ? row->wait_ns : meter_idle_for_ns(r->meter, row);
    int64_t milli = 0;
    const json_t *gpu;
    size_t i;

    if (idle_for_ns < r->least_ns || json_array_size(row->gpus) == 0)
        return;
    json_array_foreach (row->gpus, i, gpu)
        milli += account_gpu_milli(gpu);
    f->now_milli += milli;
    f->idle_ns = saturated(f->idle_ns, (int64_t)((__int128)idle_for_ns * milli / 1000));
    if (idle_for_ns > f->idle_for_ns)
        f->idle_for_ns = idle_for_ns;
}

void facts_take(const struct usage_report *r, struct job_facts *f, const struct account_row *row,
                const struct share *s)
{
    facts_take_gpus(r, f, row, s);
    facts_take_asks(r, f, row, s);
    if (!row->cause)
        facts_take_idle(r, f, row);
}

/* ---- sizes ---- */

static void take_node(struct usage_report *r, const struct store_object *o)
{
    AUTO(json_freep) json_t *node = NULL;
    AUTO(json_freep) json_t *gpus = NULL;
    AUTO(err_freep) struct err *e = json_parse(o->bytes, &node);
    const char *text = json_text_at(node, "metadata", "annotations", NODE_GPUS, NULL);
    const json_t *gpu;
    size_t i;

    if (!e && text)
        e = json_parse(str_of(text), &gpus);
    if (e)
        return;
    json_array_foreach (gpus, i, gpu)
        advice_sizes_add(&r->sizes, gpu);
}

bool usage_step_nodes(struct usage_report *r)
{
    if (r->next_node >= r->nodes.n)
        return false;
    for (size_t i = 0; i < NODES_A_TURN && r->next_node < r->nodes.n; i++)
        take_node(r, r->nodes.at[r->next_node++]);
    return true;
}

/* ---- the answer ---- */

static json_t *advice_item(const struct group *g, const char *kind)
{
    static const enum by words[] = {BY_USER, BY_NAMESPACE, BY_QUEUE, BY_JOB};
    json_t *o = json_object();

    json_put_text(o, "kind", kind);
    for (size_t i = 0; i < COUNT(words); i++)
        json_put(o, by_names[words[i]], json_text_new(g->texts[words[i]]));
    json_put_text(o, "jobName", g->job_name);
    json_put_int(o, "attempts", g->n_attempts);
    json_put_int(o, "running", g->n_running);
    return o;
}

static void put_ns(json_t *o, const char *key, int64_t ns)
{
    struct amount a = {0};

    amount_add(&a, ns);
    json_put(o, key, amount_tree(a));
}

static void put_saved(const struct usage_report *r, json_t *o, const char *model, int64_t ns)
{
    put_ns(o, "savedGpuTime", ns);
    json_put(o, "savedCostMicro",
             r->prices ? json_integer(prices_gpu(r->prices, model, ns)) : json_null());
}

static void put_need(json_t *o, const struct job_facts *f, int64_t used_milli)
{
    json_put_text(o, "model", f->need.model);
    json_put_int(o, "heldMilli", f->need.held_milli);
    json_put_int(o, "usedMilli", used_milli);
    json_put_int(o, "gpuMemoryPeakBytes", f->need.memory_bytes);
    put_ns(o, "gpuTime", f->held_ns);
    put_ns(o, "gpuKnownTime", f->known_ns);
}

static int64_t used_milli(const struct job_facts *f)
{
    return f->known_ns > 0 ? (int64_t)((__int128)f->busy_ns * f->need.held_milli / f->known_ns) : 0;
}

/* Running attempts that leave their gpus idle. */
static void advise_idle(const struct usage_report *r, const struct group *g, json_t *list)
{
    const struct job_facts *f = &g->facts;
    AUTO_FREE char *command = mem_format("mete cancel %s", g->texts[BY_JOB]);
    json_t *o;

    if (f->now_milli == 0)
        return;
    o = advice_item(g, "idle");
    json_put_int(o, "heldMilli", f->now_milli);
    json_put_text(o, "model", f->need.model);
    put_ns(o, "idleFor", f->idle_for_ns);
    json_put_text(o, "suggestion", command);
    put_saved(r, o, f->need.model, f->idle_ns);
    (void)json_array_append_new(list, o); /* a fresh object: cannot fail */
}

/* A smaller size. Nothing is said about a job that does nothing at all now: see advise_idle. */
static void advise_size(const struct usage_report *r, const struct group *g, json_t *list)
{
    const struct job_facts *f = &g->facts;
    struct advice_need need = f->need;
    struct advice a = {0};
    AUTO_FREE char *flag = NULL;
    int64_t kept_ns;
    json_t *o;

    need.used_milli = used_milli(f);
    if (f->is_mixed || f->now_milli > 0 || need.held_milli == 0 || f->known_ns < f->held_ns / 2 ||
        (__int128)f->known_ns * 1000 < (__int128)r->least_ns * need.held_milli ||
        !advice_find(&r->sizes, &need, r->prices, &a))
        return;
    o = advice_item(g, advice_kind_text(a.kind));
    put_need(o, f, need.used_milli);
    flag = mem_format("--gpus %s", a.ask);
    json_put_text(o, "suggestion", flag);
    kept_ns = (int64_t)((__int128)f->held_ns * a.cost_milli / need.held_milli);
    put_saved(r, o, need.model, f->held_ns - kept_ns);
    if (a.kind == ADVICE_MODEL) { /* as many gpu hours, at a lower price */
        put_ns(o, "savedGpuTime", 0);
        json_put_text(o, "note", "the compute of models is not compared");
    }
    (void)json_array_append_new(list, o); /* as above */
}

static void advise_cpu(const struct usage_report *r, const struct group *g, json_t *list)
{
    const struct job_facts *f = &g->facts;
    int64_t used = f->cpu_wall_ns > 0 ? (int64_t)((__int128)f->cpu_ns * 1000 / f->cpu_wall_ns) : 0;
    int64_t enough = (used + used / 2 + 999) / 1000; /* cores */
    AUTO_FREE char *flag = NULL;
    json_t *o;

    enough = enough < 1 ? 1 : enough;
    if (f->cpu_wall_ns < r->least_ns || f->cpu_milli < 2 * used ||
        f->cpu_milli - enough * 1000 < CPU_SPARE_MILLI)
        return;
    o = advice_item(g, "cpu");
    json_put_int(o, "cpuAskedMilli", f->cpu_milli);
    json_put_int(o, "cpuUsedMilli", used);
    flag = mem_format("--cpu %lld", (long long)enough);
    json_put_text(o, "suggestion", flag);
    json_put(o, "savedGpuTime", json_null());
    json_put(o, "savedCostMicro", json_null());
    (void)json_array_append_new(list, o); /* as above */
}

static void advise_memory(const struct usage_report *r, const struct group *g, json_t *list)
{
    const struct job_facts *f = &g->facts;
    const int64_t gib = INT64_C(1) << 30;
    int64_t enough = (f->memory_peak_bytes + f->memory_peak_bytes / 5 + gib - 1) / gib;
    AUTO_FREE char *flag = NULL;
    json_t *o;

    enough = enough < 1 ? 1 : enough;
    if (f->memory_wall_ns < r->least_ns || f->memory_bytes / 2 < f->memory_peak_bytes ||
        f->memory_bytes - enough * gib < MEMORY_SPARE_BYTES)
        return;
    o = advice_item(g, "memory");
    json_put_int(o, "memoryAskedBytes", f->memory_bytes);
    json_put_int(o, "memoryPeakBytes", f->memory_peak_bytes);
    flag = mem_format("--memory %lldGi", (long long)enough);
    json_put_text(o, "suggestion", flag);
    json_put(o, "savedGpuTime", json_null());
    json_put(o, "savedCostMicro", json_null());
    (void)json_array_append_new(list, o); /* as above */
}

/* The most money first, then the most gpu time, then by job. */
static int compare_advice(const void *a, const void *b)
{
    const json_t *one = *(const json_t *const *)a;
    const json_t *other = *(const json_t *const *)b;
    int64_t costs[2] = {json_int(one, "savedCostMicro", -1), json_int(other, "savedCostMicro", -1)};
    int64_t times[2] = {json_int_at(one, "savedGpuTime", "seconds", NULL),
                        json_int_at(other, "savedGpuTime", "seconds", NULL)};
    int order;

    if (costs[0] != costs[1])
        return costs[0] > costs[1] ? -1 : 1;
    if (times[0] != times[1])
        return times[0] > times[1] ? -1 : 1;
    order = strcmp(json_text(one, "jobName"), json_text(other, "jobName"));
    return order != 0 ? order
                      : strcmp(json_text(one, "suggestion"), json_text(other, "suggestion"));
}

static json_t *advice_sorted(json_t *list)
{
    VEC(json_t *) all = {0};
    json_t *sorted = json_array();
    json_t *item;
    size_t i;

    json_array_foreach (list, i, item)
        vec_add(&all, item);
    if (all.n > 1)
        qsort(all.at, all.n, sizeof(*all.at), compare_advice);
    VEC_EACH (&all, one)
        (void)json_array_append(sorted, *one); /* an array of ours: cannot fail */
    vec_done(&all);
    return sorted;
}

json_t *advice_report_tree(const struct usage_report *r)
{
    AUTO(json_freep) json_t *list = json_array();
    json_t *o = json_object();
    struct group *g;
    struct group *next;

    map_each (handle, r->groups, g, next) {
        if (!g->job_name)
            continue; /* jobs beyond those that a report keeps apart */
        advise_idle(r, g, list);
        advise_size(r, g, list);
        advise_cpu(r, g, list);
        advise_memory(r, g, list);
    }
    json_put_text(o, "kind", "AdviceReport");
    json_put_text(o, "apiVersion", "mete.dev/v1");
    usage_put_time(o, "from", r->q.period.from_ns);
    usage_put_time(o, "to", r->q.period.to_ns);
    json_put(o, "currency", r->prices ? json_string(prices_currency(r->prices)) : json_null());
    if (r->price_error)
        json_put_text(o, "priceError", r->price_error);
    json_put(o, "items", advice_sorted(list));
    return o;
}

struct err *meter_advice(void *meter, const struct report_question *q, report_done_fn done,
                         void *arg, struct report **ret)
{
    static const char *const known[] = {"from", "to", "user", "namespace", "queue", "least", NULL};
    const struct store_range nodes = {.group = "", .resource = "nodes"};
    const char *least = question_parameter(q, "least");
    struct usage_report *r = NULL;
    int64_t least_ns = LEAST_NS;
    struct err *e = least ? num_parse_duration(str_of(least), &least_ns) : NULL;

    if (e)
        return err_wrap(e, "parameter least");
    TRY(usage_report_begin(meter, q, known, &r));
    r->is_advice = true;
    r->least_ns = least_ns;
    r->q.by[BY_USER] = true;
    r->q.by[BY_NAMESPACE] = true;
    r->q.by[BY_QUEUE] = true;
    r->q.by[BY_JOB] = true;
    e = store_list(r->meter->store, &nodes, NULL, NULL, 0, 0, &r->nodes);
    if (e) {
        meter_cancel(&r->report);
        return e;
    }
    usage_report_go(r, done, arg, ret);
    return NULL;
}
