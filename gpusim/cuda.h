/*
 * cuda.h - shared by the parts of the emulated libcuda.so.1
 *
 * The state is global, as CUDA's interface requires, under one lock that each exported function
 * holds. Functions without the word API in their definition expect the lock to be held.
 *
 * Device memory is memory of the process, reserved and committed on touch: a device pointer is an
 * address that the process could use. Copies and kernels that compute do so when they are queued,
 * in order; the emulated time decides only when a stream, an event or a context is done.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine.h"
#include "gpu/cuda_abi.h"
#include "gpu/gpusim_machine.h"
#include "mig.h"

#define EXPORT __attribute__((visibility("default")))

enum {
    DEVICES_MAX = GPUSIM_GPUS_MAX,
    FUNCTION_PARAMETERS_MAX = 64,
    LAUNCHES_MAX = 1024, /* launches that a context queues before a launch waits */
};

#define MIB              (UINT64_C(1) << 20)
#define CHUNK_SIZE       (2 * MIB) /* device memory is accounted in these */
#define ALIGN(n, to)     (((n) + (to)-1) / (to) * (to))
#define KERNELS_TIME_MIN UINT64_C(2000) /* ns: no kernel is shorter */

/* ---- names: cuda_names.c ---- */

struct cuda_name {
    const char *name; /* as cuGetProcAddress takes it */
    void (*function)(void);
    int since; /* CUDA version, 1000 * major + 10 * minor */
};

