/* test_seccomp.c - the default seccomp profile: each system call, with and without capabilities */

#include <errno.h>

#include "base/mem.h"
#include "model/capability.h"
#include "node/spec/seccomp.h"
#include "node/spec/seccomp_table.h"
#include "test.h"

static json_t *profile_with(const char *capability)
{
    AUTO(json_freep) json_t *list = json_array();

    if (capability)
        (void)json_array_append_new(list, json_string(capability));
    return seccomp_default(list);
}

static bool names(const json_t *rule, const char *name)
{
    const json_t *list = json_object_get(rule, "names");

    for (size_t i = 0; i < json_array_size(list); i++)
        if (text_equal(json_string_value(json_array_get(list, i)), name))
            return true;
    return false;
}

/* The errno of a call regardless of its arguments; 0: allowed. */
static int64_t fate(const json_t *profile, const char *name)
{
    const json_t *rules = json_object_get(profile, "syscalls");

    for (size_t i = 0; i < json_array_size(rules); i++) {
        const json_t *rule = json_array_get(rules, i);

        if (names(rule, name) && json_array_size(json_object_get(rule, "args")) == 0)
            return text_equal(json_text(rule, "action"), "SCMP_ACT_ALLOW")
                       ? 0
                       : json_int(rule, "errnoRet", -1);
    }
    return json_int(profile, "defaultErrnoRet", -1);
}

static void decides_each_call_by_the_capabilities(void **state)
{
    static const struct {
        const char *capability;
        const char *call;
        int64_t fate;
    } cases[] = {
        {NULL, "read", 0},
        {NULL, "execve", 0},
        {NULL, "ptrace", 0},
        {NULL, "set_mempolicy", 0}, /* NUMA of own memory, as GPU programs do */
        {NULL, "unshare", EPERM},
        {NULL, "mount", EPERM},
        {NULL, "keyctl", EPERM},
        {NULL, "bpf", EPERM},
        {NULL, "io_uring_setup", EPERM},
        {NULL, "userfaultfd", EPERM},
        {NULL, "chroot", ENOSYS},
        {NULL, "clone3", ENOSYS},
        {NULL, "a_call_of_the_next_kernel", ENOSYS},
        {"CAP_SYS_CHROOT", "chroot", 0},
        {"CAP_SYS_ADMIN", "mount", 0},
        {"CAP_SYS_ADMIN", "clone3", 0},
        {"CAP_SYS_ADMIN", "clone", 0},
        {"CAP_SYS_ADMIN", "keyctl", EPERM},
        {"CAP_SYS_ADMIN", "init_module", EPERM},
        {"CAP_SYS_MODULE", "init_module", 0},
        {"CAP_BPF", "bpf", 0},
        {"CAP_BPF", "mount", EPERM},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO(json_freep) json_t *profile = profile_with(cases[i].capability);

        if (fate(profile, cases[i].call) != cases[i].fate)
            fail_msg("%s with %s", cases[i].call,
                     cases[i].capability ? cases[i].capability : "none");
    }
}

/* The runtime refuses a profile with two rules for one call, so no container would start. */
static void no_call_has_two_fates(void **state)
{
    (void)state;
    for (size_t n = 0; n <= CAPABILITY_COUNT; n++) {
        AUTO(json_freep)
        json_t *profile = profile_with(n < CAPABILITY_COUNT ? capability_name(n) : NULL);
        AUTO(json_freep) json_t *seen = json_object();
        const json_t *rules = json_object_get(profile, "syscalls");

        for (size_t i = 0; i < json_array_size(rules); i++) {
            const json_t *rule = json_array_get(rules, i);
            const json_t *list = json_object_get(rule, "names");
            bool is_any = json_array_size(json_object_get(rule, "args")) == 0;

            for (size_t k = 0; k < json_array_size(list); k++) {
                const char *name = json_string_value(json_array_get(list, k));
                const char *was = json_text(seen, name);

                if (was && (is_any || text_equal(was, "any")))
                    fail_msg("%s, with capability %zu", name, n);
                json_put_text(seen, name, is_any ? "any" : "some");
            }
        }
    }
}

static void the_flags_of_clone_are_looked_at(void **state)
{
    AUTO(json_freep) json_t *profile = profile_with(NULL);
    const json_t *rules = json_object_get(profile, "syscalls");
    int n_allowed = 0;
    uint64_t refused = 0;

    (void)state;
    for (size_t i = 0; i < json_array_size(rules); i++) {
        const json_t *rule = json_array_get(rules, i);
        const json_t *want = json_array_get(json_object_get(rule, "args"), 0);

        if (!names(rule, "clone"))
            continue;
        assert_non_null(want);
        assert_string_equal(json_text(want, "op"), "SCMP_CMP_MASKED_EQ");
        if (text_equal(json_text(rule, "action"), "SCMP_ACT_ALLOW")) {
            n_allowed++;
            assert_int_equal(json_int(want, "value", -1), 0x7e020000);
            assert_int_equal(json_int(want, "valueTwo", -1), 0);
        } else {
            assert_int_equal(json_int(rule, "errnoRet", 0), EPERM);
            refused |= (uint64_t)json_int(want, "valueTwo", 0);
        }
    }
    assert_int_equal(n_allowed, 1);
    assert_int_equal(refused, 0x7e020000);
}

static void capabilities_have_their_kernel_numbers(void **state)
{
    static const struct {
        const char *name;
        size_t number;
        enum capability_class class;
    } cases[] = {
        {"CHOWN", 0, CAPABILITY_DEFAULT},
        {"CAP_CHOWN", 0, CAPABILITY_DEFAULT},
        {"NET_ADMIN", 12, CAPABILITY_EXTRA},
        {"SYS_ADMIN", 21, CAPABILITY_EXTRA},
        {"CAP_MKNOD", 27, CAPABILITY_DEFAULT},
        {"CHECKPOINT_RESTORE", 40, CAPABILITY_EXTRA},
        {"ALL", CAPABILITY_COUNT, CAPABILITY_ALL},
        {"chown", CAPABILITY_COUNT, CAPABILITY_UNKNOWN},
        {"CAP_", CAPABILITY_COUNT, CAPABILITY_UNKNOWN},
        {"", CAPABILITY_COUNT, CAPABILITY_UNKNOWN},
        {NULL, CAPABILITY_COUNT, CAPABILITY_UNKNOWN},
    };
    uint64_t set = 0;

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        assert_int_equal(capability_number(cases[i].name), cases[i].number);
        assert_int_equal(capability_class(cases[i].name), cases[i].class);
    }
    for (size_t i = 0; i < CAPABILITY_COUNT; i++)
        set |= (uint64_t)capability_is_default(i) << i;
    assert_int_equal(set, 0xa80425fb); /* Docker's, as /proc/PID/status shows it */
    assert_null(capability_name(CAPABILITY_COUNT));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(decides_each_call_by_the_capabilities),
        cmocka_unit_test(no_call_has_two_fates),
        cmocka_unit_test(the_flags_of_clone_are_looked_at),
        cmocka_unit_test(capabilities_have_their_kernel_numbers),
    };

    return cmocka_run_group_tests_name("seccomp", tests, NULL, NULL);
}
