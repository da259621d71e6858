/*
 * fuzz_json_pool.c - fuzzes json_parse against jansson, and the pool's reader against json_parse
 *
 * All readers give the same tree or an error, however often the pool has read the text. A peek
 * finds the members of the tree.
 */

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json_pool.h"
#include "base/mem.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_peeks(struct str text, const json_t *tree)
{
    json_t *mutable = (json_t *)(uintptr_t)tree; /* jansson's iterator takes a mutable tree */
    const char *key;
    json_t *value;

    json_object_foreach (mutable, key, value) {
        AUTO(json_freep) json_t *again = NULL;
        struct str at = {0};
        struct str string = {0};

        if (json_peek(text, &at, key, NULL) != PEEK_FOUND)
            continue;
        err_free(json_parse(at, &again));
        assert(again && json_equal(again, value));
        if (json_peek_string(at, &string))
            assert(json_string_length(value) == string.size &&
                   memcmp(json_string_value(value), string.at, string.size) == 0);
    }
}

/* Only the depth of json_parse is smaller than jansson's. */
static void check_jansson(struct str text, const json_t *found)
{
    AUTO(json_freep)
    json_t *want = json_loadb(text.at ? text.at : "", text.size,
                              JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, NULL);
    AUTO_FREE char *is = found ? json_format(found) : NULL;
    AUTO_FREE char *was = want ? json_format(want) : NULL;

    assert(!found || (is && was && strcmp(is, was) == 0));
}

static void check_text(struct json_pool *p, struct str text)
{
    AUTO(json_freep) json_t *want = NULL;
    AUTO(err_freep) struct err *refused = json_parse(text, &want);
    AUTO(json_freep) json_t *found = NULL;
    AUTO(err_freep) struct err *e = json_pool_parse(p, text, &found);

    check_jansson(text, want);
    assert(!e == !refused);
    assert(e || json_equal(found, want));
    if (want)
        check_peeks(text, want);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct str text = {(const char *)data, size};
    struct json_pool *p = json_pool_new();

    check_text(p, text);
    for (int i = 0; i < 3; i++) { /* as a part of several texts */
        AUTO(buf_done) struct buf b = {.cap = size + 64};

        buf_printf(&b, "{\"n\":%d,\"part\":", i);
        buf_add(&b, text.at, text.size);
        buf_add_char(&b, '}');
        check_text(p, (struct str){b.at, b.size});
    }
    json_pool_free(p);
    return 0;
}
