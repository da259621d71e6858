/* test_api_accounts.c - tokens of service accounts, and their rights */

#include <stdlib.h>

#include "access/account_token.h"
#include "access/pki.h"
#include "api_world.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/stamp.h"
#include "control/accounts.h"
#include "test.h"

#define ACCOUNTS "/api/v1/namespaces/default/serviceaccounts"
#define PODS     "/api/v1/namespaces/default/pods"
#define WHOAMI   "/apis/authentication.k8s.io/v1/selfsubjectreviews"

static const char users[] = "users:\n"
                            "  - name: \"system:serviceaccount:default:ci\"\n"
                            "    roles: [{role: view, namespace: default}]\n";

struct fixture {
    struct api_world a;
    char dir[32];
    struct accounts *accounts;
};

static void begin(struct fixture *f)
{
    AUTO_FREE char *key = NULL;
    struct accounts_options o = {.ca = "PEM"};

    *f = (struct fixture){.dir = "/tmp/mete-sa-XXXXXX"};
    assert_non_null(mkdtemp(f->dir));
    world_must(pki_make(f->dir, NULL, NULL));
    key = mem_format("%s/sa.key", f->dir);
    api_world_init_signing(&f->a, users, key);
    o.loop = f->a.w.loop;
    o.objects = f->a.w.objects;
    world_must(accounts_new(&o, &f->accounts));
    sim_loop_run(f->a.w.loop);
}

static void end(struct fixture *f)
{
    accounts_free(f->accounts);
    api_world_done(&f->a);
    world_must(dir_remove(f->dir));
}

static json_t *post(struct fixture *f, int status, const char *target, const char *body)
{
    return api_expect(&f->a, status,
                      (struct question){.method = "POST", .target = target, .body = body});
}

static char *get_token(struct fixture *f, const char *spec)
{
    AUTO_FREE char *body = mem_format("{'apiVersion':'authentication.k8s.io/v1','kind':"
                                      "'TokenRequest','spec':%s}",
                                      spec);
    AUTO(json_freep) json_t *answer = post(f, 201, ACCOUNTS "/ci/token", body);

    return mem_strdup(json_text_at(answer, "status", "token", NULL));
}

static int ask_as(struct fixture *f, const char *token, const char *target)
{
    AUTO(asked_freep)
    struct asked *k = api_ask(
        &f->a, (struct question){.target = target, .who = {.token = token, .uid = UINT32_MAX}});

    return k->status;
}

static void every_namespace_gets_its_account(void **state)
{
    AUTO(json_freep) json_t *account = NULL;
    AUTO(json_freep) json_t *map = NULL;
    struct fixture f;

    (void)state;
    begin(&f);
    json_decref(post(&f, 201, "/api/v1/namespaces",
                     "{'apiVersion':'v1','kind':'Namespace','metadata':{'name':'team-a'}}"));
    sim_loop_run(f.a.w.loop);
    account = api_expect(
        &f.a, 200,
        (struct question){.target = "/api/v1/namespaces/team-a/serviceaccounts/default"});
    map = api_expect(
        &f.a, 200,
        (struct question){.target = "/api/v1/namespaces/team-a/configmaps/kube-root-ca.crt"});
    assert_string_equal(json_text_at(map, "data", "ca.crt", NULL), "PEM");
    json_decref(api_expect(
        &f.a, 200,
        (struct question){.method = "DELETE",
                          .target = "/api/v1/namespaces/team-a/serviceaccounts/default"}));
    sim_loop_run(f.a.w.loop);
    json_decref(api_expect(
        &f.a, 200,
        (struct question){.target = "/api/v1/namespaces/team-a/serviceaccounts/default"}));
    end(&f);
}

static void a_token_is_its_account_and_nothing_more(void **state)
{
    AUTO(json_freep) json_t *who = NULL;
    AUTO_FREE char *token = NULL;
    struct fixture f;

    (void)state;
    begin(&f);
    json_decref(post(&f, 201, ACCOUNTS,
                     "{'apiVersion':'v1','kind':'ServiceAccount','metadata':{'name':'ci'}}"));
    token = get_token(&f, "{}");
    who = api_expect(&f.a, 201,
                     (struct question){.method = "POST",
                                       .target = WHOAMI,
                                       .body = "{'apiVersion':'authentication.k8s.io/v1','kind':"
                                               "'SelfSubjectReview'}",
                                       .who = {.token = token, .uid = UINT32_MAX}});
    assert_string_equal(json_text_at(who, "status", "userInfo", "username", NULL),
                        "system:serviceaccount:default:ci");
    assert_int_equal(ask_as(&f, token, PODS), 200); /* users.yaml gives the account the role view */
    assert_int_equal(ask_as(&f, token, "/api/v1/namespaces/default/secrets"), 403);
    assert_int_equal(ask_as(&f, token, "/api/v1/namespaces/kube-system/pods"), 403);
    sim_loop_advance(f.a.w.loop, 3601 * NS_PER_SEC);
    assert_int_equal(ask_as(&f, token, PODS), 401);
    end(&f);
}

