/*
 * apps.h - apps/v1: names, amounts, and the parts that ReplicaSet, Deployment, StatefulSet and
 * DaemonSet share; ReplicationController is an older ReplicaSet
 */
#pragma once

#include "kinds/kind/cause.h"
#include "kinds/kind/kind.h"

/* Labels and annotations of Kubernetes. */
#define APPS_TEMPLATE_HASH    "pod-template-hash"
#define APPS_REVISION         "deployment.kubernetes.io/revision"
#define APPS_REVISION_HISTORY "deployment.kubernetes.io/revision-history"
#define APPS_DESIRED          "deployment.kubernetes.io/desired-replicas"
#define APPS_MAX_REPLICAS     "deployment.kubernetes.io/max-replicas"
#define APPS_LAST_APPLIED     "kubectl.kubernetes.io/last-applied-configuration"
#define APPS_DELETION_COST    "controller.kubernetes.io/pod-deletion-cost"
#define APPS_REVISION_HASH    "controller-revision-hash"

enum {
    APPS_HASH_SIZE = 16 /* of a hash as text */
};

extern const struct field apps_condition_item; /* with lastUpdateTime, as Deployments have it */
extern const struct field apps_set_condition_item;

/*
 * The selector of a spec as a LabelSelector: a ReplicationController has a map of labels instead.
 * NULL: none. New reference.
 */
json_t *apps_selector(const json_t *spec);

/* A number, or a percentage of `total`, rounded up or down; 0 if the value is neither. */
int64_t apps_amount(const json_t *value, int64_t total, bool rounds_up);

/* The pods that a Deployment's spec allows beyond and below spec.replicas. */
struct apps_limits {
    int64_t replicas;
    int64_t surge;
    int64_t unavailable;
};
struct apps_limits apps_limits_of(const json_t *spec);

/*
 * A short hash of a template, in letters that form no words. `collisions`: the number of other
 * templates with the same hash that were seen before; -1: none.
 */
void apps_hash(const json_t *template, int64_t collisions, char ret[APPS_HASH_SIZE]);
/* Are two templates the same, apart from the label with their hash? */
bool apps_is_same_template(const json_t *one, const json_t *other);

/* Rules of a spec with a selector and a template of pods that always restart. `what`: the kind, in
 * texts ("ReplicaSet"). */
void apps_validate_template(const json_t *spec, const char *what, const struct path *at,
                            struct causes *causes);
/* The part of apps_validate_template about the pods: `at` is the template's path. */
void apps_validate_pods(const json_t *template, const char *what, const struct path *at,
                        struct causes *causes);
/* Rules of a number or percentage that is not negative. */
void apps_validate_amount(const json_t *value, const struct path *at, struct causes *causes);
/* A percentage above 100 is no limit of unavailable pods. */
void apps_validate_percent(const json_t *value, const struct path *at, struct causes *causes);
/* Adds a cause if the selector changed. */
void apps_validate_selector_kept(const json_t *before, const json_t *after, struct causes *causes);

/* Cells that tables of several kinds have. New references. */
json_t *apps_cell_number(const json_t *object, const char *of, const char *key);
json_t *apps_cell_selector(const json_t *selector);
/* Appends the cells Containers, Images and, if asked for, Selector. */
void apps_add_wide_cells(json_t *row, const json_t *spec, bool has_selector);

/* The status and the table of ReplicaSets and ReplicationControllers (apps_replicas.c). */
extern const struct field apps_replicas_status[];
extern const struct column apps_replicas_columns[];
json_t *apps_replicas_cells(const json_t *object, int64_t now_ns);
