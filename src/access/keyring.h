/*
 * keyring.h - the keys that seal Secrets on disk, and their rotation (keyring_linux.c)
 *
 * A Secret is sealed by AES-256-GCM with the last key of a file, and bound to the place of its row.
 * The file has a line "KEY ID HEX" for each key; ID is the begin of the key's SHA-256. Earlier keys
 * are read until all rows are sealed by the last one. Rows that are not sealed are read, too: they
 * are of versions without keys.
 *
 * A rotation adds a key to the file, and removes the others once no row needs them. Both happen in
 * the storage's thread: the process may be killed at any point.
 */
#pragma once

#include "base/err.h"
#include "store/storage.h"

struct keyring;

/*
 * Reads the file. If it is missing, the ring has a new key, which keyring_keep writes to the file:
 * a database with sealed rows is refused before that. ERR_INTERNAL: the file is malformed, or
 * others than its owner may read it.
 */
struct err *keyring_open(const char *path, struct keyring **ret) MUST_CHECK;
void keyring_free(struct keyring *k); /* accepts NULL */

/* Writes a new key to the file; call it once the storage was read, and before its first write. */
struct err *keyring_keep(struct keyring *k) MUST_CHECK;

/* Are there rows that the last key does not seal, as far as the storage was read? */
bool keyring_is_stale(const struct keyring *k);

/* Valid as long as the ring. */
const struct storage_seal *keyring_seal(struct keyring *k);

enum keyring_phase {
    KEYRING_IDLE,
    KEYRING_ROTATING,
    KEYRING_FAILED /* the earlier keys stay in the file */
};

struct keyring_state {
    enum keyring_phase phase;
    char id[17];   /* of the key that seals; "" while KEYRING_ROTATING */
    char why[256]; /* KEYRING_FAILED */
};

/* How an administrator rotates the key: a seam of the server. */
struct key_rotation {
    /* Starts a rotation. ERR_CONFLICT: one is under way. */
    struct err *(*begin)(void *self);
    struct keyring_state (*state)(void *self);
    void *self;
};

/* For key_rotation: a rotation with a new key, which storage_reseal then starts. */
struct err *keyring_ask(struct keyring *k) MUST_CHECK;
struct keyring_state keyring_state(const struct keyring *k);
