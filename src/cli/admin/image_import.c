/* image_import.c - mete image import: the upload of an archive over the API's stream */

#include "base/mem.h"
#include "cli/admin/image.h"
#include "cli/term/progress.h"
#include "client/frames.h"
#include "client/stream.h"

enum {
    BACKLOG_MAX = 512 << 10
};

struct sending {
    struct session *session;
    struct stream *stream;
    struct image_reader *reader;
    struct image_lines lines;
    struct buf in; /* an incomplete frame */
    struct err *failure;
    bool is_sent;
    bool is_over; /* the answer has ended */
};

static void send_frame(const struct sending *m, enum frame_type type, struct str payload)
{
    AUTO(buf_done) struct buf b = {0};

    frame_format(&b, 1, type, payload);
    stream_send(m->stream, (struct str){b.at, b.size});
}

static void sending_stop(struct sending *m, struct err *e)
{
    if (m->failure)
        err_free(e);
    else
        m->failure = e;
    m->is_over = true;
    session_stop(m->session);
}

/* Sends as much as this process may buffer. */
static void send_some(void *arg)
{
    struct sending *m = arg;

    while (!m->is_sent && !m->is_over && stream_backlog(m->stream) < BACKLOG_MAX) {
        AUTO(buf_done) struct buf piece = {0};
        struct err *e = image_reader_next(m->reader, &piece);
        struct str rest = {piece.at, piece.size};

        if (e) {
            sending_stop(m, e);
            return;
        }
        m->is_sent = piece.size == 0;
        while (rest.size > 0) {
            size_t size = rest.size < FRAME_PAYLOAD_MAX ? rest.size : FRAME_PAYLOAD_MAX;

            send_frame(m, FRAME_DATA, (struct str){rest.at, size});
            rest = (struct str){rest.at + size, rest.size - size};
        }
    }
    if (m->is_sent && !m->is_over)
        send_frame(m, FRAME_END, STR("{\"code\":200}"));
}

static void on_drain(void *arg)
{
    struct sending *m = arg;

    if (!m->is_sent)
        send_some(m);
}

static struct err *take_end(struct sending *m, const struct frame *f)
{
    AUTO(json_freep) json_t *end = NULL;
    int64_t code;

    TRY(json_parse(f->payload, &end));
    code = json_int(end, "code", 500);
    m->is_over = true;
    if (code >= 300) {
        json_decref(m->lines.last);
        m->lines.last = json_pack("{s:s, s:I}", "error",
                                  json_text(end, "message") ? json_text(end, "message") : "",
                                  "code", (json_int_t)code);
    }
    session_stop(m->session);
    return NULL;
}

static struct err *image_import_on_frame(void *arg, const struct frame *f)
{
    struct sending *m = arg;

    if (!m->is_over && f->type == FRAME_DATA)
        image_lines_take(&m->lines, f->payload);
    return !m->is_over && f->type == FRAME_END ? take_end(m, f) : NULL;
}

static void image_import_on_data(void *arg, struct str piece)
{
    struct sending *m = arg;
    struct err *e;

    buf_add(&m->in, piece.at, piece.size);
    e = frames_each(&m->in, image_import_on_frame, m);
    if (e)
        sending_stop(m, e);
}

static void image_import_on_close(void *arg, const struct err *e)
{
    struct sending *m = arg;

    if (m->is_over)
        return;
    sending_stop(m, e ? err_new(err_code(e), "%s", err_message(e))
                      : err_new(ERR_UNAVAILABLE, "the server closed the connection: try again"));
}

static struct err *sending_run(struct sending *m, const char *path)
{
    const struct stream_options o = {.path = path,
                                     .on_open = send_some,
                                     .on_data = image_import_on_data,
                                     .on_drain = on_drain,
                                     .on_close = image_import_on_close,
                                     .arg = m};

    TRY(client_upgrade(session_client(m->session), &o, &m->stream));
    TRY(session_run(m->session));
    return m->failure ? session_explain(m->session, TAKE(m->failure)) : NULL;
}

struct err *image_send(struct cli *c, struct session *s, const char *path, const char *file,
                       json_t **ret)
{
    struct sending m = {.session = s};
    struct err *e = image_reader_open(file, &m.reader);

    if (e)
        return e;
    image_lines_init(&m.lines, c, s, "image");
    progress_phase(m.lines.progress, "sending", "");
    e = sending_run(&m, path);
    if (!e)
        e = image_lines_result(&m.lines, ret);
    stream_free(m.stream);
    image_lines_done(&m.lines);
    image_reader_free(m.reader);
    buf_done(&m.in);
    err_free(m.failure);
    return e;
}
