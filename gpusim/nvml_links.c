/* nvml_links.c - places of emulated gpus: NVLink, NVSwitch fabric, PCIe, CPUs, peer to peer */

#include <string.h>

#include "library.h"

enum {
    FABRIC_HEALTHY = 1
};

static int give_link(const struct gpusim_gpu *g, unsigned link, const struct gpusim_link **ret)
{
    if (link >= NVML_LINKS_MAX)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (link >= g->n_links)
        return NVML_ERROR_NOT_SUPPORTED;
    *ret = &g->links[link];
    return NVML_SUCCESS;
}

FUNCTION(nvmlDeviceGetNvLinkState, nvmlDevice_t device, unsigned link, unsigned *out)
{
    const struct gpusim_link *l = NULL;
    int result;
    ENTER(device, g);

    result = give_link(g, link, &l);
    return result ? result : give(l->is_active, out);
}

FUNCTION(nvmlDeviceGetNvLinkVersion, nvmlDevice_t device, unsigned link, unsigned *out)
{
    const struct gpusim_link *l = NULL;
    int result;
    ENTER(device, g);

    result = give_link(g, link, &l);
    return result ? result : give(g->architecture >= 9 ? 4 : 3, out);
}

FUNCTION(nvmlDeviceGetNvLinkCapability, nvmlDevice_t device, unsigned link, unsigned capability,
         unsigned *out)
{
    const struct gpusim_link *l = NULL;
    int result;
    ENTER(device, g);

    result = give_link(g, link, &l);
    if (result)
        return result;
    return capability <= 5 ? give(capability != 4, out) : NVML_ERROR_INVALID_ARGUMENT;
}

FUNCTION(nvmlDeviceGetNvLinkRemoteDeviceType, nvmlDevice_t device, unsigned link, unsigned *out)
{
    const struct gpusim_link *l = NULL;
    int result;
    ENTER(device, g);

    result = give_link(g, link, &l);
    return result ? result : give(l->remote_type, out);
}

FUNCTION(nvmlDeviceGetNvLinkRemotePciInfo_v2, nvmlDevice_t device, unsigned link,
         struct nvmlPciInfo *out)
{
    const struct gpusim_link *l = NULL;
    int result;
    ENTER(device, g);

    result = give_link(g, link, &l);
    if (result)
        return result;
    if (!out)
        return NVML_ERROR_INVALID_ARGUMENT;
    *out = (struct nvmlPciInfo){0};
    return pci_fill(l->remote_pci, out);
}

static unsigned level_of(const struct gpusim_gpu *a, const struct gpusim_gpu *b)
{
    static const unsigned levels[] = {NVML_TOPOLOGY_SINGLE, NVML_TOPOLOGY_MULTIPLE,
                                      NVML_TOPOLOGY_HOSTBRIDGE};

    for (unsigned i = 0; i < sizeof(levels) / sizeof(levels[0]); i++)
        if (a->pcie_groups[i] == b->pcie_groups[i])
            return levels[i];
    return a->numa_node == b->numa_node ? NVML_TOPOLOGY_NODE : NVML_TOPOLOGY_SYSTEM;
}

FUNCTION(nvmlDeviceGetTopologyCommonAncestor, nvmlDevice_t device, nvmlDevice_t other,
         unsigned *out)
{
    ENTER(device, a);
    ENTER(other, b);

    return give(a == b ? NVML_TOPOLOGY_INTERNAL : level_of(a, b), out);
}

FUNCTION(nvmlDeviceGetTopologyNearestGpus, nvmlDevice_t device, unsigned level, unsigned *count,
         nvmlDevice_t *out)
{
    unsigned room;
    unsigned n = 0;
    ENTER(device, g);

    if (!count)
        return NVML_ERROR_INVALID_ARGUMENT;
    room = *count;
    for (unsigned i = 0; i < library_view.n; i++) {
        if (library_view.gpus[i] == g || level_of(g, library_view.gpus[i]) != level)
            continue;
        if (out && n < room)
            out[n] = (nvmlDevice_t)(uintptr_t)library_view.gpus[i];
        n++;
    }
    *count = n;
    return out && n > room ? NVML_ERROR_INSUFFICIENT_SIZE : NVML_SUCCESS;
}

