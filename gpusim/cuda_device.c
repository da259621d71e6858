/* cuda_device.c - init, devices and their attributes, handles of objects */

#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#include "cuda.h"

struct view cuda_view;
int cuda_slot = -1;

static int init_pid;
static struct device devices[DEVICES_MAX];
static int n_devices;

/* ---- handles ---- */

struct handle {
    const void *object;
    enum handle_kind kind;
};

static void *handles; /* a tree of struct handle by address */

static int handle_compare(const void *a, const void *b)
{
    uintptr_t x = (uintptr_t)((const struct handle *)a)->object;
    uintptr_t y = (uintptr_t)((const struct handle *)b)->object;

    return x < y ? -1 : x > y;
}

void *handle_new(enum handle_kind kind, size_t size)
{
    struct handle *h = calloc(1, sizeof(*h));
    void *object = calloc(1, size);

    if (h && object) {
        *h = (struct handle){.object = object, .kind = kind};
        if (tsearch(h, &handles, handle_compare))
            return object;
    }
    free(h);
    free(object);
    return NULL;
}

static struct handle *handle_find(const void *object)
{
    struct handle key = {.object = object};
    void *node = tfind(&key, &handles, handle_compare);

    return node ? *(struct handle **)node : NULL;
}

bool handle_is(const void *object, enum handle_kind kind)
{
    const struct handle *h = object ? handle_find(object) : NULL;

    return h && h->kind == kind;
}

void handle_free(void *object)
{
    struct handle *h = object ? handle_find(object) : NULL;

    if (!h)
        return;
    (void)tdelete(h, &handles, handle_compare);
    free(h);
    free(object);
}

/* twalk() takes no argument of the caller's, so its callback fills this list. */
static struct {
    enum handle_kind kind;
    size_t n;
    size_t room;
    void **objects;
} found;

static void handle_collect(const void *node, VISIT visit, int depth)
{
    const struct handle *h = *(struct handle *const *)node;

    (void)depth;
    if ((visit != postorder && visit != leaf) || h->kind != found.kind)
        return;
    if (found.n == found.room) {
        size_t room = found.room ? found.room * 2 : 64;
        void **more = realloc(found.objects, room * sizeof(*more));

        if (!more)
            return;
        found.objects = more;
        found.room = room;
    }
    found.objects[found.n++] = (void *)(uintptr_t)h->object;
}

void handle_each(enum handle_kind kind, void (*each)(void *object, void *data), void *data)
{
    void **objects;
    size_t n;

    found.kind = kind;
    found.n = 0;
    found.room = 0;
    found.objects = NULL;
    twalk(handles, handle_collect);
    objects = found.objects;
    n = found.n;
    for (size_t i = 0; i < n; i++)
        each(objects[i], data);
    free(objects);
}

/* ---- the list of devices ---- */

/* Reads the hexadecimal digits of "GPU-8-4-4-4-12". */
static void uuid_read(const char *text, struct CUuuid *ret)
{
    unsigned n = 0;

    *ret = (struct CUuuid){{0}};
    text = strchr(text, '-');
    for (; text && *text && n < 32; text++) {
        int digit = -1;

        if (*text >= '0' && *text <= '9')
            digit = *text - '0';
        else if (*text >= 'a' && *text <= 'f')
            digit = *text - 'a' + 10;
        if (digit < 0)
            continue;
        ret->bytes[n / 2] = (unsigned char)(ret->bytes[n / 2] << 4 | digit);
        n++;
    }
}

static struct device device_of_gpu(unsigned i)
{
    const struct gpusim_gpu *g = cuda_view.gpus[i];
    struct device d = {.g = g,
                       .index = view_index(&cuda_view, g),
                       .engine = GPUSIM_WHOLE,
                       .multiprocessors = g->multiprocessors};

    if (g->memory_bytes > g->memory_reserved_bytes)
        d.memory_bytes = g->memory_bytes - g->memory_reserved_bytes;
    (void)snprintf(d.uuid_text, sizeof(d.uuid_text), "%.95s", g->uuid);
    return d;
}

