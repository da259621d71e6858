/* test_api_auth.c - identities by token, uid and certificate */

#include <stdio.h>
#include <unistd.h>

#include "access/digest.h"
#include "access/users.h"
#include "api_world.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/stamp.h"
#include "sim_loop.h"
#include "test.h"

static char *token_hash(const char *token)
{
    AUTO(buf_done) struct buf b = {0};
    uint8_t digest[SHA256_SIZE];

    digest_sha256(str_of(token), digest);
    for (size_t i = 0; i < sizeof(digest); i++)
        buf_printf(&b, "%02x", digest[i]);
    return buf_steal(&b);
}

static struct auth *auth_with(struct world *w, const char *text)
{
    const struct auth_options o = {.loop = w->loop};
    struct users *users = NULL;
    struct auth *a = NULL;

    assert_null(auth_new(&o, &a));
    world_must(users_parse("users.yaml", str_of(text), &users));
    auth_take_users(a, users);
    return a;
}

struct expected {
    const char *user; /* NULL: refused */
    bool is_admin;
    const char *node;
    int64_t host_uid;
    size_t n_grants;
};

static void expect(struct auth *a, const struct api_request *r, struct expected want)
{
    struct arena *arena = arena_new();
    struct identity who = {0};
    AUTO(err_freep) struct err *e = auth_identify(a, arena, r, &who);

    if (!want.user) {
        assert_non_null(e);
        assert_int_equal(err_http(e), 401);
    } else {
        assert_null(e);
        assert_string_equal(who.user, want.user);
        assert_int_equal(who.is_admin, want.is_admin);
        assert_int_equal(who.host_uid, want.host_uid);
        assert_int_equal(who.n_grants, want.n_grants);
        assert_string_equal(who.node ? who.node : "", want.node ? want.node : "");
        assert_string_equal(who.groups[who.n_groups - 1], "system:authenticated");
    }
    arena_free(arena);
}

static void knows_who_asks(void **state)
{
    AUTO_FREE char *person = token_hash("token-ann");
    AUTO_FREE char *node = token_hash("token-node");
    AUTO_FREE char *old = token_hash("token-old");
    AUTO_FREE char *text =
        mem_format("users:\n"
                   "- {name: ann, tokenSha256: %s, hostUid: 1000, uid: 1000,\n"
                   "   roles: [{role: edit, namespace: team-a}, {role: view, namespace: \"*\"}]}\n"
                   "- {name: \"system:node:n1\", groups: [\"system:nodes\"], tokenSha256: %s}\n"
                   "- {name: old, tokenSha256: %s, tokenExpires: \"2025-01-01T00:00:00Z\"}\n"
                   "- {name: boss, roles: [{role: cluster-admin}]}\n",
                   person, node, old);
    const char *const masters[] = {"system:masters"};
    const char *const none[] = {NULL};
    struct http_header header = {.name = "authorization"};
    struct api_request by_token = {.headers = &header, .n_headers = 1};
    struct api_request by_uid = {.peer = {.is_unix = true}};
    struct api_request by_cert = {
        .peer = {.cert_user = "admin", .cert_groups = masters, .n_cert_groups = 1}};
    struct world w;
    struct auth *a;

    (void)state;
    world_init(&w, 1);
    a = auth_with(&w, text);
    header.value = "Bearer token-ann";
    expect(a, &by_token, (struct expected){.user = "ann", .host_uid = 1000, .n_grants = 2});
    header.value = "bearer token-node";
    expect(a, &by_token, (struct expected){.user = "system:node:n1", .node = "n1", .host_uid = -1});
    header.value = "Bearer token-old";
    expect(a, &by_token, (struct expected){0});
    header.value = "Bearer token-annx";
    expect(a, &by_token, (struct expected){0});
    header.value = "Bearer ";
    expect(a, &by_token, (struct expected){0});
    header.value = "Basic token-ann";
    expect(a, &by_token, (struct expected){0});
    /* The socket does not make up for a wrong token. */
    by_token.peer.is_unix = true;
    expect(a, &by_token, (struct expected){0});

    expect(a, &by_uid, (struct expected){.user = "root", .is_admin = true, .host_uid = 0});
    by_uid.peer.uid = 1000;
    expect(a, &by_uid, (struct expected){.user = "ann", .host_uid = 1000, .n_grants = 2});
    by_uid.peer.uid = 77;
    expect(a, &by_uid, (struct expected){.user = "uid:77", .host_uid = 77, .n_grants = 1});
    by_uid.peer.uid = UINT32_MAX;
    expect(a, &by_uid, (struct expected){0});

    expect(a, &by_cert, (struct expected){.user = "admin", .is_admin = true, .host_uid = 0});
    by_cert.peer = (struct api_peer){.cert_user = "boss", .cert_groups = none};
    expect(a, &by_cert,
           (struct expected){.user = "boss", .is_admin = true, .host_uid = -1, .n_grants = 1});
    by_cert.peer.cert_user = "system:node:n1"; /* the name alone does not make a node */
    expect(a, &by_cert, (struct expected){.user = "system:node:n1", .host_uid = -1});
    by_cert.peer.cert_user = NULL;
    expect(a, &by_cert, (struct expected){0});
    auth_free(a);
    world_done(&w);
}

