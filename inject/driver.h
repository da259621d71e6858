/* driver.h - the driver's own library behind the share library */
#pragma once

#include "gpu/cuda_abi.h"

/* A context, stream, array, pool, graph or function: a pointer of the driver, passed on unread. */
typedef void *CUhandle;

/* Functions of the driver that the library only calls. */
CUresult cuCtxGetCurrent(CUhandle *context);
CUresult cuCtxGetDevice(CUdevice *device);
CUresult cuDeviceGetUuid(struct CUuuid *uuid, CUdevice device);
CUresult cuDeviceGetUuid_v2(struct CUuuid *uuid, CUdevice device);
CUresult cuDeviceGetMemPool(CUhandle *pool, CUdevice device);
CUresult cuDeviceGetGraphMemAttribute(CUdevice device, int attribute, void *value);
CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned *flags, int *is_active);
CUresult cuGraphChildGraphNodeGetGraph(CUhandle node, CUhandle *graph);
CUresult cuGraphGetNodes(CUhandle graph, CUhandle *nodes, size_t *n);
CUresult cuGraphKernelNodeGetParams(CUhandle node, struct CUDA_KERNEL_NODE_PARAMS *params);
CUresult cuGraphKernelNodeGetParams_v2(CUhandle node, struct CUDA_KERNEL_NODE_PARAMS *params);
CUresult cuGraphNodeGetType(CUhandle node, unsigned *type);
CUresult cuMemPoolGetAttribute(CUhandle pool, int attribute, void *value);

/* The driver's function of this name; NULL: this driver has none. */
void *driver_find(const char *name);

/* Calls the driver's own `name`. */
#define DRIVER(name, ...)                                      \
    ({                                                         \
        static __typeof__(&(name)) real_;                      \
        if (!real_)                                            \
            real_ = (__typeof__(&(name)))driver_find(#name);   \
        real_ ? real_(__VA_ARGS__) : CUDA_ERROR_NOT_SUPPORTED; \
    })

/* The share's index of a device, and of the device of the current context; else SHARE_NONE. */
int driver_gpu(CUdevice device);
int driver_current_gpu(void);
