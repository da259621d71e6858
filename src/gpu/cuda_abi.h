/*
 * cuda_abi.h - the binary interface of the part of NVIDIA's CUDA driver library that we use
 *
 * Our own declarations of the documented layouts (LP64 Linux), for the emulated library (gpusim/)
 * and for callers that open libcuda.so.1 with dlopen. Names keep CUDA's spelling, as in the manual
 * of its driver API. Functions are in no list here: a caller declares the ones that it looks up.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

typedef int CUresult;
typedef int CUdevice;
typedef unsigned long long CUdeviceptr;
typedef unsigned long long CUmemGenericAllocationHandle;
typedef struct CUctx_st *CUcontext;
typedef struct CUmod_st *CUmodule;
typedef struct CUfunc_st *CUfunction;
typedef struct CUstream_st *CUstream;
typedef struct CUevent_st *CUevent;
typedef struct CUarray_st *CUarray;
typedef struct CUmemPoolHandle_st *CUmemoryPool;
typedef struct CUgraph_st *CUgraph;
typedef struct CUgraphNode_st *CUgraphNode;
typedef struct CUgraphExec_st *CUgraphExec;
typedef struct CUlib_st *CUlibrary;
typedef struct CUkern_st *CUkernel;
typedef void (*CUhostFn)(void *data);
typedef void (*CUstreamCallback)(CUstream stream, CUresult status, void *data);

/* X(name, value, what it says): CUDA_ERROR_<name>. */
#define CUDA_ERRORS(X)                                                       \
    X(INVALID_VALUE, 1, "invalid value")                                     \
    X(OUT_OF_MEMORY, 2, "out of memory")                                     \
    X(NOT_INITIALIZED, 3, "not initialized")                                 \
    X(DEINITIALIZED, 4, "deinitialized")                                     \
    X(PROFILER_DISABLED, 5, "profiler disabled")                             \
    X(PROFILER_NOT_INITIALIZED, 6, "profiler not initialized")               \
    X(PROFILER_ALREADY_STARTED, 7, "profiler already started")               \
    X(PROFILER_ALREADY_STOPPED, 8, "profiler already stopped")               \
    X(STUB_LIBRARY, 34, "stub library")                                      \
    X(DEVICE_UNAVAILABLE, 46, "device unavailable")                          \
    X(NO_DEVICE, 100, "no device")                                           \
    X(INVALID_DEVICE, 101, "invalid device")                                 \
    X(DEVICE_NOT_LICENSED, 102, "device not licensed")                       \
    X(INVALID_IMAGE, 200, "invalid image")                                   \
    X(INVALID_CONTEXT, 201, "invalid context")                               \
    X(CONTEXT_ALREADY_CURRENT, 202, "context already current")               \
    X(MAP_FAILED, 205, "map failed")                                         \
    X(UNMAP_FAILED, 206, "unmap failed")                                     \
    X(ARRAY_IS_MAPPED, 207, "array is mapped")                               \
    X(ALREADY_MAPPED, 208, "already mapped")                                 \
    X(NO_BINARY_FOR_GPU, 209, "no binary for gpu")                           \
    X(ALREADY_ACQUIRED, 210, "already acquired")                             \
    X(NOT_MAPPED, 211, "not mapped")                                         \
    X(NOT_MAPPED_AS_ARRAY, 212, "not mapped as array")                       \
    X(NOT_MAPPED_AS_POINTER, 213, "not mapped as pointer")                   \
    X(ECC_UNCORRECTABLE, 214, "ecc uncorrectable")                           \
    X(UNSUPPORTED_LIMIT, 215, "unsupported limit")                           \
    X(CONTEXT_ALREADY_IN_USE, 216, "context already in use")                 \
    X(PEER_ACCESS_UNSUPPORTED, 217, "peer access unsupported")               \
    X(INVALID_PTX, 218, "invalid ptx")                                       \
    X(INVALID_GRAPHICS_CONTEXT, 219, "invalid graphics context")             \
    X(NVLINK_UNCORRECTABLE, 220, "nvlink uncorrectable")                     \
    X(JIT_COMPILER_NOT_FOUND, 221, "jit compiler not found")                 \
    X(UNSUPPORTED_PTX_VERSION, 222, "unsupported ptx version")               \
    X(JIT_COMPILATION_DISABLED, 223, "jit compilation disabled")             \
    X(UNSUPPORTED_EXEC_AFFINITY, 224, "unsupported exec affinity")           \
    X(UNSUPPORTED_DEVSIDE_SYNC, 225, "unsupported devside sync")             \
    X(CONTAINED, 226, "contained")                                           \
    X(INVALID_SOURCE, 300, "invalid source")                                 \
    X(FILE_NOT_FOUND, 301, "file not found")                                 \
    X(SHARED_OBJECT_SYMBOL_NOT_FOUND, 302, "shared object symbol not found") \
    X(SHARED_OBJECT_INIT_FAILED, 303, "shared object init failed")           \
    X(OPERATING_SYSTEM, 304, "operating system")                             \
    X(INVALID_HANDLE, 400, "invalid handle")                                 \
    X(ILLEGAL_STATE, 401, "illegal state")                                   \
    X(LOSSY_QUERY, 402, "lossy query")                                       \
    X(NOT_FOUND, 500, "not found")                                           \
    X(NOT_READY, 600, "not ready")                                           \
    X(ILLEGAL_ADDRESS, 700, "illegal address")                               \
    X(LAUNCH_OUT_OF_RESOURCES, 701, "launch out of resources")               \
    X(LAUNCH_TIMEOUT, 702, "launch timeout")                                 \
    X(LAUNCH_INCOMPATIBLE_TEXTURING, 703, "launch incompatible texturing")   \
    X(PEER_ACCESS_ALREADY_ENABLED, 704, "peer access already enabled")       \
    X(PEER_ACCESS_NOT_ENABLED, 705, "peer access not enabled")               \
    X(PRIMARY_CONTEXT_ACTIVE, 708, "primary context active")                 \
    X(CONTEXT_IS_DESTROYED, 709, "context is destroyed")                     \
    X(ASSERT, 710, "assert")                                                 \
    X(TOO_MANY_PEERS, 711, "too many peers")                                 \
    X(HOST_MEMORY_ALREADY_REGISTERED, 712, "host memory already registered") \
    X(HOST_MEMORY_NOT_REGISTERED, 713, "host memory not registered")         \
    X(HARDWARE_STACK_ERROR, 714, "hardware stack error")                     \
    X(ILLEGAL_INSTRUCTION, 715, "illegal instruction")                       \
    X(MISALIGNED_ADDRESS, 716, "misaligned address")                         \
    X(INVALID_ADDRESS_SPACE, 717, "invalid address space")                   \
    X(INVALID_PC, 718, "invalid pc")                                         \
    X(LAUNCH_FAILED, 719, "launch failed")                                   \
    X(COOPERATIVE_LAUNCH_TOO_LARGE, 720, "cooperative launch too large")     \
    X(TENSOR_MEMORY_LEAK, 721, "tensor memory leak")                         \
    X(NOT_PERMITTED, 800, "not permitted")                                   \
    X(NOT_SUPPORTED, 801, "not supported")                                   \
    X(SYSTEM_NOT_READY, 802, "system not ready")                             \
    X(SYSTEM_DRIVER_MISMATCH, 803, "system driver mismatch")                 \
    X(COMPAT_NOT_SUPPORTED_ON_DEVICE, 804, "compat not supported on device") \
    X(MPS_CONNECTION_FAILED, 805, "mps connection failed")                   \
    X(MPS_RPC_FAILURE, 806, "mps rpc failure")                               \
    X(MPS_SERVER_NOT_READY, 807, "mps server not ready")                     \
    X(MPS_MAX_CLIENTS_REACHED, 808, "mps max clients reached")               \
    X(MPS_MAX_CONNECTIONS_REACHED, 809, "mps max connections reached")       \
    X(MPS_CLIENT_TERMINATED, 810, "mps client terminated")                   \
    X(CDP_NOT_SUPPORTED, 811, "cdp not supported")                           \
    X(CDP_VERSION_MISMATCH, 812, "cdp version mismatch")                     \
    X(STREAM_CAPTURE_UNSUPPORTED, 900, "stream capture unsupported")         \
    X(STREAM_CAPTURE_INVALIDATED, 901, "stream capture invalidated")         \
    X(STREAM_CAPTURE_MERGE, 902, "stream capture merge")                     \
    X(STREAM_CAPTURE_UNMATCHED, 903, "stream capture unmatched")             \
    X(STREAM_CAPTURE_UNJOINED, 904, "stream capture unjoined")               \
    X(STREAM_CAPTURE_ISOLATION, 905, "stream capture isolation")             \
    X(STREAM_CAPTURE_IMPLICIT, 906, "stream capture implicit")               \
    X(CAPTURED_EVENT, 907, "captured event")                                 \
    X(STREAM_CAPTURE_WRONG_THREAD, 908, "stream capture wrong thread")       \
    X(TIMEOUT, 909, "timeout")                                               \
    X(GRAPH_EXEC_UPDATE_FAILURE, 910, "graph exec update failure")           \
    X(EXTERNAL_DEVICE, 911, "external device")                               \
    X(INVALID_CLUSTER_SIZE, 912, "invalid cluster size")                     \
    X(FUNCTION_NOT_LOADED, 913, "function not loaded")                       \
    X(INVALID_RESOURCE_TYPE, 914, "invalid resource type")                   \
    X(INVALID_RESOURCE_CONFIGURATION, 915, "invalid resource configuration") \
    X(KEY_ROTATION, 916, "key rotation")                                     \
    X(UNKNOWN, 999, "unknown")

