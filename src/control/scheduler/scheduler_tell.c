/*
 * scheduler_tell.c - writes why a pod waits onto the pod and into an Event
 *
 * At most TELL_RATE writes a second in the long run: ten thousand waiting pods whose reasons change
 * with every start must not keep the store busy. Pods that were never told come first.
 */
#include "base/list.h"
#include "base/log.h"
#include "base/stamp.h"
#include "control/scheduler/scheduler_private.h"

enum {
    TELL_BURST = 100,
    TELL_RATE = 50,  /* writes a second */
    LOOK_MAX = 2000, /* pods looked at in one turn of the loop */
};

#define TELL_PAUSE_NS (INT64_C(100) * NS_PER_MS)
#define TELL_SLURM_NS (INT64_C(5) * NS_PER_SEC) /* since the making of a Slurm job's pod */
#define TELL_SAME_NS \
    (INT64_C(10) * NS_PER_SEC) /* between two messages to one pod with the same code */

void scheduler_list_waiting(struct scheduler *s, struct sched_pod *p)
{
    if (p->is_listed)
        return;
    p->is_listed = true;
    if (p->is_told) {
        LIST_ADD(s->told, p);
        s->n_told++;
    } else {
        LIST_ADD(s->untold, p);
    }
}

void scheduler_unlist(struct scheduler *s, struct sched_pod *p)
{
    if (!p->is_listed)
        return;
    p->is_listed = false;
    if (p->is_told) {
        LIST_REMOVE(s->told, p);
        s->n_told--;
    } else {
        LIST_REMOVE(s->untold, p);
    }
}

void scheduler_tell_later(struct scheduler *s)
{
    s->to_look_at = s->n_told;
    if (s->untold)
        loop_timer_set(s->tell_timer, 0);
    else if (s->to_look_at > 0)
        loop_timer_set(s->tell_timer, TELL_PAUSE_NS);
}

static void tell_refill(struct scheduler *s)
{
    int64_t now_ns = loop_now_ns(s->options.loop);
    int64_t each_ns = NS_PER_SEC / TELL_RATE;
    int64_t n;

    if (s->tell_refill_ns == 0) {
        s->tell_refill_ns = now_ns;
        s->tell_tokens = TELL_BURST;
    }
    n = (now_ns - s->tell_refill_ns) / each_ns;
    s->tell_refill_ns += n * each_ns;
    s->tell_tokens = s->tell_tokens + n > TELL_BURST ? TELL_BURST : s->tell_tokens + n;
}

static json_t *condition_patch(const struct scheduler *s, const struct sched_pod *p,
                               const struct mete_reason *r)
{
    bool is_gated = r->code == METE_REASON_SCHEDULING_GATED;
    json_t *changes = json_object();
    json_t *condition = json_object();
    char stamp[STAMP_TEXT_SIZE];

    stamp_format(loop_wall_ns(s->options.loop), stamp);
    json_put_text(json_object_at(changes, "metadata"), "uid", p->uid);
    json_put_text(condition, "type", "PodScheduled");
    json_put_text(condition, "status", "False");
    json_put_text(condition, "reason", is_gated ? "SchedulingGated" : "Unschedulable");
    json_put_text(condition, "message", r->message);
    if (!p->is_told)
        json_put_text(condition, "lastTransitionTime", stamp);
    (void)json_array_append_new(json_array_at(json_object_at(changes, "status"), "conditions"),
                                condition); /* a fresh object: cannot fail */
    return changes;
}

/* The write is lost: tells the pod again as if it never was. */
static void on_written(void *owner, const char *key, uint64_t number, const struct err *e)
{
    struct scheduler *s = owner;
    struct sched_pod *p = e ? scheduler_find_pod(s, key) : NULL;

    (void)number;
    if (!p || !p->is_listed)
        return;
    LOG(WARN, "reason was taken back, written again", S("pod", key), E(e));
    scheduler_unlist(s, p);
    p->is_told = false;
    scheduler_list_waiting(s, p);
    loop_timer_set(s->tell_timer, TELL_PAUSE_NS);
}

