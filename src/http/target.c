/* target.c - decoding of paths and queries */

#include "http/target.h"

#include "base/num.h"

/* Decodes percent-encoded text; in a query '+' is a space. */
static struct err *target_decode(struct arena *a, struct str text, bool is_query, const char **ret)
{
    char *out = arena_strndup(a, text.at, text.size);
    size_t n = 0;

    for (size_t i = 0; i < text.size; i++) {
        int high;
        int low;

        if (text.at[i] != '%') {
            out[n] = text.at[i];
            if (is_query && out[n] == '+')
                out[n] = ' ';
            n++;
            continue;
        }
        high = text.size - i > 2 ? num_hex_digit(text.at[i + 1]) : -1;
        low = text.size - i > 2 ? num_hex_digit(text.at[i + 2]) : -1;
        if (high < 0 || low < 0)
            return err_new(ERR_BAD_REQUEST, "malformed percent-escape in the request target");
        out[n++] = (char)(high * 16 + low);
        i += 2;
    }
    out[n] = '\0';
    if (memchr(out, '\0', n))
        return err_new(ERR_BAD_REQUEST, "NUL in the request target");
    *ret = out;
    return NULL;
}

static struct err *check_segment(const char *segment)
{
    if (*segment == '\0' || text_equal(segment, ".") || text_equal(segment, ".."))
        return err_new(ERR_BAD_REQUEST, "path segment '%s' is not allowed", segment);
    for (const char *at = segment; *at; at++) {
        if (*at == '/' || (unsigned char)*at < 0x20 || *at == 0x7f)
            return err_new(ERR_BAD_REQUEST, "byte 0x%02x in a path segment is not allowed",
                           (unsigned)(unsigned char)*at);
    }
    return NULL;
}

struct err *target_parse(struct arena *a, const char *path, struct request_target *ret)
{
    struct request_target target = {0};
    struct str rest = str_of(path);

    (void)str_cut(&rest, '/');
    while (rest.at && rest.size > 0) {
        struct str segment = str_cut(&rest, '/');

        if (target.n == TARGET_SEGMENTS_MAX)
            return err_new(ERR_BAD_REQUEST, "path has more than %d segments",
                           (int)TARGET_SEGMENTS_MAX);
        TRY(target_decode(a, segment, false, &target.segments[target.n]));
        TRY(check_segment(target.segments[target.n]));
        target.n++;
    }
    *ret = target;
    return NULL;
}

struct err *query_parse(struct arena *a, const char *text, struct query *ret)
{
    struct query query = {0};
    struct str rest = str_of(text);

    while (rest.at && rest.size > 0) {
        struct str value = str_cut(&rest, '&');
        struct str key = str_cut(&value, '=');
        struct query_pair *pair = &query.pairs[query.n];

        if (key.size == 0)
            continue;
        if (query.n == QUERY_PAIRS_MAX)
            return err_new(ERR_BAD_REQUEST, "more than %d query parameters", (int)QUERY_PAIRS_MAX);
        if (!value.at)
            value = STR("");
        TRY(target_decode(a, key, true, &pair->key));
        TRY(target_decode(a, value, true, &pair->value));
        query.n++;
    }
    *ret = query;
    return NULL;
}

struct err *target_unfold_watch(struct request_target *t, struct query *q)
{
    size_t i = t->n > 0 && text_equal(t->segments[0], "api") ? 2 : 3;

    if (t->n < i + 2 || !text_equal(t->segments[i], "watch"))
        return NULL;
    if (i == 3 && !text_equal(t->segments[0], "apis"))
        return NULL;
    if (q->n == QUERY_PAIRS_MAX)
        return err_new(ERR_BAD_REQUEST, "more than %d query parameters", (int)QUERY_PAIRS_MAX - 1);
    t->n--;
    for (; i < t->n; i++)
        t->segments[i] = t->segments[i + 1];
    q->pairs[q->n++] = q->pairs[0];
    q->pairs[0] = (struct query_pair){.key = "watch", .value = "true"};
    return NULL;
}

const char *target_proxy_rest(const char *path)
{
    struct str rest = str_of(path);
    bool is_scoped = false;

    (void)str_cut(&rest, '/');
    for (size_t i = 0; rest.at; i++) {
        struct str segment = str_cut(&rest, '/');

        if ((i == 0 && !str_equal(segment, STR("api"))) || i == 7)
            return NULL;
        if (i == 2 && !str_equal(segment, STR("nodes")) && !str_equal(segment, STR("namespaces")))
            return NULL;
        is_scoped |= i == 2 && str_equal(segment, STR("namespaces"));
        if (i == (is_scoped ? 6 : 4))
            return str_equal(segment, STR("proxy")) ? segment.at + segment.size : NULL;
    }
    return NULL;
}

const char *query_get(const struct query *q, const char *key)
{
    for (size_t i = 0; i < q->n; i++) {
        if (text_equal(q->pairs[i].key, key))
            return q->pairs[i].value;
    }
    return NULL;
}

bool query_bool(const struct query *q, const char *key)
{
    const char *value = query_get(q, key);

    return value && !text_equal(value, "0") && strcasecmp(value, "false") != 0;
}

struct err *query_int(const struct query *q, const char *key, int64_t fallback, int64_t *ret)
{
    const char *value = query_get(q, key);
    struct err *e;

    *ret = fallback;
    if (!value || *value == '\0')
        return NULL;
    e = num_parse_int64(str_of(value), 0, INT64_MAX, ret);
    if (!e)
        return NULL;
    err_free(e);
    return err_new(ERR_BAD_REQUEST, "query parameter '%s': '%.64s' is not a number of at least 0",
                   key, value);
}
