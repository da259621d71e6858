/* test_gpusim_cuda.c - the emulated CUDA driver where cuda_smoke does not look */

#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "gpu/cuda_abi.h"
#include "gpu/emulated.h"
#include "gpu/gpusim_machine.h"
#include "gpu/nvml_abi.h"
#include "prop.h"
#include "test.h"

#define MIB ((size_t)1 << 20)

#define CUDA_CALLS(X)                                                                          \
    X(cuInit, (unsigned))                                                                      \
    X(cuDeviceGetCount, (int *))                                                               \
    X(cuDevicePrimaryCtxRetain, (CUcontext *, CUdevice))                                       \
    X(cuDevicePrimaryCtxReset_v2, (CUdevice))                                                  \
    X(cuCtxSetCurrent, (CUcontext))                                                            \
    X(cuCtxSynchronize, (void))                                                                \
    X(cuMemGetInfo_v2, (size_t *, size_t *))                                                   \
    X(cuMemAlloc_v2, (CUdeviceptr *, size_t))                                                  \
    X(cuMemAllocPitch_v2, (CUdeviceptr *, size_t *, size_t, size_t, unsigned))                 \
    X(cuMemAllocManaged, (CUdeviceptr *, size_t, unsigned))                                    \
    X(cuMemFree_v2, (CUdeviceptr))                                                             \
    X(cuMemcpyHtoD_v2, (CUdeviceptr, const void *, size_t))                                    \
    X(cuMemcpyDtoH_v2, (void *, CUdeviceptr, size_t))                                          \
    X(cuMemcpy2D_v2, (const struct CUDA_MEMCPY2D *))                                           \
    X(cuMemsetD8_v2, (CUdeviceptr, unsigned char, size_t))                                     \
    X(cuArrayCreate_v2, (CUarray *, const struct CUDA_ARRAY_DESCRIPTOR *))                     \
    X(cuArrayDestroy, (CUarray))                                                               \
    X(cuIpcGetMemHandle, (struct CUipcMemHandle *, CUdeviceptr))                               \
    X(cuIpcOpenMemHandle_v2, (CUdeviceptr *, struct CUipcMemHandle, unsigned))                 \
    X(cuIpcCloseMemHandle, (CUdeviceptr))                                                      \
    X(cuStreamCreate, (CUstream *, unsigned))                                                  \
    X(cuStreamQuery, (CUstream))                                                               \
    X(cuStreamBeginCapture_v2, (CUstream, unsigned))                                           \
    X(cuStreamEndCapture, (CUstream, CUgraph *))                                               \
    X(cuModuleLoadData, (CUmodule *, const void *))                                            \
    X(cuModuleGetFunction, (CUfunction *, CUmodule, const char *))                             \
    X(cuFuncGetParamInfo, (CUfunction, size_t, size_t *, size_t *))                            \
    X(cuLaunchKernel, (CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, \
                       unsigned, CUstream, void **, void **))                                  \
    X(cuGetProcAddress_v2, (const char *, void **, int, uint64_t, int *))

static struct {
#define X(name, arguments) CUresult(*name) arguments; /* NOLINT(bugprone-macro-parentheses) */
    CUDA_CALLS(X)
#undef X
} cuda;

static char machine_file[128];
static struct gpusim_machine *machine;

static const char kernels[] =
    ".version 7.0 .target sm_70 .address_size 64\n"
    "// .entry commented(.param .u64 x)\n"
    ".visible .entry fill(.param .u64 out, .param .u32 value, .param .u32 n) { ret; }\n"
    ".visible .entry odd(.param .u8 a, .param .align 16 .b8 b[20], .param .f64 c) { ret; }\n";

/* ---- helpers ---- */

static void context_open(void)
{
    CUcontext context = NULL;

    assert_int_equal(cuda.cuInit(0), CUDA_SUCCESS);
    assert_int_equal(cuda.cuDevicePrimaryCtxRetain(&context, 0), CUDA_SUCCESS);
    assert_int_equal(cuda.cuCtxSetCurrent(context), CUDA_SUCCESS);
}

static CUfunction function_named(const char *name)
{
    CUmodule module = NULL;
    CUfunction function = NULL;

    assert_int_equal(cuda.cuModuleLoadData(&module, kernels), CUDA_SUCCESS);
    assert_int_equal(cuda.cuModuleGetFunction(&function, module, name), CUDA_SUCCESS);
    return function;
}

static size_t memory_free_bytes(void)
{
    size_t free_bytes = 0;
    size_t total = 0;

    assert_int_equal(cuda.cuMemGetInfo_v2(&free_bytes, &total), CUDA_SUCCESS);
    return free_bytes;
}

