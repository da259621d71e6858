/*
 * fuzz_patch.c - fuzzes patches: two lines of JSON, an object and a patch; the first byte picks the
 * kind
 *
 * Patching changes neither input, and its result decodes or is refused.
 */

#include <assert.h>
#include <stdint.h>

#include "base/mem.h"
#include "kinds/kind/kind.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void use(const struct kind *k, json_t *result)
{
    AUTO(json_freep) json_t *mine = result;
    AUTO(err_freep) struct err *e = NULL;

    if (!mine)
        return;
    e = kind_decode(k, mine, VALIDATION_IGNORE, NULL);
}

static void apply(const struct kind *k, const json_t *object, const json_t *patch)
{
    AUTO(json_freep) json_t *object_before = json_deep_copy(object);
    AUTO(json_freep) json_t *patch_before = json_deep_copy(patch);
    AUTO(err_freep) struct err *e = NULL;
    json_t *merged = NULL;
    json_t *strategic = NULL;
    json_t *listed = NULL;

    e = patch_merge(object, patch, &merged);
    err_free(e);
    use(k, merged);
    e = patch_strategic(k, object, patch, &strategic);
    use(k, strategic);
    err_free(e);
    e = patch_json(object, patch, &listed);
    use(k, listed);
    assert(json_equal(object, object_before) && json_equal(patch, patch_before));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str rest = {(const char *)data + 1, size - 1};
    AUTO(json_freep) json_t *object = NULL;
    AUTO(json_freep) json_t *patch = NULL;
    AUTO(err_freep) struct err *e = NULL;
    struct str line;

    if (size < 3)
        return 0;
    line = str_cut(&rest, '\n');
    if (!rest.at)
        return 0;
    e = json_parse(line, &object);
    if (e || !json_is_object(object))
        return 0;
    e = json_parse(rest, &patch);
    if (!e)
        apply(kinds[data[0] % kinds_count], object, patch);
    return 0;
}
