/* cel_rule_more.c - functions of rules: texts, patterns, lists, times, addresses, URLs */

#include <arpa/inet.h>
#include <ctype.h>
#include <inttypes.h>

#include "base/mem.h"
#include "base/num.h"
#include "base/stamp.h"
#include "model/cel/cel_rule_private.h"
#include "model/pattern.h"

enum {
    STEP_BYTES = 10,
    ADDRESS_MAX = 64
};

#define CALL(fn)                                                                                 \
    static struct err *fn(struct cel_run *r, const struct cel_node *n, const struct cel_item *a, \
                          struct cel_item *ret)

static struct err *want_texts(const struct cel_node *n, const struct cel_item *a, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (a[i].kind != ITEM_STRING)
            return rule_no_overload(n, &a[i]);
    return NULL;
}

static struct str copy_of(struct cel_run *r, struct str text)
{
    return (struct str){arena_strndup(r->arena, text.at, text.size), text.size};
}

static const char *find_text(struct str text, struct str part)
{
    if (part.size == 0)
        return text.at;
    return text.size > 0 ? memmem(text.at, text.size, part.at, part.size) : NULL;
}

/* The byte where character `i` begins; SIZE_MAX: there are fewer. */
static size_t byte_of(struct str text, int64_t i)
{
    size_t at = 0;

    if (i < 0)
        return SIZE_MAX;
    for (; i > 0 && at < text.size; i--)
        do
            at++;
        while (at < text.size && ((unsigned char)text.at[at] & 0xc0) == 0x80);
    return i == 0 ? at : SIZE_MAX;
}

static int64_t char_of(struct str text, size_t byte)
{
    int64_t n = 0;

    for (size_t i = 0; i < byte; i++)
        n += ((unsigned char)text.at[i] & 0xc0) != 0x80;
    return n;
}

/* ---- texts ---- */

CALL(call_starts_with)
{
    TRY(want_texts(n, a, 2));
    *ret = item_bool(a[0].text.size >= a[1].text.size &&
                     memcmp(a[0].text.at, a[1].text.at, a[1].text.size) == 0);
    return rule_spend(r, n, a[1].text.size / STEP_BYTES);
}

CALL(call_ends_with)
{
    size_t shift = a[0].text.size - a[1].text.size;

    TRY(want_texts(n, a, 2));
    *ret = item_bool(a[0].text.size >= a[1].text.size &&
                     memcmp(a[0].text.at + shift, a[1].text.at, a[1].text.size) == 0);
    return rule_spend(r, n, a[1].text.size / STEP_BYTES);
}

CALL(call_contains)
{
    TRY(want_texts(n, a, 2));
    *ret = item_bool(find_text(a[0].text, a[1].text) != NULL);
    return rule_spend(r, n, (a[0].text.size + a[1].text.size) / STEP_BYTES);
}

static struct err *change_case(struct cel_run *r, const struct cel_node *n,
                               const struct cel_item *a, bool is_upper, struct cel_item *ret)
{
    char *text;

    TRY(want_texts(n, a, 1));
    text = arena_strndup(r->arena, a->text.at, a->text.size);
    for (size_t i = 0; i < a->text.size; i++)
        if ((unsigned char)text[i] < 0x80)
            text[i] = (char)(is_upper ? toupper((unsigned char)text[i])
                                      : tolower((unsigned char)text[i]));
    *ret = item_text((struct str){text, a->text.size});
    return rule_spend(r, n, a->text.size / STEP_BYTES);
}

CALL(call_lower)
{
    return change_case(r, n, a, false, ret);
}

CALL(call_upper)
{
    return change_case(r, n, a, true, ret);
}

CALL(call_trim)
{
    struct str text = a->text;

    TRY(want_texts(n, a, 1));
    while (text.size > 0 && isspace((unsigned char)text.at[0]))
        text = (struct str){text.at + 1, text.size - 1};
    while (text.size > 0 && isspace((unsigned char)text.at[text.size - 1]))
        text.size--;
    *ret = item_text(text);
    return rule_spend(r, n, a->text.size / STEP_BYTES);
}

CALL(call_char_at)
{
    size_t at;
    size_t end;

    TRY(want_texts(n, a, 1));
    if (a[1].kind != ITEM_INT)
        return rule_no_overload(n, &a[1]);
    at = byte_of(a[0].text, a[1].number);
    if (at == SIZE_MAX)
        return rule_fault(n, "index out of range: %" PRId64, a[1].number);
    end = byte_of(a[0].text, a[1].number + 1);
    *ret =
        item_text((struct str){a[0].text.at + at, (end == SIZE_MAX ? a[0].text.size : end) - at});
    return rule_spend(r, n, a[0].text.size / STEP_BYTES);
}

