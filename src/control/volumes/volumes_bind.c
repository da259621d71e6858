/* volumes_bind.c - the volume of a claim: chosen among those that exist, or made */

#include <inttypes.h>

#include "base/mem.h"
#include "control/volumes/volumes_private.h"
#include "kinds/kind/label_selector.h"
#include "kinds/pod/pod_asks.h"
#include "kinds/pod/pod_state.h"
#include "model/resource.h"

/* ---- existing volumes ---- */

static bool has_modes(const json_t *offered, const json_t *asked)
{
    for (size_t i = 0; i < json_array_size(asked); i++)
        if (!json_has_text(offered, json_string_value(json_array_get(asked, i))))
            return false;
    return true;
}

static bool selects(const json_t *selector, const json_t *volume)
{
    struct selector *parsed = NULL;
    bool matches = false;
    struct err *e;

    if (json_object_size(selector) == 0)
        return true;
    e = label_selector_parse(selector, &parsed);
    if (!e)
        matches = label_selector_matches(parsed, volume);
    err_free(e); /* a selector that cannot be read selects nothing */
    selector_free(parsed);
    return matches;
}

static bool is_reserved_for(const json_t *ref, const struct vol_item *claim)
{
    const char *uid = json_text_filled(ref, "uid");

    return text_equal(json_text(ref, "namespace"), claim->ns) &&
           text_equal(json_text(ref, "name"), claim->name) && (!uid || text_equal(uid, claim->uid));
}

static bool fits(const struct vol_item *volume, const struct vol_item *claim)
{
    const json_t *spec = json_object_get(volume->tree, "spec");
    const json_t *want = json_object_get(claim->tree, "spec");
    const char *phase = json_text_at(volume->tree, "status", "phase", NULL);
    const json_t *ref = json_object_get(spec, "claimRef");

    if (vol_is_stale(volume) || vol_is_deleting(volume) || text_equal(phase, "Failed") ||
        text_equal(phase, "Released") || (ref && !is_reserved_for(ref, claim)))
        return false;
    return text_equal(text_or_empty(json_text(spec, "storageClassName")),
                      text_or_empty(json_text(want, "storageClassName"))) &&
           text_equal(json_text(spec, "volumeMode"), json_text(want, "volumeMode")) &&
           has_modes(json_object_get(spec, "accessModes"), json_object_get(want, "accessModes")) &&
           storage_bytes(json_object_get(spec, "capacity")) >=
               storage_bytes(json_at(want, "resources", "requests", NULL)) &&
           selects(json_object_get(want, "selector"), volume->tree);
}

/* Volumes reserved for the claim first, then the smallest, then by name. */
static bool is_better(const struct vol_item *one, const struct vol_item *other)
{
    bool has_ref = json_at(one->tree, "spec", "claimRef", NULL) != NULL;
    bool had_ref = json_at(other->tree, "spec", "claimRef", NULL) != NULL;
    int64_t size = storage_bytes(json_at(one->tree, "spec", "capacity", NULL));
    int64_t other_size = storage_bytes(json_at(other->tree, "spec", "capacity", NULL));

    if (has_ref != had_ref)
        return has_ref;
    return size != other_size ? size < other_size : strcmp(one->name, other->name) < 0;
}

struct vol_item *vol_match(const struct vol_item *claim)
{
    struct vol_item *best = NULL;
    struct vol_item *volume;
    struct vol_item *next;

    map_each (handle, claim->loop->all[VOL_VOLUME], volume, next)
        if (fits(volume, claim) && (!best || is_better(volume, best)))
            best = volume;
    return best;
}

/* ---- writes ---- */

static json_t *claim_ref(const struct vol_item *claim)
{
    return json_pack("{s:s,s:s,s:s,s:s,s:s}", "kind", "PersistentVolumeClaim", "namespace",
                     claim->ns, "name", claim->name, "uid", claim->uid, "apiVersion", "v1");
}

static json_t *claim_patch(const char *volume)
{
    json_t *patch = json_object();
    json_t *notes = json_object_at(json_object_at(patch, "metadata"), "annotations");

    json_put_text(notes, STORAGE_BIND_COMPLETED, "yes");
    json_put_text(notes, STORAGE_BOUND_BY, "yes");
    json_put_text(json_object_at(patch, "spec"), "volumeName", volume);
    return patch;
}

void vol_bind(struct vol_item *claim, struct vol_item *volume)
{
    struct cluster_write writes[2];
    struct vol_item *items[2] = {claim, volume};
    bool is_taken =
        text_equal(json_text_at(volume->tree, "spec", "claimRef", "uid", NULL), claim->uid);
    json_t *patch;

    if (vol_is_stale(volume))
        return; /* its news pokes the claim */
    writes[0] = vol_write(claim, claim_patch(volume->name));
    if (!is_taken) {
        patch = json_object();
        json_put(json_object_at(patch, "spec"), "claimRef", claim_ref(claim));
        writes[1] = vol_write(volume, patch);
    }
    (void)vol_commit(claim->loop, writes, items, is_taken ? 1 : 2); /* tried again */
}

