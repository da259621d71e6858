/* fuzz_slurm_command.c - fuzzes batch scripts, and formats of Slurm's tables */

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"
#include "slurm/job_columns.h"
#include "slurm/script.h"
#include "slurm/submit.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void try_script(struct str text)
{
    AUTO_FREE struct slurm_option *options = slurm_submit_options(SLURM_SBATCH);
    AUTO(slurm_script_done) struct slurm_script script = {0};
    AUTO(slurm_words_done) struct slurm_words words = {0};
    AUTO(slurm_submit_done) struct slurm_submit submit = {.now_s = 1, .cwd = "/"};
    AUTO(err_freep) struct err *e = slurm_script_parse(text, "x", &script);

    if (!e)
        e = slurm_words_parse(options, false, script.words.n, (const char *const *)script.words.at,
                              &words);
    if (!e)
        e = slurm_submit_apply(&submit, &words);
    assert(e || json_is_object(submit.spec));
}

static void try_format(struct str text)
{
    AUTO_FREE char *format = mem_strndup(text.at, text.size);
    AUTO(slurm_format_done) struct slurm_format letters = {0};
    AUTO(slurm_format_done) struct slurm_format names = {0};
    AUTO(err_freep) struct err *e = slurm_format_parse_letters(format, slurm_job_columns, &letters);
    AUTO(err_freep) struct err *other = slurm_format_parse_names(format, slurm_job_columns, &names);
    AUTO(json_freep) json_t *rows = json_pack("[{s:i}]", "jobId", 1);
    const struct slurm_view view = {.now_s = 1};
    struct buf out = {0};

    if (!e)
        slurm_format_print(&letters, rows, &view, true, &out);
    if (!other)
        slurm_format_print(&names, rows, &view, true, &out);
    buf_done(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str text = {(const char *)data, size};

    try_script(text);
    try_format(text);
    return 0;
}
