/* kubeconfig.c - kubeconfig files, merged as kubectl merges them */

#include "cli/kubeconfig.h"

#include "base/json.h"
#include "base/mem.h"
#include "base/vec.h"
#include "base/yaml.h"
#include "kinds/kind/value.h"

/* The parsed files of a list. */
struct kubeconfig_set {
    const struct kubeconfig_file *files;
    json_t *roots; /* array, one entry for each file */
    size_t n;
};

/* An entry of a list of a kubeconfig; {0}: none. */
struct kubeconfig_entry {
    const json_t *value;
    const char *path; /* path of the entry's file */
};

/* Finds member `what` of the first item named `name` in list `list`. */
static struct kubeconfig_entry entry_find(const struct kubeconfig_set *set, const char *list,
                                          const char *name, const char *what)
{
    for (size_t file = 0; file < set->n; file++) {
        const json_t *items = json_object_get(json_array_get(set->roots, file), list);
        json_t *item;
        size_t i;

        json_array_foreach (items, i, item) {
            const json_t *value = json_object_get(item, what);

            if (text_equal(json_text(item, "name"), name) && value)
                return (struct kubeconfig_entry){value, set->files[file].path};
        }
    }
    return (struct kubeconfig_entry){0};
}

static const char *current_context(const struct kubeconfig_set *set)
{
    for (size_t i = 0; i < set->n; i++) {
        const char *name = json_text(json_array_get(set->roots, i), "current-context");

        if (name && name[0])
            return name;
    }
    return NULL;
}

static char *copy_text(const json_t *object, const char *key)
{
    const char *text = json_text(object, key);

    return text ? mem_strdup(text) : NULL;
}

/* A relative path is relative to the kubeconfig's directory. The caller frees the result. */
static char *path_beside(const char *file, const char *path)
{
    const char *slash = strrchr(file, '/');

    if (path[0] == '/' || !slash)
        return mem_strdup(path);
    return mem_format("%.*s/%s", (int)(slash - file), file, path);
}

static char *copy_path(const char *file, const json_t *object, const char *key)
{
    const char *path = json_text(object, key);

    return path ? path_beside(file, path) : NULL;
}

static struct err *copy_data(const json_t *object, const char *key, char **ret)
{
    const char *text = json_text(object, key);
    struct buf b = {0};
    size_t bad = 0;

    if (!text)
        return NULL;
    if (!base64_check(str_of(text), &bad))
        return err_new(ERR_BAD_REQUEST, "%s is not base64 at byte %zu", key, bad);
    base64_decode(str_of(text), &b);
    *ret = buf_steal(&b);
    return NULL;
}

static struct err *kubeconfig_refuse(const json_t *object, const char *where,
                                     const char *const *keys)
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

    TRY(kubeconfig_refuse(cluster, "its cluster", refused));
    k->server = copy_text(cluster, "server");
    if (!k->server ||
        !(text_starts_with(k->server, "https://") || text_starts_with(k->server, "http://")))
        return err_new(ERR_BAD_REQUEST, "the cluster has no server of the form https://HOST:PORT");
    while (text_ends_with(k->server, "/"))
        k->server[strlen(k->server) - 1] = '\0';
    k->ca_file = copy_path(path, cluster, "certificate-authority");
    return copy_data(cluster, "certificate-authority-data", &k->ca);
}

static void exec_free(struct kubeconfig_exec *x)
{
    if (!x)
        return;
    for (size_t i = 0; x->argv && x->argv[i]; i++)
        free(x->argv[i]);
    for (size_t i = 0; x->env && x->env[i]; i++)
        free(x->env[i]);
    free(x->argv);
    free(x->env);
    free(x->api_version);
    free(x->hint);
    free(x);
}

static struct err *exec_check(const json_t *exec)
{
    static const char *const modes[] = {"Never", "IfAvailable", "Always"};
    const char *version = json_text(exec, "apiVersion");
    const char *mode = json_text(exec, "interactiveMode");
    const char *command = json_text(exec, "command");
    bool is_beta = text_equal(version, "client.authentication.k8s.io/v1beta1");
    bool is_known = !mode && is_beta;

    if (!is_beta && !text_equal(version, "client.authentication.k8s.io/v1"))
        return err_new(ERR_BAD_REQUEST,
                       "exec.apiVersion: want client.authentication.k8s.io/v1 or v1beta1, not %s",
                       version ? version : "none");
    for (size_t i = 0; i < COUNT(modes); i++)
        is_known = is_known || text_equal(mode, modes[i]);
    if (!is_known)
        return err_new(ERR_BAD_REQUEST,
                       "exec.interactiveMode: want Never, IfAvailable or Always, not %s",
                       mode ? mode : "none");
    if (!command || !command[0])
        return err_new(ERR_BAD_REQUEST, "exec.command: want a program");
    return NULL;
}

/* "NAME=VALUE" of each item of `env`. */
static char **exec_env(const json_t *env)
{
    VEC(char *) texts = {0};
    json_t *item;
    size_t i;

    json_array_foreach (env, i, item) {
        const char *value = json_text(item, "value");

        if (json_text(item, "name"))
            vec_add(&texts, mem_format("%s=%s", json_text(item, "name"), value ? value : ""));
    }
    vec_add(&texts, NULL);
    return texts.at;
}

