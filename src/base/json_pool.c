/*
 * json_pool.c - a reader of JSON that shares parts it has read before
 *
 * Measured with pods of 2 KB: jansson takes 45 us a pod, this reader 4 us if the pods belong to one
 * Job. A text that the quick reader (json_read.h) gives up goes whole to json_parse.
 *
 * An object or array of PART_MIN to PART_MAX bytes is a part. The pool notes a part's hash at the
 * first sight, and keeps the part's tree when another text has the same part. Parts of a single
 * object, however often it is read, never fill the pool.
 */

#include "base/json_pool.h"

#include <assert.h>
#include <stdarg.h>
#include <string.h>

#include "base/json_read.h"
#include "base/mem.h"

enum {
    PART_MIN = 24,
    PART_MAX = 8192,
    PART_DEPTH_MAX = 6, /* deeper parts are not pooled, so that no byte is hashed more often */
    PARTS = 4096,
    NOTES = 1 << 15,
    POOL_BYTES_MAX = 1 << 20, /* of texts; their trees take about twelve times as much */
    CHECK_EVERY = 1024        /* hits */
};

struct part {
    uint64_t hash;
    char *text; /* NULL: the slot is empty */
    size_t size;
    json_t *tree;
};

struct json_pool {
    struct part parts[PARTS];
    uint64_t notes[NOTES]; /* parts seen once: half of the part's hash, half of its text's */
    size_t bytes;
    uint64_t hits;
};

struct pool_reader {
    struct json_reader reader; /* first */
    struct json_pool *pool;
    uint64_t source; /* hash of the whole text */
};

struct json_pool *json_pool_new(void)
{
    return mem_alloc(sizeof(struct json_pool));
}

static void part_clear(struct json_pool *p, struct part *part)
{
    p->bytes -= part->size;
    free(part->text);
    json_decref(part->tree);
    *part = (struct part){0};
}

static void pool_clear(struct json_pool *p)
{
    for (size_t i = 0; i < PARTS; i++)
        part_clear(p, &p->parts[i]);
}

void json_pool_free(struct json_pool *p)
{
    if (!p)
        return;
    pool_clear(p);
    free(p);
}

uint64_t json_pool_hits(const struct json_pool *p)
{
    return p->hits;
}

/* Has the word a byte that is `c`? */
static bool word_has(uint64_t word, unsigned char c)
{
    const uint64_t ones = UINT64_C(0x0101010101010101);
    uint64_t x = word ^ (ones * c); /* 0 in such a byte */

    return ((x - ones) & ~x & (ones << 7)) != 0;
}

/* Skips bytes before the next '"' or '\\', 8 at a time. */
static const char *skip_plain(const char *at, const char *end)
{
    uint64_t word;

    for (; end - at >= (ptrdiff_t)sizeof(word); at += sizeof(word)) {
        memcpy(&word, at, sizeof(word));
        if (word_has(word, '"') || word_has(word, '\\'))
            break;
    }
    return at;
}

/* The byte after the string that begins at `at`. NULL: the string does not end. */
static const char *string_end(const char *at, const char *end)
{
    for (at = skip_plain(at + 1, end); at < end; at++) {
        if (*at == '"')
            return at + 1;
        at += *at == '\\';
    }
    return NULL;
}

/* The byte after the object or array that begins at `at`. NULL: it does not end before `end`. */
static const char *container_end(const char *at, const char *end)
{
    size_t depth = 0;

    while (at < end) {
        char c = *at++;

        if (c == '"') {
            at = string_end(at - 1, end);
            if (!at)
                return NULL;
        } else if (c == '{' || c == '[') {
            depth++;
        } else if ((c == '}' || c == ']') && --depth == 0) {
            return at;
        }
    }
    return NULL;
}

/* Hashes 8 bytes at a time, with the mixer of splitmix64. A collision only costs a comparison. */
static uint64_t part_hash(const char *at, size_t size)
{
    uint64_t hash = size * UINT64_C(0x9e3779b97f4a7c15);

    while (size > 0) {
        size_t n = size < 8 ? size : 8;
        uint64_t word = 0;

        memcpy(&word, at, n);
        hash = (hash ^ word) * UINT64_C(0xbf58476d1ce4e5b9);
        hash ^= hash >> 29;
        at += n;
        size -= n;
    }
    return (hash ^ (hash >> 32)) * UINT64_C(0x94d049bb133111eb);
}

static bool part_is_unchanged(const struct part *part)
{
    AUTO_FREE char *text = json_format(part->tree);

    return strlen(text) == part->size && memcmp(text, part->text, part->size) == 0;
}

/* Borrowed, or NULL. */
static json_t *part_find(struct json_pool *p, uint64_t hash, const char *at, size_t size)
{
    const struct part *part = &p->parts[hash % PARTS];

    if (!part->text || part->hash != hash || part->size != size ||
        memcmp(part->text, at, size) != 0)
        return NULL;
    if (p->hits++ % CHECK_EVERY == 0)
        assert(part_is_unchanged(part)); /* fails if a borrower changed the shared tree */
    return part->tree;
}

/* Has another text had this part before? */
static bool is_met_again(struct json_pool *p, uint64_t hash, uint64_t source)
{
    uint64_t *note = &p->notes[(hash >> 16) % NOTES];
    uint64_t is = (hash & ~(uint64_t)UINT32_MAX) | (source >> 32);
    uint64_t was = *note;

    *note = is;
    return was != is && was >> 32 == is >> 32;
}

