/*
 * cuda_smoke.c - a program for gpus, real or emulated: allocates, copies, launches, waits, checks
 *
 *   cuda_smoke               checks the driver API; a line a check, "ok" or "not ok"; 1: one failed
 *   cuda_smoke hold MIB      allocates, prints "holding", waits for the end of its input
 *   cuda_smoke busy MIB      allocates, and keeps the gpu busy until it is killed
 *   cuda_smoke spin MS       keeps the gpu busy for so long; prints the kernels of 1 ms that ran
 *   cuda_smoke fill MIB      allocates blocks of so many MIB until there is no room; prints how
 * many
 *   cuda_smoke launches N    times N batches of launches of an empty kernel; prints the median of
 *                            ns a launch
 *   cuda_smoke blocks N      times N batches of allocations with their frees; prints the median of
 *                            ns a pair
 *
 * The program needs no CUDA toolkit, opens libcuda.so.1 with dlopen, and uses symbols of old C
 * libraries only, so that it runs in any image with glibc.
 */

#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "gpu/cuda_abi.h"

#if defined(__x86_64__)
__asm__(".symver dlopen, dlopen@GLIBC_2.2.5");
__asm__(".symver dlsym, dlsym@GLIBC_2.2.5");
__asm__(".symver dlerror, dlerror@GLIBC_2.2.5");
#endif

#define MIB ((size_t)1 << 20)

/* The kernels, as a real gpu runs them. The emulated one knows them by their names. */
static const char ptx[] =
    ".version 6.4\n"
    ".target sm_70\n"
    ".address_size 64\n"
    ".visible .entry vector_add(.param .u64 a, .param .u64 b, .param .u64 sum, .param .u32 n)\n"
    "{\n"
    "    .reg .pred %p<2>; .reg .f32 %f<4>; .reg .b32 %r<6>; .reg .b64 %rd<8>;\n"
    "    ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [b]; ld.param.u64 %rd3, [sum];\n"
    "    ld.param.u32 %r1, [n];\n"
    "    mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x;\n"
    "    mad.lo.u32 %r5, %r2, %r3, %r4;\n"
    "    setp.ge.u32 %p1, %r5, %r1;\n"
    "    @%p1 bra DONE;\n"
    "    mul.wide.u32 %rd4, %r5, 4;\n"
    "    add.u64 %rd5, %rd1, %rd4; add.u64 %rd6, %rd2, %rd4; add.u64 %rd7, %rd3, %rd4;\n"
    "    ld.global.f32 %f1, [%rd5]; ld.global.f32 %f2, [%rd6];\n"
    "    add.f32 %f3, %f1, %f2;\n"
    "    st.global.f32 [%rd7], %f3;\n"
    "DONE: ret;\n"
    "}\n"
    ".visible .entry fill(.param .u64 out, .param .u32 value, .param .u32 n)\n"
    "{\n"
    "    .reg .pred %p<2>; .reg .b32 %r<7>; .reg .b64 %rd<4>;\n"
    "    ld.param.u64 %rd1, [out]; ld.param.u32 %r1, [value]; ld.param.u32 %r2, [n];\n"
    "    mov.u32 %r3, %ctaid.x; mov.u32 %r4, %ntid.x; mov.u32 %r5, %tid.x;\n"
    "    mad.lo.u32 %r6, %r3, %r4, %r5;\n"
    "    setp.ge.u32 %p1, %r6, %r2;\n"
    "    @%p1 bra DONE;\n"
    "    mul.wide.u32 %rd2, %r6, 4;\n"
    "    add.u64 %rd3, %rd1, %rd2;\n"
    "    st.global.u32 [%rd3], %r1;\n"
    "DONE: ret;\n"
    "}\n"
    ".visible .entry spin(.param .u64 us)\n"
    "{\n"
    "    .reg .pred %p<2>; .reg .b64 %rd<6>;\n"
    "    ld.param.u64 %rd1, [us];\n"
    "    mul.lo.u64 %rd2, %rd1, 1000;\n"
    "    mov.u64 %rd3, %globaltimer;\n"
    "AGAIN: mov.u64 %rd4, %globaltimer;\n"
    "    sub.u64 %rd5, %rd4, %rd3;\n"
    "    setp.lt.u64 %p1, %rd5, %rd2;\n"
    "    @%p1 bra AGAIN;\n"
    "    ret;\n"
    "}\n";

