/*
 * foreign.h - the queue objects of Kueue, Volcano and KAI in the terms of Mete
 *
 * A Queue of Volcano or KAI becomes a Queue of the same name. Where Mete (`default`, `root`) or
 * another of these schedulers has the name, the Queue is "volcano:NAME" or "kai:NAME": Kueue's
 * names come first, then Volcano's. A Queue of mete.dev replaces all Queues of its name. Pure
 * functions; kueue.h has Kueue's.
 */
#pragma once

#include "control/queue/kueue.h"

#define VOLCANO_GROUP "scheduling.volcano.sh"
#define KAI_GROUP     "scheduling.run.ai"

/* JSON objects with the objects of each kind by name. */
struct foreign {
    struct kueue kueue;
    json_t *volcano; /* Queues of scheduling.volcano.sh/v1beta1 */
    json_t *kai;     /* Queues of scheduling.run.ai/v2 */
};

/* The Queues for all objects, by name, without those that `native` replaces. A new object. */
json_t *foreign_queues(const struct foreign *f, const json_t *native);

/* The objects that say a pod's queue, besides the pod's own. */
struct foreign_owners {
    const char *label;   /* of Kueue on the pod or its Job, or NULL */
    const json_t *group; /* its PodGroup of Volcano, or NULL */
};

/* The pod as the scheduler has to see it: kueue_pod, or with the queue of Volcano or KAI. The label
 * of Mete goes first, then Kueue's, Volcano's, KAI's. A new reference. */
json_t *foreign_pod(const struct foreign *f, const json_t *native, const json_t *pod,
                    const struct foreign_owners *owners);