static CUdeviceptr allocate(size_t size)
{
    CUdeviceptr at = 0;

    assert_int_equal(cuda.cuMemAlloc_v2(&at, size), CUDA_SUCCESS);
    return at;
}

/* ---- tests ---- */

static void small_blocks_share_a_chunk(void **state)
{
    size_t before = memory_free_bytes();
    CUdeviceptr at[4096];

    (void)state;
    for (size_t i = 0; i < COUNT(at); i++)
        at[i] = allocate(512);
    assert_int_equal(before - memory_free_bytes(), 2 * MIB);
    for (size_t i = 0; i < COUNT(at); i += 2)
        assert_int_equal(cuda.cuMemFree_v2(at[i]), CUDA_SUCCESS);
    for (size_t i = 0; i < COUNT(at); i += 2)
        at[i] = allocate(1);
    assert_int_equal(before - memory_free_bytes(), 2 * MIB);
    for (size_t i = 0; i < COUNT(at); i++)
        assert_int_equal(cuda.cuMemFree_v2(at[i]), CUDA_SUCCESS);
    assert_int_equal(memory_free_bytes(), before);
    assert_int_equal(cuda.cuMemFree_v2(at[0]), CUDA_ERROR_INVALID_VALUE);
}

static void a_great_allocation_costs_nothing_until_it_is_written(void **state)
{
    CUdeviceptr at = allocate(60000 * MIB);
    unsigned char last = 1;

    (void)state;
    assert_int_equal(cuda.cuMemsetD8_v2(at, 0, 60000 * MIB), CUDA_SUCCESS);
    assert_int_equal(cuda.cuMemcpyDtoH_v2(&last, at + 60000 * MIB - 1, 1), CUDA_SUCCESS);
    assert_int_equal(last, 0);
    assert_int_equal(cuda.cuMemFree_v2(at), CUDA_SUCCESS);
}

static void managed_memory_may_pass_the_gpus(void **state)
{
    CUdeviceptr at = 0;

    (void)state;
    assert_int_equal(cuda.cuMemAllocManaged(&at, 100000 * MIB, 1), CUDA_SUCCESS);
    *(volatile char *)(uintptr_t)at = 1;
    assert_int_equal(cuda.cuMemFree_v2(at), CUDA_SUCCESS);
}

static void arrays_and_pitches_keep_their_rows(void **state)
{
    struct CUDA_ARRAY_DESCRIPTOR shape = {
        .Width = 10, .Height = 3, .Format = 0x01, .NumChannels = 1};
    unsigned char in[30];
    unsigned char out[30] = {0};
    struct CUDA_MEMCPY2D copy = {.srcMemoryType = CU_MEMORYTYPE_HOST,
                                 .srcHost = in,
                                 .srcPitch = 10,
                                 .dstMemoryType = CU_MEMORYTYPE_ARRAY,
                                 .WidthInBytes = 10,
                                 .Height = 3};
    CUdeviceptr rows = 0;
    CUarray array = NULL;
    size_t pitch = 0;

    (void)state;
    for (unsigned i = 0; i < sizeof(in); i++)
        in[i] = (unsigned char)(i + 1);
    assert_int_equal(cuda.cuArrayCreate_v2(&array, &shape), CUDA_SUCCESS);
    assert_int_equal(cuda.cuMemAllocPitch_v2(&rows, &pitch, 10, 3, 4), CUDA_SUCCESS);
    copy.dstArray = array;
    assert_int_equal(cuda.cuMemcpy2D_v2(&copy), CUDA_SUCCESS);
    copy = (struct CUDA_MEMCPY2D){.srcMemoryType = CU_MEMORYTYPE_ARRAY,
                                  .srcArray = array,
                                  .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                                  .dstDevice = rows,
                                  .dstPitch = pitch,
                                  .WidthInBytes = 10,
                                  .Height = 3};
    assert_int_equal(cuda.cuMemcpy2D_v2(&copy), CUDA_SUCCESS);
    for (size_t y = 0; y < 3; y++)
        assert_int_equal(cuda.cuMemcpyDtoH_v2(out + 10 * y, rows + y * pitch, 10), CUDA_SUCCESS);
    assert_memory_equal(in, out, sizeof(in));
    copy.Height = 4;
    assert_int_equal(cuda.cuMemcpy2D_v2(&copy), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuda.cuArrayDestroy(array), CUDA_SUCCESS);
    assert_int_equal(cuda.cuMemFree_v2(rows), CUDA_SUCCESS);
}

