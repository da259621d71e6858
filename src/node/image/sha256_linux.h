/* sha256_linux.h - incremental SHA-256, by libcrypto */
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
/* "sha256:HEX" of all added bytes; nothing may be added afterwards. */
void sha256_end(struct sha256 *s, char ret[IMAGE_DIGEST_SIZE]);