static void write_reason(struct scheduler *s, const struct sched_pod *p,
                         const struct mete_reason *r)
{
    AUTO(json_freep) json_t *changes = condition_patch(s, p, r);
    const struct cluster_target target = {
        .resource = "pods", .ns = p->ns, .name = p->name, .subresource = "status"};
    struct cluster_answer a = writes_begin(s->writes, on_written, p->key, 0);
    AUTO(err_freep)
    struct err *e = writes_end(a, cluster_patch(s->options.cluster, &target, changes, a));

    if (e && err_code(e) != ERR_NOT_FOUND && err_code(e) != ERR_CONFLICT)
        LOG(WARN, "reason was not written", S("pod", p->key), E(e));
    events_record(s->options.events, &(struct event){
                                         .kind = "Pod",
                                         .ns = p->ns,
                                         .name = p->name,
                                         .uid = p->uid,
                                         .is_warning = true,
                                         .reason = "FailedScheduling",
                                         .message = r->message,
                                         .component = "mete-scheduler",
                                     });
}

/*
 * Is the reason worth a write? A new code always is; a new text of the same code only every
 * TELL_SAME_NS.
 */
static bool is_news(struct scheduler *s, const struct sched_pod *p, const struct mete_reason *r)
{
    if (r->code == METE_REASON_NOT_YET_EVALUATED || (p->is_told && text_equal(r->message, p->told)))
        return false;
    if (!p->is_told || (p->told_code && !text_equal(r->code_text, p->told_code)) ||
        p->told_ns == 0 || loop_now_ns(s->options.loop) - p->told_ns >= TELL_SAME_NS)
        return true;
    s->has_postponed = true;
    return false;
}

/* Most pods of a Slurm array wait for a short time, and squeue asks for the reason itself. */
static bool is_told_later(struct scheduler *s, const struct sched_pod *p)
{
    if (!p->is_slurm || p->is_told || loop_wall_ns(s->options.loop) - p->submit_ns >= TELL_SLURM_NS)
        return false;
    s->has_postponed = true;
    return true;
}

/* Looks at one pod, writes a new reason, and moves the pod to the end of its list. */
static void tell_pod(struct scheduler *s, struct sched_pod *p)
{
    struct mete_reason r;

    scheduler_unlist(s, p);
    if (is_told_later(s, p)) {
        scheduler_list_waiting(s, p);
        return;
    }
    if (!scheduler_why(s, p->key, p->uid, true, &r))
        return; /* placed: leaves the list */
    if (is_news(s, p, &r)) {
        write_reason(s, p, &r);
        s->tell_tokens--;
        p->is_told = true;
        p->told_ns = loop_now_ns(s->options.loop);
        free(p->told);
        p->told = mem_strdup(r.message);
    }
    if (p->is_told && r.code != METE_REASON_NOT_YET_EVALUATED) {
        p->told_code = r.code_text;
        p->told_class = r.class_text;
    }
    scheduler_list_waiting(s, p);
}

static void each_of(struct sched_pod *list,
                    void (*fn)(void *arg, const struct scheduler_waiting *w), void *arg)
{
    const struct sched_pod *p;

    LIST_EACH (list, p)
        fn(arg,
           &(struct scheduler_waiting){.queue = p->queue,
                                       .class_text = p->told_class ? p->told_class : "turn",
                                       .code_text = p->told_code ? p->told_code : "NotYetEvaluated",
                                       .submit_ns = p->submit_ns,
                                       .gpus = p->gpus});
}

void scheduler_each_waiting(const struct scheduler *s,
                            void (*fn)(void *arg, const struct scheduler_waiting *w), void *arg)
{
    each_of(s->untold, fn, arg);
    each_of(s->told, fn, arg);
}

void scheduler_on_tell(void *arg)
{
    struct scheduler *s = arg;
    size_t looks = 0;
    struct sched_pod *last = s->untold ? s->untold->prev : NULL; /* the last of the list */

    tell_refill(s);
    while (s->untold && last && s->tell_tokens > 0 && looks++ < LOOK_MAX) {
        struct sched_pod *p = s->untold;
        bool is_last = p == last;

        tell_pod(s, p);
        if (is_last)
            last = NULL;
    }
    for (; s->to_look_at > 0 && s->told && s->tell_tokens > 0 && looks++ < LOOK_MAX;
         s->to_look_at--)
        tell_pod(s, s->told);
    if ((s->to_look_at > 0 && s->told) || (last && s->untold)) {
        loop_timer_set(s->tell_timer, s->tell_tokens > 0 ? 0 : TELL_PAUSE_NS);
    } else if (s->has_postponed) {
        s->has_postponed = false;
        s->to_look_at = s->n_told;
        loop_timer_set(s->tell_timer, TELL_SAME_NS);
    }
}
