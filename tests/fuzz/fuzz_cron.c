/*
 * fuzz_cron.c - fuzzes cron schedules and index sets
 *
 * The times of a schedule increase; formatted text parses to the same value.
 */

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"
#include "model/cron.h"
#include "model/index_set.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void try_cron(struct str text)
{
    struct cron c;
    AUTO(err_freep) struct err *e = cron_parse(text, &c);
    int64_t at = INT64_C(1767225600);
    int64_t next = 0;

    for (int i = 0; !e && i < 4 && cron_next(&c, NULL, at, &next); i++) {
        assert(next > at && next % 60 == 0);
        at = next;
    }
}

static void try_index_set(struct str text)
{
    struct index_set set = {0};
    struct index_set back = {0};
    AUTO(err_freep) struct err *e = index_set_parse(text, 1 << 16, &set);
    AUTO_FREE char *written = NULL;

    if (e)
        return;
    written = index_set_format(&set);
    e = index_set_parse(str_of(written), 1 << 16, &back);
    assert(!e && back.count == set.count);
    index_set_done(&set);
    index_set_done(&back);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str text = {(const char *)data, size};

    try_cron(text);
    try_index_set(text);
    return 0;
}
