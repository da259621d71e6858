/*
 * test_share_cuda.c - the share library over the emulated driver: each way to memory, each way to a
 * function
 */

#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "gpu/cuda_abi.h"
#include "gpu/emulated.h"
#include "gpu/gpusim_machine.h"
#include "gpu/share_state.h"
#include "test.h"

#define GIB ((size_t)1 << 30)

/* The functions in use: name and parameters. */
#define CALLS(X)                                                                                 \
    X(cuInit, (unsigned))                                                                        \
    X(cuCtxCreate_v2, (CUcontext *, unsigned, CUdevice))                                         \
    X(cuCtxDestroy_v2, (CUcontext))                                                              \
    X(cuCtxSetCurrent, (CUcontext))                                                              \
    X(cuDevicePrimaryCtxRetain, (CUcontext *, CUdevice))                                         \
    X(cuDevicePrimaryCtxReset_v2, (CUdevice))                                                    \
    X(cuDeviceTotalMem_v2, (size_t *, CUdevice))                                                 \
    X(cuMemGetInfo_v2, (size_t *, size_t *))                                                     \
    X(cuMemAlloc_v2, (CUdeviceptr *, size_t))                                                    \
    X(cuMemAllocManaged, (CUdeviceptr *, size_t, unsigned))                                      \
    X(cuMemAllocPitch_v2, (CUdeviceptr *, size_t *, size_t, size_t, unsigned))                   \
    X(cuMemFree_v2, (CUdeviceptr))                                                               \
    X(cuMemAllocAsync, (CUdeviceptr *, size_t, CUstream))                                        \
    X(cuMemAllocFromPoolAsync, (CUdeviceptr *, size_t, CUmemoryPool, CUstream))                  \
    X(cuMemFreeAsync, (CUdeviceptr, CUstream))                                                   \
    X(cuMemPoolCreate, (CUmemoryPool *, const struct CUmemPoolProps *))                          \
    X(cuMemPoolDestroy, (CUmemoryPool))                                                          \
    X(cuMemPoolTrimTo, (CUmemoryPool, size_t))                                                   \
    X(cuDeviceGetMemPool, (CUmemoryPool *, CUdevice))                                            \
    X(cuStreamSynchronize, (CUstream))                                                           \
    X(cuArray3DCreate_v2, (CUarray *, const struct CUDA_ARRAY3D_DESCRIPTOR *))                   \
    X(cuArrayDestroy, (CUarray))                                                                 \
    X(cuMemCreate, (CUmemGenericAllocationHandle *, size_t, const struct CUmemAllocationProp *,  \
                    unsigned long long))                                                         \
    X(cuMemRelease, (CUmemGenericAllocationHandle))                                              \
    X(cuMemAddressReserve, (CUdeviceptr *, size_t, size_t, CUdeviceptr, unsigned long long))     \
    X(cuMemMap, (CUdeviceptr, size_t, size_t, CUmemGenericAllocationHandle, unsigned long long)) \
    X(cuMemUnmap, (CUdeviceptr, size_t))                                                         \
    X(cuMemAddressFree, (CUdeviceptr, size_t))                                                   \
    X(cuModuleLoadData, (CUmodule *, const void *))                                              \
    X(cuModuleGetFunction, (CUfunction *, CUmodule, const char *))                               \
    X(cuLaunchKernel, (CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,   \
                       unsigned, CUstream, void **, void **))                                    \
    X(cuGraphCreate, (CUgraph *, unsigned))                                                      \
    X(cuGraphAddKernelNode_v2, (CUgraphNode *, CUgraph, const CUgraphNode *, size_t,             \
                                const struct CUDA_KERNEL_NODE_PARAMS *))                         \
    X(cuGraphInstantiateWithFlags, (CUgraphExec *, CUgraph, unsigned long long))                 \
    X(cuGraphLaunch, (CUgraphExec, CUstream))                                                    \
    X(cuGraphExecDestroy, (CUgraphExec))                                                         \
    X(cuGetProcAddress_v2, (const char *, void **, int, unsigned long long, int *))

/* NOLINTNEXTLINE(bugprone-macro-parentheses): it declares a member */
#define MEMBER(name, parameters) CUresult(*name) parameters;
static struct {
    CALLS(MEMBER)
} cuda;