/* The functions in use: name and parameters. */
#define CUDA_CALLS(X)                                                                          \
    X(cuInit, (unsigned))                                                                      \
    X(cuDriverGetVersion, (int *))                                                             \
    X(cuGetErrorName, (CUresult, const char **))                                               \
    X(cuDeviceGetCount, (int *))                                                               \
    X(cuDeviceGet, (CUdevice *, int))                                                          \
    X(cuDeviceGetName, (char *, int, CUdevice))                                                \
    X(cuDeviceTotalMem_v2, (size_t *, CUdevice))                                               \
    X(cuDeviceGetAttribute, (int *, int, CUdevice))                                            \
    X(cuDevicePrimaryCtxRetain, (CUcontext *, CUdevice))                                       \
    X(cuDevicePrimaryCtxRelease_v2, (CUdevice))                                                \
    X(cuCtxSetCurrent, (CUcontext))                                                            \
    X(cuCtxSynchronize, (void))                                                                \
    X(cuMemGetInfo_v2, (size_t *, size_t *))                                                   \
    X(cuMemAlloc_v2, (CUdeviceptr *, size_t))                                                  \
    X(cuMemFree_v2, (CUdeviceptr))                                                             \
    X(cuMemAllocManaged, (CUdeviceptr *, size_t, unsigned))                                    \
    X(cuMemHostAlloc, (void **, size_t, unsigned))                                             \
    X(cuMemFreeHost, (void *))                                                                 \
    X(cuMemcpyHtoD_v2, (CUdeviceptr, const void *, size_t))                                    \
    X(cuMemcpyDtoH_v2, (void *, CUdeviceptr, size_t))                                          \
    X(cuMemcpyDtoDAsync_v2, (CUdeviceptr, CUdeviceptr, size_t, CUstream))                      \
    X(cuMemsetD8_v2, (CUdeviceptr, unsigned char, size_t))                                     \
    X(cuMemsetD32Async, (CUdeviceptr, unsigned, size_t, CUstream))                             \
    X(cuMemAllocAsync, (CUdeviceptr *, size_t, CUstream))                                      \
    X(cuMemFreeAsync, (CUdeviceptr, CUstream))                                                 \
    X(cuMemGetAllocationGranularity, (size_t *, const struct CUmemAllocationProp *, int))      \
    X(cuMemAddressReserve, (CUdeviceptr *, size_t, size_t, CUdeviceptr, uint64_t))             \
    X(cuMemAddressFree, (CUdeviceptr, size_t))                                                 \
    X(cuMemCreate,                                                                             \
      (CUmemGenericAllocationHandle *, size_t, const struct CUmemAllocationProp *, uint64_t))  \
    X(cuMemMap, (CUdeviceptr, size_t, size_t, CUmemGenericAllocationHandle, uint64_t))         \
    X(cuMemSetAccess, (CUdeviceptr, size_t, const struct CUmemAccessDesc *, size_t))           \
    X(cuMemUnmap, (CUdeviceptr, size_t))                                                       \
    X(cuMemRelease, (CUmemGenericAllocationHandle))                                            \
    X(cuStreamCreate, (CUstream *, unsigned))                                                  \
    X(cuStreamDestroy_v2, (CUstream))                                                          \
    X(cuStreamSynchronize, (CUstream))                                                         \
    X(cuStreamBeginCapture_v2, (CUstream, unsigned))                                           \
    X(cuStreamEndCapture, (CUstream, CUgraph *))                                               \
    X(cuEventCreate, (CUevent *, unsigned))                                                    \
    X(cuEventDestroy_v2, (CUevent))                                                            \
    X(cuEventRecord, (CUevent, CUstream))                                                      \
    X(cuEventSynchronize, (CUevent))                                                           \
    X(cuEventElapsedTime, (float *, CUevent, CUevent))                                         \
    X(cuModuleLoadData, (CUmodule *, const void *))                                            \
    X(cuModuleUnload, (CUmodule))                                                              \
    X(cuModuleGetFunction, (CUfunction *, CUmodule, const char *))                             \
    X(cuLaunchKernel, (CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, \
                       unsigned, CUstream, void **, void **))                                  \
    X(cuGraphInstantiateWithFlags, (CUgraphExec *, CUgraph, uint64_t))                         \
    X(cuGraphLaunch, (CUgraphExec, CUstream))                                                  \
    X(cuGraphExecDestroy, (CUgraphExec))                                                       \
    X(cuGraphDestroy, (CUgraph))                                                               \
    X(cuGetProcAddress, (const char *, void **, int, uint64_t))