static struct device device_of_compute(unsigned i, unsigned compute)
{
    struct device d = device_of_gpu(i);
    const struct gpusim_mig_profile *p = instance_profile(d.g, d.g->computes[compute].instance);

    d.engine = 1 + compute;
    d.memory_bytes = p ? p->memory_mib * MIB : 0;
    d.multiprocessors =
        p && p->slices ? p->multiprocessors * d.g->computes[compute].slices / p->slices : 1;
    compute_uuid(d.g, compute, d.uuid_text);
    return d;
}

/* Fills in all devices that the process may open. A MIG device hides the gpus without MIG, and the
 * process sees one MIG device only. */
static int devices_possible(struct device *out, int room)
{
    int n = 0;
    bool has_mig = false;

    for (unsigned i = 0; i < cuda_view.n; i++) {
        for (unsigned c = 0; c < GPUSIM_INSTANCES_MAX && n < room; c++) {
            if (!view_has_compute(&cuda_view, cuda_view.gpus[i], c))
                continue;
            out[n++] = device_of_compute(i, c);
            has_mig = true;
        }
    }
    for (unsigned i = 0; i < cuda_view.n && n < room && !has_mig; i++) {
        if (!cuda_view.gpus[i]->mig_mode)
            out[n++] = device_of_gpu(i);
    }
    return n;
}

/* Does an entry of CUDA_VISIBLE_DEVICES name the device? It may be the start of a UUID. */
static bool entry_names(const char *entry, size_t size, const struct device *d, int ordinal)
{
    int64_t number = 0;

    if (strncmp(entry, "GPU-", 4) == 0 || strncmp(entry, "MIG-", 4) == 0)
        return size <= strlen(d->uuid_text) && strncasecmp(entry, d->uuid_text, size) == 0;
    for (size_t i = 0; i < size; i++) {
        if (entry[i] < '0' || entry[i] > '9' || number > 1000)
            return false;
        number = number * 10 + (entry[i] - '0');
    }
    return size > 0 && number == ordinal;
}

static bool is_listed(const struct device *d)
{
    for (int i = 0; i < n_devices; i++) {
        if (strcmp(devices[i].uuid_text, d->uuid_text) == 0)
            return true;
    }
    return false;
}

/* The list ends at its first entry that names no device, or one again. */
static void devices_choose(const struct device *all, int n, const char *list)
{
    while (n_devices < DEVICES_MAX) {
        size_t size = strcspn(list, ",");
        int i = 0;

        while (size > 0 && (list[0] == ' ' || list[0] == '\t')) {
            list++;
            size--;
        }
        while (i < n && !entry_names(list, size, &all[i], i))
            i++;
        if (i == n || is_listed(&all[i]))
            return;
        devices[n_devices++] = all[i];
        if (list[size] == '\0')
            return;
        list += size + 1;
    }
}

static void devices_find(void)
{
    static struct device all[GPUSIM_GPUS_MAX * GPUSIM_INSTANCES_MAX];
    const char *list = getenv("CUDA_VISIBLE_DEVICES");
    int n = devices_possible(all, (int)(sizeof(all) / sizeof(all[0])));

    n_devices = 0;
    if (list) {
        devices_choose(all, n, list);
    } else {
        for (int i = 0; i < n && i < DEVICES_MAX; i++)
            devices[n_devices++] = all[i];
    }
    if (n_devices > 1 && devices[0].engine != GPUSIM_WHOLE)
        n_devices = 1;
    for (int i = 0; i < n_devices; i++) {
        devices[i].ordinal = i;
        uuid_read(devices[i].uuid_text, &devices[i].uuid);
    }
}

/* ---- init ---- */