static void reads_the_parameters_of_kernels(void **state)
{
    static const size_t offsets[] = {0, 16, 40};
    static const size_t sizes[] = {1, 20, 8};
    static const struct {
        const char *text;
        CUresult result;
    } bad[] = {{"", CUDA_ERROR_NO_BINARY_FOR_GPU},
               {"\177ELF", CUDA_ERROR_NO_BINARY_FOR_GPU},
               {"no ptx", CUDA_ERROR_INVALID_PTX},
               {".version 7.0 .entry f(.param", CUDA_ERROR_INVALID_PTX},
               {".version 7.0 .entry f(.param .u64 a,", CUDA_ERROR_INVALID_PTX},
               {".version 7.0 .entry f(.param .b8 a[9999])", CUDA_ERROR_INVALID_PTX}};
    CUfunction odd = function_named("odd");
    CUfunction function = NULL;
    CUmodule module = NULL;
    size_t offset = 0;
    size_t size = 0;

    (void)state;
    for (size_t i = 0; i < COUNT(sizes); i++) {
        assert_int_equal(cuda.cuFuncGetParamInfo(odd, i, &offset, &size), CUDA_SUCCESS);
        assert_int_equal(offset, offsets[i]);
        assert_int_equal(size, sizes[i]);
    }
    assert_int_equal(cuda.cuFuncGetParamInfo(odd, 3, &offset, &size), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuda.cuModuleLoadData(&module, kernels), CUDA_SUCCESS);
    assert_int_equal(cuda.cuModuleGetFunction(&function, module, "commented"),
                     CUDA_ERROR_NOT_FOUND);
    for (size_t i = 0; i < COUNT(bad); i++)
        assert_int_equal(cuda.cuModuleLoadData(&module, bad[i].text), bad[i].result);
}