static struct {
#define X(name, arguments) CUresult(*name) arguments; /* NOLINT(bugprone-macro-parentheses) */
    CUDA_CALLS(X)
#undef X
} cuda;

static CUdevice device;
static CUmodule module;
static int failures;

static const char *error_name(CUresult result)
{
    const char *name = NULL;

    if (cuda.cuGetErrorName(result, &name) != CUDA_SUCCESS || !name)
        name = "an unknown error";
    return name;
}

static bool has(CUresult got, CUresult wanted, const char *what)
{
    if (got == wanted) {
        (void)printf("ok - %s\n", what);
        return true;
    }
    (void)printf("not ok - %s: got %d %s, want %d %s\n", what, got, error_name(got), wanted,
                 error_name(wanted));
    failures++;
    return false;
}

static bool is_true(bool claim, const char *what)
{
    (void)printf("%s - %s\n", claim ? "ok" : "not ok", what);
    failures += !claim;
    return claim;
}

#define OK(call)          has((call), CUDA_SUCCESS, #call)
#define FAILS(call, with) has((call), (with), #call)

/* ---- start ---- */

static bool library_load(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);

    if (!library) {
        (void)fprintf(stderr, "cuda_smoke: %s\n", dlerror());
        return false;
    }
#define X(name, arguments)                                               \
    do {                                                                 \
        void *symbol = dlsym(library, #name);                            \
                                                                         \
        if (!symbol) {                                                   \
            (void)fprintf(stderr, "cuda_smoke: %s is missing\n", #name); \
            return false;                                                \
        }                                                                \
        memcpy(&cuda.name, &symbol, sizeof(symbol));                     \
    } while (0);
    CUDA_CALLS(X)
#undef X
    return true;
}

/* Takes the first gpu and loads the kernels. */
static bool gpu_open(void)
{
    CUcontext context = NULL;
    CUresult result = cuda.cuInit(0);

    if (result == CUDA_SUCCESS)
        result = cuda.cuDeviceGet(&device, 0);
    if (result == CUDA_SUCCESS)
        result = cuda.cuDevicePrimaryCtxRetain(&context, device);
    if (result == CUDA_SUCCESS)
        result = cuda.cuCtxSetCurrent(context);
    if (result == CUDA_SUCCESS)
        result = cuda.cuModuleLoadData(&module, ptx);
    if (result == CUDA_SUCCESS)
        return true;
    (void)fprintf(stderr, "cuda_smoke: no gpu: %d %s\n", result, error_name(result));
    return false;
}

static CUresult launch(const char *name, unsigned threads, CUstream stream, void **parameters)
{
    CUfunction function = NULL;
    CUresult result = cuda.cuModuleGetFunction(&function, module, name);

    if (result != CUDA_SUCCESS)
        return result;
    return cuda.cuLaunchKernel(function, (threads + 255) / 256, 1, 1, threads < 256 ? threads : 256,
                               1, 1, 0, stream, parameters, NULL);
}

/* ---- checks ---- */

static void check_device(void)
{
    char name[128] = "";
    size_t total = 0;
    int version = 0;
    int major = 0;
    int n = 0;

    OK(cuda.cuDriverGetVersion(&version));
    is_true(version >= 11000, "the version of CUDA is at least 11.0");
    OK(cuda.cuDeviceGetCount(&n));
    is_true(n > 0, "there is a gpu");
    OK(cuda.cuDeviceGetName(name, sizeof(name), device));
    is_true(name[0] != '\0', "the gpu has a name");
    OK(cuda.cuDeviceTotalMem_v2(&total, device));
    is_true(total > 256 * MIB, "the gpu has memory");
    OK(cuda.cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device));
    is_true(major >= 7, "the compute capability is at least 7");
    FAILS(cuda.cuDeviceGet(&device, n), CUDA_ERROR_INVALID_DEVICE);
}

