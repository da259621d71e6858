/* slurm_report_pods.c - rows of pods that belong to no SlurmJob */
#include "control/slurm/slurm_report_private.h"
#include "kinds/slurm/slurm_rows.h"

static void put_limits(json_t *row, const struct slurm_other *o)
{
    json_put_int(row, "timeLimit", o->limit_s > 0 ? (o->limit_s + 59) / 60 : -1);
    slurm_put_seconds(row, "submitTime", o->created_ns);
    slurm_put_seconds(row, "eligibleTime", o->created_ns);
    slurm_put_seconds(row, "startTime", o->started_ns);
    if (o->ended_ns > 0)
        slurm_put_seconds(row, "endTime", o->ended_ns);
    else if (o->started_ns > 0 && o->limit_s > 0)
        slurm_put_seconds(row, "endTime", o->started_ns + o->limit_s * NS_PER_SEC);
}

static json_t *other_row(const struct slurm_jobs *s, const struct slurm_other *o)
{
    json_t *row = json_object();
    uint32_t priority;
    AUTO_FREE char *message = NULL;
    AUTO_FREE char *partition = slurm_partition_on(s, NULL, o->node);
    const char *reason =
        o->state == SJOB_PENDING ? slurm_pod_reason(s, o->key, o->uid, &message) : "None";

    json_put_int(row, "jobId", o->id);
    json_put_text(row, "object", o->key);
    json_put_text(row, "pod", o->name);
    json_put_text(row, "namespace", o->ns);
    json_put_text(row, "name", o->name);
    json_put_text(row, "user", o->user);
    json_put_text(row, "account", o->queue);
    json_put_text(row, "partition", partition);
    json_put_text(row, "state", sjob_state_names[o->state]);
    json_put_text(row, "reason", reason);
    json_put_text(row, "message", message);
    priority = s->options.fair ? slurm_fair_priority(s->options.fair, o->key) : 0;
    json_put_int(row, "priority", priority > 0 ? priority : 1);
    json_put_bool(row, "batch", false);
    if (o->state >= SJOB_COMPLETED)
        json_put_int(row, "exitCode", o->code > 0 ? o->code : 0);
    if (o->node) {
        json_put_text(row, "nodes", o->node);
        json_put_text(row, "batchHost", o->node);
    }
    if (o->is_deleting)
        (void)json_array_append_new(json_array_at(row, "flags"), json_string("COMPLETING"));
    put_limits(row, o);
    slurm_put_ask(row, &o->ask, o->node != NULL);
    return row;
}

/* Did the pod end longer ago than listings show? */
static bool is_old(const struct slurm_jobs *s, const struct slurm_other *o)
{
    int64_t now_ns = loop_wall_ns(s->options.loop);

    return o->state >= SJOB_COMPLETED &&
           now_ns - o->ended_ns > slurm_setting(s, "MinJobAge", SLURM_JOB_AGE_S) * NS_PER_SEC;
}

size_t slurm_add_pod_rows(const struct slurm_jobs *s, const struct slurm_filter *f, size_t n,
                          uint64_t *next, json_t *rows)
{
    size_t low = 0;
    size_t high = s->others_by_number.n;
    size_t n_seen = 0;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (s->others_by_number.at[middle]->number < *next)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < s->others_by_number.n && n_seen < n; low++, n_seen++) {
        const struct slurm_other *o = s->others_by_number.at[low];
        const struct slurm_row_texts texts = {
            .ns = o->ns, .user = o->user, .account = o->queue, .name = o->name};

        *next = o->number + 1;
        if (!is_old(s, o) && slurm_filter_state(f, sjob_state_names[o->state]) &&
            slurm_filter_id(f, o->id, 0, -1) && slurm_filter_texts(f, &texts))
            (void)json_array_append_new(rows, other_row(s, o)); /* fresh: cannot fail */
    }
    return n_seen;
}
