/* fuzz_schema.c - schemas of custom resources: {"schema": ..., "object": ..., "before": ...} */

#include <assert.h>
#include <stdint.h>

#include "kinds/custom/schema.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO(json_freep) json_t *input = NULL;
    AUTO(err_freep) struct err *e = json_parse((struct str){(const char *)data, size}, &input);
    AUTO(causes_done) struct causes causes = {0};
    AUTO(causes_done) struct causes faults = {0};
    AUTO(json_freep) json_t *twice = NULL;
    AUTO(schema_freep) struct schema *s = NULL;
    json_t *object = json_object_get(input, "object");
    json_t *source = json_object_get(input, "schema");

    if (e || !source)
        return 0;
    s = schema_new(source, PATH(NULL, "schema"), &causes);
    assert((s != NULL) == (causes.n == 0));
    if (!s || !json_is_object(object))
        return 0;
    (void)schema_prune(s, object, NULL);
    schema_default(s, object);
    twice = json_deep_copy(object);
    assert(schema_prune(s, twice, NULL) == 0); /* defaults are of the schema */
    schema_validate(s, object, NULL, NULL, &faults);
    schema_validate(s, object, json_object_get(input, "before"), NULL, &faults);
    schema_validate(s, object, NULL, "status", &faults);
    return 0;
}
