/* test_node_userns.c - tests of user namespaces and idmapped mounts */

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "node/image/images.h"
#include "node/runtime/userns.h"
#include "test.h"

static void take(struct userns_ranges *r, const char *pod, uint32_t want)
{
    AUTO(err_freep) struct err *e = NULL;
    uint32_t base = 0;

    e = userns_take(r, pod, &base);
    assert_null(e);
    assert_int_equal(base, want);
}

static void pods_have_ranges_of_their_own(void **state)
{
    struct userns_ranges *r = userns_new();

    (void)state;
    take(r, "a", USERNS_FIRST);
    take(r, "b", USERNS_FIRST + USERNS_SIZE);
    take(r, "a", USERNS_FIRST);
    userns_release(r, "a");
    userns_release(r, "unknown");
    take(r, "c", USERNS_FIRST + 2 * USERNS_SIZE); /* the released range is not reused at once */
    userns_free(r);
}

static void all_ranges_are_given_then_refused_then_given_again(void **state)
{
    struct userns_ranges *r = userns_new();
    AUTO(err_freep) struct err *e = NULL;
    uint32_t base = 7;

    (void)state;
    for (unsigned i = 0; i < USERNS_RANGES; i++) {
        AUTO_FREE char *pod = mem_format("pod-%u", i);

        take(r, pod, USERNS_FIRST + i * USERNS_SIZE);
    }
    e = userns_take(r, "one more", &base);
    assert_non_null(e);
    assert_int_equal(err_code(e), ERR_UNAVAILABLE);
    assert_string_equal(err_message(e), "all 4096 user id ranges of this machine are in use");
    assert_int_equal(base, 7);
    userns_release(r, "pod-77");
    take(r, "one more", USERNS_FIRST + 77 * USERNS_SIZE);
    userns_free(r);
}

static void adoption_refuses_what_is_not_a_free_range(void **state)
{
    static const struct {
        const char *pod;
        uint32_t base;
        const char *message; /* NULL: adopted */
    } cases[] = {
        {"a", USERNS_FIRST + 5 * USERNS_SIZE, NULL},
        {"a", USERNS_FIRST + 5 * USERNS_SIZE, NULL},
        {"a", USERNS_FIRST + 6 * USERNS_SIZE,
         "user id range 1879506944: pod a has 1879441408 already"},
        {"b", USERNS_FIRST + 5 * USERNS_SIZE, "user id range 1879441408: another pod has it"},
        {"b", USERNS_FIRST + 1, "user id range 1879113729 is not one of the node's"},
        {"b", 0, "user id range 0 is not one of the node's"},
        {"b", USERNS_FIRST + (uint32_t)USERNS_RANGES * USERNS_SIZE,
         "user id range 2147549184 is not one of the node's"},
        {"b", IMAGE_UID_BASE, NULL}, /* shared by all pods without idmapped mounts */
    };
    struct userns_ranges *r = userns_new();

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO(err_freep) struct err *e = userns_adopt(r, cases[i].pod, cases[i].base);

        assert_int_equal(e == NULL, cases[i].message == NULL);
        if (e)
            assert_string_equal(err_message(e), cases[i].message);
    }
    take(r, "a", USERNS_FIRST + 5 * USERNS_SIZE);
    take(r, "b", USERNS_FIRST);
    userns_free(r);
}

static void one_range_serves_all_where_owners_cannot_be_shifted(void **state)
{
    struct userns_ranges *r = userns_new();

    (void)state;
    userns_share(r);
    take(r, "a", IMAGE_UID_BASE);
    take(r, "b", IMAGE_UID_BASE);
    userns_free(r);
}

static void write_owned(const char *path, uid_t uid)
{
    AUTO(err_freep) struct err *e = file_write(path, 0644, STR("x"));

    assert_null(e);
    assert_int_equal(chown(path, uid, uid), 0);
}

static uid_t owner(const char *path)
{
    struct stat st = {0};

    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_uid, st.st_gid);
    return st.st_uid;
}

static void a_mount_shifts_owners_both_ways(void **state)
{
    char dir[] = "/tmp/mete-userns-XXXXXX";
    AUTO_FREE char *source = NULL;
    AUTO_FREE char *target = NULL;
    AUTO_FREE char *lower = NULL;
    AUTO_FREE char *upper = NULL;
    AUTO_FREE char *stray = NULL;
    struct err *e = NULL;

    (void)state;
    if (geteuid() != 0)
        SKIP("not root");
    assert_non_null(mkdtemp(dir));
    source = mem_format("%s/source", dir);
    target = mem_format("%s/target", dir);
    lower = mem_format("%s/f", source);
    stray = mem_format("%s/stray", source);
    upper = mem_format("%s/f", target);
    assert_int_equal(mkdir(source, 0755), 0);
    assert_int_equal(mkdir(target, 0755), 0);
    write_owned(lower, IMAGE_UID_BASE + 1000);
    write_owned(stray, 12);
    e = userns_mount_idmapped(source, target, IMAGE_UID_BASE, USERNS_FIRST, USERNS_SIZE);
    if (e && err_code(e) == ERR_UNAVAILABLE) {
        assert_false(userns_can_idmap(dir));
    } else {
        AUTO_FREE char *unmapped = mem_format("%s/stray", target);

        assert_null(e);
        assert_true(userns_can_idmap(dir));
        assert_int_equal(owner(upper), USERNS_FIRST + 1000);
        assert_int_equal(owner(unmapped), 65534); /* the kernel's id for unmapped ids */
        assert_int_equal(chown(upper, USERNS_FIRST + 5, USERNS_FIRST + 5), 0);
        assert_int_equal(owner(lower), IMAGE_UID_BASE + 5);
        assert_int_equal(chown(upper, 0, 0), -1); /* the machine's root has no id there */
        assert_int_equal(errno, EOVERFLOW);
        assert_int_equal(umount2(target, MNT_DETACH), 0);
    }
    err_free(e);
    e = dir_remove(dir);
    assert_null(e);
}

static void a_source_that_is_not_there_is_said(void **state)
{
    AUTO(err_freep) struct err *e = NULL;

    (void)state;
    if (geteuid() != 0)
        SKIP("not root");
    e = userns_mount_idmapped("/nonexistent/x", "/tmp", 0, USERNS_FIRST, 1);
    assert_non_null(e);
    assert_int_equal(err_code(e), ERR_NOT_FOUND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pods_have_ranges_of_their_own),
        cmocka_unit_test(all_ranges_are_given_then_refused_then_given_again),
        cmocka_unit_test(adoption_refuses_what_is_not_a_free_range),
        cmocka_unit_test(one_range_serves_all_where_owners_cannot_be_shifted),
        cmocka_unit_test(a_mount_shifts_owners_both_ways),
        cmocka_unit_test(a_source_that_is_not_there_is_said),
    };

    return cmocka_run_group_tests_name("node_userns", tests, NULL, NULL);
}
