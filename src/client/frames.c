/* frames.c - formatting and parsing of frames */

#include "client/frames.h"

#include <assert.h>

void frame_format(struct buf *b, uint32_t stream, enum frame_type type, struct str payload)
{
    assert(payload.size <= FRAME_PAYLOAD_MAX);
    buf_add_u32(b, (uint32_t)payload.size);
    buf_add_u32(b, stream);
    buf_add_char(b, (char)type);
    buf_add(b, payload.at, payload.size);
}

void frame_format_credit(struct buf *b, uint32_t stream, uint32_t bytes)
{
    AUTO(buf_done) struct buf credit = {0};

    buf_add_u32(&credit, bytes);
    frame_format(b, stream, FRAME_CREDIT, (struct str){credit.at, credit.size});
}

struct err *frame_read_credit(struct str payload, uint32_t *ret)
{
    if (payload.size != 4)
        return err_new(ERR_BAD_REQUEST, "credit of %zu bytes", payload.size);
    *ret = str_u32(payload.at);
    return NULL;
}

struct err *frame_parse(struct str bytes, struct frame *ret, size_t *ret_size)
{
    unsigned char head[FRAME_HEAD_SIZE];
    uint32_t size;

    *ret_size = 0;
    if (bytes.size < FRAME_HEAD_SIZE)
        return NULL;
    memcpy(head, bytes.at, sizeof(head));
    size = str_u32(head);
    if (size > FRAME_PAYLOAD_MAX)
        return err_new(ERR_BAD_REQUEST, "frame of %u bytes: at most %d are allowed", (unsigned)size,
                       (int)FRAME_PAYLOAD_MAX);
    if (head[8] < FRAME_OPEN || head[8] > FRAME_CANCEL)
        return err_new(ERR_BAD_REQUEST, "frame of unknown type %u", (unsigned)head[8]);
    if (bytes.size - FRAME_HEAD_SIZE < size)
        return NULL;
    *ret = (struct frame){.stream = str_u32(head + 4),
                          .type = (enum frame_type)head[8],
                          .payload = {.at = bytes.at + FRAME_HEAD_SIZE, .size = size}};
    *ret_size = FRAME_HEAD_SIZE + size;
    return NULL;
}

struct err *frames_each(struct buf *in, frame_fn take, void *arg)
{
    size_t used = 0;

    for (;;) {
        struct frame f = {0};
        size_t size = 0;

        TRY(frame_parse((struct str){in->at + used, in->size - used}, &f, &size));
        if (size == 0)
            break;
        TRY(take(arg, &f));
        used += size;
    }
    buf_consume(in, used);
    return NULL;
}
