/* sha256_linux.h - SHA-256 of bytes as they come, by libcrypto */
#pragma once

#include <stddef.h>

#include "model/image_name.h"

struct sha256;

struct sha256 *sha256_new(void);
void sha256_free(struct sha256 *s); /* accepts NULL */
static inline void sha256_freep(struct sha256 **s)
{
    sha256_free(*s);
}

void sha256_add(struct sha256 *s, const void *bytes, size_t size);
/* "sha256:HEX" of all that was added; nothing may be added after it. */
void sha256_end(struct sha256 *s, char ret[IMAGE_DIGEST_SIZE]);
