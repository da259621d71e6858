/* resource.h - names of resources that several rooms know */
#pragma once

/* The extended resource by which a container asks for whole gpus. */
#define GPU_RESOURCE "nvidia.com/gpu"

/* A replica of a gpu whose replicas have a name of their own. */
#define GPU_SHARED_RESOURCE "nvidia.com/gpu.shared"

/* Before the profile of a slice: "nvidia.com/mig-1g.10gb". A '+' of the profile becomes '.'. */
#define GPU_SLICE_RESOURCE "nvidia.com/mig-"
