/* resource.c - kinds of objects by name, from our tables and the server's discovery */

#include "cli/object/resource.h"

#include <strings.h>

#include "base/mem.h"

void resource_done(struct resource *r)
{
    free(r->group);
    free(r->version);
    free(r->kind);
    free(r->plural);
    free(r->singular);
    *r = (struct resource){0};
}

static struct resource known_resource(const struct kind *k)
{
    return (struct resource){
        .group = mem_strdup(k->group),
        .version = mem_strdup(k->version),
        .kind = mem_strdup(k->kind),
        .plural = mem_strdup(k->plural),
        .singular = mem_strdup(k->singular),
        .is_namespaced = k->is_namespaced,
        .known = k,
    };
}

static bool is_kind(const struct kind *k, const char *word)
{
    if (strcasecmp(k->plural, word) == 0 || strcasecmp(k->singular, word) == 0)
        return true;
    for (size_t i = 0; i < COUNT(k->short_names); i++)
        if (k->short_names[i] && strcasecmp(k->short_names[i], word) == 0)
            return true;
    return false;
}

static const struct kind *find_known(const char *word)
{
    for (size_t i = 0; i < kinds_count; i++)
        if (is_kind(kinds[i], word))
            return kinds[i];
    return NULL;
}

static char *text_or(const json_t *object, const char *key, const char *fallback)
{
    const char *text = json_text(object, key);

    return mem_strdup(text && text[0] ? text : fallback);
}

static struct resource resource_discovered(const json_t *entry, const char *group,
                                           const char *version)
{
    const char *name = json_text(entry, "name");
    const char *kind = json_text(entry, "kind");

    return (struct resource){
        .group = mem_strdup(group),
        .version = mem_strdup(version),
        .kind = mem_strdup(kind ? kind : ""),
        .plural = mem_strdup(name ? name : ""),
        .singular = text_or(entry, "singularName", kind ? kind : ""),
        .is_namespaced = json_bool(entry, "namespaced", false),
    };
}

/* A word that a user typed, or an apiVersion and a kind. */
struct wanted {
    const char *word;
    const char *group; /* NULL: any */
    const char *kind;  /* if set, used instead of the word */
};

static bool is_entry(const json_t *entry, const struct wanted *w)
{
    const json_t *names = json_object_get(entry, "shortNames");
    const char *plural = json_text(entry, "name");
    const char *singular = json_text(entry, "singularName");
    const char *kind = json_text(entry, "kind");
    json_t *name;
    size_t i;

    if (!plural || strchr(plural, '/') || !kind)
        return false;
    if (w->kind)
        return text_equal(kind, w->kind);
    if (strcasecmp(plural, w->word) == 0 || strcasecmp(kind, w->word) == 0 ||
        (singular && strcasecmp(singular, w->word) == 0))
        return true;
    json_array_foreach (names, i, name)
        if (json_is_string(name) && strcasecmp(json_string_value(name), w->word) == 0)
            return true;
    return false;
}

static struct err *look_in(struct session *s, const char *group, const char *version,
                           const struct wanted *w, struct resource *ret)
{
    AUTO_FREE char *path =
        group[0] ? path_format("/apis/%s/%s", group, version) : path_format("/api/%s", version);
    AUTO(json_freep) json_t *list = NULL;
    json_t *entry;
    size_t i;

    if (w->group && !text_equal(w->group, group))
        return NULL;
    TRY(session_get(s, path, &list));
    json_array_foreach (json_object_get(list, "resources"), i, entry) {
        if (ret->plural || !is_entry(entry, w))
            continue;
        *ret = resource_discovered(entry, group, version);
    }
    return NULL;
}

static struct err *resource_discover(struct session *s, const struct wanted *w,
                                     struct resource *ret)
{
    AUTO(json_freep) json_t *groups = NULL;
    json_t *group;
    size_t i;

    TRY(look_in(s, "", "v1", w, ret));
    if (ret->plural)
        return NULL;
    TRY(session_get(s, "/apis", &groups));
    json_array_foreach (json_object_get(groups, "groups"), i, group) {
        const char *name = json_text(group, "name");
        const char *version = json_text_at(group, "preferredVersion", "version", NULL);

        if (name && version && !ret->plural)
            TRY(look_in(s, name, version, w, ret));
    }
    return NULL;
}

struct err *resource_find(struct session *s, const char *word, struct resource *ret)
{
    const char *dot = strchr(word, '.');
    AUTO_FREE char *stem = mem_strndup(word, dot ? (size_t)(dot - word) : strlen(word));
    const struct wanted w = {.word = stem, .group = dot ? dot + 1 : NULL};
    const struct kind *k = find_known(stem);
    struct resource found = {0};

    if (k && (!dot || text_equal(k->group, dot + 1))) {
        *ret = known_resource(k);
        return NULL;
    }
    TRY(resource_discover(s, &w, &found));
    if (!found.plural)
        return err_new(ERR_INVALID, "the server has no kind \"%s\"", word);
    *ret = found;
    return NULL;
}

struct err *resource_ask(struct cli *c, struct session *s, const char *word, struct resource *ret)
{
    struct err *e = resource_find(s, word, ret);

    if (!e || err_code(e) != ERR_INVALID)
        return e;
    cli_try(c, "mete %s --help   lists the kinds", c->in->command->name);
    c->exit_code = EXIT_USAGE;
    c->has_code = true;
    return e;
}

struct err *resource_of(struct session *s, const json_t *object, struct resource *ret)
{
    const char *api_version = json_text(object, "apiVersion");
    const char *kind = json_text(object, "kind");
    const char *slash = api_version ? strchr(api_version, '/') : NULL;
    AUTO_FREE char *group =
        slash ? mem_strndup(api_version, (size_t)(slash - api_version)) : mem_strdup("");
    const struct wanted w = {.kind = kind, .group = group};
    const struct kind *k;
    struct resource found = {0};

    if (!api_version || !kind)
        return err_new(ERR_BAD_REQUEST, "%s is missing", api_version ? "kind" : "apiVersion");
    k = kind_find_by_kind(api_version, kind);
    if (k) {
        *ret = known_resource(k);
        return NULL;
    }
    TRY(look_in(s, group, slash ? slash + 1 : api_version, &w, &found));
    if (!found.plural)
        return err_new(ERR_BAD_REQUEST, "the server has no kind %s in %s", kind, api_version);
    *ret = found;
    return NULL;
}

char *resource_path(const struct resource *r, const char *ns, const char *name)
{
    struct buf b = {0};

    if (r->group[0])
        buf_printf(&b, "/apis/%s/%s", r->group, r->version);
    else
        buf_printf(&b, "/api/%s", r->version);
    if (r->is_namespaced && ns) {
        buf_add_text(&b, "/namespaces/");
        client_add_escaped(&b, str_of(ns));
    }
    buf_printf(&b, "/%s", r->plural);
    if (name) {
        buf_add_char(&b, '/');
        client_add_escaped(&b, str_of(name));
    }
    return buf_steal(&b);
}

char *resource_title(const struct resource *r, const char *ns, const char *name)
{
    if (r->is_namespaced && ns && !text_equal(ns, "default"))
        return mem_format("%s/%s in namespace %s", r->singular, name, ns);
    return mem_format("%s/%s", r->singular, name);
}
