/* sha256_linux.c - SHA-256 by libcrypto */

#include "node/image/sha256_linux.h"

#include <openssl/evp.h>
#include <stdio.h>

#include "base/mem.h"

struct sha256 {
    EVP_MD_CTX *context;
};

/* The calls fail only without memory: every build of libcrypto has SHA-256. */
static void must(int ok)
{
    if (ok != 1)
        abort();
}

struct sha256 *sha256_new(void)
{
    struct sha256 *s = mem_alloc(sizeof(*s));

    s->context = EVP_MD_CTX_new();
    must(s->context != NULL);
    must(EVP_DigestInit_ex(s->context, EVP_sha256(), NULL));
    return s;
}

void sha256_free(struct sha256 *s)
{
    if (!s)
        return;
    EVP_MD_CTX_free(s->context);
    free(s);
}

void sha256_add(struct sha256 *s, const void *bytes, size_t size)
{
    must(EVP_DigestUpdate(s->context, bytes, size));
}

void sha256_end(struct sha256 *s, char ret[IMAGE_DIGEST_SIZE])
{
    unsigned char digest[32];
    unsigned int size = sizeof(digest);
    size_t at = 0;

    must(EVP_DigestFinal_ex(s->context, digest, &size));
    at += (size_t)snprintf(ret, IMAGE_DIGEST_SIZE, "sha256:");
    for (size_t i = 0; i < sizeof(digest); i++)
        at += (size_t)snprintf(ret + at, IMAGE_DIGEST_SIZE - at, "%02x", digest[i]);
}
