/* image_streams.c - image operations of the reverse stream */

#include "node/image/image_streams.h"

#include "base/map.h"
#include "base/mem.h"
#include "base/stamp.h"
#include "client/frames.h"

enum {
    STREAMS_MAX = 64,
    PROGRESS_BACKLOG_MAX = 64 << 10, /* then a slow reader misses lines */
    IMPORT_BACKLOG_MAX = 1 << 20
};

struct image_streams {
    struct images *images;
    const struct stream_out *out;
    struct image_stream *all;
    uint64_t last_serial;
};

struct image_stream {
    struct map_handle handle;
    struct image_streams *set;
    uint32_t id;
    uint64_t serial; /* a later stream may reuse the id */
    struct image_import *import;
    struct image_pulling *pulling;
    uint32_t owed; /* bytes of an import whose credit is not yet returned */
    struct lane lane;
    bool is_over;
    int code;
    char *message;
};

/* The stream of a request that cannot be cancelled. */
struct asked {
    struct image_streams *set;
    uint32_t id;
    uint64_t serial;
};

/* ---- the end of a stream ---- */

static struct image_stream *image_stream_find(const struct image_streams *set, uint32_t id)
{
    struct image_stream *s = NULL;

    map_find(handle, set->all, &id, sizeof(id), s);
    return s;
}

static void image_stream_free(struct image_stream *s)
{
    map_remove(handle, s->set->all, s);
    if (s->import)
        image_import_cancel(s->import);
    if (s->pulling)
        image_pull_forget(s->pulling);
    buf_done(&s->lane.out);
    free(s->message);
    free(s);
}

/* Sends as much as credit allows; the stream may be dead afterwards. */
static void image_stream_flush(struct image_stream *s)
{
    const struct stream_out *out = s->set->out;

    if (stream_out_flush(out, s->id, &s->lane) && s->is_over) {
        uint32_t id = s->id;
        int code = s->code;
        AUTO_FREE char *message = TAKE(s->message);

        image_stream_free(s);
        out->end(out->arg, id, code, message);
    }
}

static void image_stream_finish(struct image_stream *s, const struct err *e)
{
    s->is_over = true;
    s->code = e ? err_http(e) : 200;
    s->message = mem_strdup(e ? err_message(e) : "");
    image_stream_flush(s);
}

static void add_line(struct image_stream *s, json_t *j)
{
    json_add(&s->lane.out, j);
    buf_add_char(&s->lane.out, '\n');
    json_decref(j);
}

/* ---- answers ---- */

static void answer_list(struct image_stream *s)
{
    const struct images *images = s->set->images;
    size_t n = 0;
    const struct image *const *list = images_list(images, &n);
    json_t *answer = json_object();
    json_t *items = json_array_at(answer, "images");

    for (size_t i = 0; i < n; i++) {
        json_t *item = json_object();
        char stamp[STAMP_TEXT_SIZE];

        stamp_format(list[i]->used_ns, stamp);
        json_put_text(item, "id", list[i]->id);
        json_put(item, "names", json_deep_copy(list[i]->names));
        json_put_int(item, "sizeBytes", list[i]->size_bytes);
        json_put_text(item, "usedAt", stamp);
        json_put_int(item, "pods", (int64_t)images_uses(images, list[i]->id));
        (void)json_array_append_new(items, item);
    }
    add_line(s, answer);
    image_stream_finish(s, NULL);
}

static void image_streams_on_progress(void *arg, const char *line)
{
    struct image_stream *s = arg;

    if (s->lane.out.size > PROGRESS_BACKLOG_MAX)
        return;
    add_line(s, json_pack("{s:s}", "progress", line));
    image_stream_flush(s);
}

static void on_image(void *arg, const struct err *e, const char *id)
{
    struct image_stream *s = arg;
    const struct image *m = e ? NULL : images_find(s->set->images, id);
    json_t *answer = NULL;

    s->import = NULL;
    s->pulling = NULL;
    if (!e) {
        answer = json_object();
        json_put_text(answer, "id", id);
        if (m)
            json_put(answer, "names", json_deep_copy(m->names));
        add_line(s, answer);
    }
    image_stream_finish(s, e);
}

static struct image_stream *take_asked(struct asked *a)
{
    struct image_stream *s = image_stream_find(a->set, a->id);

    if (s && s->serial != a->serial)
        s = NULL;
    free(a);
    return s;
}

static void on_image_removed(void *arg, const struct err *e, const char *id)
{
    struct image_stream *s = take_asked(arg);

    if (!s)
        return;
    if (!e)
        add_line(s, json_pack("{s:s}", "id", id));
    image_stream_finish(s, e);
}

