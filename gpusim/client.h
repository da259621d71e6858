/*
 * client.h - the clients of an emulated machine: who is alive, who holds how much memory
 *
 * gpusim_machine.h says which locks stand for what.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "view.h"

/* Takes a free slot for this process; -1: none is free. The process has the slot until it ends. */
int client_claim(const struct view *v);

bool client_is_alive(const struct view *v, unsigned slot);

/* Does the client use this gpu? `slot` below GPUSIM_CLIENTS_MAX. */
bool client_uses(const struct view *v, unsigned slot, unsigned gpu);

/* The client's pid in the pid namespace of this process; where it has none there, the pid in its
 * own. */
uint32_t client_pid(const struct view *v, unsigned slot);

/* The lock of a gpu in the machine's file; waits. Threads of one process share it. */
void gpu_lock(const struct view *v, unsigned gpu);
void gpu_unlock(const struct view *v, unsigned gpu);

/* Memory that clients hold on the whole gpu. */
uint64_t gpu_memory_of_clients(const struct view *v, unsigned gpu);

/* The same on the gpu instance with this id. */
uint64_t instance_memory_of_clients(const struct view *v, unsigned gpu, uint32_t instance);

/* The same, with the processes that `gpusim set` invented; at most what the gpu has. */
uint64_t gpu_memory_used(const struct view *v, unsigned gpu);

/* The id of the gpu instance that a use is on; UINT32_MAX: none. */
uint32_t use_instance(const struct gpusim_gpu *g, const struct gpusim_use *u);
