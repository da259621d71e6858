/*
 * scheduler_evict_rules.c - which workloads evict which by the classes of Slurm's jobs
 *
 * The rules are data (kinds/slurm/slurm_preempt.h). The engine gets the pairs of classes, each
 * workload its class, and an eviction the grace of the victim's class.
 */
#include "base/log.h"
#include "base/vec.h"
#include "control/scheduler/scheduler_private.h"
#include "kinds/slurm/slurm_job.h"
#include "kinds/slurm/slurm_preempt.h"

struct evict_pairs {
    VEC(struct mete_evict_pair) list;
    uint64_t suspended; /* bits of classes */
};

static void list_pairs(const json_t *rules, struct evict_pairs *ret)
{
    const char *name;
    json_t *class;
    json_t *victim;
    size_t i;

    json_object_foreach (json_object_get(rules, "classes"), name, class) {
        if (json_bool(class, "suspends", false))
            ret->suspended |= UINT64_C(1) << json_int(class, "class", 0);
        json_array_foreach (json_object_get(class, "victims"), i, victim)
            vec_add(&ret->list, (struct mete_evict_pair){(uint32_t)json_int(class, "class", 0),
                                                         (uint32_t)json_integer_value(victim)});
    }
}

/* False: the engine refuses the rules, and has none now. */
static bool rules_tell(struct scheduler *s, const json_t *rules)
{
    struct evict_pairs pairs = {0};
    bool is_in;

    list_pairs(rules, &pairs);
    is_in = mete_evict_rules_set(s->engine, &(struct mete_evict_rules){pairs.list.at, pairs.list.n,
                                                                       pairs.suspended}) == METE_OK;
    vec_done(&pairs.list);
    if (is_in)
        return true;
    LOG(WARN, "no job preempts another by its QOS or partition",
        S("error", mete_last_error(s->engine)));
    (void)mete_evict_rules_set(s->engine, &(struct mete_evict_rules){0}); /* cannot fail */
    return false;
}

void scheduler_set_evict_rules(struct scheduler *s, const json_t *rules)
{
    struct sched_work *w;
    struct sched_work *next;

    if (rules == s->evict_rules || (rules && json_equal(rules, s->evict_rules)))
        return;
    json_decref(s->evict_rules);
    s->evict_rules = rules_tell(s, rules) ? json_incref((json_t *)(uintptr_t)rules) : NULL;
    s->are_asks_old = true;
    map_each (handle, s->works, w, next) {
        if (w->phase == SCHED_WORK_PLACED && w->pods.n > 0)
            sched_work_again(s, w);
    }
    scheduler_poke(s);
}

void sched_evict_class_read(const struct scheduler *s, const json_t *pod, struct mete_workload *w,
                            int64_t *ret_grace_s)
{
    const char *text = json_text_at(pod, "metadata", "annotations", SLURM_ACCOUNT_ANNOTATION, NULL);
    AUTO(json_freep) json_t *facts = NULL;
    const json_t *class;

    if (!s->evict_rules || !text)
        return;
    err_free(json_parse(str_of(text), &facts)); /* our own text */
    class =
        slurm_preempt_class(s->evict_rules, json_text(facts, "qos"), json_text(facts, "partition"));
    w->evict_class = (uint32_t)json_int(class, "class", 0);
    w->min_run_ns = json_int(class, "exemptSeconds", 0) * NS_PER_SEC;
    *ret_grace_s = json_int(class, "graceSeconds", 0);
}
