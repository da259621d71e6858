/* fuzz_zone.c - fuzzes zone files: offsets stay below a week */

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "model/zone.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const int64_t times[] = {INT64_C(-9000000000), 0, INT64_C(1767225600),
                                    INT64_C(1790000000), INT64_C(9000000000)};
    struct zone *z = NULL;
    AUTO(err_freep) struct err *e = zone_parse((struct str){(const char *)data, size}, &z);

    for (size_t i = 0; !e && i < COUNT(times); i++) {
        int64_t offset = zone_offset(z, times[i]);

        assert(offset > INT64_C(-8) * 86400 && offset < INT64_C(8) * 86400);
    }
    zone_free(z);
    return 0;
}
