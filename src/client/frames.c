/* frames.c - formatting and parsing of frames */

#include "client/frames.h"

#include <assert.h>

static void put_u32(unsigned char *at, uint32_t value)
{
    at[0] = (unsigned char)(value >> 24);
    at[1] = (unsigned char)(value >> 16);
    at[2] = (unsigned char)(value >> 8);
    at[3] = (unsigned char)value;
}

static uint32_t get_u32(const unsigned char *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | (uint32_t)at[3];
}

void frame_format(struct buf *b, uint32_t stream, enum frame_type type, struct str payload)
{
    unsigned char head[FRAME_HEAD_SIZE];

    assert(payload.size <= FRAME_PAYLOAD_MAX);
    put_u32(head, (uint32_t)payload.size);
    put_u32(head + 4, stream);
    head[8] = (unsigned char)type;
    buf_add(b, head, sizeof(head));
    buf_add(b, payload.at, payload.size);
}

void frame_format_credit(struct buf *b, uint32_t stream, uint32_t bytes)
{
    unsigned char credit[4];

    put_u32(credit, bytes);
    frame_format(b, stream, FRAME_CREDIT, (struct str){(const char *)credit, sizeof(credit)});
}

struct err *frame_read_credit(struct str payload, uint32_t *ret)
{
    if (payload.size != 4)
        return err_new(ERR_BAD_REQUEST, "credit of %zu bytes", payload.size);
    *ret = get_u32((const unsigned char *)payload.at);
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
    size = get_u32(head);
    if (size > FRAME_PAYLOAD_MAX)
        return err_new(ERR_BAD_REQUEST, "frame of %u bytes: at most %d are allowed", (unsigned)size,
                       (int)FRAME_PAYLOAD_MAX);
    if (head[8] < FRAME_OPEN || head[8] > FRAME_CANCEL)
        return err_new(ERR_BAD_REQUEST, "frame of unknown type %u", (unsigned)head[8]);
    if (bytes.size - FRAME_HEAD_SIZE < size)
        return NULL;
    *ret = (struct frame){.stream = get_u32(head + 4),
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