enum {
    CUDA_SUCCESS = 0,
#define X(name, value, text) CUDA_ERROR_##name = (value),
    CUDA_ERRORS(X)
#undef X
};

enum {
    CU_CTX_SCHED_MASK = 0x7,
    CU_CTX_FLAGS_MASK = 0xff,
    CU_STREAM_NON_BLOCKING = 1,
    CU_EVENT_BLOCKING_SYNC = 1,
    CU_EVENT_DISABLE_TIMING = 2,
    CU_EVENT_INTERPROCESS = 4,
    CU_MEMORYTYPE_HOST = 1,
    CU_MEMORYTYPE_DEVICE = 2,
    CU_MEMORYTYPE_ARRAY = 3,
    CU_MEMORYTYPE_UNIFIED = 4,
    CU_MEM_LOCATION_TYPE_DEVICE = 1,
    CU_MEM_LOCATION_TYPE_HOST = 2,
    CU_MEM_ALLOCATION_TYPE_PINNED = 1,
    CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR = 1,
    CU_MEM_ACCESS_FLAGS_PROT_NONE = 0,
    CU_MEM_ACCESS_FLAGS_PROT_READWRITE = 3,
    CU_IPC_HANDLE_SIZE = 64,
    CU_STREAM_CAPTURE_STATUS_NONE = 0,
    CU_STREAM_CAPTURE_STATUS_ACTIVE = 1,
    CU_GRAPH_NODE_TYPE_KERNEL = 0,
    CU_GRAPH_NODE_TYPE_MEMCPY = 1,
    CU_GRAPH_NODE_TYPE_MEMSET = 2,
    CU_GRAPH_NODE_TYPE_HOST = 3,
    CU_GRAPH_NODE_TYPE_GRAPH = 4,
    CU_GRAPH_NODE_TYPE_EMPTY = 5,
    CU_GET_PROC_ADDRESS_SUCCESS = 0,
    CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND = 1,
    CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT = 2,
    CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM = 2, /* a flag */
    CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT = 5,
    CU_MEMPOOL_ATTR_USED_MEM_CURRENT = 7,
    CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT = 2,
};