static CUresult init_machine(void)
{
    if (!view_open(&cuda_view))
        return CUDA_ERROR_NO_DEVICE;
    if (cuda_view.machine->driver == GPUSIM_DRIVER_UNLOADED)
        return CUDA_ERROR_NO_DEVICE;
    if (cuda_view.machine->driver == GPUSIM_DRIVER_MISMATCHED)
        return CUDA_ERROR_SYSTEM_DRIVER_MISMATCH;
    if (!cuda_view.writable)
        return CUDA_ERROR_OPERATING_SYSTEM;
    devices_find();
    if (n_devices == 0)
        return CUDA_ERROR_NO_DEVICE;
    cuda_slot = client_claim(&cuda_view);
    return cuda_slot < 0 ? CUDA_ERROR_OPERATING_SYSTEM : CUDA_SUCCESS;
}

API(cuInit, cuInit, 2000, unsigned flags)
{
    CUresult result = CUDA_SUCCESS;

    REQUIRE(flags == 0);
    cuda_lock();
    if (init_pid && init_pid != getpid())
        result = CUDA_ERROR_NOT_INITIALIZED;
    else if (!init_pid)
        result = init_machine();
    if (result == CUDA_SUCCESS)
        init_pid = getpid();
    else if (!init_pid)
        view_close(&cuda_view);
    cuda_unlock();
    return result;
}

CUresult cuda_check(void)
{
    return init_pid && init_pid == getpid() ? CUDA_SUCCESS : CUDA_ERROR_NOT_INITIALIZED;
}

/* Works before cuInit. */
API(cuDriverGetVersion, cuDriverGetVersion, 2020, int *ret)
{
    struct view v = {0};

    REQUIRE(ret);
    cuda_lock();
    if (init_pid) {
        *ret = cuda_view.machine->cuda_version;
    } else {
        *ret = view_open(&v) ? v.machine->cuda_version : 0;
        view_close(&v);
    }
    cuda_unlock();
    return CUDA_SUCCESS;
}

CUresult device_find(CUdevice ordinal, struct device **ret)
{
    if (ordinal < 0 || ordinal >= n_devices)
        return CUDA_ERROR_INVALID_DEVICE;
    *ret = &devices[ordinal];
    return CUDA_SUCCESS;
}

struct gpusim_use *device_use(const struct device *d)
{
    return &cuda_view.writable->clients[cuda_slot].uses[d->index];
}

CUresult device_answer(const struct device *d)
{
    const struct timespec step = {.tv_nsec = 10000000};

    for (uint64_t ms = 0; ms < d->g->hang_ms && !d->g->is_lost; ms += 10) {
        cuda_unlock();
        (void)clock_nanosleep(CLOCK_MONOTONIC, 0, &step, NULL);
        cuda_lock();
    }
    return d->g->is_lost ? CUDA_ERROR_UNKNOWN : CUDA_SUCCESS;
}

/* ---- queries ---- */

API(cuDeviceGetCount, cuDeviceGetCount, 2000, int *ret)
{
    ENTER();
    REQUIRE(ret);
    *ret = n_devices;
    return CUDA_SUCCESS;
}

API(cuDeviceGet, cuDeviceGet, 2000, CUdevice *ret, int ordinal)
{
    struct device *d = NULL;

    ENTER();
    REQUIRE(ret);
    CHECK(device_find(ordinal, &d));
    *ret = d->ordinal;
    return CUDA_SUCCESS;
}

API(cuDeviceGetName, cuDeviceGetName, 2000, char *out, int size, CUdevice device)
{
    struct device *d = NULL;

    ENTER();
    REQUIRE(out && size > 0);
    CHECK(device_find(device, &d));
    if (d->engine == GPUSIM_WHOLE) {
        (void)snprintf(out, (size_t)size, "%.95s", d->g->name);
    } else {
        char profile[48];

        compute_name(d->g, d->engine - 1, profile);
        (void)snprintf(out, (size_t)size, "%.95s MIG %s", d->g->name, profile);
    }
    return CUDA_SUCCESS;
}

