/* http_reply.c - status lines, headers and warnings of replies */

#include "http/http_reply.h"

enum {
    WARNINGS_MAX = 32,
    WARNING_SIZE_MAX = 256
};

static const char *status_phrase(int status)
{
    static const struct {
        int status;
        const char *phrase;
    } phrases[] = {
        {200, "OK"},
        {201, "Created"},
        {202, "Accepted"},
        {204, "No Content"},
        {206, "Partial Content"},
        {301, "Moved Permanently"},
        {302, "Found"},
        {303, "See Other"},
        {304, "Not Modified"},
        {307, "Temporary Redirect"},
        {308, "Permanent Redirect"},
        {400, "Bad Request"},
        {401, "Unauthorized"},
        {403, "Forbidden"},
        {404, "Not Found"},
        {405, "Method Not Allowed"},
        {406, "Not Acceptable"},
        {408, "Request Timeout"},
        {409, "Conflict"},
        {410, "Gone"},
        {413, "Content Too Large"},
        {415, "Unsupported Media Type"},
        {422, "Unprocessable Content"},
        {429, "Too Many Requests"},
        {431, "Request Header Fields Too Large"},
        {500, "Internal Server Error"},
        {501, "Not Implemented"},
        {502, "Bad Gateway"},
        {503, "Service Unavailable"},
        {504, "Gateway Timeout"},
        {507, "Insufficient Storage"},
    };

    for (size_t i = 0; i < COUNT(phrases); i++) {
        if (phrases[i].status == status)
            return phrases[i].phrase;
    }
    return "Unknown";
}

/* Adds a quoted string (RFC 9110): the text may contain any bytes of a client. */
static void add_quoted(struct buf *b, const char *text)
{
    size_t n = 0;

    buf_add_char(b, '"');
    for (const char *at = text; *at && n < WARNING_SIZE_MAX; at++, n++) {
        if (*at == '"' || *at == '\\')
            buf_add_char(b, '\\');
        if ((unsigned char)*at < 0x20 || *at == 0x7f)
            buf_add_char(b, ' ');
        else
            buf_add_char(b, *at);
    }
    buf_add_char(b, '"');
}

static void add_warnings(struct buf *b, const json_t *warnings)
{
    size_t n = json_array_size(warnings);

    for (size_t i = 0; i < n && i < WARNINGS_MAX; i++) {
        const char *text = json_string_value(json_array_get(warnings, i));

        buf_add_text(b, "Warning: 299 - ");
        add_quoted(b, text ? text : "");
        buf_add_text(b, "\r\n");
    }
}

static void add_head(struct buf *b, const struct reply_form *f, const struct api_reply *r)
{
    buf_printf(b, "HTTP/1.1 %d %s\r\nContent-Type: %s\r\nCache-Control: %s\r\n", r->status,
               status_phrase(r->status), r->content_type ? r->content_type : "application/json",
               r->cache ? r->cache : "no-cache, private");
    buf_add_text(b, "X-Content-Type-Options: nosniff\r\n");
    if (r->allow)
        buf_printf(b, "Allow: %s\r\n", r->allow);
    if (r->headers)
        buf_add_text(b, r->headers);
    if (r->retry_after_s > 0)
        buf_printf(b, "Retry-After: %d\r\n", r->retry_after_s);
    if (r->status == 401)
        buf_add_text(b, "WWW-Authenticate: Bearer realm=\"mete\"\r\n");
    if (f->wants_close)
        buf_add_text(b, "Connection: close\r\n");
    add_warnings(b, r->warnings);
}

void reply_add_whole(struct buf *b, const struct reply_form *f, const struct api_reply *r)
{
    add_head(b, f, r);
    if (r->status != 304) /* its length would be that of the client's copy */
        buf_printf(b, "Content-Length: %zu\r\n", r->body.size);
    buf_add_text(b, "\r\n");
    if (!f->is_head)
        buf_add(b, r->body.at, r->body.size);
}

static void add_foreign_head(struct buf *b, const struct reply_form *f, const struct api_reply *r)
{
    buf_printf(b, "HTTP/1.1 %d %s\r\n%s", r->status, status_phrase(r->status),
               text_or_empty(r->headers));
    if (f->wants_close)
        buf_add_text(b, "Connection: close\r\n");
}

void reply_add_stream_head(struct buf *b, struct reply_form *f, const struct api_reply *r)
{
    f->has_length = r->is_foreign && r->has_length;
    if (!reply_is_chunked(f))
        f->wants_close = f->wants_close || !f->has_length;
    if (r->is_foreign)
        add_foreign_head(b, f, r);
    else
        add_head(b, f, r);
    if (reply_is_chunked(f))
        buf_add_text(b, "Transfer-Encoding: chunked\r\n");
    buf_add_text(b, "\r\n");
}
