/* names.c - Kubernetes' checks of names, in its own words */

#include "model/names.h"

#include <stdbool.h>
#include <string.h>

#include "base/str.h"

enum {
    LABEL_MAX = 63,
    SUBDOMAIN_MAX = 253,
    PORT_MAX = 15
};

#define LABEL_WORDS                                                                              \
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and " \
    "must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex "   \
    "used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
#define SUBDOMAIN_WORDS                                                                           \
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "  \
    "'.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used " \
    "for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
#define SERVICE_WORDS                                                                            \
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an " \
    "alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or "         \
    "'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"
#define QUALIFIED_WORDS                                                                         \
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an " \
    "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for "      \
    "validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
#define VALUE_WORDS                                                                                \
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or "    \
    "'.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value', " \
    " or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
#define ENV_WORDS                                                                              \
    "a valid environment variable name must consist only of printable ASCII characters other " \
    "than '='"
#define CONFIG_KEY_WORDS                                                                 \
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. " \
    "'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_lower(char c)
{
    return c >= 'a' && c <= 'z';
}

static bool is_alnum(char c)
{
    return is_digit(c) || is_lower(c) || (c >= 'A' && c <= 'Z');
}

static bool is_word(char c)
{
    return is_alnum(c) || c == '-' || c == '_' || c == '.';
}

/* [a-z0-9]([-a-z0-9]*[a-z0-9])? */
static bool is_label(struct str s)
{
    if (s.size == 0 || s.at[0] == '-' || s.at[s.size - 1] == '-')
        return false;
    for (size_t i = 0; i < s.size; i++)
        if (!is_lower(s.at[i]) && !is_digit(s.at[i]) && s.at[i] != '-')
            return false;
    return true;
}

/* [A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])? */
static bool is_name_part(const char *s, size_t size)
{
    if (size == 0 || !is_alnum(s[0]) || !is_alnum(s[size - 1]))
        return false;
    for (size_t i = 0; i < size; i++)
        if (!is_word(s[i]))
            return false;
    return true;
}

static struct err *check_size(const char *name, size_t max)
{
    if (strlen(name) > max)
        return err_new(ERR_INVALID, "must be no more than %zu characters", max);
    return NULL;
}

struct err *name_check_label(const char *name)
{
    TRY(check_size(name, LABEL_MAX));
    if (!is_label(str_of(name)))
        return err_new(ERR_INVALID, "%s", LABEL_WORDS);
    return NULL;
}

struct err *name_check_service(const char *name)
{
    TRY(check_size(name, LABEL_MAX));
    if (!is_label(str_of(name)) || is_digit(*name))
        return err_new(ERR_INVALID, "%s", SERVICE_WORDS);
    return NULL;
}

struct err *name_check_port(const char *name)
{
    bool has_letter = false;

    TRY(check_size(name, PORT_MAX));
    if (strspn(name, "-abcdefghijklmnopqrstuvwxyz0123456789") != strlen(name))
        return err_new(ERR_INVALID, "must contain only alpha-numeric characters (a-z, 0-9), and "
                                    "hyphens (-)");
    for (const char *at = name; *at; at++)
        has_letter = has_letter || is_lower(*at);
    if (!has_letter)
        return err_new(ERR_INVALID, "must contain at least one letter (a-z)");
    if (strstr(name, "--"))
        return err_new(ERR_INVALID, "must not contain consecutive hyphens");
    if (!is_label(str_of(name)))
        return err_new(ERR_INVALID, "must not begin or end with a hyphen");
    return NULL;
}

static bool is_subdomain(struct str rest)
{
    do {
        if (!is_label(str_cut(&rest, '.')))
            return false;
    } while (rest.at);
    return true;
}

struct err *name_check_subdomain(const char *name)
{
    TRY(check_size(name, SUBDOMAIN_MAX));
    if (!is_subdomain(str_of(name)))
        return err_new(ERR_INVALID, "%s", SUBDOMAIN_WORDS);
    return NULL;
}

static struct err *check_prefix(struct str prefix)
{
    if (prefix.size == 0)
        return err_new(ERR_INVALID, "prefix part must be non-empty");
    if (prefix.size > SUBDOMAIN_MAX)
        return err_new(ERR_INVALID, "prefix part must be no more than %d characters",
                       SUBDOMAIN_MAX);
    if (!is_subdomain(prefix))
        return err_new(ERR_INVALID, "prefix part %s", SUBDOMAIN_WORDS);
    return NULL;
}

struct err *name_check_qualified(const char *name)
{
    const char *slash = strchr(name, '/');
    const char *part = slash ? slash + 1 : name;

    if (strchr(part, '/'))
        return err_new(ERR_INVALID,
                       "a qualified name %s with an optional DNS subdomain prefix and '/' (e.g. "
                       "'example.com/MyName')",
                       QUALIFIED_WORDS);
    if (slash)
        TRY(check_prefix((struct str){name, (size_t)(slash - name)}));
    if (!*part)
        return err_new(ERR_INVALID, "name part must be non-empty");
    if (strlen(part) > LABEL_MAX)
        return err_new(ERR_INVALID, "name part must be no more than %d characters", LABEL_MAX);
    if (!is_name_part(part, strlen(part)))
        return err_new(ERR_INVALID, "name part %s", QUALIFIED_WORDS);
    return NULL;
}

struct err *name_check_label_value(const char *value)
{
    TRY(check_size(value, LABEL_MAX));
    if (*value && !is_name_part(value, strlen(value)))
        return err_new(ERR_INVALID, "%s", VALUE_WORDS);
    return NULL;
}

static bool has_only_words(const char *text)
{
    if (!*text)
        return false;
    for (; *text; text++)
        if (!is_word(*text))
            return false;
    return true;
}

struct err *name_check_env(const char *name)
{
    if (!*name)
        return err_new(ERR_INVALID, "%s", ENV_WORDS);
    for (const char *at = name; *at; at++)
        if (*at < ' ' || *at > '~' || *at == '=')
            return err_new(ERR_INVALID, "%s", ENV_WORDS);
    return NULL;
}

struct err *name_check_config_key(const char *name)
{
    TRY(check_size(name, SUBDOMAIN_MAX));
    if (!has_only_words(name))
        return err_new(ERR_INVALID, "%s", CONFIG_KEY_WORDS);
    if (text_equal(name, ".") || text_equal(name, ".."))
        return err_new(ERR_INVALID, "must not be '%s'", name);
    if (text_starts_with(name, ".."))
        return err_new(ERR_INVALID, "must not start with '..'");
    return NULL;
}