CALL(call_substring)
{
    size_t n_args = n->n_args;
    size_t begin;
    size_t end = a[0].text.size;

    TRY(want_texts(n, a, 1));
    if (a[1].kind != ITEM_INT || (n_args == 3 && a[2].kind != ITEM_INT))
        return rule_no_overload(n, &a[1]);
    begin = byte_of(a[0].text, a[1].number);
    if (n_args == 3)
        end = byte_of(a[0].text, a[2].number);
    if (begin == SIZE_MAX || end == SIZE_MAX || begin > end)
        return rule_fault(n, "index out of range");
    *ret = item_text((struct str){a[0].text.at + begin, end - begin});
    return rule_spend(r, n, a[0].text.size / STEP_BYTES);
}

static struct err *index_of_item(struct cel_run *r, const struct cel_node *n,
                                 const struct cel_item *a, bool is_last, struct cel_item *ret)
{
    *ret = item_int(-1);
    for (size_t i = 0; i < item_count(&a[0]); i++) {
        struct cel_item one = item_at(r, &a[0], i);
        bool is_equal = false;

        TRY(items_equal(r, n, &one, &a[1], &is_equal));
        if (is_equal)
            *ret = item_int((int64_t)i);
        if (is_equal && !is_last)
            return NULL;
    }
    return NULL;
}

CALL(call_index_of)
{
    size_t from = 0;
    const char *found;

    if (a[0].kind == ITEM_LIST)
        return index_of_item(r, n, a, false, ret);
    TRY(want_texts(n, a, 2));
    if (n->n_args == 3 && a[2].kind != ITEM_INT)
        return rule_no_overload(n, &a[2]);
    if (n->n_args == 3)
        from = byte_of(a[0].text, a[2].number);
    if (from == SIZE_MAX)
        return rule_fault(n, "index out of range");
    found = find_text((struct str){a[0].text.at + from, a[0].text.size - from}, a[1].text);
    *ret = item_int(found ? char_of(a[0].text, (size_t)(found - a[0].text.at)) : -1);
    return rule_spend(r, n, a[0].text.size / STEP_BYTES);
}

CALL(call_last_index_of)
{
    struct str text = a[0].text;

    if (a[0].kind == ITEM_LIST)
        return index_of_item(r, n, a, true, ret);
    TRY(want_texts(n, a, 2));
    TRY(rule_spend(r, n, text.size * (1 + a[1].text.size / STEP_BYTES) / STEP_BYTES));
    *ret = item_int(-1);
    for (size_t i = text.size + 1; i > 0; i--) {
        if (text.size - (i - 1) < a[1].text.size ||
            memcmp(text.at + i - 1, a[1].text.at, a[1].text.size) != 0)
            continue;
        *ret = item_int(char_of(text, i - 1));
        break;
    }
    return NULL;
}

/* Adds to a text of the arena; the steps are the caller's. */
static struct err *text_of(struct cel_run *r, const struct cel_node *n, const struct buf *b,
                           struct cel_item *ret)
{
    TRY(rule_spend(r, n, b->size / STEP_BYTES + 1));
    if (b->overflow)
        return rule_fault(n, "the text is too long");
    *ret = item_text(copy_of(r, (struct str){b->at ? b->at : "", b->size}));
    return NULL;
}

CALL(call_replace)
{
    AUTO(buf_done) struct buf b = {.cap = 1 << 20};
    struct str rest = a[0].text;
    int64_t left = n->n_args == 4 ? a[3].number : -1;

    TRY(want_texts(n, a, 3));
    if (n->n_args == 4 && a[3].kind != ITEM_INT)
        return rule_no_overload(n, &a[3]);
    if (a[1].text.size == 0)
        return rule_fault(n, "replace: the text to replace is empty");
    for (; left != 0; left--) {
        const char *found = find_text(rest, a[1].text);
        size_t size;

        if (!found)
            break;
        size = (size_t)(found - rest.at);
        buf_add(&b, rest.at, size);
        buf_add(&b, a[2].text.at, a[2].text.size);
        rest = (struct str){found + a[1].text.size, rest.size - size - a[1].text.size};
    }
    buf_add(&b, rest.at, rest.size);
    return text_of(r, n, &b, ret);
}

