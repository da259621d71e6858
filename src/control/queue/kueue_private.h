/* kueue_private.h - the parts of kueue.h */
#pragma once

#include "control/queue/kueue.h"

/* The Queue of a ClusterQueue. Pods without a queue are in `default`, and `root` is no queue: such
 * a ClusterQueue gets another name. The caller frees it. */
char *kueue_queue_name(const char *cluster_queue);
