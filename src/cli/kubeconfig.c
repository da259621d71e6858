#include "cli/kubeconfig.h"

#include "base/json.h"
#include "base/mem.h"
#include "base/yaml.h"
#include "kinds/value.h"

/* The member `what` of the item called `name` in list `list`. Borrowed or NULL. */
static const json_t *named(const json_t *root, const char *list, const char *name, const char *what)
{
    const json_t *items = json_object_get(root, list);
    json_t *item;
    size_t i;

    json_array_foreach (items, i, item)
        if (text_equal(json_text(item, "name"), name))
            return json_object_get(item, what);
    return NULL;
}

static char *copy_text(const json_t *object, const char *key)
{
    const char *text = json_text(object, key);

    return text ? mem_strdup(text) : NULL;
}

/* A path in the file is relative to the file. */
static char *copy_path(const char *file, const json_t *object, const char *key)
{
    const char *path = json_text(object, key);
    const char *slash = strrchr(file, '/');

    if (!path)
        return NULL;
    if (path[0] == '/' || !slash)
        return mem_strdup(path);
    return mem_format("%.*s/%s", (int)(slash - file), file, path);
}

static struct err *copy_data(const json_t *object, const char *key, char **ret)
{
    const char *text = json_text(object, key);
    struct buf b = {0};
    size_t bad = 0;

    if (!text)
        return NULL;
    if (!base64_check(str_of(text), &bad))
        return err_new(ERR_BAD_REQUEST, "%s is no base64 at byte %zu", key, bad);
    base64_decode(str_of(text), &b);
    *ret = buf_steal(&b);
    return NULL;
}

static struct err *refuse(const json_t *object, const char *where, const char *const *keys)
{
    for (; *keys; keys++) {
        const json_t *value = json_object_get(object, *keys);

        if (value && !json_is_null(value) && !json_is_false(value))
            return err_new(ERR_BAD_REQUEST, "%s has \"%s\", which mete does not support", where,
                           *keys);
    }
    return NULL;
}

static struct err *read_cluster(const char *path, const json_t *cluster, struct kubeconfig *k)
{
    static const char *const refused[] = {"insecure-skip-tls-verify", "proxy-url",
                                          "tls-server-name", NULL};

    TRY(refuse(cluster, "its cluster", refused));
    k->server = copy_text(cluster, "server");
    if (!k->server ||
        !(text_starts_with(k->server, "https://") || text_starts_with(k->server, "http://")))
        return err_new(ERR_BAD_REQUEST, "its cluster has no server like https://HOST:PORT");
    while (text_ends_with(k->server, "/"))
        k->server[strlen(k->server) - 1] = '\0';
    k->ca_file = copy_path(path, cluster, "certificate-authority");
    return copy_data(cluster, "certificate-authority-data", &k->ca);
}

static struct err *read_user(const char *path, const json_t *user, struct kubeconfig *k)
{
    static const char *const refused[] = {"exec", "auth-provider", "username", "as", NULL};

    TRY(refuse(user, "its user", refused));
    k->token = copy_text(user, "token");
    k->token_file = copy_path(path, user, "tokenFile");
    k->cert_file = copy_path(path, user, "client-certificate");
    k->key_file = copy_path(path, user, "client-key");
    TRY(copy_data(user, "client-certificate-data", &k->cert));
    return copy_data(user, "client-key-data", &k->key);
}

static struct err *read_context(const char *path, const json_t *root, struct kubeconfig *k)
{
    const char *name = json_text(root, "current-context");
    const json_t *context = named(root, "contexts", name ? name : "", "context");
    const json_t *cluster;
    const json_t *user;

    if (!name || !name[0])
        return err_new(ERR_BAD_REQUEST, "no current-context");
    if (!context)
        return err_new(ERR_BAD_REQUEST, "its current-context \"%s\" is not among its contexts",
                       name);
    cluster = named(root, "clusters", json_text(context, "cluster"), "cluster");
    user = named(root, "users", json_text(context, "user"), "user");
    if (!cluster)
        return err_new(ERR_BAD_REQUEST, "the cluster of context \"%s\" is not among its clusters",
                       name);
    k->ns = copy_text(context, "namespace");
    TRY(read_cluster(path, cluster, k));
    return read_user(path, user, k);
}

struct err *kubeconfig_parse(const char *path, struct str text, struct kubeconfig *ret)
{
    AUTO(json_freep) json_t *documents = NULL;
    struct kubeconfig k = {0};
    struct err *e;

    TRY(yaml_parse(path, text, &documents));
    if (json_array_size(documents) != 1)
        return err_new(ERR_BAD_REQUEST, "%s: want one document", path);
    e = read_context(path, json_array_get(documents, 0), &k);
    if (e) {
        kubeconfig_done(&k);
        return err_wrap(e, "%s", path);
    }
    *ret = k;
    return NULL;
}

void kubeconfig_done(struct kubeconfig *k)
{
    free(k->server);
    free(k->ca);
    free(k->ca_file);
    free(k->cert);
    free(k->cert_file);
    free(k->key);
    free(k->key_file);
    free(k->token);
    free(k->token_file);
    free(k->ns);
    *k = (struct kubeconfig){0};
}