#define USER_TOKENS "/mete.dev/v1/slurm-tokens"

static void a_users_token_has_the_users_rights_and_makes_no_other(void **state)
{
    static const struct {
        uint32_t uid;
        const char *body;
        int status;
    } refused[] = {
        {1000, "{'user':'root'}", 403},
        {0, "{'user':'no such user'}", 422},
        {0, "{'seconds':0}", 422},
        {0, "{'seconds':31536001}", 422},
        {0, "[]", 400},
    };
    AUTO(json_freep) json_t *answer = NULL;
    const char *token;
    struct fixture f;

    (void)state;
    begin(&f);
    answer = api_expect(&f.a, 201,
                        (struct question){.method = "POST",
                                          .target = USER_TOKENS,
                                          .body = "{'seconds':60}",
                                          .who = {.uid = 1000}});
    token = json_text(answer, "token");
    assert_int_equal(ask_as(&f, token, PODS), 200);
    assert_int_equal(ask_as(&f, token, "/api/v1/namespaces/kube-system/pods"), 403);
    json_decref(api_expect(&f.a, 403,
                           (struct question){.method = "POST",
                                             .target = USER_TOKENS,
                                             .body = "{}",
                                             .who = {.token = token, .uid = UINT32_MAX}}));
    for (size_t i = 0; i < COUNT(refused); i++)
        json_decref(api_expect(&f.a, refused[i].status,
                               (struct question){.method = "POST",
                                                 .target = USER_TOKENS,
                                                 .body = refused[i].body,
                                                 .who = {.uid = refused[i].uid}}));
    sim_loop_advance(f.a.w.loop, 61 * NS_PER_SEC);
    assert_int_equal(ask_as(&f, token, PODS), 401);
    end(&f);
}

static void a_token_dies_with_what_it_is_bound_to(void **state)
{
    AUTO_FREE char *token = NULL;
    AUTO_FREE char *free_token = NULL;
    struct fixture f;

    (void)state;
    begin(&f);
    json_decref(post(&f, 201, ACCOUNTS,
                     "{'apiVersion':'v1','kind':'ServiceAccount','metadata':{'name':'ci'}}"));
    json_decref(post(&f, 201, PODS,
                     "{'apiVersion':'v1','kind':'Pod','metadata':{'name':'p'},'spec':"
                     "{'serviceAccountName':'ci','containers':[{'name':'c','image':'host'}]}}"));
    token = get_token(&f, "{'boundObjectRef':{'kind':'Pod','apiVersion':'v1','name':'p'}}");
    free_token = get_token(&f, "{'expirationSeconds':7200}");
    assert_int_equal(ask_as(&f, token, PODS), 200);
    json_decref(api_expect(&f.a, 200, (struct question){.method = "DELETE", .target = PODS "/p"}));
    assert_int_equal(ask_as(&f, token, PODS), 401);
    assert_int_equal(ask_as(&f, free_token, PODS), 200);
    json_decref(
        api_expect(&f.a, 200, (struct question){.method = "DELETE", .target = ACCOUNTS "/ci"}));
    json_decref(post(&f, 201, ACCOUNTS,
                     "{'apiVersion':'v1','kind':'ServiceAccount','metadata':{'name':'ci'}}"));
    assert_int_equal(ask_as(&f, free_token, PODS), 401); /* another account with the same name */
    end(&f);
}

static void a_token_that_was_touched_is_nobodys(void **state)
{
    AUTO_FREE char *token = NULL;
    struct fixture f;
    size_t size;

    (void)state;
    begin(&f);
    json_decref(post(&f, 201, ACCOUNTS,
                     "{'apiVersion':'v1','kind':'ServiceAccount','metadata':{'name':'ci'}}"));
    token = get_token(&f, "{}");
    size = strlen(token);
    for (size_t i = 0; i < size - 1; i++) { /* some bits of the last letter have no meaning */
        char was = token[i];

        token[i] = was == 'A' ? 'B' : 'A';
        assert_int_equal(ask_as(&f, token, PODS), 401);
        token[i] = was;
    }
    assert_int_equal(ask_as(&f, token, PODS), 200);
    assert_int_equal(ask_as(&f, "a.b.c", PODS), 401);
    assert_int_equal(ask_as(&f, "..", PODS), 401);
    assert_int_equal(ask_as(&f, "eyJhbGciOiJub25lIn0.e30.", PODS), 401);
    end(&f);
}

