/* refs.c - the references of a pod, and their values */

#include "node/pod/refs.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/num.h"
#include "kinds/slurm/slurm_job.h"

static struct err *refs_add_path(json_t *paths, const char *path)
{
    if (json_has_text(paths, path))
        return NULL;
    if (json_array_size(paths) >= REFS_MAX)
        return err_new(ERR_INVALID, "the pod names more than %d ConfigMaps and Secrets", REFS_MAX);
    (void)json_array_append_new(paths, json_string(path));
    return NULL;
}

static struct err *refs_add(json_t *paths, const char *plural, const char *name)
{
    AUTO_FREE char *path = mem_format("%s/%s", plural, name ? name : "");

    return name && name[0] ? refs_add_path(paths, path) : NULL;
}

static struct err *collect_container(const json_t *container, json_t *paths)
{
    const json_t *item = NULL;
    size_t i = 0;

    json_array_foreach (json_object_get(container, "envFrom"), i, item) {
        TRY(refs_add(paths, "configmaps", json_text_at(item, "configMapRef", "name", NULL)));
        TRY(refs_add(paths, "secrets", json_text_at(item, "secretRef", "name", NULL)));
    }
    json_array_foreach (json_object_get(container, "env"), i, item) {
        const json_t *from = json_object_get(item, "valueFrom");

        TRY(refs_add(paths, "configmaps", json_text_at(from, "configMapKeyRef", "name", NULL)));
        TRY(refs_add(paths, "secrets", json_text_at(from, "secretKeyRef", "name", NULL)));
    }
    return NULL;
}

static struct err *collect_projected(const json_t *sources, json_t *paths)
{
    const json_t *item = NULL;
    size_t i = 0;

    json_array_foreach (sources, i, item) {
        const json_t *token = json_object_get(item, "serviceAccountToken");
        AUTO_FREE char *ref = token ? refs_token(token) : NULL;

        TRY(refs_add(paths, "configmaps", json_text_at(item, "configMap", "name", NULL)));
        TRY(refs_add(paths, "secrets", json_text_at(item, "secret", "name", NULL)));
        if (ref)
            TRY(refs_add_path(paths, ref));
    }
    return NULL;
}

struct err *refs_collect_volumes(const json_t *pod, json_t *paths)
{
    const json_t *item = NULL;
    size_t i = 0;

    json_array_foreach (json_at(pod, "spec", "volumes", NULL), i, item) {
        TRY(refs_add(paths, "configmaps", json_text_at(item, "configMap", "name", NULL)));
        TRY(refs_add(paths, "secrets", json_text_at(item, "secret", "secretName", NULL)));
        TRY(collect_projected(json_at(item, "projected", "sources", NULL), paths));
    }
    return NULL;
}

/* The server alone sets the label. */
static const char *slurm_job_name(const json_t *pod)
{
    return json_text_at(pod, "metadata", "labels", SLURM_JOB_LABEL, NULL);
}

const char *refs_slurm_uid(const json_t *pod)
{
    const json_t *owner = NULL;
    size_t i = 0;

    if (!slurm_job_name(pod))
        return NULL;
    json_array_foreach (json_at(pod, "metadata", "ownerReferences", NULL), i, owner)
        if (json_bool(owner, "controller", false) &&
            text_equal(json_text(owner, "kind"), "SlurmJob"))
            return json_text(owner, "uid");
    return NULL;
}

bool refs_is_slurm_job(const char *ref)
{
    return text_starts_with(ref, "slurmjobs/");
}

struct err *refs_collect(const json_t *pod, json_t *paths)
{
    const json_t *spec = json_object_get(pod, "spec");
    const json_t *item = NULL;
    size_t i = 0;

    TRY(refs_collect_volumes(pod, paths));
    if (refs_slurm_uid(pod))
        TRY(refs_add(paths, "slurmjobs", slurm_job_name(pod)));
    json_array_foreach (json_object_get(spec, "imagePullSecrets"), i, item)
        TRY(refs_add(paths, "secrets", json_text(item, "name")));
    json_array_foreach (json_object_get(spec, "initContainers"), i, item)
        TRY(collect_container(item, paths));
    json_array_foreach (json_object_get(spec, "containers"), i, item)
        TRY(collect_container(item, paths));
    json_array_foreach (json_object_get(spec, "ephemeralContainers"), i, item)
        TRY(collect_container(item, paths));
    return NULL;
}

/* ---- tokens ---- */

static const char tokens[] = "tokens/";

char *refs_token(const json_t *source)
{
    enum {
        SECONDS_DEFAULT = 3600
    };
    const char *audience = json_text(source, "audience");

    return mem_format("%s%" PRId64 "/%s", tokens,
                      json_int(source, "expirationSeconds", SECONDS_DEFAULT),
                      audience ? audience : "");
}

bool refs_is_token(const char *ref)
{
    return text_starts_with(ref, tokens);
}

/* An authentication.k8s.io/v1 TokenRequest, bound to the pod: the token dies with it. */
static char *token_body(const json_t *pod, const char *ref)
{
    AUTO(json_freep) json_t *body = json_object();
    struct str audience = str_of(ref + strlen(tokens));
    struct str seconds = str_cut(&audience, '/');
    json_t *spec = json_object_at(body, "spec");
    json_t *bound = json_object_at(spec, "boundObjectRef");
    json_t *audiences = json_array_at(spec, "audiences");
    int64_t number = 0;

    err_free(num_parse_int64(seconds, 0, INT64_MAX, &number)); /* refs_token wrote it */
    json_put_text(body, "apiVersion", "authentication.k8s.io/v1");
    json_put_text(body, "kind", "TokenRequest");
    if (audience.size > 0)
        (void)json_array_append_new(audiences, json_stringn(audience.at, audience.size));
    json_put_int(spec, "expirationSeconds", number);
    json_put_text(bound, "apiVersion", "v1");
    json_put_text(bound, "kind", "Pod");
    json_put_text(bound, "name", json_text_at(pod, "metadata", "name", NULL));
    json_put_text(bound, "uid", json_text_at(pod, "metadata", "uid", NULL));
    return json_format(body);
}

