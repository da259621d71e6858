/* objects_private.h - a write under way, and the rules that objects_*.c share */
#pragma once

#include "kinds/account/account.h"
#include "kinds/object/objects.h"
#include "kinds/object/submit_tally.h"
#include "kinds/object/txn.h"

enum {
    SUBMITTERS_KEPT = 16
};

/* The user of a uid: a directory server may take its time, and is asked once a minute. */
struct known_submitter {
    int64_t uid;
    int64_t until_ns; /* monotonic; 0: the slot is empty */
    struct object_user user;
};

struct objects {
    struct store *store;
    struct loop *loop;
    void (*random)(void *arg, void *ret, size_t size);
    void *arg;
    struct json_pool *pool;                    /* for trees that are only read */
    struct tree_cache *trees;                  /* of quotas, limit ranges and priority classes */
    struct submit_tally submitted;             /* as of the last check of a submit limit */
    const struct host_roots *host_roots;       /* NULL: none */
    const struct network_tiers *network_tiers; /* NULL: none */
    struct ip4_net service_network;
    const struct admission *admission; /* NULL: nobody is asked */
    const struct hook_caller *caller;
    struct pending_pod *pending_pods; /* admission contexts of pods that controllers make: a list */
    object_user_fn find_user;         /* NULL: unknown */
    object_member_fn is_member;       /* NULL: nobody is */
    void *find_user_arg;
    struct known_submitter submitters[SUBMITTERS_KEPT];
    int64_t job_next; /* the next job id; 0: not yet read from the store */
    struct account_clock clock;
    objects_accepted_fn on_slurm_job; /* NULL: nobody is told */
    void *on_slurm_job_arg;
};

/* A write under way. change_init fills `objects` and `request`, later steps the rest; change_done
 * frees. */
struct change {
    struct objects *objects;
    const struct objects_request *request;
    const struct kind *kind;
    struct kind_context who; /* with now_ns */
    struct store_key key;
    struct txn txn;
    int64_t version;        /* of the present object; 0: absent */
    json_t *before;         /* the present object, without resourceVersion; NULL: absent */
    json_t *after;          /* the new object; NULL: not yet known */
    bool is_removal;        /* `after` is the last state of a removed object */
    bool is_put;            /* PUT: reserved names that the client left out stay */
    int64_t job_id;         /* used when the transaction is accepted; 0: none */
    int64_t job_ids;        /* numbers from `job_id` on that it uses; 0: one */
    json_t *charged;        /* quotas after the transaction, array; NULL: none */
    bool is_apply;          /* a server-side apply */
    json_t *given_managers; /* managedFields that the client sent; NULL: none */
    json_t *managers;       /* managedFields of `after`; NULL: none */
};

/* The job numbers of the change are not given out again. */
void change_use_jobs(const struct change *c);

/* Unpredictable bytes, the same in each attempt of a write with an admission context. */
void change_random(const struct change *c, void *ret, size_t size);

/* objects_admission.c: webhooks and policies. Before the rules of a creation or update: lets
 * mutating webhooks change `after`, a decoded tree. */
struct err *hooks_mutate(struct change *c) MUST_CHECK;
/* Asks about the object that the write would leave, or about a deletion (`after` does not count).
 */
struct err *hooks_validate(struct change *c) MUST_CHECK;
struct err *hooks_delete(struct change *c) MUST_CHECK;

/* objects_pending.c: creations of pods by controllers, which try again while webhooks are asked */
bool pending_pod_is_for(const struct objects *o, const struct objects_request *r,
                        const json_t *object);
struct err *pending_pod_create(struct objects *o, const struct objects_request *r, json_t *object,
                               store_done_fn done, void *arg, json_t **ret) MUST_CHECK;
void pending_pods_free(struct objects *o);

/* objects_pod_account.c: the pod's service account, registry passwords and token */
struct err *pod_account_rules(struct change *c) MUST_CHECK;

void change_init(struct change *c, struct objects *o, const struct objects_request *r);
void change_done(struct change *c);
/* Reads the present object from the applied state. ERR_NOT_FOUND. */
struct err *change_load(struct change *c, const char *name) MUST_CHECK;
/* Commits `after` (or its removal) with the operations that the transaction holds already; writes
 * nothing if nothing changes or in a dry run. `*ret` is `after` with its resourceVersion. */
struct err *change_commit(struct change *c, store_done_fn done, void *arg, json_t **ret) MUST_CHECK;

