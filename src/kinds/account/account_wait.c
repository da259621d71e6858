/* account_wait.c - the time of an attempt in which its gpus were held, and no container ran */

#include "base/stamp.h"
#include "base/vec.h"
#include "kinds/account/account_private.h"

typedef VEC(struct account_span) account_runs;

/* Adds a run by its state in a container's status. A run without an end goes on to `to_ns`; times
 * are whole seconds, so that the end is rounded up. False: the state has no times. */
static bool runs_add(account_runs *runs, const json_t *state, int64_t to_ns)
{
    const char *from = json_text(state, "startedAt");
    const char *to = json_text(state, "finishedAt");
    struct account_span run = {.to_ns = to_ns};
    AUTO(err_freep) struct err *e = NULL;

    if (!from)
        return false;
    e = stamp_parse(str_of(from), &run.from_ns);
    if (!e && to) {
        e = stamp_parse(str_of(to), &run.to_ns);
        run.to_ns += NS_PER_SEC;
    }
    vec_add(runs, run);
    return !e;
}

/* Adds the last runs of a container. False: they are not known. */
static bool runs_add_status(account_runs *runs, const json_t *status, int64_t to_ns)
{
    const json_t *states[] = {json_at(status, "lastState", "terminated", NULL),
                              json_at(status, "state", "terminated", NULL),
                              json_at(status, "state", "running", NULL)};
    bool is_known = states[1] || states[2] || json_at(status, "state", "waiting", NULL);

    for (size_t i = 0; i < COUNT(states); i++)
        is_known = (!states[i] || runs_add(runs, states[i], to_ns)) && is_known;
    return is_known;
}

static const json_t *find_status(const json_t *pod, const char *name)
{
    static const char *const lists[] = {"containerStatuses", "initContainerStatuses"};
    const json_t *status;
    size_t i;

    for (size_t l = 0; l < COUNT(lists); l++)
        json_array_foreach (json_at(pod, "status", lists[l], NULL), i, status) {
            if (text_equal(json_text(status, "name"), name))
                return status;
        }
    return NULL;
}

struct account_wait account_wait_of(const json_t *entry, const json_t *pod,
                                    struct account_span span)
{
    account_runs runs = {0};
    struct account_spans held = {0};
    const json_t *container;
    struct account_wait wait = {.ns = -1};
    bool is_known = json_array_size(json_object_get(entry, "gpus")) > 0;
    size_t i;

    json_array_foreach (json_object_get(entry, "containers"), i, container) {
        const json_t *status = find_status(pod, json_text(container, "name"));

        if (json_array_size(json_object_get(container, "gpus")) == 0)
            continue;
        is_known = runs_add_status(&runs, status, span.to_ns) && is_known;
        wait.is_running = wait.is_running || json_at(status, "state", "running", NULL);
    }
    held.held = runs.at;
    held.n_held = runs.n;
    if (is_known)
        wait.ns = span.to_ns - span.from_ns - account_sum(&held, span, NULL).held_ns;
    vec_done(&runs);
    return wait;
}