#define CU_STREAM_LEGACY               ((CUstream)(uintptr_t)1)
#define CU_STREAM_PER_THREAD           ((CUstream)(uintptr_t)2)
#define CU_LAUNCH_PARAM_END            ((void *)(uintptr_t)0)
#define CU_LAUNCH_PARAM_BUFFER_POINTER ((void *)(uintptr_t)1)
#define CU_LAUNCH_PARAM_BUFFER_SIZE    ((void *)(uintptr_t)2)

enum {
    CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK = 1,
    CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X = 2,
    CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y = 3,
    CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z = 4,
    CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X = 5,
    CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y = 6,
    CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z = 7,
    CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK = 8,
    CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY = 9,
    CU_DEVICE_ATTRIBUTE_WARP_SIZE = 10,
    CU_DEVICE_ATTRIBUTE_MAX_PITCH = 11,
    CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK = 12,
    CU_DEVICE_ATTRIBUTE_CLOCK_RATE = 13,
    CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT = 14,
    CU_DEVICE_ATTRIBUTE_GPU_OVERLAP = 15,
    CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16,
    CU_DEVICE_ATTRIBUTE_KERNEL_EXEC_TIMEOUT = 17,
    CU_DEVICE_ATTRIBUTE_INTEGRATED = 18,
    CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY = 19,
    CU_DEVICE_ATTRIBUTE_COMPUTE_MODE = 20,
    CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS = 31,
    CU_DEVICE_ATTRIBUTE_ECC_ENABLED = 32,
    CU_DEVICE_ATTRIBUTE_PCI_BUS_ID = 33,
    CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID = 34,
    CU_DEVICE_ATTRIBUTE_TCC_DRIVER = 35,
    CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE = 36,
    CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH = 37,
    CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE = 38,
    CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR = 39,
    CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT = 40,
    CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING = 41,
    CU_DEVICE_ATTRIBUTE_CAN_TEX2D_GATHER = 44,
    CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID = 50,
    CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT = 51,
    CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75,
    CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76,
    CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED = 78,
    CU_DEVICE_ATTRIBUTE_GLOBAL_L1_CACHE_SUPPORTED = 79,
    CU_DEVICE_ATTRIBUTE_LOCAL_L1_CACHE_SUPPORTED = 80,
    CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR = 81,
    CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR = 82,
    CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY = 83,
    CU_DEVICE_ATTRIBUTE_MULTI_GPU_BOARD = 84,
    CU_DEVICE_ATTRIBUTE_MULTI_GPU_BOARD_GROUP_ID = 85,
    CU_DEVICE_ATTRIBUTE_HOST_NATIVE_ATOMIC_SUPPORTED = 86,
    CU_DEVICE_ATTRIBUTE_SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO = 87,
    CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS = 88,
    CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS = 89,
    CU_DEVICE_ATTRIBUTE_COMPUTE_PREEMPTION_SUPPORTED = 90,
    CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM = 91,
    CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH = 95,
    CU_DEVICE_ATTRIBUTE_COOPERATIVE_MULTI_DEVICE_LAUNCH = 96,
    CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN = 97,
    CU_DEVICE_ATTRIBUTE_CAN_FLUSH_REMOTE_WRITES = 98,
    CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED = 99,
    CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES = 100,
    CU_DEVICE_ATTRIBUTE_DIRECT_MANAGED_MEM_ACCESS_FROM_HOST = 101,
    CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED = 102,
    CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED = 103,
    CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR = 106,
    CU_DEVICE_ATTRIBUTE_GENERIC_COMPRESSION_SUPPORTED = 107,
    CU_DEVICE_ATTRIBUTE_MAX_PERSISTING_L2_CACHE_SIZE = 108,
    CU_DEVICE_ATTRIBUTE_MAX_ACCESS_POLICY_WINDOW_SIZE = 109,
    CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED = 110,
    CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK = 111,
    CU_DEVICE_ATTRIBUTE_SPARSE_CUDA_ARRAY_SUPPORTED = 112,
    CU_DEVICE_ATTRIBUTE_READ_ONLY_HOST_REGISTER_SUPPORTED = 113,
    CU_DEVICE_ATTRIBUTE_TIMELINE_SEMAPHORE_INTEROP_SUPPORTED = 114,
    CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED = 115,
    CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_SUPPORTED = 116,
    CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_FLUSH_WRITES_OPTIONS = 117,
    CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WRITES_ORDERING = 118,
    CU_DEVICE_ATTRIBUTE_MEMPOOL_SUPPORTED_HANDLE_TYPES = 119,
    CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH = 120,
    CU_DEVICE_ATTRIBUTE_DEFERRED_MAPPING_CUDA_ARRAY_SUPPORTED = 121,
    CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS = 122,
    CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_WAIT_VALUE_NOR = 123,
    CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED = 124,
    CU_DEVICE_ATTRIBUTE_IPC_EVENT_SUPPORTED = 125,
    CU_DEVICE_ATTRIBUTE_MEM_SYNC_DOMAIN_COUNT = 126,
    CU_DEVICE_ATTRIBUTE_TENSOR_MAP_ACCESS_SUPPORTED = 127,
    CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED = 128,
    CU_DEVICE_ATTRIBUTE_UNIFIED_FUNCTION_POINTERS = 129,
    CU_DEVICE_ATTRIBUTE_NUMA_CONFIG = 130,
    CU_DEVICE_ATTRIBUTE_NUMA_ID = 131,
    CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED = 132,
    CU_DEVICE_ATTRIBUTE_MPS_ENABLED = 133,
    CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID = 134,
    CU_DEVICE_ATTRIBUTE_GPU_PCI_DEVICE_ID = 139,
    CU_DEVICE_ATTRIBUTE_GPU_PCI_SUBSYSTEM_ID = 140,
};

