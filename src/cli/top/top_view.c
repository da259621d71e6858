/* top_view.c - from objects of the API to the values that `mete top` shows */

#include "cli/top/top_view.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/mem.h"
#include "base/stamp.h"
#include "cli/job/batch.h"
#include "cli/job/jobs.h"
#include "cli/term/text_escape.h"
#include "kinds/queue.h"
#include "model/gpu.h"

static const char *const state_names[TOP_STATES] = {
    [TOP_FREE] = "free",       [TOP_HELD] = "held", [TOP_IDLE] = "idle",
    [TOP_DRAINED] = "drained", [TOP_SICK] = "sick", [TOP_NO_ANSWER] = "no answer",
};

const char *top_state_name(enum top_state state)
{
    return state_names[state];
}

/* Copies a text of others, made harmless, as far as it fits. */
static void view_text(char *ret, size_t size, const char *text)
{
    AUTO_FREE char *harmless = text_escape(str_of(text_or_empty(text)), TEXT_ESCAPE_LINE);
    size_t n = strlen(harmless);

    if (n >= size)
        for (n = size - 1; n > 0 && ((unsigned char)harmless[n] & 0xc0) == 0x80;)
            n--;
    memcpy(ret, harmless, n);
    ret[n] = '\0';
}

static void gpu_add_holder(struct top_gpu *g, const json_t *holders)
{
    const json_t *first = json_array_get(holders, 0);
    int64_t id = json_int(first, "jobId", -1);
    AUTO_FREE char *text = NULL;

    if (!first)
        return;
    text = id >= 0 ? mem_format("job %" PRId64 " %s", id, text_or_empty(json_text(first, "pod")))
                   : mem_strdup(text_or_empty(json_text(first, "pod")));
    if (json_array_size(holders) > 1) {
        char *more = mem_format("%s and %zu more", text, json_array_size(holders) - 1);

        free(text);
        text = more;
    }
    view_text(g->holder, sizeof(g->holder), text);
    view_text(g->user, sizeof(g->user), json_text(first, "user"));
}

static enum top_state state_of(const struct top_gpu *g)
{
    if (text_equal(g->health, gpu_health_text(GPU_NOT_ANSWERING)))
        return TOP_NO_ANSWER;
    if (text_equal(g->health, gpu_health_text(GPU_DRAINED)))
        return TOP_DRAINED;
    if (*g->health && !text_equal(g->health, gpu_health_text(GPU_HEALTHY)))
        return TOP_SICK;
    if (!*g->holder)
        return TOP_FREE;
    return g->utilization_pct == 0 ? TOP_IDLE : TOP_HELD;
}

static void gpu_add_sample(struct top_gpu *g, const json_t *sample)
{
    g->utilization_pct = json_int(sample, "utilizationPct", -1);
    g->memory_used_bytes = json_int(sample, "memoryUsedBytes", -1);
    g->temperature_c = json_int(sample, "temperatureC", -1);
    g->power_mw = json_int(sample, "powerMilliwatts", -1);
    g->sampled_ns = stamp_or(json_text(sample, "at"), -1);
}

/* A gpu in slices is shown as its slices. */
void top_view_add_gpu(struct top_view *v, const json_t *gpu)
{
    const json_t *status = json_object_get(gpu, "status");
    const json_t *spec = json_object_get(gpu, "spec");
    const json_t *slices = json_object_get(status, "slices");
    struct top_gpu g = {.slice = -1};
    size_t n = json_array_size(slices);

    view_text(g.node, sizeof(g.node), json_text(spec, "node"));
    view_text(g.uuid, sizeof(g.uuid), json_text(spec, "uuid"));
    view_text(g.model, sizeof(g.model), json_text(spec, "model"));
    view_text(g.health, sizeof(g.health), json_text(status, "health"));
    view_text(g.reason, sizeof(g.reason), json_text(status, "healthReason"));
    g.index = json_int(spec, "index", -1);
    g.memory_bytes = json_int(spec, "memoryBytes", -1);
    g.since_ns = stamp_or(json_text(status, "healthSince"), -1);
    for (size_t i = 0; i < (n > 0 ? n : 1); i++) {
        const json_t *part = n > 0 ? json_array_get(slices, i) : status;
        struct top_gpu one = g;

        if (n > 0) {
            one.slice = (int64_t)i;
            one.memory_bytes = json_int(part, "memoryBytes", -1);
            view_text(one.uuid, sizeof(one.uuid), json_text(part, "uuid"));
            view_text(one.model, sizeof(one.model), json_text(part, "profile"));
        }
        gpu_add_sample(&one, json_object_get(part, "sample"));
        gpu_add_holder(&one, json_object_get(part, "holders"));
        one.state = state_of(&one);
        vec_add(&v->gpus, one);
    }
}

