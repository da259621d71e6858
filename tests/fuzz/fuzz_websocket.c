/*
 * fuzz_websocket.c - fuzzes the server's WebSocket with a client's bytes, in any pieces; then the
 * records of a node
 *
 * The server's answers must be well-formed.
 */

#include <stdint.h>
#include <stdlib.h>

#include "client/records.h"
#include "client/websocket.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct pair {
    struct websocket *client;
    bool is_answered_badly;
};

static void on_message(void *arg, struct str bytes)
{
    (void)arg;
    if (bytes.size > WEBSOCKET_MESSAGE_MAX)
        abort();
}

static void on_client_send(void *arg, struct str bytes)
{
    (void)arg;
    (void)bytes;
}

/* The server's answers are WebSocket frames. */
static void on_server_send(void *arg, struct str bytes)
{
    struct pair *p = arg;
    AUTO(err_freep) struct err *e = NULL;

    if (websocket_is_closed(p->client))
        return;
    e = websocket_take(p->client, bytes);
    p->is_answered_badly = p->is_answered_badly || e;
}

static void feed_socket(const uint8_t *data, size_t size, size_t piece)
{
    struct pair p = {0};
    const struct websocket_options client = {
        .is_client = true, .send = on_client_send, .message = on_message};
    const struct websocket_options server = {
        .send = on_server_send, .message = on_message, .arg = &p};
    struct websocket *w = NULL;

    p.client = websocket_new(&client);
    w = websocket_new(&server);
    for (size_t at = 0; at < size; at += piece) {
        size_t n = size - at < piece ? size - at : piece;
        AUTO(err_freep)
        struct err *e = websocket_take(w, (struct str){(const char *)data + at, n});

        if (e || websocket_is_closed(w))
            break;
    }
    websocket_close(w, 1000);
    if (p.is_answered_badly)
        abort();
    websocket_free(w);
    websocket_free(p.client);
}

static void feed_records(const uint8_t *data, size_t size)
{
    size_t at = 0;

    for (;;) {
        struct record r = {0};
        size_t used = 0;
        AUTO(err_freep)
        struct err *e = record_parse((struct str){(const char *)data + at, size - at}, &r, &used);

        if (e || used == 0)
            break;
        if (used > size - at || r.bytes.size > RECORD_MAX)
            abort();
        at += used;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char accept[WEBSOCKET_ACCEPT_SIZE] = "";

    if (size < 2)
        return 0;
    feed_socket(data + 1, size - 1, (size_t)data[0] + 1);
    feed_records(data + 1, size - 1);
    if (size == WEBSOCKET_KEY_SIZE) {
        char key[WEBSOCKET_KEY_SIZE] = "";

        memcpy(key, data, WEBSOCKET_KEY_SIZE - 1);
        (void)websocket_accept_make(key, accept);
    }
    return 0;
}
