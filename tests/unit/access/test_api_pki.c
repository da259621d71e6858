/* test_api_pki.c - the installation's keys and certificates */

#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "access/pki.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/yaml.h"
#include "test.h"

static X509 *read_cert(const char *dir, const char *name)
{
    AUTO_FREE char *path = mem_format("%s/%s.crt", dir, name);
    FILE *in = fopen(path, "re");
    X509 *cert;

    assert_non_null(in);
    cert = PEM_read_X509(in, NULL, NULL, NULL);
    (void)fclose(in);
    assert_non_null(cert);
    return cert;
}

static void makes_what_a_client_can_verify(void **state)
{
    static const char *const hosts[] = {"localhost", "gpu-01.example.org"};
    static const char *const keys[] = {"ca.key", "server.key", "admin.key"};
    char dir[] = "/tmp/mete-pki-XXXXXX";
    struct err *gone;
    X509 *ca;
    X509 *server;
    X509 *admin;
    char name[256];

    (void)state;
    assert_non_null(mkdtemp(dir));
    assert_null(pki_make(dir, "gpu-01.example.org", NULL));
    ca = read_cert(dir, "ca");
    server = read_cert(dir, "server");
    admin = read_cert(dir, "admin");
    assert_int_equal(X509_verify(ca, X509_get0_pubkey(ca)), 1);
    assert_int_equal(X509_verify(server, X509_get0_pubkey(ca)), 1);
    assert_int_equal(X509_verify(admin, X509_get0_pubkey(ca)), 1);
    assert_int_equal(X509_check_ca(ca), 1);
    assert_int_equal(X509_check_ca(server), 0);
    for (size_t i = 0; i < COUNT(hosts); i++)
        assert_int_equal(X509_check_host(server, hosts[i], 0, 0, NULL), 1);
    assert_int_equal(X509_check_ip_asc(server, "127.0.0.1", 0), 1);
    assert_int_equal(X509_check_ip_asc(server, "::1", 0), 1);
    assert_int_equal(X509_check_host(server, "example.org", 0, 0, NULL), 0);
    (void)X509_NAME_oneline(X509_get_subject_name(admin), name, sizeof(name));
    assert_string_equal(name, "/O=system:masters/CN=admin");
    for (size_t i = 0; i < COUNT(keys); i++) {
        AUTO_FREE char *path = mem_format("%s/%s", dir, keys[i]);
        struct stat st;

        assert_int_equal(stat(path, &st), 0);
        assert_int_equal(st.st_mode & 0777, 0600);
    }
    X509_free(ca);
    X509_free(server);
    X509_free(admin);
    gone = dir_remove(dir);
    assert_null(gone);
}

static void read_text(const char *dir, const char *name, struct buf *ret)
{
    AUTO_FREE char *path = mem_format("%s/%s", dir, name);

    assert_null(file_read(path, 1 << 20, ret));
}

static bool is_same(const char *dir, const char *name, const struct buf *before)
{
    AUTO(buf_done) struct buf now = {0};

    read_text(dir, name, &now);
    return now.size == before->size && memcmp(now.at, before->at, now.size) == 0;
}

static void makes_only_what_is_missing(void **state)
{
    AUTO(buf_done) struct buf ca = {0};
    AUTO(buf_done) struct buf server = {0};
    AUTO(buf_done) struct buf admin = {0};
    char dir[] = "/tmp/mete-pki-XXXXXX";
    AUTO_FREE char *broken = NULL;

    (void)state;
    assert_non_null(mkdtemp(dir));
    assert_null(pki_make(dir, NULL, NULL));
    read_text(dir, "ca.crt", &ca);
    read_text(dir, "server.crt", &server);
    read_text(dir, "admin.crt", &admin);
    assert_null(pki_make(dir, NULL, NULL));
    assert_true(is_same(dir, "ca.crt", &ca) && is_same(dir, "server.crt", &server) &&
                is_same(dir, "admin.crt", &admin));
    /* Another name: only the server's certificate is made again. */
    assert_null(pki_make(dir, "10.0.0.7", NULL));
    assert_true(is_same(dir, "ca.crt", &ca) && is_same(dir, "admin.crt", &admin));
    assert_false(is_same(dir, "server.crt", &server));
    /* A torn certificate, as after a crash. */
    broken = mem_format("%s/admin.crt", dir);
    assert_null(file_write(broken, 0644, STR("-----BEGIN CERT")));
    assert_null(pki_make(dir, "10.0.0.7", NULL));
    assert_false(is_same(dir, "admin.crt", &admin));
    assert_true(is_same(dir, "ca.crt", &ca));
    assert_null(dir_remove(dir));
}

