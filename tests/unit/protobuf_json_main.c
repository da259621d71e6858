/*
 * protobuf_json_main.c - protobuf bodies on stdin as JSON on stdout, for comparing with what other
 * encoders write
 *
 * A size of four bytes, little endian, precedes each text.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "kinds/kind/kind.h"

/* False at the end of the input. */
static bool body_read(struct buf *body)
{
    uint8_t head[4];
    size_t size;

    if (fread(head, 1, sizeof(head), stdin) != sizeof(head))
        return false;
    size = (size_t)head[0] | (size_t)head[1] << 8 | (size_t)head[2] << 16 | (size_t)head[3] << 24;
    buf_clear(body);
    for (size_t i = 0; i < size; i++) {
        int c = getchar();

        if (c == EOF)
            return false;
        buf_add_char(body, (char)c);
    }
    return true;
}

static void text_write(const char *text)
{
    size_t size = strlen(text);

    for (unsigned shift = 0; shift < 32; shift += 8)
        (void)putchar((int)(size >> shift & 0xff));
    (void)fwrite(text, 1, size, stdout); /* the reader counts */
}

int main(void)
{
    AUTO(buf_done) struct buf body = {0};

    while (body_read(&body)) {
        AUTO(json_freep) json_t *object = NULL;
        AUTO(err_freep)
        struct err *e = protobuf_decode((struct str){body.at, body.size}, &object);
        AUTO_FREE char *text = e ? mem_strdup(err_message(e)) : json_format(object);

        text_write(text);
    }
    return EXIT_SUCCESS;
}
