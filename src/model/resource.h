/* resource.h - names of resources that several rooms know */
#pragma once

/* The extended resource by which a container asks for whole gpus. */
#define GPU_RESOURCE "nvidia.com/gpu"
