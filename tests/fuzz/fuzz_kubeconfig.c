/* Whatever is in a kubeconfig: it is refused with words, or names a server that can be asked. */
#include <assert.h>
#include <stdint.h>

#include "base/mem.h"
#include "cli/kubeconfig.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct kubeconfig k = {0};
    AUTO(err_freep)
    struct err *e =
        kubeconfig_parse("/etc/k", (struct str){.at = (const char *)data, .size = size}, &k);

    if (e) {
        assert(err_message(e)[0] && !k.server);
        return 0;
    }
    assert(text_starts_with(k.server, "http") && !text_ends_with(k.server, "/"));
    kubeconfig_done(&k);
    return 0;
}
