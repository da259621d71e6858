/* pull_secrets.c - registry credentials from imagePullSecrets */

#include "node/image/pull_secrets.h"

#include "base/mem.h"
#include "kinds/kind/value.h"
#include "node/pod/refs.h"

enum {
    LOGIN_MAX = 4096
};

void pull_login_done(struct pull_login *l)
{
    free(l->username);
    free(l->password);
    *l = (struct pull_login){0};
}

/* Normalizes a key: "https://index.docker.io/v1/" is "docker.io". */
static struct str place_of(const char *key)
{
    struct str s = str_of(key);
    const struct str schemes[] = {STR("https://"), STR("http://")};
    const struct str ends[] = {STR("/"), STR("/v1"), STR("/v2"), STR("/")};

    for (size_t i = 0; i < COUNT(schemes); i++)
        if (str_starts_with(s, schemes[i]))
            s = (struct str){s.at + schemes[i].size, s.size - schemes[i].size};
    for (size_t i = 0; i < COUNT(ends); i++)
        if (str_ends_with(s, ends[i]))
            s.size -= ends[i].size;
    if (str_equal(s, STR("index.docker.io")))
        return STR("docker.io");
    return s;
}

/* The size of the key's prefix of the image's repository; 0: no prefix. */
static size_t fit_of(const char *key, const struct image_name *image)
{
    struct str place = place_of(key);
    struct str repository = str_of(image->repository);

    if (place.size == 0 || !repository.at || !str_starts_with(repository, place))
        return 0;
    return place.size == repository.size || repository.at[place.size] == '/' ? place.size : 0;
}

static bool is_plain(const char *text)
{
    return text && *text && strlen(text) <= LOGIN_MAX && !strpbrk(text, "\r\n");
}

/* Reads "auth", base64 of USER:PASSWORD, else "username" and "password". False: no login. */
static bool read_login(const json_t *entry, struct pull_login *ret)
{
    const char *auth = json_text(entry, "auth");
    AUTO_FREE char *username = NULL;
    AUTO_FREE char *password = NULL;
    size_t bad = 0;

    if (auth && strlen(auth) / 2 <= LOGIN_MAX && base64_check(str_of(auth), &bad)) {
        AUTO(buf_done) struct buf text = {0};
        struct str rest;
        struct str name;

        base64_decode(str_of(auth), &text);
        rest = (struct str){text.at, text.size};
        name = rest.at ? str_cut(&rest, ':') : rest;
        if (rest.at) {
            username = mem_strndup(name.at, name.size);
            password = mem_strndup(rest.at, rest.size);
        }
    }
    if (!username && json_text(entry, "username")) {
        username = mem_strdup(json_text(entry, "username"));
        password = mem_strdup(json_text(entry, "password") ? json_text(entry, "password") : "");
    }
    if (!is_plain(username))
        return false;
    pull_login_done(ret);
    ret->username = TAKE(username);
    ret->password = TAKE(password);
    return true;
}

void pull_secret_read(struct str text, const struct image_name *image, struct pull_login *ret,
                      size_t *ret_fit)
{
    AUTO(json_freep) json_t *j = NULL;
    AUTO(err_freep) struct err *e = json_parse(text, &j);
    json_t *auths = json_object_get(j, "auths") ? json_object_get(j, "auths") : j;
    const char *key = NULL;
    json_t *entry = NULL;

    if (e)
        return;
    json_object_foreach (auths, key, entry) {
        size_t fit = fit_of(key, image);

        if (fit > *ret_fit && read_login(entry, ret))
            *ret_fit = fit;
    }
}

void pull_secrets_find(const json_t *pod, const json_t *refs, const struct image_name *image,
                       struct pull_login *ret)
{
    static const char *const keys[] = {".dockerconfigjson", ".dockercfg"};
    const json_t *item = NULL;
    size_t fit = 0;
    size_t i = 0;

    json_array_foreach (json_at(pod, "spec", "imagePullSecrets", NULL), i, item)
        for (size_t k = 0; k < COUNT(keys); k++) {
            AUTO(buf_done) struct buf text = {0};
            AUTO(err_freep)
            struct err *e = refs_value(refs, "secrets", json_text(item, "name"), keys[k], &text);

            if (!e)
                pull_secret_read((struct str){text.at, text.size}, image, ret, &fit);
        }
}
