/*
 * images.c - the images of a node
 *
 * The node answers over its stream, in lines of JSON (node/image/image_streams.h):
 *
 *   GET    /mete.dev/v1/nodes/NODE/images                list: any role
 *   POST   /mete.dev/v1/nodes/NODE/images/pull?name=N    role edit in any namespace
 *   POST   /mete.dev/v1/nodes/NODE/images/import[?name=] administrators; Upgrade: mete-stream
 *   POST   /mete.dev/v1/nodes/NODE/images/gc[?all=true]  administrators
 *   DELETE /mete.dev/v1/nodes/NODE/images?name=N         administrators
 *
 * An import is a connection of frames (client/frames.h), all of stream 1: DATA and END from the
 * client, DATA (the lines) and END {"code","message"} to the client. The other requests return the
 * lines as the body; a failure after the first line is a last line {"error":TEXT,"code":N}.
 */

#include "api/handlers.h"
#include "api/nodestream.h"
#include "base/mem.h"
#include "client/frames.h"
#include "kinds/object/objects.h"

enum {
    NAME_SEGMENT = 3, /* index of NODE in /mete.dev/v1/nodes/NODE/images */
    OP_SEGMENT = 5,
    INPUT_HIGH = 512 << 10, /* above this, do not read from the client */
    MESSAGE_MAX = 4096
};

/* ---- lines as a body ---- */

struct reader {
    struct exchange *x;
    struct node_stream *stream;
    size_t owed; /* bytes whose credit waits until the client has taken them */
    bool is_begun;
};

static void reader_begin(struct reader *r)
{
    const struct api_reply head = {.status = 200};

    if (!r->is_begun)
        r->x->ops->begin(r->x, &head);
    r->is_begun = true;
}

static void give_credit(struct reader *r)
{
    size_t owed = r->owed;

    r->owed = 0;
    node_stream_taken(r->stream, owed);
}

static void images_on_data(void *arg, struct str bytes)
{
    struct reader *r = arg;

    reader_begin(r);
    r->x->ops->piece(r->x, bytes);
    r->owed += bytes.size;
    if (r->x->ops->backlog(r->x) < API_BACKLOG_MAX / 2)
        give_credit(r);
}

static void on_drain(void *arg)
{
    give_credit(arg);
}

/* The Status reason of the node's code. */
static const char *reason_of(int code)
{
    switch (code) {
    case 400:
        return "BadRequest";
    case 403:
        return "Forbidden";
    case 404:
        return "NotFound";
    case 409:
        return "Conflict";
    case 422:
        return "Invalid";
    case 503:
        return "ServiceUnavailable";
    case 504:
        return "Timeout";
    case 507:
        return "InsufficientStorage";
    default:
        return "InternalError";
    }
}

static void images_on_end(void *arg, int code, const char *message)
{
    struct reader *r = arg;

    if (code >= 300 && !r->is_begun) {
        AUTO(json_freep) json_t *status = status_new(code, reason_of(code), message, NULL);

        reply_json(r->x, code, status, NULL);
    } else {
        reader_begin(r);
        if (code >= 300) {
            AUTO(json_freep) json_t *line = json_pack("{s:s, s:i}", "error", message, "code", code);
            AUTO_FREE char *text = json_format(line);

            r->x->ops->piece(r->x, str_of(text));
            r->x->ops->piece(r->x, STR("\n"));
        }
        r->x->ops->end(r->x);
    }
    free(r);
}

static void on_close(void *arg)
{
    struct reader *r = arg;

    node_stream_cancel(r->stream);
    free(r);
}

static struct err *images_ask(struct call *c, const json_t *question)
{
    struct reader *r = mem_alloc(sizeof(*r));
    const struct node_stream_options o = {.node = c->name,
                                          .open = question,
                                          .on_data = images_on_data,
                                          .on_end = images_on_end,
                                          .arg = r};
    struct err *e;

    r->x = c->x;
    e = node_stream_open(core_links(c->core), &o, &r->stream);
    if (e) {
        free(r);
        return e;
    }
    r->x->arg = r;
    r->x->on_close = on_close;
    r->x->on_drain = on_drain;
    return NULL;
}

/* ---- an import ---- */

struct importer {
    struct channel *channel;
    struct node_stream *stream;
    struct buf in; /* an incomplete frame */
    size_t owed;
    bool is_paused;
};

static void importer_free(struct importer *m)
{
    buf_done(&m->in);
    free(m);
}

static void send_frame(const struct importer *m, enum frame_type type, struct str payload)
{
    AUTO(buf_done) struct buf b = {0};

    frame_format(&b, 1, type, payload);
    m->channel->ops->write(m->channel, (struct str){b.at, b.size});
}

static void importer_end(struct importer *m, int code, const char *message)
{
    AUTO(json_freep)
    json_t *end = json_pack("{s:i, s:s}", "code", code, "message", message);
    AUTO_FREE char *text = end ? json_format(end) : mem_strdup("{\"code\":500}");

    send_frame(m, FRAME_END, str_of(text));
    m->channel->ops->finish(m->channel);
    importer_free(m);
}

static void on_import_lines(void *arg, struct str bytes)
{
    struct importer *m = arg;

    send_frame(m, FRAME_DATA, bytes);
    m->owed += bytes.size;
    if (m->channel->ops->backlog(m->channel) < API_BACKLOG_MAX / 2) {
        node_stream_taken(m->stream, m->owed);
        m->owed = 0;
    }
}

