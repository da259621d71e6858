/*
 * graphs.c - graphs that are ready to be launched, with the threads of their kernels
 *
 * A graph is counted when it is instantiated or updated as a whole, with the graphs in it. A later
 * change of single nodes is not counted: the node's measurements correct the rate of tokens.
 */

#include "graphs.h"

#include <stdbool.h>
#include <stdlib.h>

#include "hooks.h"
#include "share.h"
#include "table.h"

enum {
    GRAPH_DEPTH_MAX = 8,
    GRAPH_NODES_MAX = 1 << 20
};

static uint64_t graph_add(uint64_t a, uint64_t b)
{
    return a > INT64_MAX - b ? INT64_MAX : a + b;
}

static uint64_t kernel_threads(CUhandle node)
{
    struct CUDA_KERNEL_NODE_PARAMS p = {0};
    CUresult result = DRIVER(cuGraphKernelNodeGetParams_v2, node, &p);
    uint64_t blocks;
    uint64_t threads;

    if (result == CUDA_ERROR_NOT_SUPPORTED)
        result = DRIVER(cuGraphKernelNodeGetParams, node, &p);
    if (result != CUDA_SUCCESS)
        return 0;
    blocks = (uint64_t)p.gridDimX * p.gridDimY;
    threads = (uint64_t)p.blockDimX * p.blockDimY * p.blockDimZ;
    if (p.gridDimZ != 0 && blocks > INT64_MAX / p.gridDimZ)
        return INT64_MAX;
    blocks *= p.gridDimZ;
    return threads != 0 && blocks > INT64_MAX / threads ? INT64_MAX : blocks * threads;
}

static uint64_t graph_count(CUhandle graph, unsigned depth);

static uint64_t node_threads(CUhandle node, unsigned depth)
{
    unsigned type = CU_GRAPH_NODE_TYPE_EMPTY;
    CUhandle child = NULL;

    if (DRIVER(cuGraphNodeGetType, node, &type) != CUDA_SUCCESS)
        return 0;
    if (type == CU_GRAPH_NODE_TYPE_KERNEL)
        return kernel_threads(node);
    if (type != CU_GRAPH_NODE_TYPE_GRAPH || depth == GRAPH_DEPTH_MAX ||
        DRIVER(cuGraphChildGraphNodeGetGraph, node, &child) != CUDA_SUCCESS)
        return 0;
    return graph_count(child, depth + 1);
}

static uint64_t graph_count(CUhandle graph, unsigned depth)
{
    size_t n = 0;
    uint64_t sum = 0;
    CUhandle *nodes;

    if (DRIVER(cuGraphGetNodes, graph, NULL, &n) != CUDA_SUCCESS || n == 0 || n > GRAPH_NODES_MAX)
        return 0;
    nodes = calloc(n, sizeof(*nodes));
    if (nodes && DRIVER(cuGraphGetNodes, graph, nodes, &n) == CUDA_SUCCESS)
        for (size_t i = 0; i < n; i++)
            sum = graph_add(sum, node_threads(nodes[i], depth));
    free(nodes);
    return sum;
}

static void exec_count(CUhandle exec, CUhandle graph)
{
    struct table_entry e = {
        .kind = TABLE_GRAPH, .gpu = SHARE_NONE, .key = (uint64_t)(uintptr_t)exec};
    struct table_entry old;

    e.bytes = graph_count(graph, 0);
    (void)table_take(TABLE_GRAPH, e.key, &old); /* none at the first time */
    (void)table_put(&e);                        /* without memory the graph counts as 1 */
}

uint64_t graph_threads(CUhandle exec)
{
    struct table_entry e;

    if (!table_get(TABLE_GRAPH, (uint64_t)(uintptr_t)exec, &e) || e.bytes == 0)
        return 1;
    return e.bytes;
}

/* Counts a graph that the driver has made ready. */
static CUresult exec_made(CUresult result, const CUhandle *exec, CUhandle graph)
{
    if (result == CUDA_SUCCESS && share_has_compute())
        exec_count(*exec, graph);
    return result;
}

HOOK(cuGraphInstantiate, CUhandle *exec, CUhandle graph, CUhandle *node, char *log, size_t size)
{
    return exec_made(DRIVER(cuGraphInstantiate, exec, graph, node, log, size), exec, graph);
}

HOOK(cuGraphInstantiate_v2, CUhandle *exec, CUhandle graph, CUhandle *node, char *log, size_t size)
{
    return exec_made(DRIVER(cuGraphInstantiate_v2, exec, graph, node, log, size), exec, graph);
}

HOOK(cuGraphInstantiateWithFlags, CUhandle *exec, CUhandle graph, uint64_t flags)
{
    return exec_made(DRIVER(cuGraphInstantiateWithFlags, exec, graph, flags), exec, graph);
}

HOOK(cuGraphInstantiateWithParams, CUhandle *exec, CUhandle graph, void *params)
{
    return exec_made(DRIVER(cuGraphInstantiateWithParams, exec, graph, params), exec, graph);
}

HOOK(cuGraphInstantiateWithParams_ptsz, CUhandle *exec, CUhandle graph, void *params)
{
    return exec_made(DRIVER(cuGraphInstantiateWithParams_ptsz, exec, graph, params), exec, graph);
}

HOOK(cuGraphExecUpdate, CUhandle exec, CUhandle graph, CUhandle *node, int *result)
{
    return exec_made(DRIVER(cuGraphExecUpdate, exec, graph, node, result), &exec, graph);
}

HOOK(cuGraphExecUpdate_v2, CUhandle exec, CUhandle graph, void *info)
{
    return exec_made(DRIVER(cuGraphExecUpdate_v2, exec, graph, info), &exec, graph);
}

HOOK(cuGraphExecDestroy, CUhandle exec)
{
    CUresult result = DRIVER(cuGraphExecDestroy, exec);
    struct table_entry old;

    if (result == CUDA_SUCCESS)
        (void)table_take(TABLE_GRAPH, (uint64_t)(uintptr_t)exec, &old); /* may be unknown */
    return result;
}