static void a_token_for_others_is_none_for_us(void **state)
{
    static const struct {
        const char *spec;
        const char *message;
    } cases[] = {
        {"{'expirationSeconds':60}", "may not specify a duration less than 10 minutes"},
        {"{'expirationSeconds':99999999}", "larger than a year"},
        {"{'boundObjectRef':{'kind':'Secret','name':'s'}}", "tokens are bound to pods only"},
        {"{'audiences':['']}", "want texts"},
    };
    AUTO_FREE char *token = NULL;
    struct fixture f;

    (void)state;
    begin(&f);
    json_decref(post(&f, 201, ACCOUNTS,
                     "{'apiVersion':'v1','kind':'ServiceAccount','metadata':{'name':'ci'}}"));
    token = get_token(&f, "{'audiences':['vault']}");
    assert_int_equal(ask_as(&f, token, PODS), 401);
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO_FREE char *body = mem_format("{'spec':%s}", cases[i].spec);
        AUTO(json_freep) json_t *answer = post(&f, 422, ACCOUNTS "/ci/token", body);

        assert_non_null(strstr(json_text(answer, "message"), cases[i].message));
    }
    json_decref(post(&f, 404, ACCOUNTS "/none/token", "{'spec':{}}"));
    end(&f);
}

static void a_pod_gets_the_token_it_wants(void **state)
{
    static const struct {
        const char *spec;
        bool has_token;
    } cases[] = {
        {"'containers':[{'name':'c','image':'x'}]", true},
        {"'containers':[{'name':'c','image':'host'}]", false},
        {"'serviceAccountName':'quiet','containers':[{'name':'c','image':'x'}]", false},
        {"'serviceAccountName':'quiet','automountServiceAccountToken':true,'containers':[{'name':"
         "'c','image':'x'}]",
         true},
        {"'serviceAccountName':'ci','containers':[{'name':'c','image':'x'}]", true},
        {"'serviceAccount':'ci','containers':[{'name':'c','image':'x'}]", true},
        {"'serviceAccountName':'ci','automountServiceAccountToken':false,'containers':[{'name':'c',"
         "'image':'x'}]",
         false},
        {"'automountServiceAccountToken':true,'containers':[{'name':'c','image':'x'}]", true},
        {"'serviceAccountName':'ci','containers':[{'name':'c','image':'host'}]", false},
    };
    struct fixture f;

    (void)state;
    begin(&f);
    json_decref(post(&f, 201, ACCOUNTS,
                     "{'apiVersion':'v1','kind':'ServiceAccount','metadata':{'name':'ci'}}"));
    json_decref(post(&f, 201, ACCOUNTS,
                     "{'apiVersion':'v1','kind':'ServiceAccount','metadata':{'name':'quiet'},"
                     "'automountServiceAccountToken':false}"));
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO_FREE char *body = mem_format("{'apiVersion':'v1','kind':'Pod','metadata':{'name':"
                                          "'p%zu'},'spec':{%s}}",
                                          i, cases[i].spec);
        AUTO(json_freep) json_t *pod = post(&f, 201, PODS, body);
        AUTO_FREE char *text = json_format(pod);

        assert_int_equal(strstr(text, "/var/run/secrets/kubernetes.io/serviceaccount") != NULL,
                         cases[i].has_token);
    }
    json_decref(post(&f, 403, PODS,
                     "{'apiVersion':'v1','kind':'Pod','metadata':{'name':'q'},'spec':"
                     "{'serviceAccountName':'none','containers':[{'name':'c','image':'host'}]}}"));
    end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_namespace_gets_its_account),
        cmocka_unit_test(a_token_is_its_account_and_nothing_more),
        cmocka_unit_test(a_users_token_has_the_users_rights_and_makes_no_other),
        cmocka_unit_test(a_token_dies_with_what_it_is_bound_to),
        cmocka_unit_test(a_token_that_was_touched_is_nobodys),
        cmocka_unit_test(a_token_for_others_is_none_for_us),
        cmocka_unit_test(a_pod_gets_the_token_it_wants),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
