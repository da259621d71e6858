/* partition_serve.h - the helper process that carries out a plan for MIG instances */
#pragma once

#include "gpu/gpu_driver.h"

/*
 * Reads the plan (partition.h), a JSON array in one line, from standard input, and carries it out
 * on the gpu `uuid`. Writes {"end":true}, or {"error":TEXT,"code":HTTP} for the first step that
 * fails; the steps before it stay done. Returns the exit code.
 */
int partition_serve(struct gpu_driver *d, const char *uuid);
