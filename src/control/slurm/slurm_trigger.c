/*
 * slurm_trigger.c - jobs of strigger: a program that runs once an event has come
 *
 * The job of a trigger waits until a job is over or near its time limit, or a node goes down or
 * comes back. The cause is kept in the status (`records.trigger`) before the job starts. An event
 * of a node that comes while no server runs sets nothing off.
 */
#include <inttypes.h>

#include "base/mem.h"
#include "control/slurm/slurm_private.h"
#include "kinds/pod/pod_state.h"
#include "model/hostlist.h"

enum {
    LOOK_S = 30 /* a time limit that was shortened counts after so long at the latest */
};

static const json_t *trigger_of(const struct sjob *j)
{
    return json_at(j->object, "spec", "trigger", NULL);
}

const char *sjob_trigger_told(const struct sjob *j)
{
    const char *kept = json_text_at(j->status, "records", "trigger", NULL);

    return kept ? kept : j->trigger_told;
}

bool sjob_is_trigger(const struct sjob *j)
{
    return trigger_of(j) && !sjob_trigger_told(j);
}

void sjob_trigger_keep(struct sjob_turn *t)
{
    const char *told = sjob_trigger_told(t->job);

    if (!trigger_of(t->job) || !told || json_text_at(t->status, "records", "trigger", NULL))
        return;
    json_put_text(json_object_at(t->status, "records"), "trigger", told);
    t->is_urgent = true;
}

/* ---- jobs ---- */

static void add_dependent(struct sjob *j, int64_t id)
{
    VEC_EACH (&j->dependents, one)
        if (*one == id)
            return;
    vec_add(&j->dependents, id);
}

/* The moment of the event, with the offset: realtime; -1: not known yet. */
static int64_t event_ns(const struct sjob *of, const char *event, int64_t offset_ns)
{
    struct sjob_pod *p = of->pods;
    struct sjob_pod *next;
    int64_t limit_s = 0;

    if (of->is_over)
        return text_equal(event, "time") || offset_ns < 0
                   ? 0
                   : stamp_or(json_text(of->status, "endTime"), 0) + offset_ns;
    if (!text_equal(event, "time") || of->n_running == 0)
        return -1;
    map_each (by_slot, of->pods, p, next)
        limit_s = p->state == SJOB_RUNNING && p->limit_s > limit_s ? p->limit_s : limit_s;
    return limit_s > 0 ? of->last_start_ns + limit_s * NS_PER_SEC + offset_ns : -1;
}

/* A job that is gone is over. */
static bool job_has_come(struct sjob *j, const json_t *trigger, int64_t now_ns, int64_t *again_ns)
{
    struct sjob *of = slurm_find_id(j->jobs, json_int(trigger, "jobId", 0));
    int64_t at_ns = 0;

    if (of && of != j) {
        add_dependent(of, j->id);
        at_ns = event_ns(of, json_text(trigger, "event"),
                         json_int(trigger, "offsetSeconds", 0) * NS_PER_SEC);
    }
    if (at_ns > now_ns)
        *again_ns = at_ns - now_ns < LOOK_S * NS_PER_SEC ? at_ns - now_ns : LOOK_S * NS_PER_SEC;
    return at_ns >= 0 && at_ns <= now_ns;
}

bool sjob_trigger_waits(struct sjob *j, int64_t now_ns, int64_t *again_ns)
{
    const json_t *trigger = trigger_of(j);

    if (!trigger || sjob_trigger_told(j))
        return false;
    if (json_int(trigger, "jobId", 0) == 0 || !job_has_come(j, trigger, now_ns, again_ns))
        return true;
    j->trigger_told = mem_format("%" PRId64, json_int(trigger, "jobId", 0));
    return false;
}

/* ---- nodes ---- */

static const char *readiness(const json_t *node)
{
    return json_text(object_condition(node, "Ready"), "status");
}

static bool has_node(const json_t *trigger, const char *name)
{
    const char *nodes = text_or_empty(json_text(trigger, "nodes"));
    AUTO(hostlist_done) struct hostlist names = {0};
    AUTO(err_freep) struct err *e = NULL;

    if (text_equal(nodes, "*"))
        return true;
    e = hostlist_parse(str_of(nodes), HOSTLIST_MAX, &names);
    VEC_EACH (&names.names, one)
        if (text_equal(*one, name))
            return true;
    return false;
}

void slurm_trigger_node(struct slurm_jobs *s, const char *name, const json_t *was, const json_t *is)
{
    const char *before = was ? readiness(was) : NULL;
    bool is_up = text_equal(readiness(is), "True");

    if (!before || text_equal(before, "True") == is_up)
        return;
    VEC_EACH (&s->by_id, at) {
        struct sjob *j = *at;
        const json_t *trigger = trigger_of(j);

        if (!trigger || j->is_over || sjob_trigger_told(j) ||
            !text_equal(json_text(trigger, "event"), is_up ? "up" : "down") ||
            !has_node(trigger, name))
            continue;
        j->trigger_told = mem_strdup(name);
        sjob_poke(j);
    }
}
