/*
 * fuzz_fieldset.c - fuzzes FieldsV1, and the walks of an apply: three lines of JSON, managedFields'
 * fieldsV1, a live object and a configuration
 *
 * A set that was read has a text that reads back as the same set. An apply changes neither tree,
 * and an apply of the same configuration changes nothing more.
 */

#include <assert.h>
#include <stdint.h>

#include "base/mem.h"
#include "kinds/apply/managers.h"
#include "kinds/kind/kind.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_back(struct arena *a, const json_t *fields)
{
    struct fieldset *first = NULL;
    struct fieldset *second = NULL;
    AUTO(json_freep) json_t *text = NULL;
    AUTO(err_freep) struct err *e = fieldset_parse(a, fields, &first);

    if (e)
        return;
    text = fieldset_format(first);
    e = fieldset_parse(a, text, &second);
    assert(!e);
    assert(fieldset_equal(first, second));
    assert(fieldset_is_empty(fieldset_minus(a, first, second)));
    assert(fieldset_equal(fieldset_union(a, first, second), first));
    assert(fieldset_equal(fieldset_common(a, first, second), first));
}

static struct err *apply(struct arena *a, struct managers *m, const json_t *live,
                         const json_t *config, json_t **ret)
{
    AUTO(json_freep) json_t *zero = json_object();
    const struct managed_write w = {.arena = a,
                                    .shape = kind_shape(kind_find("", "pods")),
                                    .manager = "kubectl",
                                    .api_version = "v1",
                                    .subresource = "",
                                    .now = "2026-01-02T03:04:05Z",
                                    .zero = zero};

    TRY(structure_check(a, w.shape, config));
    return managers_apply(&w, m, live, config, true, ret);
}

static void apply_twice(struct arena *a, const json_t *live, const json_t *config)
{
    AUTO(json_freep) json_t *live_before = json_deep_copy(live);
    AUTO(json_freep) json_t *config_before = json_deep_copy(config);
    AUTO(json_freep) json_t *once = NULL;
    AUTO(json_freep) json_t *twice = NULL;
    struct managers m = {0};
    AUTO(err_freep) struct err *e = apply(a, &m, live, config, &once);

    if (!e) {
        e = apply(a, &m, once, config, &twice);
        assert(!e);
        assert(json_equal(once, twice));
    }
    assert(json_equal(live, live_before) && json_equal(config, config_before));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str rest = {(const char *)data, size};
    AUTO(arena_freep) struct arena *a = arena_new();
    json_t *lines[3] = {NULL, NULL, NULL};

    for (size_t i = 0; i < 3 && rest.at; i++) {
        AUTO(err_freep) struct err *e = json_parse(str_cut(&rest, '\n'), &lines[i]);
    }
    if (lines[0])
        read_back(a, lines[0]);
    if (json_is_object(lines[1]) && json_is_object(lines[2]))
        apply_twice(a, lines[1], lines[2]);
    for (size_t i = 0; i < 3; i++)
        json_decref(lines[i]);
    return 0;
}