CALL(call_split)
{
    VEC(struct cel_item) parts = {0};
    struct str rest = a[0].text;
    int64_t most = n->n_args == 3 ? a[2].number : -1;
    struct cel_item *own;

    TRY(want_texts(n, a, 2));
    if (n->n_args == 3 && a[2].kind != ITEM_INT)
        return rule_no_overload(n, &a[2]);
    TRY(rule_spend(r, n, a[0].text.size));
    while (most != 0) {
        const char *found = a[1].text.size > 0 ? find_text(rest, a[1].text)
                            : rest.size > 1    ? rest.at + byte_of(rest, 1)
                                               : NULL;
        size_t size;

        if (!found || (most > 0 && (int64_t)parts.n + 1 >= most) ||
            (a[1].text.size == 0 && found >= rest.at + rest.size))
            break;
        size = (size_t)(found - rest.at);
        vec_add(&parts, item_text((struct str){rest.at, size}));
        rest = (struct str){found + a[1].text.size, rest.size - size - a[1].text.size};
    }
    if (most != 0)
        vec_add(&parts, item_text(rest));
    own = arena_alloc(r->arena, (parts.n + 1) * sizeof(*own));
    for (size_t i = 0; i < parts.n; i++)
        own[i] = parts.at[i];
    *ret = item_list(own, parts.n);
    vec_done(&parts);
    return NULL;
}

CALL(call_join)
{
    AUTO(buf_done) struct buf b = {.cap = 1 << 20};

    if (a[0].kind != ITEM_LIST)
        return rule_no_overload(n, &a[0]);
    if (n->n_args == 2)
        TRY(want_texts(n, &a[1], 1));
    TRY(rule_spend(r, n, item_count(&a[0])));
    for (size_t i = 0; i < item_count(&a[0]); i++) {
        struct cel_item one = item_at(r, &a[0], i);

        TRY(want_texts(n, &one, 1));
        if (i > 0 && n->n_args == 2)
            buf_add(&b, a[1].text.at, a[1].text.size);
        buf_add(&b, one.text.at, one.text.size);
    }
    return text_of(r, n, &b, ret);
}

/* "%s" and "%d" of a list of values; other verbs are refused. */
CALL(call_format)
{
    AUTO(buf_done) struct buf b = {.cap = 1 << 20};
    size_t next = 0;

    TRY(want_texts(n, a, 1));
    if (a[1].kind != ITEM_LIST)
        return rule_no_overload(n, &a[1]);
    for (size_t i = 0; i < a[0].text.size; i++) {
        char c = a[0].text.at[i];
        struct cel_item one = {0};
        struct str text = {0};

        if (c != '%') {
            buf_add_char(&b, c);
            continue;
        }
        c = i + 1 < a[0].text.size ? a[0].text.at[i + 1] : '\0';
        i++;
        if (c == '%') {
            buf_add_char(&b, c);
            continue;
        }
        if (c != 's' && c != 'd')
            return rule_fault(n, "format: want %%s, %%d or %%%%");
        if (next >= item_count(&a[1]))
            return rule_fault(n, "format: index %zu out of range", next);
        one = item_at(r, &a[1], next++);
        TRY(item_format(r, n, &one, &text));
        buf_add(&b, text.at, text.size);
    }
    return text_of(r, n, &b, ret);
}

/* ---- patterns ---- */

static struct err *parse_pattern(struct cel_run *r, const struct cel_node *n,
                                 const struct cel_item *a, struct pattern **ret)
{
    AUTO(err_freep) struct err *e = NULL;

    TRY(want_texts(n, a, 2));
    TRY(rule_spend(r, n, a[1].text.size));
    e = pattern_parse(a[1].text, ret);
    return e ? rule_fault(n, "%s", err_message(e)) : NULL;
}

static struct err *find_span(struct cel_run *r, const struct cel_node *n, const struct pattern *p,
                             struct str text, size_t from, bool *ret_found,
                             struct pattern_span *ret)
{
    int64_t steps = *r->steps * STEP_BYTES;
    AUTO(err_freep) struct err *e = pattern_find(p, text, from, &steps, ret_found, ret);

    if (e)
        return rule_spend(r, n, SIZE_MAX);
    *r->steps = steps / STEP_BYTES;
    return NULL;
}

CALL(call_matches)
{
    struct pattern *p = NULL;
    struct pattern_span span = {0};
    bool is_found = false;
    struct err *e = parse_pattern(r, n, a, &p);

    if (!e)
        e = find_span(r, n, p, a[0].text, 0, &is_found, &span);
    pattern_free(p);
    *ret = item_bool(is_found);
    return e;
}

