/* fuzz_kubeconfig.c - fuzzes kubeconfig files: an error, or a server to connect to */

#include <assert.h>
#include <stdint.h>

#include "base/mem.h"
#include "cli/kubeconfig.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct str text = {.at = (const char *)data, .size = size};
    const struct kubeconfig_file files[] = {{"/etc/k", text}, {"/home/k", text}};
    struct kubeconfig k = {0};
    AUTO(err_freep)
    struct err *e = kubeconfig_parse(files, 1 + size % 2, size % 3 == 0 ? "c" : NULL, &k);

    if (e) {
        assert(err_message(e)[0] && !k.server);
        return 0;
    }
    assert(text_starts_with(k.server, "http") && !text_ends_with(k.server, "/"));
    kubeconfig_done(&k);
    return 0;
}
