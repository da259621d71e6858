/*
 * fuzz_api_http.c - fuzzes the head of a request, then its body as chunks
 *
 * Parsed values stay within their limits, whatever the pieces of the input.
 */

#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "base/mem.h"
#include "http/http_head.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool is_within(const char *text, const char *begin, size_t size)
{
    return text >= begin && text < begin + size &&
           memchr(text, '\0', (size_t)(begin + size - text));
}

static size_t try_head(const uint8_t *data, size_t size)
{
    const uint8_t *end = memmem(data, size, "\r\n\r\n", 4);
    size_t head_size = end ? (size_t)(end - data) + 4 : 0;
    AUTO_FREE char *text = mem_alloc(head_size + 1);
    struct http_head head = {0};
    AUTO(err_freep) struct err *e = NULL;

    if (!end)
        return 0;
    (void)memcpy(text, data, head_size);
    e = http_head_parse(text, head_size, &head);
    if (e)
        return head_size;
    assert(is_within(head.method, text, head_size) && is_within(head.path, text, head_size));
    assert(*head.path == '/' && !strpbrk(head.path, " \r\n?"));
    assert(head.n_headers <= HTTP_HEADERS_MAX && head.content_length >= -1);
    assert(!(head.is_chunked && head.content_length >= 0));
    for (size_t i = 0; i < head.n_headers; i++) {
        assert(is_within(head.headers[i].name, text, head_size) && *head.headers[i].name);
        assert(!strpbrk(head.headers[i].value, "\r\n"));
    }
    return head_size;
}

static bool read_in_steps(struct str in, size_t step, struct buf *body)
{
    struct http_chunks c = {0};

    for (size_t at = 0; at < in.size && c.state != CHUNK_DONE;) {
        struct str piece = {.at = in.at + at, .size = in.size - at < step ? in.size - at : step};
        size_t used = 0;
        AUTO(err_freep) struct err *e = http_chunks_read(&c, piece, body, &used);

        if (e)
            return false;
        assert(used <= piece.size && (used > 0 || c.state == CHUNK_DONE));
        at += used;
    }
    return c.state == CHUNK_DONE;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t head_size = try_head(data, size);
    struct str in = {.at = (const char *)data + head_size, .size = size - head_size};
    AUTO(buf_done) struct buf whole = {.cap = 4096};
    AUTO(buf_done) struct buf pieces = {.cap = 4096};
    bool is_whole = read_in_steps(in, 1 << 20, &whole);

    assert(is_whole == read_in_steps(in, 3, &pieces));
    assert(!is_whole || (whole.size == pieces.size &&
                         (whole.size == 0 || memcmp(whole.at, pieces.at, whole.size) == 0)));
    return 0;
}
