/* app_pods.h - the pods of ReplicaSets, StatefulSets and DaemonSets */
#pragma once

#include "control/apps/apps_loop.h"

/* Not ended, and not being deleted. */
bool app_pod_is_live(const struct app_part *p);
/* Being deleted, while its containers may still run. */
bool app_pod_is_leaving(const struct app_part *p);
bool app_pod_is_ready(const struct app_part *p);

/*
 * How long a live pod still has to be ready until it counts as available; 0: it is available; -1:
 * it is not ready.
 */
int64_t app_pod_wait_ns(const struct app *a, const struct app_part *p);

/* A pod of the app's template, without a name. New reference. */
json_t *app_pod_tree(const struct app *a, const json_t *template);

/* Creates a pod, and tells so. False: an event says why not, and `status` (may be NULL) gets the
 * condition ReplicaFailure; the app is looked at again. */
bool app_pod_make(struct app *a, json_t *tree, json_t *status);

/* Sets the condition ReplicaFailure. */
void app_put_failure(const struct app *a, json_t *status, const char *reason, const char *message);

/*
 * Orders live pods, those to delete first: without a node, then pending, not ready, of the least
 * deletion cost, on nodes with the most of these pods, ready for the shortest time, with the most
 * restarts, and the newest.
 */
void app_pods_order(struct app_part **pods, size_t n);
