/* cuda_graph.c - graphs: built by calls or by capture of a stream, run in the order of their edges
 */

#include <stdlib.h>
#include <string.h>

#include "cuda.h"

struct CUgraphNode_st {
    struct CUgraph_st *graph;
    unsigned type;
    struct CUgraphNode_st **needs; /* nodes of the same graph that come before */
    size_t n_needs;
    unsigned mark; /* while nodes are sorted or cloned: place in the order + 1 */
    struct launch *launch;
    struct CUDA_MEMCPY3D copy;
    struct CUDA_MEMSET_NODE_PARAMS set;
    struct CUDA_HOST_NODE_PARAMS host;
};

struct CUgraph_st {
    struct CUgraphNode_st **nodes;
    size_t n;
};

/* An exec has a graph of its own, whose nodes are in the order in which they run. */
struct CUgraphExec_st {
    struct CUgraph_st *graph;
    struct CUgraphNode_st **originals; /* the node of the source graph for each node */
};

static uint64_t capture_ids;

/* ---- nodes ---- */

static void node_free(struct CUgraphNode_st *node)
{
    free(node->launch);
    free(node->needs);
    handle_free(node);
}

static bool node_need(struct CUgraphNode_st *node, struct CUgraphNode_st *need)
{
    struct CUgraphNode_st **more =
        realloc(node->needs, (node->n_needs + 1) * sizeof(struct CUgraphNode_st *));

    if (!more)
        return false;
    node->needs = more;
    node->needs[node->n_needs++] = need;
    return true;
}

static CUresult node_new(struct CUgraph_st *g, unsigned type, const CUgraphNode *needs, size_t n,
                         struct CUgraphNode_st **ret)
{
    struct CUgraphNode_st **more;
    struct CUgraphNode_st *node;

    REQUIRE(handle_is(g, HANDLE_GRAPH) && (needs || n == 0));
    for (size_t i = 0; i < n; i++)
        REQUIRE(handle_is(needs[i], HANDLE_NODE) && needs[i]->graph == g);
    more = realloc(g->nodes, (g->n + 1) * sizeof(struct CUgraphNode_st *));
    if (!more)
        return CUDA_ERROR_OUT_OF_MEMORY;
    g->nodes = more;
    node = handle_new(HANDLE_NODE, sizeof(*node));
    if (!node)
        return CUDA_ERROR_OUT_OF_MEMORY;
    node->graph = g;
    node->type = type;
    for (size_t i = 0; i < n; i++) {
        if (!node_need(node, needs[i])) {
            node_free(node);
            return CUDA_ERROR_OUT_OF_MEMORY;
        }
    }
    g->nodes[g->n++] = node;
    *ret = node;
    return CUDA_SUCCESS;
}

static CUresult node_set_launch(struct CUgraphNode_st *node, const struct launch *l)
{
    if (!node->launch)
        node->launch = malloc(sizeof(*l));
    if (!node->launch)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *node->launch = *l;
    return CUDA_SUCCESS;
}

static struct CUgraph_st *graph_new(void)
{
    return handle_new(HANDLE_GRAPH, sizeof(struct CUgraph_st));
}

static void graph_free(struct CUgraph_st *g)
{
    for (size_t i = 0; i < g->n; i++)
        node_free(g->nodes[i]);
    free(g->nodes);
    handle_free(g);
}

/* ---- graphs by calls ---- */

