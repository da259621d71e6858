/*
 * schema_format.c - the formats of strings that Kubernetes checks (go-openapi's strfmt)
 *
 * A format that is not here is not checked, as in Kubernetes: an unknown one has no effect.
 */

#include <arpa/inet.h>
#include <ctype.h>

#include "base/mem.h"
#include "base/num.h"
#include "base/stamp.h"
#include "kinds/custom/schema_private.h"
#include "kinds/kind/value.h"
#include "model/names.h"

enum {
    ADDRESS_MAX = 64,
    HOST_MAX = 255
};

static bool is_fine(struct err *e)
{
    AUTO(err_freep) struct err *mine = e;

    return !mine;
}

/* Does the text match: '9' a digit, 'x' a hex digit, 'a' a letter or digit; others are themselves?
 */
static bool has_shape(struct str text, const char *shape)
{
    if (text.size != strlen(shape))
        return false;
    for (size_t i = 0; i < text.size; i++) {
        unsigned char c = (unsigned char)text.at[i];
        bool fits = shape[i] == '9'   ? isdigit(c)
                    : shape[i] == 'x' ? isxdigit(c)
                                      : c == (unsigned char)shape[i];

        if (!fits)
            return false;
    }
    return true;
}

static bool is_date(struct str text)
{
    AUTO_FREE char *stamp = NULL;
    int64_t ns = 0;

    if (!has_shape(text, "9999-99-99"))
        return false;
    stamp = mem_format(STR_FMT "T00:00:00Z", STR_ARG(text));
    return is_fine(stamp_parse(str_of(stamp), &ns));
}

static bool is_stamp(struct str text)
{
    int64_t ns = 0;

    return text.size >= 10 && is_date((struct str){text.at, 10}) && is_fine(stamp_parse(text, &ns));
}

static bool is_address(struct str text, int family)
{
    char copy[ADDRESS_MAX] = "";
    unsigned char address[16];

    if (text.size >= sizeof(copy) || memchr(text.at, '\0', text.size))
        return false;
    memcpy(copy, text.at, text.size);
    return inet_pton(family, copy, address) == 1;
}

static bool is_ipv4(struct str text)
{
    return is_address(text, AF_INET);
}

static bool is_ipv6(struct str text)
{
    return is_address(text, AF_INET6);
}

static bool is_cidr(struct str text)
{
    struct str rest = text;
    struct str address = str_cut(&rest, '/');
    bool is_4 = is_ipv4(address);
    int64_t bits = 0;

    return rest.at && (is_4 || is_ipv6(address)) && rest.size <= 3 &&
           is_fine(num_parse_int64(rest, 0, is_4 ? 32 : 128, &bits));
}

static bool is_mac(struct str text)
{
    return has_shape(text, "xx:xx:xx:xx:xx:xx") || has_shape(text, "xx-xx-xx-xx-xx-xx") ||
           has_shape(text, "xxxx.xxxx.xxxx") || has_shape(text, "xx:xx:xx:xx:xx:xx:xx:xx") ||
           has_shape(text, "xx-xx-xx-xx-xx-xx-xx-xx") || has_shape(text, "xxxx.xxxx.xxxx.xxxx");
}

/* `version`: the digit of a UUID's version; '\0': any. Hyphens are optional. */
static bool is_uuid_of(struct str text, char version)
{
    char digits[33] = "";
    size_t n = 0;

    for (size_t i = 0; i < text.size; i++) {
        if (text.at[i] == '-' && (n == 8 || n == 12 || n == 16 || n == 20) && i > 0 &&
            text.at[i - 1] != '-')
            continue;
        if (n == 32 || !isxdigit((unsigned char)text.at[i]))
            return false;
        digits[n++] = (char)tolower((unsigned char)text.at[i]);
    }
    if (n != 32 || (version && digits[12] != version))
        return false;
    return version != '4' && version != '5' ? true : strchr("89ab", digits[16]) != NULL;
}

static bool is_uuid(struct str text)
{
    return is_uuid_of(text, '\0');
}

static bool is_uuid3(struct str text)
{
    return is_uuid_of(text, '3');
}

static bool is_uuid4(struct str text)
{
    return is_uuid_of(text, '4');
}

static bool is_uuid5(struct str text)
{
    return is_uuid_of(text, '5');
}

static bool is_hostname(struct str text)
{
    struct str rest = text;

    if (text.size == 0 || text.size > HOST_MAX)
        return false;
    while (rest.at) {
        struct str label = str_cut(&rest, '.');

        if (label.size == 0 || label.size > 63 || label.at[0] == '-' ||
            label.at[label.size - 1] == '-')
            return label.size == 0 && !rest.at && label.at > text.at; /* "example.org." */
        for (size_t i = 0; i < label.size; i++)
            if (!isalnum((unsigned char)label.at[i]) && label.at[i] != '-' && label.at[i] != '_' &&
                (unsigned char)label.at[i] < 0x80)
                return false;
    }
    return true;
}