struct directory {
    unsigned n_asked;
    const char *name; /* NULL: no user name exists */
};

static bool look_up(void *arg, uint32_t uid, char *ret, size_t ret_size)
{
    struct directory *d = arg;

    (void)uid;
    d->n_asked++;
    (void)snprintf(ret, ret_size, "%s", d->name ? d->name : "");
    return d->name != NULL;
}

/* A lookup may have to wait for a directory service. */
static void asks_for_the_name_of_a_uid_once_a_minute(void **state)
{
    struct directory d = {.name = "ann"};
    struct api_request r = {.peer = {.is_unix = true, .uid = 1000}};
    struct auth_options o = {.user_name = look_up, .arg = &d};
    struct world w;
    struct auth *a = NULL;

    (void)state;
    world_init(&w, 1);
    o.loop = w.loop;
    assert_null(auth_new(&o, &a));
    for (int i = 0; i < 3; i++)
        expect(a, &r, (struct expected){.user = "ann", .host_uid = 1000, .n_grants = 1});
    assert_int_equal(d.n_asked, 1);
    r.peer.uid = 1000 + 256; /* another uid in the same slot gets no name from it */
    d.name = NULL;
    for (int i = 0; i < 3; i++)
        expect(a, &r, (struct expected){.user = "uid:1256", .host_uid = 1256, .n_grants = 1});
    assert_int_equal(d.n_asked, 2);
    d.name = "bob";
    sim_loop_advance(w.loop, 61 * NS_PER_SEC);
    expect(a, &r, (struct expected){.user = "bob", .host_uid = 1256, .n_grants = 1});
    auth_free(a);
    world_done(&w);
}

static void write_users(const char *path, const char *name)
{
    AUTO_FREE char *text = mem_format("users: [{name: %s, uid: 7}]\n", name);

    assert_null(file_write(path, 0600, str_of(text)));
}

static void takes_each_change_of_the_users_file(void **state)
{
    static const char *const names[] = {"ann", "bob", "eve"}; /* equal sizes */
    AUTO_FREE char *path = mem_format("/tmp/test_api_auth.%d.yaml", (int)getpid());
    struct api_request r = {.peer = {.is_unix = true, .uid = 7}};
    struct auth_options o = {.users_file = path};
    struct world w;
    struct auth *a = NULL;

    (void)state;
    world_init(&w, 1);
    o.loop = w.loop;
    write_users(path, "old");
    assert_null(auth_new(&o, &a));
    for (size_t i = 0; i < COUNT(names); i++) {
        write_users(path, names[i]);
        sim_loop_advance(w.loop, 3 * NS_PER_SEC);
        expect(a, &r, (struct expected){.user = names[i], .host_uid = 7});
    }
    assert_int_equal(unlink(path), 0);
    sim_loop_advance(w.loop, 3 * NS_PER_SEC);
    expect(a, &r, (struct expected){.user = "uid:7", .host_uid = 7, .n_grants = 1});
    auth_free(a);
    world_done(&w);
}

static void note_revoked(void *arg, uint64_t credential)
{
    uint64_t *sum = arg;

    *sum += credential;
}

static uint64_t credential_of(struct auth *a, const char *token, const char *as)
{
    AUTO_FREE char *bearer = mem_format("Bearer %s", token);
    const struct http_header headers[] = {{"authorization", bearer}, {"impersonate-user", as}};
    const struct api_request r = {.headers = headers, .n_headers = as ? 2 : 1};
    struct arena *arena = arena_new();
    struct identity who = {0};

    assert_null(auth_identify(a, arena, &r, &who));
    arena_free(arena);
    return who.credential;
}

static struct users *users_with(const char *ann_token, const char *bob_token)
{
    AUTO_FREE char *first = token_hash(ann_token);
    AUTO_FREE char *second = token_hash(bob_token);
    AUTO_FREE char *text =
        mem_format("users: [{name: ann, tokenSha256: %s, roles: [{role: cluster-admin}]}, "
                   "{name: bob, tokenSha256: %s}, {name: eve, uid: 7}]",
                   first, second);
    struct users *users = NULL;

    world_must(users_parse("u", str_of(text), &users));
    return users;
}