static void check_memory(void)
{
    unsigned char bytes[4096];
    CUdeviceptr a = 0;
    CUdeviceptr managed = 0;
    size_t before = 0;
    size_t after = 0;
    size_t total = 0;
    void *host = NULL;
    unsigned wrong = 0;

    OK(cuda.cuMemGetInfo_v2(&before, &total));
    if (!OK(cuda.cuMemAlloc_v2(&a, 64 * MIB)))
        return;
    OK(cuda.cuMemGetInfo_v2(&after, &total));
    is_true(before - after >= 64 * MIB, "an allocation takes free memory");
    OK(cuda.cuMemsetD8_v2(a, 0x5a, 64 * MIB));
    OK(cuda.cuMemcpyDtoH_v2(bytes, a + 64 * MIB - sizeof(bytes), sizeof(bytes)));
    for (size_t i = 0; i < sizeof(bytes); i++)
        wrong += bytes[i] != 0x5a;
    is_true(wrong == 0, "a set reaches the end of the memory");
    OK(cuda.cuMemFree_v2(a));
    OK(cuda.cuMemGetInfo_v2(&after, &total));
    if (after != before) { /* the context's own memory was counted meanwhile: once */
        before = after;
        OK(cuda.cuMemAlloc_v2(&a, 64 * MIB));
        OK(cuda.cuMemFree_v2(a));
        OK(cuda.cuMemGetInfo_v2(&after, &total));
    }
    is_true(after == before, "freed memory comes back");
    FAILS(cuda.cuMemAlloc_v2(&a, total + MIB), CUDA_ERROR_OUT_OF_MEMORY);
    FAILS(cuda.cuMemAlloc_v2(&a, 0), CUDA_ERROR_INVALID_VALUE);
    if (OK(cuda.cuMemAllocManaged(&managed, MIB, 1)))
        OK(cuda.cuMemFree_v2(managed));
    if (OK(cuda.cuMemHostAlloc(&host, MIB, 0)))
        OK(cuda.cuMemFreeHost(host));
}

enum {
    N = 100000
};

static float numbers[3][N];

static void check_kernels(void)
{
    CUdeviceptr at[3] = {0};
    uint32_t n = N;
    void *add[] = {&at[0], &at[1], &at[2], &n};
    uint32_t value = 0x40400000; /* 3.0 */
    void *fill[] = {&at[1], &value, &n};
    unsigned wrong = 0;

    for (unsigned i = 0; i < N; i++)
        numbers[0][i] = (float)i;
    for (unsigned i = 0; i < 3; i++) {
        if (!OK(cuda.cuMemAlloc_v2(&at[i], sizeof(numbers[0]))))
            return;
    }
    OK(cuda.cuMemcpyHtoD_v2(at[0], numbers[0], sizeof(numbers[0])));
    OK(launch("fill", N, NULL, fill));
    OK(launch("vector_add", N, NULL, add));
    OK(cuda.cuCtxSynchronize());
    OK(cuda.cuMemcpyDtoH_v2(numbers[2], at[2], sizeof(numbers[2])));
    for (unsigned i = 0; i < N; i++)
        wrong += numbers[2][i] < (float)i + 2.5F || numbers[2][i] > (float)i + 3.5F;
    is_true(wrong == 0, "kernels compute");
    FAILS(launch("no_such_kernel", N, NULL, add), CUDA_ERROR_NOT_FOUND);
    for (unsigned i = 0; i < 3; i++)
        OK(cuda.cuMemFree_v2(at[i]));
}

