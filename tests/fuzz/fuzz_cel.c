/* fuzz_cel.c - expressions of device selectors: parsed and evaluated without a crash, within bounds
 */

#include <stdint.h>

#include "base/mem.h"
#include "model/cel/cel.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct cel_attribute facts[] = {
        {.domain = STR("gpu.nvidia.com"),
         .name = STR("productName"),
         .value = {.kind = CEL_STRING, .text = STR("NVIDIA H100 80GB HBM3")}},
        {.domain = STR("gpu.nvidia.com"),
         .name = STR("memory"),
         .is_capacity = true,
         .value = {.kind = CEL_QUANTITY, .number = (INT64_C(80) << 30) * 1000}},
    };
    const struct cel_device d = {
        .driver = STR("gpu.nvidia.com"), .attributes = facts, .n_attributes = COUNT(facts)};
    AUTO(cel_freep) struct cel *cel = NULL;
    bool yes = false;
    AUTO(err_freep)
    struct err *e = cel_parse((struct str){(const char *)data, size}, &cel);

    if (!e)
        e = cel_matches(cel, &d, &yes);
    return 0;
}
