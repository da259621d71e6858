/* question.c - the parameters of a report, and an attempt's share of its period */
#include <stddef.h>

#include "base/num.h"
#include "meter/meter_private.h"
#include "model/moment.h"

enum {
    LIMIT_DEFAULT = 100,
    LIMIT_MAX = 1000
};

const char *const by_names[BY_COUNT] = {"user", "namespace", "queue", "model", "job"};

void question_done(struct question *q)
{
    free(q->user);
    free(q->ns);
    free(q->queue);
    json_decref(q->namespaces);
    *q = (struct question){0};
}

const char *question_parameter(const struct report_question *q, const char *key)
{
    const char *text = json_text(q->parameters, key);

    return text && *text ? text : NULL;
}

static bool question_knows(const char *const *known, const char *key)
{
    for (size_t i = 0; known[i]; i++)
        if (text_equal(known[i], key))
            return true;
    return false;
}

struct err *question_check_known(const struct report_question *q, const char *const *known)
{
    const char *key;
    json_t *value;

    json_object_foreach ((json_t *)(uintptr_t)q->parameters, key, value) {
        (void)value;
        if (!question_knows(known, key))
            return err_new(ERR_BAD_REQUEST, "unknown parameter '%.64s'", key);
    }
    return NULL;
}

struct err *question_moment(const struct report_question *q, const char *key, const char *fallback,
                            int64_t now_ns, int64_t *ret)
{
    const char *text = question_parameter(q, key);
    struct err *e = moment_parse(str_of(text ? text : fallback), now_ns, NULL, ret);

    if (!e)
        return NULL;
    e = err_wrap(e, "parameter %s", key);
    return e;
}

static struct err *read_by(const struct report_question *q, struct question *ret)
{
    const char *text = json_text(q->parameters, "by");
    struct str rest = str_of(text ? text : "user");

    while (rest.at && rest.size > 0) {
        struct str one = str_cut(&rest, ',');
        size_t i = 0;

        while (i < BY_COUNT && !str_equal(one, str_of(by_names[i])))
            i++;
        if (i == BY_COUNT)
            return err_new(ERR_BAD_REQUEST,
                           "parameter by: '%.*s': want user, namespace, queue, model or job, "
                           "joined by commas",
                           (int)(one.size > 64 ? 64 : one.size), one.at);
        ret->by[i] = true;
    }
    return NULL;
}

static struct err *read_subject(const struct report_question *q, struct question *ret)
{
    const char *user = question_parameter(q, "user");
    const char *ns = question_parameter(q, "namespace");
    const char *queue = question_parameter(q, "queue");

    if (ns && !report_may_show(q->namespaces, ns))
        return err_new(ERR_FORBIDDEN, "usage of namespace \"%.64s\" is forbidden for this user",
                       ns);
    ret->user = user ? mem_strdup(user) : NULL;
    ret->ns = ns ? mem_strdup(ns) : NULL;
    ret->queue = queue ? mem_strdup(queue) : NULL;
    ret->namespaces = q->namespaces ? json_deep_copy(q->namespaces) : NULL;
    return NULL;
}

static struct err *read_page(const struct report_question *q, struct question *ret)
{
    const char *limit = question_parameter(q, "limit");
    const char *after = question_parameter(q, "continue");
    int64_t n = LIMIT_DEFAULT;
    int64_t from_ns = 0;
    int64_t to_ns = 0;
    struct err *e = limit ? num_parse_int64(str_of(limit), 1, LIMIT_MAX, &n) : NULL;

    if (e)
        return err_wrap(e, "parameter limit");
    ret->limit = (size_t)n;
    if (!after)
        return NULL;
    if (strlen(after) >= sizeof(ret->after) || !account_key_read(after, &from_ns, &to_ns))
        return err_new(ERR_BAD_REQUEST,
                       "parameter continue: not a value that a list of rows returned");
    memcpy(ret->after, after, strlen(after) + 1);
    return NULL;
}

static struct err *question_read(const struct report_question *q, int64_t now_ns,
                                 const char *const *known, struct question *ret)
{
    TRY(question_check_known(q, known));
    TRY(question_moment(q, "from", "month", now_ns, &ret->period.from_ns));
    TRY(question_moment(q, "to", "now", now_ns, &ret->period.to_ns));
    if (ret->period.from_ns > ret->period.to_ns)
        return err_new(ERR_BAD_REQUEST, "parameter from: the period ends before it begins");
    if (question_knows(known, "by"))
        TRY(read_by(q, ret));
    TRY(read_subject(q, ret));
    return read_page(q, ret);
}

struct err *question_parse(const struct report_question *q, int64_t now_ns,
                           const char *const *known, struct question *ret)
{
    struct question mine = {0};
    struct err *e = question_read(q, now_ns, known, &mine);

    if (e) {
        question_done(&mine);
        return e;
    }
    /* The future has no usage. */
    if (mine.period.to_ns > now_ns)
        mine.period.to_ns = now_ns > mine.period.from_ns ? now_ns : mine.period.from_ns;
    *ret = mine;
    return NULL;
}

bool question_wants(const struct question *q, const struct account_row *row)
{
    if (q->user && !text_equal(q->user, row->user))
        return false;
    if (q->ns && !text_equal(q->ns, row->ns))
        return false;
    if (q->queue && !text_equal(q->queue, row->queue))
        return false;
    return report_may_show(q->namespaces, row->ns);
}

