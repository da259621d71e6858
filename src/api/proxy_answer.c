/* proxy_answer.c - the headers of a proxied answer */

#include <strings.h>

#include "api/proxy_private.h"

bool proxy_is_hop(const char *name)
{
    static const char *const names[] = {
        "connection", "proxy-connection", "keep-alive",        "proxy-authenticate",
        "te",         "trailer",          "transfer-encoding", "proxy-authorization",
        "upgrade"};

    for (size_t i = 0; i < COUNT(names); i++)
        if (text_equal(name, names[i]))
            return true;
    return false;
}

/* Cuts `line` into its name and its value. False: malformed, or a byte that is not allowed. */
static bool line_cut(struct str line, struct str *ret_name, struct str *ret_value)
{
    struct str value = line;
    struct str name = str_cut(&value, ':');

    if (!value.at || name.size == 0)
        return false;
    for (size_t i = 0; i < line.size; i++)
        if (((unsigned char)line.at[i] < 0x20 && line.at[i] != '\t') || line.at[i] == 0x7f)
            return false;
    while (value.size > 0 && (*value.at == ' ' || *value.at == '\t'))
        value = (struct str){value.at + 1, value.size - 1};
    *ret_name = name;
    *ret_value = value;
    return true;
}

static bool name_is(struct str name, const char *text)
{
    return name.size == strlen(text) && strncasecmp(name.at, text, name.size) == 0;
}

static struct str next_line(struct str *rest)
{
    const char *end = memmem(rest->at, rest->size, "\r\n", 2);
    struct str line = {rest->at, end ? (size_t)(end - rest->at) : rest->size};
    size_t used = line.size + (end ? 2 : 0);

    *rest = (struct str){rest->at + used, rest->size - used};
    return line;
}

/* Does the answer's Connection header name `header`? */
static bool is_of_connection(const struct buf *headers, struct str header)
{
    struct str rest = {headers->at, headers->size};

    while (rest.size > 0) {
        struct str name = {0};
        struct str value = {0};

        if (!line_cut(next_line(&rest), &name, &value) || !name_is(name, "connection"))
            continue;
        while (value.at) {
            struct str word = str_cut(&value, ',');

            while (word.size > 0 && *word.at == ' ')
                word = (struct str){word.at + 1, word.size - 1};
            if (word.size == header.size && strncasecmp(word.at, header.at, word.size) == 0)
                return true;
        }
    }
    return false;
}

static bool is_hop(struct str name)
{
    char lower[32] = "";

    if (name.size >= sizeof(lower))
        return false;
    for (size_t i = 0; i < name.size; i++)
        lower[i] = (char)(name.at[i] >= 'A' && name.at[i] <= 'Z' ? name.at[i] + 32 : name.at[i]);
    return proxy_is_hop(lower);
}

/* The part of `url` from its path on, if it leads to the pod or to this server; at NULL: it leads
 * elsewhere, or is relative to the request's path. */
static struct str local_part(struct str url, const struct proxy_names *names)
{
    static const char *const schemes[] = {"http://", "https://"};
    struct str host = {0};
    struct str rest = url;

    for (size_t i = 0; i < COUNT(schemes); i++)
        if (str_starts_with(url, str_of(schemes[i])))
            rest = (struct str){url.at + strlen(schemes[i]), url.size - strlen(schemes[i])};
    if (rest.at == url.at && str_starts_with(url, STR("//")))
        rest = (struct str){url.at + 2, url.size - 2};
    if (rest.at == url.at)
        return str_starts_with(url, STR("/")) ? url : (struct str){0};
    host.at = rest.at;
    while (host.size < rest.size && !strchr("/?#", rest.at[host.size]))
        host.size++;
    if (!str_equal(host, str_of(names->place)) &&
        !(names->host && str_equal(host, str_of(names->host))))
        return (struct str){0};
    return (struct str){rest.at + host.size, rest.size - host.size};
}

static void add_location(struct buf *b, struct str url, const struct proxy_names *names)
{
    struct str path = local_part(url, names);

    buf_add_text(b, "Location: ");
    if (path.at && !str_starts_with(path, str_of(names->prefix)))
        buf_add_text(b, names->prefix);
    if (path.at && (path.size == 0 || *path.at != '/'))
        buf_add_text(b, "/");
    if (!path.at)
        path = url;
    buf_add(b, path.at, path.size);
    buf_add_text(b, "\r\n");
}

void proxy_add_answer_headers(struct buf *b, const struct http_answer *a,
                              const struct proxy_names *names)
{
    struct str rest = {a->headers.at, a->headers.size};

    while (rest.size > 0) {
        struct str line = next_line(&rest);
        struct str name = {0};
        struct str value = {0};

        if (!line_cut(line, &name, &value) || is_hop(name) || is_of_connection(&a->headers, name))
            continue;
        if (name_is(name, "location"))
            add_location(b, value, names);
        else
            buf_printf(b, STR_FMT "\r\n", STR_ARG(line));
    }
}
