/*
 * cuda_launch.c - launches: what a kernel computes, and how long it takes
 *
 * The name of a kernel decides:
 *
 *     spin_<us>       takes so many microseconds
 *     spin            takes as many as its first parameter (u64) says
 *     vector_add      (const float *a, const float *b, float *sum, u32 n): computes the sum
 *     fill            (u32 *out, u32 value, u32 n): writes the value
 *
 * Any other kernel computes nothing. A kernel that is no spin takes time by its threads: so many
 * threads at once as the multiprocessors of the device hold take KERNELS_TIME_MIN.
 */

#include <stdlib.h>
#include <string.h>

#include "cuda.h"

enum {
    THREADS_PER_MULTIPROCESSOR = 2048
};

/* ---- preparation ---- */

static CUresult buffer_take(struct launch *l, void **extra)
{
    const void *buffer = NULL;
    size_t size = 0;

    for (unsigned i = 0; extra[i] != CU_LAUNCH_PARAM_END; i += 2) {
        if (extra[i] == CU_LAUNCH_PARAM_BUFFER_POINTER)
            buffer = extra[i + 1];
        else if (extra[i] == CU_LAUNCH_PARAM_BUFFER_SIZE)
            size = *(const size_t *)extra[i + 1];
        else
            return CUDA_ERROR_INVALID_VALUE;
    }
    REQUIRE(buffer && size <= sizeof(l->parameters) && size >= l->function->parameters_size);
    memcpy(l->parameters, buffer, size);
    return CUDA_SUCCESS;
}

CUresult launch_prepare(struct CUctx_st *c, struct launch *l, void **parameters, void **extra)
{
    const struct CUfunc_st *f = l->function;
    uint64_t threads = (uint64_t)l->block[0] * l->block[1] * l->block[2];

    if (!handle_is(f, HANDLE_FUNCTION))
        return CUDA_ERROR_INVALID_HANDLE;
    if (f->module->context && f->module->context != c)
        return CUDA_ERROR_INVALID_HANDLE;
    REQUIRE(l->grid[0] && l->grid[1] && l->grid[2] && threads > 0);
    REQUIRE(l->grid[0] <= INT32_MAX && l->grid[1] <= UINT16_MAX && l->grid[2] <= UINT16_MAX);
    REQUIRE(l->block[0] <= 1024 && l->block[1] <= 1024 && l->block[2] <= 64 && threads <= 1024);
    REQUIRE(!(parameters && extra));
    if (l->shared_bytes > 227 * 1024)
        return CUDA_ERROR_INVALID_VALUE;
    if (extra)
        return buffer_take(l, extra);
    REQUIRE(parameters || f->n_parameters == 0);
    for (unsigned i = 0; i < f->n_parameters; i++) {
        REQUIRE(parameters[i]);
        memcpy(l->parameters + f->offsets[i], parameters[i], f->sizes[i]);
    }
    return CUDA_SUCCESS;
}

/* ---- computation ---- */

/* Reads parameter `i` as a number; 0: the kernel has none of this size. */
static uint64_t parameter(const struct launch *l, unsigned i, unsigned size)
{
    uint64_t value = 0;

    if (i < l->function->n_parameters && l->function->sizes[i] == size)
        memcpy(&value, l->parameters + l->function->offsets[i], size);
    return value;
}

/* Threads beyond the grid compute nothing. */
static uint64_t elements(const struct launch *l, uint64_t n)
{
    uint64_t threads = (uint64_t)l->grid[0] * l->block[0];

    return n < threads ? n : threads;
}

static CUresult run_vector_add(const struct launch *l)
{
    uint64_t n = elements(l, parameter(l, 3, 4));
    uint64_t a = parameter(l, 0, 8);
    uint64_t b = parameter(l, 1, 8);
    uint64_t sum = parameter(l, 2, 8);
    const float *x = (const float *)(uintptr_t)a;
    const float *y = (const float *)(uintptr_t)b;
    float *z = (float *)(uintptr_t)sum;

    if (n > 0 && (!x || !y || !z))
        return CUDA_ERROR_ILLEGAL_ADDRESS;
    if (!memory_is_usable(a, n * 4) || !memory_is_usable(b, n * 4) || !memory_is_usable(sum, n * 4))
        return CUDA_ERROR_ILLEGAL_ADDRESS;
    for (uint64_t i = 0; i < n; i++)
        z[i] = x[i] + y[i];
    return CUDA_SUCCESS;
}