struct setting {
    char dir[64];
};

static char *path_in(const struct setting *s, const char *name)
{
    return mem_format("%s/%s", s->dir, name);
}

static void write_file(const struct setting *s, const char *name, const void *bytes, size_t size)
{
    AUTO_FREE char *path = path_in(s, name);
    FILE *f = fopen(path, "wbe");

    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, size, f), size);
    assert_int_equal(fclose(f), 0);
}

/* One gpu of 80 GiB, of which the share has 20. */
static int setting_setup(void **state)
{
    struct setting *s = mem_alloc(sizeof(*s));
    AUTO_FREE struct gpusim_machine *machine = mem_alloc(sizeof(*machine));
    AUTO_FREE struct share_limits *limits = mem_alloc(sizeof(*limits));
    AUTO_FREE struct share_state *shared = mem_alloc(sizeof(*shared));
    AUTO_FREE char *path = NULL;

    *s = (struct setting){.dir = "/tmp/mete-share-XXXXXX"};
    assert_non_null(mkdtemp(s->dir));
    assert_null(emulated_compile("1xH100", NULL, "share", machine));
    limits->magic = SHARE_LIMITS_MAGIC;
    limits->version = SHARE_VERSION;
    limits->n_gpus = 1;
    limits->gpus[0] = (struct share_limit){.memory_bytes = 20 * GIB, .gpu_milli = 1000};
    memcpy(limits->gpus[0].uuid, machine->gpus[0].uuid, sizeof(limits->gpus[0].uuid) - 1);
    shared->magic = SHARE_STATE_MAGIC;
    shared->version = SHARE_VERSION;
    write_file(s, "machine.bin", machine, sizeof(*machine));
    write_file(s, "limits", limits, sizeof(*limits));
    write_file(s, "state", shared, sizeof(*shared));
    path = path_in(s, "machine.bin");
    assert_int_equal(setenv("METE_GPUSIM_MACHINE", path, 1), 0);
    assert_int_equal(setenv("METE_GPUSIM_ALL", "1", 1), 0);
    assert_int_equal(setenv("METE_TEST_SHARE", s->dir, 1), 0);
    *state = s;
    return 0;
}

static int setting_teardown(void **state)
{
    static const char *const names[] = {"machine.bin", "limits", "state"};
    struct setting *s = *state;

    for (size_t i = 0; i < COUNT(names); i++) {
        AUTO_FREE char *path = path_in(s, names[i]);

        assert_int_equal(unlink(path), 0);
    }
    assert_int_equal(rmdir(s->dir), 0);
    free(s);
    return 0;
}

static void library_open(void)
{
    void *library = dlopen(getenv("METE_TEST_SHARE_LIBRARY"), RTLD_NOW);
    CUcontext context;

    if (!library)
        fail_msg("%s", dlerror());
#define LOAD(name, parameters) *(void **)&cuda.name = dlsym(library, #name);
    CALLS(LOAD)
    assert_int_equal(cuda.cuInit(0), CUDA_SUCCESS);
    assert_int_equal(cuda.cuDevicePrimaryCtxRetain(&context, 0), CUDA_SUCCESS);
    assert_int_equal(cuda.cuCtxSetCurrent(context), CUDA_SUCCESS);
}

static size_t free_bytes(void)
{
    size_t left = 0;
    size_t total = 0;

    assert_int_equal(cuda.cuMemGetInfo_v2(&left, &total), CUDA_SUCCESS);
    assert_int_equal(total, 20 * GIB);
    return left;
}

/* ---- the ways to memory ---- */

static CUmemoryPool pool;
static const struct CUmemAllocationProp on_gpu = {
    .type = CU_MEM_ALLOCATION_TYPE_PINNED, .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}};

static CUresult alloc_plain(uint64_t *ret, size_t size)
{
    return cuda.cuMemAlloc_v2((CUdeviceptr *)ret, size);
}

static CUresult alloc_managed(uint64_t *ret, size_t size)
{
    return cuda.cuMemAllocManaged((CUdeviceptr *)ret, size, 1);
}

