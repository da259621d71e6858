/* reset.c - the reset of an emulated gpu, by `gpusim set` and by the emulated nvidia-smi */

#include "reset.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>

static bool is_alive(uint32_t pid)
{
    return kill((pid_t)pid, 0) == 0 || errno == EPERM;
}

bool gpusim_has_process(const struct gpusim_gpu *g)
{
    for (unsigned i = 0; i < g->n_processes; i++)
        if (is_alive(g->processes[i].pid))
            return true;
    return false;
}

void gpusim_reset(struct gpusim_gpu *g)
{
    g->is_lost = 0;
    g->hang_ms = 0;
    g->throttle = 0;
    g->ecc[0][0] = 0;
    g->ecc[1][0] = 0;
    g->remapped[2] = 0;
    if (!gpusim_has_process(g))
        g->n_processes = 0;
    if (g->mig_mode != g->mig_mode_pending) {
        for (unsigned i = 0; i < GPUSIM_INSTANCES_MAX; i++) {
            g->instances[i] = (struct gpusim_instance){0};
            g->computes[i] = (struct gpusim_compute){0};
        }
    }
    g->mig_mode = g->mig_mode_pending;
}
