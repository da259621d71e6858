/*
 * fuzz_cli_flags.c - fuzzes command lines, a word a line
 *
 * A command line parses, or the parser says why not. Parsed times and gpus are within their limits.
 */

#include <assert.h>
#include <stdint.h>

#include "base/mem.h"
#include "base/stamp.h"
#include "cli/job/job_flags.h"
#include "cli/term/command.h"
#include "model/time_limit.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
    WORDS_MAX = 32
};

static size_t split(char *text, const char *words[WORDS_MAX])
{
    size_t n = 0;

    while (n < WORDS_MAX) {
        char *end = strchr(text, '\n');

        words[n++] = text;
        if (!end)
            break;
        *end = '\0';
        text = end + 1;
    }
    return n;
}

static void check_word(const char *word)
{
    int64_t ns = 0;
    int64_t count = 0;
    char model[JOB_MODEL_SIZE];
    AUTO(err_freep) struct err *no_time = time_limit_parse(word, &ns);
    AUTO(err_freep) struct err *no_gpus = job_gpus_parse(word, &count, model);

    assert(no_time || ns >= NS_PER_SEC);
    assert(no_gpus || (count >= 0 && strlen(model) < sizeof(model)));
    (void)command_nearest(word);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO_FREE char *text = mem_strndup((const char *)data, size);
    const char *words[WORDS_MAX] = {0};
    size_t n = split(text, words);

    for (size_t i = 0; i < n; i++)
        check_word(words[i]);
    for (size_t i = 0; commands[i]; i++) {
        struct invocation in = {0};
        AUTO(err_freep) struct err *e = invocation_parse(commands[i], n, words, &in);

        assert(!e || err_message(e)[0]);
        invocation_done(&in);
    }
    return 0;
}