static CUresult run_fill(const struct launch *l)
{
    uint64_t n = elements(l, parameter(l, 2, 4));
    uint64_t out = parameter(l, 0, 8);
    uint32_t value = (uint32_t)parameter(l, 1, 4);
    uint32_t *words = (uint32_t *)(uintptr_t)out;

    if ((n > 0 && !words) || !memory_is_usable(out, n * 4))
        return CUDA_ERROR_ILLEGAL_ADDRESS;
    for (uint64_t i = 0; i < n; i++)
        words[i] = value;
    return CUDA_SUCCESS;
}

/* ---- time ---- */

static uint64_t time_of_threads(const struct device *d, const struct launch *l)
{
    uint64_t threads =
        (uint64_t)l->grid[0] * l->grid[1] * l->grid[2] * l->block[0] * l->block[1] * l->block[2];
    uint64_t wave = (uint64_t)d->multiprocessors * THREADS_PER_MULTIPROCESSOR;
    uint64_t waves = wave ? (threads + wave - 1) / wave : 1;

    return waves * KERNELS_TIME_MIN;
}

static bool is_spin(const struct launch *l, uint64_t *ret_us)
{
    const char *name = l->function->name;
    uint64_t us = 0;

    if (strcmp(name, "spin") == 0) {
        *ret_us = parameter(l, 0, 8);
        return true;
    }
    if (strncmp(name, "spin_", 5) != 0 || !name[5])
        return false;
    for (name += 5; *name; name++) {
        if (*name < '0' || *name > '9' || us > UINT32_MAX)
            return false;
        us = us * 10 + (uint64_t)(*name - '0');
    }
    *ret_us = us;
    return true;
}

CUresult launch_run(struct CUstream_st *s, const struct launch *l)
{
    uint64_t us = 0;
    CUresult result = CUDA_SUCCESS;

    if (is_spin(l, &us))
        return stream_add_work(s, us < UINT32_MAX ? us * 1000 : UINT32_MAX * UINT64_C(1000));
    if (strcmp(l->function->name, "vector_add") == 0)
        result = run_vector_add(l);
    else if (strcmp(l->function->name, "fill") == 0)
        result = run_fill(l);
    /* The program learns of a bad address from its next call, as the driver tells it. */
    if (result != CUDA_SUCCESS) {
        s->context->broken = result;
        return CUDA_SUCCESS;
    }
    return stream_add_work(s, time_of_threads(s->context->device, l));
}

/* ---- the calls ---- */

static CUresult launch_call(struct launch *l, CUstream stream, void **parameters, void **extra)
{
    struct CUstream_st *s = NULL;

    ENTER();
    CHECK(stream_find(stream, &s));
    CHECK(launch_prepare(s->context, l, parameters, extra));
    return s->capture ? capture_launch(s, l) : launch_run(s, l);
}

/* NOLINTNEXTLINE(readability-function-size): CUDA's interface */
API(cuLaunchKernel, cuLaunchKernel, 4000, CUfunction function, unsigned grid_x, unsigned grid_y,
    unsigned grid_z, unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
    CUstream stream, void **parameters, void **extra)
{
    struct launch l = {.function = function,
                       .grid = {grid_x, grid_y, grid_z},
                       .block = {block_x, block_y, block_z},
                       .shared_bytes = shared_bytes};

    return launch_call(&l, stream, parameters, extra);
}
API_ALIAS(cuLaunchKernel_ptsz, cuLaunchKernel);

API(cuLaunchKernelEx, cuLaunchKernelEx, 11060, const struct CUlaunchConfig *config,
    CUfunction function, void **parameters, void **extra)
{
    REQUIRE(config);
    return cuLaunchKernel(function, config->gridDimX, config->gridDimY, config->gridDimZ,
                          config->blockDimX, config->blockDimY, config->blockDimZ,
                          config->sharedMemBytes, config->hStream, parameters, extra);
}
API_ALIAS(cuLaunchKernelEx_ptsz, cuLaunchKernelEx);

/* NOLINTNEXTLINE(readability-function-size): CUDA's interface */
API(cuLaunchCooperativeKernel, cuLaunchCooperativeKernel, 9000, CUfunction function,
    unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,
    unsigned block_z, unsigned shared_bytes, CUstream stream, void **parameters)
{
    return cuLaunchKernel(function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes,
                          stream, parameters, NULL);
}
API_ALIAS(cuLaunchCooperativeKernel_ptsz, cuLaunchCooperativeKernel);