static void on_import_end(void *arg, int code, const char *message)
{
    importer_end(arg, code, message);
}

static void on_import_sent(void *arg)
{
    struct importer *m = arg;

    if (m->is_paused)
        m->channel->ops->pause(m->channel, false);
    m->is_paused = false;
}

static void on_client_drain(void *arg)
{
    struct importer *m = arg;
    size_t owed = m->owed;

    m->owed = 0;
    node_stream_taken(m->stream, owed);
}

static struct err *images_on_frame(void *arg, const struct frame *f)
{
    const struct importer *m = arg;

    if (f->stream != 1 || (f->type != FRAME_DATA && f->type != FRAME_END))
        return err_new(ERR_BAD_REQUEST, "want frames DATA and END of stream 1");
    if (f->type == FRAME_DATA)
        node_stream_send(m->stream, f->payload);
    else
        node_stream_send_end(m->stream);
    return NULL;
}

static void images_on_client_data(void *arg, struct str bytes)
{
    struct importer *m = arg;
    AUTO(err_freep) struct err *e = NULL;

    buf_add(&m->in, bytes.at, bytes.size);
    e = frames_each(&m->in, images_on_frame, m);
    if (e) {
        node_stream_cancel(m->stream);
        importer_end(m, err_http(e), err_message(e));
    } else if (!m->is_paused && node_stream_backlog(m->stream) >= INPUT_HIGH) {
        m->is_paused = true;
        m->channel->ops->pause(m->channel, true);
    }
}

static void on_client_close(void *arg)
{
    struct importer *m = arg;

    node_stream_cancel(m->stream);
    importer_free(m);
}

static struct err *images_import(struct call *c, const json_t *question)
{
    const char *protocol = request_header(&c->x->request, "upgrade");
    const struct upgrade upgrade = {.protocol = "mete-stream", .may_stand_still = true};
    struct importer *m = NULL;
    struct node_stream_options o = {.node = c->name,
                                    .open = question,
                                    .on_data = on_import_lines,
                                    .on_drain = on_import_sent,
                                    .on_end = on_import_end};
    struct err *e;

    if (!protocol || strcasecmp(protocol, "mete-stream") != 0)
        return err_new(ERR_BAD_REQUEST, "want 'Upgrade: mete-stream'");
    m = mem_alloc(sizeof(*m));
    m->in.cap = (size_t)FRAME_PAYLOAD_MAX * 8;
    o.arg = m;
    e = node_stream_open(core_links(c->core), &o, &m->stream);
    if (e) {
        importer_free(m);
        return e;
    }
    m->channel = c->x->ops->upgrade(c->x, &upgrade);
    m->channel->on_data = images_on_client_data;
    m->channel->on_drain = on_client_drain;
    m->channel->on_close = on_client_close;
    m->channel->arg = m;
    return NULL;
}

/* ---- routes ---- */

struct image_route {
    const char *method;
    const char *word; /* word after images/; NULL: none */
    const char *op;
    enum authz_images right;
    bool wants_name;
};

static const struct image_route image_routes[] = {
    {"GET", NULL, "image-list", AUTHZ_IMAGES_LIST, false},
    {"DELETE", NULL, "image-remove", AUTHZ_IMAGES_CHANGE, true},
    {"POST", "pull", "image-pull", AUTHZ_IMAGES_PULL, true},
    {"POST", "import", "image-import", AUTHZ_IMAGES_CHANGE, false},
    {"POST", "gc", "image-gc", AUTHZ_IMAGES_CHANGE, false},
};

static const struct image_route *find_route(const struct call *c)
{
    const char *word = c->target.n > OP_SEGMENT ? c->target.segments[OP_SEGMENT] : NULL;

    if (c->target.n < OP_SEGMENT)
        return NULL;
    for (size_t i = 0; i < COUNT(image_routes); i++)
        if (text_equal(image_routes[i].method, c->x->request.method) &&
            text_equal(image_routes[i].word, word))
            return &image_routes[i];
    return NULL;
}

struct err *handle_node_images(struct call *c)
{
    const struct image_route *route = find_route(c);
    const char *name = query_get(&c->query, "name");
    AUTO(json_freep) json_t *question = json_object();

    if (!route || c->target.n > OP_SEGMENT + 1 ||
        !text_equal(c->target.segments[OP_SEGMENT - 1], "images"))
        return not_found_path();
    c->name = c->target.segments[NAME_SEGMENT];
    TRY(authz_check_images(&c->who, route->right));
    if (!store_get(core_store(c->core),
                   (struct store_key){.group = "", .resource = "nodes", .ns = "", .name = c->name}))
        return err_new(ERR_NOT_FOUND, "nodes \"%s\" not found", c->name);
    if (route->wants_name && (!name || *name == '\0'))
        return err_new(ERR_BAD_REQUEST, "want the image's name as query parameter 'name'");
    if (name && strlen(name) > MESSAGE_MAX)
        return err_new(ERR_BAD_REQUEST, "the image's name is longer than %d bytes", MESSAGE_MAX);
    json_put_text(question, "op", route->op);
    if (name && *name)
        json_put_text(question, "name", name);
    if (query_bool(&c->query, "all"))
        json_put_bool(question, "all", true);
    return text_equal(route->op, "image-import") ? images_import(c, question)
                                                 : images_ask(c, question);
}