void refs_request(const json_t *pod, const char *ref, struct ref_request *ret)
{
    const char *ns = json_text_at(pod, "metadata", "namespace", NULL);
    const char *account = json_text_at(pod, "spec", "serviceAccountName", NULL);

    *ret = (struct ref_request){.method = "GET"};
    if (!refs_is_token(ref)) {
        ret->path = mem_format("%s/namespaces/%s/%s",
                               refs_is_slurm_job(ref) ? "/apis/mete.dev/v1" : "/api/v1", ns, ref);
        return;
    }
    ret->method = "POST";
    ret->path = mem_format("/api/v1/namespaces/%s/serviceaccounts/%s/token", ns,
                           account && account[0] ? account : "default");
    ret->body = token_body(pod, ref);
}

void ref_request_done(struct ref_request *r)
{
    free(r->path);
    free(r->body);
    *r = (struct ref_request){0};
}

/* ---- fetched objects ---- */

const json_t *refs_find(const json_t *objects, const char *plural, const char *name)
{
    AUTO_FREE char *path = mem_format("%s/%s", plural, name ? name : "");

    return json_object_get(objects, path);
}

/* Another job of the name may have come since. */
const json_t *refs_slurm_spec(const json_t *objects, const json_t *pod)
{
    const char *uid = refs_slurm_uid(pod);
    const json_t *job = uid ? refs_find(objects, "slurmjobs", slurm_job_name(pod)) : NULL;

    return text_equal(uid, json_text_at(job, "metadata", "uid", NULL))
               ? json_object_get(job, "spec")
               : NULL;
}

static int digit_of(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

/* Decodes base64 (RFC 4648, padded), as stored by the API server. */
static struct err *refs_decode(const char *text, struct buf *ret)
{
    struct str s = str_of(text);
    uint32_t bits = 0;
    unsigned n = 0;

    while (s.size > 0 && s.at[s.size - 1] == '=')
        s.size--;
    for (size_t i = 0; i < s.size; i++) {
        int digit = digit_of(s.at[i]);

        if (digit < 0)
            return err_new(ERR_INVALID, "not base64 at byte %zu", i);
        bits = bits << 6 | (uint32_t)digit;
        n += 6;
        if (n >= 8) {
            n -= 8;
            buf_add_char(ret, (char)(bits >> n & 0xff));
        }
    }
    return NULL;
}

static struct err *read_key(const json_t *object, bool is_secret, const char *key, struct buf *ret)
{
    const json_t *plain = json_object_get(json_object_get(object, "data"), key);
    const char *binary = json_text_at(object, "binaryData", key, NULL);

    if (json_is_string(plain) && is_secret)
        return refs_decode(json_string_value(plain), ret);
    if (json_is_string(plain)) {
        buf_add(ret, json_string_value(plain), json_string_length(plain));
        return NULL;
    }
    if (binary && !is_secret)
        return refs_decode(binary, ret);
    return err_new(ERR_NOT_FOUND, "has no key '%s'", key);
}

static const char *kind_of(bool is_secret)
{
    return is_secret ? "Secret" : "ConfigMap";
}

struct err *refs_value(const json_t *objects, const char *plural, const char *name, const char *key,
                       struct buf *ret)
{
    const json_t *object = refs_find(objects, plural, name);
    bool is_secret = text_equal(plural, "secrets");
    struct err *e = NULL;

    if (!object)
        return err_new(ERR_NOT_FOUND, "%s '%s' not found", kind_of(is_secret), name ? name : "");
    e = read_key(object, is_secret, key ? key : "", ret);
    return e ? err_wrap(e, "%s '%s'", kind_of(is_secret), name) : NULL;
}

static int compare_texts(const void *a, const void *b)
{
    const char *const *left = a;
    const char *const *right = b;

    return strcmp(*left, *right);
}

struct err *refs_each(const json_t *objects, const char *plural, const char *name,
                      struct err *(*fn)(void *arg, const char *key, struct str bytes), void *arg)
{
    const json_t *object = refs_find(objects, plural, name);
    const json_t *parts[] = {json_object_get(object, "data"),
                             json_object_get(object, "binaryData")};
    AUTO_FREE const char **keys = NULL;
    size_t n = 0;
    struct err *e = NULL;

    if (!object)
        return err_new(ERR_NOT_FOUND, "%s '%s' not found", kind_of(text_equal(plural, "secrets")),
                       name ? name : "");
    keys = mem_alloc((json_object_size(parts[0]) + json_object_size(parts[1]) + 1) * sizeof(*keys));
    for (size_t i = 0; i < 2; i++) {
        const char *key = NULL;
        json_t *value = NULL;

        json_object_foreach ((json_t *)(uintptr_t)parts[i], key, value)
            keys[n++] = key;
    }
    qsort(keys, n, sizeof(*keys), compare_texts);
    for (size_t i = 0; !e && i < n; i++) {
        AUTO(buf_done) struct buf bytes = {0};

        e = refs_value(objects, plural, name, keys[i], &bytes);
        if (!e)
            e = fn(arg, keys[i], (struct str){bytes.at, bytes.size});
    }
    return e;
}
