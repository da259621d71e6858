/*
 * slurm_prolog.c - what follows from a failed prolog or epilog, and from the exit codes of
 * slurm.conf
 *
 * As under Slurm the node is drained. A job whose prolog failed has not begun: it is requeued, and
 * held, since it would fail on the next node as well. A script that ends with a code of RequeueExit
 * or RequeueExitHold starts again, with the second one after a release.
 */
#include "control/slurm/slurm_private.h"
#include "kinds/pod/pod_state.h"

enum {
    AGAIN_MOST_S = 30
};

static void program_patch(struct sjob *j, const struct cluster_target *target, const json_t *patch)
{
    struct cluster_answer a = slurm_answer(j->jobs);
    AUTO(err_freep)
    struct err *e = writes_end(a, cluster_patch(j->jobs->options.cluster, target, patch, a));

    if (e && err_code(e) != ERR_NOT_FOUND)
        LOG(WARN, "a failed prolog or epilog was not heeded", S("job", j->key), E(e));
}

/* A node that is drained already keeps its reason. */
static void drain_node(struct sjob *j, const char *name, const char *reason)
{
    const struct cluster_target target = {.resource = "nodes", .name = name};
    AUTO(json_freep) json_t *patch = json_object();
    struct slurm_node *node = NULL;

    map_find_text(handle, j->jobs->nodes, name, node);
    if (!node || json_bool_at(node->object, "spec", "unschedulable", NULL))
        return;
    json_put_text(json_object_at(json_object_at(patch, "metadata"), "annotations"),
                  NODE_DRAIN_REASON, reason);
    json_put_bool(json_object_at(patch, "spec"), "unschedulable", true);
    LOG(WARN, "node is drained", S("node", name), S("reason", reason), S("job", j->key));
    program_patch(j, &target, patch);
}

/* Of an array only the element is held. */
static void hold_job(struct sjob *j, size_t index)
{
    const struct cluster_target target = {
        .resource = "slurmjobs.mete.dev", .ns = j->ns, .name = j->name};
    const char *held = json_text_at(j->object, "spec", "heldIndexes", NULL);
    AUTO(index_set_done) struct index_set set = {0};
    AUTO(json_freep) json_t *patch = json_object();
    AUTO_FREE char *text = NULL;

    if (j->is_array) {
        if (held) /* a text that the schema has checked */
            err_free(index_set_parse(str_of(held), SLURM_ARRAY_MAX, &set));
        (void)index_set_add(&set, index); /* it is not there: the job is not held */
        text = index_set_format(&set);
        json_put_text(json_object_at(patch, "spec"), "heldIndexes", text);
    } else {
        json_put_text(json_object_at(patch, "spec"), "hold", "user");
    }
    program_patch(j, &target, patch);
}

/* ---- exit codes ---- */

static bool exit_is_listed(const struct sjob *j, const char *key, const struct sjob_end *end)
{
    const char *text = json_text_filled(slurm_settings(j->jobs), key);
    AUTO(index_set_done) struct index_set codes = {0};

    if (!text || end->signal != 0 || end->code < 0 ||
        (end->state != SJOB_COMPLETED && end->state != SJOB_FAILED) ||
        !json_text(json_object_get(j->object, "spec"), "script"))
        return false;
    err_free(
        index_set_parse(str_of(text), INDEX_SET_MAX, &codes)); /* was checked when it was read */
    return index_set_has(&codes, (size_t)end->code);
}

/* Attempts that start anew at once would fill the accounting: each waits a bit longer than the one
 * before, up to half a minute. */
static bool exits_too_soon(struct sjob_turn *t, const struct sjob_pod *p)
{
    int64_t wait_s = p->restarts < AGAIN_MOST_S ? p->restarts : AGAIN_MOST_S;
    int64_t left_ns = p->end.ended_ns + wait_s * NS_PER_SEC - t->now_ns;

    if (left_ns <= 0 || p->end.ended_ns - p->end.started_ns > AGAIN_MOST_S * NS_PER_SEC)
        return false;
    sjob_turn_again(t, left_ns);
    return true;
}

bool sjob_exits_again(const struct sjob *j, const struct sjob_end *end)
{
    return exit_is_listed(j, "RequeueExit", end) || exit_is_listed(j, "RequeueExitHold", end);
}

/* False: the attempt is counted in a later turn. */
static bool take_exit(struct sjob_turn *t, struct sjob_pod *p)
{
    struct sjob *j = t->job;
    size_t index = (size_t)p->index;

    if (p->rank > 0 || sjob_is_cancelled(j, index) || !sjob_exits_again(j, &p->end))
        return true;
    if (exits_too_soon(t, p))
        return false;
    if (!exit_is_listed(j, "RequeueExitHold", &p->end) || sjob_is_held(j, index))
        return true;
    hold_job(j, index); /* the watch reports it: the attempt is counted then */
    sjob_turn_again(t, NS_PER_SEC);
    return false;
}

bool sjob_take_programs(struct sjob_turn *t, struct sjob_pod *p)
{
    struct sjob *j = t->job;
    bool is_requeued = json_bool_at(j->object, "spec", "requeue", NULL) ||
                       !json_at(j->object, "spec", "requeue", NULL);

    if (p->node && p->has_epilog_failed)
        drain_node(j, p->node, "Epilog error");
    if (p->node && p->has_prolog_failed)
        drain_node(j, p->node, "Prolog error");
    if (!p->has_prolog_failed || !is_requeued || sjob_is_held(j, (size_t)p->index) ||
        sjob_is_cancelled(j, (size_t)p->index))
        return take_exit(t, p);
    hold_job(j, (size_t)p->index); /* the watch reports it: the attempt is counted then */
    sjob_turn_again(t, NS_PER_SEC);
    return false;
}