static void check_streams(void)
{
    CUstream stream = NULL;
    CUevent start = NULL;
    CUevent end = NULL;
    float ms = 0;
    uint64_t us = 20000;
    void *parameters[] = {&us};

    OK(cuda.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuda.cuEventCreate(&start, 0));
    OK(cuda.cuEventCreate(&end, 0));
    OK(cuda.cuEventRecord(start, stream));
    OK(launch("spin", 1, stream, parameters));
    OK(cuda.cuEventRecord(end, stream));
    FAILS(cuda.cuEventElapsedTime(&ms, start, end), CUDA_ERROR_NOT_READY);
    OK(cuda.cuEventSynchronize(end));
    OK(cuda.cuEventElapsedTime(&ms, start, end));
    is_true(ms >= 19.9F, "a kernel of 20 ms takes 20 ms");
    OK(cuda.cuStreamSynchronize(stream));
    OK(cuda.cuEventDestroy_v2(start));
    OK(cuda.cuEventDestroy_v2(end));
    OK(cuda.cuStreamDestroy_v2(stream));
}

static void check_graphs(void)
{
    CUstream stream = NULL;
    CUgraph graph = NULL;
    CUgraphExec exec = NULL;
    CUdeviceptr at = 0;
    CUdeviceptr copy = 0;
    uint32_t n = 1024;
    uint32_t value = 7;
    uint32_t got = 0;
    void *fill[] = {&at, &value, &n};

    OK(cuda.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuda.cuMemAllocAsync(&at, 4096, stream));
    OK(cuda.cuMemAllocAsync(&copy, 4096, stream));
    OK(cuda.cuMemsetD32Async(copy, 1, 1024, stream));
    OK(cuda.cuStreamSynchronize(stream));
    OK(cuda.cuStreamBeginCapture_v2(stream, 0));
    OK(launch("fill", n, stream, fill));
    OK(cuda.cuMemcpyDtoDAsync_v2(copy, at, 4096, stream));
    OK(cuda.cuStreamEndCapture(stream, &graph));
    OK(cuda.cuMemcpyDtoH_v2(&got, copy + 4092, 4));
    is_true(got == 1, "a capture runs nothing");
    OK(cuda.cuGraphInstantiateWithFlags(&exec, graph, 0));
    OK(cuda.cuGraphLaunch(exec, stream));
    OK(cuda.cuStreamSynchronize(stream));
    OK(cuda.cuMemcpyDtoH_v2(&got, copy + 4092, 4));
    is_true(got == 7, "a graph runs what was captured");
    OK(cuda.cuGraphExecDestroy(exec));
    OK(cuda.cuGraphDestroy(graph));
    OK(cuda.cuMemFreeAsync(at, stream));
    OK(cuda.cuMemFreeAsync(copy, stream));
    OK(cuda.cuStreamSynchronize(stream));
    OK(cuda.cuStreamDestroy_v2(stream));
}

static void check_virtual_memory(void)
{
    struct CUmemAllocationProp wanted = {
        .type = CU_MEM_ALLOCATION_TYPE_PINNED,
        .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device}};
    struct CUmemAccessDesc access = {.location = wanted.location,
                                     .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CUmemGenericAllocationHandle handle = 0;
    CUdeviceptr at = 0;
    size_t step = 0;
    uint32_t value = 12345;
    uint32_t got = 0;

    if (!OK(cuda.cuMemGetAllocationGranularity(&step, &wanted, 0)))
        return;
    OK(cuda.cuMemAddressReserve(&at, 4 * step, 0, 0, 0));
    OK(cuda.cuMemCreate(&handle, step, &wanted, 0));
    OK(cuda.cuMemMap(at + step, step, 0, handle, 0));
    OK(cuda.cuMemSetAccess(at + step, step, &access, 1));
    OK(cuda.cuMemcpyHtoD_v2(at + step, &value, sizeof(value)));
    OK(cuda.cuMemUnmap(at + step, step));
    OK(cuda.cuMemMap(at + 2 * step, step, 0, handle, 0));
    OK(cuda.cuMemSetAccess(at + 2 * step, step, &access, 1));
    OK(cuda.cuMemcpyDtoH_v2(&got, at + 2 * step, sizeof(got)));
    is_true(got == value, "physical memory keeps its content at another address");
    OK(cuda.cuMemUnmap(at + 2 * step, step));
    OK(cuda.cuMemRelease(handle));
    OK(cuda.cuMemAddressFree(at, 4 * step));
}