/* The affinity of a volume to its node. */
static json_t *affinity_of(const char *node)
{
    return json_pack("{s:{s:[{s:[{s:s,s:s,s:[s]}]}]}}", "required", "nodeSelectorTerms",
                     "matchExpressions", "key", STORAGE_HOSTNAME, "operator", "In", "values", node);
}

static json_t *volume_tree(const struct vol_item *claim, const struct vol_item *class,
                           const char *node, const char *name)
{
    const json_t *want = json_object_get(claim->tree, "spec");
    const char *policy = json_text(class->tree, "reclaimPolicy");
    AUTO_FREE char *path = mem_format("/mete/volumes/%s", name);
    json_t *tree = json_object();
    json_t *metadata = json_object_at(tree, "metadata");
    json_t *spec = json_object_at(tree, "spec");

    json_put_text(metadata, "name", name);
    json_put_text(json_object_at(metadata, "annotations"), STORAGE_PROVISIONED_BY, STORAGE_LOCAL);
    if (text_equal(policy, "Delete"))
        json_put(metadata, "finalizers", json_pack("[s]", STORAGE_LOCAL_DATA));
    json_put(
        spec, "capacity",
        json_pack("{s:O}", "storage", json_at(want, "resources", "requests", "storage", NULL)));
    json_put(spec, "accessModes", json_deep_copy(json_object_get(want, "accessModes")));
    json_put(spec, "claimRef", claim_ref(claim));
    json_put_text(spec, "persistentVolumeReclaimPolicy", policy);
    json_put_text(spec, "storageClassName", class->name);
    json_put_text(spec, "volumeMode", "Filesystem");
    json_put(spec, "nodeAffinity", affinity_of(node));
    json_put(spec, "local", json_pack("{s:s}", "path", path));
    return tree;
}

void vol_provision(struct vol_item *claim, const struct vol_item *class, const char *node)
{
    AUTO_FREE char *name = mem_format("pvc-%s", claim->uid);
    AUTO_FREE char *message =
        mem_format("Successfully provisioned volume %s on node %s", name, node);
    struct cluster_write writes[2] = {{.resource = "persistentvolumes", .ns = ""}};
    struct vol_item *items[2] = {NULL, claim};
    json_t *patch = claim_patch(name);
    json_t *notes = json_object_at(json_object_at(patch, "metadata"), "annotations");

    if (vol_find(claim->loop, VOL_VOLUME, "", name)) {
        json_decref(patch);
        vol_tell(claim, true, "ProvisioningFailed",
                 "a volume with the name of this claim's volume exists already");
        return;
    }
    json_put_text(notes, STORAGE_PROVISIONER, STORAGE_LOCAL);
    if (vol_class_waits(class))
        json_put_text(notes, STORAGE_SELECTED_NODE, node);
    writes[0].tree = volume_tree(claim, class, node, name);
    writes[1] = vol_write(claim, patch);
    if (vol_commit(claim->loop, writes, items, 2))
        vol_tell(claim, false, "ProvisioningSucceeded", message);
}

/* ---- nodes ---- */

static bool is_usable(const struct vol_item *node, const json_t *pod)
{
    const json_t *ready = object_condition(node->tree, "Ready");
    json_t *selector = json_at(pod, "spec", "nodeSelector", NULL);
    const char *key;
    json_t *value;

    if (json_bool_at(node->tree, "spec", "unschedulable", NULL) || vol_is_deleting(node) ||
        !text_equal(json_text(ready, "status"), "True"))
        return false;
    json_object_foreach (selector, key, value)
        if (!text_equal(json_text_at(node->tree, "metadata", "labels", key, NULL),
                        json_string_value(value)))
            return false;
    return true;
}

static bool has_gpus(const struct vol_item *node)
{
    const char *gpus = json_text_at(node->tree, "status", "allocatable", GPU_RESOURCE, NULL);

    return gpus && !text_equal(gpus, "0");
}

static size_t count_volumes(const struct volumes_loop *l, const char *node)
{
    struct vol_item *volume;
    struct vol_item *next;
    size_t n = 0;

    map_each (handle, l->all[VOL_VOLUME], volume, next)
        n += text_equal(storage_volume_node(volume->tree), node);
    return n;
}

const char *vol_choose_node(struct volumes_loop *l, const json_t *pod)
{
    bool wants_gpus = pod && pod_gpu_asks(pod).n > 0;
    const struct vol_item *best = NULL;
    size_t best_n = 0;
    struct vol_item *node;
    struct vol_item *next;

    map_each (handle, l->all[VOL_NODE], node, next) {
        size_t n = count_volumes(l, node->name);
        bool is_first = !best || n < best_n || (n == best_n && strcmp(node->name, best->name) < 0);

        if (!is_usable(node, pod))
            continue;
        if (best && wants_gpus && has_gpus(node) != has_gpus(best))
            is_first = has_gpus(node);
        if (!is_first)
            continue;
        best = node;
        best_n = n;
    }
    return best ? best->name : NULL;
}
