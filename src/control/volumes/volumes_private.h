/* volumes_private.h - what the parts of the loop share */
#pragma once

#include "base/map.h"
#include "base/vec.h"
#include "control/turns.h"
#include "control/volumes/volumes.h"
#include "kinds/storage/storage.h"

enum vol_kind {
    VOL_CLASS,
    VOL_NODE,
    VOL_VOLUME,
    VOL_CLAIM,
    VOL_POD, /* with claims */
    VOL_KINDS
};

/* An object that the loop keeps. */
struct vol_item {
    struct turn_item item; /* first */
    struct map_handle handle;
    struct volumes_loop *loop;
    enum vol_kind kind;
    char *key; /* "ns/name", "/name" */
    char *ns;
    char *name;
    char *uid;
    json_t *tree;
    int64_t version; /* of `tree` */
    int64_t written; /* of our last write: the tree is old while this is larger */
    char *told;      /* of a claim: the last event; NULL: none */
    bool is_missed;  /* of a claim: its volume was not there at the last look */
};

/* The pods that name a claim. */
struct vol_users {
    struct map_handle handle;
    char *key; /* of the claim */
    VEC(struct vol_item *) pods;
};

struct volumes_loop {
    struct volumes_options options;
    struct turns *turns;
    struct vol_item *all[VOL_KINDS];
    struct vol_users *users;
};

/* volumes.c */
struct vol_item *vol_find(const struct volumes_loop *l, enum vol_kind kind, const char *ns,
                          const char *name);
/* Is a write of ours younger than the tree? Its news pokes the item. */
bool vol_is_stale(const struct vol_item *v);
bool vol_is_deleting(const struct vol_item *v);
/* The pods that name the claim; NULL: none. */
const struct vol_users *vol_users_of(const struct volumes_loop *l, const char *ns,
                                     const char *claim);
/* Patches this version of the object. Takes `patch`. A failure is tried again. */
void vol_patch(struct vol_item *v, const char *subresource, json_t *patch);
/* Commits all or nothing; `items` (NULL: created) are those of `writes`. Frees the trees. */
bool vol_commit(struct volumes_loop *l, struct cluster_write *writes, struct vol_item **items,
                size_t n);
/* A write of a patch of this version of the object, for vol_commit. Takes `patch`. */
struct cluster_write vol_write(const struct vol_item *v, json_t *patch);
/* Removes a finalizer, if the object has it. True: it is being removed. */
bool vol_drop_finalizer(struct vol_item *v, const char *name);
/* Tells about a claim, once. */
void vol_tell(struct vol_item *claim, bool is_warning, const char *reason, const char *message);

/* volumes_claims.c */
void vol_claim_look(struct vol_item *claim);
/* The class of a claim; NULL: none, or it is missing. */
const struct vol_item *vol_class_of(const struct vol_item *claim);
bool vol_class_waits(const struct vol_item *class);
bool vol_class_is_local(const struct vol_item *class);
/* The volume that a claim is bound to, both ways; NULL: none. */
const struct vol_item *vol_bound(const struct vol_item *claim);
/* The waiting and running pods of a claim. */
struct vol_consumers {
    size_t n;
    const char *node; /* of one that is placed; NULL: none is */
    bool is_let_go;   /* one may be placed anywhere now */
    struct vol_item *first;
};
struct vol_consumers vol_consumers_of(const struct vol_item *claim);

/* volumes_bind.c */
/* Binds a claim to an existing volume. */
void vol_bind(struct vol_item *claim, struct vol_item *volume);
/* Makes a volume on the node, bound to the claim. */
void vol_provision(struct vol_item *claim, const struct vol_item *class, const char *node);
/* The best existing volume for the claim; NULL: none. */
struct vol_item *vol_match(const struct vol_item *claim);
/* A ready node for the claim, which `pod` (may be NULL) will use; NULL: none. */
const char *vol_choose_node(struct volumes_loop *l, const json_t *pod);

/* volumes_volumes.c */
void vol_volume_look(struct vol_item *volume);

/* volumes_pods.c */
void vol_pod_look(struct vol_item *pod);
