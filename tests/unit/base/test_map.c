/* test_map.c - maps and their hash */

#include <stdio.h>

#include "base/map.h"
#include "test.h"

struct entry {
    struct map_handle handle;
    char name[16];
};

static void hashes_as_siphash_1_3(void **state)
{
    /* The 64-bit values that map_hash folds: key 00..0f, input 00, 01, ...; from an independent
     * implementation that agrees with CPython and with Rust's first vector. */
    static const struct {
        size_t size;
        uint64_t hash;
    } cases[] = {{0, UINT64_C(0xabac0158050fc4dc)}, {1, UINT64_C(0xc9f49bf37d57ca93)},
                 {7, UINT64_C(0xd3927d989bb11140)}, {8, UINT64_C(0x369095118d299a8e)},
                 {9, UINT64_C(0x25a48eb36c063de4)}, {15, UINT64_C(0xd320d86d2a519956)},
                 {63, UINT64_C(0x9d199062b7bbb3a8)}};
    uint8_t input[64];

    (void)state;
    for (size_t i = 0; i < COUNT(input); i++)
        input[i] = (uint8_t)i;
    for (size_t i = 0; i < COUNT(cases); i++)
        assert_int_equal(map_hash(input, cases[i].size),
                         (uint32_t)(cases[i].hash ^ (cases[i].hash >> 32)));
}

static void remove_entry(struct entry **entries, struct entry *entry)
{
    map_remove(handle, *entries, entry);
    free(entry);
}

static void finds_what_was_added_and_not_what_was_removed(void **state)
{
    struct entry *entries = NULL;
    struct entry *entry;
    struct entry *tmp;

    (void)state;
    for (int i = 0; i < 1000; i++) {
        entry = mem_alloc(sizeof(*entry));
        (void)snprintf(entry->name, sizeof(entry->name), "pod-%d", i);
        map_add(handle, entries, entry->name, strlen(entry->name), entry);
    }
    assert_int_equal(map_count(handle, entries), 1000);
    map_each (handle, entries, entry, tmp)
        if (entry->name[4] == '7')
            remove_entry(&entries, entry);
    map_find_text(handle, entries, "pod-77", entry);
    assert_null(entry);
    map_find(handle, entries, "pod-88...", 6, entry);
    assert_non_null(entry);
    assert_string_equal(entry->name, "pod-88");
    map_each (handle, entries, entry, tmp)
        remove_entry(&entries, entry);
    assert_null(entries);
}

static void another_seed_hashes_otherwise(void **state)
{
    uint8_t key[16] = {1};
    uint32_t before = map_hash("a", 1);

    (void)state;
    map_seed(key);
    assert_int_not_equal(map_hash("a", 1), before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hashes_as_siphash_1_3),
        cmocka_unit_test(finds_what_was_added_and_not_what_was_removed),
        cmocka_unit_test(another_seed_hashes_otherwise),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
