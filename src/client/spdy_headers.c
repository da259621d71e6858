/* spdy_headers.c - header blocks of SPDY/3 by zlib */

#include "client/spdy_headers.h"

#include <zlib.h>

#include "base/mem.h"

enum {
    /* 2 KiB, which holds the dictionary: headers rarely repeat text from further back. */
    WINDOW_BITS = 11,
    MEM_LEVEL = 4,
    PIECE = 512,
};

struct spdy_zip {
    z_stream in;
    z_stream out;
};

static const unsigned char *dictionary_bytes(void)
{
    return (const unsigned char *)spdy_dictionary;
}

struct spdy_zip *spdy_zip_new(void)
{
    struct spdy_zip *z = mem_alloc(sizeof(*z));

    /* With constant arguments these fail only without memory. */
    if (inflateInit(&z->in) != Z_OK ||
        deflateInit2(&z->out, Z_DEFAULT_COMPRESSION, Z_DEFLATED, WINDOW_BITS, MEM_LEVEL,
                     Z_DEFAULT_STRATEGY) != Z_OK ||
        deflateSetDictionary(&z->out, dictionary_bytes(), SPDY_DICTIONARY_SIZE) != Z_OK)
        abort();
    return z;
}

void spdy_zip_free(struct spdy_zip *z)
{
    if (!z)
        return;
    (void)inflateEnd(&z->in);
    (void)deflateEnd(&z->out); /* the error about unflushed data is expected */
    free(z);
}

/* ---- reading ---- */

static struct err *zip_inflate(struct spdy_zip *z, struct str block, struct buf *ret)
{
    unsigned char piece[PIECE];

    z->in.next_in = (unsigned char *)(uintptr_t)block.at;
    z->in.avail_in = (unsigned)block.size;
    do {
        int r;

        z->in.next_out = piece;
        z->in.avail_out = sizeof(piece);
        r = inflate(&z->in, Z_SYNC_FLUSH);
        if (r == Z_NEED_DICT) {
            if (inflateSetDictionary(&z->in, dictionary_bytes(), SPDY_DICTIONARY_SIZE) != Z_OK)
                return err_new(ERR_BAD_REQUEST, "header block of another dictionary than SPDY/3's");
            continue;
        }
        if (r == Z_MEM_ERROR)
            abort();
        if (r != Z_OK && r != Z_BUF_ERROR)
            return err_new(ERR_BAD_REQUEST, "header block that zlib does not read");
        buf_add(ret, piece, sizeof(piece) - z->in.avail_out);
        if (ret->overflow)
            return err_new(ERR_TOO_LARGE, "header block of more than %d bytes",
                           (int)SPDY_HEADER_BYTES_MAX);
    } while (z->in.avail_in > 0 || z->in.avail_out == 0);
    return NULL;
}

static bool read_u32(struct str *rest, uint32_t *ret)
{
    const unsigned char *at = (const unsigned char *)rest->at;

    if (rest->size < 4)
        return false;
    *ret = (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
    *rest = (struct str){rest->at + 4, rest->size - 4};
    return true;
}

/* Copies a text with a leading size to the end of the block's `text`, and adds a NUL. */
static bool read_text(struct str *rest, struct spdy_block *b, size_t *used, const char **ret)
{
    uint32_t size = 0;

    /* The size's four bytes make room for the NUL: the text always fits. */
    if (!read_u32(rest, &size) || size > rest->size)
        return false;
    memcpy(b->text + *used, rest->at, size);
    b->text[*used + size] = '\0';
    *ret = b->text + *used;
    *used += (size_t)size + 1;
    *rest = (struct str){rest->at + size, rest->size - size};
    return true;
}

static bool is_lower(const char *name)
{
    for (; *name; name++)
        if (*name >= 'A' && *name <= 'Z')
            return false;
    return true;
}

static struct err *read_headers(struct str rest, struct spdy_block *b)
{
    uint32_t n = 0;
    size_t used = 0;

    if (!read_u32(&rest, &n))
        return err_new(ERR_BAD_REQUEST, "header block without its count");
    if (n > SPDY_HEADERS_MAX)
        return err_new(ERR_TOO_LARGE, "%u headers: at most %d are allowed", (unsigned)n,
                       (int)SPDY_HEADERS_MAX);
    for (uint32_t i = 0; i < n; i++) {
        struct spdy_header *h = &b->headers[i];

        if (!read_text(&rest, b, &used, &h->name) || !read_text(&rest, b, &used, &h->value))
            return err_new(ERR_BAD_REQUEST, "header block that ends within a header");
        if (*h->name == '\0' || !is_lower(h->name))
            return err_new(ERR_BAD_REQUEST, "header name '%.64s' is empty or not in lower case",
                           h->name);
        b->n++;
    }
    if (rest.size > 0)
        return err_new(ERR_BAD_REQUEST, "header block with %zu bytes too many", rest.size);
    return NULL;
}

struct err *spdy_zip_read(struct spdy_zip *z, struct str block, struct spdy_block *ret)
{
    AUTO(buf_done) struct buf b = {.cap = SPDY_HEADER_BYTES_MAX};

    TRY(zip_inflate(z, block, &b));
    ret->n = 0;
    return read_headers((struct str){b.at, b.size}, ret);
}

/* ---- writing ---- */

void spdy_zip_add(struct spdy_zip *z, struct buf *b, const struct spdy_header *headers, size_t n)
{
    AUTO(buf_done) struct buf plain = {0};
    unsigned char piece[PIECE];

    buf_add_u32(&plain, (uint32_t)n);
    for (size_t i = 0; i < n; i++) {
        buf_add_u32(&plain, (uint32_t)strlen(headers[i].name));
        buf_add_text(&plain, headers[i].name);
        buf_add_u32(&plain, (uint32_t)strlen(headers[i].value));
        buf_add_text(&plain, headers[i].value);
    }
    z->out.next_in = (unsigned char *)plain.at;
    z->out.avail_in = (unsigned)plain.size;
    do {
        z->out.next_out = piece;
        z->out.avail_out = sizeof(piece);
        (void)deflate(&z->out, Z_SYNC_FLUSH); /* fails only on a misused stream */
        buf_add(b, piece, sizeof(piece) - z->out.avail_out);
    } while (z->out.avail_out == 0);
}

const char *spdy_header_get(const struct spdy_header *headers, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (text_equal(headers[i].name, name))
            return headers[i].value;
    return NULL;
}
