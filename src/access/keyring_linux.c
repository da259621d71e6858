/*
 * keyring_linux.c - keys of Secrets in a file, AES-256-GCM by OpenSSL
 *
 * A sealed row is: a mark, the id of its key, a nonce, a tag, and the encrypted bytes. The nonce is
 * random: one key seals far less than the 2^32 rows that random nonces of 96 bits allow.
 */

#include <assert.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/stat.h>

#include "access/digest.h"
#include "access/keyring.h"
#include "base/file.h"
#include "base/mem.h"

enum {
    KEY_SIZE = 32,
    ID_SIZE = 8,
    NONCE_SIZE = 12,
    TAG_SIZE = 16,
    HEAD_SIZE = 1 + ID_SIZE + NONCE_SIZE + TAG_SIZE,
    KEYS_MAX = 16,
    FILE_MAX = 16 << 10,
    MARK = 1 /* no JSON begins with it */
};

static const char head_text[] =
    "# The keys of Mete's Secrets on disk: without them no Secret can be read. Keep a copy apart "
    "from\n"
    "# backups of the data. The last key seals; `mete rotate-key` makes a new one.\n";

struct key {
    uint8_t id[ID_SIZE];
    uint8_t bytes[KEY_SIZE];
};

struct keyring {
    struct storage_seal seal;
    char *path;
    struct key keys[KEYS_MAX];
    size_t n;
    bool is_unsaved; /* the only key is not in the file yet */
    bool is_stale;
    _Atomic bool is_asked; /* a rotation with a new key */
    _Atomic int phase;     /* enum keyring_phase; orders `id` and `why` */
    char id[2 * ID_SIZE + 1];
    char why[256];
};

/* ---- the file ---- */

static void hex_format(const uint8_t *bytes, size_t n, char *ret)
{
    for (size_t i = 0; i < n; i++)
        (void)snprintf(ret + 2 * i, 3, "%02x", bytes[i]); /* it fits */
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool hex_read(struct str text, uint8_t *ret, size_t n)
{
    if (text.size != 2 * n)
        return false;
    for (size_t i = 0; i < n; i++) {
        int high = hex_digit(text.at[2 * i]);
        int low = hex_digit(text.at[2 * i + 1]);

        if (high < 0 || low < 0)
            return false;
        ret[i] = (uint8_t)(high << 4 | low);
    }
    return true;
}

static void key_name(struct key *key)
{
    uint8_t digest[SHA256_SIZE];

    digest_sha256((struct str){(const char *)key->bytes, KEY_SIZE}, digest);
    memcpy(key->id, digest, ID_SIZE);
}

static void key_make(struct key *key)
{
    random_bytes(key->bytes, KEY_SIZE);
    key_name(key);
}

static struct err *keyring_read_line(struct keyring *k, struct str line, int number)
{
    struct key key = {0};
    uint8_t id[ID_SIZE];

    if (line.size == 0 || *line.at == '#')
        return NULL;
    if (k->n == KEYS_MAX)
        return err_new(ERR_INTERNAL, "'%s': more than %d keys", k->path, KEYS_MAX);
    if (!str_equal(str_cut(&line, ' '), STR("KEY")) ||
        !hex_read(str_cut(&line, ' '), id, ID_SIZE) || !hex_read(line, key.bytes, KEY_SIZE))
        return err_new(ERR_INTERNAL,
                       "'%s', line %d: want KEY, an id and a key in hexadecimal: "
                       "restore the file from a backup",
                       k->path, number);
    key_name(&key);
    if (memcmp(id, key.id, ID_SIZE) != 0)
        return err_new(ERR_INTERNAL,
                       "'%s', line %d: the key is not the one of its id: restore the file from a "
                       "backup",
                       k->path, number);
    k->keys[k->n++] = key;
    OPENSSL_cleanse(&key, sizeof(key));
    return NULL;
}

static struct err *keyring_read(struct keyring *k)
{
    AUTO(buf_done) struct buf text = {0};
    struct err *e = file_read(k->path, FILE_MAX, &text);
    struct stat st;
    struct str rest;

    if (e && err_code(e) == ERR_NOT_FOUND) {
        err_free(e);
        key_make(&k->keys[0]);
        k->n = 1;
        k->is_unsaved = true;
        return NULL;
    }
    TRY(e);
    if (stat(k->path, &st) == 0 && (st.st_mode & 077) != 0)
        e = err_new(ERR_INTERNAL, "'%s' has mode %04o: others may read it; want 0600", k->path,
                    (unsigned)st.st_mode & 07777u);
    rest = (struct str){text.at, text.size};
    for (int line = 1; !e && rest.size > 0; line++)
        e = keyring_read_line(k, str_cut(&rest, '\n'), line);
    if (!e && k->n == 0)
        e = err_new(ERR_INTERNAL, "'%s' holds no key: restore the file from a backup", k->path);
    if (text.at)
        OPENSSL_cleanse(text.at, text.size);
    return e;
}

static struct err *keyring_write(const struct keyring *k)
{
    AUTO(buf_done) struct buf text = {0};
    struct err *e;

    buf_add_text(&text, head_text);
    for (size_t i = 0; i < k->n; i++) {
        char id[2 * ID_SIZE + 1];
        char bytes[2 * KEY_SIZE + 1];

        hex_format(k->keys[i].id, ID_SIZE, id);
        hex_format(k->keys[i].bytes, KEY_SIZE, bytes);
        buf_printf(&text, "KEY %s %s\n", id, bytes);
        OPENSSL_cleanse(bytes, sizeof(bytes));
    }
    e = file_write_durable(k->path, 0600, (struct str){text.at, text.size});
    OPENSSL_cleanse(text.at, text.size);
    return e;
}

static const struct key *last_key(const struct keyring *k)
{
    return &k->keys[k->n - 1];
}

/* ---- sealing ---- */

static bool keyring_covers(const struct store_key *key)
{
    return *key->group == '\0' && text_equal(key->resource, "secrets");
}

/* Encrypts or decrypts; false: the tag does not fit. OpenSSL without AES-GCM ends the process. */
static bool crypt_gcm(bool is_seal, const struct key *key, const uint8_t *nonce, struct str bound,
                      struct str in, uint8_t *out, uint8_t *tag)
{
    EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new();
    int size = 0;
    int done = c ? EVP_CipherInit_ex(c, EVP_aes_256_gcm(), NULL, key->bytes, nonce, is_seal) : 0;

    assert(in.size <= STORE_BYTES_MAX + HEAD_SIZE && bound.size <= 2 * STORE_KEY_BYTES_MAX);
    if (done == 1)
        done = EVP_CipherUpdate(c, NULL, &size, (const uint8_t *)bound.at, (int)bound.size);
    if (done == 1)
        done = EVP_CipherUpdate(c, out, &size, (const uint8_t *)in.at, (int)in.size);
    if (done == 1 && !is_seal)
        done = EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_GCM_SET_TAG, TAG_SIZE, tag);
    assert(done == 1);
    done = EVP_CipherFinal_ex(c, out + size, &size);
    if (is_seal) {
        assert(done == 1);
        done = EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_GCM_GET_TAG, TAG_SIZE, tag);
        assert(done == 1);
    }
    EVP_CIPHER_CTX_free(c);
    return done == 1;
}

