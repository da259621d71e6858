/* fuzz_moment.c - fuzzes moments: an error, or a time since 1970, in UTC and in a distant zone */

#include <assert.h>
#include <stdint.h>

#include "base/stamp.h"
#include "model/moment.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int64_t far_zone(int64_t utc_ns)
{
    (void)utc_ns;
    return INT64_C(-43200) * NS_PER_SEC;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const int64_t now_ns = INT64_C(1790000000) * NS_PER_SEC;
    const zone_fn zones[] = {NULL, far_zone};

    for (int i = 0; i < 2; i++) {
        int64_t ns = -1;
        AUTO(err_freep)
        struct err *e = moment_parse((struct str){(const char *)data, size}, now_ns, zones[i], &ns);

        assert(e ? ns == -1 : ns >= 0);
    }
    return 0;
}
