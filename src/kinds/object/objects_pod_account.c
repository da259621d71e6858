/*
 * objects_pod_account.c - what a new pod gets from its service account: registry passwords and a
 * token
 *
 * The pod's automountServiceAccountToken decides on the token, else the account's; else a pod gets
 * a token. Containers of the image `host` get none, and neither do Slurm jobs, unless they ask for
 * it: they have their user's own access to the API.
 */

#include "base/mem.h"
#include "kinds/object/objects_private.h"
#include "kinds/slurm/slurm_job.h"

#define TOKEN_MOUNT "/var/run/secrets/kubernetes.io/serviceaccount"

enum {
    TOKEN_SECONDS = 3607, /* as Kubernetes: distinct from the lifetimes that users request */
    SUFFIX_SIZE = 5
};

static json_t *pod_spec(const struct change *c)
{
    return json_object_at(c->after, "spec");
}

/* The account's name. The deprecated field counts if only that field is set; both are set
 * afterwards. */
static const char *take_name(json_t *spec)
{
    const char *old = json_text(spec, "serviceAccount");
    const char *name = json_text(spec, "serviceAccountName");

    if (old && *old && (!name || text_equal(name, "default")))
        json_put_text(spec, "serviceAccountName", old);
    name = json_text(spec, "serviceAccountName");
    json_put_text(spec, "serviceAccount", name);
    return json_text(spec, "serviceAccountName");
}

/* `*ret` is NULL if a new namespace lacks the account `default` yet. */
static struct err *find_account(const struct change *c, const char *name, json_t **ret)
{
    const struct store_key key =
        objects_key(kind_find("", "serviceaccounts"), c->request->ns, name);
    const struct store_object *o = store_get_applied(c->objects->store, key);

    *ret = NULL;
    if (o)
        return json_parse(o->bytes, ret);
    if (text_equal(name, "default"))
        return NULL;
    return forbidden(c, "error looking up service account %s/%s: serviceaccount \"%s\" not found",
                     c->request->ns, name, name);
}

static void take_pull_secrets(json_t *spec, const json_t *account)
{
    json_t *secrets = json_object_get(account, "imagePullSecrets");

    if (json_array_size(secrets) > 0 &&
        json_array_size(json_object_get(spec, "imagePullSecrets")) == 0)
        json_put(spec, "imagePullSecrets", json_deep_copy(secrets));
}

static bool wants_token(const struct change *c, const json_t *spec, const json_t *account)
{
    const json_t *of_pod = json_object_get(spec, "automountServiceAccountToken");
    const json_t *of_account = json_object_get(account, "automountServiceAccountToken");

    if (json_is_boolean(of_pod))
        return json_is_true(of_pod);
    if (json_is_boolean(of_account))
        return json_is_true(of_account);
    return !json_text_at(c->after, "metadata", "labels", SLURM_JOB_LABEL, NULL);
}

static bool has_mount(const json_t *container, const char *path)
{
    const json_t *mounts = json_object_get(container, "volumeMounts");

    for (size_t i = 0; i < json_array_size(mounts); i++)
        if (text_equal(json_text(json_array_get(mounts, i), "mountPath"), path))
            return true;
    return false;
}

/* Mounts the token into all containers but those of `host`. Returns the number of mounts. */
static size_t add_mounts(json_t *containers, const char *volume)
{
    size_t n = 0;

    for (size_t i = 0; i < json_array_size(containers); i++) {
        json_t *container = json_array_get(containers, i);

        if (text_equal(json_text(container, "image"), "host") || has_mount(container, TOKEN_MOUNT))
            continue;
        (void)json_array_append_new(
            json_array_at(container, "volumeMounts"),
            json_pack("{s:s, s:b, s:s}", "name", volume, "readOnly", 1, "mountPath", TOKEN_MOUNT));
        n++;
    }
    return n;
}

static json_t *make_volume(const char *name)
{
    return json_pack("{s:s, s:{s:i, s:[{s:{s:i, s:s}}, {s:{s:s, s:[{s:s, s:s}]}}, "
                     "{s:{s:[{s:s, s:{s:s, s:s}}]}}]}}",
                     "name", name, "projected", "defaultMode", 420, "sources",
                     "serviceAccountToken", "expirationSeconds", TOKEN_SECONDS, "path", "token",
                     "configMap", "name", "kube-root-ca.crt", "items", "key", "ca.crt", "path",
                     "ca.crt", "downwardAPI", "items", "path", "namespace", "fieldRef",
                     "apiVersion", "v1", "fieldPath", "metadata.namespace");
}

static char *make_volume_name(const struct change *c)
{
    static const char letters[] = "bcdfghjklmnpqrstvwxz2456789";
    uint8_t bytes[SUFFIX_SIZE];
    char suffix[SUFFIX_SIZE + 1] = "";

    change_random(c, bytes, sizeof(bytes));
    for (size_t i = 0; i < SUFFIX_SIZE; i++)
        suffix[i] = letters[bytes[i] % (sizeof(letters) - 1)];
    return mem_format("kube-api-access-%s", suffix);
}

static void mount_token(const struct change *c, json_t *spec)
{
    AUTO_FREE char *name = make_volume_name(c);
    size_t n = add_mounts(json_object_get(spec, "initContainers"), name) +
               add_mounts(json_object_get(spec, "containers"), name);

    if (n > 0)
        (void)json_array_append_new(json_array_at(spec, "volumes"), make_volume(name));
}

static bool has_host_container(const json_t *containers)
{
    for (size_t i = 0; i < json_array_size(containers); i++)
        if (text_equal(json_text(json_array_get(containers, i), "image"), "host"))
            return true;
    return false;
}

/* Warns a user who asked for a token explicitly if some containers get none. */
static void warn_of_host(const struct change *c, const json_t *spec)
{
    if (c->request->warnings &&
        json_is_true(json_object_get(spec, "automountServiceAccountToken")) &&
        (has_host_container(json_object_get(spec, "containers")) ||
         has_host_container(json_object_get(spec, "initContainers"))))
        (void)json_array_append_new(
            c->request->warnings,
            json_string("spec.automountServiceAccountToken: containers of the image host get no "
                        "token; mount a projected volume with a serviceAccountToken"));
}

struct err *pod_account_rules(struct change *c)
{
    json_t *spec = pod_spec(c);
    const char *name = take_name(spec);
    AUTO(json_freep) json_t *account = NULL;

    if (!name)
        return NULL;
    TRY(find_account(c, name, &account));
    take_pull_secrets(spec, account);
    if (wants_token(c, spec, account)) {
        mount_token(c, spec);
        warn_of_host(c, spec);
    }
    return NULL;
}
