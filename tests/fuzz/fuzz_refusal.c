/* fuzz_refusal.c - fuzzes the reader of a server's refusals */

#include <assert.h>
#include <stdint.h>

#include "base/mem.h"
#include "base/str.h"
#include "cli/job/refusal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO_FREE char *text = mem_strndup((const char *)data, size);
    int64_t n_free = 0;
    AUTO_FREE char *told = refusal_format(text, &n_free);

    assert(!told || (text_starts_with(told, "quota \"") && n_free >= -1));
    return 0;
}