static bool key_begins(const char *dir, const char *name, const char *text)
{
    AUTO(buf_done) struct buf key = {0};

    read_text(dir, name, &key);
    return str_starts_with((struct str){key.at, key.size}, str_of(text));
}

/* fabric8 reads the algorithm from the first line; without one of these words it assumes RSA. */
static void keys_are_in_forms_that_java_reads(void **state)
{
    AUTO(buf_done) struct buf ca = {0};
    AUTO(buf_done) struct buf server = {0};
    AUTO(buf_done) struct buf server_key = {0};
    char dir[] = "/tmp/mete-pki-XXXXXX";
    AUTO_FREE char *key = NULL;
    AUTO_FREE char *cert = NULL;
    X509 *old;
    X509 *authority;

    (void)state;
    assert_non_null(mkdtemp(dir));
    assert_null(pki_make(dir, NULL, NULL));
    assert_true(key_begins(dir, "admin.key", "-----BEGIN RSA PRIVATE KEY-----\n"));
    assert_true(key_begins(dir, "server.key", "-----BEGIN EC PRIVATE KEY-----\n"));
    read_text(dir, "ca.crt", &ca);
    /* A pair of an older build: EC, like the server's. */
    old = read_cert(dir, "server");
    key = mem_format("%s/admin.key", dir);
    cert = mem_format("%s/admin.crt", dir);
    read_text(dir, "server.key", &server_key);
    assert_null(file_write(key, 0600, (struct str){server_key.at, server_key.size}));
    read_text(dir, "server.crt", &server);
    assert_null(file_write(cert, 0644, (struct str){server.at, server.size}));
    assert_null(pki_make(dir, NULL, NULL));
    assert_true(key_begins(dir, "admin.key", "-----BEGIN RSA PRIVATE KEY-----\n"));
    assert_true(is_same(dir, "ca.crt", &ca));
    authority = read_cert(dir, "ca"); /* certificates signed before stay valid */
    assert_int_equal(X509_verify(old, X509_get0_pubkey(authority)), 1);
    X509_free(old);
    X509_free(authority);
    assert_null(dir_remove(dir));
}

static void refuses_hosts_that_would_be_more_than_a_name(void **state)
{
    char dir[] = "/tmp/mete-pki-XXXXXX";

    (void)state;
    assert_non_null(mkdtemp(dir));
    {
        AUTO(err_freep) struct err *e = pki_make(dir, "a,DNS:evil.example", NULL);

        assert_non_null(e);
        assert_int_equal(err_http(e), 422);
    }
    assert_null(dir_remove(dir));
}

static void a_kubeconfig_is_whole(void **state)
{
    AUTO(json_freep) json_t *documents = NULL;
    AUTO_FREE char *text = NULL;
    char dir[] = "/tmp/mete-pki-XXXXXX";
    const json_t *config;

    (void)state;
    assert_non_null(mkdtemp(dir));
    assert_null(pki_make(dir, NULL, NULL));
    assert_null(pki_kubeconfig(dir, "https://127.0.0.1:7443", &text));
    assert_null(yaml_parse("kubeconfig", str_of(text), &documents));
    config = json_array_get(documents, 0);
    assert_string_equal(json_text(config, "current-context"), "mete");
    assert_string_equal(json_text_at(json_array_get(json_object_get(config, "clusters"), 0),
                                     "cluster", "server", NULL),
                        "https://127.0.0.1:7443");
    assert_true(text_starts_with(json_text_at(json_array_get(json_object_get(config, "users"), 0),
                                              "user", "client-certificate-data", NULL),
                                 "LS0tLS1CRUdJTi"));
    assert_null(dir_remove(dir));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(makes_what_a_client_can_verify),
        cmocka_unit_test(makes_only_what_is_missing),
        cmocka_unit_test(keys_are_in_forms_that_java_reads),
        cmocka_unit_test(refuses_hosts_that_would_be_more_than_a_name),
        cmocka_unit_test(a_kubeconfig_is_whole),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