static void check_names(void)
{
    void *found = NULL;

    OK(cuda.cuGetProcAddress("cuMemAlloc", &found, 12000, 0));
    is_true(found != NULL, "cuGetProcAddress finds a function");
    FAILS(cuda.cuGetProcAddress("cuNoSuchFunction", &found, 12000, 0), CUDA_ERROR_NOT_FOUND);
}

static int run_checks(void)
{
    check_device();
    OK(cuda.cuDeviceGet(&device, 0));
    check_memory();
    check_kernels();
    check_streams();
    check_graphs();
    check_virtual_memory();
    check_names();
    OK(cuda.cuModuleUnload(module));
    OK(cuda.cuDevicePrimaryCtxRelease_v2(device));
    (void)printf("%s\n", failures ? "failed" : "passed");
    return failures > 0;
}

/* ---- loads for other tests ---- */

static int run_hold(size_t mib)
{
    CUdeviceptr at = 0;
    CUresult result = cuda.cuMemAlloc_v2(&at, mib * MIB);
    char byte;

    if (result != CUDA_SUCCESS) {
        (void)fprintf(stderr, "cuda_smoke: %zu MiB: %d %s\n", mib, result, error_name(result));
        return 1;
    }
    (void)printf("holding\n");
    (void)fflush(stdout);
    while (read(STDIN_FILENO, &byte, 1) > 0)
        continue;
    return 0;
}

static int run_spin(uint64_t ms)
{
    uint64_t us = 1000;
    void *parameters[] = {&us};
    CUevent start = NULL;
    CUevent end = NULL;
    float spent = 0;
    unsigned n = 0;
    CUresult result = cuda.cuEventCreate(&start, 0);

    if (result == CUDA_SUCCESS)
        result = cuda.cuEventCreate(&end, 0);
    if (result == CUDA_SUCCESS)
        result = cuda.cuEventRecord(start, NULL);
    for (; result == CUDA_SUCCESS && spent < (float)ms; n++) {
        result = launch("spin", 1, NULL, parameters);
        if (result == CUDA_SUCCESS)
            result = cuda.cuEventRecord(end, NULL);
        if (result == CUDA_SUCCESS)
            result = cuda.cuEventSynchronize(end);
        if (result == CUDA_SUCCESS)
            result = cuda.cuEventElapsedTime(&spent, start, end);
    }
    if (result != CUDA_SUCCESS)
        (void)fprintf(stderr, "cuda_smoke: %d %s\n", result, error_name(result));
    (void)printf("%u\n", n);
    return result != CUDA_SUCCESS;
}

/* There is always a kernel in the queue, so the gpu is busy however late this process is. */
static int run_busy(size_t mib)
{
    uint64_t us = 10000;
    void *parameters[] = {&us};
    CUdeviceptr at = 0;
    CUevent ends[2] = {NULL};
    CUresult result = cuda.cuMemAlloc_v2(&at, mib * MIB);

    for (unsigned i = 0; i < 2 && result == CUDA_SUCCESS; i++)
        result = cuda.cuEventCreate(&ends[i], 0);
    for (unsigned i = 0; result == CUDA_SUCCESS; i++) {
        for (unsigned k = 0; k < 20 && result == CUDA_SUCCESS; k++)
            result = launch("spin", 1, NULL, parameters);
        if (result == CUDA_SUCCESS)
            result = cuda.cuEventRecord(ends[i % 2], NULL);
        if (result == CUDA_SUCCESS && i > 0)
            result = cuda.cuEventSynchronize(ends[(i + 1) % 2]);
    }
    (void)fprintf(stderr, "cuda_smoke: %d %s\n", result, error_name(result));
    return 1;
}

static int run_fill(size_t mib)
{
    CUdeviceptr at = 0;
    unsigned n = 0;
    CUresult result;

    while ((result = cuda.cuMemAlloc_v2(&at, mib * MIB)) == CUDA_SUCCESS)
        n++;
    (void)printf("%u\n", n);
    return result != CUDA_ERROR_OUT_OF_MEMORY;
}

enum {
    BATCHES_MAX = 4096,
    BATCH = 256 /* calls; less than the launches that a gpu queues */
};

