/* test_node_join.c - tokens of joining nodes, registrations, and certificates of nodes */

#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdlib.h>

#include "access/node_ca.h"
#include "access/node_registry.h"
#include "access/pki.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/stamp.h"
#include "test.h"
#include "world.h"

enum {
    LIFE_S = 600
};

static int64_t seconds(int64_t s)
{
    return s * NS_PER_SEC;
}

static void commit(struct world *w, struct txn *t)
{
    int64_t revision = 0;

    world_must(txn_commit(t, objects_store(w->objects), NULL, NULL, &revision));
    txn_done(t);
    *t = (struct txn){0};
    sim_loop_run(w->loop);
}

static void make(struct world *w, const char *node, int64_t now_s, char ret[NODE_SECRET_SIZE])
{
    const struct node_token o = {
        .node = node, .by = "root", .now_ns = seconds(now_s), .until_ns = seconds(now_s + LIFE_S)};
    struct txn t = {0};

    world_must(node_token_make(&t, objects_store(w->objects), &o, ret));
    commit(w, &t);
}

/* Joins and commits; `want` 0: success. */
static void join(struct world *w, const char *secret, const char *node, int64_t now_s,
                 enum err_code want, char ret_id[NODE_REGISTRATION_SIZE])
{
    struct txn t = {0};
    struct err *e = node_join(&t, objects_store(w->objects), secret, node, seconds(now_s), ret_id);

    if (want) {
        assert_non_null(e);
        assert_int_equal(err_code(e), want);
        err_free(e);
        txn_done(&t);
        return;
    }
    world_must(e);
    commit(w, &t);
}

static void a_token_joins_one_node_once(void **state)
{
    char id[NODE_REGISTRATION_SIZE];
    char other[NODE_REGISTRATION_SIZE];
    char secret[NODE_SECRET_SIZE];
    struct world w;

    (void)state;
    world_init(&w, 1);
    make(&w, NULL, 1000, secret);
    join(&w, "0123", "a", 1001, ERR_UNAUTHENTICATED, id);
    join(&w, secret, "a", 1000 + LIFE_S, ERR_UNAUTHENTICATED, id); /* expired */
    join(&w, secret, "a", 1000 + LIFE_S - 1, 0, id);
    assert_true(node_is_registered(objects_store(w.objects), "a", id));
    assert_false(node_is_registered(objects_store(w.objects), "b", id));
    join(&w, secret, "b", 1001, ERR_UNAUTHENTICATED, other); /* used */

    make(&w, NULL, 1000, secret);
    join(&w, secret, "a", 1001, ERR_CONFLICT, other); /* a is another machine */
    join(&w, secret, "b", 1001, 0, other);
    assert_true(node_is_registered(objects_store(w.objects), "b", other));
    world_done(&w);
}

static void a_token_of_a_name_replaces_the_registration(void **state)
{
    char first[NODE_REGISTRATION_SIZE];
    char second[NODE_REGISTRATION_SIZE];
    char secret[NODE_SECRET_SIZE];
    struct txn t = {0};
    struct err *e;
    struct world w;

    (void)state;
    world_init(&w, 1);
    make(&w, "a", 1000, secret);
    join(&w, secret, "b", 1001, ERR_UNAUTHENTICATED, first);
    join(&w, secret, "a", 1001, 0, first);
    make(&w, "a", 1000, secret);
    join(&w, secret, "a", 1001, 0, second);
    assert_false(node_is_registered(objects_store(w.objects), "a", first));
    assert_true(node_is_registered(objects_store(w.objects), "a", second));

    world_must(node_revoke(&t, objects_store(w.objects), "a"));
    commit(&w, &t);
    assert_false(node_is_registered(objects_store(w.objects), "a", second));
    e = node_revoke(&t, objects_store(w.objects), "a");
    assert_int_equal(err_code(e), ERR_NOT_FOUND);
    err_free(e);
    world_done(&w);
}

static void expired_tokens_go_and_the_others_are_bounded(void **state)
{
    char secret[NODE_SECRET_SIZE];
    char id[NODE_REGISTRATION_SIZE];
    const struct node_token late = {
        .by = "root", .now_ns = seconds(1001), .until_ns = seconds(1001 + LIFE_S)};
    struct txn t = {0};
    struct err *e;
    struct world w;

    (void)state;
    world_init(&w, 1);
    for (size_t i = 0; i < NODE_TOKENS_MAX; i++)
        make(&w, NULL, 1000, secret);
    e = node_token_make(&t, objects_store(w.objects), &late, secret);
    assert_int_equal(err_code(e), ERR_OVER_QUOTA);
    err_free(e);
    make(&w, NULL, 1000 + LIFE_S, secret); /* all others have expired */
    join(&w, secret, "a", 1000 + LIFE_S, 0, id);
    world_done(&w);
}

static X509 *read_certificate(const char *pem)
{
    BIO *in = BIO_new_mem_buf(pem, -1);
    X509 *cert = PEM_read_bio_X509(in, NULL, NULL, NULL);

    (void)BIO_free(in);
    assert_non_null(cert);
    return cert;
}

static void a_certificate_names_its_node_and_nothing_else(void **state)
{
    char dir[] = "/tmp/mete-join-XXXXXX";
    AUTO_FREE char *request = NULL;
    AUTO_FREE char *pem = NULL;
    AUTO_FREE char *path = NULL;
    struct node_ca *ca = NULL;
    char name[256];
    int64_t left_s = 0;
    struct err *e;
    X509 *cert;

    (void)state;
    assert_non_null(mkdtemp(dir));
    world_must(pki_make(dir, NULL, NULL));
    world_must(node_ca_open(dir, &ca));
    world_must(node_request_make(dir, &request));
    world_must(node_ca_sign(ca, request, "gpu-07", "4a", &pem));
    cert = read_certificate(pem);
    (void)X509_NAME_oneline(X509_get_subject_name(cert), name, sizeof(name));
    assert_string_equal(name, "/O=system:nodes/O=mete:registration:4a/CN=system:node:gpu-07");
    (void)X509_NAME_oneline(X509_get_issuer_name(cert), name, sizeof(name));
    assert_string_equal(name, "/CN=" NODE_CA_NAME);
    assert_int_equal(X509_check_ca(cert), 0);
    X509_free(cert);

    e = node_certificate_left(dir, &left_s);
    assert_int_equal(err_code(e), ERR_NOT_FOUND);
    err_free(e);
    path = mem_format("%s/node.crt", dir);
    world_must(file_write(path, 0644, str_of(pem)));
    world_must(node_certificate_left(dir, &left_s));
    assert_true(left_s > INT64_C(55) * 86400 && left_s <= INT64_C(60) * 86400);

    free(pem);
    pem = NULL;
    e = node_ca_sign(ca, "no request", "gpu-07", "4a", &pem);
    assert_int_equal(err_code(e), ERR_INVALID);
    err_free(e);
    node_ca_free(ca);
    world_must(dir_remove(dir));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_token_joins_one_node_once),
        cmocka_unit_test(a_token_of_a_name_replaces_the_registration),
        cmocka_unit_test(expired_tokens_go_and_the_others_are_bounded),
        cmocka_unit_test(a_certificate_names_its_node_and_nothing_else),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
