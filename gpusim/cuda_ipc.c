/*
 * cuda_ipc.c - device memory of another process
 *
 * A handle names the process and its arena; the process that opens it maps the same file through
 * /proc. Both need the same pid namespace and user, as the real ones need the same host.
 */

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cuda.h"

#define IPC_MAGIC UINT64_C(0x6370696d69737067)

struct ipc {
    uint64_t magic;
    uint64_t file_at;
    uint64_t size;
    uint64_t offset; /* of the block in what is mapped */
    uint32_t pid;
    int32_t fd;
    char uuid[24]; /* the start of the gpu's */
};

_Static_assert(sizeof(struct ipc) == sizeof(struct CUipcMemHandle), "CUipcMemHandle");

API(cuIpcGetMemHandle, cuIpcGetMemHandle, 4010, struct CUipcMemHandle *ret, CUdeviceptr address)
{
    const struct memory *m;
    struct ipc ipc = {.magic = IPC_MAGIC, .pid = (uint32_t)getpid()};
    uint64_t first;

    ENTER_CONTEXT(c);
    (void)c;
    REQUIRE(ret);
    m = memory_find(address);
    REQUIRE(m && m->kind == MEMORY_DEVICE);
    /* A block in a chunk: the pages that hold it. */
    first = m->file_at / 4096 * 4096;
    ipc.fd = arena_fd();
    ipc.file_at = first;
    ipc.offset = m->file_at - first;
    ipc.size = ALIGN(ipc.offset + m->size, 4096);
    memcpy(ipc.uuid, m->device->uuid_text, sizeof(ipc.uuid));
    memcpy(ret, &ipc, sizeof(ipc));
    return CUDA_SUCCESS;
}

API(cuIpcOpenMemHandle_v2, cuIpcOpenMemHandle, 11000, CUdeviceptr *ret,
    struct CUipcMemHandle handle, unsigned flags)
{
    struct memory m = {.kind = MEMORY_IMPORTED, .is_accessible = true};
    struct ipc ipc;
    char path[64];
    void *mapped;
    int fd;

    ENTER_CONTEXT(c);
    REQUIRE(ret && flags <= 1);
    memcpy(&ipc, &handle, sizeof(ipc));
    REQUIRE(ipc.magic == IPC_MAGIC && ipc.offset < ipc.size);
    /* A process cannot open its own handle. */
    if (ipc.pid == (uint32_t)getpid())
        return CUDA_ERROR_INVALID_CONTEXT;
    REQUIRE(strncmp(ipc.uuid, c->device->uuid_text, sizeof(ipc.uuid)) == 0);
    (void)snprintf(path, sizeof(path), "/proc/%u/fd/%d", ipc.pid, ipc.fd);
    fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return CUDA_ERROR_MAP_FAILED;
    mapped = mmap(NULL, ipc.size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd,
                  (off_t)ipc.file_at);
    (void)close(fd);
    if (mapped == MAP_FAILED)
        return CUDA_ERROR_MAP_FAILED;
    m.base = (uintptr_t)mapped;
    m.size = ipc.size;
    m.map_size = ipc.size;
    m.context = c;
    m.device = c->device;
    if (!memory_note(&m)) {
        (void)munmap(mapped, ipc.size);
        return CUDA_ERROR_MAP_FAILED;
    }
    *ret = m.base + ipc.offset;
    return CUDA_SUCCESS;
}

API(cuIpcOpenMemHandle, cuIpcOpenMemHandle, 4010, CUdeviceptr *ret, struct CUipcMemHandle handle,
    unsigned flags)
{
    return cuIpcOpenMemHandle_v2(ret, handle, flags);
}

API(cuIpcCloseMemHandle, cuIpcCloseMemHandle, 4010, CUdeviceptr address)
{
    struct memory *m;

    ENTER_CONTEXT(c);
    (void)c;
    m = memory_find(address);
    REQUIRE(m && m->kind == MEMORY_IMPORTED);
    memory_free(m);
    return CUDA_SUCCESS;
}
