/* set_claims.c - makes the claims of StatefulSets, and writes their owners */

#include "control/apps/set_claims.h"

#include <inttypes.h>

#include "base/mem.h"
#include "base/num.h"
#include "base/stamp.h"
#include "control/apps/apps_loop_private.h"
#include "control/writes.h"

/* A claim of any set, or of none. */
struct set_claim {
    struct map_handle handle;
    char *key; /* "ns/name" */
    json_t *object;
    int64_t version;
    int64_t written; /* of our last write: the object is old while this is larger */
};

struct set_claims {
    struct set_claim *all;
};

struct set_claims *set_claims_new(void)
{
    return mem_alloc(sizeof(struct set_claims));
}

static void claim_free(struct set_claims *c, struct set_claim *claim)
{
    map_remove(handle, c->all, claim);
    json_decref(claim->object);
    free(claim->key);
    free(claim);
}

void set_claims_clear(struct set_claims *c)
{
    struct set_claim *claim;
    struct set_claim *next;

    map_each (handle, c->all, claim, next)
        claim_free(c, claim);
}

void set_claims_free(struct set_claims *c)
{
    if (!c)
        return;
    set_claims_clear(c);
    free(c);
}

static struct set_claim *set_claim_find(const struct set_claims *c, const char *ns,
                                        const char *name)
{
    AUTO_FREE char *key = mem_format("%s/%s", ns, name);
    struct set_claim *claim = NULL;

    map_find_text(handle, c->all, key, claim);
    return claim;
}

static struct set_claim *claim_make(struct set_claims *c, const char *ns, const char *name)
{
    struct set_claim *claim = set_claim_find(c, ns, name);

    if (claim)
        return claim;
    claim = mem_alloc(sizeof(*claim));
    claim->key = mem_format("%s/%s", ns, name);
    map_add(handle, c->all, claim->key, strlen(claim->key), claim);
    return claim;
}

void set_claims_put(struct set_claims *c, const json_t *object)
{
    struct set_claim *claim =
        claim_make(c, text_or_empty(json_text_at(object, "metadata", "namespace", NULL)),
                   text_or_empty(json_text_at(object, "metadata", "name", NULL)));

    json_decref(claim->object);
    claim->object = json_incref((json_t *)(uintptr_t)object);
    claim->version = apps_version_of(object);
}

void set_claims_remove(struct set_claims *c, const char *ns, const char *name)
{
    struct set_claim *claim = set_claim_find(c, ns, name);

    if (claim)
        claim_free(c, claim);
}

static const json_t *templates_of(const struct app *a)
{
    return json_at(a->object, "spec", "volumeClaimTemplates", NULL);
}

static char *claim_name(const json_t *template, const char *pod)
{
    return mem_format("%s-%s", text_or_empty(json_text_at(template, "metadata", "name", NULL)),
                      pod);
}

/* ---- new pods ---- */

void set_claims_mount(const struct app *a, json_t *pod_spec, const char *pod)
{
    const json_t *templates = templates_of(a);
    const json_t *others = json_object_get(pod_spec, "volumes");
    AUTO(json_freep) json_t *names = json_object();
    json_t *volumes;

    if (json_array_size(templates) == 0)
        return;
    volumes = json_array();
    for (size_t i = 0; i < json_array_size(templates); i++) {
        const json_t *template = json_array_get(templates, i);
        const char *name = text_or_empty(json_text_at(template, "metadata", "name", NULL));
        AUTO_FREE char *claim = claim_name(template, pod);

        json_put_bool(names, name, true);
        (void)json_array_append_new(volumes, json_pack("{s:s,s:{s:s}}", "name", name,
                                                       "persistentVolumeClaim", "claimName",
                                                       claim)); /* fresh: cannot fail */
    }
    for (size_t i = 0; i < json_array_size(others); i++) {
        json_t *volume = json_array_get(others, i);

        if (!json_object_get(names, text_or_empty(json_text(volume, "name"))))
            (void)json_array_append(volumes, volume); /* likewise */
    }
    json_put(pod_spec, "volumes", volumes);
}

static json_t *claim_tree(const struct app *a, const json_t *template, const char *name)
{
    const json_t *from = json_object_get(template, "metadata");
    const json_t *labels = json_object_get(from, "labels");
    json_t *selected = json_at(a->object, "spec", "selector", "matchLabels", NULL);
    json_t *claim = json_object();
    json_t *metadata = json_object_at(claim, "metadata");

    json_put_text(metadata, "name", name);
    json_put(metadata, "labels", labels ? json_deep_copy(labels) : json_object());
    if (selected)
        (void)json_object_update(json_object_get(metadata, "labels"), selected); /* both objects */
    if (json_object_get(from, "annotations"))
        json_put(metadata, "annotations", json_deep_copy(json_object_get(from, "annotations")));
    json_put(claim, "spec", json_deep_copy(json_object_get(template, "spec")));
    return claim;
}

/* Tells of a claim's creation in Kubernetes' words. */
static void tell(const struct app *a, const char *name, const char *pod, const struct err *e)
{
    AUTO_FREE char *message =
        e ? mem_format("create Claim %s for Pod %s in StatefulSet %s failed error: %s", name, pod,
                       a->name, err_message(e))
          : mem_format("create Claim %s Pod %s in StatefulSet %s success", name, pod, a->name);

    app_event(a, e != NULL, e ? "FailedCreate" : "SuccessfulCreate", message);
}

