/* guard.c - Host, Origin and cookies of a request */

#include "page/guard.h"

#include <strings.h>

enum {
    HOST_MAX = 300
};

/* "127.0.0.1:7480" to "127.0.0.1", "[::1]:7480" to "[::1]". */
static struct str host_name(const char *host)
{
    const char *end = host[0] == '[' ? strchr(host, ']') : strchr(host, ':');

    if (!end)
        return str_of(host);
    return (struct str){.at = host, .size = (size_t)(end - host) + (host[0] == '[' ? 1 : 0)};
}

/* No name that a resolver answers for has only digits and dots. */
static bool host_is_address(struct str name)
{
    const char *allowed =
        name.size > 0 && name.at[0] == '[' ? "[]0123456789abcdefABCDEF:." : "0123456789.";

    for (size_t i = 0; i < name.size; i++)
        if (!strchr(allowed, name.at[i]))
            return false;
    return name.size > 0;
}

static bool host_is(struct str name, const char *text)
{
    return name.size == strlen(text) && strncasecmp(name.at, text, name.size) == 0;
}

struct err *guard_check_host(const struct api_request *r, const char *own_name)
{
    const char *host = request_header(r, "host");
    struct str name = host_name(text_or_empty(host));

    if (!host || strlen(host) > HOST_MAX)
        return err_new(ERR_BAD_REQUEST, "the request has no Host");
    if (host_is_address(name) || host_is(name, "localhost") || host_is(name, own_name))
        return NULL;
    return err_new(ERR_BAD_REQUEST,
                   "Host \"" STR_FMT "\" is not of this machine: use its address, localhost or %s",
                   STR_ARG(name), own_name);
}

/* The scheme is not compared: a proxy that ends TLS may stand before this page. */
struct err *guard_check_origin(const struct api_request *r)
{
    const char *origin = text_or_empty(request_header(r, "origin"));
    const char *host = text_or_empty(request_header(r, "host"));

    if (strncasecmp(origin, "http://", 7) == 0)
        origin += 7;
    else if (strncasecmp(origin, "https://", 8) == 0)
        origin += 8;
    else
        origin = "";
    if (!*host || strcasecmp(origin, host) != 0)
        return err_new(ERR_FORBIDDEN, "the request does not come from this page");
    return NULL;
}

struct err *guard_check_change(const struct api_request *r)
{
    TRY(guard_check_origin(r));
    if (!request_header(r, GUARD_HEADER))
        return err_new(ERR_FORBIDDEN, "the request lacks the header X-Mete");
    return NULL;
}

struct str guard_cookie(const struct api_request *r, const char *name)
{
    struct str rest = str_of(request_header(r, "cookie"));
    struct str found = {0};
    size_t size = strlen(name);

    while (rest.at && rest.size > 0) {
        struct str one = str_cut(&rest, ';');

        while (one.size > 0 && one.at[0] == ' ') {
            one.at++;
            one.size--;
        }
        if (one.size <= size || memcmp(one.at, name, size) != 0 || one.at[size] != '=')
            continue;
        if (found.at)
            return (struct str){0};
        found = (struct str){.at = one.at + size + 1, .size = one.size - size - 1};
    }
    return found;
}