CALL(call_find)
{
    struct pattern *p = NULL;
    struct pattern_span span = {0};
    bool is_found = false;
    struct err *e = parse_pattern(r, n, a, &p);

    if (!e)
        e = find_span(r, n, p, a[0].text, 0, &is_found, &span);
    pattern_free(p);
    *ret = item_text((struct str){a[0].text.at + span.begin, span.end - span.begin});
    return e;
}

CALL(call_find_all)
{
    VEC(struct cel_item) found = {0};
    struct pattern *p = NULL;
    struct pattern_span span = {0};
    bool is_found = true;
    size_t from = 0;
    struct cel_item *own;
    struct err *e = parse_pattern(r, n, a, &p);

    while (!e && is_found && from <= a[0].text.size) {
        e = find_span(r, n, p, a[0].text, from, &is_found, &span);
        if (!e)
            e = rule_spend(r, n, 1);
        if (e || !is_found || (n->n_args == 3 && (int64_t)found.n >= a[2].number))
            break;
        vec_add(&found, item_text((struct str){a[0].text.at + span.begin, span.end - span.begin}));
        from = span.end > span.begin ? span.end : span.end + 1;
    }
    own = arena_alloc(r->arena, (found.n + 1) * sizeof(*own));
    for (size_t i = 0; i < found.n; i++)
        own[i] = found.at[i];
    *ret = item_list(own, found.n);
    vec_done(&found);
    pattern_free(p);
    return e;
}

/* ---- lists ---- */

static struct err *extreme(struct cel_run *r, const struct cel_node *n, const struct cel_item *a,
                           int sign, struct cel_item *ret)
{
    if (a->kind != ITEM_LIST)
        return rule_no_overload(n, a);
    if (item_count(a) == 0)
        return rule_fault(n, "the list is empty");
    *ret = item_at(r, a, 0);
    for (size_t i = 1; i < item_count(a); i++) {
        struct cel_item one = item_at(r, a, i);
        int order = 0;

        TRY(rule_spend(r, n, 1));
        TRY(items_compare(r, n, &one, ret, &order));
        if (order * sign > 0)
            *ret = one;
    }
    return NULL;
}

CALL(call_max)
{
    return extreme(r, n, a, 1, ret);
}

CALL(call_min)
{
    return extreme(r, n, a, -1, ret);
}

CALL(call_greatest)
{
    struct cel_item list = item_list(a, n->n_args);

    return extreme(r, n, n->n_args == 1 ? a : &list, 1, ret);
}

CALL(call_least)
{
    struct cel_item list = item_list(a, n->n_args);

    return extreme(r, n, n->n_args == 1 ? a : &list, -1, ret);
}

CALL(call_sum)
{
    if (a->kind != ITEM_LIST)
        return rule_no_overload(n, a);
    *ret = item_int(0);
    for (size_t i = 0; i < item_count(a); i++) {
        struct cel_item one = item_at(r, a, i);

        TRY(rule_spend(r, n, 1));
        if (i == 0 && one.kind != ITEM_INT)
            *ret = (struct cel_item){.kind = one.kind};
        if (one.kind != ret->kind ||
            (one.kind != ITEM_INT && one.kind != ITEM_DOUBLE && one.kind != ITEM_DURATION))
            return rule_no_overload(n, &one);
        if (one.kind == ITEM_DOUBLE)
            ret->real += one.real;
        else if (__builtin_add_overflow(ret->number, one.number, &ret->number))
            return rule_fault(n, "integer overflow");
    }
    return NULL;
}

CALL(call_is_sorted)
{
    if (a->kind != ITEM_LIST)
        return rule_no_overload(n, a);
    *ret = item_bool(true);
    for (size_t i = 1; ret->yes && i < item_count(a); i++) {
        struct cel_item one = item_at(r, a, i - 1);
        struct cel_item next = item_at(r, a, i);
        int order = 0;

        TRY(rule_spend(r, n, 1));
        TRY(items_compare(r, n, &one, &next, &order));
        ret->yes = order <= 0;
    }
    return NULL;
}

/* ---- times ---- */

/* Hours, minutes, seconds and milliseconds of a duration are its whole length; of a timestamp they
 * are a part of it. */
