/* nodestats.c - takes the samples of a connected node from its stream of op "stats" */

#include "api/nodestats.h"

#include "api/nodestream.h"
#include "base/log.h"
#include "base/mem.h"
#include "client/frames.h"
#include "client/node_stats.h"

/* The stream of one node's connection. */
struct intake {
    struct core *core;
    char *node;
    struct node_stream *stream;
    struct buf in;
};

static void intake_free(struct intake *i)
{
    buf_done(&i->in);
    free(i->node);
    free(i);
}

/* Takes the complete messages at the front of the input. */
static struct err *intake_take(struct intake *i)
{
    for (;;) {
        struct node_stats stats = {0};
        size_t size = 0;

        TRY(node_stats_parse((struct str){.at = i->in.at, .size = i->in.size}, &stats, &size));
        if (size == 0)
            return NULL;
        buf_consume(&i->in, size);
        core_take_stats(i->core, i->node, &stats);
    }
}

static void intake_on_data(void *arg, struct str bytes)
{
    struct intake *i = arg;
    AUTO(err_freep) struct err *e = NULL;

    buf_add(&i->in, bytes.at, bytes.size);
    e = intake_take(i);
    if (!e) {
        node_stream_taken(i->stream, bytes.size);
        return;
    }
    LOG(WARN, "samples of a node are malformed: its use is unknown until it connects again",
        S("node", i->node), E(e));
    node_stream_cancel(i->stream);
    intake_free(i);
}

static void intake_on_end(void *arg, int code, const char *message)
{
    struct intake *i = arg;

    if (code != 503) /* 503: the connection has ended */
        LOG(WARN, "node sends no samples: its use is unknown until it connects again",
            S("node", i->node), S("cause", message));
    intake_free(i);
}

void node_stats_begin(struct core *c, const char *node)
{
    AUTO(json_freep) json_t *open = json_object();
    AUTO(err_freep) struct err *e = NULL;
    struct node_stream_options o = {
        .node = node, .open = open, .on_data = intake_on_data, .on_end = intake_on_end};
    struct intake *i;

    if (!core_wants_stats(c))
        return;
    json_put_text(open, "op", "stats");
    i = mem_alloc(sizeof(*i));
    *i = (struct intake){.core = c, .node = mem_strdup(node)};
    /* A message, and the bytes that the node may send before it is taken. */
    i->in.cap = STATS_HEAD_SIZE + (size_t)STATS_MAX + FRAME_CREDIT_FIRST;
    o.arg = i;
    e = node_stream_open(core_links(c), &o, &i->stream);
    if (!e)
        return;
    LOG(WARN, "stream for the samples of a node was not opened", S("node", node), E(e));
    intake_free(i);
}
