/*
 * hooks.h - the functions of the driver API that the share library stands in front of
 *
 * All other functions are the driver's own: the share library needs the driver's library, and
 * the loader looks there for functions that the share library lacks.
 */
#pragma once

#include "driver.h"

#define HOOKS(X)                         \
    X(cuInit)                            \
    X(cuGetProcAddress)                  \
    X(cuGetProcAddress_v2)               \
    X(cuDeviceTotalMem)                  \
    X(cuDeviceTotalMem_v2)               \
    X(cuMemGetInfo)                      \
    X(cuMemGetInfo_v2)                   \
    X(cuMemAlloc)                        \
    X(cuMemAlloc_v2)                     \
    X(cuMemAllocPitch)                   \
    X(cuMemAllocPitch_v2)                \
    X(cuMemAllocManaged)                 \
    X(cuMemFree)                         \
    X(cuMemFree_v2)                      \
    X(cuArrayCreate)                     \
    X(cuArrayCreate_v2)                  \
    X(cuArray3DCreate)                   \
    X(cuArray3DCreate_v2)                \
    X(cuArrayDestroy)                    \
    X(cuMipmappedArrayCreate)            \
    X(cuMipmappedArrayDestroy)           \
    X(cuMemAllocAsync)                   \
    X(cuMemAllocAsync_ptsz)              \
    X(cuMemAllocFromPoolAsync)           \
    X(cuMemAllocFromPoolAsync_ptsz)      \
    X(cuMemFreeAsync)                    \
    X(cuMemFreeAsync_ptsz)               \
    X(cuMemPoolTrimTo)                   \
    X(cuMemPoolDestroy)                  \
    X(cuMemCreate)                       \
    X(cuMemRelease)                      \
    X(cuMemRetainAllocationHandle)       \
    X(cuMemMap)                          \
    X(cuMemUnmap)                        \
    X(cuCtxDestroy)                      \
    X(cuCtxDestroy_v2)                   \
    X(cuDevicePrimaryCtxRetain)          \
    X(cuDevicePrimaryCtxRelease)         \
    X(cuDevicePrimaryCtxRelease_v2)      \
    X(cuDevicePrimaryCtxReset)           \
    X(cuDevicePrimaryCtxReset_v2)        \
    X(cuGraphAddMemAllocNode)            \
    X(cuGraphInstantiate)                \
    X(cuGraphInstantiate_v2)             \
    X(cuGraphInstantiateWithFlags)       \
    X(cuGraphInstantiateWithParams)      \
    X(cuGraphInstantiateWithParams_ptsz) \
    X(cuGraphExecUpdate)                 \
    X(cuGraphExecUpdate_v2)              \
    X(cuGraphExecDestroy)                \
    X(cuGraphLaunch)                     \
    X(cuGraphLaunch_ptsz)                \
    X(cuDeviceGraphMemTrim)              \
    X(cuLaunch)                          \
    X(cuLaunchGrid)                      \
    X(cuLaunchGridAsync)                 \
    X(cuLaunchKernel)                    \
    X(cuLaunchKernel_ptsz)               \
    X(cuLaunchKernelEx)                  \
    X(cuLaunchKernelEx_ptsz)             \
    X(cuLaunchCooperativeKernel)         \
    X(cuLaunchCooperativeKernel_ptsz)

/* A function of the library: exported, and declared to satisfy -Wmissing-prototypes. */
#define HOOK(name, ...)                                                \
    __attribute__((visibility("default"))) CUresult name(__VA_ARGS__); \
    CUresult name(__VA_ARGS__)
