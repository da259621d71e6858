/* websocket_key_linux.c - the keys of the WebSocket handshake by OpenSSL */

#include <assert.h>
#include <openssl/evp.h>

#include "base/file.h"
#include "client/websocket.h"

enum {
    NONCE_SIZE = 16,
    SHA1_SIZE = 20
};

void websocket_key_make(char ret[WEBSOCKET_KEY_SIZE])
{
    unsigned char nonce[NONCE_SIZE];

    random_bytes(nonce, sizeof(nonce));
    (void)EVP_EncodeBlock((unsigned char *)ret, nonce, sizeof(nonce));
}

/* RFC 6455, 4.2.2: both sides append this to the key. */
static const char magic[] = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

bool websocket_accept_make(const char *key, char ret[WEBSOCKET_ACCEPT_SIZE])
{
    AUTO(buf_done) struct buf b = {0};
    unsigned char nonce[WEBSOCKET_KEY_SIZE];
    unsigned char digest[SHA1_SIZE];
    unsigned size = 0;

    /* A key is 16 bytes in base64: 24 characters, two of them padding. */
    if (!key || strlen(key) != WEBSOCKET_KEY_SIZE - 1 || !text_ends_with(key, "==") ||
        EVP_DecodeBlock(nonce, (const unsigned char *)key, WEBSOCKET_KEY_SIZE - 1) < 0)
        return false;
    buf_add_text(&b, key);
    buf_add_text(&b, magic);
    if (EVP_Digest(b.at, b.size, digest, &size, EVP_sha1(), NULL) != 1)
        return false; /* an OpenSSL without SHA-1 */
    assert(size == SHA1_SIZE);
    (void)EVP_EncodeBlock((unsigned char *)ret, digest, SHA1_SIZE);
    return true;
}
