/* client.c - slots and locks of the clients of an emulated machine */

#include "client.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* fcntl() itself has a newer symbol version than the libraries may need. */
static long lock_call(int fd, int command, struct flock *lock)
{
    return syscall(SYS_fcntl, fd, command, lock);
}

static bool lock_set(int fd, int command, short type, int64_t at)
{
    struct flock lock = {.l_type = type, .l_whence = SEEK_SET, .l_start = at, .l_len = 1};
    long result;

    do
        result = lock_call(fd, command, &lock);
    while (result < 0 && errno == EINTR);
    return result == 0;
}

/* Is the byte locked by another open file description? */
static bool lock_is_held(int fd, int64_t at)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = at, .l_len = 1};

    return lock_call(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

/* The slot that this process has through this library; -1: none. */
static int own_slot = -1;
static int own_pid;

int client_claim(const struct view *v)
{
    if (!v->writable)
        return -1;
    for (unsigned i = 0; i < GPUSIM_CLIENTS_MAX; i++) {
        struct gpusim_client *c = &v->writable->clients[i];

        if (!lock_set(v->fd, F_OFD_SETLK, F_WRLCK, GPUSIM_LOCK_CLIENTS + i))
            continue;
        (void)lock_set(v->fd, F_SETLK, F_WRLCK, GPUSIM_LOCK_PIDS + i);
        own_slot = (int)i;
        own_pid = getpid();
        *c = (struct gpusim_client){.pid = (uint32_t)own_pid};
        return own_slot;
    }
    return -1;
}

bool client_is_alive(const struct view *v, unsigned slot)
{
    if (own_slot == (int)slot && own_pid == getpid())
        return true;
    return lock_is_held(v->fd, GPUSIM_LOCK_CLIENTS + slot);
}

bool client_uses(const struct view *v, unsigned slot, unsigned gpu)
{
    return v->machine->clients[slot].uses[gpu].has_context && client_is_alive(v, slot);
}

uint32_t client_pid(const struct view *v, unsigned slot)
{
    struct flock lock = {
        .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = GPUSIM_LOCK_PIDS + slot, .l_len = 1};

    if (own_slot == (int)slot)
        return (uint32_t)own_pid;
    if (lock_call(v->fd, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK && lock.l_pid > 0)
        return (uint32_t)lock.l_pid;
    return v->machine->clients[slot].pid;
}

void gpu_lock(const struct view *v, unsigned gpu)
{
    (void)lock_set(v->fd, F_OFD_SETLKW, F_WRLCK, GPUSIM_LOCK_GPUS + gpu);
}

void gpu_unlock(const struct view *v, unsigned gpu)
{
    (void)lock_set(v->fd, F_OFD_SETLK, F_UNLCK, GPUSIM_LOCK_GPUS + gpu);
}

uint32_t use_instance(const struct gpusim_gpu *g, const struct gpusim_use *u)
{
    uint32_t engine = u->engine;

    if (engine == GPUSIM_WHOLE || engine > GPUSIM_INSTANCES_MAX)
        return UINT32_MAX;
    return g->computes[engine - 1].instance;
}

/* Adds without passing the size of the gpu: the numbers come from other processes. */
static uint64_t add_memory(uint64_t sum, uint64_t more, uint64_t limit)
{
    return sum > limit || more > limit - sum ? limit : sum + more;
}

uint64_t gpu_memory_of_clients(const struct view *v, unsigned gpu)
{
    uint64_t sum = 0;

    for (unsigned i = 0; i < GPUSIM_CLIENTS_MAX; i++) {
        if (client_uses(v, i, gpu))
            sum = add_memory(sum, v->machine->clients[i].uses[gpu].memory_bytes,
                             v->machine->gpus[gpu].memory_bytes);
    }
    return sum;
}

uint64_t instance_memory_of_clients(const struct view *v, unsigned gpu, uint32_t instance)
{
    const struct gpusim_gpu *g = &v->machine->gpus[gpu];
    uint64_t sum = 0;

    for (unsigned i = 0; i < GPUSIM_CLIENTS_MAX; i++) {
        const struct gpusim_use *u = &v->machine->clients[i].uses[gpu];

        if (client_uses(v, i, gpu) && use_instance(g, u) == instance)
            sum = add_memory(sum, u->memory_bytes, g->memory_bytes);
    }
    return sum;
}

uint64_t gpu_memory_used(const struct view *v, unsigned gpu)
{
    const struct gpusim_gpu *g = &v->machine->gpus[gpu];
    uint64_t limit =
        g->memory_bytes > g->memory_reserved_bytes ? g->memory_bytes - g->memory_reserved_bytes : 0;
    uint64_t sum = add_memory(0, gpu_memory_of_clients(v, gpu), limit);

    for (unsigned i = 0; i < g->n_processes && i < GPUSIM_PROCESSES_MAX; i++)
        sum = add_memory(sum, g->processes[i].memory_bytes, limit);
    return sum;
}
