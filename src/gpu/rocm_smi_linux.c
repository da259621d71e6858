/* rocm_smi_linux.c - the energy that AMD's gpus used, by ROCm's library (rocm_smi.h of ROCm) */

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/attr.h"
#include "base/mem.h"
#include "base/str.h"
#include "gpu/rocm_smi.h"

enum {
    RSMI_SUCCESS = 0,
    RSMI_GPUS_MAX = 128
};

struct rocm_smi {
    void *library;
    int (*init)(uint64_t flags);
    int (*shut_down)(void);
    int (*count)(uint32_t *);
    int (*pci_id)(uint32_t index, uint64_t *);
    int (*energy)(uint32_t index, uint64_t *counter, float *resolution_uj, uint64_t *timestamp_ns);
    char pci[RSMI_GPUS_MAX][16]; /* of the gpu with this index; "": unknown */
    uint32_t n;
};

/* As in nvml_private.h. */
#define LOAD(r, member, name) (*(void **)&(r)->member = dlsym((r)->library, (name)))

/* The id has the domain from bit 32 on, bus << 8, device << 3 and the function. */
static void list_gpus(struct rocm_smi *r)
{
    uint32_t n = 0;

    if (r->count(&n) != RSMI_SUCCESS)
        return;
    r->n = n < RSMI_GPUS_MAX ? n : RSMI_GPUS_MAX;
    for (uint32_t i = 0; i < r->n; i++) {
        uint64_t id = 0;

        if (r->pci_id(i, &id) == RSMI_SUCCESS)
            (void)snprintf(r->pci[i], sizeof(r->pci[i]), "%04x:%02x:%02x.0",
                           (unsigned)(id >> 32 & 0xffff), (unsigned)(id >> 8 & 0xff),
                           (unsigned)(id >> 3 & 0x1f));
    }
}

struct rocm_smi *rocm_smi_open(const char *library)
{
    static const char *const names[] = {"librocm_smi64.so.1", "librocm_smi64.so",
                                        "/opt/rocm/lib/librocm_smi64.so"};
    void *loaded = library ? dlopen(library, RTLD_LAZY | RTLD_LOCAL) : NULL;
    struct rocm_smi *r;

    for (size_t i = 0; !library && !loaded && i < COUNT(names); i++)
        loaded = dlopen(names[i], RTLD_LAZY | RTLD_LOCAL);
    if (!loaded)
        return NULL;
    r = mem_alloc(sizeof(*r));
    r->library = loaded;
    LOAD(r, init, "rsmi_init");
    LOAD(r, shut_down, "rsmi_shut_down");
    LOAD(r, count, "rsmi_num_monitor_devices");
    LOAD(r, pci_id, "rsmi_dev_pci_id_get");
    LOAD(r, energy, "rsmi_dev_energy_count_get");
    if (r->init && r->shut_down && r->count && r->pci_id && r->energy &&
        r->init(0) == RSMI_SUCCESS) {
        list_gpus(r);
        return r;
    }
    (void)dlclose(loaded);
    free(r);
    return NULL;
}

void rocm_smi_free(struct rocm_smi *r)
{
    if (!r)
        return;
    (void)r->shut_down();
    (void)dlclose(r->library);
    free(r);
}

int64_t rocm_smi_energy_mj(const struct rocm_smi *r, const char *pci)
{
    uint64_t counter = 0;
    uint64_t timestamp = 0;
    float resolution_uj = 0;
    double mj;

    for (uint32_t i = 0; r && i < r->n; i++) {
        if (!text_equal(r->pci[i], pci))
            continue;
        if (r->energy(i, &counter, &resolution_uj, &timestamp) != RSMI_SUCCESS)
            return -1;
        mj = (double)counter * (double)resolution_uj / 1000;
        return mj >= 0 && mj < 9e18 ? (int64_t)mj : -1;
    }
    return -1;
}
