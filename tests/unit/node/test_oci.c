/* test_oci.c - choice and checks of the OCI runtime */

#include "base/str.h"
#include "node/runtime/oci.h"
#include "test.h"

static void old_runtimes_are_refused_unless_their_package_is_mended(void **state)
{
    static const struct {
        enum oci_kind kind;
        const char *output;
        const char *package;
        const char *want; /* the version, or the error */
    } cases[] = {
        {OCI_CRUN, "crun version 1.8.1\ncommit: f8a\n", "1.8.1-1+deb12u1", "1.8.1"},
        {OCI_CRUN, "crun version 1.14.4\n", "", "1.14.4"},
        {OCI_CRUN, "crun version 2.0\n", "", "2.0"},
        {OCI_CRUN, "crun version 1.8\n", "1.8-1",
         "crun 1.8 is too old: older versions are not tested; want 1.8.1 or newer"},
        {OCI_RUNC, "runc version 1.1.12\nspec: 1.0.2\n", "", "1.1.12"},
        {OCI_RUNC, "runc version 1.3.0-rc.2\n", "", "1.3.0-rc.2"},
        {OCI_RUNC, "runc version 1.1.5+ds1\ncommit: 1.1.5+ds1-1+deb12u1\n", "1.1.5+ds1-1+deb12u1",
         "1.1.5+ds1"},
        {OCI_RUNC, "runc version 1.1.5+ds1\n", "1.1.5+ds1-1+deb12u2", "1.1.5+ds1"},
        {OCI_RUNC, "runc version 1.1.5+ds1\n", "1.1.5+ds1-1",
         "runc 1.1.5+ds1 is too old: older versions let containers escape by an open descriptor "
         "(CVE-2024-21626); want 1.1.12 or newer"},
        {OCI_RUNC, "runc version 1.1.5\n", "",
         "runc 1.1.5 is too old: older versions let containers escape by an open descriptor "
         "(CVE-2024-21626); want 1.1.12 or newer"},
        {OCI_RUNC, "runc version 1.1.12-rc1\n", "",
         "runc 1.1.12-rc1 is too old: older versions let containers escape by an open descriptor "
         "(CVE-2024-21626); want 1.1.12 or newer"},
        {OCI_RUNC, "runc version unknown\n", "", "runc prints no version"},
        {OCI_RUNC, "runc version \n", "", "runc prints no version"},
        {OCI_RUNC, "crun version 1.8.1\n", "", "runc prints no version"},
        {OCI_CRUN, "", "", "crun prints no version"},
        {OCI_CRUN, "crun version 99999999999999999999.1.1\n", "", "crun prints no version"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        char version[OCI_VERSION_SIZE] = "untouched";
        AUTO(err_freep)
        struct err *e =
            oci_check_version(cases[i].kind, cases[i].output, cases[i].package, version);

        assert_string_equal(e ? err_message(e) : version, cases[i].want);
        if (e)
            assert_string_equal(version, "untouched");
    }
}

static void an_intent_without_a_runtime_is_of_crun(void **state)
{
    (void)state;
    assert_int_equal(oci_kind_of(NULL), OCI_CRUN);
    assert_int_equal(oci_kind_of("crun"), OCI_CRUN);
    assert_int_equal(oci_kind_of("runc"), OCI_RUNC);
    assert_string_equal(oci_name(OCI_RUNC), "runc");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(old_runtimes_are_refused_unless_their_package_is_mended),
        cmocka_unit_test(an_intent_without_a_runtime_is_of_crun),
    };

    return cmocka_run_group_tests_name("oci", tests, NULL, NULL);
}
