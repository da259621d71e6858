/* pod_fence.c - pods of a fenced node that has lost its lease */

#include "node/pod/pod_fence.h"

#include "base/log.h"
#include "base/stamp.h"
#include "kinds/node_lease.h"
#include "kinds/pod/toleration.h"
#include "node/pod/pod.h"

bool pods_may_start(const struct pods *set)
{
    return !set->fence || loop_now_ns(set->o.loop) < set->held_to_ns;
}

/* When the pod has to end without the lease; INT64_MAX: never. A pod whose object is unknown since
 * a restart of this process has the toleration of its containers' intents. */
static int64_t fence_due_ns(const struct pod *p)
{
    int64_t tolerated_ns = p->object ? toleration_unreachable_ns(p->object) : p->tolerated_ns;
    int64_t due_ns = 0;

    if (tolerated_ns == TOLERATED_FOR_EVER)
        return INT64_MAX;
    tolerated_ns -= tolerated_ns / 1000; /* the server's clock may be faster */
    return __builtin_add_overflow(p->set->held_to_ns, tolerated_ns, &due_ns) ? INT64_MAX : due_ns;
}

static int64_t fence_grace_ns(const struct pod *p)
{
    int64_t grace_ns = pod_grace_ns(p);
    int64_t max_ns = NODE_FENCE_STOP_S * NS_PER_SEC;

    return grace_ns < max_ns ? grace_ns : max_ns;
}

/* Without the lease, ends the pods that are due, and wakes up for the next. */
static void fence_on_time(void *arg)
{
    struct pods *set = arg;
    int64_t now_ns = loop_now_ns(set->o.loop);
    int64_t next_ns = INT64_MAX;
    struct pod *p = NULL;
    struct pod *next = NULL;

    if (now_ns < set->held_to_ns) {
        loop_timer_set(set->fence, set->held_to_ns - now_ns);
        return;
    }
    map_each (handle, set->pods, p, next) {
        int64_t due_ns = fence_due_ns(p);

        if (p->life != POD_ACTIVE)
            continue;
        if (due_ns > now_ns) {
            next_ns = due_ns < next_ns ? due_ns : next_ns;
            continue;
        }
        LOG(WARN, "pod is ended: the node has lost its lease", S("pod", p->name), S("uid", p->uid));
        pod_evict(p, NODE_LEASE_LOST, fence_grace_ns(p));
        pod_step(p);
    }
    if (next_ns != INT64_MAX)
        loop_timer_set(set->fence, next_ns - now_ns);
}

void pods_fence(struct pods *set, int64_t held_to_ns)
{
    set->fence = loop_timer_new(set->o.loop, fence_on_time, set);
    set->held_to_ns = held_to_ns;
    loop_timer_set(set->fence, 0);
}

void pods_lease(struct pods *set, int64_t held_to_ns)
{
    bool was_held = pods_may_start(set);
    struct pod *p = NULL;
    struct pod *next = NULL;

    if (!set->fence)
        return;
    set->held_to_ns = held_to_ns;
    loop_timer_set(set->fence, 0);
    if (was_held)
        return;
    map_each (handle, set->pods, p, next)
        pod_step(p);
}
