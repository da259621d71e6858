/* pod_resources.c - who has which gpu of this machine, as its kubelet says */

#include "kubelet/pod_resources.h"

#include <stdio.h>

#include "base/mem.h"
#include "base/stamp.h"
#include "kubelet/grpc/grpc_client.h"
#include "kubelet/plugin_answer.h"
#include "kubelet/podresources.pb-c.h"

#define ASK_TIMEOUT_NS (10 * NS_PER_SEC)

struct pod_resources {
    struct pod_resources_options o;
    char *socket;
    struct grpc_request *request; /* under way */
};

void pod_resource_list_done(struct pod_resource_list *l)
{
    VEC_EACH (&l->all, r) {
        free(r->ns);
        free(r->pod);
        free(r->container);
    }
    vec_done(&l->all);
}

/* The pod and container of a device. */
struct resource_place {
    const Podresources__PodResources *pod;
    const Podresources__ContainerResources *container;
    struct pod_resource_list *list;
};

/* Adds the device once, of however many replicas. */
static void add_uuid(const struct resource_place *at, const char *uuid, size_t size)
{
    struct pod_resource r = {0};

    if (size == 0 || size >= sizeof(r.uuid) ||
        !(text_starts_with(uuid, "GPU-") || text_starts_with(uuid, "MIG-")))
        return;
    memcpy(r.uuid, uuid, size);
    VEC_EACH (&at->list->all, known)
        if (text_equal(known->uuid, r.uuid) && text_equal(known->pod, at->pod->name) &&
            text_equal(known->ns, at->pod->namespace_) &&
            text_equal(known->container, at->container->name))
            return;
    r.ns = mem_strdup(at->pod->namespace_);
    r.pod = mem_strdup(at->pod->name);
    r.container = mem_strdup(at->container->name);
    vec_add(&at->list->all, r);
}

static void add_claim(const struct resource_place *at, const Podresources__DynamicResource *d)
{
    static const char kind[] = PLUGIN_CDI_KIND "=";

    for (size_t i = 0; i < d->n_claim_resources; i++)
        for (size_t k = 0; k < d->claim_resources[i]->n_cdi_devices; k++) {
            const char *name = d->claim_resources[i]->cdi_devices[k]->name;

            if (text_starts_with(name, kind))
                add_uuid(at, name + strlen(kind), strlen(name + strlen(kind)));
        }
}

static void add_container(const struct resource_place *at)
{
    for (size_t i = 0; i < at->container->n_devices; i++) {
        const Podresources__ContainerDevices *d = at->container->devices[i];

        for (size_t k = 0; k < d->n_device_ids; k++) {
            const char *end = strstr(d->device_ids[k], "::");

            add_uuid(at, d->device_ids[k],
                     end ? (size_t)(end - d->device_ids[k]) : strlen(d->device_ids[k]));
        }
    }
    for (size_t i = 0; i < at->container->n_dynamic_resources; i++)
        add_claim(at, at->container->dynamic_resources[i]);
}

struct err *pod_resource_list_parse(struct str message, struct pod_resource_list *ret)
{
    Podresources__ListPodResourcesResponse *list =
        podresources__list_pod_resources_response__unpack(NULL, message.size,
                                                          (const uint8_t *)message.at);

    if (!list)
        return err_new(ERR_INVALID, "malformed ListPodResourcesResponse");
    for (size_t i = 0; i < list->n_pod_resources; i++)
        for (size_t k = 0; k < list->pod_resources[i]->n_containers; k++)
            add_container(
                &(struct resource_place){.pod = list->pod_resources[i],
                                         .container = list->pod_resources[i]->containers[k],
                                         .list = ret});
    podresources__list_pod_resources_response__free_unpacked(list, NULL);
    return NULL;
}

static void on_resources(void *arg, const struct err *e, struct str message)
{
    struct pod_resources *p = arg;
    struct pod_resource_list list = {0};
    AUTO(err_freep)
    struct err *failure = e ? err_new(err_code(e), "%s: %s", p->socket, err_message(e))
                            : pod_resource_list_parse(message, &list);

    p->request = NULL;
    p->o.answered(p->o.arg, failure, failure ? NULL : &list);
    pod_resource_list_done(&list);
}

void pod_resources_ask(struct pod_resources *p)
{
    if (p->request)
        return;
    p->request =
        grpc_request_new(&(struct grpc_request_options){.loop = p->o.loop,
                                                        .socket = p->socket,
                                                        .path = "/v1.PodResourcesLister/List",
                                                        .message = STR(""),
                                                        .timeout_ns = ASK_TIMEOUT_NS,
                                                        .done = on_resources,
                                                        .arg = p});
}

struct pod_resources *pod_resources_new(const struct pod_resources_options *o)
{
    struct pod_resources *p = mem_alloc(sizeof(*p));

    *p = (struct pod_resources){
        .o = *o, .socket = mem_format("%s/pod-resources/kubelet.sock", o->kubelet_dir)};
    return p;
}

void pod_resources_free(struct pod_resources *p)
{
    if (!p)
        return;
    grpc_request_free(p->request);
    free(p->socket);
    free(p);
}