static double clock_ns(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int order(const void *a, const void *b)
{
    const double *x = a;
    const double *y = b;

    return (*x > *y) - (*x < *y);
}

/* A batch of launches; a kernel of no threads' work. */
static CUresult batch_launch(CUfunction function)
{
    CUdeviceptr at = 0;
    uint32_t value = 0;
    uint32_t n = 0;
    void *parameters[] = {&at, &value, &n};
    CUresult result = CUDA_SUCCESS;

    for (unsigned i = 0; i < BATCH && result == CUDA_SUCCESS; i++)
        result = cuda.cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, NULL, parameters, NULL);
    return result;
}

/* A batch of allocations of 4 MiB, each freed at once: the driver itself is asked for each. */
static CUresult batch_allocate(CUfunction function)
{
    CUresult result = CUDA_SUCCESS;

    (void)function;
    for (unsigned i = 0; i < BATCH && result == CUDA_SUCCESS; i++) {
        CUdeviceptr at = 0;

        result = cuda.cuMemAlloc_v2(&at, 4 * MIB);
        if (result == CUDA_SUCCESS)
            result = cuda.cuMemFree_v2(at);
    }
    return result;
}

static int run_batches(size_t n, CUresult (*batch)(CUfunction function))
{
    static double ns[BATCHES_MAX];
    CUfunction function = NULL;
    CUresult result = cuda.cuModuleGetFunction(&function, module, "fill");

    if (n > BATCHES_MAX)
        n = BATCHES_MAX;
    if (result == CUDA_SUCCESS)
        result = batch(function); /* loads what is loaded lazily */
    for (size_t i = 0; i < n && result == CUDA_SUCCESS; i++) {
        double start;

        result = cuda.cuCtxSynchronize();
        start = clock_ns();
        if (result == CUDA_SUCCESS)
            result = batch(function);
        ns[i] = (clock_ns() - start) / BATCH;
    }
    if (result != CUDA_SUCCESS) {
        (void)fprintf(stderr, "cuda_smoke: %d %s\n", result, error_name(result));
        return 1;
    }
    qsort(ns, n, sizeof(ns[0]), order);
    (void)printf("%.1f\n", ns[n / 2]);
    return 0;
}

int main(int argc, char **argv)
{
    unsigned long long number = argc == 3 ? strtoull(argv[2], NULL, 10) : 0;

    if (argc != 1 && (argc != 3 || number == 0 || number > UINT32_MAX)) {
        (void)fprintf(stderr, "usage: cuda_smoke [hold MIB | busy MIB | spin MS | fill MIB | "
                              "launches N | blocks N]\n");
        return 2;
    }
    if (!library_load() || !gpu_open())
        return 1;
    if (argc == 1)
        return run_checks();
    if (strcmp(argv[1], "hold") == 0)
        return run_hold(number);
    if (strcmp(argv[1], "busy") == 0)
        return run_busy(number);
    if (strcmp(argv[1], "spin") == 0)
        return run_spin(number);
    if (strcmp(argv[1], "launches") == 0)
        return run_batches(number, batch_launch);
    if (strcmp(argv[1], "blocks") == 0)
        return run_batches(number, batch_allocate);
    return strcmp(argv[1], "fill") == 0 ? run_fill(number) : 2;
}

#if defined(__x86_64__)
/*
 * The start of the program. The one of the C library that builds it would need a library as new.
 */
typedef int (*main_fn)(int, char **);

int start_old(main_fn run, int argc, char **argv, void (*init)(void), void (*fini)(void),
              void (*loader_fini)(void), void *stack) __asm__("start_main_old");
__asm__(".symver start_main_old, __libc_start_main@GLIBC_2.2.5");

void start_program(long *stack, void (*loader_fini)(void)) __attribute__((noreturn, used));
void start_program(long *stack, void (*loader_fini)(void))
{
    _exit(start_old((main_fn)main, (int)stack[0], (char **)(stack + 1), NULL, NULL, loader_fini,
                    stack));
}

__asm__(".globl _start\n"
        "_start:\n"
        "    xor %ebp, %ebp\n"
        "    mov %rsp, %rdi\n"
        "    mov %rdx, %rsi\n"
        "    and $-16, %rsp\n"
        "    call start_program\n");
#endif
