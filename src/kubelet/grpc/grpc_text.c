/* grpc_text.c - the texts and message frames of gRPC */

#include "kubelet/grpc/grpc_text.h"

#include "base/num.h"

struct err *grpc_message_parse(struct str bytes, size_t max, struct str *ret, size_t *ret_size)
{
    const unsigned char *at = (const unsigned char *)bytes.at;
    size_t size;

    *ret_size = 0;
    if (bytes.size < GRPC_HEAD_SIZE)
        return NULL;
    size = str_u32(at + 1);
    if (at[0] != 0)
        return err_new(ERR_INVALID, "gRPC message: flag %u: want 0, no compression", at[0]);
    if (size > max)
        return err_new(ERR_TOO_LARGE, "gRPC message of %zu bytes: want at most %zu", size, max);
    if (bytes.size - GRPC_HEAD_SIZE < size)
        return NULL;
    *ret = (struct str){.at = bytes.at + GRPC_HEAD_SIZE, .size = size};
    *ret_size = GRPC_HEAD_SIZE + size;
    return NULL;
}

void grpc_message_format(struct buf *out, struct str message)
{
    buf_add_char(out, 0); /* no compression */
    buf_add_u32(out, (uint32_t)message.size);
    buf_add(out, message.at, message.size);
}

void grpc_escape(struct buf *out, const char *text)
{
    for (const char *at = text; *at; at++) {
        unsigned char c = (unsigned char)*at;

        if (c < 0x20 || c > 0x7e || c == '%')
            buf_printf(out, "%%%02X", c);
        else
            buf_add_char(out, *at);
    }
}

void grpc_unescape(struct buf *out, struct str text)
{
    for (size_t i = 0; i < text.size; i++) {
        bool is_escape = text.at[i] == '%' && i + 2 < text.size &&
                         num_hex_digit(text.at[i + 1]) >= 0 && num_hex_digit(text.at[i + 2]) >= 0;

        if (!is_escape) {
            buf_add_char(out, text.at[i]);
            continue;
        }
        buf_add_char(out,
                     (char)(num_hex_digit(text.at[i + 1]) << 4 | num_hex_digit(text.at[i + 2])));
        i += 2;
    }
}

struct err *grpc_status_error(int status, const char *message)
{
    static const enum err_code codes[] = {
        [3] = ERR_INVALID,      [4] = ERR_TIMEOUT,         [5] = ERR_NOT_FOUND,
        [6] = ERR_EXISTS,       [7] = ERR_FORBIDDEN,       [8] = ERR_TOO_LARGE,
        [9] = ERR_CONFLICT,     [10] = ERR_CONFLICT,       [12] = ERR_UNIMPLEMENTED,
        [14] = ERR_UNAVAILABLE, [16] = ERR_UNAUTHENTICATED};
    enum err_code code = ERR_INTERNAL;

    if (status == 0)
        return NULL;
    if (status > 0 && (size_t)status < COUNT(codes) && codes[status] != ERR_BAD_REQUEST)
        code = codes[status];
    return err_new(code, "gRPC status %d: %s", status, message);
}