/* All steps before a commit: they leave the new, checked object in `after`. */
struct err *change_create(struct change *c, json_t *object) MUST_CHECK;
struct err *change_patch(struct change *c, enum patch_type type, const json_t *patch) MUST_CHECK;
struct err *change_apply_config(struct change *c, const json_t *config) MUST_CHECK;
/* Decodes and checks `c->after`, the wanted tree, against `c->before`. */
struct err *change_replace(struct change *c) MUST_CHECK;
struct err *change_check_subresource(const struct change *c) MUST_CHECK;
/* The halves of change_commit: change_stage fills the transaction, change_accepted follows its
 * acceptance. */
struct err *change_stage(struct change *c, bool *ret_is_write) MUST_CHECK;
void change_accepted(struct change *c);

bool is_pod(const struct kind *k);
bool is_node(const struct kind *k);
bool is_namespace(const struct kind *k);

struct err *conflict(const struct change *c, const char *fmt, ...) PRINTF(2, 3) MUST_CHECK;
struct err *forbidden(const struct change *c, const char *fmt, ...) PRINTF(2, 3) MUST_CHECK;
/* `Pod "x" is invalid: FIELD: Forbidden: DETAIL` for one field "spec.nodeName". */
struct err *field_forbidden(const struct change *c, const char *field,
                            const char *detail) MUST_CHECK;

/* objects_meta.c */
struct err *meta_check_body(const struct change *c, const json_t *object) MUST_CHECK;
/* ERR_CONFLICT: `object` names another uid or version than the present object's. */
struct err *meta_check_preconditions(const struct change *c, const json_t *object) MUST_CHECK;
struct err *meta_create(struct change *c) MUST_CHECK;
void meta_make_name(struct change *c);
struct err *meta_update(struct change *c) MUST_CHECK;
struct err *meta_check_owners(const struct change *c) MUST_CHECK;
bool meta_has_finalizers(const struct change *c, const json_t *object);

/* objects_managed.c: managed_create follows the decoding of a new object; managed_take that of a
 * wanted one, and managed_update the rules of metadata. managed_put ends a write. */
void managed_create(struct change *c);
void managed_take(struct change *c);
void managed_update(struct change *c);
void managed_put(struct change *c);

/* objects_pod_security.c: privileges that only administrators may put into a PodSpec
 * (ERR_FORBIDDEN) */
struct err *pod_check_security(const struct change *c, const json_t *spec) MUST_CHECK;

/* objects_pod_host_paths.c: the hostPaths that a PodSpec may mount (ERR_FORBIDDEN). Administrators
 * may mount any; `metadata`, of the pod or of the template, then tells the node so. */
struct err *pod_check_host_paths(const struct change *c, const json_t *spec,
                                 json_t *metadata) MUST_CHECK;

/* objects_pod.c */
struct err *pod_create_rules(struct change *c) MUST_CHECK;
struct err *pod_update_rules(struct change *c) MUST_CHECK;
/* Is this a write of pods/ephemeralcontainers? */
bool is_of_ephemerals(const struct change *c);
/* The same for a template's spec, whose writer answers for its pods. Fills runAsUser. */
struct err *pod_template_rules(struct change *c, json_t *template) MUST_CHECK;
/* Put the job number and the user onto a submitted object, unless it has them. */
struct err *put_job_id(struct change *c) MUST_CHECK;
void put_user(struct change *c);
/*
 * The caller's uid, or -1. 0 counts for administrators only, so that an unset uid never means root.
 */
int64_t change_host_uid(const struct change *c);
/*
 * Can no container of the pod run any more? The pod never had a node, or its node reported its end.
 */
bool pod_is_over(const json_t *pod);

/* objects_job.c: rules of batch/v1 and apps/v1; other kinds pass */
struct err *batch_create_rules(struct change *c) MUST_CHECK;
struct err *batch_update_rules(struct change *c) MUST_CHECK;
/* A rollback (kubectl rollout undo) writes the annotations of an old ReplicaSet: the user stays. */
void batch_keep_user(struct change *c);

/* objects_definition.c: rules of CustomResourceDefinitions and of the creation of custom objects;
 * other kinds pass */
struct err *definition_create_rules(struct change *c) MUST_CHECK;
struct err *definition_update_rules(struct change *c) MUST_CHECK;
/* Before a deletion: keeps the definition until its objects are gone. */
void definition_delete_rules(struct change *c);

/* objects_service.c: rules of Services; other kinds pass */
/* Drops labels that are reserved: `kubectl expose` copies those of a pod. Warns. */
void service_drop_reserved(struct change *c);
struct err *service_create_rules(struct change *c) MUST_CHECK;
void service_keep_rules(struct change *c);
struct err *service_update_rules(struct change *c) MUST_CHECK;