static bool is_email(struct str text)
{
    const char *at = text.size > 0 ? memrchr(text.at, '@', text.size) : NULL;

    if (!at || at == text.at || at + 1 == text.at + text.size)
        return false;
    for (size_t i = 0; i < text.size; i++)
        if (isspace((unsigned char)text.at[i]) || strchr("<>(),;:\\\"[]", text.at[i]))
            return false;
    return true;
}

/* As net/url.ParseRequestURI: an absolute URI, or a path. */
static bool is_uri(struct str text)
{
    size_t n = 0;

    if (text.size == 0)
        return false;
    for (size_t i = 0; i < text.size; i++)
        if ((unsigned char)text.at[i] <= ' ' || text.at[i] == 0x7f)
            return false;
    if (text.at[0] == '/')
        return true;
    while (n < text.size && (isalnum((unsigned char)text.at[n]) || strchr("+-.", text.at[n])))
        n++;
    return n > 0 && isalpha((unsigned char)text.at[0]) && n + 1 < text.size && text.at[n] == ':';
}

static bool is_byte(struct str text)
{
    size_t bad = 0;

    return base64_check(text, &bad);
}

/* Go's durations ("1h30m", "-1.5s", "0"), and Scala's ("22 ns", "3 days"). */
static bool is_duration(struct str text)
{
    static const char *const units[] = {
        "ns",          "us",           "ms",     "s",       "m",      "h",       "d",
        "w",           "µs",           "second", "seconds", "minute", "minutes", "hour",
        "hours",       "day",          "days",   "week",    "weeks",  "milli",   "millis",
        "millisecond", "milliseconds", "micros", "nanos"};
    size_t i = text.size > 0 && (text.at[0] == '-' || text.at[0] == '+');

    if (str_equal((struct str){text.at + i, text.size - i}, STR("0")))
        return true;
    if (i == text.size)
        return false;
    while (i < text.size) {
        size_t begin = i;
        size_t unit;
        bool is_known = false;

        while (i < text.size && (isdigit((unsigned char)text.at[i]) || text.at[i] == '.'))
            i++;
        if (i == begin)
            return false;
        while (i < text.size && text.at[i] == ' ')
            i++;
        unit = i;
        while (i < text.size && !isdigit((unsigned char)text.at[i]) && text.at[i] != '.' &&
               text.at[i] != ' ')
            i++;
        for (size_t j = 0; j < COUNT(units); j++)
            is_known |= str_equal((struct str){text.at + unit, i - unit}, str_of(units[j]));
        if (!is_known)
            return false;
        while (i < text.size && text.at[i] == ' ')
            i++;
    }
    return true;
}

static bool is_hex_color(struct str text)
{
    if (text.size > 0 && text.at[0] == '#')
        text = (struct str){text.at + 1, text.size - 1};
    return has_shape(text, "xxx") || has_shape(text, "xxxxxx");
}

static bool is_bson_id(struct str text)
{
    return has_shape(text, "xxxxxxxxxxxxxxxxxxxxxxxx");
}

static bool is_ssn(struct str text)
{
    return has_shape(text, "999-99-9999") || has_shape(text, "999 99 9999") ||
           has_shape(text, "999999999");
}

static bool is_short_name(struct str text)
{
    AUTO_FREE char *copy = mem_strndup(text.at, text.size);

    return is_fine(name_check_label(copy));
}

static bool is_long_name(struct str text)
{
    AUTO_FREE char *copy = mem_strndup(text.at, text.size);

    return is_fine(name_check_subdomain(copy));
}

schema_format_fn schema_format_find(const char *format)
{
    static const struct {
        const char *name;
        schema_format_fn check;
    } formats[] = {
        {"bsonobjectid", is_bson_id},
        {"uri", is_uri},
        {"email", is_email},
        {"hostname", is_hostname},
        {"ipv4", is_ipv4},
        {"ipv6", is_ipv6},
        {"cidr", is_cidr},
        {"mac", is_mac},
        {"uuid", is_uuid},
        {"uuid3", is_uuid3},
        {"uuid4", is_uuid4},
        {"uuid5", is_uuid5},
        {"ssn", is_ssn},
        {"hexcolor", is_hex_color},
        {"byte", is_byte},
        {"date", is_date},
        {"duration", is_duration},
        {"datetime", is_stamp},
        {"k8sshortname", is_short_name},
        {"k8slongname", is_long_name},
    };
    AUTO(buf_done) struct buf plain = {0};

    for (const char *at = format; *at; at++) /* "date-time" is "datetime" */
        if (*at != '-')
            buf_add_char(&plain, *at);
    for (size_t i = 0; plain.at && i < COUNT(formats); i++)
        if (text_equal(plain.at, formats[i].name))
            return formats[i].check;
    return NULL;
}