static void part_keep(const struct pool_reader *r, uint64_t hash, struct str text, json_t *tree)
{
    struct part part = {.hash = hash, .size = text.size};
    struct json_pool *p = r->pool;

    if (!is_met_again(p, hash, r->source))
        return;
    part.text = mem_strndup(text.at, text.size);
    part.tree = tree;
    if (!part_is_unchanged(&part)) { /* json_format would write the part differently */
        free(part.text);
        return;
    }
    if (p->bytes + text.size > POOL_BYTES_MAX)
        pool_clear(p);
    part_clear(p, &p->parts[hash % PARTS]);
    (void)json_incref(tree);
    p->bytes += text.size;
    p->parts[hash % PARTS] = part;
}

/* Finds the part in the pool, or reads it and may add it to the pool. */
static json_t *read_part(struct json_reader *reader)
{
    struct pool_reader *r = (struct pool_reader *)(void *)reader;
    size_t left = (size_t)(reader->end - reader->at);
    const char *from = reader->at;
    const char *end = NULL;
    json_t *value = NULL;
    uint64_t hash = 0;
    size_t size = 0;

    if (reader->depth <= PART_DEPTH_MAX)
        end = container_end(from, from + (left < PART_MAX ? left : PART_MAX));
    size = end ? (size_t)(end - from) : 0;
    if (size < PART_MIN)
        return json_read_container(reader);
    hash = part_hash(from, size);
    value = part_find(r->pool, hash, from, size);
    if (value) {
        reader->at = end;
        return json_incref(value);
    }
    value = json_read_container(reader);
    if (value)
        part_keep(r, hash, (struct str){from, size}, value);
    return value;
}

struct err *json_pool_parse(struct json_pool *p, struct str text, json_t **ret)
{
    struct pool_reader r = {
        .reader = {.at = text.at, .end = text.at + text.size, .read_part = read_part},
        .pool = p,
        .source = part_hash(text.at, text.size)};
    json_t *tree = json_read(&r.reader);

    if (!tree)
        return json_parse(text, ret);
    *ret = tree;
    return NULL;
}

/* The byte after a value of any type. */
static const char *value_end(const char *at, const char *end)
{
    if (at < end && *at == '"')
        return string_end(at, end);
    if (at < end && (*at == '{' || *at == '['))
        return container_end(at, end);
    while (at < end && *at != ',' && *at != '}' && *at != ']')
        at++;
    return at;
}

/* Does json_format write the key without escapes? */
static bool is_plain(const char *key)
{
    for (; *key; key++)
        if ((unsigned char)*key < ' ' || *key == '"' || *key == '\\' || *key == 0x7f)
            return false;
    return true;
}

/* Does a blank come here? json_format writes none. */
static bool is_blank(const char *at, const char *end)
{
    return at < end && (unsigned char)*at <= ' ';
}

/* Moves `*text` from an object to the value of its member `key`; both reach to the end of the whole
 * text. */
static enum json_peeked peek_member(struct str *text, const char *key)
{
    const char *end = text->at + text->size;
    const char *at = text->at;
    size_t size = strlen(key);

    if (is_blank(at, end))
        return PEEK_UNKNOWN;
    if (text->size < 2 || *at != '{' || at[1] == '}')
        return PEEK_ABSENT;
    if (!is_plain(key))
        return PEEK_UNKNOWN;
    while (at < end && *at != '}') {
        const char *name = ++at; /* after '{' or ',' */
        const char *value = at < end && *at == '"' ? string_end(at, end) : NULL;

        if (!value || value >= end || *value != ':' || is_blank(value + 1, end))
            return PEEK_UNKNOWN;
        if ((size_t)(value - name) == size + 2 && memcmp(name + 1, key, size) == 0) {
            *text = (struct str){value + 1, (size_t)(end - value - 1)};
            return PEEK_FOUND;
        }
        at = value_end(value + 1, end);
        if (!at || at >= end)
            return PEEK_UNKNOWN;
    }
    return PEEK_ABSENT;
}

/* Cuts a value off the rest of the text. */
static enum json_peeked peek_value(struct str rest, struct str *ret)
{
    const char *end = rest.at + rest.size;
    const char *behind = value_end(rest.at, end);

    if (!behind || (behind == end && *rest.at != '{'))
        return PEEK_UNKNOWN; /* only the outermost object ends there */
    *ret = (struct str){rest.at, (size_t)(behind - rest.at)};
    return PEEK_FOUND;
}

enum json_peeked json_peek(struct str text, struct str *ret, ...)
{
    enum json_peeked found = PEEK_FOUND;
    struct str at = text;
    const char *key;
    va_list ap;

    va_start(ap, ret);
    while (found == PEEK_FOUND && (key = va_arg(ap, const char *)) != NULL)
        found = peek_member(&at, key);
    va_end(ap);
    return found == PEEK_FOUND ? peek_value(at, ret) : found;
}

bool json_peek_string(struct str text, struct str *ret)
{
    if (text.size < 2 || *text.at != '"' || memchr(text.at, '\\', text.size))
        return false;
    *ret = (struct str){text.at + 1, text.size - 2};
    return true;
}