static struct err *part_of_time(const struct cel_node *n, const struct cel_item *a, int64_t unit_ns,
                                int64_t parts, struct cel_item *ret)
{
    int64_t whole;

    if (n->n_args > 1)
        return rule_fault(n, "time zones are not implemented by mete");
    if (a->kind != ITEM_DURATION && a->kind != ITEM_TIMESTAMP)
        return rule_no_overload(n, a);
    whole = a->number / unit_ns;
    if (a->kind == ITEM_TIMESTAMP || unit_ns == NS_PER_MS)
        whole = (whole % parts + parts) % parts;
    *ret = item_int(whole);
    return NULL;
}

CALL(call_hours)
{
    (void)r;
    return part_of_time(n, a, 3600 * NS_PER_SEC, 24, ret);
}

CALL(call_minutes)
{
    (void)r;
    return part_of_time(n, a, 60 * NS_PER_SEC, 60, ret);
}

CALL(call_seconds)
{
    (void)r;
    return part_of_time(n, a, NS_PER_SEC, 60, ret);
}

CALL(call_milliseconds)
{
    (void)r;
    return part_of_time(n, a, NS_PER_MS, 1000, ret);
}

/* ---- addresses and URLs ---- */

static bool is_address(struct str text, int family)
{
    char copy[ADDRESS_MAX] = "";
    unsigned char address[16];

    if (text.size == 0 || text.size >= sizeof(copy) || memchr(text.at, '\0', text.size))
        return false;
    memcpy(copy, text.at, text.size);
    return inet_pton(family, copy, address) == 1;
}

CALL(call_is_ip)
{
    (void)r;
    TRY(want_texts(n, a, 1));
    *ret = item_bool(is_address(a->text, AF_INET) || is_address(a->text, AF_INET6));
    return NULL;
}

CALL(call_ip)
{
    (void)r;
    TRY(want_texts(n, a, 1));
    *ret = (struct cel_item){.kind = ITEM_IP, .text = a->text};
    if (!is_address(a->text, AF_INET) && !is_address(a->text, AF_INET6))
        return rule_fault(n, "IP Address \"" STR_FMT "\" parse error", STR_ARG(a->text));
    return NULL;
}

CALL(call_family)
{
    (void)r;
    if (a->kind != ITEM_IP)
        return rule_no_overload(n, a);
    *ret = item_int(memchr(a->text.at, ':', a->text.size) ? 6 : 4);
    return NULL;
}

CALL(call_is_cidr)
{
    struct str rest = a->text;
    struct str address;
    int64_t bits = 0;
    AUTO(err_freep) struct err *e = NULL;
    bool is_4;

    (void)r;
    TRY(want_texts(n, a, 1));
    address = str_cut(&rest, '/');
    is_4 = is_address(address, AF_INET);
    e = num_parse_int64(rest.at ? rest : STR(""), 0, is_4 ? 32 : 128, &bits);
    *ret = item_bool(!e && (is_4 || is_address(address, AF_INET6)));
    return NULL;
}

/* The parts of a URL: scheme://host:port/path?query. */
struct url {
    struct str scheme;
    struct str host; /* with its port */
    struct str path;
};

static bool url_read(struct str text, struct url *ret)
{
    const char *colon = text.size > 0 ? memchr(text.at, ':', text.size) : NULL;
    struct str rest = text;
    size_t size = 0;

    *ret = (struct url){.scheme = STR(""), .host = STR(""), .path = STR("")};
    for (size_t i = 0; i < text.size; i++)
        if ((unsigned char)text.at[i] <= ' ')
            return false;
    if (text.size > 0 && text.at[0] == '/') {
        ret->path = (struct str){text.at, strcspn(text.at, "?#")};
        return true;
    }
    if (!colon || colon == text.at)
        return false;
    ret->scheme = (struct str){text.at, (size_t)(colon - text.at)};
    rest = (struct str){colon + 1, text.size - ret->scheme.size - 1};
    if (rest.size < 2 || memcmp(rest.at, "//", 2) != 0)
        return false;
    rest = (struct str){rest.at + 2, rest.size - 2};
    while (size < rest.size && !strchr("/?#", rest.at[size]))
        size++;
    ret->host = (struct str){rest.at, size};
    rest = (struct str){rest.at + size, rest.size - size};
    size = 0;
    while (size < rest.size && !strchr("?#", rest.at[size]))
        size++;
    ret->path = (struct str){rest.at, size};
    return true;
}

CALL(call_is_url)
{
    struct url u;

    (void)r;
    TRY(want_texts(n, a, 1));
    *ret = item_bool(url_read(a->text, &u));
    return NULL;
}

