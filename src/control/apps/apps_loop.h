/*
 * apps_loop.h - objects of apps/v1 and the parts that they control: pods, or ReplicaSets
 *
 * The common half of the controllers of Deployments, ReplicaSets, StatefulSets and DaemonSets. A
 * part belongs to the object that its controller reference names. An object adopts parts without a
 * controller that its selector matches, and releases its parts that the selector no longer matches.
 * The loop's own writes count at once: news that are older than a write are ignored.
 */
#pragma once

#include "base/map.h"
#include "base/retry.h"
#include "control/events.h"
#include "control/turns.h"
#include "kinds/apps/apps.h"
#include "kinds/kind/label_selector.h"

enum {
    APP_EVENTS_BURST = 25, /* of one object about its parts, as Kubernetes' recorder has it */
    APP_CREATES_MAX = 256, /* parts created or deleted in one turn of an object */
};

struct app;
struct apps_loop;
struct apps_place;

struct app_kind {
    const char *kind;        /* "ReplicaSet" */
    const char *api_version; /* "apps/v1" */
    const char *resource;    /* "replicasets.apps" */
    const char *component;   /* of its events: "replicaset-controller" */
    void (*look)(struct app *a);
};

/* A pod or ReplicaSet. */
struct app_part {
    struct map_handle handle; /* by key, among all parts of the loop */
    struct app_part *prev;    /* among the parts of its app, or the free ones of its namespace */
    struct app_part *next;
    struct app *app; /* NULL: no controller */
    struct apps_place *place;
    char *key;        /* "ns/name" */
    const char *name; /* in the key */
    char *uid;
    json_t *object;  /* shared; without an app, what the option `brief` leaves of it */
    int64_t version; /* of `object`, or of our last write */
    bool is_killed;  /* deleted by us: never alive again, whatever older news say */
};

struct app {
    struct turn_item item;    /* first */
    struct map_handle handle; /* by key */
    struct map_handle by_uid;
    struct app *prev; /* in its namespace */
    struct app *next;
    struct apps_loop *loop;
    const struct app_kind *kind;
    struct apps_place *place;
    char *key; /* "KIND/ns/name" */
    char *ns;
    char *name;
    char *uid;
    json_t *object;
    json_t *status;  /* as last put or written, whichever is newer */
    int64_t version; /* news of older versions are stale */
    bool is_deleting;
    struct selector *selector; /* NULL: it cannot be read */
    struct app_part *parts;
    size_t n_parts;
    struct retry create_retry;
    struct retry write_retry;
    size_t n_events;
};

struct apps_options {
    struct loop *loop;
    struct cluster *cluster;
    struct events *events;
    const char *name;
    const struct turns_source *sources; /* the apps first, then the parts */
    size_t n_sources;
    const char *part_resource; /* "pods", "replicasets.apps" */
    /* May an object without a controller be adopted? */
    bool (*is_free)(const json_t *part);
    /* The members kept of a part without a controller, a new reference; NULL: the object. */
    json_t *(*brief)(const json_t *part);
    void (*forget)(void *arg); /* NULL, or frees what other sources told */
    void *arg;                 /* of forget and apps_arg */
};

struct err *apps_loop_new(const struct apps_options *o, struct apps_loop **ret) MUST_CHECK;
void apps_loop_free(struct apps_loop *l); /* accepts NULL */
void *apps_arg(const struct apps_loop *l);

/* The calls of the sources. */
void apps_put(struct apps_loop *l, const struct app_kind *k, const json_t *object);
void apps_remove(struct apps_loop *l, const struct app_kind *k, const char *ns, const char *name);
void apps_put_part(struct apps_loop *l, const char *ns, const char *name, const json_t *object);
void apps_remove_part(struct apps_loop *l, const char *ns, const char *name, const json_t *last);
/* Looks at all objects of the kind (NULL: of all kinds) again. */
void apps_poke_all(struct apps_loop *l, const struct app_kind *k);

/* Adopts and releases parts. False: a write failed, and the object is looked at again. */
bool app_claim(struct app *a);

/* Sets the controller reference of a new part. */
void app_put_owner(const struct app *a, json_t *metadata);
/* Creates a part from its tree. */
struct err *app_make(struct app *a, json_t *tree) MUST_CHECK;
/* Deletes a part and tells so in an event. False: the deletion failed. */
bool app_kill(struct app *a, struct app_part *p);
/* Adds a part that was just created, before its watch event. */
struct app_part *app_add_part(struct app *a, const json_t *object);
struct app_part *app_find_part(const struct app *a, const char *name);

/* Writes of one transaction about an app: at most one creation of a part. */
struct app_writes {
    struct app *app;
    struct cluster_write *at;
    size_t n;
    size_t room;
    bool has_status; /* the app is written, too */
};
/* The patch of a part. Takes `patch`. Only this version of the part is patched. */
void app_writes_patch(struct app_writes *w, const struct app_part *p, json_t *patch);
/* `tree` is borrowed, and becomes the stored object. */
void app_writes_create(struct app_writes *w, json_t *tree);
/* The status of the app, if it differs from the known one, and annotations (may be NULL). Takes
 * both. */
void app_writes_status(struct app_writes *w, json_t *status, json_t *annotations);
/* Commits, if there is anything to write. `*ret_version` is the version of all objects. */
struct err *app_writes_commit(struct app_writes *w, int64_t *ret_version) MUST_CHECK;
void app_writes_done(struct app_writes *w);

/* Writes the status alone. Takes it. Failures are tried again. */
void app_write_status(struct app *a, json_t *status);
/* Looks at the app again after a failed write: a conflict is told by the watch. */
void app_write_failed(struct app *a, const struct err *e);

/* Counts as written: the known status, and the version. Takes `status`. */
void app_status_written(struct app *a, json_t *status, int64_t version);

void app_event(const struct app *a, bool is_warning, const char *reason, const char *message);
/* "Created pod: x" for the verb "Create", at most APP_EVENTS_BURST for each app. */
void app_part_event(struct app *a, const char *reason, const char *verb, const char *part);

/* The time of the loop. */
int64_t app_now_ns(const struct app *a);  /* monotonic */
int64_t app_wall_ns(const struct app *a); /* realtime */

/* Status conditions in a status tree. */
json_t *status_condition(const json_t *status, const char *type);
void status_drop_condition(json_t *status, const char *type);
/* Puts a number, or removes the member if it is 0. */
void status_put_count(json_t *status, const char *key, int64_t value);
