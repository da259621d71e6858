/* cuda_context.c - contexts, the stack of each thread, limits, peers */

#include <stdlib.h>

#include "cuda.h"

enum {
    STACK_MAX = 64
};

/* The contexts that this thread pushed; the last is the current one. NULL entries are allowed. */
static __thread struct CUctx_st *stack[STACK_MAX];
static __thread unsigned stack_size;

static uint64_t context_ids;

/* ---- life ---- */

/* The first context of this process on a gpu takes the memory of a context. */
static CUresult device_open(struct device *d)
{
    struct gpusim_use *use = device_use(d);
    CUresult result;

    if (d->n_contexts++ > 0)
        return CUDA_SUCCESS;
    gpu_lock(&cuda_view, d->index);
    *use = (struct gpusim_use){.has_context = 1, .engine = d->engine};
    gpu_unlock(&cuda_view, d->index);
    result = account_take(d, d->g->context_bytes);
    if (result == CUDA_SUCCESS)
        return CUDA_SUCCESS;
    d->n_contexts = 0;
    use->has_context = 0;
    return result;
}

static void device_close(struct device *d)
{
    if (--d->n_contexts > 0)
        return;
    gpu_lock(&cuda_view, d->index);
    *device_use(d) = (struct gpusim_use){0};
    gpu_unlock(&cuda_view, d->index);
}

static CUresult context_new(struct device *d, unsigned flags, struct CUctx_st **ret)
{
    struct CUctx_st *c;
    CUresult result;

    CHECK(device_answer(d));
    CHECK(device_open(d));
    c = handle_new(HANDLE_CONTEXT, sizeof(*c));
    result = c ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
    if (c) {
        *c = (struct CUctx_st){.device = d,
                               .flags = flags,
                               .id = ++context_ids,
                               .ecc_errors = d->g->ecc[1][0],
                               .limits = {1024, 1 * MIB, 8 * MIB, 2, 2048, 128, 0}};
        c->legacy = stream_new(c, 0, 0);
        c->per_thread = stream_new(c, CU_STREAM_NON_BLOCKING, 0);
        if (!c->legacy || !c->per_thread)
            result = CUDA_ERROR_OUT_OF_MEMORY;
    }
    if (result != CUDA_SUCCESS) {
        if (c)
            streams_free_of(c);
        handle_free(c);
        device_close(d);
        return result;
    }
    *ret = c;
    return CUDA_SUCCESS;
}

static void context_free(struct CUctx_st *c)
{
    struct device *d = c->device;

    modules_free_of(c);
    arrays_free_of(c);
    memory_free_of(c);
    streams_free_of(c);
    for (unsigned i = 0; i < stack_size; i++) {
        if (stack[i] == c)
            stack[i] = NULL;
    }
    handle_free(c);
    device_close(d);
}

CUresult context_check(struct CUctx_st *c)
{
    CHECK(device_answer(c->device));
    if (c->broken == CUDA_SUCCESS && c->device->g->ecc[1][0] > c->ecc_errors)
        c->broken = CUDA_ERROR_ECC_UNCORRECTABLE;
    return c->broken;
}

CUresult context_current(struct CUctx_st **ret)
{
    struct CUctx_st *c = stack_size > 0 ? stack[stack_size - 1] : NULL;

    if (!c)
        return CUDA_ERROR_INVALID_CONTEXT;
    if (!handle_is(c, HANDLE_CONTEXT))
        return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    CHECK(context_check(c));
    *ret = c;
    return CUDA_SUCCESS;
}

CUresult context_wait(struct CUctx_st *c)
{
    return device_wait(c, c->finish_ns);
}

static CUresult stack_push(struct CUctx_st *c)
{
    if (stack_size == STACK_MAX)
        return CUDA_ERROR_OUT_OF_MEMORY;
    stack[stack_size++] = c;
    return CUDA_SUCCESS;
}

API(cuCtxCreate_v2, cuCtxCreate, 3020, CUcontext *ret, unsigned flags, CUdevice device)
{
    struct device *d = NULL;

    ENTER();
    REQUIRE(ret && (flags & ~(unsigned)CU_CTX_FLAGS_MASK) == 0);
    CHECK(device_find(device, &d));
    CHECK(context_new(d, flags, ret));
    return stack_push(*ret);
}

/* Without an affinity: cuCtxCreate_v2. */
API(cuCtxCreate_v3, cuCtxCreate, 11040, CUcontext *ret, const void *affinities, int n_affinities,
    unsigned flags, CUdevice device)
{
    if (affinities && n_affinities > 0)
        return CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY;
    return cuCtxCreate_v2(ret, flags, device);
}

