/* test_gpu_peers.c - connections between the gpus of a machine as a text */

#include <stdio.h>

#include "model/gpu_peers.h"
#include "test.h"

static void names_each_connection_once(void **state)
{
    static const char connections[][GPU_CONNECTION_SIZE] = {"PIX", "",     "NV4", "NV4",
                                                            "NV4", "NODE", "",    "NV4"};
    char text[GPU_PEERS_SIZE];
    char found[GPU_CONNECTION_SIZE];

    (void)state;
    gpu_peers_format(connections, COUNT(connections), text);
    assert_string_equal(text, "PIX:0 NV4:2-4,7 NODE:5");
    for (size_t i = 0; i < COUNT(connections); i++) {
        bool is_known = connections[i][0] != '\0';

        assert_int_equal(gpu_peers_find(text, i, found), is_known);
        if (is_known)
            assert_string_equal(found, connections[i]);
    }
    gpu_peers_format(connections, 0, text);
    assert_string_equal(text, "");
}

static void keeps_no_part_of_a_text_that_is_too_long(void **state)
{
    char connections[64][GPU_CONNECTION_SIZE];
    char text[GPU_PEERS_SIZE];

    (void)state;
    for (size_t i = 0; i < COUNT(connections); i++)
        (void)snprintf(connections[i], sizeof(connections[i]), "NV%zu", i + 1);
    gpu_peers_format((const char(*)[GPU_CONNECTION_SIZE])connections, COUNT(connections), text);
    assert_string_equal(text, "");
}

static void finds_nothing_in_what_is_no_list(void **state)
{
    static const char *const texts[] = {"",
                                        "NV18",
                                        "NV18:",
                                        "NV18:x",
                                        "NV18:3-1",
                                        ":",
                                        "  ",
                                        "A-NAME-THAT-IS-TOO-LONG:1",
                                        "NV1:99999999999"};
    char found[GPU_CONNECTION_SIZE] = "kept";

    (void)state;
    for (size_t i = 0; i < COUNT(texts); i++)
        assert_false(gpu_peers_find(texts[i], 1, found));
    assert_false(gpu_peers_find(NULL, 1, found));
    assert_string_equal(found, "kept");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_each_connection_once),
        cmocka_unit_test(keeps_no_part_of_a_text_that_is_too_long),
        cmocka_unit_test(finds_nothing_in_what_is_no_list),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