void top_view_add_job(struct top_view *v, const json_t *pod)
{
    struct job job = job_of(pod);
    AUTO_FREE char *gpus = gpu_asks_format(&job.asks);
    const char *queue = queue_of(pod);
    struct top_job j = {.from_ns = job.started_ns ? job.started_ns : job.created_ns};

    view_text(j.id, sizeof(j.id), job.id);
    view_text(j.ns, sizeof(j.ns), job.ns);
    view_text(j.name, sizeof(j.name), job.name);
    view_text(j.user, sizeof(j.user), job.user);
    view_text(j.queue, sizeof(j.queue), queue ? queue : QUEUE_DEFAULT);
    view_text(j.state, sizeof(j.state), job.state);
    view_text(j.gpus, sizeof(j.gpus), gpus);
    view_text(j.node, sizeof(j.node), job.node);
    view_text(j.reason, sizeof(j.reason), job.reason);
    vec_add(&v->jobs, j);
}

static int compare_gpus(const void *a, const void *b)
{
    const struct top_gpu *x = a;
    const struct top_gpu *y = b;
    int order = strcmp(x->node, y->node);

    if (order == 0)
        order = (x->index > y->index) - (x->index < y->index);
    if (order == 0)
        order = (x->slice > y->slice) - (x->slice < y->slice);
    return order ? order : strcmp(x->uuid, y->uuid);
}

void top_view_end(struct top_view *v, int64_t at_ns)
{
    v->at_ns = at_ns;
    if (v->gpus.n > 1)
        qsort(v->gpus.at, v->gpus.n, sizeof(v->gpus.at[0]), compare_gpus);
    memset(v->counts, 0, sizeof(v->counts));
    VEC_EACH (&v->gpus, g)
        v->counts[g->state]++;
}

void top_view_done(struct top_view *v)
{
    vec_done(&v->gpus);
    vec_done(&v->jobs);
}

void top_gpu_trouble(const struct top_gpu *g, int64_t now_ns, char ret[TOP_REASON])
{
    int64_t from_ns = g->sampled_ns > 0 ? g->sampled_ns : g->since_ns;

    if (g->state == TOP_NO_ANSWER && from_ns > 0)
        (void)snprintf(ret, TOP_REASON, "no answer %" PRId64 " s", (now_ns - from_ns) / NS_PER_SEC);
    else if (g->state == TOP_NO_ANSWER)
        (void)snprintf(ret, TOP_REASON, "no answer");
    else
        (void)snprintf(ret, TOP_REASON, "%s%s%.90s", g->health, *g->reason ? ": " : "", g->reason);
}

/* ---- JSON ---- */

static json_t *number_or_null(int64_t n)
{
    return n >= 0 ? json_integer(n) : json_null();
}

static json_t *text_or_null(const char *text)
{
    return *text ? json_text_new(text) : json_null();
}

static json_t *gpu_json(const struct top_gpu *g)
{
    json_t *o = json_object();
    char stamp[STAMP_TEXT_SIZE];

    json_put(o, "node", text_or_null(g->node));
    json_put(o, "index", number_or_null(g->index));
    json_put(o, "slice", number_or_null(g->slice));
    json_put(o, "uuid", text_or_null(g->uuid));
    json_put(o, "model", text_or_null(g->model));
    json_put_text(o, "state", top_state_name(g->state));
    json_put(o, "health", text_or_null(g->health));
    json_put(o, "healthReason", text_or_null(g->reason));
    json_put(o, "holder", text_or_null(g->holder));
    json_put(o, "user", text_or_null(g->user));
    json_put(o, "utilizationPct", number_or_null(g->utilization_pct));
    json_put(o, "memoryUsedBytes", number_or_null(g->memory_used_bytes));
    json_put(o, "memoryBytes", number_or_null(g->memory_bytes));
    json_put(o, "temperatureC", number_or_null(g->temperature_c));
    json_put(o, "powerMilliwatts", number_or_null(g->power_mw));
    stamp_format(g->sampled_ns, stamp);
    json_put(o, "sampledAt", g->sampled_ns > 0 ? json_string(stamp) : json_null());
    return o;
}

static json_t *job_json(const struct top_job *j)
{
    json_t *o = json_object();

    json_put(o, "jobId", text_or_null(j->id));
    json_put_text(o, "namespace", j->ns);
    json_put_text(o, "name", j->name);
    json_put(o, "user", text_or_null(j->user));
    json_put_text(o, "queue", j->queue);
    json_put_text(o, "state", j->state);
    json_put(o, "reason", text_or_null(j->reason));
    json_put(o, "gpus", text_or_null(j->gpus));
    json_put(o, "node", text_or_null(j->node));
    return o;
}

json_t *top_view_json(const struct top_view *v)
{
    json_t *o = json_object();
    json_t *counts;
    json_t *list;
    char stamp[STAMP_TEXT_SIZE];

    stamp_format(v->at_ns, stamp);
    json_put_text(o, "apiVersion", "mete.dev/v1");
    json_put_text(o, "kind", "Top");
    json_put_text(o, "at", stamp);
    counts = json_object_at(o, "counts");
    for (size_t i = 0; i < TOP_STATES; i++)
        json_put_int(counts, i == TOP_NO_ANSWER ? "noAnswer" : state_names[i],
                     (int64_t)v->counts[i]);
    list = json_array_at(o, "gpus");
    VEC_EACH (&v->gpus, g)
        (void)json_array_append_new(list, gpu_json(g));
    list = json_array_at(o, "jobs");
    VEC_EACH (&v->jobs, j)
        (void)json_array_append_new(list, job_json(j));
    json_put_bool(o, "hasMoreJobs", v->has_more_jobs);
    return o;
}