API(cuCtxCreate_v4, cuCtxCreate, 12050, CUcontext *ret, const void *parameters, unsigned flags,
    CUdevice device)
{
    if (parameters)
        return CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY;
    return cuCtxCreate_v2(ret, flags, device);
}

API(cuCtxDestroy_v2, cuCtxDestroy, 4000, CUcontext context)
{
    ENTER();
    if (!handle_is(context, HANDLE_CONTEXT) || context->is_primary)
        return CUDA_ERROR_INVALID_CONTEXT;
    if (stack_size > 0 && stack[stack_size - 1] == context)
        stack_size--;
    (void)context_wait(context);
    context_free(context);
    return CUDA_SUCCESS;
}

/* ---- the primary context ---- */

API(cuDevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain, 7000, CUcontext *ret, CUdevice device)
{
    struct device *d = NULL;

    ENTER();
    REQUIRE(ret);
    CHECK(device_find(device, &d));
    if (!d->primary) {
        CHECK(context_new(d, d->primary_flags, &d->primary));
        d->primary->is_primary = true;
    }
    d->primary_references++;
    *ret = d->primary;
    return CUDA_SUCCESS;
}

static void primary_end(struct device *d)
{
    if (!d->primary)
        return;
    (void)context_wait(d->primary);
    context_free(d->primary);
    d->primary = NULL;
}

API(cuDevicePrimaryCtxRelease_v2, cuDevicePrimaryCtxRelease, 11000, CUdevice device)
{
    struct device *d = NULL;

    ENTER();
    CHECK(device_find(device, &d));
    if (d->primary_references == 0)
        return CUDA_ERROR_INVALID_CONTEXT;
    if (--d->primary_references == 0)
        primary_end(d);
    return CUDA_SUCCESS;
}

API(cuDevicePrimaryCtxRelease, cuDevicePrimaryCtxRelease, 7000, CUdevice device)
{
    return cuDevicePrimaryCtxRelease_v2(device);
}

API(cuDevicePrimaryCtxReset_v2, cuDevicePrimaryCtxReset, 11000, CUdevice device)
{
    struct device *d = NULL;

    ENTER();
    CHECK(device_find(device, &d));
    primary_end(d);
    d->primary_references = 0;
    return CUDA_SUCCESS;
}

API(cuDevicePrimaryCtxReset, cuDevicePrimaryCtxReset, 7000, CUdevice device)
{
    return cuDevicePrimaryCtxReset_v2(device);
}

API(cuDevicePrimaryCtxSetFlags_v2, cuDevicePrimaryCtxSetFlags, 11000, CUdevice device,
    unsigned flags)
{
    struct device *d = NULL;

    ENTER();
    CHECK(device_find(device, &d));
    d->primary_flags = flags;
    if (d->primary)
        d->primary->flags = flags;
    return CUDA_SUCCESS;
}

API(cuDevicePrimaryCtxSetFlags, cuDevicePrimaryCtxSetFlags, 7000, CUdevice device, unsigned flags)
{
    return cuDevicePrimaryCtxSetFlags_v2(device, flags);
}

API(cuDevicePrimaryCtxGetState, cuDevicePrimaryCtxGetState, 7000, CUdevice device, unsigned *flags,
    int *is_active)
{
    struct device *d = NULL;

    ENTER();
    REQUIRE(flags && is_active);
    CHECK(device_find(device, &d));
    *flags = d->primary_flags;
    *is_active = d->primary != NULL;
    return CUDA_SUCCESS;
}

/* ---- the current context ---- */

API(cuCtxPushCurrent_v2, cuCtxPushCurrent, 4000, CUcontext context)
{
    ENTER();
    if (!handle_is(context, HANDLE_CONTEXT))
        return CUDA_ERROR_INVALID_CONTEXT;
    return stack_push(context);
}

API(cuCtxPopCurrent_v2, cuCtxPopCurrent, 4000, CUcontext *ret)
{
    ENTER();
    if (stack_size == 0)
        return CUDA_ERROR_INVALID_CONTEXT;
    stack_size--;
    if (ret)
        *ret = stack[stack_size];
    return CUDA_SUCCESS;
}

/* NULL takes the current context away. */
API(cuCtxSetCurrent, cuCtxSetCurrent, 4000, CUcontext context)
{
    ENTER();
    if (context && !handle_is(context, HANDLE_CONTEXT))
        return CUDA_ERROR_INVALID_CONTEXT;
    if (stack_size > 0)
        stack_size--;
    return context ? stack_push(context) : CUDA_SUCCESS;
}

