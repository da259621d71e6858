/* test_ip4.c - IPv4 addresses and networks as text */

#include <string.h>

#include "model/ip4.h"
#include "test.h"

static void addresses_have_one_form(void **state)
{
    static const char *const bad[] = {"",         "1.2.3",  "1.2.3.4.5", "1.2.3.256", "01.2.3.4",
                                      "1.2.3.4 ", "1..3.4", "a.b.c.d",   "::1",       "-1.2.3.4"};
    char text[IP4_TEXT_SIZE];
    uint32_t address = 42;

    (void)state;
    for (size_t i = 0; i < COUNT(bad); i++) {
        AUTO(err_freep) struct err *e = ip4_parse(bad[i], &address);

        assert_non_null(e);
        assert_int_equal(address, 42);
    }
    assert_null(ip4_parse("10.0.255.1", &address));
    assert_int_equal(address, 0x0a00ff01);
    ip4_format(address, text);
    assert_string_equal(text, "10.0.255.1");
}

static void networks_begin_at_their_first_address(void **state)
{
    static const struct {
        const char *text;
        const char *message; /* NULL: right */
    } cases[] = {
        {"10.244.0.0/16", NULL},
        {"10.244.1.0/16", "network '10.244.1.0/16' begins at 10.244.0.0/16"},
        {"10.244.0.0", "network '10.244.0.0': want ADDRESS/BITS, as 10.244.0.0/16"},
        {"10.244.0.0/0", "network '10.244.0.0/0': "},
        {"10.244.0.0/33", "network '10.244.0.0/33': "},
        {"10.244.0/16", "network '10.244.0/16': must be a valid IPv4 address"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct ip4_net net = {0};
        AUTO(err_freep) struct err *e = ip4_net_parse(cases[i].text, &net);
        char text[IP4_NET_TEXT_SIZE];

        assert_int_equal(e == NULL, cases[i].message == NULL);
        if (e)
            assert_ptr_equal(strstr(err_message(e), cases[i].message), err_message(e));
        ip4_net_format(net, text);
        if (!e)
            assert_string_equal(text, cases[i].text);
    }
}

static void networks_know_their_addresses(void **state)
{
    const struct ip4_net a = {0x0a600000, 16};
    const struct ip4_net b = {0x0a600100, 24};
    const struct ip4_net c = {0x0a610000, 16};

    (void)state;
    assert_true(ip4_net_has(a, 0x0a60ffff));
    assert_false(ip4_net_has(a, 0x0a610000));
    assert_true(ip4_nets_overlap(a, b));
    assert_true(ip4_nets_overlap(b, a));
    assert_false(ip4_nets_overlap(a, c));
    assert_int_equal(ip4_net_size(b), 256);
    assert_false(ip4_net_has((struct ip4_net){0}, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(addresses_have_one_form),
        cmocka_unit_test(networks_begin_at_their_first_address),
        cmocka_unit_test(networks_know_their_addresses),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
