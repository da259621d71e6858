/* fuzz_slurm_command.c - fuzzes batch scripts, formats of Slurm's tables, messages of PMI and PMIx
 */

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"
#include "slurm/job_columns.h"
#include "slurm/pmi_wire.h"
#include "slurm/pmix_message.h"
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

/* A message that was read is the same when it is written and read again. */
static void try_message(enum pmi_wire wire, struct str text)
{
    AUTO(pmi_message_done) struct pmi_message m = {0};
    AUTO(pmi_message_done) struct pmi_message again = {0};
    AUTO(buf_done) struct buf out = {0};
    struct pmi_reply reply;
    size_t size = 0;
    AUTO(err_freep) struct err *e = pmi_message_read(wire, text, &m, &size);

    if (e || size == 0 || m.pairs.n == 0 || !str_equal(m.pairs.at[0].key, STR("cmd")))
        return;
    pmi_reply_begin(&reply, wire, "x");
    for (size_t i = 1; i < m.pairs.n; i++) {
        AUTO_FREE char *key = mem_strndup(m.pairs.at[i].key.at, m.pairs.at[i].key.size);

        pmi_reply_add(&reply, key, m.pairs.at[i].value);
    }
    pmi_reply_end(&reply, &out);
    e = pmi_message_read(wire, (struct str){out.at, out.size}, &again, &size);
    assert(e || (size == out.size && again.pairs.n == m.pairs.n));
}

static struct err *add_again(void *arg, const struct pmix_message *m)
{
    struct str ranks = {0};
    struct str data = {0};
    AUTO(err_freep) struct err *e = pmix_fence_read(m, &ranks, &data);

    assert(e || ranks.size + data.size == m->payload.size);
    pmix_message_add(arg, m);
    return NULL;
}

/* Messages that were read are the same when they are written. */
static void try_pmix(struct str text)
{
    AUTO(buf_done) struct buf in = {0};
    AUTO(buf_done) struct buf out = {0};
    struct err *e;

    buf_add(&in, text.at, text.size);
    e = pmix_messages_take(&in, add_again, &out);
    err_free(e);
    assert(in.size + out.size == text.size);
    assert(out.size == 0 || memcmp(out.at, text.at, out.size) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str text = {(const char *)data, size};

    try_script(text);
    try_format(text);
    try_message(PMI_WIRE_1, text);
    try_message(PMI_WIRE_2, text);
    try_pmix(text);
    return 0;
}
