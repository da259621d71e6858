/*
 * fuzz_crilog.c - fuzzes CRI logs
 *
 * Lines cover the input without gaps; a tail begins at the start of a line.
 */

#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "node/log/crilog.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t check_lines(struct str bytes)
{
    size_t used = 0;
    size_t n_whole = 0;

    for (;;) {
        struct str rest = {bytes.at + used, bytes.size - used};
        struct crilog_line line = {0};
        size_t taken = 0;

        crilog_read(rest, &line, &taken);
        if (taken == 0)
            break;
        assert(taken <= rest.size && rest.at[taken - 1] == '\n');
        assert(line.text.at >= rest.at && line.text.at + line.text.size == rest.at + taken - 1);
        assert(line.stamp.size == 0 || line.stamp.at == rest.at);
        n_whole += !line.is_partial;
        used += taken;
    }
    assert(used == bytes.size || !memchr(bytes.at + used, '\n', bytes.size - used));
    return n_whole;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct str bytes = {(const char *)data, size};
    size_t n_whole = size > 0 ? check_lines(bytes) : 0;

    for (size_t n = 0; size > 0 && n < 4; n++) {
        size_t count = 0;
        bool is_found = false;
        size_t from = crilog_tail(bytes, n, &count, &is_found);

        assert(from <= size && (from == 0 || bytes.at[from - 1] == '\n'));
        assert(is_found == (n_whole > n));
        if (from < size)
            (void)check_lines((struct str){bytes.at + from, size - from});
    }
    return 0;
}