static CUresult alloc_pitch(uint64_t *ret, size_t size)
{
    size_t pitch = 0;

    return cuda.cuMemAllocPitch_v2((CUdeviceptr *)ret, &pitch, 1 << 20, size >> 20, 16);
}

static CUresult free_plain(uint64_t key)
{
    return cuda.cuMemFree_v2(key);
}

static CUresult alloc_async(uint64_t *ret, size_t size)
{
    return cuda.cuMemAllocAsync((CUdeviceptr *)ret, size, NULL);
}

static CUresult alloc_from_pool(uint64_t *ret, size_t size)
{
    return cuda.cuMemAllocFromPoolAsync((CUdeviceptr *)ret, size, pool, NULL);
}

static CUresult free_async(uint64_t key)
{
    CUmemoryPool of_device;
    CUresult result = cuda.cuMemFreeAsync(key, NULL);

    assert_int_equal(cuda.cuStreamSynchronize(NULL), CUDA_SUCCESS);
    assert_int_equal(cuda.cuDeviceGetMemPool(&of_device, 0), CUDA_SUCCESS);
    assert_int_equal(cuda.cuMemPoolTrimTo(of_device, 0), CUDA_SUCCESS);
    assert_int_equal(cuda.cuMemPoolTrimTo(pool, 0), CUDA_SUCCESS);
    return result;
}

static CUresult alloc_array(uint64_t *ret, size_t size)
{
    const struct CUDA_ARRAY3D_DESCRIPTOR d = {
        .Width = 1024, .Height = 1024, .Depth = size >> 22, .Format = 0x20, .NumChannels = 1};

    return cuda.cuArray3DCreate_v2((CUarray *)(void *)ret, &d);
}

static CUresult free_array(uint64_t key)
{
    return cuda.cuArrayDestroy((CUarray)(uintptr_t)key); /* NOLINT(performance-no-int-to-ptr) */
}

static CUresult alloc_handle(uint64_t *ret, size_t size)
{
    return cuda.cuMemCreate((CUmemGenericAllocationHandle *)ret, size, &on_gpu, 0);
}

static CUresult free_handle(uint64_t key)
{
    return cuda.cuMemRelease(key);
}

static const struct {
    const char *name;
    CUresult (*alloc)(uint64_t *ret, size_t size);
    CUresult (*free)(uint64_t key);
} ways[] = {
    {"cuMemAlloc", alloc_plain, free_plain},
    {"cuMemAllocManaged", alloc_managed, free_plain},
    {"cuMemAllocPitch", alloc_pitch, free_plain},
    {"cuMemAllocAsync", alloc_async, free_async},
    {"cuMemAllocFromPoolAsync", alloc_from_pool, free_async},
    {"cuArray3DCreate", alloc_array, free_array},
    {"cuMemCreate", alloc_handle, free_handle},
};

static void each_way_to_memory_is_of_the_share(void **state)
{
    const struct CUmemPoolProps props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                                         .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}};
    size_t before;
    size_t total = 0;

    (void)state;
    library_open();
    assert_int_equal(cuda.cuDeviceTotalMem_v2(&total, 0), CUDA_SUCCESS);
    assert_int_equal(total, 20 * GIB);
    assert_int_equal(cuda.cuMemPoolCreate(&pool, &props), CUDA_SUCCESS);
    before = free_bytes();
    for (size_t i = 0; i < COUNT(ways); i++) {
        uint64_t first = 0;
        uint64_t second = 0;

        print_message("# %s\n", ways[i].name);
        assert_int_equal(ways[i].alloc(&first, 12 * GIB), CUDA_SUCCESS);
        assert_true(free_bytes() <= 8 * GIB);
        assert_int_equal(ways[i].alloc(&second, 12 * GIB), CUDA_ERROR_OUT_OF_MEMORY);
        for (size_t k = 0; k < COUNT(ways); k++) /* nor by another way */
            assert_int_equal(ways[k].alloc(&second, 12 * GIB), CUDA_ERROR_OUT_OF_MEMORY);
        assert_int_equal(ways[i].free(first), CUDA_SUCCESS);
        assert_int_equal(free_bytes(), before);
        assert_int_equal(ways[i].alloc(&first, 12 * GIB), CUDA_SUCCESS);
        assert_int_equal(ways[i].free(first), CUDA_SUCCESS);
    }
    assert_int_equal(cuda.cuMemPoolDestroy(pool), CUDA_SUCCESS);
}