static void keyring_seal_row(void *self, struct str bytes, struct str bound, struct buf *ret)
{
    const struct keyring *k = self;
    uint8_t head[HEAD_SIZE] = {MARK};
    uint8_t *nonce = head + 1 + ID_SIZE;
    AUTO_FREE uint8_t *out = mem_alloc(bytes.size + 1);

    memcpy(head + 1, last_key(k)->id, ID_SIZE);
    random_bytes(nonce, NONCE_SIZE);
    (void)crypt_gcm(true, last_key(k), nonce, bound, bytes, out, nonce + NONCE_SIZE); /* asserts */
    buf_add(ret, (const char *)head, sizeof(head));
    buf_add(ret, (const char *)out, bytes.size);
}

static bool is_sealed(struct str bytes)
{
    return bytes.size > 0 && *bytes.at == MARK;
}

static const struct key *find_key(const struct keyring *k, const char *id)
{
    for (size_t i = 0; i < k->n; i++)
        if (memcmp(k->keys[i].id, id, ID_SIZE) == 0)
            return &k->keys[i];
    return NULL;
}

static struct err *no_key(const struct keyring *k, const char *bytes)
{
    char id[2 * ID_SIZE + 1];

    hex_format((const uint8_t *)bytes, ID_SIZE, id);
    return err_new(
        ERR_INTERNAL,
        "Secrets are sealed with the key %s, which '%s' does not hold%s: restore the file "
        "from its backup, or move the data directory away to begin empty",
        id, k->path, k->is_unsaved ? " (the file is missing)" : "");
}

static bool keyring_is_present(void *self, struct str bytes)
{
    const struct keyring *k = self;

    return is_sealed(bytes) && bytes.size >= HEAD_SIZE &&
           memcmp(bytes.at + 1, last_key(k)->id, ID_SIZE) == 0;
}

static struct err *keyring_open_row(void *self, struct str bytes, struct str bound, struct buf *ret)
{
    struct keyring *k = self;
    const struct key *key;
    struct str inner;
    uint8_t tag[TAG_SIZE];
    bool is_whole;

