/* topo_matrix.h - the matrix of connections between the gpus of a node */
#pragma once

#include "base/json.h"
#include "cli/cli.h"

/* The connections of a gpu (as the API shows gpus) to the other gpus of its node, by index:
 * {"1": "NV18"}; NULL: not known. New reference. */
json_t *topo_connections(const json_t *gpu, const json_t *gpus);

/*
 * Prints the matrix of the gpus of `node` (array); in formats for programs an object for each gpu.
 * Tells on stderr what the names in it mean.
 */
struct err *topo_matrix_print(struct cli *c, const char *node, const json_t *gpus) MUST_CHECK;
