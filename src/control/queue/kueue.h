/*
 * kueue.h - Kueue's ClusterQueues, Cohorts, LocalQueues and ResourceFlavors in the terms of Mete
 *
 * A ClusterQueue is a Queue of its name. A Cohort is the Queue "cohort:NAME" above its
 * ClusterQueues: its nominal quota is the sum of theirs and its own, which is also its limit. Pure
 * functions over objects in the form of kueue.x-k8s.io/v1beta2.
 *
 * A Queue of mete.dev replaces the ClusterQueue or LocalQueue of its name.
 */
#pragma once

#include "base/json.h"

#define KUEUE_GROUP "kueue.x-k8s.io"

/* JSON objects with the objects of each kind by name, LocalQueues by "NAMESPACE/NAME". */
struct kueue {
    json_t *cluster_queues;
    json_t *cohorts;
    json_t *flavors;
    json_t *local_queues;
};

/* Brings an object of v1beta1 into the form of v1beta2. */
void kueue_from_v1beta1(json_t *object);

/* The Queues for ClusterQueues and Cohorts, by name, without those of the names in `native`. A new
 * object; queue/foreign_queue.h says what their annotations mean. */
json_t *kueue_queues(const struct kueue *k, const json_t *native);

/* The LocalQueue that the labels of a pod or Job name, or NULL. */
const char *kueue_label(const json_t *object);

/*
 * The pod as the scheduler has to see it: with the label mete.dev/queue and the node labels and
 * tolerations of its flavors, held while its LocalQueue is stopped. `label` is what the pod or its
 * Job is labelled with, or NULL. A new reference.
 */
json_t *kueue_pod(const struct kueue *k, const json_t *native, const json_t *pod,
                  const char *label);
/* The pod where Kueue's controller admits: its label means nothing unless it names one of `native`.
 * A new reference. */
json_t *kueue_pod_ignored(const json_t *native, const json_t *pod);
