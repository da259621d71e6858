/*
 * fuzz_mig.c - fuzzes names of MIG profiles
 *
 * A parsed name formats and parses to the same profile, also as the name of a resource.
 */

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "model/mig.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO_FREE char *text = mem_alloc(size + 1);
    char name[MIG_NAME_SIZE] = "";
    char resource[MIG_NAME_SIZE + 4] = "mig-";
    char again[MIG_NAME_SIZE] = "";
    char *plus;

    if (size > 0)
        memcpy(text, data, size);
    if (!mig_name_read(text, name))
        return 0;
    assert(mig_name_milli(name) <= 1000);
    memcpy(resource + 4, name, sizeof(name));
    plus = strchr(resource, '+');
    if (plus)
        *plus = '.';
    assert(mig_name_read(resource, again) && strcmp(again, name) == 0);
    return 0;
}
