/* image_name.c - the grammar of image names */

#include "model/image_name.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"

static const char default_registry[] = "docker.io";

static bool is_lower_alnum(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

static bool is_alnum(char c)
{
    return is_lower_alnum(c) || (c >= 'A' && c <= 'Z');
}

bool image_digest_is_valid(const char *text)
{
    const struct str prefix = STR("sha256:");

    if (!text || strlen(text) != IMAGE_DIGEST_SIZE - 1 || !text_starts_with(text, prefix.at))
        return false;
    for (const char *at = text + prefix.size; *at; at++)
        if (!((*at >= 'a' && *at <= 'f') || (*at >= '0' && *at <= '9')))
            return false;
    return true;
}

/* Is `s` made of words of a-z and 0-9, with ".", "_", "__" or any number of "-" between them? */
static bool is_component(struct str s)
{
    size_t i = 0;

    for (;;) {
        size_t begin = i;
        char separator;
        size_t n = 0;

        while (i < s.size && is_lower_alnum(s.at[i]))
            i++;
        if (i == begin)
            return false;
        if (i == s.size)
            return true;
        separator = s.at[i];
        while (i < s.size && s.at[i] == separator) {
            i++;
            n++;
        }
        if (!(separator == '-' || (separator == '_' && n <= 2) || (separator == '.' && n == 1)))
            return false;
    }
}

/* Is `s` a host name or address, with an optional port? */
static bool is_registry(struct str s)
{
    struct str port = s;
    struct str host = str_cut(&port, ':');
    struct str rest = host;

    if (port.at && (port.size == 0 || port.size > 5))
        return false;
    for (size_t i = 0; port.at && i < port.size; i++)
        if (port.at[i] < '0' || port.at[i] > '9')
            return false;
    while (rest.at) {
        struct str label = str_cut(&rest, '.');

        if (label.size == 0 || label.at[0] == '-' || label.at[label.size - 1] == '-')
            return false;
        for (size_t i = 0; i < label.size; i++)
            if (!is_alnum(label.at[i]) && label.at[i] != '-')
                return false;
    }
    return true;
}

static bool is_tag(struct str s)
{
    if (s.size == 0 || s.size >= IMAGE_TAG_SIZE || s.at[0] == '.' || s.at[0] == '-')
        return false;
    for (size_t i = 0; i < s.size; i++)
        if (!is_alnum(s.at[i]) && !strchr("._-", s.at[i]))
            return false;
    return true;
}

/* Is the part before the first slash a registry? Then it looks like a host. */
static bool names_registry(struct str first)
{
    if (str_equal(first, STR("localhost")))
        return true;
    for (size_t i = 0; i < first.size; i++)
        if (first.at[i] == '.' || first.at[i] == ':' || (first.at[i] >= 'A' && first.at[i] <= 'Z'))
            return true;
    return false;
}

/* Cuts the tag off, which begins at the last colon after the last slash. */
static struct str cut_tag(struct str *name)
{
    for (size_t i = name->size; i > 0 && name->at[i - 1] != '/'; i--) {
        if (name->at[i - 1] == ':') {
            struct str tag = {.at = name->at + i, .size = name->size - i};

            name->size = i - 1;
            return tag;
        }
    }
    return (struct str){0};
}

static struct err *parse_repository(const char *text, struct str name, struct image_name *n)
{
    struct str path = name;
    struct str registry = str_cut(&path, '/');
    struct str rest;
    int size;

    if (!path.at || !names_registry(registry)) {
        path = name;
        registry = str_of(default_registry);
    } else if (str_equal(registry, STR("index.docker.io"))) {
        registry = str_of(default_registry);
    }
    if (!is_registry(registry))
        return err_new(ERR_INVALID, "image name '%s': '" STR_FMT "' is not a registry", text,
                       STR_ARG(registry));
    rest = path;
    while (rest.at) {
        struct str component = str_cut(&rest, '/');

        if (!is_component(component))
            return err_new(ERR_INVALID,
                           "image name '%s': '" STR_FMT
                           "' is no part of a repository: want lower-case "
                           "letters and digits, with single separators between them",
                           text, STR_ARG(component));
    }
    size = snprintf(n->repository, sizeof(n->repository), STR_FMT "/%s" STR_FMT, STR_ARG(registry),
                    str_equal(registry, str_of(default_registry)) && path.at &&
                            !memchr(path.at, '/', path.size)
                        ? "library/"
                        : "",
                    STR_ARG(path));
    if (size < 0 || (size_t)size >= sizeof(n->repository))
        return err_new(ERR_INVALID, "image name '%s': longer than %d bytes", text,
                       IMAGE_REPOSITORY_SIZE - 1);
    return NULL;
}

struct err *image_name_parse(const char *text, struct image_name *ret)
{
    struct image_name n = {0};
    struct str digest = str_of(text);
    struct str name;
    struct str tag;

    if (!text || *text == '\0')
        return err_new(ERR_INVALID, "image name is empty");
    if (digest.size >= IMAGE_NAME_SIZE)
        return err_new(ERR_INVALID, "image name '%.64s...' is longer than %d bytes", text,
                       IMAGE_NAME_SIZE - 1);
    name = str_cut(&digest, '@');
    if (digest.at && !image_digest_is_valid(digest.at))
        return err_new(ERR_INVALID,
                       "image name '%s': the digest is not sha256: and 64 digits of 0-9a-f", text);
    if (digest.at)
        (void)snprintf(n.digest, sizeof(n.digest), "%s", digest.at);
    tag = cut_tag(&name);
    if (tag.at && !is_tag(tag))
        return err_new(ERR_INVALID, "image name '%s': '" STR_FMT "' is not a tag", text,
                       STR_ARG(tag));
    TRY(parse_repository(text, name, &n));
    if (!digest.at)
        (void)snprintf(n.tag, sizeof(n.tag), STR_FMT, STR_ARG(tag.at ? tag : STR("latest")));
    *ret = n;
    return NULL;
}

void image_name_format(const struct image_name *n, char ret[IMAGE_NAME_SIZE])
{
    if (n->digest[0])
        (void)snprintf(ret, IMAGE_NAME_SIZE, "%s@%s", n->repository, n->digest);
    else
        (void)snprintf(ret, IMAGE_NAME_SIZE, "%s:%s", n->repository, n->tag);
}

void image_name_registry(const struct image_name *n, char ret[IMAGE_REPOSITORY_SIZE])
{
    struct str rest = str_of(n->repository);
    struct str registry = str_cut(&rest, '/');

    (void)snprintf(ret, IMAGE_REPOSITORY_SIZE, STR_FMT, STR_ARG(registry));
}