/*
 * The part of `total`, used evenly over `whole_ns`, before `ns`. The parts of neighbouring periods
 * add up, since each is a difference of two of these.
 */
static int64_t part_of(int64_t total, int64_t ns, int64_t whole_ns)
{
    if (whole_ns <= 0)
        return total;
    return (int64_t)((__int128)total * ns / whole_ns);
}

static int64_t part_between(int64_t total, int64_t begin_ns, int64_t end_ns, int64_t whole_ns)
{
    if (total < 0)
        return -1;
    if (whole_ns == 0)
        return total;
    return part_of(total, end_ns, whole_ns) - part_of(total, begin_ns, whole_ns);
}

bool share_of(const struct account_row *row, struct account_span period, int64_t now_ns,
              const struct prices *p, struct share *ret)
{
    static const size_t sums[] = {
        offsetof(struct account_usage, cpu_ns), offsetof(struct account_usage, memory_kib_seconds),
        offsetof(struct account_usage, gpu_busy_ns), offsetof(struct account_usage, gpu_idle_ns),
        offsetof(struct account_usage, gpu_energy_mj)};
    int64_t to_ns = row->to_ns < now_ns ? row->to_ns : now_ns;
    int64_t from_ns = row->from_ns < to_ns ? row->from_ns : to_ns;
    int64_t begin_ns = from_ns > period.from_ns ? from_ns : period.from_ns;
    int64_t end_ns = to_ns < period.to_ns ? to_ns : period.to_ns;

    /* An attempt without duration counts at its time. */
    if (begin_ns > end_ns || (begin_ns == end_ns && (from_ns < to_ns || end_ns == period.to_ns)))
        return false;
    *ret = (struct share){.ns = end_ns - begin_ns, .used = row->usage};
    ret->wait_ns =
        part_between(row->wait_ns, begin_ns - from_ns, end_ns - from_ns, to_ns - from_ns);
    for (size_t i = 0; i < COUNT(sums); i++) {
        int64_t *sum = (int64_t *)(void *)((char *)&ret->used + sums[i]);

        *sum = part_between(*sum, begin_ns - from_ns, end_ns - from_ns, to_ns - from_ns);
    }
    if (p)
        ret->cost_micro =
            prices_cpu(p, ret->used.cpu_ns) + prices_memory(p, ret->used.memory_kib_seconds);
    return true;
}

int64_t gpu_time_of(const struct account_row *row, const json_t *gpu, struct account_span period,
                    int64_t now_ns)
{
    int64_t from_ns = account_gpu_from_ns(row, gpu);
    int64_t to_ns = row->to_ns < now_ns ? row->to_ns : now_ns;

    from_ns = from_ns > period.from_ns ? from_ns : period.from_ns;
    to_ns = to_ns < period.to_ns ? to_ns : period.to_ns;
    if (from_ns >= to_ns)
        return 0;
    return (int64_t)((__int128)(to_ns - from_ns) * account_gpu_milli(gpu) / 1000);
}

struct gpu_times gpu_times_begin(const struct account_row *row, const struct share *s,
                                 struct account_span period, int64_t now_ns)
{
    struct gpu_times t = {.row = row, .share = s, .period = period, .now_ns = now_ns};
    const json_t *gpu;
    size_t i;

    json_array_foreach (row->gpus, i, gpu)
        t.total_ns = saturated(t.total_ns, gpu_time_of(row, gpu, period, now_ns));
    return t;
}

bool gpu_times_next(struct gpu_times *t, const json_t **ret_gpu, struct gpu_time *ret)
{
    const json_t *gpu = json_array_get(t->row->gpus, t->i++);
    const struct account_usage *u = &t->share->used;
    int64_t before_ns = t->before_ns;
    int64_t wait_ns = t->share->wait_ns;
    struct gpu_time time = {.is_known = u->gpu_busy_ns >= 0 || wait_ns >= 0};

    if (!gpu)
        return false;
    time.held_ns = gpu_time_of(t->row, gpu, t->period, t->now_ns);
    t->before_ns = saturated(before_ns, time.held_ns);
    if (u->gpu_busy_ns > 0)
        time.busy_ns = part_between(u->gpu_busy_ns, before_ns, t->before_ns, t->total_ns);
    if (u->gpu_idle_ns > 0)
        time.idle_ns = part_between(u->gpu_idle_ns, before_ns, t->before_ns, t->total_ns);
    if (wait_ns > 0 && t->share->ns > 0)
        time.idle_ns = saturated(time.idle_ns, part_of(time.held_ns, wait_ns, t->share->ns));
    /* The node's clock and the server's may differ a little. */
    if (time.busy_ns > time.held_ns)
        time.busy_ns = time.held_ns;
    if (time.idle_ns > time.held_ns - time.busy_ns)
        time.idle_ns = time.held_ns - time.busy_ns;
    time.unknown_ns = time.held_ns - time.busy_ns - time.idle_ns;
    *ret_gpu = gpu;
    *ret = time;
    return true;
}

json_t *amount_tree(struct amount a)
{
    json_t *tree = json_object();

    json_put_int(tree, "seconds", a.seconds);
    json_put_int(tree, "nanos", a.nanos);
    return tree;
}
