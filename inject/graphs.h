/* graphs.h - the kernels of graphs */
#pragma once

#include "driver.h"

/* The threads of the kernels that a launch of the graph runs; at least 1. */
uint64_t graph_threads(CUhandle exec);
