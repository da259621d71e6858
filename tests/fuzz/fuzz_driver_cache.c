/* fuzz_driver_cache.c - the loader's cache: every entry is text inside the file */

#include <stdint.h>
#include <stdlib.h>

#include "gpu/driver_cache.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void count(void *arg, const char *name, const char *path)
{
    *(size_t *)arg += strlen(name) + strlen(path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t n = 0;
    struct err *e = driver_cache_parse((struct str){(const char *)data, size}, count, &n);

    if (e && err_code(e) != ERR_INVALID)
        abort();
    err_free(e);
    return 0;
}