enum {
    CU_POINTER_ATTRIBUTE_CONTEXT = 1,
    CU_POINTER_ATTRIBUTE_MEMORY_TYPE = 2,
    CU_POINTER_ATTRIBUTE_DEVICE_POINTER = 3,
    CU_POINTER_ATTRIBUTE_HOST_POINTER = 4,
    CU_POINTER_ATTRIBUTE_P2P_TOKENS = 5,
    CU_POINTER_ATTRIBUTE_SYNC_MEMOPS = 6,
    CU_POINTER_ATTRIBUTE_BUFFER_ID = 7,
    CU_POINTER_ATTRIBUTE_IS_MANAGED = 8,
    CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL = 9,
    CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE = 10,
    CU_POINTER_ATTRIBUTE_RANGE_START_ADDR = 11,
    CU_POINTER_ATTRIBUTE_RANGE_SIZE = 12,
    CU_POINTER_ATTRIBUTE_MAPPED = 13,
    CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES = 14,
    CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE = 15,
    CU_POINTER_ATTRIBUTE_ACCESS_FLAGS = 16,
    CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE = 17,
    CU_POINTER_ATTRIBUTE_MAPPING_SIZE = 18,
    CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR = 19,
    CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID = 20,
};

struct CUuuid {
    unsigned char bytes[16];
};

