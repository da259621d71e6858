/* audit_chain.c - sealing and checking lines of the audit */

#include "access/audit_chain.h"

#include <inttypes.h>
#include <string.h>

#include "access/digest.h"
#include "base/mem.h"
#include "base/num.h"

static const char number_text[] = "{\"number\":";
static const char hash_text[] = ",\"hash\":\"";

enum {
    DIGITS = AUDIT_HASH_SIZE - 1,
    HASH_AT = sizeof(hash_text) - 1 + DIGITS + 2 /* from the end of a line: and the text "} */
};

struct audit_head audit_head_first(void)
{
    struct audit_head head = {0};

    memset(head.hash, '0', DIGITS);
    return head;
}

static void hash_bytes(struct str bytes, char ret[AUDIT_HASH_SIZE])
{
    static const char digits[] = "0123456789abcdef";
    uint8_t digest[SHA256_SIZE];

    digest_sha256(bytes, digest);
    for (size_t i = 0; i < SHA256_SIZE; i++) {
        ret[2 * i] = digits[digest[i] >> 4];
        ret[2 * i + 1] = digits[digest[i] & 15];
    }
    ret[DIGITS] = '\0';
}

void audit_seal(struct audit_head *head, struct str members, struct buf *ret)
{
    AUTO(buf_done) struct buf b = {0};

    buf_add(&b, head->hash, DIGITS);
    buf_printf(&b, "%s%" PRId64 ",", number_text, ++head->number);
    buf_add(&b, members.at, members.size);
    hash_bytes((struct str){.at = b.at, .size = b.size}, head->hash);
    buf_add(ret, b.at + DIGITS, b.size - DIGITS);
    buf_add_text(ret, hash_text);
    buf_add(ret, head->hash, DIGITS);
    buf_add_text(ret, "\"}");
}

struct err *audit_line_read(struct str line, struct audit_head *ret)
{
    size_t prefix = sizeof(number_text) - 1;
    struct audit_head head = {0};
    struct str rest = line;
    const char *end;

    if (line.size < prefix + HASH_AT || memcmp(line.at, number_text, prefix) != 0)
        return err_new(ERR_INVALID, "the line does not begin with %s", number_text);
    end = line.at + line.size - HASH_AT;
    if (memcmp(end, hash_text, sizeof(hash_text) - 1) != 0 ||
        memcmp(line.at + line.size - 2, "\"}", 2) != 0)
        return err_new(ERR_INVALID, "the line does not end with a hash");
    rest.at += prefix;
    rest.size -= prefix;
    TRY(num_parse_int64(str_cut(&rest, ','), 1, INT64_MAX, &head.number));
    memcpy(head.hash, end + sizeof(hash_text) - 1, DIGITS);
    *ret = head;
    return NULL;
}

struct err *audit_line_check(struct audit_head *head, struct str line)
{
    AUTO(buf_done) struct buf b = {0};
    struct audit_head claimed = {0};
    char hash[AUDIT_HASH_SIZE];

    TRY(audit_line_read(line, &claimed));
    if (claimed.number != head->number + 1)
        return err_new(ERR_INVALID, "the line has number %" PRId64 ", not %" PRId64, claimed.number,
                       head->number + 1);
    buf_add(&b, head->hash, DIGITS);
    buf_add(&b, line.at, line.size - HASH_AT);
    hash_bytes((struct str){.at = b.at, .size = b.size}, hash);
    if (!text_equal(hash, claimed.hash))
        return err_new(ERR_INVALID,
                       "the hash of line %" PRId64 " is wrong: the line or the one before it was "
                       "changed",
                       claimed.number);
    *head = claimed;
    return NULL;
}
