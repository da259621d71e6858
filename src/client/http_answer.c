/* http_answer.c - the head of an answer, the framing of its body, the texts of its warnings */

#include "client/http_answer.h"

#include <strings.h>

#include "base/mem.h"
#include "base/num.h"

enum {
    HEAD_MAX = 65536,
    STATUS_SWITCHING = 101,
    STATUS_NO_CONTENT = 204,
    STATUS_NOT_MODIFIED = 304
};

static struct err *no_http(void)
{
    return err_new(ERR_UNAVAILABLE, "the server does not speak HTTP");
}

/* The value of header `name` of `line`; NULL: another header. */
static const char *value_of(const char *line, const char *name)
{
    size_t size = strlen(name);

    if (strncasecmp(line, name, size) != 0 || line[size] != ':')
        return NULL;
    line += size + 1;
    return line + strspn(line, " \t");
}

/* Adds the text of `299 - "text"`, without its backslashes. */
static void add_warning(struct buf *warnings, const char *value)
{
    const char *at = strchr(value, '"');

    if (!at)
        return;
    if (warnings->size > 0)
        buf_add_char(warnings, '\n');
    for (at++; *at && *at != '"'; at++) {
        if (*at == '\\' && at[1])
            at++;
        buf_add_char(warnings, *at);
    }
}

static struct err *take_header(struct http_answer *a, const char *line, bool *has_length)
{
    const char *length = value_of(line, "Content-Length");
    const char *coding = value_of(line, "Transfer-Encoding");
    const char *warning = value_of(line, "Warning");
    AUTO(err_freep) struct err *e = NULL;

    if (warning)
        add_warning(&a->warnings, warning);
    if (a->keeps_headers)
        buf_printf(&a->headers, "%s\r\n", line);
    if (coding && strcasecmp(coding, "chunked") != 0)
        return err_new(ERR_UNAVAILABLE, "the server's answer has the transfer-encoding \"%s\"",
                       coding);
    a->is_chunked = a->is_chunked || coding;
    if (!length)
        return NULL;
    e = num_parse_int64(str_of(length), 0, INT64_MAX, &a->left);
    if (e || *has_length)
        return err_new(ERR_UNAVAILABLE, "the server's answer has a wrong content-length");
    *has_length = true;
    return NULL;
}

/* Reads the status line: "HTTP/1.1 200 OK". */
static struct err *take_status(struct http_answer *a, const char *line)
{
    struct str rest = str_of(line);
    int64_t status = 0;
    AUTO(err_freep) struct err *e = NULL;

    (void)str_cut(&rest, ' ');
    if (!text_starts_with(line, "HTTP/1.") || !rest.at)
        return no_http();
    e = num_parse_int64(str_cut(&rest, ' '), 100, 599, &status);
    if (e)
        return no_http();
    a->status = (int)status;
    return NULL;
}

/* `text` is the head without its empty line; the function cuts it up. */
static struct err *take_lines(struct http_answer *a, char *text)
{
    bool has_length = false;
    bool is_first = true;

    a->left = -1;
    while (text) {
        char *end = strstr(text, "\r\n");

        if (end)
            *end = '\0';
        TRY(is_first ? take_status(a, text) : take_header(a, text, &has_length));
        is_first = false;
        text = end ? end + 2 : NULL;
    }
    return NULL;
}

static struct err *begin_body(struct http_answer *a)
{
    if (a->status < 200 && a->status != STATUS_SWITCHING) { /* an interim answer */
        buf_clear(&a->warnings);
        buf_clear(&a->headers);
        a->status = 0;
        a->is_chunked = false;
        return NULL;
    }
    if (a->status == STATUS_SWITCHING && a->takes_upgrade) {
        a->is_chunked = false;
        a->left = -1;
        a->state = ANSWER_BODY;
        return NULL;
    }
    if (a->status == STATUS_NO_CONTENT || a->status == STATUS_NOT_MODIFIED ||
        a->status == STATUS_SWITCHING || a->is_of_head || (!a->is_chunked && a->left == 0))
        a->state = ANSWER_OVER;
    else
        a->state = ANSWER_BODY;
    return NULL;
}

/* Takes bytes of `*in` up to the end of the head. */
static struct err *read_head(struct http_answer *a, struct str *in)
{
    size_t before = a->head.size;
    size_t from = before > 3 ? before - 3 : 0;
    const char *end;
    size_t size;
    struct err *e;

    a->head.cap = HEAD_MAX;
    buf_add(&a->head, in->at, in->size < HEAD_MAX - before ? in->size : HEAD_MAX - before);
    end = memmem(a->head.at + from, a->head.size - from, "\r\n\r\n", 4);
    if (!end && a->head.size == HEAD_MAX)
        return err_new(ERR_UNAVAILABLE, "the head of the server's answer is too long");
    if (!end) {
        in->size = 0;
        return NULL;
    }
    size = (size_t)(end - a->head.at) + 4;
    a->head.at[size - 4] = '\0';
    if (strlen(a->head.at) != size - 4)
        return no_http(); /* the head contains a NUL byte */
    e = take_lines(a, a->head.at);
    buf_clear(&a->head);
    if (e)
        return e;
    in->at += size - before;
    in->size -= size - before;
    return begin_body(a);
}

static struct err *too_large(const struct buf *body)
{
    return err_new(ERR_TOO_LARGE, "the answer has more than %zu bytes", body->cap);
}

static struct err *read_body(struct http_answer *a, struct str in, struct buf *body)
{
    size_t size = in.size;
    size_t used = 0;

    if (a->is_chunked) {
        struct err *e = http_chunks_read(&a->chunks, in, body, &used);
        AUTO(err_freep) struct err *why = e;

        if (body->overflow)
            return too_large(body);
        if (e)
            return err_new(ERR_UNAVAILABLE, "the server's answer: %s", err_message(e));
        a->state = a->chunks.state == CHUNK_DONE ? ANSWER_OVER : ANSWER_BODY;
        return NULL;
    }
    if (a->left >= 0 && (int64_t)size > a->left)
        size = (size_t)a->left;
    buf_add(body, in.at, size);
    if (body->overflow)
        return too_large(body);
    if (a->left >= 0)
        a->left -= (int64_t)size;
    a->state = a->left == 0 ? ANSWER_OVER : ANSWER_BODY;
    return NULL;
}

struct err *http_answer_read(struct http_answer *a, struct str in, struct buf *body)
{
    while (a->state == ANSWER_HEAD && in.size > 0)
        TRY(read_head(a, &in));
    return a->state == ANSWER_BODY && in.size > 0 ? read_body(a, in, body) : NULL;
}

struct err *http_answer_end(struct http_answer *a)
{
    if (a->state == ANSWER_BODY && !a->is_chunked && a->left < 0)
        a->state = ANSWER_OVER;
    if (a->state == ANSWER_OVER)
        return NULL;
    return err_new(ERR_UNAVAILABLE, a->state == ANSWER_HEAD
                                        ? "the server closed the connection without an answer"
                                        : "the server closed the connection within its answer");
}

void http_answer_done(struct http_answer *a)
{
    buf_done(&a->head);
    buf_done(&a->warnings);
    buf_done(&a->headers);
}
