/* jobs_make.c - pods from a Job's template */
#include <inttypes.h>

#include "control/jobs/jobs_private.h"
#include "control/made_pods.h"
#include "kinds/pod/pod_state.h"

/* Kubernetes cuts the name so that the server's suffix still fits. */
enum {
    NAME_MAX_BYTES = 63,
    SUFFIX_BYTES = 5
};

static char *generate_name(const struct job *j, int64_t index)
{
    AUTO_FREE char *tail = index >= 0 ? mem_format("-%" PRId64 "-", index) : mem_strdup("-");
    size_t room = NAME_MAX_BYTES - SUFFIX_BYTES - strlen(tail);

    return mem_format("%.*s%s", (int)room, j->name, tail);
}

static void add_owner(json_t *metadata, const struct job *j)
{
    json_t *owner = json_object();

    json_put_text(owner, "apiVersion", "batch/v1");
    json_put_text(owner, "kind", "Job");
    json_put_text(owner, "name", j->name);
    json_put_text(owner, "uid", j->uid);
    json_put_bool(owner, "controller", true);
    json_put_bool(owner, "blockOwnerDeletion", true);
    (void)json_array_append_new(json_array_at(metadata, "ownerReferences"), owner); /* fresh */
}

static void add_finalizer(json_t *metadata)
{
    json_t *list = json_array_at(metadata, "finalizers");

    if (!json_has_text(list, JOB_TRACKING))
        (void)json_array_append_new(list, json_string(JOB_TRACKING)); /* fresh: cannot fail */
}

/* The Job's number that people know. */
static void add_number(json_t *metadata, const struct job *j)
{
    json_put_text(json_object_at(metadata, "labels"), POD_JOB_ID,
                  json_text_at(j->object, "metadata", "labels", POD_JOB_ID, NULL));
}

static bool has_env(const json_t *env, const char *name)
{
    for (size_t i = 0; i < json_array_size(env); i++)
        if (text_equal(json_text(json_array_get(env, i), "name"), name))
            return true;
    return false;
}

static void add_index_env(const json_t *containers)
{
    for (size_t i = 0; i < json_array_size(containers); i++) {
        json_t *env = json_array_at(json_array_get(containers, i), "env");
        json_t *variable;

        if (has_env(env, "JOB_COMPLETION_INDEX"))
            continue;
        variable = json_object();
        json_put_text(variable, "name", "JOB_COMPLETION_INDEX");
        json_put_text(json_object_at(json_object_at(variable, "valueFrom"), "fieldRef"),
                      "fieldPath", "metadata.annotations['" JOB_INDEX "']");
        (void)json_array_append_new(env, variable); /* fresh: cannot fail */
    }
}

static void put_number(json_t *map, const char *key, int64_t value)
{
    AUTO_FREE char *text = mem_format("%" PRId64, value);

    json_put_text(map, key, text);
}

static void add_index(json_t *pod, const struct job *j, int64_t index)
{
    json_t *metadata = json_object_at(pod, "metadata");
    json_t *spec = json_object_at(pod, "spec");
    AUTO_FREE char *host = mem_format("%s-%" PRId64, j->name, index);

    put_number(json_object_at(metadata, "annotations"), JOB_INDEX, index);
    put_number(json_object_at(metadata, "labels"), JOB_INDEX, index);
    json_put_text(spec, "hostname", host);
    add_index_env(json_object_get(spec, "containers"));
    add_index_env(json_object_get(spec, "initContainers"));
}

static void add_tries(json_t *metadata, const struct job_pod *before)
{
    json_t *annotations = json_object_at(metadata, "annotations");
    bool is_ignored = before && before->verdict == VERDICT_IGNORE;

    put_number(annotations, JOB_INDEX_FAILURES, before ? before->failures + !is_ignored : 0);
    if (before && before->ignored + is_ignored > 0)
        put_number(annotations, JOB_INDEX_IGNORED, before->ignored + is_ignored);
}

