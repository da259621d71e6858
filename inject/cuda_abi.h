/*
 * cuda_abi.h - the binary interface of the part of NVIDIA's driver API (libcuda.so.1) that the
 * share library stands in front of
 *
 * Our own declarations of the documented layouts (LP64 Linux). Names keep the API's spelling, as in
 * its manual. Handles are opaque pointers; parameters that are passed on unread are void pointers.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

typedef int CUresult;
typedef int CUdevice;
typedef uint64_t CUdeviceptr;
typedef void *CUhandle; /* context, stream, array, pool, graph, function: a pointer of the driver */

enum cuda_result {
    CUDA_SUCCESS = 0,
    CUDA_ERROR_INVALID_VALUE = 1,
    CUDA_ERROR_OUT_OF_MEMORY = 2,
    CUDA_ERROR_NOT_SUPPORTED = 801,
    CUDA_ERROR_SYSTEM_NOT_READY = 802,
};

enum {
    CU_MEM_LOCATION_TYPE_DEVICE = 1,
    CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT = 5,
    CU_MEMPOOL_ATTR_USED_MEM_CURRENT = 7,
    CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT = 2,
    CU_STREAM_CAPTURE_STATUS_NONE = 0,
    CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM = 2,
};

struct CUuuid {
    unsigned char bytes[16];
};

struct CUmemLocation {
    int type;
    int id;
};

struct CUmemAllocationProp {
    int type;
    int requested_handle_types;
    struct CUmemLocation location;
    void *win32_handle_meta_data;
    unsigned char alloc_flags[8];
};

struct CUDA_ARRAY_DESCRIPTOR {
    size_t width;
    size_t height;
    int format;
    unsigned num_channels;
};

struct CUDA_ARRAY3D_DESCRIPTOR {
    size_t width;
    size_t height;
    size_t depth;
    int format;
    unsigned num_channels;
    unsigned flags;
};

struct CUlaunchConfig {
    unsigned grid_x;
    unsigned grid_y;
    unsigned grid_z;
    unsigned block_x;
    unsigned block_y;
    unsigned block_z;
    unsigned shared_bytes;
    CUhandle stream;
    void *attrs;
    unsigned num_attrs;
};

struct CUmemPoolProps {
    int alloc_type;
    int handle_types;
    struct CUmemLocation location;
    void *win32_security_attributes;
    unsigned char rest[64];
};

struct CUDA_MEM_ALLOC_NODE_PARAMS {
    struct CUmemPoolProps pool_props;
    const void *access_descs;
    size_t access_desc_count;
    size_t bytesize;
    CUdeviceptr dptr;
};

/* Functions of the driver that the library only calls. */
CUresult cuCtxGetCurrent(CUhandle *context);
CUresult cuCtxGetDevice(CUdevice *device);
CUresult cuDeviceGetUuid(struct CUuuid *uuid, CUdevice device);
CUresult cuDeviceGetUuid_v2(struct CUuuid *uuid, CUdevice device);
CUresult cuDeviceGetMemPool(CUhandle *pool, CUdevice device);
CUresult cuDeviceGetGraphMemAttribute(CUdevice device, int attribute, void *value);
CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned *flags, int *is_active);
CUresult cuMemPoolGetAttribute(CUhandle pool, int attribute, void *value);
CUresult cuStreamIsCapturing(CUhandle stream, int *status);
