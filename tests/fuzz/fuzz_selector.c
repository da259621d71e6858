/* fuzz_selector.c - fuzzes label and field selectors: parsing, matching, naming of keys */

#include <stddef.h>
#include <stdint.h>

#include "model/selector.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *get(const void *object, const char *key)
{
    (void)object;
    return key[0] % 2 ? key : NULL;
}

static struct err *count(void *arg, const char *key)
{
    *(size_t *)arg += strlen(key);
    return NULL;
}

static void try_selector(struct err *parse_error, struct selector *const *parsed)
{
    AUTO(err_freep) struct err *e = parse_error;
    struct selector *s = *parsed;
    size_t total = 0;

    if (e)
        return;
    (void)selector_matches(s, get, NULL);
    e = selector_each_key(s, count, &total);
    selector_free(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str text = {(const char *)data, size};
    struct selector *labels = NULL;
    struct selector *fields = NULL;

    try_selector(selector_parse_labels(text, &labels), &labels);
    try_selector(selector_parse_fields(text, &fields), &fields);
    return 0;
}