/* `before`: the earlier pod of the index, or NULL. */
static json_t *pod_tree(const struct job *j, int64_t index, const struct job_pod *before)
{
    const json_t *template = json_at(j->object, "spec", "template", NULL);
    json_t *pod = json_deep_copy(template);
    json_t *metadata = json_object_at(pod, "metadata");
    AUTO_FREE char *name = generate_name(j, index);

    json_put_text(metadata, "name", NULL);
    json_put_text(metadata, "namespace", NULL);
    json_put_text(metadata, "generateName", name);
    add_owner(metadata, j);
    add_finalizer(metadata);
    add_number(metadata, j);
    made_pod_put_user(pod, j->object);
    made_pod_put_queue(pod, j->object);
    if (index >= 0)
        add_index(pod, j, index);
    if (index >= 0 && job_limits_index(j))
        add_tries(metadata, before);
    return pod;
}

/* False: not created; the turn has the time of the next try. */
static bool make_pod(struct job_turn *t, int64_t index, struct job_pod *before)
{
    struct job *j = t->job;
    struct jobs *s = j->jobs;
    AUTO(json_freep) json_t *pod = pod_tree(j, index, before);
    AUTO_FREE char *why = NULL;
    AUTO(err_freep) struct err *e = NULL;
    struct cluster_answer a = jobs_answer(s);

    e = writes_end(a, cluster_create(s->options.cluster, "pods", j->ns, pod, a));
    if (!e) {
        j->create_retry = (struct retry){0};
        job_add_made(j, pod);
        if (before) {
            before->is_replaced = true;
            job_pod_delay(before, false);
        }
        job_pod_event(j, "SuccessfulCreate", "Created",
                      json_text_at(pod, "metadata", "name", NULL));
        return true;
    }
    if (err_code(e) == ERR_PENDING) {
        turn_again(t, PENDING_NS);
        return false;
    }
    why = mem_format("Error creating: %s", err_message(e));
    job_event(j, true, "FailedCreate", why);
    turn_again(t, retry_failed(&j->create_retry, loop_now_ns(s->options.loop)));
    return false;
}

static bool is_pending(const struct job_turn *t, size_t index)
{
    return !index_set_has(&t->job->busy, index) && !index_set_has(&t->done, index) &&
           !index_set_has(&t->given_up, index);
}

/* The pause between the failed pod of an index and the next one. */
static int64_t index_wait_ns(const struct job_turn *t, size_t index, struct job_pod **ret_before)
{
    int64_t key = (int64_t)index;
    struct job_pod *before = NULL;

    map_find(by_index, t->job->delayed, &key, sizeof(key), before);
    *ret_before = before;
    if (!before)
        return 0;
    return backoff_after_ns(before->failures + before->ignored + 1, before->ended_ns, t->now_ns);
}

static void make_indexes(struct job_turn *t, size_t n)
{
    struct job *j = t->job;
    size_t end = (size_t)json_int_at(j->object, "spec", "completions", NULL);
    bool is_gapless = true; /* no pending index was skipped */

    for (size_t i = j->next_index; i < end && n > 0; i++) {
        struct job_pod *before = NULL;
        int64_t wait_ns = 0;

        if (is_pending(t, i)) {
            wait_ns = index_wait_ns(t, i, &before);
            if (wait_ns > 0) {
                turn_again(t, wait_ns);
                is_gapless = false;
                continue;
            }
            if (!make_pod(t, (int64_t)i, before))
                return;
            n--;
        }
        if (is_gapless)
            j->next_index = i + 1;
    }
}

void turn_make_pods(struct job_turn *t, size_t n)
{
    struct job *j = t->job;
    int64_t left_ns = retry_left_ns(&j->create_retry, loop_now_ns(j->jobs->options.loop));

    if (n > 0 && left_ns == 0 && !job_limits_index(j))
        left_ns = backoff_left_ns(&j->backoff, t->now_ns);
    if (left_ns > 0) {
        turn_again(t, left_ns);
        return;
    }
    if (n > JOB_WRITES_MAX) {
        n = JOB_WRITES_MAX;
        turn_again(t, 0);
    }
    if (job_is_indexed(json_object_get(j->object, "spec"))) {
        make_indexes(t, n);
        return;
    }
    while (n > 0 && make_pod(t, -1, NULL))
        n--;
}
