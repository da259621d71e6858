/* test_page_logins.c - links, sessions, and the guards of requests */

#include "page/guard.h"
#include "page/logins.h"
#include "test.h"

static void count_up(void *arg, void *ret, size_t size)
{
    unsigned char *n = arg;

    memset(ret, ++*n, size);
}

struct fixture {
    unsigned char random;
    struct logins *logins;
    struct http_header headers[4];
    struct api_request request;
};

static void begin(struct fixture *f)
{
    *f = (struct fixture){.request = {.method = "POST", .peer = {.is_unix = true, .uid = 1000}}};
    f->logins = logins_new(count_up, &f->random);
    f->request.headers = f->headers;
}

static void end(struct fixture *f)
{
    logins_free(f->logins);
}

static void give(struct fixture *f, const char *name, const char *value)
{
    f->headers[f->request.n_headers++] = (struct http_header){.name = name, .value = value};
}

static int open_with(struct fixture *f, const char *key, int64_t now_ns)
{
    char cookie[LOGIN_KEY_SIZE];
    AUTO(err_freep) struct err *e = logins_open(f->logins, key, now_ns, cookie);

    return e ? err_http(e) : 200;
}

static void a_link_makes_one_session_for_its_caller(void **state)
{
    const struct login *login;
    char key[LOGIN_KEY_SIZE];
    char cookie[LOGIN_KEY_SIZE];
    struct fixture f;

    (void)state;
    begin(&f);
    give(&f, "authorization", "Bearer t");
    logins_make_link(f.logins, &f.request, "ann", 0, key);
    assert_int_equal(strlen(key), LOGIN_KEY_SIZE - 1);
    assert_null(logins_open(f.logins, key, 1, cookie));
    assert_string_not_equal(key, cookie);
    assert_int_equal(open_with(&f, key, 2), 403);
    login = logins_find(f.logins, str_of(cookie), 3);
    assert_non_null(login);
    assert_string_equal(login->who.user, "ann");
    assert_string_equal(login->who.authorization, "Bearer t");
    assert_true(login->who.is_unix);
    assert_int_equal(login->who.uid, 1000);
    assert_null(logins_find(f.logins, str_of(key), 3));
    assert_null(logins_find(f.logins, (struct str){0}, 3));
    logins_close(f.logins, login->id);
    assert_null(logins_find(f.logins, str_of(cookie), 3));
    end(&f);
}

static void links_and_sessions_expire(void **state)
{
    char key[LOGIN_KEY_SIZE];
    char cookie[LOGIN_KEY_SIZE];
    struct fixture f;

    (void)state;
    begin(&f);
    logins_make_link(f.logins, &f.request, "ann", 0, key);
    assert_int_equal(open_with(&f, key, LOGIN_LINK_NS), 403);
    logins_make_link(f.logins, &f.request, "ann", 0, key);
    assert_null(logins_open(f.logins, key, LOGIN_LINK_NS - 1, cookie));
    assert_non_null(logins_find(f.logins, str_of(cookie), LOGIN_LINK_NS - 2 + LOGIN_LIFE_NS));
    assert_null(logins_find(f.logins, str_of(cookie), LOGIN_LINK_NS - 1 + LOGIN_LIFE_NS));
    end(&f);
}

static void the_oldest_link_gives_way(void **state)
{
    char first[LOGIN_KEY_SIZE];
    char key[LOGIN_KEY_SIZE];
    struct fixture f;

    (void)state;
    begin(&f);
    logins_make_link(f.logins, &f.request, "ann", 0, first);
    for (int i = 0; i < LOGIN_LINKS_MAX; i++)
        logins_make_link(f.logins, &f.request, "ann", 0, key);
    assert_int_equal(open_with(&f, first, 1), 403);
    assert_int_equal(open_with(&f, key, 1), 200);
    end(&f);
}

static void only_names_of_this_machine_are_hosts(void **state)
{
    static const struct {
        const char *host; /* NULL: none */
        bool is_good;
    } cases[] = {
        {"127.0.0.1:7480", true},
        {"127.0.0.1", true},
        {"[::1]:7480", true},
        {"localhost:8080", true},
        {"Node-1:7480", true},
        {"evil.example:7480", false},
        {"127.0.0.1.evil.example", false},
        {"localhost.evil.example", false},
        {"node-1.evil.example", false},
        {"", false},
        {NULL, false},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct fixture f;
        AUTO(err_freep) struct err *e = NULL;

        begin(&f);
        if (cases[i].host)
            give(&f, "host", cases[i].host);
        e = guard_check_host(&f.request, "node-1");
        if (cases[i].is_good != (e == NULL))
            fail_msg("host %s", cases[i].host ? cases[i].host : "(none)");
        end(&f);
    }
}

static void changes_come_from_this_page_with_a_header(void **state)
{
    static const struct {
        const char *origin; /* NULL: none */
        bool has_header;
        bool is_good;
    } cases[] = {
        {"http://127.0.0.1:7480", true, true},
        {"https://127.0.0.1:7480", true, true}, /* a proxy ends TLS */
        {"http://127.0.0.1:7480", false, false},
        {"http://127.0.0.1:9000", true, false},
        {"http://evil.example", true, false},
        {"null", true, false},
        {"127.0.0.1:7480", true, false},
        {NULL, true, false},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct fixture f;
        AUTO(err_freep) struct err *e = NULL;

        begin(&f);
        give(&f, "host", "127.0.0.1:7480");
        if (cases[i].origin)
            give(&f, "origin", cases[i].origin);
        if (cases[i].has_header)
            give(&f, GUARD_HEADER, "1");
        e = guard_check_change(&f.request);
        if (cases[i].is_good != (e == NULL))
            fail_msg("case %zu", i);
        end(&f);
    }
}

static void a_cookie_is_found_by_its_whole_name(void **state)
{
    static const struct {
        const char *cookie;
        const char *value; /* NULL: none */
    } cases[] = {
        {"mete_1=abc", "abc"},
        {"a=b; mete_1=abc; c=d", "abc"},
        {"xmete_1=abc", NULL},
        {"mete_1=abc; mete_1=d", NULL},
        {"mete_12=abc", NULL},
        {"mete_1", NULL},
        {"", NULL},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct fixture f;
        struct str found;

        begin(&f);
        give(&f, "cookie", cases[i].cookie);
        found = guard_cookie(&f.request, "mete_1");
        if (cases[i].value ? !str_equal(found, str_of(cases[i].value)) : found.at != NULL)
            fail_msg("cookie %s", cases[i].cookie);
        end(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_link_makes_one_session_for_its_caller),
        cmocka_unit_test(links_and_sessions_expire),
        cmocka_unit_test(the_oldest_link_gives_way),
        cmocka_unit_test(only_names_of_this_machine_are_hosts),
        cmocka_unit_test(changes_come_from_this_page_with_a_header),
        cmocka_unit_test(a_cookie_is_found_by_its_whole_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
