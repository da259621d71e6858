/*
 * fuzz_slurm_text.c - fuzzes the texts of Slurm's commands
 *
 * Formatted text parses to the same value.
 */

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"
#include "model/hostlist.h"
#include "model/slurm_amount.h"
#include "model/slurm_array.h"
#include "model/slurm_dependency.h"
#include "model/slurm_pattern.h"
#include "model/slurm_time.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void try_dependency(struct str text)
{
    struct slurm_dependency first = {0};
    struct slurm_dependency second = {0};
    AUTO(err_freep) struct err *e = slurm_dependency_parse(text, &first);
    AUTO_FREE char *written = NULL;

    if (e)
        return;
    written = slurm_dependency_format(&first);
    e = slurm_dependency_parse(str_of(written), &second);
    assert(!e && first.items.n == second.items.n);
    for (size_t i = 0; i < first.items.n; i++)
        assert(first.items.at[i].id == second.items.at[i].id &&
               first.items.at[i].index == second.items.at[i].index);
    slurm_dependency_done(&first);
    slurm_dependency_done(&second);
}

static void try_pattern(struct str text)
{
    AUTO_FREE char *pattern = mem_strndup(text.at, text.size);
    const struct slurm_pattern_values v = {.job_id = 12, .array_index = -1, .name = "x"};
    AUTO_FREE char *written = slurm_pattern_expand(pattern, &v);

    assert(written);
}

static void try_hostlist(struct str text)
{
    AUTO(hostlist_done) struct hostlist first = {0};
    AUTO(hostlist_done) struct hostlist second = {0};
    AUTO(err_freep) struct err *e = hostlist_parse(text, 4096, &first);
    AUTO_FREE char *written = NULL;

    if (e)
        return;
    written = hostlist_format(&first);
    e = hostlist_parse(str_of(written), 4096, &second);
    assert(!e && first.names.n == second.names.n);
    for (size_t i = 0; i < first.names.n; i++)
        assert(text_equal(first.names.at[i], second.names.at[i]));
}

static void try_array(struct str text)
{
    AUTO(slurm_array_done) struct slurm_array first = {0};
    AUTO(slurm_array_done) struct slurm_array second = {0};
    AUTO(slurm_job_name_done) struct slurm_job_name name = {0};
    AUTO(err_freep) struct err *e = slurm_array_parse(text, 4096, &first);
    AUTO(err_freep) struct err *other = slurm_job_name_parse(text, &name);
    AUTO_FREE char *written = NULL;

    if (e)
        return;
    written = slurm_array_format_indexes(&first.indexes, 0);
    e = slurm_array_parse(str_of(written), 4096, &second);
    assert(!e && first.indexes.count == second.indexes.count);
}

static void try_amounts(struct str text)
{
    AUTO(slurm_gres_list_done) struct slurm_gres_list first = {0};
    AUTO(slurm_gres_list_done) struct slurm_gres_list second = {0};
    AUTO(err_freep) struct err *e = NULL;
    AUTO(err_freep) struct err *other = NULL;
    AUTO_FREE char *written = NULL;
    char size[SLURM_AMOUNT_TEXT_SIZE];
    int64_t mib = 0;
    int64_t again = 0;

    e = slurm_memory_parse(text, &mib);
    if (!e) {
        slurm_memory_format(mib, size);
        e = slurm_memory_parse(str_of(size), &again);
        assert(!e && mib == again);
    }
    other = slurm_gres_parse(text, NULL, &first);
    if (other)
        return;
    written = slurm_gres_format(&first, "gres/");
    other = slurm_gres_parse(str_of(written), NULL, &second);
    assert(!other && first.items.n == second.items.n);
}

static void try_times(struct str text)
{
    int64_t minutes = 0;
    int64_t at = 0;
    AUTO(err_freep) struct err *e = slurm_minutes_parse(text, &minutes);
    AUTO(err_freep)
    struct err *other = slurm_moment_parse(text, INT64_C(1795519800), NULL, true, &at);

    assert(e || minutes >= SLURM_UNLIMITED);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str text = {(const char *)data, size};

    try_dependency(text);
    try_pattern(text);
    try_hostlist(text);
    try_array(text);
    try_amounts(text);
    try_times(text);
    return 0;
}
