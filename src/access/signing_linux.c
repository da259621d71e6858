/* signing_linux.c - ES256 signatures by OpenSSL */

#include <openssl/bn.h>
#include <openssl/ecdsa.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include "access/signing.h"
#include "base/file.h"
#include "base/mem.h"

enum {
    KEY_FILE_MAX = 16 << 10,
    DER_MAX = 80, /* largest signature over P-256 */
    HALF = SIGNATURE_SIZE / 2
};

struct signing_key {
    EVP_PKEY *key;
};

static struct err *openssl_error(const char *what)
{
    char text[256] = "no reason given";
    unsigned long code = ERR_get_error();

    if (code)
        ERR_error_string_n(code, text, sizeof(text));
    ERR_clear_error();
    return err_new(ERR_INTERNAL, "%s: %s", what, text);
}

struct err *signing_key_load(const char *path, struct signing_key **ret)
{
    AUTO(buf_done) struct buf bytes = {0};
    EVP_PKEY *key = NULL;
    BIO *bio = NULL;

    TRY(file_read(path, KEY_FILE_MAX, &bytes));
    bio = BIO_new_mem_buf(bytes.at ? bytes.at : "", (int)bytes.size);
    key = bio ? PEM_read_bio_PrivateKey(bio, NULL, NULL, NULL) : NULL;
    (void)BIO_free(bio);
    if (!key || EVP_PKEY_get_base_id(key) != EVP_PKEY_EC || EVP_PKEY_get_bits(key) != 256) {
        EVP_PKEY_free(key);
        return err_wrap(openssl_error("want an EC P-256 key in PEM"), "read %s", path);
    }
    *ret = mem_alloc(sizeof(**ret));
    (*ret)->key = key;
    return NULL;
}

void signing_key_free(struct signing_key *k)
{
    if (!k)
        return;
    EVP_PKEY_free(k->key);
    free(k);
}

/* Converts a signature from DER (OpenSSL) to two numbers (JOSE). */
static bool from_der(const uint8_t *der, size_t size, uint8_t ret[SIGNATURE_SIZE])
{
    const uint8_t *at = der;
    ECDSA_SIG *signature = d2i_ECDSA_SIG(NULL, &at, (long)size);
    bool done = signature && BN_bn2binpad(ECDSA_SIG_get0_r(signature), ret, HALF) == HALF &&
                BN_bn2binpad(ECDSA_SIG_get0_s(signature), ret + HALF, HALF) == HALF;

    ECDSA_SIG_free(signature);
    return done;
}

/* Converts back to DER. Returns the size; 0: failed. */
static size_t to_der(const uint8_t signature[SIGNATURE_SIZE], uint8_t ret[DER_MAX])
{
    ECDSA_SIG *numbers = ECDSA_SIG_new();
    BIGNUM *r = BN_bin2bn(signature, HALF, NULL);
    BIGNUM *s = BN_bin2bn(signature + HALF, HALF, NULL);
    uint8_t *at = ret;
    int size = 0;

    if (!numbers || !r || !s || ECDSA_SIG_set0(numbers, r, s) != 1) {
        BN_free(r);
        BN_free(s);
    } else if (i2d_ECDSA_SIG(numbers, NULL) <= DER_MAX) {
        size = i2d_ECDSA_SIG(numbers, &at);
    }
    ECDSA_SIG_free(numbers);
    return size > 0 ? (size_t)size : 0;
}

struct err *signing_sign(const struct signing_key *k, struct str bytes, uint8_t ret[SIGNATURE_SIZE])
{
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    uint8_t der[DER_MAX];
    size_t size = sizeof(der);
    bool done = ctx && EVP_DigestSignInit(ctx, NULL, EVP_sha256(), NULL, k->key) == 1 &&
                EVP_DigestSign(ctx, der, &size, (const uint8_t *)bytes.at, bytes.size) == 1 &&
                from_der(der, size, ret);

    EVP_MD_CTX_free(ctx);
    return done ? NULL : openssl_error("sign a token");
}

bool signing_verify(const struct signing_key *k, struct str bytes,
                    const uint8_t signature[SIGNATURE_SIZE])
{
    uint8_t der[DER_MAX];
    size_t size = to_der(signature, der);
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    bool holds = size > 0 && ctx &&
                 EVP_DigestVerifyInit(ctx, NULL, EVP_sha256(), NULL, k->key) == 1 &&
                 EVP_DigestVerify(ctx, der, size, (const uint8_t *)bytes.at, bytes.size) == 1;

    EVP_MD_CTX_free(ctx);
    ERR_clear_error();
    return holds;
}