static void mapped_memory_counts_until_it_is_unmapped(void **state)
{
    CUmemGenericAllocationHandle handle = 0;
    CUdeviceptr at = 0;
    size_t before;

    (void)state;
    library_open();
    before = free_bytes();
    assert_int_equal(cuda.cuMemAddressReserve(&at, 12 * GIB, 0, 0, 0), CUDA_SUCCESS);
    assert_int_equal(cuda.cuMemCreate(&handle, 12 * GIB, &on_gpu, 0), CUDA_SUCCESS);
    assert_int_equal(cuda.cuMemMap(at, 12 * GIB, 0, handle, 0), CUDA_SUCCESS);
    assert_int_equal(cuda.cuMemRelease(handle), CUDA_SUCCESS);
    assert_int_equal(free_bytes(), before - 12 * GIB); /* the mapping holds it */
    assert_int_equal(cuda.cuMemCreate(&handle, 12 * GIB, &on_gpu, 0), CUDA_ERROR_OUT_OF_MEMORY);
    assert_int_equal(cuda.cuMemUnmap(at, 12 * GIB), CUDA_SUCCESS);
    assert_int_equal(free_bytes(), before);
    assert_int_equal(cuda.cuMemAddressFree(at, 12 * GIB), CUDA_SUCCESS);
}

static void memory_goes_with_its_context(void **state)
{
    CUdeviceptr at = 0;
    CUcontext context;
    size_t before;

    (void)state;
    library_open();
    before = free_bytes();
    assert_int_equal(cuda.cuCtxCreate_v2(&context, 0, 0), CUDA_SUCCESS);
    for (int i = 0; i < 100; i++)
        assert_int_equal(cuda.cuMemAlloc_v2(&at, GIB / 10), CUDA_SUCCESS);
    assert_int_equal(cuda.cuCtxDestroy_v2(context), CUDA_SUCCESS);
    library_open();
    assert_int_equal(free_bytes(), before);
    assert_int_equal(cuda.cuMemAlloc_v2(&at, 12 * GIB), CUDA_SUCCESS);
    assert_int_equal(cuda.cuDevicePrimaryCtxReset_v2(0), CUDA_SUCCESS);
    library_open();
    assert_int_equal(free_bytes(), before);
}

static void functions_by_name_are_those_of_the_share(void **state)
{
    CUresult (*alloc)(CUdeviceptr *, size_t) = NULL;
    CUresult (*lookup)(const char *, void **, int, unsigned long long, int *) = NULL;
    void *found = NULL;
    CUdeviceptr at = 0;
    int status = -1;

    (void)state;
    library_open();
    assert_int_equal(cuda.cuGetProcAddress_v2("cuGetProcAddress", &found, 12000, 0, &status),
                     CUDA_SUCCESS);
    *(void **)&lookup = found;
    assert_int_equal(lookup("cuMemAlloc", &found, 12000, 0, &status), CUDA_SUCCESS);
    *(void **)&alloc = found;
    assert_int_equal(alloc(&at, 30 * GIB), CUDA_ERROR_OUT_OF_MEMORY);
    assert_int_equal(alloc(&at, GIB), CUDA_SUCCESS);
    assert_int_equal(cuda.cuMemFree_v2(at), CUDA_SUCCESS);
    assert_int_equal(lookup("cuDriverGetVersion", &found, 12000, 0, &status), CUDA_SUCCESS);
    assert_non_null(found); /* what has no hook is the driver's */
}

/* The threads that the share's processes have launched. */
static uint64_t threads_spent(void)
{
    struct setting s = {0};
    AUTO_FREE struct share_state *shared = mem_alloc(sizeof(*shared));
    AUTO_FREE char *path = NULL;
    FILE *f;

    (void)snprintf(s.dir, sizeof(s.dir), "%s", getenv("METE_TEST_SHARE"));
    path = path_in(&s, "state");
    f = fopen(path, "rbe");
    assert_non_null(f);
    assert_int_equal(fread(shared, 1, sizeof(*shared), f), sizeof(*shared));
    assert_int_equal(fclose(f), 0);
    return shared->buckets[0].spent;
}

