/* apps_kit.h - Deployments and ReplicaSets in the world of jobs_world.h, and a node for their pods
 */
#pragma once

#include "jobs_world.h"

/* Creates an object of apps/v1 from its manifest. Asserts success, and runs the loop. */
void add_app(struct jobs_world *jw, const char *plural, const char *text);
/* A Deployment "d" with these members of the spec; its template has the label app=d and an image.
 */
void add_deployment(struct jobs_world *jw, const char *image, const char *spec);
json_t *get_app(struct jobs_world *jw, const char *plural, const char *name);
void patch_app(struct jobs_world *jw, const char *plural, const char *name, const char *text);
/* Sets the image of the Deployment "d". */
void set_image(struct jobs_world *jw, const char *image);

/* Does the next thing that a node does for a pod: binds it, makes it ready, removes a deleted one.
 * False: nothing is left to do for it. */
bool serve_pod(struct jobs_world *jw, const json_t *pod);
/* Serves all pods and runs the loop until nothing changes. */
void serve_all(struct jobs_world *jw);

/* Pods that have not ended and are not being deleted; of them those that are ready. */
size_t count_ready(struct jobs_world *jw);
size_t count_image(struct jobs_world *jw, const char *image);

/* Asserts a status condition's status and reason. */
void assert_app_condition(struct jobs_world *jw, const char *plural, const char *name,
                          const char *type, const char *status, const char *reason);
int64_t app_number(struct jobs_world *jw, const char *plural, const char *name, const char *key);
