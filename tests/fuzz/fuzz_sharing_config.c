/*
 * fuzz_sharing_config.c - fuzzes the configurations of the device plugin and of mig-parted, and the
 * texts of modes
 *
 * A mode that parses formats to a text that parses to the same mode.
 */

#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "base/mem.h"
#include "base/yaml.h"
#include "gpu/mig_config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_mode(const char *text)
{
    struct gpu_wish wish = {0};
    struct gpu_wish again = {0};
    char first[GPU_WISH_TEXT_SIZE];
    char second[GPU_WISH_TEXT_SIZE];
    AUTO(err_freep) struct err *e = gpu_wish_parse(text, &wish);
    AUTO(err_freep) struct err *other = NULL;

    if (e)
        return;
    gpu_wish_format(&wish, first);
    other = gpu_wish_parse(first, &again);
    assert(!other);
    gpu_wish_format(&again, second);
    assert(strcmp(first, second) == 0);
}

static void check_partitions(const json_t *document)
{
    AUTO_FREE struct mig_config *config = mem_alloc(sizeof(*config));
    struct gpu g = GPU_UNKNOWN(1);
    struct gpu_wish wish = {0};
    AUTO(err_freep) struct err *e = mig_config_parse(document, "all", config);

    if (!e && mig_config_wish(config, &g, &wish))
        assert(wish.kind == GPU_WISH_SLICES || wish.n_slices == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO_FREE char *text = mem_strndup(size > 0 ? (const char *)data : "", size);
    AUTO(json_freep) json_t *documents = NULL;
    AUTO(json_freep) json_t *warnings = json_array();
    AUTO_FREE struct sharing_config *config = mem_alloc(sizeof(*config));
    struct gpu g = GPU_UNKNOWN(0);
    AUTO(err_freep) struct err *bad = NULL;
    AUTO(err_freep) struct err *e = yaml_parse("input", str_of(text), &documents);

    check_mode(text);
    if (e)
        return 0;
    bad = sharing_config_parse(json_array_get(documents, 0), warnings, config);
    assert(bad || config->replicas != 1);
    (void)sharing_config_has(config, &g);
    check_partitions(json_array_get(documents, 0));
    return 0;
}