static void tells_which_tokens_were_revoked(void **state)
{
    uint64_t revoked = 0;
    struct auth_options o = {.token_revoked = note_revoked, .revoked_arg = &revoked};
    struct world w;
    struct auth *a = NULL;
    struct users *none = NULL;
    uint64_t of_ann = 0;
    uint64_t of_bob = 0;

    (void)state;
    world_init(&w, 1);
    o.loop = w.loop;
    assert_null(auth_new(&o, &a));
    auth_take_users(a, users_with("token-1", "token-2"));
    of_ann = credential_of(a, "token-1", NULL);
    of_bob = credential_of(a, "token-2", NULL);
    assert_int_not_equal(of_ann, 0);
    assert_int_not_equal(of_ann, of_bob);
    assert_int_equal(credential_of(a, "token-1", "eve"), of_ann);
    auth_take_users(a, users_with("token-1", "token-2"));
    assert_int_equal(revoked, 0);
    auth_take_users(a, users_with("token-1", "token-3"));
    assert_int_equal(revoked, of_bob);
    revoked = 0;
    of_bob = credential_of(a, "token-3", NULL);
    world_must(users_parse("u", STR("users: []"), &none));
    auth_take_users(a, none);
    assert_int_equal(revoked, of_ann + of_bob);
    auth_free(a);
    world_done(&w);
}

static void says_what_is_wrong_with_a_users_file(void **state)
{
    static const struct {
        const char *text;
        const char *message;
    } cases[] = {
        {"user: []", "u: unknown key 'user'"},
        {"[]", "u: want a mapping"},
        {"users: {}", "u: users: want a list of at most 1024"},
        {"users: [{}]", "u: users[0]: name: want a text of 1 to 253 bytes"},
        {"users: [{name: a, rolse: []}]", "u: users[0]: unknown key 'rolse'"},
        {"users: [{name: a, tokenSha256: abc}]",
         "u: users[0]: tokenSha256: want 64 lower-case hexadecimal digits in quotes"},
        {"users: [{name: a, uid: -1}]", "u: users[0]: uid: want a uid from 0 to 4294967294"},
        {"users: [{name: a, hostUid: 4294967295}]",
         "u: users[0]: hostUid: want a uid from 0 to 4294967294"},
        {"users: [{name: a, roles: [{role: king, namespace: a}]}]",
         "u: users[0]: roles[0]: role: want view, edit or cluster-admin"},
        {"users: [{name: a, roles: [{role: edit}]}]",
         "u: users[0]: roles[0]: role edit needs a namespace (\"*\": all)"},
        {"users: [{name: a, roles: [{role: cluster-admin, namespace: a}]}]",
         "u: users[0]: roles[0]: role cluster-admin holds everywhere: leave out its namespace"},
        {"users: [{name: a}, {name: a}]", "u: users[1]: duplicate name 'a'"},
        {"users: [{name: a, uid: 5}, {name: b, uid: 5}]",
         "u: users[1]: another user has the uid of 'b'"},
        {"users: [{name: a, tokenExpires: \"2027-01-01T00:00:00Z\"}]",
         "u: users[0]: tokenExpires without tokenSha256"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct users *users = NULL;
        AUTO(err_freep) struct err *e = users_parse("u", str_of(cases[i].text), &users);

        assert_non_null(e);
        assert_string_equal(err_message(e), cases[i].message);
        assert_null(users);
    }
}

static void an_empty_file_is_nobody(void **state)
{
    static const char *const texts[] = {"", "# nobody yet\n", "users:\n", "users: []\n"};

    (void)state;
    for (size_t i = 0; i < COUNT(texts); i++) {
        struct users *users = NULL;

        world_must(users_parse("u", str_of(texts[i]), &users));
        assert_int_equal(users_count(users), 0);
        users_free(users);
    }
}

static void nobody_learns_nothing_but_health_and_version(void **state)
{
    static const struct {
        const char *target;
        int status;
    } cases[] = {
        {"/healthz", 200},         {"/livez", 200}, {"/readyz", 200},
        {"/version", 200},         {"/api", 401},   {"/apis", 401},
        {"/api/v1/pods", 401},     {"/nope", 401},  {"/openapi/v3", 401},
        {"/api/v1/nodes/n1", 401},
    };
    struct api_world a;

    (void)state;
    api_world_init(&a, NULL);
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO(asked_freep)
        struct asked *k =
            api_ask(&a, (struct question){.target = cases[i].target, .who = {.uid = UINT32_MAX}});

        assert_int_equal(k->status, cases[i].status);
    }
    api_world_done(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(knows_who_asks),
        cmocka_unit_test(asks_for_the_name_of_a_uid_once_a_minute),
        cmocka_unit_test(takes_each_change_of_the_users_file),
        cmocka_unit_test(tells_which_tokens_were_revoked),
        cmocka_unit_test(says_what_is_wrong_with_a_users_file),
        cmocka_unit_test(an_empty_file_is_nobody),
        cmocka_unit_test(nobody_learns_nothing_but_health_and_version),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
