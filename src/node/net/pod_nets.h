/*
 * pod_nets.h - the networks of this node's pods: a network namespace and an address for each
 *
 * DATA/node/net has a record for each pod (`pods/UID`), written before its network is made and
 * removed after it is gone, the namespaces (`ns/UID`) and the addresses given out (`ipam`). A new
 * process adopts the networks of the records. A network whose making was interrupted, or whose
 * namespace is gone, is taken down first. After a restart of the machine nothing of it is left, and
 * all records are dropped.
 */
#pragma once

#include <sys/types.h>

#include "base/json.h"
#include "base/loop.h"
#include "model/ip4.h"
#include "node/worker.h"

struct pod_nets;

enum pod_net_state {
    POD_NET_MAKING,
    POD_NET_READY,
    POD_NET_FAILED, /* tried again by itself */
    POD_NET_ENDING
};

/* A pod's network, as others see it. */
struct pod_net {
    enum pod_net_state state;
    const char *address; /* NULL: not known yet */
    const char *netns;   /* the path of its namespace */
    const char *problem; /* in POD_NET_FAILED */
    const json_t *ports; /* net_host_ports */
    const json_t *facts; /* net_facts; NULL: the pod's object is not known yet */
    const char *link;    /* the machine's end of the pod's veth pair; NULL: not known yet */
};

struct pod_nets_options {
    struct loop *loop;
    struct worker *worker;
    const char *dir;     /* DATA/node */
    const char *cni_dir; /* NULL: CNI_DIR */
    const char *boot_id; /* of the running kernel */
    struct ip4_net network;
    void (*changed)(void *arg, const char *uid); /* a network is ready, failed or gone */
    void *arg;
};

/* Makes the gateway's address, and adopts. ERR_NOT_FOUND: a CNI plugin is not installed. */
struct err *pod_nets_new(const struct pod_nets_options *o, struct pod_nets **ret) MUST_CHECK;
void pod_nets_free(struct pod_nets *n); /* accepts NULL; networks stay */

/* Begins to make the network of a pod that has none. */
void pod_nets_begin(struct pod_nets *n, const json_t *pod);
/* Takes over the facts of the pod's new object, if the pod has a network. */
void pod_nets_describe(struct pod_nets *n, const json_t *pod);
/* False: the pod has none. `*ret` is borrowed until the loop runs again. */
bool pod_nets_find(const struct pod_nets *n, const char *uid, struct pod_net *ret);
/* Begins to take the network down, and tries until it is gone. A pod without one is no error. */
void pod_nets_end(struct pod_nets *n, const char *uid);
/* Takes down the networks of pods for which `is_known` is false. */
void pod_nets_keep(struct pod_nets *n, bool (*is_known)(void *arg, const char *uid), void *arg);
/* Calls `fn` for each network that is ready. */
void pod_nets_each(const struct pod_nets *n,
                   void (*fn)(void *arg, const char *uid, const struct pod_net *net), void *arg);
