/* jobs_policy.c - podFailurePolicy, successPolicy and back-off of a Job */

#include "base/retry.h"
#include "control/jobs/jobs_private.h"
#include "kinds/pod/pod_view.h"

#define BACKOFF_MIN_NS (INT64_C(10) * NS_PER_SEC)
#define BACKOFF_MAX_NS (INT64_C(360) * NS_PER_SEC)

static bool has_value(const json_t *values, int64_t code)
{
    for (size_t i = 0; i < json_array_size(values); i++)
        if (json_integer_value(json_array_get(values, i)) == code)
            return true;
    return false;
}

/* The status of the container whose exit code matches, or NULL. */
static const json_t *match_exit_code(const json_t *pod, const json_t *on)
{
    static const char *const lists[] = {"containerStatuses", "initContainerStatuses"};
    const char *name = json_text(on, "containerName");
    bool is_in = text_equal(json_text(on, "operator"), "In");

    for (size_t l = 0; l < 2; l++) {
        const json_t *list = json_at(pod, "status", lists[l], NULL);

        for (size_t i = 0; i < json_array_size(list); i++) {
            const json_t *status = json_array_get(list, i);
            const json_t *end = json_at(status, "state", "terminated", NULL);
            int64_t code = json_int(end, "exitCode", 0);

            if ((!name || text_equal(json_text(status, "name"), name)) && code != 0 &&
                has_value(json_object_get(on, "values"), code) == is_in)
                return status;
        }
    }
    return NULL;
}

static bool has_condition(const json_t *pod, const char *type, const char *status)
{
    const json_t *list = json_at(pod, "status", "conditions", NULL);

    for (size_t i = 0; i < json_array_size(list); i++)
        if (text_equal(json_text(json_array_get(list, i), "type"), type))
            return text_equal(json_text(json_array_get(list, i), "status"), status);
    return false;
}

/* The type of the matching condition, or NULL. */
static const char *match_condition(const json_t *pod, const json_t *on)
{
    for (size_t i = 0; i < json_array_size(on); i++) {
        const char *type = json_text(json_array_get(on, i), "type");

        if (type && has_condition(pod, type, json_text(json_array_get(on, i), "status")))
            return type;
    }
    return NULL;
}

static enum job_verdict verdict_of(const char *action)
{
    if (text_equal(action, "Ignore"))
        return VERDICT_IGNORE;
    if (text_equal(action, "FailIndex"))
        return VERDICT_FAIL_INDEX;
    return text_equal(action, "FailJob") ? VERDICT_FAIL_JOB : VERDICT_COUNT;
}

/* Why rule `i` matches, in Kubernetes' words; NULL: no match. The caller frees it. */
static char *match_rule(const struct job_pod *p, const json_t *pod, const json_t *rule, size_t i)
{
    const json_t *codes = json_object_get(rule, "onExitCodes");
    const char *action = json_text(rule, "action");

    if (codes) {
        const json_t *status = match_exit_code(pod, codes);

        return status ? mem_format(
                            "Container %s for pod %s failed with exit code %lld matching "
                            "%s rule at index %zu",
                            json_text(status, "name"), p->key,
                            (long long)json_int_at(status, "state", "terminated", "exitCode", NULL),
                            action, i)
                      : NULL;
    } else {
        const char *type = match_condition(pod, json_object_get(rule, "onPodConditions"));

        return type ? mem_format("Pod %s has condition %s matching %s rule at index %zu", p->key,
                                 type, action, i)
                    : NULL;
    }
}

void job_judge(struct job_pod *p, const json_t *pod)
{
    const json_t *rules = json_at(p->job->object, "spec", "podFailurePolicy", "rules", NULL);

    p->verdict = VERDICT_COUNT;
    for (size_t i = 0; i < json_array_size(rules); i++) {
        const json_t *rule = json_array_get(rules, i);
        AUTO_FREE char *why = match_rule(p, pod, rule, i);

        if (!why)
            continue;
        p->verdict = verdict_of(json_text(rule, "action"));
        if (p->verdict == VERDICT_FAIL_JOB && p->is_tracked && !p->job->failure)
            p->job->failure = TAKE(why);
        return;
    }
}

static bool is_rule_met(const json_t *rule, const struct index_set *done, size_t end)
{
    const char *indexes = json_text(rule, "succeededIndexes");
    size_t n_done = index_set_count_below(done, end);
    struct index_set asked = {0};
    AUTO(err_freep) struct err *e = NULL;
    size_t n_asked = 0;

    if (indexes) {
        e = index_set_parse(str_of(indexes), end, &asked);
        if (e)
            return false; /* validated against more completions than now */
        n_done = index_set_count_common(&asked, done);
        n_asked = asked.count;
        index_set_done(&asked);
    }
    return (int64_t)n_done >= json_int(rule, "succeededCount", (int64_t)n_asked);
}

int job_success_rule(const struct job *j, const struct index_set *done)
{
    const json_t *spec = json_object_get(j->object, "spec");
    const json_t *rules = json_at(spec, "successPolicy", "rules", NULL);

    for (size_t i = 0; i < json_array_size(rules); i++)
        if (is_rule_met(json_array_get(rules, i), done, (size_t)json_int(spec, "completions", 0)))
            return (int)i;
    return -1;
}

/* Keeps the newest failures. */
static void note_failure(struct job_backoff *b, int64_t at_ns)
{
    size_t oldest = 0;

    if (b->n_failures < JOB_FAILURES_KEPT) {
        b->failures_ns[b->n_failures++] = at_ns;
        return;
    }
    for (size_t i = 1; i < JOB_FAILURES_KEPT; i++)
        if (b->failures_ns[i] < b->failures_ns[oldest])
            oldest = i;
    if (b->failures_ns[oldest] < at_ns)
        b->failures_ns[oldest] = at_ns;
}

void backoff_note(struct job_backoff *b, bool is_failure, int64_t at_ns)
{
    if (is_failure)
        note_failure(b, at_ns);
    else if (at_ns > b->success_ns)
        b->success_ns = at_ns;
}

int64_t backoff_after_ns(int64_t n, int64_t last_ns, int64_t now_ns)
{
    int64_t pause_ns = retry_pause_after(n, BACKOFF_MIN_NS, BACKOFF_MAX_NS);
    int64_t left_ns = last_ns + pause_ns - now_ns;

    if (left_ns > pause_ns) /* the clock was set back */
        return pause_ns;
    return left_ns > 0 ? left_ns : 0;
}

int64_t backoff_left_ns(const struct job_backoff *b, int64_t now_ns)
{
    int64_t last_ns = 0;
    int64_t n = 0;

    for (size_t i = 0; i < b->n_failures; i++) {
        if (b->failures_ns[i] <= b->success_ns)
            continue;
        n++;
        if (b->failures_ns[i] > last_ns)
            last_ns = b->failures_ns[i];
    }
    return backoff_after_ns(n, last_ns, now_ns);
}

bool job_pod_ends_index(const struct job_pod *p)
{
    if (p->verdict == VERDICT_FAIL_INDEX)
        return true;
    if (p->verdict == VERDICT_IGNORE)
        return false;
    return p->failures >= json_int_at(p->job->object, "spec", "backoffLimitPerIndex", NULL);
}