/* objects_storage.c: rules of persistent volumes, their claims, and pods with claims; other kinds
 * pass */
struct err *storage_create_rules(struct change *c) MUST_CHECK;
struct err *storage_update_rules(const struct change *c) MUST_CHECK;

/* objects_classes.c: the default class of new objects, and what a pod gets from its RuntimeClass;
 * other kinds pass */
struct err *ingress_create_rules(struct change *c) MUST_CHECK;
struct err *runtime_class_rules(struct change *c) MUST_CHECK;
/* The newest of the classes that are the default, as in Kubernetes. NULL: none. New reference. */
struct err *class_find_default(const struct change *c, const struct store_range *classes,
                               bool (*is_default)(const json_t *class), json_t **ret) MUST_CHECK;

/* objects_slurm.c: rules of SlurmJobs, and of their pods' deletion; other kinds pass */
bool is_slurm_job(const struct kind *k);
struct err *slurm_create_rules(struct change *c) MUST_CHECK;
struct err *slurm_update_rules(struct change *c) MUST_CHECK;
struct err *slurm_delete_rules(const struct change *c) MUST_CHECK;

/* ERR_INVALID, in Slurm's words: the request of the new or changed job cannot be met. Fills what
 * the request leaves open. */
struct err *slurm_request_check(struct change *c) MUST_CHECK;
/* objects_slurm_fits.c: does the job name nodes and features that the nodes or slurm.conf have?
 * Without nodes nothing is known. */
struct err *slurm_names_check(const struct change *c) MUST_CHECK;
/* objects_slurm_fits.c: could empty nodes hold the job? Without nodes nothing is known. Sets how
 * many nodes the job gets where it does not say. */
struct slurm_ask;
struct err *slurm_fits_check(const struct change *c, const struct slurm_ask *ask) MUST_CHECK;

/* objects_slurm_revise.c: a changed request of a job that waits: checks it, counts the revision and
 * marks the job's pods as outdated. ERR_INVALID: an element runs or has ended. */
struct err *slurm_revise(struct change *c) MUST_CHECK;
/* ERR_CONFLICT: the new pod is of an older revision of its SlurmJob. Other pods pass. */
struct err *slurm_revision_check(const struct change *c) MUST_CHECK;

/* objects_slurm_submit.c: ERR_INVALID in Slurm's words: with the new job more jobs of its account,
 * user or QOS would wait or run than a limit allows. */
struct err *slurm_submit_check(struct change *c) MUST_CHECK;
/* A slurm_books.find over the applied state; `arg` is the change. */
json_t *slurm_find_book(void *arg, const char *plural, const char *name);

/* objects_slurm_step.c: rules of SlurmSteps, which get their names from the server; other kinds
 * pass */
bool is_slurm_step(const struct kind *k);
struct err *slurm_step_create_rules(struct change *c) MUST_CHECK;
struct err *slurm_step_update_rules(struct change *c) MUST_CHECK;
struct err *slurm_step_delete_rules(const struct change *c) MUST_CHECK;

/* objects_slurm_partition.c: chooses the partitions of a new job, and fills what the job leaves to
 * them and to the settings of the SlurmConfig. */
struct err *slurm_partition_rules(struct change *c) MUST_CHECK;
/* ERR_CONFLICT: a partition is to be deleted that has jobs. Other kinds pass. */
struct err *slurm_partition_delete_rules(const struct change *c) MUST_CHECK;
/* The most cpus that a partition of the job gives it on a node; 0: any number. */
int64_t slurm_partitions_cpus(const struct change *c);
/* The names of the nodes of the job's partitions, as the keys of an object; NULL: all nodes. New
 * reference. */
json_t *slurm_partitions_nodes(const struct change *c);

/* objects_bind.c */
struct err *bind_create(struct objects *o, const struct objects_request *r, json_t *binding,
                        store_done_fn done, void *arg, json_t **ret) MUST_CHECK;

/* objects_version.c: the request in the stored version, for a kind that is kept_as another */
struct objects_request version_kept(const struct objects_request *r);
/* Decodes the object, and converts it to the stored form. */
struct err *version_take(const struct objects_request *r, json_t *object, bool is_new) MUST_CHECK;
/* Converts the written object back to the request's version; other trees stay. */
void version_give(const struct objects_request *r, json_t **object);
struct err *version_patch(struct objects *o, const struct objects_request *r, enum patch_type type,
                          const json_t *patch, json_t **ret) MUST_CHECK;
