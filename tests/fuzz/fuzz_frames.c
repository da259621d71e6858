/* fuzz_frames.c - fuzzes frames: a parsed frame formats to its input */

#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "client/frames.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str rest = {.at = (const char *)data, .size = size};

    for (;;) {
        AUTO(buf_done) struct buf again = {0};
        struct frame f = {0};
        size_t used = 0;
        AUTO(err_freep) struct err *e = frame_parse(rest, &f, &used);

        if (e || used == 0)
            return 0;
        assert(used <= rest.size && f.payload.size + FRAME_HEAD_SIZE == used);
        frame_format(&again, f.stream, f.type, f.payload);
        assert(again.size == used && memcmp(again.at, rest.at, used) == 0);
        rest = (struct str){.at = rest.at + used, .size = rest.size - used};
    }
}
