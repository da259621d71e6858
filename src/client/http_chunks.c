/* http_chunks.c - the chunks of a body whose input comes in any pieces */

#include "client/http_chunks.h"

#include "base/num.h"

enum {
    TRAILER_MAX = 4096
};

/* Reads "1a" or "1a;extension", the size of the next chunk. */
static struct err *parse_chunk_size(struct http_chunks *c, size_t line_size)
{
    size_t digits = 0;
    size_t size = 0;

    while (digits < line_size && num_hex_digit(c->line[digits]) >= 0) {
        if (digits == 7)
            return err_new(ERR_TOO_LARGE, "chunk is too large");
        size = size * 16 + (size_t)num_hex_digit(c->line[digits++]);
    }
    if (digits == 0 || (digits < line_size && c->line[digits] != ';'))
        return err_new(ERR_BAD_REQUEST, "malformed chunk size");
    c->left = size;
    c->state = size > 0 ? CHUNK_DATA : CHUNK_TRAILER;
    return NULL;
}

static struct err *end_line(struct http_chunks *c)
{
    size_t size = c->line_size;

    if (size == 0 || c->line[size - 1] != '\r')
        return err_new(ERR_BAD_REQUEST, "lines of a chunked body end in CR LF");
    c->line_size = 0;
    if (c->state == CHUNK_SIZE)
        return parse_chunk_size(c, size - 1);
    if (c->state == CHUNK_DATA_END) {
        if (size != 1)
            return err_new(ERR_BAD_REQUEST, "chunk is longer than its size says");
        c->state = CHUNK_SIZE;
        return NULL;
    }
    if (size == 1)
        c->state = CHUNK_DONE;
    return NULL;
}

static struct err *take_line_byte(struct http_chunks *c, char byte)
{
    if (byte == '\n')
        return end_line(c);
    if (c->state == CHUNK_TRAILER) {
        if (++c->trailer_size > TRAILER_MAX)
            return err_new(ERR_BAD_REQUEST, "trailers are longer than %d bytes", (int)TRAILER_MAX);
        /* Trailers are dropped; of each line only matters whether it is empty (one CR) and whether
         * it ends with CR. */
        if (c->line_size < 2)
            c->line[c->line_size++] = byte;
        else
            c->line[1] = byte;
        return NULL;
    }
    if (c->line_size == sizeof(c->line))
        return err_new(ERR_BAD_REQUEST, "chunk size line is longer than %zu bytes",
                       sizeof(c->line));
    c->line[c->line_size++] = byte;
    return NULL;
}

struct err *http_chunks_read(struct http_chunks *c, struct str in, struct buf *body,
                             size_t *ret_used)
{
    size_t used = 0;

    while (used < in.size && c->state != CHUNK_DONE) {
        size_t size;

        if (c->state != CHUNK_DATA) {
            TRY(take_line_byte(c, in.at[used++]));
            continue;
        }
        size = in.size - used < c->left ? in.size - used : c->left;
        buf_add(body, in.at + used, size);
        if (body->overflow)
            return err_new(ERR_TOO_LARGE, "body is larger than %zu bytes", body->cap);
        used += size;
        c->left -= size;
        if (c->left == 0)
            c->state = CHUNK_DATA_END;
    }
    *ret_used = used;
    return NULL;
}
