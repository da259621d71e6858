/* jobs_world.h - a world with the job controllers, where the test plays the nodes */
#pragma once

#include "control/apps/deployments.h"
#include "control/apps/podsets.h"
#include "control/gc/gc.h"
#include "control/jobs/cronjobs.h"
#include "control/jobs/jobs.h"
#include "control/slurm/slurm_jobs.h"
#include "world.h"

struct jobs_world {
    struct world w;
    struct cluster *cluster;
    struct events *events;
    struct jobs *jobs;
    struct cronjobs *cronjobs;
    struct podsets *podsets;
    struct deployments *deployments;
    struct slurm_jobs *slurm;
    struct gc *gc;
};

void jobs_world_init(struct jobs_world *jw, uint64_t seed);
void jobs_world_done(struct jobs_world *jw);
/* Restarts the controllers as after a kill, with `is_store_too` also the store. */
void jobs_world_restart(struct jobs_world *jw, bool is_store_too);

/* Runs the loop until no timer is due within `seconds`. */
void jobs_world_run(struct jobs_world *jw, int seconds);

/* Creates a Job or CronJob from its manifest. Asserts success. */
void add_job(struct jobs_world *jw, const char *text);
void add_cronjob(struct jobs_world *jw, const char *text);
/* Creates a Job "j" with these members of the spec, and a template whose restartPolicy is Never. */
void add_plain_job(struct jobs_world *jw, const char *spec);
json_t *get_job(struct jobs_world *jw, const char *name);
json_t *get_cronjob(struct jobs_world *jw, const char *name);

/* Lists the objects of a resource in the namespace default, by name. New reference. */
json_t *list_all(struct jobs_world *jw, const char *group, const char *resource);
/* Counts the pods that have not ended and are not being deleted. */
size_t count_active(struct jobs_world *jw);

/* A node's report about a pod: "Running" (and ready), "Succeeded", "Failed" with an exit code. */
struct told {
    const char *phase;
    int exit_code;
    const char *reason; /* NULL: none */
    const char *message;
    store_done_fn done;
    void *arg;
};
/* Begins the report without running the loop. */
struct err *begin_tell_pod(struct jobs_world *jw, const char *name, const struct told *t);
void tell_pod(struct jobs_world *jw, const char *name, const char *phase, int exit_code);
/* Reports about the first active pod. Asserts that a pod is active. */
void tell_first(struct jobs_world *jw, const char *phase, int exit_code);
/* Binds the pod to a node; its deletion then waits for the node. */
void place_pod(struct jobs_world *jw, const char *name);
/* Reports the end of the pod's containers, so that the deletion completes. */
void finish_deletion(struct jobs_world *jw, const char *name);

/* Asserts the condition "True" with its reason. */
void assert_condition(struct jobs_world *jw, const char *job, const char *type, const char *reason);
int64_t job_number(struct jobs_world *jw, const char *job, const char *key);
/* The sum of the counts of all events with the reason. */
int64_t count_events(struct jobs_world *jw, const char *reason);
