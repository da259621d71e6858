/* podsets_private.h - the kinds of sets of pods */
#pragma once

#include "control/apps/app_pods.h"
#include "control/apps/podsets.h"
#include "control/apps/revisions.h"
#include "control/apps/set_claims.h"

/* A node, as DaemonSets see it. */
struct daemon_node {
    struct map_handle handle;
    char *name;
    json_t *seen; /* {metadata: {labels}, taints} */
};

struct podsets {
    struct apps_loop *loop;
    struct revisions *revisions;
    struct daemon_node *nodes;
    struct set_claims *claims;
};

extern const struct app_kind app_replicaset;            /* replicasets.c */
extern const struct app_kind app_replicationcontroller; /* replicasets.c */
extern const struct app_kind app_statefulset;           /* statefulsets.c */
extern const struct app_kind app_daemonset;             /* daemonsets.c */

/* daemonsets_nodes.c */
void daemon_put_node(struct podsets *s, const char *name, const json_t *node);
void daemon_remove_node(struct podsets *s, const char *name);
void daemon_forget_nodes(struct podsets *s);
/* Should the node have a pod of this tree: do its selector and affinity match, and does it tolerate
 * the node's taints? `ret_stays`: a pod that runs there may stay. */
bool daemon_wants_node(const json_t *pod, const struct daemon_node *node, bool *ret_stays);
/* Makes a pod one of the node: its affinity names the node. */
void daemon_pin(json_t *pod, const char *node);
/* The node that the pod is for; NULL: none. */
const char *daemon_node_of(const json_t *pod);
/* The tolerations that each daemon pod has. */
void daemon_tolerate(json_t *pod);
