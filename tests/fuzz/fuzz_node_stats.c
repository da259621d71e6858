/* fuzz_node_stats.c - fuzzes messages of samples: what was parsed formats to the same again */

#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "client/node_stats.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct str input = {.at = (const char *)data, .size = size};
    AUTO(buf_done) struct buf first = {0};
    AUTO(buf_done) struct buf second = {0};
    struct node_stats s = {0};
    struct node_stats again = {0};
    size_t used = 0;
    AUTO(err_freep) struct err *e = node_stats_parse(input, &s, &used);
    struct err *failed;

    if (e || used == 0)
        return 0;
    assert(used <= size && s.at_ns > 0);
    node_stats_format(&first, &s);
    failed = node_stats_parse((struct str){.at = first.at, .size = first.size}, &again, &used);
    assert(!failed && used == first.size);
    err_free(failed);
    node_stats_format(&second, &again);
    assert(first.size == second.size && memcmp(first.at, second.at, first.size) == 0);
    node_stats_done(&s);
    node_stats_done(&again);
    return 0;
}