static void a_kernel_out_of_bounds_breaks_its_context(void **state)
{
    CUfunction fill = function_named("fill");
    CUdeviceptr at = allocate(4096);
    uint32_t value = 1;
    uint32_t n = 1 << 20;
    void *parameters[] = {&at, &value, &n};
    CUdeviceptr more = 0;

    (void)state;
    assert_int_equal(cuda.cuLaunchKernel(fill, 4096, 1, 1, 256, 1, 1, 0, NULL, parameters, NULL),
                     CUDA_SUCCESS);
    assert_int_equal(cuda.cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
    assert_int_equal(cuda.cuMemAlloc_v2(&more, 1), CUDA_ERROR_ILLEGAL_ADDRESS);
    assert_int_equal(cuda.cuDevicePrimaryCtxReset_v2(0), CUDA_SUCCESS);
    context_open();
    assert_int_equal(cuda.cuMemFree_v2(allocate(1)), CUDA_SUCCESS);
}

static void a_capturing_stream_refuses_questions(void **state)
{
    CUstream stream = NULL;
    CUgraph graph = NULL;

    (void)state;
    assert_int_equal(cuda.cuStreamBeginCapture_v2(NULL, 0), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    assert_int_equal(cuda.cuStreamCreate(&stream, 0), CUDA_SUCCESS);
    assert_int_equal(cuda.cuStreamEndCapture(stream, &graph), CUDA_ERROR_ILLEGAL_STATE);
    assert_int_equal(cuda.cuStreamBeginCapture_v2(stream, 0), CUDA_SUCCESS);
    assert_int_equal(cuda.cuStreamQuery(stream), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    assert_int_equal(cuda.cuStreamEndCapture(stream, &graph), CUDA_SUCCESS);
    assert_int_equal(cuda.cuStreamQuery(stream), CUDA_SUCCESS);
}

static void names_lead_to_the_version_that_was_asked_for(void **state)
{
    void *old = NULL;
    void *recent = NULL;
    int status = -1;

    (void)state;
    assert_int_equal(cuda.cuGetProcAddress_v2("cuCtxCreate", &old, 4000, 0, &status), CUDA_SUCCESS);
    assert_int_equal(cuda.cuGetProcAddress_v2("cuCtxCreate", &recent, 12050, 0, &status),
                     CUDA_SUCCESS);
    assert_int_equal(status, CU_GET_PROC_ADDRESS_SUCCESS);
    assert_ptr_not_equal(old, recent);
    assert_int_equal(cuda.cuGetProcAddress_v2("cuMemCreate", &old, 9000, 0, &status), CUDA_SUCCESS);
    assert_int_equal(status, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
    assert_null(old);
}

/* Runs `run` in a child process; its result is the exit status. */
static void in_child(int (*run)(int), int fd)
{
    int status = -1;
    pid_t pid = fork();

    if (pid == 0)
        _exit(run(fd));
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static int child_asks(int fd)
{
    int n = 0;

    (void)fd;
    return cuda.cuDeviceGetCount(&n) != CUDA_ERROR_NOT_INITIALIZED;
}

static void a_child_process_has_no_cuda_of_its_parent(void **state)
{
    (void)state;
    in_child(child_asks, -1);
}

/* Reads a handle, opens it in a process of its own, and changes the memory behind it. */
static int child_writes(int fd)
{
    struct CUipcMemHandle handle;
    CUcontext context = NULL;
    CUdeviceptr at = 0;
    unsigned char byte = 0;

    if (read(fd, &handle, sizeof(handle)) != (ssize_t)sizeof(handle) ||
        cuda.cuInit(0) != CUDA_SUCCESS ||
        cuda.cuDevicePrimaryCtxRetain(&context, 0) != CUDA_SUCCESS ||
        cuda.cuCtxSetCurrent(context) != CUDA_SUCCESS)
        return 1;
    if (cuda.cuIpcOpenMemHandle_v2(&at, handle, 1) != CUDA_SUCCESS ||
        cuda.cuMemcpyDtoH_v2(&byte, at, 1) != CUDA_SUCCESS || byte != 7)
        return 2;
    return cuda.cuMemsetD8_v2(at, 8, 1) != CUDA_SUCCESS ||
           cuda.cuIpcCloseMemHandle(at) != CUDA_SUCCESS;
}

/* Runs before the parent has called cuInit: the child waits for its handle. */
static void processes_share_memory_by_a_handle(void **state)
{
    struct CUipcMemHandle handle;
    unsigned char byte = 0;
    CUdeviceptr at = 0;
    int pipes[2];
    int status = -1;
    pid_t pid;

    (void)state;
    assert_int_equal(pipe(pipes), 0);
    pid = fork();
    if (pid == 0)
        _exit(child_writes(pipes[0]));
    context_open();
    at = allocate(1000);
    assert_int_equal(cuda.cuMemsetD8_v2(at, 7, 1000), CUDA_SUCCESS);
    assert_int_equal(cuda.cuIpcGetMemHandle(&handle, at), CUDA_SUCCESS);
    assert_int_equal(write(pipes[1], &handle, sizeof(handle)), sizeof(handle));
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_int_equal(cuda.cuMemcpyDtoH_v2(&byte, at, 1), CUDA_SUCCESS);
    assert_int_equal(byte, 8);
    assert_int_equal(cuda.cuMemFree_v2(at), CUDA_SUCCESS);
    (void)close(pipes[0]);
    (void)close(pipes[1]);
}

/* ---- scribbles ---- */

typedef int (*text_fn)(nvmlDevice_t, char *, unsigned);

/* Calls what reads the scribbled parts. The answers may be any; the calls have to return. */
static void read_machine(void *library)
{
    int (*init)(void) = NULL;
    int (*shut)(void) = NULL;
    int (*count)(unsigned *) = NULL;
    int (*by_index)(unsigned, nvmlDevice_t *) = NULL;
    static const char *const texts[] = {"nvmlDeviceGetName", "nvmlDeviceGetUUID",
                                        "nvmlDeviceGetSerial"};
    static const char *const readings[] = {
        "nvmlDeviceGetMemoryInfo",       "nvmlDeviceGetUtilizationRates",
        "nvmlDeviceGetPciInfo_v3",       "nvmlDeviceGetPowerUsage",
        "nvmlDeviceGetPerformanceState", "nvmlDeviceGetTotalEnergyConsumption"};
    unsigned n = 0;

    *(void **)&init = dlsym(library, "nvmlInit_v2");
    *(void **)&shut = dlsym(library, "nvmlShutdown");
    *(void **)&count = dlsym(library, "nvmlDeviceGetCount_v2");
    *(void **)&by_index = dlsym(library, "nvmlDeviceGetHandleByIndex_v2");
    if (init() != NVML_SUCCESS)
        return;
    (void)count(&n);
    for (unsigned i = 0; i < n; i++) {
        nvmlDevice_t device = NULL;
        char buffer[256];

        if (by_index(i, &device) != NVML_SUCCESS)
            continue;
        for (size_t k = 0; k < COUNT(texts); k++) {
            text_fn get = NULL;

            *(void **)&get = dlsym(library, texts[k]);
            (void)get(device, buffer, sizeof(buffer));
        }
        for (size_t k = 0; k < COUNT(readings); k++) {
            int (*get)(nvmlDevice_t, void *) = NULL;

            *(void **)&get = dlsym(library, readings[k]);
            (void)get(device, buffer);
        }
    }
    (void)shut();
}

static void scribble(struct prop *r)
{
    static const unsigned char fillings[] = {0, 0xff, '0', 'A'};
    unsigned char *bytes = (unsigned char *)machine;
    size_t first = offsetof(struct gpusim_machine, gpus);

    for (unsigned i = 0; i < 20; i++) {
        size_t at = first + prop_below(r, sizeof(*machine) - first);
        size_t n = 1 + prop_below(r, sizeof(*machine) - at);

        if (prop_chance(r, 70) && n > 64)
            n = 64;
        memset(bytes + at, fillings[prop_below(r, COUNT(fillings))], n);
    }
    for (unsigned i = 0; i < GPUSIM_GPUS_MAX; i++) {
        machine->gpus[i].hang_ms = 0;
        machine->gpus[i].is_lost = 0;
    }
}

static void a_scribbled_machine_gives_wrong_answers_and_no_crash(void **state)
{
    AUTO_FREE struct gpusim_machine *whole = mem_alloc(sizeof(*whole));
    void *library = dlopen(getenv("METE_TEST_NVML"), RTLD_NOW | RTLD_LOCAL);
    struct prop_seeds seeds = prop_seeds(100);

    (void)state;
    assert_non_null(library);
    *whole = *machine;
    for (uint64_t seed = seeds.first; seed < seeds.end; seed++) {
        struct prop r = {seed};
        CUdeviceptr at = 0;
        size_t free_bytes = 0;
        size_t total = 0;

        scribble(&r);
        read_machine(library);
        (void)cuda.cuMemGetInfo_v2(&free_bytes, &total);
        if (cuda.cuMemAlloc_v2(&at, MIB) == CUDA_SUCCESS)
            (void)cuda.cuMemFree_v2(at);
        (void)cuda.cuStreamQuery(NULL);
        *machine = *whole;
    }
    (void)dlclose(library);
}

/* ---- main ---- */

static int machine_make(void)
{
    AUTO_FREE struct gpusim_machine *m = mem_alloc(sizeof(*m));
    struct err *e = emulated_compile("2xH100", NULL, "cuda", m);
    int fd;

    if (!e)
        e = file_write(machine_file, 0600, (struct str){.at = (const char *)m, .size = sizeof(*m)});
    if (e)
        return -1;
    fd = open(machine_file, O_RDWR | O_CLOEXEC);
    machine = mmap(NULL, sizeof(*machine), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    (void)close(fd);
    return machine == MAP_FAILED;
}

static int open_library(void **state)
{
    void *library = dlopen(getenv("METE_TEST_CUDA"), RTLD_NOW | RTLD_LOCAL);

    (void)state;
    if (!library)
        return -1;
#define X(name, arguments)                           \
    do {                                             \
        void *symbol = dlsym(library, #name);        \
                                                     \
        if (!symbol)                                 \
            return -1;                               \
        memcpy(&cuda.name, &symbol, sizeof(symbol)); \
    } while (0);
    CUDA_CALLS(X)
#undef X
    (void)snprintf(machine_file, sizeof(machine_file), "/tmp/test_gpusim_cuda-%d", getpid());
    if (setenv("METE_GPUSIM_MACHINE", machine_file, 1) || setenv("METE_GPUSIM_ALL", "1", 1))
        return -1;
    return machine_make();
}

static int remove_machine(void **state)
{
    (void)state;
    return unlink(machine_file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(processes_share_memory_by_a_handle), /* the first: before cuInit */
        cmocka_unit_test(small_blocks_share_a_chunk),
        cmocka_unit_test(a_great_allocation_costs_nothing_until_it_is_written),
        cmocka_unit_test(managed_memory_may_pass_the_gpus),
        cmocka_unit_test(arrays_and_pitches_keep_their_rows),
        cmocka_unit_test(reads_the_parameters_of_kernels),
        cmocka_unit_test(a_kernel_out_of_bounds_breaks_its_context),
        cmocka_unit_test(a_capturing_stream_refuses_questions),
        cmocka_unit_test(names_lead_to_the_version_that_was_asked_for),
        cmocka_unit_test(a_child_process_has_no_cuda_of_its_parent),
        cmocka_unit_test(a_scribbled_machine_gives_wrong_answers_and_no_crash),
    };

    return cmocka_run_group_tests(tests, open_library, remove_machine);
}
