/* fuzz_kernel_log.c - records of the kernel's log: an XID that is read has numbers in their ranges
 */

#include <stdint.h>
#include <stdlib.h>

#include "gpu/kernel_log.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct kernel_xid x;

    if (kernel_xid_parse((struct str){(const char *)data, size}, &x) &&
        (x.xid < 0 || x.seq < 0 || x.at_ns < 0 || x.instance < -1))
        abort();
    return 0;
}