/* Makes half of the gpu's compute the share's. */
static void limit_compute(void)
{
    struct setting s = {0};
    AUTO_FREE struct share_limits *limits = mem_alloc(sizeof(*limits));
    AUTO_FREE char *path = NULL;
    FILE *f;

    (void)snprintf(s.dir, sizeof(s.dir), "%s", getenv("METE_TEST_SHARE"));
    path = path_in(&s, "limits");
    f = fopen(path, "rbe");
    assert_non_null(f);
    assert_int_equal(fread(limits, 1, sizeof(*limits), f), sizeof(*limits));
    assert_int_equal(fclose(f), 0);
    limits->gpus[0].gpu_milli = 500;
    write_file(&s, "limits", limits, sizeof(*limits));
}

static void a_graph_costs_the_threads_of_its_kernels(void **state)
{
    static const char ptx[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
                              ".visible .entry spin_1()\n{\n    ret;\n}\n";
    struct CUDA_KERNEL_NODE_PARAMS kernel = {.gridDimX = 4,
                                             .gridDimY = 2,
                                             .gridDimZ = 1,
                                             .blockDimX = 64,
                                             .blockDimY = 1,
                                             .blockDimZ = 1};
    CUmodule module = NULL;
    CUgraph graph = NULL;
    CUgraphNode node = NULL;
    CUgraphExec exec = NULL;

    (void)state;
    limit_compute();
    library_open();
    assert_int_equal(cuda.cuModuleLoadData(&module, ptx), CUDA_SUCCESS);
    assert_int_equal(cuda.cuModuleGetFunction(&kernel.func, module, "spin_1"), CUDA_SUCCESS);
    assert_int_equal(cuda.cuLaunchKernel(kernel.func, 3, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL),
                     CUDA_SUCCESS);
    assert_int_equal(threads_spent(), 96);
    assert_int_equal(cuda.cuGraphCreate(&graph, 0), CUDA_SUCCESS);
    for (int i = 0; i < 3; i++)
        assert_int_equal(cuda.cuGraphAddKernelNode_v2(&node, graph, NULL, 0, &kernel),
                         CUDA_SUCCESS);
    assert_int_equal(cuda.cuGraphInstantiateWithFlags(&exec, graph, 0), CUDA_SUCCESS);
    assert_int_equal(threads_spent(), 96);
    for (uint64_t i = 1; i <= 2; i++) {
        assert_int_equal(cuda.cuGraphLaunch(exec, NULL), CUDA_SUCCESS);
        assert_int_equal(threads_spent(), 96 + i * 3 * 512);
    }
    assert_int_equal(cuda.cuGraphExecDestroy(exec), CUDA_SUCCESS);
}

/* Each test runs in a process of its own: the library keeps the first share that it opened. */
static int child_code(void (*fn)(void **state))
{
    pid_t pid;
    int status = 0;

    (void)fflush(stdout);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        const struct CMUnitTest one[] = {{"in a process of its own", fn, NULL, NULL, NULL}};

        (void)dup2(STDERR_FILENO, STDOUT_FILENO); /* its lines are not among our results */
        _exit(cmocka_run_group_tests_name("child", one, NULL, NULL));
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

#define IN_CHILD(fn)                         \
    static void child_##fn(void **state)     \
    {                                        \
        (void)state;                         \
        assert_int_equal(child_code(fn), 0); \
    }

IN_CHILD(each_way_to_memory_is_of_the_share)
IN_CHILD(mapped_memory_counts_until_it_is_unmapped)
IN_CHILD(memory_goes_with_its_context)
IN_CHILD(functions_by_name_are_those_of_the_share)
IN_CHILD(a_graph_costs_the_threads_of_its_kernels)

#define TEST(fn) cmocka_unit_test_setup_teardown(child_##fn, setting_setup, setting_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(each_way_to_memory_is_of_the_share),
        TEST(mapped_memory_counts_until_it_is_unmapped),
        TEST(memory_goes_with_its_context),
        TEST(functions_by_name_are_those_of_the_share),
        TEST(a_graph_costs_the_threads_of_its_kernels),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
