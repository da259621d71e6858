/* dra_claim.c - a claim's devices of this driver */

#include "kubelet/dra/dra_claim.h"

#include "base/mem.h"
#include "kinds/kind/claim_fields.h"
#include "model/names.h"

void dra_claim_free(struct dra_claim *c)
{
    if (!c)
        return;
    VEC_EACH (&c->results, r) {
        free(r->request);
        free(r->pool);
        free(r->device);
        free(r->share);
        free(r->uuid);
    }
    vec_done(&c->results);
    free(c->uid);
    free(c->ns);
    free(c->name);
    free(c);
}

static char *member_dup(const json_t *object, const char *key)
{
    return mem_strdup(text_or_empty(json_text(object, key)));
}

/* ---- parameters ---- */

/* A MigDeviceConfig has the same members as a GpuConfig. */
static struct err *parameters_check(const json_t *parameters)
{
    AUTO(json_freep) json_t *copy = json_copy((json_t *)(uintptr_t)parameters);
    struct claim_sharing sharing = {0};

    if (text_equal(json_text(parameters, "kind"), "MigDeviceConfig"))
        json_put_text(copy, "kind", "GpuConfig");
    TRY(claim_read_sharing(copy, &sharing));
    if (sharing.milli > 0 || sharing.bytes > 0)
        return err_new(ERR_INVALID, "Share: claims have no capped shares on a cluster yet");
    return NULL;
}

static struct err *configs_check(const json_t *configs)
{
    for (size_t i = 0; i < json_array_size(configs); i++) {
        const json_t *opaque = json_object_get(json_array_get(configs, i), "opaque");
        struct err *e = NULL;

        if (!text_equal(json_text(opaque, "driver"), CLAIM_DRIVER))
            continue;
        e = parameters_check(json_object_get(opaque, "parameters"));
        if (e)
            return err_wrap(e, "config[%zu].opaque.parameters", i);
    }
    return NULL;
}

/* ---- allocations ---- */

static struct dra_result result_read(const json_t *j)
{
    const char *request = text_or_empty(json_text(j, "request"));

    return (struct dra_result){
        .request = mem_strndup(request, strcspn(request, "/")),
        .pool = member_dup(j, "pool"),
        .device = member_dup(j, "device"),
        .share = member_dup(j, "shareID"),
        .uuid = mem_strdup(""),
        .is_admin = json_bool(j, "adminAccess", false),
        .is_tolerated = json_array_size(json_object_get(j, "tolerations")) > 0,
    };
}

struct err *dra_claim_read(const json_t *object, struct dra_claim **ret)
{
    const json_t *metadata = json_object_get(object, "metadata");
    const json_t *devices = json_at(object, "status", "allocation", "devices", NULL);
    const json_t *results = json_object_get(devices, "results");
    AUTO(dra_claim_freep) struct dra_claim *c = NULL;

    if (!json_at(object, "status", "allocation", NULL))
        return err_new(ERR_CONFLICT, "the claim has no devices: no scheduler has allocated them");
    TRY(configs_check(json_object_get(devices, "config")));
    c = mem_alloc(sizeof(*c));
    c->uid = member_dup(metadata, "uid");
    c->ns = member_dup(metadata, "namespace");
    c->name = member_dup(metadata, "name");
    for (size_t i = 0; i < json_array_size(results); i++) {
        const json_t *j = json_array_get(results, i);

        if (text_equal(json_text(j, "driver"), CLAIM_DRIVER))
            vec_add(&c->results, result_read(j));
    }
    *ret = TAKE(c);
    return NULL;
}

/* ---- on disk ---- */

json_t *dra_claim_format(const struct dra_claim *c)
{
    json_t *j = json_object();
    json_t *list = json_array_at(j, "results");

    json_put_text(j, "uid", c->uid);
    json_put_text(j, "namespace", c->ns);
    json_put_text(j, "name", c->name);
    VEC_EACH (&c->results, r) {
        json_t *one = json_object();

        json_put_text(one, "request", r->request);
        json_put_text(one, "pool", r->pool);
        json_put_text(one, "device", r->device);
        json_put_text(one, "uuid", r->uuid);
        if (r->share[0])
            json_put_text(one, "share", r->share);
        if (r->is_admin)
            json_put_bool(one, "admin", true);
        (void)json_array_append_new(list, one); /* a fresh object: cannot fail */
    }
    return j;
}

struct err *dra_claim_parse(const json_t *j, struct dra_claim **ret)
{
    const json_t *results = json_object_get(j, "results");
    AUTO(dra_claim_freep) struct dra_claim *c = mem_alloc(sizeof(*c));

    c->uid = member_dup(j, "uid");
    c->ns = member_dup(j, "namespace");
    c->name = member_dup(j, "name");
    TRY(name_check_label(c->uid));
    if (!json_is_array(results))
        return err_new(ERR_INVALID, "results: want a list");
    for (size_t i = 0; i < json_array_size(results); i++) {
        const json_t *one = json_array_get(results, i);
        struct dra_result r = {.request = member_dup(one, "request"),
                               .pool = member_dup(one, "pool"),
                               .device = member_dup(one, "device"),
                               .share = member_dup(one, "share"),
                               .uuid = member_dup(one, "uuid"),
                               .is_admin = json_bool(one, "admin", false)};

        vec_add(&c->results, r);
        if (!r.device[0] || !r.uuid[0])
            return err_new(ERR_INVALID, "results[%zu]: want device and uuid", i);
    }
    *ret = TAKE(c);
    return NULL;
}
