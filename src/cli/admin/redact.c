/* redact.c - finds secrets in texts by their keys and shapes */

#include "cli/admin/redact.h"

#include <ctype.h>
#include <strings.h>

#include "base/mem.h"

static const char mark[] = "[secret]";

static const char *const secret_words[] = {"password", "passwd",     "token",         "secret",
                                           "apikey",   "api_key",    "authorization", "key-data",
                                           "keydata",  "credential", "private",       "cookie"};

static bool is_key_char(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '-' || c == '.';
}

static bool is_secret_key(struct str key)
{
    for (size_t w = 0; w < sizeof(secret_words) / sizeof(secret_words[0]); w++) {
        size_t size = strlen(secret_words[w]);

        for (size_t i = 0; i + size <= key.size; i++)
            if (strncasecmp(key.at + i, secret_words[w], size) == 0)
                return true;
    }
    return false;
}

/* The size of what separates a key from its value: `: `, `=`, `":"`; 0: nothing does. */
static size_t separator_size(struct str rest)
{
    size_t i = 0;

    while (i < rest.size && (rest.at[i] == '"' || rest.at[i] == '\\' || rest.at[i] == ' '))
        i++;
    if (i == rest.size || (rest.at[i] != ':' && rest.at[i] != '='))
        return 0;
    i++;
    while (i < rest.size && (rest.at[i] == ' ' || rest.at[i] == '"' || rest.at[i] == '\\'))
        i++;
    return i;
}

/* The size of a value: up to a quote, a comma, a bracket or the end of the line; a scheme of
 * authentication ("Bearer x") is part of it. */
static size_t value_size(struct str rest)
{
    size_t i = 0;

    while (i < rest.size && !strchr("\"\\,}]\n\r", rest.at[i]))
        i++;
    return i;
}

/* The size of a secret that begins here by its shape; 0: none. */
static size_t shape_size(struct str rest, const char *const *known)
{
    static const char pem[] = "PRIVATE KEY-----";
    static const char jwt[] = "eyJ";
    static const char link[] = "#k="; /* of a one-time link to the web page */
    size_t i = 0;

    for (size_t k = 0; known[k]; k++)
        if (*known[k] && str_starts_with(rest, str_of(known[k])))
            return strlen(known[k]);
    if (str_starts_with(rest, str_of(jwt))) {
        while (i < rest.size && (is_key_char(rest.at[i]) || rest.at[i] == '='))
            i++;
        return i > 30 ? i : 0;
    }
    if (str_starts_with(rest, str_of(link))) {
        while (i < rest.size && !isspace((unsigned char)rest.at[i]))
            i++;
        return i;
    }
    if (!str_starts_with(rest, str_of(pem)))
        return 0;
    for (i = sizeof(pem) - 1; i < rest.size; i++)
        if (str_starts_with((struct str){rest.at + i, rest.size - i}, STR("-----END")))
            break;
    return i;
}

char *redact(struct str text, const char *const *known)
{
    struct buf out = {0};
    size_t key = 0; /* where the present word begins */

    for (size_t i = 0; i < text.size;) {
        struct str rest = {text.at + i, text.size - i};
        size_t shape = shape_size(rest, known);
        size_t gap = 0;

        if (shape > 0) {
            buf_add_text(&out, mark);
            i += shape;
            key = i;
            continue;
        }
        if (is_key_char(text.at[i])) {
            buf_add_char(&out, text.at[i++]);
            continue;
        }
        if (i > key && is_secret_key((struct str){text.at + key, i - key}))
            gap = separator_size(rest);
        if (gap > 0) {
            buf_add(&out, rest.at, gap);
            i += gap;
            if (i < text.size && !strchr("{[\n", text.at[i])) {
                buf_add_text(&out, mark);
                i += value_size((struct str){text.at + i, text.size - i});
            }
        } else {
            buf_add_char(&out, text.at[i++]);
        }
        key = i;
    }
    return buf_steal(&out);
}