static bool claim_create(struct set_claims *c, struct app *a, const json_t *template,
                         const char *pod)
{
    struct turns *t = a->loop->turns;
    AUTO_FREE char *name = claim_name(template, pod);
    AUTO(json_freep) json_t *tree = claim_tree(a, template, name);
    struct cluster_answer answer = turns_answer(t);
    AUTO(err_freep) struct err *e = NULL;

    e = writes_end(answer,
                   cluster_create(turns_cluster(t), "persistentvolumeclaims", a->ns, tree, answer));
    if (!e || err_code(e) != ERR_EXISTS)
        tell(a, name, pod, e);
    if (e) {
        turn_poke_in(&a->item, retry_failed(&a->create_retry, app_now_ns(a)));
        return false;
    }
    set_claims_put(c, tree);
    return true;
}

/* Is the claim on its way out: deleted, or with the pod before? */
static bool is_leaving(const struct set_claim *claim)
{
    const json_t *owners = json_at(claim->object, "metadata", "ownerReferences", NULL);

    if (json_at(claim->object, "metadata", "deletionTimestamp", NULL))
        return true;
    for (size_t i = 0; i < json_array_size(owners); i++)
        if (text_equal(json_text(json_array_get(owners, i), "kind"), "Pod"))
            return true;
    return false;
}

bool set_claims_make(struct set_claims *c, struct app *a, const char *pod)
{
    const json_t *templates = templates_of(a);

    for (size_t i = 0; i < json_array_size(templates); i++) {
        const json_t *template = json_array_get(templates, i);
        AUTO_FREE char *name = claim_name(template, pod);
        const struct set_claim *claim = set_claim_find(c, a->ns, name);

        if (claim && is_leaving(claim))
            return false; /* its removal pokes the set */
        if (!claim && !claim_create(c, a, template, pod))
            return false;
    }
    return true;
}

/* ---- owners ---- */

static bool is_to_delete(const struct app *a, const char *when)
{
    return text_equal(
        json_text_at(a->object, "spec", "persistentVolumeClaimRetentionPolicy", when, NULL),
        "Delete");
}

static json_t *owner_tree(const char *version, const char *kind, const char *name, const char *uid)
{
    return json_pack("{s:s,s:s,s:s,s:s,s:b,s:b}", "apiVersion", version, "kind", kind, "name", name,
                     "uid", uid, "controller", 1, "blockOwnerDeletion", 1);
}

/* The change of a claim's owners from what they are to the policy's; NULL: none. */
static json_t *owner_changes(const struct app *a, const struct set_claim *claim,
                             const struct app_part *pod, bool is_kept)
{
    const json_t *owners = json_at(claim->object, "metadata", "ownerReferences", NULL);
    bool is_of_pod = !is_kept && is_to_delete(a, "whenScaled");
    bool is_of_set = !is_of_pod && is_to_delete(a, "whenDeleted");
    const char *wanted = is_of_pod ? pod->uid : is_of_set ? a->uid : NULL;
    json_t *list = json_array();

    for (size_t i = 0; i < json_array_size(owners); i++) {
        const char *uid = text_or_empty(json_text(json_array_get(owners, i), "uid"));

        if (text_equal(uid, wanted))
            wanted = NULL;
        else if (text_equal(uid, a->uid) || text_equal(uid, pod->uid))
            (void)json_array_append_new(list, json_pack("{s:s,s:s}", "$patch", "delete", "uid",
                                                        uid)); /* fresh: cannot fail */
    }
    if (wanted)
        (void)json_array_append_new(
            list, is_of_pod ? owner_tree("v1", "Pod", pod->name, pod->uid)
                            : owner_tree("apps/v1", "StatefulSet", a->name, a->uid)); /* likewise */
    if (json_array_size(list) > 0)
        return list;
    json_decref(list);
    return NULL;
}

static bool claim_own(struct app *a, struct set_claim *claim, json_t *owners)
{
    struct turns *t = a->loop->turns;
    struct cluster_answer answer = turns_answer(t);
    AUTO_FREE char *version = mem_format("%" PRId64, claim->version);
    AUTO(json_freep) json_t *patch = json_object();
    json_t *metadata = json_object_at(patch, "metadata");
    struct cluster_write write = {.resource = "persistentvolumeclaims",
                                  .ns = a->ns,
                                  .name = json_text_at(claim->object, "metadata", "name", NULL),
                                  .tree = patch,
                                  .must_change = true};
    AUTO(err_freep) struct err *e = NULL;

    json_put_text(metadata, "resourceVersion", version);
    json_put(metadata, "ownerReferences", owners);
    e = writes_end(answer, cluster_write_all(turns_cluster(t), &write, 1, answer, &claim->written));
    if (e)
        app_write_failed(a, e);
    return !e;
}

bool set_claims_own(struct set_claims *c, struct app *a, const struct app_part *pod, bool is_kept)
{
    const json_t *templates = templates_of(a);
    bool is_done = true;

    for (size_t i = 0; i < json_array_size(templates); i++) {
        AUTO_FREE char *name = claim_name(json_array_get(templates, i), pod->name);
        struct set_claim *claim = set_claim_find(c, a->ns, name);
        json_t *changes = NULL;

        if (!claim)
            continue;
        if (claim->version < claim->written)
            return false; /* its news pokes the set */
        changes = owner_changes(a, claim, pod, is_kept);
        if (changes)
            is_done = claim_own(a, claim, changes) && is_done;
    }
    return is_done;
}
