/* gpu_check_linux.c - the check of a gpu by CUDA's driver API */

#include <assert.h>
#include <dlfcn.h>
#include <stdint.h>
#include <string.h>

#include "base/attr.h"
#include "base/mem.h"
#include "gpu/cuda_abi.h"
#include "gpu/gpu_check.h"

enum {
    CHECK_WORDS = 4 << 20, /* 16 MiB, twice */
    CHECK_PATTERN = 0x5a17c3e9
};

struct check_calls {
    CUresult (*init)(unsigned flags);
    CUresult (*device)(CUdevice *ret, int index);
    CUresult (*context)(CUcontext *ret, unsigned flags, CUdevice device);
    CUresult (*destroy)(CUcontext context);
    CUresult (*alloc)(CUdeviceptr *ret, size_t size);
    CUresult (*fill)(CUdeviceptr to, unsigned value, size_t n);
    CUresult (*copy)(CUdeviceptr to, CUdeviceptr from, size_t size);
    CUresult (*fetch)(void *to, CUdeviceptr from, size_t size);
    CUresult (*error)(CUresult code, const char **ret);
};

static struct err *check_error(const struct check_calls *c, CUresult code, const char *what)
{
    const char *text = NULL;

    if (c->error(code, &text) != CUDA_SUCCESS || !text)
        text = "unknown error";
    return err_new(code == CUDA_ERROR_OUT_OF_MEMORY || code == CUDA_ERROR_DEVICE_UNAVAILABLE
                       ? ERR_BUSY
                       : ERR_INTERNAL,
                   "cuda: %s: %s (%d)", what, text, code);
}

static struct err *check_load(void *library, struct check_calls *c)
{
    const struct {
        const char *name;
        void *to;
    } all[] = {{"cuInit", &c->init},
               {"cuDeviceGet", &c->device},
               {"cuCtxCreate_v2", &c->context},
               {"cuCtxDestroy_v2", &c->destroy},
               {"cuMemAlloc_v2", &c->alloc},
               {"cuMemsetD32_v2", &c->fill},
               {"cuMemcpyDtoD_v2", &c->copy},
               {"cuMemcpyDtoH_v2", &c->fetch},
               {"cuGetErrorString", &c->error}};

    for (size_t i = 0; i < COUNT(all); i++) {
        void *found = dlsym(library, all[i].name);

        if (!found)
            return err_new(ERR_INTERNAL, "libcuda.so.1 has no %s", all[i].name);
        memcpy(all[i].to, &found, sizeof(found));
    }
    return NULL;
}

/* A pattern that is written by the gpu, copied by it, and read back. */
static struct err *check_memory(const struct check_calls *c)
{
    const size_t size = (size_t)CHECK_WORDS * sizeof(uint32_t);
    AUTO_FREE uint32_t *words = mem_alloc(size);
    CUdeviceptr from = 0;
    CUdeviceptr to = 0;
    CUresult code = c->alloc(&from, size);

    if (code == CUDA_SUCCESS)
        code = c->alloc(&to, size);
    if (code != CUDA_SUCCESS)
        return check_error(c, code, "allocate memory");
    code = c->fill(from, CHECK_PATTERN, CHECK_WORDS);
    if (code == CUDA_SUCCESS)
        code = c->copy(to, from, size);
    if (code == CUDA_SUCCESS)
        code = c->fetch(words, to, size);
    if (code != CUDA_SUCCESS)
        return check_error(c, code, "copy memory");
    for (size_t i = 0; i < CHECK_WORDS; i++)
        if (words[i] != CHECK_PATTERN)
            return err_new(ERR_INTERNAL, "memory that the gpu copied differs at byte %zu",
                           i * sizeof(*words));
    return NULL;
}

static struct err *check_device(const struct check_calls *c)
{
    CUdevice device = 0;
    CUcontext context = NULL;
    struct err *e = NULL;
    CUresult code = c->init(0);

    if (code == CUDA_SUCCESS)
        code = c->device(&device, 0);
    if (code != CUDA_SUCCESS)
        return check_error(c, code, "find the gpu");
    code = c->context(&context, 0, device);
    if (code != CUDA_SUCCESS)
        return check_error(c, code, "create a context");
    e = check_memory(c);
    code = c->destroy(context);
    return e || code == CUDA_SUCCESS ? e : check_error(c, code, "destroy the context");
}

struct err *gpu_check_run(const char *library)
{
    void *handle = dlopen(library ? library : "libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    struct check_calls calls = {0};

    if (!handle)
        return NULL;
    TRY(check_load(handle, &calls));
    assert(calls.init && calls.device && calls.context && calls.destroy && calls.alloc);
    assert(calls.fill && calls.copy && calls.fetch && calls.error);
    return check_device(&calls);
}
