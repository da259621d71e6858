/* test_image_user.c - tests of the users of images */

#include "base/mem.h"
#include "node/image/image_user.h"
#include "test.h"

static const char passwd[] = "root:x:0:0:root:/root:/bin/sh\n"
                             "# not one\n"
                             "broken:x:abc:0::/:/bin/sh\n"
                             "short:x\n"
                             "web:x:33:34:www:/var/www:/bin/false\n"
                             "1000:x:77:78::/odd:\n"
                             "relative:x:50:50::home:\n"
                             "huge:x:4294967295:0::/:\n"
                             "far:x:70000:70000::/far:\n"
                             "last:x:99:98::/last:/bin/sh"; /* no line end */
static const char group[] = "root:x:0:\n"
                            "web:x:34:\n"
                            "video:x:44:web,last\n"
                            "render:x:107:last,web\n"
                            "almost:x:45:webb,we\n"
                            "far:x:70001:web\n"
                            ":x:1:web\n";

static void finds_whom_a_container_runs_as(void **state)
{
    static const struct {
        const char *user;
        int64_t uid;
        int64_t gid;
        const char *want; /* uid:gid home [groups], or the error */
    } cases[] = {
        {NULL, -1, -1, "0:0 /root []"},
        {"", -1, -1, "0:0 /root []"},
        {"web", -1, -1, "33:34 /var/www [44 107]"},
        {"web:video", -1, -1, "33:44 /var/www [44 107]"},
        {"web:7", -1, -1, "33:7 /var/www [44 107]"},
        {"33", -1, -1, "33:34 /var/www [44 107]"},
        {"34", -1, -1, "34:0 / []"},
        {"34:root", -1, -1, "34:0 / []"},
        {"1000", -1, -1, "77:78 /odd []"}, /* a name before a number */
        {"relative", -1, -1, "50:50 / []"},
        {"last", -1, -1, "99:98 /last [44 107]"},
        {"web", 5, -1, "5:0 / []"},
        {"web:video", 99, -1, "99:98 /last [44 107]"},
        {"web", -1, 8, "33:8 /var/www [44 107]"},
        {"", 0, 0, "0:0 /root []"},
        {"nobody", -1, -1, "the image runs as user 'nobody', which is not in its /etc/passwd"},
        {"broken", -1, -1, "the image runs as user 'broken', which is not in its /etc/passwd"},
        {"short", -1, -1, "the image runs as user 'short', which is not in its /etc/passwd"},
        {"huge", -1, -1, "the image runs as user 'huge', which is not in its /etc/passwd"},
        {"web:none", -1, -1, "the image runs as group 'none', which is not in its /etc/group"},
        {"-1", -1, -1, "the image runs as user '-1', which is not in its /etc/passwd"},
        {"4294967295", -1, -1,
         "the image runs as user '4294967295', which is not in its /etc/passwd"},
        {"far", -1, -1,
         "the container would run as 70000:70000, and the ids of its user namespace end at 65535"},
        {"", 65536, -1,
         "the container would run as 65536:0, and the ids of its user namespace end at 65535"},
        {"", 65535, 65535, "65535:65535 / []"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        const struct image_user ask = {.user = cases[i].user,
                                       .uid = cases[i].uid,
                                       .gid = cases[i].gid,
                                       .id_max = IMAGE_ID_MAX,
                                       .has_image_groups = true};
        AUTO_FREE struct host_user *found = mem_alloc(sizeof(*found));
        AUTO(err_freep)
        struct err *e = image_user_find(&ask, STR(passwd), STR(group), found);
        AUTO(buf_done) struct buf got = {0};

        if (e) {
            assert_string_equal(err_message(e), cases[i].want);
            assert_int_equal(err_code(e), ERR_INVALID);
            continue;
        }
        buf_printf(&got, "%u:%u %s [", found->uid, found->gid, found->home);
        for (size_t k = 0; k < found->n_groups; k++)
            buf_printf(&got, "%s%u", k ? " " : "", found->groups[k]);
        buf_add_char(&got, ']');
        assert_string_equal(got.at, cases[i].want);
    }
}

static void strict_leaves_the_images_groups_out(void **state)
{
    const struct image_user ask = {.user = "web", .uid = -1, .gid = -1, .id_max = IMAGE_ID_MAX};
    AUTO_FREE struct host_user *found = mem_alloc(sizeof(*found));
    AUTO(err_freep) struct err *e = image_user_find(&ask, STR(passwd), STR(group), found);

    (void)state;
    assert_null(e);
    assert_int_equal(found->n_groups, 0);
}

static void an_image_may_have_neither_file(void **state)
{
    const struct image_user number = {.user = "12:13", .uid = -1, .gid = -1, .id_max = 65535};
    const struct image_user name = {.user = "root", .uid = -1, .gid = -1, .id_max = 65535};
    AUTO_FREE struct host_user *found = mem_alloc(sizeof(*found));
    AUTO(err_freep)
    struct err *e = image_user_find(&number, (struct str){0}, (struct str){0}, found);
    AUTO(err_freep) struct err *bad = NULL;

    (void)state;
    assert_null(e);
    assert_int_equal(found->uid, 12);
    assert_int_equal(found->gid, 13);
    assert_string_equal(found->home, "/");
    bad = image_user_find(&name, (struct str){0}, (struct str){0}, found);
    assert_non_null(bad);
    assert_int_equal(found->uid, 12); /* untouched */
}

/* One group too many is an error, not cut off. */
static void too_many_groups_are_an_error(void **state)
{
    const struct image_user ask = {
        .user = "u", .uid = -1, .gid = -1, .id_max = IMAGE_ID_MAX, .has_image_groups = true};
    AUTO_FREE struct host_user *found = mem_alloc(sizeof(*found));
    AUTO(buf_done) struct buf text = {0};
    AUTO(err_freep) struct err *e = NULL;

    (void)state;
    for (int i = 0; i <= HOST_GROUPS_MAX; i++)
        buf_printf(&text, "g%d:x:%d:u\n", i, 1000 + i);
    e = image_user_find(&ask, STR("u:x:1:1::/:\n"), (struct str){text.at, text.size}, found);
    assert_non_null(e);
    assert_string_equal(err_message(e), "user u is in more than 256 groups of the image's "
                                        "/etc/group");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_whom_a_container_runs_as),
        cmocka_unit_test(strict_leaves_the_images_groups_out),
        cmocka_unit_test(an_image_may_have_neither_file),
        cmocka_unit_test(too_many_groups_are_an_error),
    };

    return cmocka_run_group_tests_name("image_user", tests, NULL, NULL);
}
