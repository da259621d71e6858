/* fuzz_yaml.c - fuzzes YAML: formatted text parses to the same trees, keys and texts */

#include <assert.h>
#include <stdint.h>

#include "base/mem.h"
#include "base/yaml.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_tree(const json_t *tree)
{
    AUTO_FREE char *text = yaml_format(tree);
    AUTO(json_freep) json_t *again = NULL;
    AUTO(err_freep) struct err *e = yaml_parse("again", str_of(text), &again);

    assert(!e && json_array_size(again) == 1 && json_equal(json_array_get(again, 0), tree));
}

/* The input without NUL bytes is a text that a Secret or a log may contain. */
static void check_text(const uint8_t *data, size_t size)
{
    AUTO(json_freep) json_t *object = json_object();
    AUTO_FREE char *text = mem_strndup(size > 0 ? (const char *)data : "", size);

    json_put_text(object, "text", text);
    json_put(object, json_text(object, "text"), json_string("key"));
    json_put_text(object, "again", text);
    check_tree(object);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str text = {(const char *)data, size};
    AUTO(json_freep) json_t *documents = NULL;
    AUTO(err_freep) struct err *e = yaml_parse("input", text, &documents);
    json_t *tree;
    size_t i;

    check_text(data, size);
    if (e)
        return 0;
    json_array_foreach (documents, i, tree)
        check_tree(tree);
    return 0;
}
