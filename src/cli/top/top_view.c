/* top_view.c - from objects of the API to the values that `mete top` shows */

#include "cli/top/top_view.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/mem.h"
#include "base/stamp.h"
#include "cli/term/text_escape.h"
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

static void gpu_add_holder(struct top_gpu *g, const json_t *item)
{
    const json_t *first = json_array_get(json_object_get(item, "holders"), 0);
    int64_t id = json_int(first, "jobId", -1);
    int64_t n = json_int(item, "nHolders", 0);
    AUTO_FREE char *number = id >= 0 ? mem_format("job %" PRId64 " ", id) : mem_strdup("");
    AUTO_FREE char *more = n > 1 ? mem_format(" and %" PRId64 " more", n - 1) : mem_strdup("");
    AUTO_FREE char *text = NULL;

    if (n == 0)
        return;
    text = mem_format(
        "%s%s%s", number,
        json_is_null(first) ? "another's job" : text_or_empty(json_text(first, "pod")), more);
    view_text(g->holder, sizeof(g->holder), text);
    view_text(g->user, sizeof(g->user), json_text(first, "user"));
}

/* The name of a state in the API. */
static const char *state_key(size_t state)
{
    return state == TOP_NO_ANSWER ? "noAnswer" : state_names[state];
}

static enum top_state state_of(const char *text)
{
    for (size_t i = 0; i < TOP_STATES; i++)
        if (text_equal(state_key(i), text))
            return (enum top_state)i;
    return TOP_NO_ANSWER;
}

void top_view_add_gpu(struct top_view *v, const json_t *item)
{
    struct top_gpu g = {.state = state_of(json_text(item, "state"))};

    view_text(g.node, sizeof(g.node), json_text(item, "node"));
    view_text(g.uuid, sizeof(g.uuid), json_text(item, "uuid"));
    view_text(g.model, sizeof(g.model), json_text(item, "model"));
    view_text(g.health, sizeof(g.health), json_text(item, "health"));
    view_text(g.reason, sizeof(g.reason), json_text(item, "healthReason"));
    g.index = json_int(item, "index", -1);
    g.slice = json_int(item, "slice", -1);
    g.memory_bytes = json_int(item, "memoryBytes", -1);
    g.since_ns = stamp_or(json_text(item, "healthSince"), -1);
    g.utilization_pct = json_int(item, "utilizationPct", -1);
    g.memory_used_bytes = json_int(item, "memoryUsedBytes", -1);
    g.temperature_c = json_int(item, "temperatureC", -1);
    g.power_mw = json_int(item, "powerMilliwatts", -1);
    g.sampled_ns = stamp_or(json_text(item, "at"), -1);
    gpu_add_holder(&g, item);
    vec_add(&v->gpus, g);
}

void top_view_take_counts(struct top_view *v, const json_t *counts)
{
    for (size_t i = 0; i < TOP_STATES; i++)
        v->counts[i] = (size_t)json_int(counts, state_key(i), 0);
}

size_t top_view_count(const struct top_view *v)
{
    size_t n = 0;

    for (size_t i = 0; i < TOP_STATES; i++)
        n += v->counts[i];
    return n;
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
    v->is_whole = true;
    if (v->gpus.n > 1)
        qsort(v->gpus.at, v->gpus.n, sizeof(v->gpus.at[0]), compare_gpus);
    memset(v->counts, 0, sizeof(v->counts));
    VEC_EACH (&v->gpus, g)
        v->counts[g->state]++;
}

void top_view_done(struct top_view *v)
{
    vec_done(&v->gpus);
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

static json_t *copy_or_null(const json_t *item, const char *key)
{
    json_t *value = json_object_get(item, key);

    return value ? json_incref(value) : json_null();
}

static json_t *job_json(const json_t *item)
{
    static const char *const copied[] = {"namespace", "name",     "user",          "queue",
                                         "state",     "reason",   "node",          "submittedAt",
                                         "startedAt", "gpuMilli", "gpuMemoryBytes"};
    AUTO_FREE char *id = mem_format("%" PRId64, json_int(item, "id", 0));
    const json_t *gpus = json_object_get(item, "gpus");
    AUTO_FREE char *count = json_is_integer(gpus)
                                ? mem_format("%" JSON_INTEGER_FORMAT, json_integer_value(gpus))
                                : NULL;
    json_t *o = json_object();

    json_put_text(o, "jobId", id);
    for (size_t i = 0; i < COUNT(copied); i++)
        json_put(o, copied[i], copy_or_null(item, copied[i]));
    json_put(o, "gpus", count ? json_string(count) : copy_or_null(item, "gpus"));
    return o;
}

static void put_jobs(json_t *o, const json_t *jobs)
{
    json_t *list = json_array_at(o, "jobs");
    const json_t *items = json_object_get(jobs, "items");
    json_t *item;
    size_t i;

    json_array_foreach (items, i, item)
        (void)json_array_append_new(list, job_json(item)); /* fresh: cannot fail */
    json_put_bool(o, "hasMoreJobs", json_int(jobs, "total", 0) > (int64_t)json_array_size(items));
    json_put(o, "jobCounts", copy_or_null(jobs, "counts"));
}

json_t *top_view_json(const struct top_view *v, const json_t *jobs)
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
        json_put_int(counts, state_key(i), (int64_t)v->counts[i]);
    list = json_array_at(o, "gpus");
    VEC_EACH (&v->gpus, g)
        (void)json_array_append_new(list, gpu_json(g)); /* fresh: cannot fail */
    if (jobs)
        put_jobs(o, jobs);
    return o;
}
