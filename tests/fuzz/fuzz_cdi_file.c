/* fuzz_cdi_file.c - CDI files: a file that passes the check is found and resolved */

#include <stdint.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/yaml.h"
#include "node/spec/cdi_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void resolve(json_t *file)
{
    const struct gpu gpu = {.uuid = "GPU-a", .minor = 0};
    const struct cdi_device device = {.gpu = &gpu};
    struct driver_root root = {.version = mem_strdup("570.124.06")};
    struct cdi_request *r = cdi_request_new(&device, 1, &root);
    struct cdi_source source = {.file = file};
    const struct cdi_sources sources = {.list = {.at = &source, .n = 1}};
    json_t *spec = json_object();

    cdi_request_resolve(r, &sources);
    if (r->edits)
        err_free(cdi_apply(r->edits, spec));
    json_decref(spec);
    cdi_request_free(r);
    free(root.version);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    json_t *documents = NULL;
    struct err *e = yaml_parse("fuzz", (struct str){(const char *)data, size}, &documents);

    for (size_t i = 0; !e && i < json_array_size(documents); i++) {
        struct err *bad = cdi_file_check(json_array_get(documents, i));

        if (!bad)
            resolve(json_array_get(documents, i));
        err_free(bad);
    }
    err_free(e);
    json_decref(documents);
    return 0;
}
