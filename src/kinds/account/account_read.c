/* account_read.c - rows and stretches read, and a gpu's time summed up */

#include "base/mem.h"
#include "base/num.h"
#include "kinds/account/account_private.h"
#include "kinds/pod/pod_state.h"
#include "kinds/queue.h"

static const char *text_of(const json_t *tree, const char *key)
{
    const char *text = json_text(tree, key);

    return text ? text : "";
}

static int64_t number_of(const char *text)
{
    int64_t n = 0;
    AUTO(err_freep) struct err *e = text ? num_parse_int64(str_of(text), 0, INT64_MAX, &n) : NULL;

    return e ? 0 : n;
}

bool account_key_read(const char *name, int64_t *ret_from_ns, int64_t *ret_to_ns)
{
    size_t size = strlen(name);
    AUTO(err_freep) struct err *e = NULL;
    AUTO(err_freep) struct err *other = NULL;

    if (size < 2 * ACCOUNT_TIME_DIGITS + 2 || name[ACCOUNT_TIME_DIGITS] != '.' ||
        name[2 * ACCOUNT_TIME_DIGITS + 1] != '.')
        return false;
    e = num_parse_int64((struct str){name, ACCOUNT_TIME_DIGITS}, 0, INT64_MAX, ret_to_ns);
    other = num_parse_int64((struct str){name + ACCOUNT_TIME_DIGITS + 1, ACCOUNT_TIME_DIGITS}, 0,
                            INT64_MAX, ret_from_ns);
    return !e && !other;
}

bool account_row_read(const json_t *tree, struct account_row *ret)
{
    const char *cause = json_text(tree, "cause");
    const char *workload = json_text(tree, "workload");

    *ret = (struct account_row){
        .tree = tree,
        .ns = text_of(tree, "namespace"),
        .pod = text_of(tree, "pod"),
        .uid = text_of(tree, "uid"),
        .user = text_of(tree, "user"),
        .queue = text_of(tree, "queue"),
        .workload = workload ? workload : text_of(tree, "pod"),
        .node = text_of(tree, "node"),
        .cause = cause ? cause : "Unknown",
        .gpus = json_object_get(tree, "gpus"),
        .job_id = number_of(json_text(tree, "jobId")),
        .attempt = json_int(tree, "attempt", 0),
        .from_ns = json_int(tree, "fromNs", -1),
        .to_ns = json_int(tree, "toNs", -1),
        .exit_code = json_int(tree, "exitCode", -1),
        .cpu_asked_milli = json_int(tree, "cpuAskedMilli", 0),
        .memory_asked_bytes = json_int(tree, "memoryAskedBytes", 0),
        .wait_ns = json_int(tree, "gpuWaitNs", -1),
        .usage = account_usage_parse(tree),
    };
    return ret->from_ns >= 0 && ret->to_ns >= ret->from_ns;
}

bool account_stretch_read(const json_t *tree, struct account_stretch *ret)
{
    *ret = (struct account_stretch){
        .uuid = text_of(tree, "uuid"),
        .model = text_of(tree, "model"),
        .node = text_of(tree, "node"),
        .state = text_equal(json_text(tree, "state"), "up") ? ACCOUNT_UP : ACCOUNT_OUT,
        .from_ns = json_int(tree, "fromNs", -1),
        .to_ns = json_int(tree, "toNs", INT64_MAX),
    };
    return ret->from_ns >= 0 && ret->to_ns >= ret->from_ns;
}

/* ---- open attempts ---- */

static void tell_open(const struct store_object *placement, const char *workload,
                      const json_t *entry, void (*fn)(void *arg, const struct account_row *row),
                      void *arg)
{
    const char *queue = json_text(entry, "queue");
    const struct account_row row = {
        .tree = entry,
        .ns = placement->key.ns,
        .pod = text_of(entry, "name"),
        .uid = text_of(entry, "uid"),
        .user = text_of(entry, "user"),
        .queue = queue ? queue : QUEUE_DEFAULT,
        .workload = workload ? workload : placement->key.name,
        .node = text_of(entry, "node"),
        .gpus = json_object_get(entry, "gpus"),
        .job_id = number_of(json_text(entry, "jobId")),
        .attempt = json_int(entry, "attempt", 0),
        .from_ns = json_int(entry, "fromNs", 0),
        .to_ns = INT64_MAX,
        .exit_code = -1,
        .wait_ns = -1,
        .usage = ACCOUNT_USAGE_UNKNOWN,
    };

    fn(arg, &row);
}

