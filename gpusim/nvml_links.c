/* nvml_links.c - connections between emulated gpus: NVLink, PCIe, peer to peer */

#include <string.h>

#include "library.h"

enum {
    LEVEL_NUMA = 40,
    LEVEL_SYSTEM = 50
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

static unsigned count_links(const struct gpusim_gpu *g)
{
    return g->n_links < GPUSIM_LINKS_MAX ? g->n_links : GPUSIM_LINKS_MAX;
}

static bool are_same(const char a[32], const char b[32])
{
    return strncmp(a, b, 32) == 0;
}

static bool are_linked(const struct gpusim_gpu *a, const struct gpusim_gpu *b)
{
    for (unsigned i = 0; i < count_links(a); i++) {
        if (!a->links[i].is_active)
            continue;
        if (are_same(a->links[i].remote_pci, b->pci))
            return true;
        for (unsigned j = 0;
             j < count_links(b) && a->links[i].remote_type == NVML_LINK_REMOTE_SWITCH; j++) {
            if (b->links[j].is_active && are_same(a->links[i].remote_pci, b->links[j].remote_pci))
                return true;
        }
    }
    return false;
}

static unsigned level_of(const struct gpusim_gpu *a, const struct gpusim_gpu *b)
{
    if (a->numa_node == b->numa_node)
        return LEVEL_NUMA;
    return LEVEL_SYSTEM;
}

FUNCTION(nvmlDeviceGetTopologyCommonAncestor, nvmlDevice_t device, nvmlDevice_t other,
         unsigned *out)
{
    ENTER(device, a);
    ENTER(other, b);

    return give(a == b ? 0 : level_of(a, b), out);
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
    return give(index == 2 && !are_linked(a, b) ? 5 : 0, out);
}