struct CUDA_MEMCPY2D {
    size_t srcXInBytes;
    size_t srcY;
    unsigned srcMemoryType;
    const void *srcHost;
    CUdeviceptr srcDevice;
    CUarray srcArray;
    size_t srcPitch;
    size_t dstXInBytes;
    size_t dstY;
    unsigned dstMemoryType;
    void *dstHost;
    CUdeviceptr dstDevice;
    CUarray dstArray;
    size_t dstPitch;
    size_t WidthInBytes;
    size_t Height;
};

struct CUDA_MEMCPY3D {
    size_t srcXInBytes;
    size_t srcY;
    size_t srcZ;
    size_t srcLOD;
    unsigned srcMemoryType;
    const void *srcHost;
    CUdeviceptr srcDevice;
    CUarray srcArray;
    void *reserved0;
    size_t srcPitch;
    size_t srcHeight;
    size_t dstXInBytes;
    size_t dstY;
    size_t dstZ;
    size_t dstLOD;
    unsigned dstMemoryType;
    void *dstHost;
    CUdeviceptr dstDevice;
    CUarray dstArray;
    void *reserved1;
    size_t dstPitch;
    size_t dstHeight;
    size_t WidthInBytes;
    size_t Height;
    size_t Depth;
};

struct CUDA_ARRAY_DESCRIPTOR {
    size_t Width;
    size_t Height;
    unsigned Format;
    unsigned NumChannels;
};

