/* fuzz_pattern.c - regular expressions: a pattern, a newline, a text */

#include <assert.h>
#include <stdint.h>

#include "base/mem.h"
#include "model/pattern.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str text = {(const char *)data, size};
    struct str pattern = str_cut(&text, '\n');
    struct pattern *p = NULL;
    AUTO(err_freep) struct err *e = pattern_parse(pattern, &p);
    AUTO(pattern_freep) struct pattern *mine = p;
    struct pattern_span span = {0};
    int64_t steps = 1 << 20;
    bool is_found = false;
    bool matches = false;

    if (e)
        return 0;
    if (!text.at)
        text = STR("");
    e = pattern_find(mine, text, 0, &steps, &is_found, &span);
    if (e)
        return 0;
    assert(!is_found || (span.begin <= span.end && span.end <= text.size));
    steps = 1 << 20;
    e = pattern_matches(mine, text, &steps, &matches);
    assert(e || matches == is_found);
    return 0;
}
