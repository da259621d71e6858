/* test_kernel_log.c - lines of the kernel's log about XIDs */

#include "base/attr.h"
#include "gpu/kernel_log.h"
#include "gpu/nvlink_error.h"
#include "test.h"

struct line_case {
    const char *line;
    int64_t xid; /* -1: no XID */
    int64_t seq;
    int instance;
    const char *pci;
};

static void a_line_about_an_xid_is_read_and_any_other_is_not(void **state)
{
    static const struct line_case cases[] = {
        {"4,812,9023811,-;NVRM: Xid (PCI:0000:3b:00): 79, pid='<unknown>', name=<unknown>, GPU has "
         "fallen off the bus.",
         79, 812, -1, "00000000:3B:00.0"},
        {"4,1,2,-,caller=T1;NVRM: Xid (PCI:0000:c1:00 GPU-I:05): 94, pid=7194, name=python3", 94, 1,
         5, "00000000:C1:00.0"},
        {"6,7,8,c;NVRM: Xid (PCI:0001:0a:1f): 149, NETIR_LINK_EVT  Fatal XC0 i0 Link 00", 149, 7,
         -1, "00000001:0A:1F.0"},
        {"4,2,3,-;NVRM: Xid (0000:03:00): 13, 0003 00000000", 13, 2, -1, "00000000:03:00.0"},
        {"4,2,3,-;NVRM: Xid (PCI:0000:03:00.0): 31, pid=1", 31, 2, -1, "00000000:03:00.0"},
        {"4,2,3,-;NVRM: GPU at PCI:0000:06:00: GPU-8c1f", -1, 0, 0, NULL},
        {"4,2,3,-;nvidia-nvswitch0: SXid (PCI:0000:00:00.0): 20034, Fatal", -1, 0, 0, NULL},
        {"4,2,3,-;a program says NVRM: Xid (PCI:0000:3b:00): 79,", -1, 0, 0, NULL},
        {"4,2,3,-;NVRM: Xid (PCI:0000:3b:00): ", -1, 0, 0, NULL},
        {"4,2,3,-;NVRM: Xid (PCI:0000:3b:00 GPU-I:): 48, ", -1, 0, 0, NULL},
        {"4,2,3,-;NVRM: Xid (PCI:123456789:3b:00): 48, ", -1, 0, 0, NULL},
        {"4,x,3,-;NVRM: Xid (PCI:0000:3b:00): 48, ", -1, 0, 0, NULL},
        {"4;NVRM: Xid (PCI:0000:3b:00): 48, ", -1, 0, 0, NULL},
        {"NVRM: Xid (PCI:0000:3b:00): 48, ", -1, 0, 0, NULL},
        {" SUBSYSTEM=pci", -1, 0, 0, NULL},
        {"", -1, 0, 0, NULL},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct kernel_xid x = {.xid = -1};
        bool is_read = kernel_xid_parse(str_of(cases[i].line), &x);

        if (is_read != (cases[i].xid >= 0))
            fail_msg("%s", cases[i].line);
        assert_int_equal(x.xid, cases[i].xid);
        if (!is_read)
            continue;
        assert_int_equal(x.seq, cases[i].seq);
        assert_int_equal(x.instance, cases[i].instance);
        assert_true(kernel_xid_is_of(&x, cases[i].pci));
        assert_false(kernel_xid_is_of(&x, "00000000:FF:00.0"));
        assert_false(kernel_xid_is_of(&x, ""));
    }
}

static void an_nvlink_error_asks_for_what_its_line_says(void **state)
{
    static const struct {
        const char *text;
        int action; /* -1: the table has no such line */
    } cases[] = {
        {"144, SAW_MVB Fatal XC0 i0 Link 03 (0x00000001 0x00000002 0x0 0x0 0x0 0x0)", XID_DO_RESET},
        {"144, SAW_MVB Nonfatal XC0 i0 Link 03 (0x00000001 0x00000001 0x0)", XID_DO_LOG},
        {"144, pid=7, name=a b, SAW_MVB  Nonfatal XC0 i0 Link 03 (0x00000021 0x00000004)",
         XID_DO_LOG},
        {"149, NETIR_BER_EVENT Nonfatal XC0 i0 Link 00 (0x00000013 0x00000000)", XID_DO_LOG},
        {"149, NETIR_INT Fatal XC0 i0 Link 00 (0x00000018 0x00000000)", XID_DO_RESET},
        {"149, NETIR_INT Fatal XC0 i0 Link 00 (0x00000018 0x00000099)", -1},
        {"149, OTHER Fatal XC0 i0 Link 00 (0x00000018 0x00000000)", -1},
        {"149, NETIR_INT Fatal XC0 i0 Link 00", -1},
        {"149, NETIR_INT Fatal (", -1},
        {"149", -1},
        {"79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.", -1},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        enum xid_action action = XID_DO_NOTHING;
        bool is_found = nvlink_error_find(str_of(cases[i].text), &action);

        if ((is_found ? (int)action : -1) != cases[i].action)
            fail_msg("%s: %d", cases[i].text, is_found ? (int)action : -1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_about_an_xid_is_read_and_any_other_is_not),
        cmocka_unit_test(an_nvlink_error_asks_for_what_its_line_says),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