API(cuDeviceTotalMem_v2, cuDeviceTotalMem, 3020, size_t *ret, CUdevice device)
{
    struct device *d = NULL;

    ENTER();
    REQUIRE(ret);
    CHECK(device_find(device, &d));
    *ret = d->memory_bytes;
    return CUDA_SUCCESS;
}

/* The gpu's UUID, for a MIG device too. */
API(cuDeviceGetUuid, cuDeviceGetUuid, 9020, struct CUuuid *ret, CUdevice device)
{
    struct device *d = NULL;

    ENTER();
    REQUIRE(ret);
    CHECK(device_find(device, &d));
    uuid_read(d->g->uuid, ret);
    return CUDA_SUCCESS;
}

API(cuDeviceGetUuid_v2, cuDeviceGetUuid, 11040, struct CUuuid *ret, CUdevice device)
{
    struct device *d = NULL;

    ENTER();
    REQUIRE(ret);
    CHECK(device_find(device, &d));
    *ret = d->uuid;
    return CUDA_SUCCESS;
}

/* Reads domain, bus and device of "00000000:1B:00.0". */
static bool pci_numbers(const char *text, unsigned ret[3])
{
    for (unsigned i = 0; i < 3; i++) {
        char *end = NULL;
        unsigned long value = strtoul(text, &end, 16);

        if (end == text || *end != (i < 2 ? ':' : '.') || value > UINT32_MAX)
            return false;
        ret[i] = (unsigned)value;
        text = end + 1;
    }
    return true;
}

API(cuDeviceGetPCIBusId, cuDeviceGetPCIBusId, 4010, char *out, int size, CUdevice device)
{
    unsigned pci[3] = {0};
    struct device *d = NULL;

    ENTER();
    REQUIRE(out && size > 0);
    CHECK(device_find(device, &d));
    if (!pci_numbers(d->g->pci, pci))
        return CUDA_ERROR_UNKNOWN;
    (void)snprintf(out, (size_t)size, "%04X:%02X:%02X.0", pci[0], pci[1], pci[2]);
    return CUDA_SUCCESS;
}

API(cuDeviceGetByPCIBusId, cuDeviceGetByPCIBusId, 4010, CUdevice *ret, const char *id)
{
    unsigned wanted[3] = {0};
    unsigned pci[3] = {0};

    ENTER();
    REQUIRE(ret && id && pci_numbers(id, wanted));
    for (int i = 0; i < n_devices; i++) {
        if (!pci_numbers(devices[i].g->pci, pci) || memcmp(pci, wanted, sizeof(pci)) != 0)
            continue;
        *ret = i;
        return CUDA_SUCCESS;
    }
    return CUDA_ERROR_INVALID_DEVICE;
}

API(cuDeviceComputeCapability, cuDeviceComputeCapability, 2000, int *major, int *minor,
    CUdevice device)
{
    struct device *d = NULL;

    ENTER();
    REQUIRE(major && minor);
    CHECK(device_find(device, &d));
    *major = d->g->compute_major;
    *minor = d->g->compute_minor;
    return CUDA_SUCCESS;
}

API(cuDeviceCanAccessPeer, cuDeviceCanAccessPeer, 4000, int *ret, CUdevice device, CUdevice peer)
{
    struct device *a = NULL;
    struct device *b = NULL;

    ENTER();
    REQUIRE(ret);
    CHECK(device_find(device, &a));
    CHECK(device_find(peer, &b));
    *ret = a != b;
    return CUDA_SUCCESS;
}

/* 0: a performance rank, 1: access, 2: atomics, 3: arrays. */
API(cuDeviceGetP2PAttribute, cuDeviceGetP2PAttribute, 8000, int *ret, unsigned attribute,
    CUdevice device, CUdevice peer)
{
    REQUIRE(ret && attribute >= 1 && attribute <= 4);
    CHECK(cuDeviceCanAccessPeer(ret, device, peer));
    if (*ret && attribute == 1)
        *ret = 0;
    return CUDA_SUCCESS;
}