/* A function of CUDA: exported, in the list of names, and declared for -Wmissing-prototypes. */
#define API(symbol, base, version, ...)                                           \
    EXPORT CUresult symbol(__VA_ARGS__);                                          \
    static struct cuda_name name_of_##symbol                                      \
        __attribute__((used, section("cuda_names"), aligned(sizeof(void *)))) = { \
            #base, (void (*)(void))(symbol), (version)};                          \
    EXPORT CUresult symbol(__VA_ARGS__)

/* Another exported name of a function; in no list. */
#define API_ALIAS(name, symbol) \
    extern __typeof__(symbol) name __attribute__((alias(#symbol), visibility("default")))

void cuda_lock(void);
void cuda_unlock(void);
static inline void cuda_unlockp(const int *held)
{
    (void)held;
    cuda_unlock();
}

/* Takes the lock until the function returns. Returns the error if CUDA cannot be used. */
#define ENTER()                                                          \
    __attribute__((cleanup(cuda_unlockp))) int held_ = (cuda_lock(), 1); \
    do {                                                                 \
        CUresult enter_ = cuda_check();                                  \
        if (enter_ != CUDA_SUCCESS || held_ == 0)                        \
            return enter_;                                               \
    } while (0)

/* The same, and declares `context`, the current context of the thread. */
#define ENTER_CONTEXT(context)                           \
    struct CUctx_st *context = NULL;                     \
    ENTER();                                             \
    do {                                                 \
        CUresult context_ = context_current(&(context)); \
        if (context_ != CUDA_SUCCESS)                    \
            return context_;                             \
    } while (0)

#define CHECK(call)                 \
    do {                            \
        CUresult check_ = (call);   \
        if (check_ != CUDA_SUCCESS) \
            return check_;          \
    } while (0)

#define REQUIRE(condition)                   \
    do {                                     \
        if (!(condition))                    \
            return CUDA_ERROR_INVALID_VALUE; \
    } while (0)

/* ---- devices: cuda_device.c ---- */

/* A gpu, or a compute instance of one. */
struct device {
    const struct gpusim_gpu *g;
    unsigned index;  /* in the machine's file */
    unsigned engine; /* GPUSIM_WHOLE, or 1 + index in the gpu's computes */
    CUdevice ordinal;
    struct CUuuid uuid;
    char uuid_text[96];
    uint64_t memory_bytes; /* that programs can allocate */
    unsigned multiprocessors;
    unsigned n_contexts;
    struct CUctx_st *primary;
    unsigned primary_references;
    unsigned primary_flags;
    struct CUevent_st *pending; /* recorded events whose time has not come, by their time */
    struct CUmemPoolHandle_st *default_pool;
    struct CUmemPoolHandle_st *pool; /* the one of cuMemAllocAsync */
};

extern struct view cuda_view;
extern int cuda_slot; /* of this process in the machine's clients */

/* CUDA_ERROR_NOT_INITIALIZED before cuInit, and in a child process of the one that called it. */
CUresult cuda_check(void);
CUresult device_find(CUdevice ordinal, struct device **ret);
/* The device whose use the machine's file notes for this process. */
struct gpusim_use *device_use(const struct device *d);
/* Waits for the gpu's hang_ms; a lost gpu is an error. */
CUresult device_answer(const struct device *d);

/* ---- handles: cuda_device.c ---- */

enum handle_kind {
    HANDLE_CONTEXT = 1,
    HANDLE_STREAM,
    HANDLE_EVENT,
    HANDLE_MODULE,
    HANDLE_FUNCTION,
    HANDLE_ARRAY,
    HANDLE_POOL,
    HANDLE_GRAPH,
    HANDLE_NODE,
    HANDLE_EXEC,
    HANDLE_PHYSICAL,
};

/* Makes an object of zeros that handle_is knows; NULL: no memory. */
void *handle_new(enum handle_kind kind, size_t size);
bool handle_is(const void *object, enum handle_kind kind);
void handle_free(void *object);
/* Calls `each` for all objects of a kind; `each` frees none but its own. */
void handle_each(enum handle_kind kind, void (*each)(void *object, void *data), void *data);

/* ---- contexts: cuda_context.c ---- */

enum {
    LIMITS_MAX = 10
};

struct CUctx_st {
    struct device *device;
    unsigned flags;
    bool is_primary;
    uint64_t id;
    CUresult broken;     /* an error that stays until the context ends */
    uint64_t ecc_errors; /* uncorrected ones of the gpu when the context began */
    size_t limits[LIMITS_MAX];
    struct CUstream_st *legacy;
    struct CUstream_st *per_thread;
    uint64_t finish_ns;              /* virtual time at which all work of the context is done */
    uint64_t launches[LAUNCHES_MAX]; /* a ring of their ends, virtual */
    uint64_t n_launches;
    unsigned peers; /* bit i: may use the memory of device i */
};

CUresult context_current(struct CUctx_st **ret);
/* The context's error, if it is broken; an uncorrected memory error of its gpu breaks it. */
CUresult context_check(struct CUctx_st *c);
CUresult context_wait(struct CUctx_st *c);

/* ---- memory: cuda_memory.c ---- */

enum memory_kind {
    MEMORY_DEVICE,
    MEMORY_MANAGED,
    MEMORY_HOST,       /* allocated by CUDA */
    MEMORY_REGISTERED, /* the program's own */
    MEMORY_ARRAY,
    MEMORY_POOL,
    MEMORY_RANGE,  /* reserved addresses; what is mapped there has entries of its own */
    MEMORY_MAPPED, /* within a MEMORY_RANGE */
    MEMORY_IMPORTED,
};

struct memory {
    uint64_t base;
    uint64_t size;
    uint64_t id;
    enum memory_kind kind;
    struct CUctx_st *context; /* NULL: of no context */
    struct device *device;
    uint64_t accounted; /* bytes of the gpu, of this block alone */
    uint64_t file_at;   /* place in the arena file */
    uint64_t map_size;  /* bytes mapped at `base`; 0: in a chunk, or not ours */
    unsigned flags;
    void *owner; /* pool, array or physical memory */
    bool is_accessible;
};

/* Notes that the process holds so many more bytes of the gpu; CUDA_ERROR_OUT_OF_MEMORY. */
CUresult account_take(const struct device *d, uint64_t bytes);
/* cuda_mps.c: bytes that this process may hold on a gpu, as a client of MPS; 0: no limit. */
uint64_t mps_limit(void);
void account_give(const struct device *d, uint64_t bytes);
void account_free(const struct device *d, uint64_t *ret_free);

/* The arena: one sparse file in memory that all device memory is mapped from. */
int arena_fd(void);
/* Maps new, zeroed memory; NULL: the system has none. */
void *arena_map(uint64_t size, uint64_t *ret_at);
uint64_t arena_take(uint64_t size);
void arena_discard(uint64_t at, uint64_t size);

/* Allocates device memory and notes it as `kind`. */
CUresult memory_new(struct CUctx_st *c, enum memory_kind kind, uint64_t size, struct memory **ret);
void memory_free(struct memory *m);
/* The block that holds this address; NULL: none. Mapped memory comes before its range. */
struct memory *memory_find(uint64_t address);
/* The same without ranges. */
struct memory *block_find(uint64_t address);
/* Adds a copy of an entry; NULL: no memory, or the addresses overlap others. */
struct memory *memory_note(const struct memory *entry);
void memory_forget(struct memory *m);
void memory_free_of(struct CUctx_st *c);
/* May the gpu use all of these bytes? */
bool memory_is_usable(uint64_t address, uint64_t size);

/* ---- streams and work: cuda_stream.c ---- */

struct CUstream_st {
    struct CUctx_st *context;
    unsigned flags;
    int priority;
    uint64_t id;
    uint64_t finish_ns;         /* virtual */
    struct CUgraph_st *capture; /* NULL: the stream does not capture */
    bool began_capture;
    uint64_t capture_id;
};

/* Finds a stream of the current context by its handle, NULL and the special ones included. */
CUresult stream_find(CUstream handle, struct CUstream_st **ret);
/* The error of an operation that a capturing stream cannot take. */
CUresult stream_refuse_capture(const struct CUstream_st *s);
/* Queues work of so many ns of the device at full speed. */
CUresult stream_add_work(struct CUstream_st *s, uint64_t ns);
CUresult stream_wait(struct CUstream_st *s);
/* Waits until the engine has passed a virtual time. */
CUresult device_wait(struct CUctx_st *c, uint64_t finish_ns);
CUresult device_is_done(struct CUctx_st *c, uint64_t finish_ns, bool *ret);
struct CUstream_st *stream_new(struct CUctx_st *c, unsigned flags, int priority);
void streams_free_of(struct CUctx_st *c);

/* ---- kernels: cuda_module.c, cuda_launch.c ---- */

struct CUfunc_st {
    struct CUmod_st *module;
    char name[512];
    unsigned n_parameters;
    uint16_t offsets[FUNCTION_PARAMETERS_MAX];
    uint16_t sizes[FUNCTION_PARAMETERS_MAX];
    uint16_t parameters_size;
    int attributes[16];
};

struct CUmod_st {
    struct CUctx_st *context; /* NULL: a library, of no context */
    unsigned n_functions;
    struct CUfunc_st **functions;
};

void modules_free_of(struct CUctx_st *c);

struct launch {
    struct CUfunc_st *function;
    unsigned grid[3];
    unsigned block[3];
    unsigned shared_bytes;
    unsigned char parameters[4096];
};

/* Checks the shape and copies the parameters. */
CUresult launch_prepare(struct CUctx_st *c, struct launch *l, void **parameters, void **extra);
/* Computes what the kernel computes, and queues its time. */
CUresult launch_run(struct CUstream_st *s, const struct launch *l);

/* ---- copies: cuda_copy.c ---- */

CUresult copy_bytes(uint64_t to, uint64_t from, uint64_t size);
CUresult copy_3d_run(const struct CUDA_MEMCPY3D *copy);
CUresult set_run(const struct CUDA_MEMSET_NODE_PARAMS *set);

/* ---- arrays: cuda_array.c ---- */

struct CUarray_st {
    struct CUctx_st *context;
    struct CUDA_ARRAY3D_DESCRIPTOR shape;
    size_t row_bytes;
    struct memory *memory;
};

void arrays_free_of(struct CUctx_st *c);

/* ---- graphs: cuda_graph.c ---- */

/* Adds what a capturing stream is asked to do, behind what it was asked before. */
CUresult capture_launch(struct CUstream_st *s, const struct launch *l);
CUresult capture_copy(struct CUstream_st *s, const struct CUDA_MEMCPY3D *copy);
CUresult capture_set(struct CUstream_st *s, const struct CUDA_MEMSET_NODE_PARAMS *set);
CUresult capture_host(struct CUstream_st *s, CUhostFn function, void *data);

/* ---- pools: cuda_pool.c ---- */

struct CUmemPoolHandle_st {
    struct device *device;
    bool is_default;
    uint64_t used;
    uint64_t used_high;
    uint64_t attributes[8];
    uint64_t max_bytes; /* 0: the gpu's */
};

struct CUmemPoolHandle_st *pool_new(struct device *d);
void pool_give(struct memory *m);