API(cuGraphCreate, cuGraphCreate, 10000, CUgraph *ret, unsigned flags)
{
    ENTER();
    REQUIRE(ret && flags == 0);
    *ret = graph_new();
    return *ret ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

API(cuGraphDestroy, cuGraphDestroy, 10000, CUgraph graph)
{
    ENTER();
    REQUIRE(handle_is(graph, HANDLE_GRAPH));
    graph_free(graph);
    return CUDA_SUCCESS;
}

/* Checks the parameters of a kernel node and copies them. */
static CUresult kernel_read(const struct CUDA_KERNEL_NODE_PARAMS *wanted, struct launch *ret)
{
    struct CUctx_st *c = NULL;

    CHECK(context_current(&c));
    *ret = (struct launch){
        .function = wanted->func ? wanted->func : (CUfunction)(void *)wanted->kern,
        .grid = {wanted->gridDimX, wanted->gridDimY, wanted->gridDimZ},
        .block = {wanted->blockDimX, wanted->blockDimY, wanted->blockDimZ},
        .shared_bytes = wanted->sharedMemBytes,
    };
    return launch_prepare(c, ret, wanted->kernelParams, wanted->extra);
}

/* The parameters of version 1, which ends before `kern`. */
static struct CUDA_KERNEL_NODE_PARAMS kernel_of_v1(const struct CUDA_KERNEL_NODE_PARAMS *wanted)
{
    struct CUDA_KERNEL_NODE_PARAMS whole = {0};

    memcpy(&whole, wanted, offsetof(struct CUDA_KERNEL_NODE_PARAMS, kern));
    return whole;
}

API(cuGraphAddKernelNode_v2, cuGraphAddKernelNode, 12000, CUgraphNode *ret, CUgraph graph,
    const CUgraphNode *needs, size_t n, const struct CUDA_KERNEL_NODE_PARAMS *wanted)
{
    struct launch l;

    ENTER();
    REQUIRE(ret && wanted);
    CHECK(kernel_read(wanted, &l));
    CHECK(node_new(graph, CU_GRAPH_NODE_TYPE_KERNEL, needs, n, ret));
    return node_set_launch(*ret, &l);
}

API(cuGraphAddKernelNode, cuGraphAddKernelNode, 10000, CUgraphNode *ret, CUgraph graph,
    const CUgraphNode *needs, size_t n, const struct CUDA_KERNEL_NODE_PARAMS *wanted)
{
    struct CUDA_KERNEL_NODE_PARAMS whole;

    REQUIRE(wanted);
    whole = kernel_of_v1(wanted);
    return cuGraphAddKernelNode_v2(ret, graph, needs, n, &whole);
}

static CUresult node_give_kernel(CUgraphNode node, struct CUDA_KERNEL_NODE_PARAMS *ret, size_t size)
{
    struct CUDA_KERNEL_NODE_PARAMS p = {0};

    ENTER();
    REQUIRE(ret && handle_is(node, HANDLE_NODE) && node->launch);
    p.func = node->launch->function;
    p.gridDimX = node->launch->grid[0];
    p.gridDimY = node->launch->grid[1];
    p.gridDimZ = node->launch->grid[2];
    p.blockDimX = node->launch->block[0];
    p.blockDimY = node->launch->block[1];
    p.blockDimZ = node->launch->block[2];
    p.sharedMemBytes = node->launch->shared_bytes;
    memcpy(ret, &p, size);
    return CUDA_SUCCESS;
}

/* The emulation keeps the values of parameters, not their addresses: those are NULL. */
API(cuGraphKernelNodeGetParams_v2, cuGraphKernelNodeGetParams, 12000, CUgraphNode node,
    struct CUDA_KERNEL_NODE_PARAMS *ret)
{
    return node_give_kernel(node, ret, sizeof(*ret));
}

API(cuGraphKernelNodeGetParams, cuGraphKernelNodeGetParams, 10000, CUgraphNode node,
    struct CUDA_KERNEL_NODE_PARAMS *ret)
{
    return node_give_kernel(node, ret, offsetof(struct CUDA_KERNEL_NODE_PARAMS, kern));
}

API(cuGraphAddMemcpyNode, cuGraphAddMemcpyNode, 10000, CUgraphNode *ret, CUgraph graph,
    const CUgraphNode *needs, size_t n, const struct CUDA_MEMCPY3D *copy, CUcontext context)
{
    ENTER();
    REQUIRE(ret && copy && handle_is(context, HANDLE_CONTEXT));
    CHECK(node_new(graph, CU_GRAPH_NODE_TYPE_MEMCPY, needs, n, ret));
    (*ret)->copy = *copy;
    return CUDA_SUCCESS;
}

API(cuGraphAddMemsetNode, cuGraphAddMemsetNode, 10000, CUgraphNode *ret, CUgraph graph,
    const CUgraphNode *needs, size_t n, const struct CUDA_MEMSET_NODE_PARAMS *set,
    CUcontext context)
{
    ENTER();
    REQUIRE(ret && set && handle_is(context, HANDLE_CONTEXT));
    CHECK(node_new(graph, CU_GRAPH_NODE_TYPE_MEMSET, needs, n, ret));
    (*ret)->set = *set;
    return CUDA_SUCCESS;
}

API(cuGraphAddHostNode, cuGraphAddHostNode, 10000, CUgraphNode *ret, CUgraph graph,
    const CUgraphNode *needs, size_t n, const struct CUDA_HOST_NODE_PARAMS *host)
{
    ENTER();
    REQUIRE(ret && host && host->fn);
    CHECK(node_new(graph, CU_GRAPH_NODE_TYPE_HOST, needs, n, ret));
    (*ret)->host = *host;
    return CUDA_SUCCESS;
}

API(cuGraphAddEmptyNode, cuGraphAddEmptyNode, 10000, CUgraphNode *ret, CUgraph graph,
    const CUgraphNode *needs, size_t n)
{
    ENTER();
    REQUIRE(ret);
    return node_new(graph, CU_GRAPH_NODE_TYPE_EMPTY, needs, n, ret);
}

API(cuGraphAddDependencies, cuGraphAddDependencies, 10000, CUgraph graph, const CUgraphNode *from,
    const CUgraphNode *to, size_t n)
{
    ENTER();
    REQUIRE(handle_is(graph, HANDLE_GRAPH) && ((from && to) || n == 0));
    for (size_t i = 0; i < n; i++) {
        REQUIRE(handle_is(from[i], HANDLE_NODE) && from[i]->graph == graph);
        REQUIRE(handle_is(to[i], HANDLE_NODE) && to[i]->graph == graph && to[i] != from[i]);
        if (!node_need(to[i], from[i]))
            return CUDA_ERROR_OUT_OF_MEMORY;
    }
    return CUDA_SUCCESS;
}

API(cuGraphNodeGetType, cuGraphNodeGetType, 10000, CUgraphNode node, unsigned *ret)
{
    ENTER();
    REQUIRE(ret && handle_is(node, HANDLE_NODE));
    *ret = node->type;
    return CUDA_SUCCESS;
}

/* Without room for them: counts them. */
API(cuGraphGetNodes, cuGraphGetNodes, 10000, CUgraph graph, CUgraphNode *out, size_t *n)
{
    ENTER();
    REQUIRE(n && handle_is(graph, HANDLE_GRAPH));
    for (size_t i = 0; out && i < *n; i++)
        out[i] = i < graph->n ? graph->nodes[i] : NULL;
    if (!out || *n > graph->n)
        *n = graph->n;
    return CUDA_SUCCESS;
}

API(cuGraphGetRootNodes, cuGraphGetRootNodes, 10000, CUgraph graph, CUgraphNode *out, size_t *n)
{
    size_t found = 0;

    ENTER();
    REQUIRE(n && handle_is(graph, HANDLE_GRAPH));
    for (size_t i = 0; i < graph->n; i++) {
        if (graph->nodes[i]->n_needs > 0)
            continue;
        if (out && found < *n)
            out[found] = graph->nodes[i];
        found++;
    }
    if (!out || *n > found)
        *n = found;
    return CUDA_SUCCESS;
}

/* ---- instances ---- */

/* Gives the nodes their places behind all that they need. False: the edges have a cycle. */
static bool graph_sort(struct CUgraph_st *g, struct CUgraphNode_st **order)
{
    size_t placed = 0;
    bool moved = true;

    for (size_t i = 0; i < g->n; i++)
        g->nodes[i]->mark = 0;
    while (placed < g->n && moved) {
        moved = false;
        for (size_t i = 0; i < g->n; i++) {
            struct CUgraphNode_st *node = g->nodes[i];
            bool is_ready = node->mark == 0;

            for (size_t k = 0; is_ready && k < node->n_needs; k++)
                is_ready = node->needs[k]->mark > 0;
            if (!is_ready)
                continue;
            order[placed++] = node;
            node->mark = (unsigned)placed;
            moved = true;
        }
    }
    return placed == g->n;
}

/* Copies the nodes in `order` to a new graph; each keeps its edges. */
static CUresult graph_copy(struct CUgraphNode_st **order, size_t n, struct CUgraph_st *to)
{
    for (size_t i = 0; i < n; i++) {
        struct CUgraphNode_st *node = NULL;

        CHECK(node_new(to, order[i]->type, NULL, 0, &node));
        node->copy = order[i]->copy;
        node->set = order[i]->set;
        node->host = order[i]->host;
        if (order[i]->launch)
            CHECK(node_set_launch(node, order[i]->launch));
        for (size_t k = 0; k < order[i]->n_needs; k++) {
            if (!node_need(node, to->nodes[order[i]->needs[k]->mark - 1]))
                return CUDA_ERROR_OUT_OF_MEMORY;
        }
    }
    return CUDA_SUCCESS;
}

/* Makes a sorted copy of a graph. The caller frees the list of the original nodes. */
static CUresult graph_clone(struct CUgraph_st *g, struct CUgraph_st **ret,
                            struct CUgraphNode_st ***ret_originals)
{
    struct CUgraphNode_st **order = calloc(g->n + 1, sizeof(struct CUgraphNode_st *));
    struct CUgraph_st *copy = graph_new();
    CUresult result = CUDA_ERROR_OUT_OF_MEMORY;

    if (order && copy)
        result = graph_sort(g, order) ? graph_copy(order, g->n, copy) : CUDA_ERROR_INVALID_VALUE;
    if (result != CUDA_SUCCESS) {
        free(order);
        if (copy)
            graph_free(copy);
        return result;
    }
    *ret = copy;
    *ret_originals = order;
    return CUDA_SUCCESS;
}

API(cuGraphClone, cuGraphClone, 10000, CUgraph *ret, CUgraph graph)
{
    struct CUgraphNode_st **originals = NULL;

    ENTER();
    REQUIRE(ret && handle_is(graph, HANDLE_GRAPH));
    CHECK(graph_clone(graph, ret, &originals));
    free(originals);
    return CUDA_SUCCESS;
}

API(cuGraphInstantiateWithFlags, cuGraphInstantiate, 12000, CUgraphExec *ret, CUgraph graph,
    unsigned long long flags)
{
    struct CUgraphExec_st *exec;
    CUresult result;

    ENTER();
    REQUIRE(ret && flags <= 15 && handle_is(graph, HANDLE_GRAPH));
    exec = handle_new(HANDLE_EXEC, sizeof(*exec));
    if (!exec)
        return CUDA_ERROR_OUT_OF_MEMORY;
    result = graph_clone(graph, &exec->graph, &exec->originals);
    if (result != CUDA_SUCCESS) {
        handle_free(exec);
        return result;
    }
    *ret = exec;
    return CUDA_SUCCESS;
}

/* Versions that describe an error in a text. */
API(cuGraphInstantiate_v2, cuGraphInstantiate, 11000, CUgraphExec *ret, CUgraph graph,
    CUgraphNode *ret_node, char *out, size_t size)
{
    if (ret_node)
        *ret_node = NULL;
    if (out && size > 0)
        *out = '\0';
    return cuGraphInstantiateWithFlags(ret, graph, 0);
}

API(cuGraphInstantiate, cuGraphInstantiate, 10000, CUgraphExec *ret, CUgraph graph,
    CUgraphNode *ret_node, char *out, size_t size)
{
    return cuGraphInstantiate_v2(ret, graph, ret_node, out, size);
}

API(cuGraphInstantiateWithParams, cuGraphInstantiateWithParams, 12000, CUgraphExec *ret,
    CUgraph graph, struct CUDA_GRAPH_INSTANTIATE_PARAMS *wanted)
{
    CUresult result;

    REQUIRE(wanted);
    result = cuGraphInstantiateWithFlags(ret, graph, wanted->flags);
    wanted->result_out = result == CUDA_SUCCESS ? 0 : 1;
    wanted->hErrNode_out = NULL;
    return result;
}

API(cuGraphExecDestroy, cuGraphExecDestroy, 10000, CUgraphExec exec)
{
    ENTER();
    REQUIRE(handle_is(exec, HANDLE_EXEC));
    graph_free(exec->graph);
    free(exec->originals);
    handle_free(exec);
    return CUDA_SUCCESS;
}

API(cuGraphExecKernelNodeSetParams_v2, cuGraphExecKernelNodeSetParams, 12000, CUgraphExec exec,
    CUgraphNode node, const struct CUDA_KERNEL_NODE_PARAMS *wanted)
{
    struct launch l;

    ENTER();
    REQUIRE(wanted && handle_is(exec, HANDLE_EXEC));
    CHECK(kernel_read(wanted, &l));
    for (size_t i = 0; i < exec->graph->n; i++) {
        if (exec->originals[i] == node && exec->graph->nodes[i]->launch)
            return node_set_launch(exec->graph->nodes[i], &l);
    }
    return CUDA_ERROR_INVALID_VALUE;
}

API(cuGraphExecKernelNodeSetParams, cuGraphExecKernelNodeSetParams, 10010, CUgraphExec exec,
    CUgraphNode node, const struct CUDA_KERNEL_NODE_PARAMS *wanted)
{
    struct CUDA_KERNEL_NODE_PARAMS whole;

    REQUIRE(wanted);
    whole = kernel_of_v1(wanted);
    return cuGraphExecKernelNodeSetParams_v2(exec, node, &whole);
}

static CUresult node_run(struct CUstream_st *s, const struct CUgraphNode_st *node)
{
    switch (node->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
        if (!handle_is(node->launch->function, HANDLE_FUNCTION))
            return CUDA_ERROR_INVALID_HANDLE;
        return launch_run(s, node->launch);
    case CU_GRAPH_NODE_TYPE_MEMCPY:
        return copy_3d_run(&node->copy);
    case CU_GRAPH_NODE_TYPE_MEMSET:
        return set_run(&node->set);
    case CU_GRAPH_NODE_TYPE_HOST: {
        struct CUDA_HOST_NODE_PARAMS host = node->host;

        CHECK(stream_wait(s));
        cuda_unlock();
        host.fn(host.userData);
        cuda_lock();
        return CUDA_SUCCESS;
    }
    default:
        return CUDA_SUCCESS;
    }
}

API(cuGraphLaunch, cuGraphLaunch, 10000, CUgraphExec exec, CUstream stream)
{
    struct CUstream_st *s = NULL;

    ENTER();
    REQUIRE(handle_is(exec, HANDLE_EXEC));
    CHECK(stream_find(stream, &s));
    CHECK(stream_refuse_capture(s));
    for (size_t i = 0; i < exec->graph->n; i++)
        CHECK(node_run(s, exec->graph->nodes[i]));
    return CUDA_SUCCESS;
}
API_ALIAS(cuGraphLaunch_ptsz, cuGraphLaunch);

API(cuGraphUpload, cuGraphUpload, 11010, CUgraphExec exec, CUstream stream)
{
    struct CUstream_st *s = NULL;

    ENTER();
    REQUIRE(handle_is(exec, HANDLE_EXEC));
    return stream_find(stream, &s);
}
API_ALIAS(cuGraphUpload_ptsz, cuGraphUpload);

/* ---- capture ---- */

static CUresult capture_add(struct CUstream_st *s, unsigned type, struct CUgraphNode_st **ret)
{
    struct CUgraph_st *g = s->capture;
    struct CUgraphNode_st *last = g->n > 0 ? g->nodes[g->n - 1] : NULL;

    return node_new(g, type, &last, last ? 1 : 0, ret);
}

CUresult capture_launch(struct CUstream_st *s, const struct launch *l)
{
    struct CUgraphNode_st *node = NULL;

    CHECK(capture_add(s, CU_GRAPH_NODE_TYPE_KERNEL, &node));
    return node_set_launch(node, l);
}

CUresult capture_copy(struct CUstream_st *s, const struct CUDA_MEMCPY3D *copy)
{
    struct CUgraphNode_st *node = NULL;

    CHECK(capture_add(s, CU_GRAPH_NODE_TYPE_MEMCPY, &node));
    node->copy = *copy;
    return CUDA_SUCCESS;
}

CUresult capture_set(struct CUstream_st *s, const struct CUDA_MEMSET_NODE_PARAMS *set)
{
    struct CUgraphNode_st *node = NULL;

    CHECK(capture_add(s, CU_GRAPH_NODE_TYPE_MEMSET, &node));
    node->set = *set;
    return CUDA_SUCCESS;
}

CUresult capture_host(struct CUstream_st *s, CUhostFn function, void *data)
{
    struct CUgraphNode_st *node = NULL;

    CHECK(capture_add(s, CU_GRAPH_NODE_TYPE_HOST, &node));
    node->host = (struct CUDA_HOST_NODE_PARAMS){.fn = function, .userData = data};
    return CUDA_SUCCESS;
}

API(cuStreamBeginCapture_v2, cuStreamBeginCapture, 10010, CUstream stream, unsigned mode)
{
    struct CUstream_st *s = NULL;

    ENTER();
    REQUIRE(mode <= 2);
    CHECK(stream_find(stream, &s));
    /* The legacy stream cannot capture. */
    if (s == s->context->legacy)
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    if (s->capture)
        return CUDA_ERROR_ILLEGAL_STATE;
    s->capture = graph_new();
    if (!s->capture)
        return CUDA_ERROR_OUT_OF_MEMORY;
    s->began_capture = true;
    s->capture_id = ++capture_ids;
    return CUDA_SUCCESS;
}
API_ALIAS(cuStreamBeginCapture_v2_ptsz, cuStreamBeginCapture_v2);

API(cuStreamBeginCapture, cuStreamBeginCapture, 10000, CUstream stream)
{
    return cuStreamBeginCapture_v2(stream, 0);
}

/* Streams that joined the capture leave it with its end. */
static void capture_leave(void *object, void *graph)
{
    struct CUstream_st *s = object;

    if (s->capture == graph)
        s->capture = NULL;
}

API(cuStreamEndCapture, cuStreamEndCapture, 10000, CUstream stream, CUgraph *ret)
{
    struct CUstream_st *s = NULL;

    ENTER();
    REQUIRE(ret);
    CHECK(stream_find(stream, &s));
    if (!s->capture)
        return CUDA_ERROR_ILLEGAL_STATE;
    if (!s->began_capture)
        return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
    *ret = s->capture;
    s->began_capture = false;
    handle_each(HANDLE_STREAM, capture_leave, *ret);
    return CUDA_SUCCESS;
}
API_ALIAS(cuStreamEndCapture_ptsz, cuStreamEndCapture);

API(cuStreamIsCapturing, cuStreamIsCapturing, 10000, CUstream stream, unsigned *ret)
{
    struct CUstream_st *s = NULL;

    ENTER();
    REQUIRE(ret);
    CHECK(stream_find(stream, &s));
    *ret = s->capture ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE;
    return CUDA_SUCCESS;
}
API_ALIAS(cuStreamIsCapturing_ptsz, cuStreamIsCapturing);

API(cuStreamGetCaptureInfo_v2, cuStreamGetCaptureInfo, 11030, CUstream stream, unsigned *ret,
    uint64_t *ret_id, CUgraph *ret_graph, const CUgraphNode **ret_needs, size_t *ret_n)
{
    struct CUstream_st *s = NULL;

    ENTER();
    REQUIRE(ret);
    CHECK(stream_find(stream, &s));
    *ret = s->capture ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE;
    if (!s->capture)
        return CUDA_SUCCESS;
    if (ret_id)
        *ret_id = s->capture_id;
    if (ret_graph)
        *ret_graph = s->capture;
    if (ret_needs)
        *ret_needs = s->capture->n > 0 ? &s->capture->nodes[s->capture->n - 1] : NULL;
    if (ret_n)
        *ret_n = s->capture->n > 0;
    return CUDA_SUCCESS;
}

API(cuStreamGetCaptureInfo, cuStreamGetCaptureInfo, 10010, CUstream stream, unsigned *ret,
    uint64_t *ret_id)
{
    return cuStreamGetCaptureInfo_v2(stream, ret, ret_id, NULL, NULL, NULL);
}

/* The emulation refuses what a mode would: calls that wait for the capturing stream. */
API(cuThreadExchangeStreamCaptureMode, cuThreadExchangeStreamCaptureMode, 10010, unsigned *mode)
{
    static __thread unsigned current;
    unsigned wanted;

    ENTER();
    REQUIRE(mode && *mode <= 2);
    wanted = *mode;
    *mode = current;
    current = wanted;
    return CUDA_SUCCESS;
}
