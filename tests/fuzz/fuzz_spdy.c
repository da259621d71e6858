/*
 * fuzz_spdy.c - fuzzes the server's SPDY session with a client's bytes, in any pieces
 *
 * The server answers, resets and ends streams meanwhile. Its output must be whole frames.
 */

#include <stdint.h>
#include <stdlib.h>

#include "client/spdy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct door {
    struct spdy *server;
    size_t n_streams;
};

/* The session's output is SPDY: each send is a whole frame. */
static void on_send(void *arg, struct str bytes)
{
    const unsigned char *at = (const unsigned char *)bytes.at;

    (void)arg;
    if (bytes.size < 8 ||
        bytes.size != 8 + ((size_t)at[5] << 16 | (size_t)at[6] << 8 | (size_t)at[7]))
        abort();
}

static void on_opened(void *arg, uint32_t stream, const struct spdy_header *headers, size_t n)
{
    struct door *d = arg;
    const char *what = spdy_header_get(headers, n, "streamtype");

    if (n > SPDY_HEADERS_MAX)
        abort();
    d->n_streams++;
    if (what && *what == 'r')
        spdy_reset(d->server, stream, SPDY_REFUSED_STREAM);
    else
        spdy_reply(d->server, stream);
    spdy_send(d->server, stream, STR("an answer"));
}

static void on_data(void *arg, uint32_t stream, struct str bytes)
{
    struct door *d = arg;

    spdy_send(d->server, stream, bytes);
    spdy_taken(d->server, stream, bytes.size);
}

static void on_ended(void *arg, uint32_t stream)
{
    spdy_end(((struct door *)arg)->server, stream);
}

static void on_reset(void *arg, uint32_t stream)
{
    struct door *d = arg;

    spdy_send(d->server, stream, STR("nobody hears it"));
    if (spdy_backlog(d->server, stream) > 0)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct door d = {0};
    const struct spdy_options server = {.send = on_send,
                                        .opened = on_opened,
                                        .data = on_data,
                                        .ended = on_ended,
                                        .reset = on_reset,
                                        .arg = &d};
    size_t piece = size > 0 ? (size_t)data[0] + 1 : 1;

    d.server = spdy_new(&server);
    for (size_t at = 1; at < size; at += piece) {
        size_t n = size - at < piece ? size - at : piece;
        AUTO(err_freep)
        struct err *e = spdy_take(d.server, (struct str){(const char *)data + at, n});

        if (e)
            break;
    }
    spdy_ping(d.server);
    spdy_go_away(d.server);
    spdy_free(d.server);
    return 0;
}