static char **exec_argv(const char *path, const json_t *exec)
{
    VEC(char *) texts = {0};
    const char *command = json_text(exec, "command");
    json_t *item;
    size_t i;

    vec_add(&texts, strchr(command, '/') ? path_beside(path, command) : mem_strdup(command));
    json_array_foreach (json_object_get(exec, "args"), i, item) {
        if (json_is_string(item))
            vec_add(&texts, mem_strdup(json_string_value(item)));
    }
    vec_add(&texts, NULL);
    return texts.at;
}

static struct err *read_exec(const char *path, const json_t *exec, struct kubeconfig *k)
{
    const char *mode = json_text(exec, "interactiveMode");

    if (!exec || json_is_null(exec))
        return NULL;
    TRY(exec_check(exec));
    k->exec = mem_alloc(sizeof(*k->exec));
    *k->exec = (struct kubeconfig_exec){
        .api_version = copy_text(exec, "apiVersion"),
        .argv = exec_argv(path, exec),
        .env = exec_env(json_object_get(exec, "env")),
        .wants_cluster = json_is_true(json_object_get(exec, "provideClusterInfo")),
        .needs_terminal = text_equal(mode, "Always"),
        .may_ask = !text_equal(mode, "Never"),
        .hint = copy_text(exec, "installHint")};
    return NULL;
}

static struct err *read_user(const char *path, const json_t *user, struct kubeconfig *k)
{
    static const char *const refused[] = {"auth-provider", "username", "as", NULL};

    TRY(kubeconfig_refuse(user, "its user", refused));
    k->token = copy_text(user, "token");
    k->token_file = copy_path(path, user, "tokenFile");
    k->cert_file = copy_path(path, user, "client-certificate");
    k->key_file = copy_path(path, user, "client-key");
    TRY(read_exec(path, json_object_get(user, "exec"), k));
    TRY(copy_data(user, "client-certificate-data", &k->cert));
    return copy_data(user, "client-key-data", &k->key);
}

/* Joins the paths: "/a:/b". The caller frees it. */
static char *paths_of(const struct kubeconfig_set *set)
{
    struct buf b = {0};

    for (size_t i = 0; i < set->n; i++)
        buf_printf(&b, "%s%s", i > 0 ? ":" : "", set->files[i].path);
    return buf_steal(&b);
}

static struct err *find_context(const struct kubeconfig_set *set, const char *wanted,
                                struct kubeconfig_entry *ret)
{
    const char *name = wanted ? wanted : current_context(set);
    AUTO_FREE char *paths = paths_of(set);

    if (!name)
        return err_new(ERR_BAD_REQUEST, "%s: no current-context", paths);
    *ret = entry_find(set, "contexts", name, "context");
    if (ret->value)
        return NULL;
    if (wanted)
        return err_new(ERR_BAD_REQUEST, "%s: no context \"%s\"", paths, name);
    return err_new(ERR_BAD_REQUEST, "%s: current-context \"%s\" is not in contexts", paths, name);
}

static struct err *read_context(const struct kubeconfig_set *set, const char *wanted,
                                struct kubeconfig *k)
{
    struct kubeconfig_entry context = {0};
    struct kubeconfig_entry cluster;
    struct kubeconfig_entry user;
    const char *user_name;
    struct err *e;

    TRY(find_context(set, wanted, &context));
    cluster = entry_find(set, "clusters", json_text(context.value, "cluster"), "cluster");
    user_name = json_text(context.value, "user");
    user = entry_find(set, "users", user_name, "user");
    if (!cluster.value)
        return err_new(ERR_BAD_REQUEST, "%s: the cluster of the context is not in clusters",
                       context.path);
    if (!user.value && user_name && user_name[0])
        return err_new(ERR_BAD_REQUEST, "%s: user \"%s\" of the context is not in users",
                       context.path, user_name);
    k->ns = copy_text(context.value, "namespace");
    e = read_cluster(cluster.path, cluster.value, k);
    if (e)
        return err_wrap(e, "%s", cluster.path);
    e = user.value ? read_user(user.path, user.value, k) : NULL;
    return e ? err_wrap(e, "%s", user.path) : NULL;
}

/* An empty file defines nothing; kubectl accepts empty files, too. */
static struct err *add_root(const struct kubeconfig_file *file, json_t *roots)
{
    AUTO(json_freep) json_t *documents = NULL;
    json_t *root;

    TRY(yaml_parse(file->path, file->text, &documents));
    if (json_array_size(documents) > 1)
        return err_new(ERR_BAD_REQUEST, "%s: want one document", file->path);
    root = json_array_get(documents, 0);
    if (root && !json_is_object(root) && !json_is_null(root))
        return err_new(ERR_BAD_REQUEST, "%s: want a kubeconfig: apiVersion v1, kind Config",
                       file->path);
    (void)json_array_append_new(roots, root ? json_incref(root) : json_object()); /* cannot fail */
    return NULL;
}

struct err *kubeconfig_parse(const struct kubeconfig_file *files, size_t n, const char *context,
                             struct kubeconfig *ret)
{
    AUTO(json_freep) json_t *roots = json_array();
    const struct kubeconfig_set set = {.files = files, .roots = roots, .n = n};
    struct kubeconfig k = {0};
    struct err *e;

    for (size_t i = 0; i < n; i++)
        TRY(add_root(&files[i], roots));
    e = read_context(&set, context, &k);
    if (e) {
        kubeconfig_done(&k);
        return e;
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
    exec_free(k->exec);
    *k = (struct kubeconfig){0};
}
