/* digest.h - SHA-256 */
#pragma once

#include <stdint.h>

#include "base/str.h"

enum {
    SHA256_SIZE = 32
};

void digest_sha256(struct str bytes, uint8_t ret[SHA256_SIZE]);
