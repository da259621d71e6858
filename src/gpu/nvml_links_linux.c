/* nvml_links_linux.c - connections between gpus, by NVML: NVLink, NVSwitch, PCIe, NVLink domains */

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "gpu/nvml_private.h"

enum {
    P2P_NVLINK = 2,
    LINKS_READ_MAX = 36
};

void nvml_links_load(struct gpu_driver *d)
{
    LOAD(d, links.fabric, "nvmlDeviceGetGpuFabricInfo", NULL);
    LOAD(d, links.state, "nvmlDeviceGetNvLinkState", NULL);
    LOAD(d, links.remote_type, "nvmlDeviceGetNvLinkRemoteDeviceType", NULL);
    LOAD(d, links.remote_pci, "nvmlDeviceGetNvLinkRemotePciInfo_v2",
         "nvmlDeviceGetNvLinkRemotePciInfo");
    LOAD(d, links.ancestor, "nvmlDeviceGetTopologyCommonAncestor", NULL);
    LOAD(d, links.p2p, "nvmlDeviceGetP2PStatus", NULL);
}

/* Active NVLinks of a gpu by their other ends. */
struct nvml_links {
    int n;         /* -1: the gpu has no NVLink */
    int to_switch; /* to NVSwitches */
    int to_peer;   /* to the gpu that the caller asks for */
};

static bool is_same_device(const struct nvmlPciInfo *a, const struct nvmlPciInfo *b)
{
    return a->domain == b->domain && a->bus == b->bus && a->device == b->device;
}

/* `peer` may be NULL. */
static struct nvml_links count_links(const struct gpu_driver *d, nvmlDevice_t device,
                                     const struct nvmlPciInfo *peer)
{
    struct nvml_links found = {.n = -1};

    for (unsigned i = 0; i < LINKS_READ_MAX; i++) {
        struct nvmlPciInfo remote = {0};
        unsigned is_active = 0;
        unsigned type = NVML_LINK_REMOTE_UNKNOWN;

        if (CALL(d->links.state, device, i, &is_active) != NVML_SUCCESS)
            break;
        found.n = (found.n < 0 ? 0 : found.n) + (is_active == 1);
        if (is_active != 1 || CALL(d->links.remote_type, device, i, &type) != NVML_SUCCESS)
            continue;
        if (type == NVML_LINK_REMOTE_SWITCH)
            found.to_switch++;
        else if (peer && type == NVML_LINK_REMOTE_GPU &&
                 CALL(d->links.remote_pci, device, i, &remote) == NVML_SUCCESS &&
                 is_same_device(&remote, peer))
            found.to_peer++;
    }
    return found;
}

/* Reads the NVLink domain of several machines: "CLUSTER-UUID.CLIQUE". */
static void read_clique(const struct gpu_driver *d, nvmlDevice_t device, struct gpu *g)
{
    static const char *const states[] = {"", "not started", "in progress", "completed"};
    static const unsigned char none[16];
    struct nvmlGpuFabricInfo f = {.state = 0};
    const unsigned char *u = f.clusterUuid;

    if (CALL(d->links.fabric, device, &f) != NVML_SUCCESS || f.state >= COUNT(states))
        return;
    (void)snprintf(g->fabric, sizeof(g->fabric), "%s",
                   f.state == NVML_FABRIC_COMPLETED && f.status != NVML_SUCCESS ? "failed"
                                                                                : states[f.state]);
    if (f.state != NVML_FABRIC_COMPLETED || f.status != NVML_SUCCESS ||
        memcmp(u, none, sizeof(none)) == 0)
        return;
    (void)snprintf(g->clique, sizeof(g->clique),
                   "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x.%u", u[0],
                   u[1], u[2], u[3], u[4], u[5], u[6], u[7], u[8], u[9], u[10], u[11], u[12], u[13],
                   u[14], u[15], f.cliqueId);
}

void nvml_links_read(struct gpu_driver *d, nvmlDevice_t device, struct gpu *g)
{
    struct nvml_links found = count_links(d, device, NULL);

    g->n_links = found.n;
    if (found.n >= 0)
        g->n_switch_links = found.to_switch;
    read_clique(d, device, g);
}

bool gpu_driver_are_linked(struct gpu_driver *d, unsigned a, unsigned b)
{
    nvmlDevice_t device = NULL;
    nvmlDevice_t other = NULL;
    unsigned status = 1;

    if (d->by_index(a, &device) != NVML_SUCCESS || d->by_index(b, &other) != NVML_SUCCESS)
        return false;
    return CALL(d->links.p2p, device, other, P2P_NVLINK, &status) == NVML_SUCCESS && status == 0;
}

/* The number of NVLinks that connect two linked gpus, by themselves or over NVSwitches. */
static int count_between(const struct gpu_driver *d, nvmlDevice_t a, nvmlDevice_t b)
{
    struct nvmlPciInfo pci = {0};
    struct nvml_links of_a = {0};
    struct nvml_links of_b = {0};

    if (CALL(d->pci, b, &pci) != NVML_SUCCESS)
        return 0;
    of_a = count_links(d, a, &pci);
    if (of_a.to_peer > 0)
        return of_a.to_peer;
    of_b = count_links(d, b, NULL);
    return of_a.to_switch < of_b.to_switch ? of_a.to_switch : of_b.to_switch;
}

/* The name of the farthest part of a way over PCIe. */
static const char *level_name(unsigned level)
{
    switch (level) {
    case NVML_TOPOLOGY_INTERNAL: /* two gpus of one board, behind the board's own switch */
    case NVML_TOPOLOGY_SINGLE:
        return "PIX";
    case NVML_TOPOLOGY_MULTIPLE:
        return "PXB";
    case NVML_TOPOLOGY_HOSTBRIDGE:
        return "PHB";
    case NVML_TOPOLOGY_NODE:
        return "NODE";
    case NVML_TOPOLOGY_SYSTEM:
        return "SYS";
    default:
        return "";
    }
}

void gpu_driver_connection(struct gpu_driver *d, unsigned a, unsigned b,
                           char ret[GPU_CONNECTION_SIZE])
{
    nvmlDevice_t device = NULL;
    nvmlDevice_t other = NULL;
    unsigned level = UINT32_MAX;
    int n = 0;

    ret[0] = '\0';
    if (d->by_index(a, &device) != NVML_SUCCESS || d->by_index(b, &other) != NVML_SUCCESS)
        return;
    if (gpu_driver_are_linked(d, a, b))
        n = count_between(d, device, other);
    if (n > 0)
        (void)snprintf(ret, GPU_CONNECTION_SIZE, "NV%d", n);
    else if (CALL(d->links.ancestor, device, other, &level) == NVML_SUCCESS)
        (void)snprintf(ret, GPU_CONNECTION_SIZE, "%s", level_name(level));
}
