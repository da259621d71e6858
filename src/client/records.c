/* records.c - formatting and parsing of records */

#include "client/records.h"

#include <assert.h>

void record_format(struct buf *b, enum record_channel channel, struct str bytes)
{
    assert(bytes.size <= RECORD_MAX);
    buf_add_char(b, (char)channel);
    buf_add_u32(b, (uint32_t)bytes.size);
    buf_add(b, bytes.at, bytes.size);
}

void record_format_resize(struct buf *b, uint16_t columns, uint16_t rows)
{
    buf_add_char(b, (char)RECORD_RESIZE);
    buf_add_u32(b, 4);
    buf_add_u32(b, (uint32_t)columns << 16 | rows);
}

void record_format_exit(struct buf *b, int code)
{
    buf_add_char(b, (char)RECORD_EXIT);
    buf_add_u32(b, 4);
    buf_add_u32(b, (uint32_t)code);
}

static struct err *read_numbers(struct record *r)
{
    uint32_t value;

    if (r->channel != RECORD_RESIZE && r->channel != RECORD_EXIT)
        return NULL;
    if (r->bytes.size != 4)
        return err_new(ERR_BAD_REQUEST, "record of channel %d with %zu bytes", (int)r->channel,
                       r->bytes.size);
    value = str_u32(r->bytes.at);
    r->columns = (uint16_t)(value >> 16);
    r->rows = (uint16_t)value;
    r->code = (int)(value & 0xffff);
    return NULL;
}

struct err *record_parse(struct str bytes, struct record *ret, size_t *ret_size)
{
    const unsigned char *at = (const unsigned char *)bytes.at;
    struct record r;
    uint32_t size;

    *ret_size = 0;
    if (bytes.size < RECORD_HEAD_SIZE)
        return NULL;
    size = str_u32(at + 1);
    if (at[0] > RECORD_STDOUT_END)
        return err_new(ERR_BAD_REQUEST, "record of unknown channel %u", (unsigned)at[0]);
    if (size > RECORD_MAX)
        return err_new(ERR_BAD_REQUEST, "record of %u bytes: at most %d are allowed",
                       (unsigned)size, (int)RECORD_MAX);
    if (bytes.size - RECORD_HEAD_SIZE < size)
        return NULL;
    r = (struct record){.channel = (enum record_channel)at[0],
                        .bytes = {.at = bytes.at + RECORD_HEAD_SIZE, .size = size}};
    TRY(read_numbers(&r));
    *ret = r;
    *ret_size = RECORD_HEAD_SIZE + size;
    return NULL;
}

struct err *records_each(struct buf *in, record_fn take, void *arg)
{
    size_t used = 0;

    for (;;) {
        struct record r = {0};
        size_t size = 0;

        TRY(record_parse((struct str){in->at + used, in->size - used}, &r, &size));
        if (size == 0)
            break;
        take(arg, &r);
        used += size;
    }
    buf_consume(in, used);
    return NULL;
}
