/* pod_network.c - the network of a pod: its own, or the machine's */

#include "node/net/net_config.h"
#include "node/net/net_services.h"
#include "node/net/pod_nets.h"
#include "node/pod/pod.h"

enum {
    HOSTNAME_MAX = 63
};

static bool wants_network(const struct pod *p)
{
    return p->set->o.nets && p->object && net_is_wanted(p->object);
}

static void refuse_waiting(struct pod *p, const char *problem)
{
    for (size_t i = 0; problem && i < p->n_containers; i++)
        if (p->containers[i].state == CONTAINER_WAITING)
            container_refuse(p, &p->containers[i], "NetworkNotReady", problem);
}

/* No container starts before the rules hold for the pod. */
static bool has_rules(struct pod *p)
{
    const struct net_services *services = p->set->o.services;
    const char *problem = NULL;

    p->awaits_rules = services && !net_services_cover(services, p->uid, &problem);
    if (p->awaits_rules)
        refuse_waiting(p, problem);
    return !p->awaits_rules;
}

bool pod_network_ready(struct pod *p)
{
    struct pod_nets *nets = p->set->o.nets;
    struct pod_net net = {0};

    if (!wants_network(p))
        return true;
    if (!pod_nets_find(nets, p->uid, &net) || net.state == POD_NET_ENDING) {
        pod_nets_begin(nets, p->object);
        return false;
    }
    if (net.state == POD_NET_FAILED)
        refuse_waiting(p, net.problem);
    return net.state == POD_NET_READY && has_rules(p);
}

bool pod_takes_connections(struct pod *p)
{
    const struct net_services *services = p->set->o.services;
    struct pod_net net = {0};

    p->awaits_rules = services && wants_network(p) && pod_nets_find(p->set->o.nets, p->uid, &net) &&
                      net.address && net_services_lead_to(services, net.address);
    return p->awaits_rules;
}

void pods_rules_changed(struct pods *set)
{
    struct pod *p = NULL;
    struct pod *next = NULL;

    map_each (handle, set->pods, p, next)
        if (p->awaits_rules)
            pod_step(p);
}

void pod_network_end(struct pod *p)
{
    if (p->set->o.nets)
        pod_nets_end(p->set->o.nets, p->uid);
}

bool pod_has_network(const struct pod *p)
{
    struct pod_net net = {0};

    return wants_network(p) && pod_nets_find(p->set->o.nets, p->uid, &net);
}

char *pod_netns(const struct pod *p)
{
    struct pod_net net = {0};

    if (!wants_network(p) || !pod_nets_find(p->set->o.nets, p->uid, &net))
        return NULL;
    return mem_strdup(net.netns);
}

/* An ended pod keeps the address in its status. */
const char *pod_address(const struct pod *p)
{
    struct pod_net net = {0};
    const char *told = json_text(p->status, "podIP");

    if (!wants_network(p))
        return p->set->o.host->address;
    if (pod_nets_find(p->set->o.nets, p->uid, &net) && net.state == POD_NET_READY)
        return net.address;
    return told ? told : json_text_at(p->object, "status", "podIP", NULL);
}

char *pod_hostname(const struct pod *p)
{
    const char *name = json_text_filled(json_object_get(p->object, "spec"), "hostname");
    size_t size;

    if (!name && !wants_network(p))
        return mem_strdup(p->set->o.host->hostname);
    if (!name)
        name = p->name;
    size = strlen(name) < HOSTNAME_MAX ? strlen(name) : HOSTNAME_MAX;
    while (size > 1 && (name[size - 1] == '-' || name[size - 1] == '.'))
        size--;
    return mem_strndup(name, size);
}

void pods_network_changed(struct pods *set, const char *uid)
{
    struct pod *p = pods_find(set, uid);

    if (p)
        pod_step(p);
}

char *pods_netns(const struct pods *set, const char *uid)
{
    struct pod *p = NULL;

    map_find_text(handle, set->pods, uid, p);
    return p ? pod_netns(p) : NULL;
}