struct CUDA_ARRAY3D_DESCRIPTOR {
    size_t Width;
    size_t Height;
    size_t Depth;
    unsigned Format;
    unsigned NumChannels;
    unsigned Flags;
};

struct CUmemLocation {
    unsigned type;
    int id;
};

struct CUmemAllocationProp {
    unsigned type;
    unsigned requestedHandleTypes;
    struct CUmemLocation location;
    void *win32HandleMetaData;
    unsigned char allocFlags[8];
};

struct CUmemAccessDesc {
    struct CUmemLocation location;
    unsigned flags;
};

struct CUmemPoolProps {
    unsigned allocType;
    unsigned handleTypes;
    struct CUmemLocation location;
    void *win32SecurityAttributes;
    size_t maxSize;
    unsigned short usage;
    unsigned char reserved[54];
};

struct CUDA_MEM_ALLOC_NODE_PARAMS {
    struct CUmemPoolProps poolProps;
    const struct CUmemAccessDesc *accessDescs;
    size_t accessDescCount;
    size_t bytesize;
    CUdeviceptr dptr;
};

struct CUipcMemHandle {
    char reserved[CU_IPC_HANDLE_SIZE];
};

struct CUlaunchConfig {
    unsigned gridDimX;
    unsigned gridDimY;
    unsigned gridDimZ;
    unsigned blockDimX;
    unsigned blockDimY;
    unsigned blockDimZ;
    unsigned sharedMemBytes;
    CUstream hStream;
    void *attrs;
    unsigned numAttrs;
};

/* Version 1 ends before `kern`. */
struct CUDA_KERNEL_NODE_PARAMS {
    CUfunction func;
    unsigned gridDimX;
    unsigned gridDimY;
    unsigned gridDimZ;
    unsigned blockDimX;
    unsigned blockDimY;
    unsigned blockDimZ;
    unsigned sharedMemBytes;
    void **kernelParams;
    void **extra;
    CUkernel kern;
    CUcontext ctx;
};

struct CUDA_MEMSET_NODE_PARAMS {
    CUdeviceptr dst;
    size_t pitch;
    unsigned value;
    unsigned elementSize;
    size_t width;
    size_t height;
};

struct CUDA_HOST_NODE_PARAMS {
    CUhostFn fn;
    void *userData;
};

struct CUDA_GRAPH_INSTANTIATE_PARAMS {
    uint64_t flags;
    CUstream hUploadStream;
    CUgraphNode hErrNode_out;
    unsigned result_out;
};

_Static_assert(sizeof(struct CUDA_MEMCPY2D) == 128, "CUDA_MEMCPY2D");
_Static_assert(sizeof(struct CUDA_MEMCPY3D) == 200, "CUDA_MEMCPY3D");
_Static_assert(sizeof(struct CUDA_ARRAY3D_DESCRIPTOR) == 40, "CUDA_ARRAY3D_DESCRIPTOR");
_Static_assert(sizeof(struct CUmemAllocationProp) == 32, "CUmemAllocationProp");
_Static_assert(sizeof(struct CUmemPoolProps) == 88, "CUmemPoolProps");
_Static_assert(sizeof(struct CUlaunchConfig) == 56, "CUlaunchConfig");
_Static_assert(sizeof(struct CUDA_KERNEL_NODE_PARAMS) == 72, "CUDA_KERNEL_NODE_PARAMS");
_Static_assert(sizeof(struct CUDA_MEMSET_NODE_PARAMS) == 40, "CUDA_MEMSET_NODE_PARAMS");
