/* fuzz_record.c - fuzzes recordings: an error, or lines that read back the same; folded and
 * replayed */

#include <assert.h>
#include <stdint.h>

#include "engine/record/record_fold.h"
#include "sim/recording.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_line(struct arena *a, struct str line)
{
    AUTO(buf_done) struct buf once = {0};
    AUTO(buf_done) struct buf twice = {0};
    enum record_call call = RECORD_CALLS;
    void *args = NULL;
    AUTO(err_freep) struct err *e = record_line_parse(a, line, &call, &args);

    if (e)
        return;
    record_line_format(&once, call, args);
    assert(!record_line_parse(a, (struct str){once.at, once.size - 1}, &call, &args));
    record_line_format(&twice, call, args);
    assert(once.size == twice.size && memcmp(once.at, twice.at, once.size) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct str text = {(const char *)data, size};
    AUTO(record_fold_freep) struct record_fold *f = record_fold_new();
    AUTO(buf_done) struct buf folded = {0};
    struct arena *a = arena_new();
    struct recording_report report = {0};
    struct str rest = text;

    while (rest.at) {
        struct str line = str_cut(&rest, '\n');
        AUTO(err_freep) struct err *e = record_fold_line(f, line);

        arena_reset(a);
        check_line(a, line);
    }
    record_fold_format(f, &folded);
    {
        AUTO(err_freep) struct err *e = recording_play("f", text, &report, NULL);
    }
    recording_report_done(&report);
    arena_free(a);
    return 0;
}