/* ---- attributes ---- */

/* Attributes that are the same for all boards. */
static const struct attribute {
    int attribute;
    int value;
} attributes[] = {
    {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1024},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, 1024},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y, 1024},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z, 64},
    {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, 2147483647},
    {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y, 65535},
    {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z, 65535},
    {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, 49152},
    {CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY, 65536},
    {CU_DEVICE_ATTRIBUTE_WARP_SIZE, 32},
    {CU_DEVICE_ATTRIBUTE_MAX_PITCH, 2147483647},
    {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK, 65536},
    {CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT, 512},
    {CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT, 32},
    {CU_DEVICE_ATTRIBUTE_GPU_OVERLAP, 1},
    {CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY, 1},
    {CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS, 1},
    {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, 2048},
    {CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT, 3},
    {CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, 1},
    {CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_GLOBAL_L1_CACHE_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_LOCAL_L1_CACHE_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, 65536},
    {CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY, 1},
    {CU_DEVICE_ATTRIBUTE_SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO, 2},
    {CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS, 1},
    {CU_DEVICE_ATTRIBUTE_COMPUTE_PREEMPTION_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM, 1},
    {CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH, 1},
    {CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR, 32},
    {CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK, 1024},
    {CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_NUMA_ID, -1},
};

static int shared_memory_of(const struct device *d)
{
    switch (d->g->compute_major) {
    case 7:
        return (d->g->compute_minor >= 5 ? 64 : 96) * 1024;
    case 8:
        return (d->g->compute_minor >= 6 ? 100 : 164) * 1024;
    default:
        return 228 * 1024;
    }
}

/* The value of an attribute that differs between boards; false: it is none of these. */
static bool attribute_of_board(const struct device *d, int attribute, int *ret)
{
    unsigned pci[3] = {0};

    (void)pci_numbers(d->g->pci, pci);
    switch (attribute) {
    case CU_DEVICE_ATTRIBUTE_CLOCK_RATE:
        *ret = (int)d->g->sm_clock_max_mhz * 1000;
        return true;
    case CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE:
        *ret = (int)d->g->memory_clock_max_mhz * 1000;
        return true;
    case CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH:
        *ret = (int)d->g->memory_bus_bits;
        return true;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
        *ret = (int)d->multiprocessors;
        return true;
    case CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID:
    case CU_DEVICE_ATTRIBUTE_PCI_BUS_ID:
    case CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID:
        *ret = (int)(attribute == CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID ? pci[0]
                     : attribute == CU_DEVICE_ATTRIBUTE_PCI_BUS_ID  ? pci[1]
                                                                    : pci[2]);
        return true;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
        *ret = d->g->compute_major;
        return true;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
        *ret = d->g->compute_minor;
        return true;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR:
        *ret = shared_memory_of(d);
        return true;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN:
        *ret = shared_memory_of(d) - 1024;
        return true;
    case CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE:
        *ret = d->g->compute_major >= 9 ? 50 << 20 : 40 << 20;
        return true;
    case CU_DEVICE_ATTRIBUTE_ECC_ENABLED:
        *ret = d->g->memory_reserved_bytes > 0;
        return true;
    case CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID:
        *ret = d->g->numa_node;
        return true;
    default:
        return false;
    }
}

/* Attributes in neither list are of features that the emulation lacks: 0. */
API(cuDeviceGetAttribute, cuDeviceGetAttribute, 2000, int *ret, int attribute, CUdevice device)
{
    struct device *d = NULL;

    ENTER();
    REQUIRE(ret && attribute > 0 && attribute < 256);
    CHECK(device_find(device, &d));
    if (attribute_of_board(d, attribute, ret))
        return CUDA_SUCCESS;
    *ret = 0;
    for (size_t i = 0; i < sizeof(attributes) / sizeof(attributes[0]); i++) {
        if (attributes[i].attribute == attribute)
            *ret = attributes[i].value;
    }
    return CUDA_SUCCESS;
}
