/* jobs_world.h - a world with the job controllers in it, and nodes that are played by the test */
#pragma once

#include "control/gc/gc.h"
#include "control/jobs/cronjobs.h"
#include "control/jobs/jobs.h"
#include "world.h"

struct jobs_world {
    struct world w;
    struct cluster *cluster;
    struct events *events;
    struct jobs *jobs;
    struct cronjobs *cronjobs;
    struct gc *gc;
};

void jobs_world_init(struct jobs_world *jw, uint64_t seed);
void jobs_world_done(struct jobs_world *jw);
/* The controllers end and begin again, as after a kill; the store does so where asked. */
void jobs_world_restart(struct jobs_world *jw, bool is_store_too);

/* Until nothing is due within `seconds`. */
void jobs_world_run(struct jobs_world *jw, int seconds);

/* A Job or CronJob; `text` is its whole manifest. Asserts success. */
void add_job(struct jobs_world *jw, const char *text);
void add_cronjob(struct jobs_world *jw, const char *text);
/* A Job "j" with that spec besides a template whose restartPolicy is Never. */
void add_plain_job(struct jobs_world *jw, const char *spec);
json_t *get_job(struct jobs_world *jw, const char *name);
json_t *get_cronjob(struct jobs_world *jw, const char *name);

/* All objects of a resource in the namespace default, by name. New reference. */
json_t *list_all(struct jobs_world *jw, const char *group, const char *resource);
/* Its pods that are not over and not being deleted. */
size_t count_active(struct jobs_world *jw);

/* What the node tells: "Running" (and ready), "Succeeded", "Failed" with an exit code. */
struct told {
    const char *phase;
    int exit_code;
    store_done_fn done;
    void *arg;
};
/* Without running the loop: it is on its way. */
struct err *begin_tell_pod(struct jobs_world *jw, const char *name, const struct told *t);
void tell_pod(struct jobs_world *jw, const char *name, const char *phase, int exit_code);
/* The same of the first active pod; asserts that there is one. */
void tell_first(struct jobs_world *jw, const char *phase, int exit_code);
/* On a node: its deletion waits for that. */
void place_pod(struct jobs_world *jw, const char *name);
/* By the node's word it is over: it goes. */
void finish_deletion(struct jobs_world *jw, const char *name);

/* Asserts the condition "True" with its reason. */
void assert_condition(struct jobs_world *jw, const char *job, const char *type, const char *reason);
int64_t job_number(struct jobs_world *jw, const char *job, const char *key);
/* How many events of the reason there are, counted. */
int64_t count_events(struct jobs_world *jw, const char *reason);