/* Index 2 asks for NVLink; the other capabilities work across a PCIe root, too. Status 5: not
 * supported. */
FUNCTION(nvmlDeviceGetP2PStatus, nvmlDevice_t device, nvmlDevice_t other, unsigned index,
         unsigned *out)
{
    ENTER(device, a);
    ENTER(other, b);

    if (index > 4)
        return NVML_ERROR_INVALID_ARGUMENT;
    return give(index == 2 && !view_are_linked(a, b) ? 5 : 0, out);
}

FUNCTION(nvmlDeviceGetGpuFabricInfo, nvmlDevice_t device, struct nvmlGpuFabricInfo *out)
{
    ENTER(device, g);

    if (!out)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (g->fabric_state == 0)
        return NVML_ERROR_NOT_SUPPORTED;
    *out = (struct nvmlGpuFabricInfo){.cliqueId = g->fabric_clique,
                                      .state = (unsigned char)g->fabric_state};
    memcpy(out->clusterUuid, g->fabric_cluster, sizeof(out->clusterUuid));
    return NVML_SUCCESS;
}

FUNCTION(nvmlDeviceGetGpuFabricInfoV, nvmlDevice_t device, struct nvmlGpuFabricInfo_v3 *out)
{
    struct nvmlGpuFabricInfo info = {0};
    int result = nvmlDeviceGetGpuFabricInfo(device, &info);

    if (!out)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (out->version != NVML_GPU_FABRIC_INFO_V2 && out->version != NVML_GPU_FABRIC_INFO_V3)
        return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    if (result != NVML_SUCCESS)
        return result;
    memcpy(out->clusterUuid, info.clusterUuid, sizeof(out->clusterUuid));
    out->status = info.status;
    out->cliqueId = info.cliqueId;
    out->state = info.state;
    out->healthMask = 0;
    if (out->version == NVML_GPU_FABRIC_INFO_V3)
        out->healthSummary = FABRIC_HEALTHY;
    return NVML_SUCCESS;
}

/* The sets of CPUs and of NUMA nodes are arrays of words, the lowest number in the lowest bit. */
static int give_set(unsigned first, unsigned n, unsigned words, unsigned long *out)
{
    unsigned word_bits = 8 * sizeof(*out);

    if (!out || words == 0)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (n == 0)
        return NVML_ERROR_NOT_SUPPORTED;
    memset(out, 0, words * sizeof(*out));
    for (unsigned i = first; i < first + n && i / word_bits < words; i++)
        out[i / word_bits] |= 1ul << (i % word_bits);
    return NVML_SUCCESS;
}

FUNCTION(nvmlDeviceGetCpuAffinity, nvmlDevice_t device, unsigned words, unsigned long *out)
{
    ENTER(device, g);

    return give_set(g->first_cpu, g->n_cpus, words, out);
}

/* Each socket of an emulated machine is one NUMA node, so both scopes (0 and 1) are the same. */
FUNCTION(nvmlDeviceGetCpuAffinityWithinScope, nvmlDevice_t device, unsigned words,
         unsigned long *out, unsigned scope)
{
    return scope <= 1 ? nvmlDeviceGetCpuAffinity(device, words, out) : NVML_ERROR_INVALID_ARGUMENT;
}

FUNCTION(nvmlDeviceGetMemoryAffinity, nvmlDevice_t device, unsigned words, unsigned long *out,
         unsigned scope)
{
    ENTER(device, g);

    if (scope > 1)
        return NVML_ERROR_INVALID_ARGUMENT;
    return give_set((unsigned)g->numa_node, g->numa_node >= 0, words, out);
}