CALL(call_url)
{
    struct url u;

    TRY(want_texts(n, a, 1));
    *ret = (struct cel_item){.kind = ITEM_URL, .text = copy_of(r, a->text)};
    return url_read(a->text, &u) ? NULL : rule_fault(n, "URL parse error during conversion");
}

static struct err *read_url(const struct cel_node *n, const struct cel_item *a, struct url *ret)
{
    if (a->kind != ITEM_URL || !url_read(a->text, ret))
        return rule_no_overload(n, a);
    return NULL;
}

CALL(call_scheme)
{
    struct url u;

    (void)r;
    TRY(read_url(n, a, &u));
    *ret = item_text(u.scheme);
    return NULL;
}

CALL(call_host)
{
    struct url u;

    (void)r;
    TRY(read_url(n, a, &u));
    *ret = item_text(u.host);
    return NULL;
}

/* The bytes of the host's name: before ":port", or in brackets. */
static size_t hostname_size(struct str host)
{
    const char *end = host.size > 0 && host.at[0] == '[' ? memchr(host.at, ']', host.size) : NULL;
    const char *colon = host.size > 0 ? memrchr(host.at, ':', host.size) : NULL;

    if (end)
        return (size_t)(end - host.at) + 1;
    return colon ? (size_t)(colon - host.at) : host.size;
}

CALL(call_hostname)
{
    struct url u;
    size_t size;
    bool is_braced;

    (void)r;
    TRY(read_url(n, a, &u));
    size = hostname_size(u.host);
    is_braced = size > 1 && u.host.at[0] == '[';
    *ret = item_text((struct str){u.host.at + is_braced, size - (is_braced ? 2 : 0)});
    return NULL;
}

CALL(call_port)
{
    struct url u;
    size_t size;

    (void)r;
    TRY(read_url(n, a, &u));
    size = hostname_size(u.host);
    *ret = item_text(size < u.host.size ? (struct str){u.host.at + size + 1, u.host.size - size - 1}
                                        : STR(""));
    return NULL;
}

CALL(call_path)
{
    struct url u;

    (void)r;
    TRY(read_url(n, a, &u));
    *ret = item_text(u.path);
    return NULL;
}

static const struct cel_function more[] = {
    {"startsWith", true, 2, 2, call_starts_with},
    {"endsWith", true, 2, 2, call_ends_with},
    {"contains", true, 2, 2, call_contains},
    {"lowerAscii", true, 1, 1, call_lower},
    {"upperAscii", true, 1, 1, call_upper},
    {"trim", true, 1, 1, call_trim},
    {"charAt", true, 2, 2, call_char_at},
    {"substring", true, 2, 3, call_substring},
    {"indexOf", true, 2, 3, call_index_of},
    {"lastIndexOf", true, 2, 2, call_last_index_of},
    {"replace", true, 3, 4, call_replace},
    {"split", true, 2, 3, call_split},
    {"join", true, 1, 2, call_join},
    {"format", true, 2, 2, call_format},
    {"matches", true, 2, 2, call_matches},
    {"matches", false, 2, 2, call_matches},
    {"find", true, 2, 2, call_find},
    {"findAll", true, 2, 3, call_find_all},
    {"max", true, 1, 1, call_max},
    {"min", true, 1, 1, call_min},
    {"math.greatest", false, 1, 64, call_greatest},
    {"math.least", false, 1, 64, call_least},
    {"sum", true, 1, 1, call_sum},
    {"isSorted", true, 1, 1, call_is_sorted},
    {"getHours", true, 1, 2, call_hours},
    {"getMinutes", true, 1, 2, call_minutes},
    {"getSeconds", true, 1, 2, call_seconds},
    {"getMilliseconds", true, 1, 2, call_milliseconds},
    {"isIP", false, 1, 1, call_is_ip},
    {"ip", false, 1, 1, call_ip},
    {"family", true, 1, 1, call_family},
    {"isCIDR", false, 1, 1, call_is_cidr},
    {"isURL", false, 1, 1, call_is_url},
    {"url", false, 1, 1, call_url},
    {"getScheme", true, 1, 1, call_scheme},
    {"getHost", true, 1, 1, call_host},
    {"getHostname", true, 1, 1, call_hostname},
    {"getPort", true, 1, 1, call_port},
    {"getEscapedPath", true, 1, 1, call_path},
};

const struct cel_function *cel_more_functions(size_t *ret_count)
{
    *ret_count = COUNT(more);
    return more;
}
