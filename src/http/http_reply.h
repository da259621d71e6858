/* http_reply.h - the bytes of a reply */
#pragma once

#include "http/request.h"

/* The form of a reply, which follows from the request. */
struct reply_form {
    bool is_head;
    bool is_http10;
    bool wants_close;
    bool has_length; /* of a stream: its head tells where it ends */
};

void reply_add_whole(struct buf *b, const struct reply_form *f, const struct api_reply *r);
void reply_add_stream_head(struct buf *b, struct reply_form *f, const struct api_reply *r);

/* HTTP/1.0 has no chunks: a stream ends with the connection. */
static inline bool reply_is_chunked(const struct reply_form *f)
{
    return !f->is_http10 && !f->has_length;
}
