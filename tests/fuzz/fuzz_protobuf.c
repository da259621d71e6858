/* fuzz_protobuf.c - fuzzes protobuf_decode: its objects have a known kind, and their JSON text
 * parses */

#include <assert.h>
#include <stdint.h>

#include "base/mem.h"
#include "kinds/kind/kind.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO(json_freep) json_t *object = NULL;
    AUTO(json_freep) json_t *again = NULL;
    AUTO_FREE char *text = NULL;
    AUTO(err_freep)
    struct err *e = protobuf_decode((struct str){(const char *)data, size}, &object);

    if (e)
        return 0;
    assert(json_text(object, "kind"));
    text = json_format(object);
    e = json_parse(str_of(text), &again);
    assert(!e && json_equal(object, again));
    return 0;
}
