/* fuzz_http_answer.c - fuzzes answers of a server: the same result, whatever the pieces */

#include <assert.h>
#include <stdint.h>

#include "client/http_answer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
    BODY_CAP = 4096
};

static enum err_code answer_code(const struct err *e)
{
    return e ? err_code(e) : 0;
}

/* Reads `in` in pieces of `step` bytes. False: refused. */
static bool read_in_steps(struct str in, size_t step, struct http_answer *a, struct buf *body)
{
    for (size_t at = 0; at < in.size; at += step) {
        struct str piece = {.at = in.at + at, .size = in.size - at < step ? in.size - at : step};
        AUTO(err_freep) struct err *e = http_answer_read(a, piece, body);

        if (e) {
            assert(answer_code(e) == ERR_UNAVAILABLE || answer_code(e) == ERR_TOO_LARGE);
            return false;
        }
        assert(body->size <= BODY_CAP);
        assert(a->state == ANSWER_HEAD || (a->status >= 101 && a->status <= 599));
    }
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str in = {.at = (const char *)data + 1, .size = size > 0 ? size - 1 : 0};
    struct http_answer whole = {0};
    struct http_answer parts = {0};
    struct buf whole_body = {.cap = BODY_CAP};
    struct buf parts_body = {.cap = BODY_CAP};

    if (size == 0)
        return 0;
    if (read_in_steps(in, in.size + 1, &whole, &whole_body) &&
        read_in_steps(in, data[0] % 16 + 1u, &parts, &parts_body)) {
        assert(whole.state == parts.state && whole.status == parts.status);
        assert(whole_body.size == parts_body.size);
        assert(whole_body.size == 0 || memcmp(whole_body.at, parts_body.at, whole_body.size) == 0);
    }
    http_answer_done(&whole);
    http_answer_done(&parts);
    buf_done(&whole_body);
    buf_done(&parts_body);
    return 0;
}
