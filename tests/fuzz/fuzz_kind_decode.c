/*
 * fuzz_kind_decode.c - fuzzes objects: the first byte picks the kind, the rest is JSON
 *
 * A decoded object decodes again unchanged. Defaults, validation, table and text work on any
 * object.
 */

#include <assert.h>
#include <stdint.h>

#include "base/mem.h"
#include "kinds/kind/kind.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void show(const struct kind *k, json_t *object)
{
    AUTO(json_freep) json_t *list = json_pack("[O]", object);
    AUTO(json_freep) json_t *table = table_format(k, list, 1, "Metadata", 0);

    assert(json_array_size(json_object_get(table, "rows")) == 1);
}

static void use(const struct kind *k, json_t *object)
{
    const struct kind_context c = {.user = "fuzz"};
    AUTO(json_freep) json_t *before = json_deep_copy(object);
    AUTO(json_freep) json_t *warnings = json_array();
    AUTO(err_freep) struct err *again = kind_decode(k, object, VALIDATION_STRICT, warnings);
    AUTO(err_freep) struct err *e = NULL;

    assert(!again && json_equal(before, object));
    show(k, object); /* objects stored under older rules get rows, too */
    e = kind_default(k, object, &c);
    assert(!e);
    e = kind_validate(k, object);
    show(k, object);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO(json_freep) json_t *object = NULL;
    AUTO(json_freep) json_t *warnings = json_array();
    AUTO(err_freep) struct err *e = NULL;
    const struct kind *k;

    if (size == 0)
        return 0;
    k = kinds[data[0] % kinds_count];
    e = json_parse((struct str){(const char *)data + 1, size - 1}, &object);
    if (e)
        return 0;
    e = kind_decode(k, object, VALIDATION_WARN, warnings);
    if (!e)
        use(k, object);
    return 0;
}
