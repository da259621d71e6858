/* mps.h - what the emulated MPS daemon and its clients have in common */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>

/* The line by which a CUDA program becomes a client; the answer is the limit in bytes, 0: none. */
#define MPS_CLIENT "client"

/* The socket of the daemon in a pipe directory. False: the path is too long for a socket. */
static inline bool mps_address(const char *dir, struct sockaddr_un *address)
{
    static const char name[] = "/control";
    size_t size = strlen(dir);

    if (size + sizeof(name) > sizeof(address->sun_path))
        return false;
    memcpy(address->sun_path, dir, size);
    memcpy(address->sun_path + size, name, sizeof(name));
    return true;
}

/* Reads "4096M" or "4G"; 0: malformed. */
static inline uint64_t mps_read_bytes(const char *text)
{
    char *end = NULL;
    uint64_t n = strtoull(text, &end, 10);

    if (end == text || n > UINT32_MAX)
        return 0;
    return *end == 'G' ? n << 30 : *end == 'M' ? n << 20 : 0;
}