API(cuCtxGetCurrent, cuCtxGetCurrent, 4000, CUcontext *ret)
{
    ENTER();
    REQUIRE(ret);
    *ret = stack_size > 0 ? stack[stack_size - 1] : NULL;
    return CUDA_SUCCESS;
}

API(cuCtxGetDevice, cuCtxGetDevice, 2000, CUdevice *ret)
{
    ENTER_CONTEXT(c);
    REQUIRE(ret);
    *ret = c->device->ordinal;
    return CUDA_SUCCESS;
}

API(cuCtxGetFlags, cuCtxGetFlags, 7000, unsigned *ret)
{
    ENTER_CONTEXT(c);
    REQUIRE(ret);
    *ret = c->flags;
    return CUDA_SUCCESS;
}

API(cuCtxSetFlags, cuCtxSetFlags, 12010, unsigned flags)
{
    ENTER_CONTEXT(c);
    REQUIRE((flags & ~(unsigned)CU_CTX_FLAGS_MASK) == 0);
    c->flags = flags;
    return CUDA_SUCCESS;
}

API(cuCtxGetId, cuCtxGetId, 12000, CUcontext context, unsigned long long *ret)
{
    ENTER();
    REQUIRE(ret);
    if (!context)
        CHECK(context_current(&context));
    if (!handle_is(context, HANDLE_CONTEXT))
        return CUDA_ERROR_INVALID_CONTEXT;
    *ret = context->id;
    return CUDA_SUCCESS;
}

API(cuCtxSynchronize, cuCtxSynchronize, 2000, void)
{
    ENTER_CONTEXT(c);
    return context_wait(c);
}

API(cuCtxGetApiVersion, cuCtxGetApiVersion, 3020, CUcontext context, unsigned *ret)
{
    ENTER();
    REQUIRE(ret);
    if (context && !handle_is(context, HANDLE_CONTEXT))
        return CUDA_ERROR_INVALID_CONTEXT;
    *ret = 3020;
    return CUDA_SUCCESS;
}

API(cuCtxGetStreamPriorityRange, cuCtxGetStreamPriorityRange, 5050, int *least, int *greatest)
{
    ENTER_CONTEXT(c);
    (void)c;
    if (least)
        *least = 0;
    if (greatest)
        *greatest = -5;
    return CUDA_SUCCESS;
}

/* ---- limits, caches and peers ---- */

API(cuCtxGetLimit, cuCtxGetLimit, 3010, size_t *ret, unsigned limit)
{
    ENTER_CONTEXT(c);
    REQUIRE(ret);
    if (limit >= LIMITS_MAX)
        return CUDA_ERROR_UNSUPPORTED_LIMIT;
    *ret = c->limits[limit];
    return CUDA_SUCCESS;
}

API(cuCtxSetLimit, cuCtxSetLimit, 3010, unsigned limit, size_t value)
{
    ENTER_CONTEXT(c);
    if (limit >= LIMITS_MAX)
        return CUDA_ERROR_UNSUPPORTED_LIMIT;
    c->limits[limit] = value;
    return CUDA_SUCCESS;
}

API(cuCtxGetCacheConfig, cuCtxGetCacheConfig, 3020, int *ret)
{
    ENTER_CONTEXT(c);
    (void)c;
    REQUIRE(ret);
    *ret = 0;
    return CUDA_SUCCESS;
}

/* A hint, which boards with one cache for both ignore, too. */
API(cuCtxSetCacheConfig, cuCtxSetCacheConfig, 3020, int config)
{
    ENTER_CONTEXT(c);
    (void)c;
    REQUIRE(config >= 0 && config <= 3);
    return CUDA_SUCCESS;
}

API(cuCtxEnablePeerAccess, cuCtxEnablePeerAccess, 4000, CUcontext peer, unsigned flags)
{
    ENTER_CONTEXT(c);
    REQUIRE(flags == 0);
    if (!handle_is(peer, HANDLE_CONTEXT) || peer == c)
        return CUDA_ERROR_INVALID_CONTEXT;
    if (peer->device == c->device)
        return CUDA_ERROR_INVALID_DEVICE;
    if (c->peers & (1u << peer->device->ordinal))
        return CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
    c->peers |= 1u << peer->device->ordinal;
    return CUDA_SUCCESS;
}

API(cuCtxDisablePeerAccess, cuCtxDisablePeerAccess, 4000, CUcontext peer)
{
    ENTER_CONTEXT(c);
    if (!handle_is(peer, HANDLE_CONTEXT))
        return CUDA_ERROR_INVALID_CONTEXT;
    if (!(c->peers & (1u << peer->device->ordinal)))
        return CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
    c->peers &= ~(1u << peer->device->ordinal);
    return CUDA_SUCCESS;
}