static void on_collected(void *arg, const struct err *e, size_t n, int64_t bytes)
{
    struct image_stream *s = take_asked(arg);

    if (!s)
        return;
    if (!e)
        add_line(
            s, json_pack("{s:I, s:I}", "removed", (json_int_t)n, "freedBytes", (json_int_t)bytes));
    image_stream_finish(s, e);
}

/* ---- imports ---- */

static void image_stream_give_credit(struct image_stream *s)
{
    const struct stream_out *out = s->set->out;
    uint32_t owed = s->owed;

    if (owed == 0 || (s->import && image_import_backlog(s->import) > IMPORT_BACKLOG_MAX))
        return;
    s->owed = 0;
    out->taken(out->arg, s->id, owed);
}

static void on_drain(void *arg)
{
    image_stream_give_credit(arg);
}

static void image_streams_on_data(void *self, uint32_t id, struct str bytes)
{
    struct image_stream *s = image_stream_find(self, id);

    if (!s)
        return;
    if (s->import)
        image_import_data(s->import, bytes);
    s->owed += (uint32_t)bytes.size;
    image_stream_give_credit(s);
}

static void on_image_stream_end(void *self, uint32_t id)
{
    struct image_stream *s = image_stream_find(self, id);

    if (s && s->import)
        image_import_end(s->import);
}

/* ---- requests ---- */

static struct asked *asked_new(const struct image_stream *s)
{
    struct asked *a = mem_alloc(sizeof(*a));

    *a = (struct asked){.set = s->set, .id = s->id, .serial = s->serial};
    return a;
}

static void image_stream_begin(struct image_stream *s, const json_t *question)
{
    struct images *images = s->set->images;
    const char *op = json_text(question, "op");
    const char *name = json_text(question, "name");
    const struct image_pull how = {
        .name = name, .progress = image_streams_on_progress, .done = on_image, .arg = s};

    if (text_equal(op, "image-list")) {
        answer_list(s);
    } else if (text_equal(op, "image-import")) {
        s->import = images_import(images, name, &how);
        image_import_on_drain(s->import, on_drain, s);
    } else if (text_equal(op, "image-gc")) {
        images_gc(images, json_bool(question, "all", false), on_collected, asked_new(s));
    } else if (!name) {
        AUTO(err_freep) struct err *e = err_new(ERR_BAD_REQUEST, "no image is named");

        image_stream_finish(s, e);
    } else if (text_equal(op, "image-remove")) {
        images_remove(images, name, on_image_removed, asked_new(s));
    } else {
        images_pull(images, &how, &s->pulling);
    }
}

static void image_streams_on_open(void *self, uint32_t id, const json_t *question)
{
    struct image_streams *set = self;
    struct image_stream *s;

    if (map_count(handle, set->all) >= STREAMS_MAX) {
        set->out->end(set->out->arg, id, 503, "too many questions about images at once");
        return;
    }
    s = mem_alloc(sizeof(*s));
    *s = (struct image_stream){
        .set = set, .id = id, .serial = ++set->last_serial, .lane = lane_new()};
    map_add(handle, set->all, &s->id, sizeof(s->id), s);
    image_stream_begin(s, question);
}

static void on_credit(void *self, uint32_t id, uint32_t bytes)
{
    struct image_stream *s = image_stream_find(self, id);

    if (!s)
        return;
    lane_take_credit(&s->lane, bytes);
    image_stream_flush(s);
}

static void on_cancel(void *self, uint32_t id)
{
    struct image_stream *s = image_stream_find(self, id);

    if (s)
        image_stream_free(s);
}

static void image_streams_on_drained(void *self)
{
    struct image_streams *set = self;
    struct image_stream *s = NULL;
    struct image_stream *next = NULL;

    map_each (handle, set->all, s, next)
        image_stream_flush(s);
}

static void on_cancel_all(void *self)
{
    struct image_streams *set = self;
    struct image_stream *s = NULL;
    struct image_stream *next = NULL;

    map_each (handle, set->all, s, next)
        image_stream_free(s);
}

/* ---- start and end ---- */

struct image_streams *image_streams_new(struct images *i, const struct stream_out *out)
{
    struct image_streams *set = mem_alloc(sizeof(*set));

    *set = (struct image_streams){.images = i, .out = out};
    return set;
}

void image_streams_free(struct image_streams *set)
{
    if (!set)
        return;
    on_cancel_all(set);
    free(set);
}

struct stream_service image_streams_service(struct image_streams *set)
{
    static const char *const ops[] = {"image-list",   "image-import", "image-pull",
                                      "image-remove", "image-gc",     NULL};

    return (struct stream_service){.ops = ops,
                                   .open = image_streams_on_open,
                                   .data = image_streams_on_data,
                                   .end = on_image_stream_end,
                                   .credit = on_credit,
                                   .cancel = on_cancel,
                                   .drained = image_streams_on_drained,
                                   .cancel_all = on_cancel_all,
                                   .self = set};
}
