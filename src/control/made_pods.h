/* made_pods.h - what a pod inherits from the object whose controller makes it */
#pragma once

#include "base/json.h"

/* The user of the object, who answers for its pods. */
void made_pod_put_user(json_t *pod, const json_t *object);

/* The queue, the holds and the limits of the object, unless the pod's template sets them. */
void made_pod_put_queue(json_t *pod, const json_t *object);