    if (!keyring_is_present(k, bytes))
        k->is_stale = true;
    if (!is_sealed(bytes)) { /* of a version without keys */
        buf_add(ret, bytes.at, bytes.size);
        return NULL;
    }
    if (bytes.size < HEAD_SIZE)
        return err_new(ERR_INTERNAL, "a sealed Secret is too short");
    key = find_key(k, bytes.at + 1);
    if (!key)
        return no_key(k, bytes.at + 1);
    inner = (struct str){bytes.at + HEAD_SIZE, bytes.size - HEAD_SIZE};
    memcpy(tag, bytes.at + HEAD_SIZE - TAG_SIZE, TAG_SIZE);
    {
        AUTO_FREE uint8_t *out = mem_alloc(inner.size + 1);

        is_whole =
            crypt_gcm(false, key, (const uint8_t *)bytes.at + 1 + ID_SIZE, bound, inner, out, tag);
        if (is_whole)
            buf_add(ret, (const char *)out, inner.size);
        OPENSSL_cleanse(out, inner.size);
    }
    return is_whole ? NULL
                    : err_new(ERR_INTERNAL, "a sealed Secret was changed: its tag does not fit; "
                                            "restore the data directory from a backup");
}

/* ---- rotation, in the storage's thread ---- */

static void keyring_show(struct keyring *k, enum keyring_phase phase, const struct err *e)
{
    hex_format(last_key(k)->id, ID_SIZE, k->id);
    (void)snprintf(k->why, sizeof(k->why), "%s", e ? err_message(e) : ""); /* truncated to fit */
    atomic_store_explicit(&k->phase, phase, memory_order_release);
}

static bool keyring_begin(void *self)
{
    struct keyring *k = self;
    AUTO(err_freep) struct err *e = NULL;

    if (!atomic_exchange(&k->is_asked, false))
        return true; /* a pass that an earlier process began */
    if (k->n == KEYS_MAX) {
        e = err_new(ERR_CONFLICT, "'%s' holds %d keys already", k->path, KEYS_MAX);
    } else {
        key_make(&k->keys[k->n++]);
        e = keyring_write(k);
        if (e)
            OPENSSL_cleanse(&k->keys[--k->n], sizeof(struct key));
    }
    if (e)
        keyring_show(k, KEYRING_FAILED, e);
    return !e;
}

static void keyring_end(void *self, const char *why)
{
    struct keyring *k = self;
    AUTO(err_freep) struct err *e = why ? err_new(ERR_INTERNAL, "%s", why) : NULL;

    if (!e && k->n > 1) {
        k->keys[0] = *last_key(k);
        OPENSSL_cleanse(&k->keys[1], sizeof(struct key) * (KEYS_MAX - 1));
        k->n = 1;
        e = keyring_write(k);
    }
    k->is_stale = k->is_stale && e;
    if (!atomic_load(&k->is_asked)) /* else another pass follows */
        keyring_show(k, e ? KEYRING_FAILED : KEYRING_IDLE, e);
}

/* ---- the ring ---- */

struct err *keyring_open(const char *path, struct keyring **ret)
{
    struct keyring *k = mem_alloc(sizeof(*k));
    struct err *e;

    k->path = mem_strdup(path);
    k->seal = (struct storage_seal){.covers = keyring_covers,
                                    .seal = keyring_seal_row,
                                    .open = keyring_open_row,
                                    .is_present = keyring_is_present,
                                    .begin = keyring_begin,
                                    .end = keyring_end,
                                    .self = k};
    e = keyring_read(k);
    if (e) {
        keyring_free(k);
        return e;
    }
    k->is_stale = k->n > 1; /* a rotation was cut short */
    keyring_show(k, KEYRING_IDLE, NULL);
    *ret = k;
    return NULL;
}

void keyring_free(struct keyring *k)
{
    if (!k)
        return;
    free(k->path);
    OPENSSL_cleanse(k, sizeof(*k));
    free(k);
}

struct err *keyring_keep(struct keyring *k)
{
    if (!k->is_unsaved)
        return NULL;
    TRY(keyring_write(k));
    k->is_unsaved = false;
    return NULL;
}

bool keyring_is_stale(const struct keyring *k)
{
    return k->is_stale;
}

const struct storage_seal *keyring_seal(struct keyring *k)
{
    return &k->seal;
}

struct err *keyring_ask(struct keyring *k)
{
    if (atomic_load_explicit(&k->phase, memory_order_acquire) == KEYRING_ROTATING)
        return err_new(ERR_CONFLICT, "the key of Secrets is being rotated already");
    atomic_store(&k->is_asked, true);
    atomic_store_explicit(&k->phase, KEYRING_ROTATING, memory_order_release);
    return NULL;
}

struct keyring_state keyring_state(const struct keyring *k)
{
    struct keyring_state s = {
        .phase = (enum keyring_phase)atomic_load_explicit(&k->phase, memory_order_acquire)};

    if (s.phase == KEYRING_ROTATING)
        return s;
    memcpy(s.id, k->id, sizeof(k->id));
    memcpy(s.why, k->why, sizeof(k->why));
    return s;
}
