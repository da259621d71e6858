/* forward.c - a connection to a port of a pod */

#include "api/forward.h"

#include "api/nodestream.h"
#include "base/mem.h"
#include "client/records.h"

struct forward {
    struct forward_options o;
    struct node_stream *stream;
    struct buf in; /* from the node: an incomplete record */
    size_t owed;   /* bytes whose credit waits until the client has taken them */
};

struct forward_target *forward_target_new(const struct call *c, const json_t *pod, const char *name)
{
    struct forward_target *t = mem_alloc(sizeof(*t));

    *t = (struct forward_target){.links = core_links(c->core),
                                 .node = mem_strdup(json_text_at(pod, "spec", "nodeName", NULL)),
                                 .uid = mem_strdup(json_text_at(pod, "metadata", "uid", NULL)),
                                 .name = mem_strdup(name)};
    return t;
}

void forward_target_free(struct forward_target *t)
{
    if (!t)
        return;
    free(t->node);
    free(t->uid);
    free(t->name);
    free(t);
}

char *forward_failure(const struct forward_target *t, uint16_t port, const char *message)
{
    return mem_format("error forwarding port %u to pod %s, uid %s: %s", (unsigned)port, t->name,
                      t->uid, message);
}

/* Ends the forward after the node's stream has gone. */
static void forward_end(struct forward *f, const char *message)
{
    struct forward_options o = f->o;
    AUTO_FREE char *text = message ? forward_failure(o.target, o.port, message) : NULL;

    buf_done(&f->in);
    free(f);
    o.on_end(o.arg, text);
}

void forward_free(struct forward *f)
{
    if (!f)
        return;
    node_stream_cancel(f->stream);
    buf_done(&f->in);
    free(f);
}

static void forward_on_record(void *arg, const struct record *r)
{
    const struct forward *f = arg;

    if (r->channel == RECORD_STDOUT)
        f->o.on_data(f->o.arg, r->bytes);
    else if (r->channel == RECORD_STDOUT_END)
        f->o.on_data_end(f->o.arg);
}

static void forward_on_node_data(void *arg, struct str bytes)
{
    struct forward *f = arg;
    AUTO(err_freep) struct err *e = NULL;

    buf_add(&f->in, bytes.at, bytes.size);
    f->owed += bytes.size;
    e = records_each(&f->in, forward_on_record, f);
    if (e) {
        node_stream_cancel(f->stream);
        forward_end(f, err_message(e));
    }
}

static void on_node_end(void *arg, int code, const char *message)
{
    forward_end(arg, code >= 300 ? message : NULL);
}

static void on_node_drain(void *arg)
{
    struct forward *f = arg;

    if (f->o.on_drain)
        f->o.on_drain(f->o.arg);
}

struct err *forward_open(const struct forward_options *o, struct forward **ret)
{
    AUTO(json_freep) json_t *question = json_object();
    struct forward *f = mem_alloc(sizeof(*f));
    const struct node_stream_options so = {.node = o->target->node,
                                           .open = question,
                                           .on_data = forward_on_node_data,
                                           .on_drain = on_node_drain,
                                           .on_end = on_node_end,
                                           .arg = f};
    struct err *e = NULL;

    json_put_text(question, "op", "portforward");
    json_put_text(question, "podUid", o->target->uid);
    json_put_int(question, "port", o->port);
    json_put_bool(question, "stdout", true);
    *f = (struct forward){.o = *o};
    e = node_stream_open(o->target->links, &so, &f->stream);
    if (e) {
        free(f);
        return e;
    }
    *ret = f;
    return NULL;
}

void forward_send(struct forward *f, struct str bytes)
{
    AUTO(buf_done) struct buf b = {0};

    while (bytes.size > 0) {
        size_t size = bytes.size < RECORD_MAX ? bytes.size : RECORD_MAX;

        record_format(&b, RECORD_STDIN, (struct str){bytes.at, size});
        bytes = (struct str){bytes.at + size, bytes.size - size};
    }
    node_stream_send(f->stream, (struct str){b.at, b.size});
}

void forward_send_end(struct forward *f)
{
    AUTO(buf_done) struct buf b = {0};

    record_format(&b, RECORD_STDIN_END, STR(""));
    node_stream_send(f->stream, (struct str){b.at, b.size});
}

size_t forward_backlog(const struct forward *f)
{
    return node_stream_backlog(f->stream);
}

void forward_taken(struct forward *f)
{
    size_t owed = f->owed;

    f->owed = 0;
    node_stream_taken(f->stream, owed);
}
