/* launch.c - launches of kernels, which wait for the share's part of the compute */

#include "hooks.h"
#include "share.h"

/* Waits for the share of the current device, if it is limited. A launch costs its threads. */
static void launch_wait(uint64_t blocks, uint64_t threads)
{
    int gpu;

    if (!share_has_compute())
        return;
    gpu = driver_current_gpu();
    if (gpu != SHARE_NONE)
        share_launch(gpu,
                     threads != 0 && blocks > INT64_MAX / threads ? INT64_MAX : blocks * threads);
}

static uint64_t volume(unsigned x, unsigned y, unsigned z)
{
    uint64_t area = (uint64_t)x * y;

    return z != 0 && area > UINT64_MAX / z ? UINT64_MAX : area * z;
}

/* Defines a launch with the grid's and the block's size among its arguments. */
#define LAUNCH_KERNEL(name)                                                              \
    HOOK(name, CUhandle function, unsigned grid_x, unsigned grid_y, unsigned grid_z,     \
         unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,    \
         CUhandle stream, void **parameters, void **extra)                               \
    {                                                                                    \
        launch_wait(volume(grid_x, grid_y, grid_z), volume(block_x, block_y, block_z));  \
        return DRIVER(name, function, grid_x, grid_y, grid_z, block_x, block_y, block_z, \
                      shared_bytes, stream, parameters, extra);                          \
    }

LAUNCH_KERNEL(cuLaunchKernel)
LAUNCH_KERNEL(cuLaunchKernel_ptsz)

#define LAUNCH_COOPERATIVE(name)                                                         \
    HOOK(name, CUhandle function, unsigned grid_x, unsigned grid_y, unsigned grid_z,     \
         unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,    \
         CUhandle stream, void **parameters)                                             \
    {                                                                                    \
        launch_wait(volume(grid_x, grid_y, grid_z), volume(block_x, block_y, block_z));  \
        return DRIVER(name, function, grid_x, grid_y, grid_z, block_x, block_y, block_z, \
                      shared_bytes, stream, parameters);                                 \
    }

LAUNCH_COOPERATIVE(cuLaunchCooperativeKernel)
LAUNCH_COOPERATIVE(cuLaunchCooperativeKernel_ptsz)

#define LAUNCH_EX(name)                                                                   \
    HOOK(name, const struct CUlaunchConfig *config, CUhandle function, void **parameters, \
         void **extra)                                                                    \
    {                                                                                     \
        if (config)                                                                       \
            launch_wait(volume(config->gridDimX, config->gridDimY, config->gridDimZ),     \
                        volume(config->blockDimX, config->blockDimY, config->blockDimZ)); \
        return DRIVER(name, config, function, parameters, extra);                         \
    }

LAUNCH_EX(cuLaunchKernelEx)
LAUNCH_EX(cuLaunchKernelEx_ptsz)

/* The first launches of the API: the block's size was set before. They count as full blocks. */
enum {
    BLOCK_THREADS = 1024
};

HOOK(cuLaunch, CUhandle function)
{
    launch_wait(1, BLOCK_THREADS);
    return DRIVER(cuLaunch, function);
}

HOOK(cuLaunchGrid, CUhandle function, int width, int height)
{
    launch_wait(volume((unsigned)width, (unsigned)height, 1), BLOCK_THREADS);
    return DRIVER(cuLaunchGrid, function, width, height);
}

HOOK(cuLaunchGridAsync, CUhandle function, int width, int height, CUhandle stream)
{
    launch_wait(volume((unsigned)width, (unsigned)height, 1), BLOCK_THREADS);
    return DRIVER(cuLaunchGridAsync, function, width, height, stream);
}