void account_each_open(const struct store_object *placement,
                       void (*fn)(void *arg, const struct account_row *row), void *arg)
{
    AUTO(json_freep) json_t *tree = NULL;
    AUTO(err_freep) struct err *e = json_parse(placement->bytes, &tree);
    const json_t *entry;
    size_t i;

    if (e)
        return;
    json_array_foreach (json_object_get(tree, "pods"), i, entry)
        tell_open(placement, json_text(tree, "workload"), entry, fn, arg);
}

/* ---- one gpu ---- */

static int compare_spans(const void *a, const void *b)
{
    const struct account_span *one = a;
    const struct account_span *other = b;

    if (one->from_ns != other->from_ns)
        return one->from_ns < other->from_ns ? -1 : 1;
    if (one->to_ns != other->to_ns)
        return one->to_ns < other->to_ns ? -1 : 1;
    return 0; /* equal spans: their order does not matter */
}

/* Clips the spans to the period, sorts them, and merges spans that overlap or touch. Returns the
 * sum of the clipped spans. */
static int64_t spans_tidy(struct account_span *spans, size_t *n, struct account_span period)
{
    int64_t sum_ns = 0;
    size_t kept = 0;

    for (size_t i = 0; i < *n; i++) {
        struct account_span s = spans[i];

        s.from_ns = s.from_ns < period.from_ns ? period.from_ns : s.from_ns;
        s.to_ns = s.to_ns > period.to_ns ? period.to_ns : s.to_ns;
        if (s.from_ns >= s.to_ns)
            continue;
        if (__builtin_add_overflow(sum_ns, s.to_ns - s.from_ns, &sum_ns))
            sum_ns = INT64_MAX;
        spans[kept++] = s;
    }
    if (kept > 1)
        qsort(spans, kept, sizeof(*spans), compare_spans);
    *n = 0;
    for (size_t i = 0; i < kept; i++) {
        struct account_span *last = *n > 0 ? &spans[*n - 1] : NULL;

        if (!last || spans[i].from_ns > last->to_ns)
            spans[(*n)++] = spans[i];
        else if (spans[i].to_ns > last->to_ns)
            last->to_ns = spans[i].to_ns;
    }
    return sum_ns;
}

static int64_t length_of(const struct account_span *spans, size_t n)
{
    int64_t sum_ns = 0;

    for (size_t i = 0; i < n; i++)
        sum_ns += spans[i].to_ns - spans[i].from_ns;
    return sum_ns;
}

/* The common time of two tidy lists. */
static int64_t common_of(const struct account_span *a, size_t n_a, const struct account_span *b,
                         size_t n_b)
{
    int64_t sum_ns = 0;
    size_t i = 0;
    size_t k = 0;

    while (i < n_a && k < n_b) {
        int64_t from_ns = a[i].from_ns > b[k].from_ns ? a[i].from_ns : b[k].from_ns;
        int64_t to_ns = a[i].to_ns < b[k].to_ns ? a[i].to_ns : b[k].to_ns;

        if (from_ns < to_ns)
            sum_ns += to_ns - from_ns;
        if (a[i].to_ns < b[k].to_ns)
            i++;
        else
            k++;
    }
    return sum_ns;
}

/* The time that at least one of the three lists covers. */
static int64_t covered_by(const struct account_spans *s, struct account_span period)
{
    size_t n = s->n_held + s->n_up + s->n_out;
    struct account_span *all = mem_alloc((n + 1) * sizeof(*all));
    int64_t covered_ns;

    if (s->n_held > 0)
        memcpy(all, s->held, s->n_held * sizeof(*all));
    if (s->n_up > 0)
        memcpy(all + s->n_held, s->up, s->n_up * sizeof(*all));
    if (s->n_out > 0)
        memcpy(all + s->n_held + s->n_up, s->out, s->n_out * sizeof(*all));
    (void)spans_tidy(all, &n, period);
    covered_ns = length_of(all, n);
    free(all);
    return covered_ns;
}

struct account_time account_sum(struct account_spans *s, struct account_span period,
                                int64_t *ret_sum_ns)
{
    int64_t sum_ns = spans_tidy(s->held, &s->n_held, period);
    struct account_time t = {0};

    (void)spans_tidy(s->up, &s->n_up, period);
    (void)spans_tidy(s->out, &s->n_out, period);
    t.held_ns = length_of(s->held, s->n_held);
    t.out_ns = length_of(s->out, s->n_out) - common_of(s->out, s->n_out, s->held, s->n_held);
    t.free_ns = length_of(s->up, s->n_up) - common_of(s->up, s->n_up, s->held, s->n_held);
    t.capacity_ns = covered_by(s, period);
    if (ret_sum_ns)
        *ret_sum_ns = sum_ns;
    return t;
}
