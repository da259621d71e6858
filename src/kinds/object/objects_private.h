/* objects_private.h - one write under way, and the rules that objects_*.c share */
#pragma once

#include "kinds/account/account.h"
#include "kinds/object/objects.h"
#include "kinds/object/txn.h"

struct objects {
    struct store *store;
    struct loop *loop;
    void (*random)(void *arg, void *ret, size_t size);
    void *arg;
    struct json_pool *pool;                    /* of objects that are only read */
    struct tree_cache *trees;                  /* of quotas, limit ranges and priority classes */
    const struct host_roots *host_roots;       /* NULL: none */
    const struct network_tiers *network_tiers; /* NULL: none */
    char *api_host;                            /* NULL: not known */
    char *api_port;
    int64_t job_next; /* the next job id; 0: not read from the store yet */
    struct account_clock clock;
};

/* {.objects, .request} is filled by change_init, the rest on the way; change_done frees. */
struct change {
    struct objects *objects;
    const struct objects_request *request;
    const struct kind *kind;
    struct kind_context who; /* with now_ns */
    struct store_key key;
    struct txn txn;
    int64_t version; /* of what is there; 0: nothing */
    json_t *before;  /* what is there, without resourceVersion; NULL: nothing */
    json_t *after;   /* what will be; NULL: not known yet */
    bool is_removal; /* `after` is the last state of an object that goes */
    bool is_put;     /* PUT: what the client left out of the reserved names stays */
    int64_t job_id;  /* taken when the transaction is accepted; 0: none */
    json_t *charged; /* quotas as the transaction leaves them, array; NULL: none */
};

/* objects_pod_account.c: service account, its registry passwords and token. */
struct err *pod_account_rules(struct change *c) MUST_CHECK;

void change_init(struct change *c, struct objects *o, const struct objects_request *r);
void change_done(struct change *c);
/* Reads what is there, by what is applied. ERR_NOT_FOUND. */
struct err *change_load(struct change *c, const char *name) MUST_CHECK;
/*
 * Commits `after` (or its removal) and what the transaction holds already; nothing where nothing
 * changes or the run is dry. `*ret` is `after` with its resourceVersion.
 */
struct err *change_commit(struct change *c, store_done_fn done, void *arg, json_t **ret) MUST_CHECK;

/* All that comes before a commit: `after` is what will be, checked, and where. */
struct err *change_create(struct change *c, json_t *object) MUST_CHECK;
struct err *change_patch(struct change *c, enum patch_type type, const json_t *patch) MUST_CHECK;
/* The halves of change_commit: into the transaction; and what follows once that is accepted. */
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
/* ERR_CONFLICT where `object` names another uid or version than what is there. */
struct err *meta_check_preconditions(const struct change *c, const json_t *object) MUST_CHECK;
struct err *meta_create(struct change *c) MUST_CHECK;
void meta_make_name(struct change *c);
struct err *meta_update(struct change *c) MUST_CHECK;
struct err *meta_check_owners(const struct change *c) MUST_CHECK;
bool meta_has_finalizers(const struct change *c, const json_t *object);

/* objects_pod_security.c: what of a PodSpec's rights is for administrators (ERR_FORBIDDEN) */
struct err *pod_check_security(const struct change *c, const json_t *spec) MUST_CHECK;

/*
 * objects_pod_host_paths.c: where hostPaths of a PodSpec may be (ERR_FORBIDDEN). For administrators
 * anywhere, which `metadata`, of the pod or of the template, tells the node.
 */
struct err *pod_check_host_paths(const struct change *c, const json_t *spec,
                                 json_t *metadata) MUST_CHECK;

/* objects_pod.c */
struct err *pod_create_rules(struct change *c) MUST_CHECK;
struct err *pod_update_rules(struct change *c) MUST_CHECK;
/* The same of a template's spec: who writes it answers for what its pods do. Fills runAsUser. */
struct err *pod_template_rules(struct change *c, json_t *template) MUST_CHECK;
/* Labels and annotations of what is submitted: its number and by whom, unless they are there. */
struct err *put_job_id(struct change *c) MUST_CHECK;
void put_user(struct change *c);
/* Whether nothing of it can run any more: it never had a node, or its node told its end. */
bool pod_is_over(const json_t *pod);

/* objects_job.c: nothing for kinds outside batch/v1 */
struct err *batch_create_rules(struct change *c) MUST_CHECK;
struct err *batch_update_rules(struct change *c) MUST_CHECK;

/* objects_bind.c */
struct err *bind_create(struct objects *o, const struct objects_request *r, json_t *binding,
                        store_done_fn done, void *arg, json_t **ret) MUST_CHECK;

/* objects_version.c: of a request whose kind is kept_as another */
struct objects_request version_kept(const struct objects_request *r);
/* Decodes, and turns into the stored form. */
struct err *version_take(const struct objects_request *r, json_t *object, bool is_new) MUST_CHECK;
/* What was written, back in the request's version; anything else stays. */
void version_give(const struct objects_request *r, json_t **object);
struct err *version_patch(struct objects *o, const struct objects_request *r, enum patch_type type,
                          const json_t *patch, json_t **ret) MUST_CHECK;
