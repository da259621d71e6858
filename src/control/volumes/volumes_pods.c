/* volumes_pods.c - what the claims of a pod mean, written into the pod; claims of ephemeral volumes
 */

#include <inttypes.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/stamp.h"
#include "control/volumes/volumes_private.h"
#include "control/writes.h"
#include "kinds/pod/pod_state.h"
#include "kinds/pod/pod_view.h"
#include "kinds/pod/pod_volume_claims.h"

/* The annotation of a pod in the making. */
struct vol_reading {
    struct vol_item *pod;
    char *node; /* of a bound volume; NULL: any */
    struct buf lines;
};

/* ---- ephemeral volumes ---- */

static bool is_owned_by(const struct vol_item *claim, const struct vol_item *pod)
{
    const json_t *owners = json_at(claim->tree, "metadata", "ownerReferences", NULL);

    for (size_t i = 0; i < json_array_size(owners); i++)
        if (text_equal(json_text(json_array_get(owners, i), "uid"), pod->uid))
            return true;
    return false;
}

/* Returns what the pod waits for, the caller's. */
static char *make_claim(const struct vol_item *pod, const json_t *template, const char *name)
{
    const json_t *from = json_object_get(template, "metadata");
    struct volumes_loop *l = pod->loop;
    struct cluster_answer a = turns_answer(l->turns);
    AUTO(json_freep) json_t *claim = json_object();
    json_t *metadata = json_object_at(claim, "metadata");
    AUTO(err_freep) struct err *e = NULL;

    json_put_text(metadata, "name", name);
    if (json_object_get(from, "labels"))
        json_put(metadata, "labels", json_deep_copy(json_object_get(from, "labels")));
    if (json_object_get(from, "annotations"))
        json_put(metadata, "annotations", json_deep_copy(json_object_get(from, "annotations")));
    json_put(metadata, "ownerReferences",
             json_pack("[{s:s,s:s,s:s,s:s,s:b,s:b}]", "apiVersion", "v1", "kind", "Pod", "name",
                       pod->name, "uid", pod->uid, "controller", 1, "blockOwnerDeletion", 1));
    json_put(claim, "spec", json_deep_copy(json_object_get(template, "spec")));
    e = writes_end(a,
                   cluster_create(l->options.cluster, "persistentvolumeclaims", pod->ns, claim, a));
    if (!e || err_code(e) == ERR_EXISTS)
        return mem_format("persistentvolumeclaim \"%s\" is being made", name);
    turn_poke_in((struct turn_item *)(uintptr_t)&pod->item, NS_PER_SEC);
    return mem_format("persistentvolumeclaim \"%s\" cannot be made: %s", name, err_message(e));
}

/* ---- one claim ---- */

/* Has another pod the claim alone, or would it have? */
static const char *taken_by(const struct vol_item *claim, const struct vol_item *pod)
{
    const struct vol_users *users = vol_users_of(claim->loop, claim->ns, claim->name);

    if (!storage_has_mode(json_at(claim->tree, "spec", "accessModes", NULL), "ReadWriteOncePod"))
        return NULL;
    for (size_t i = 0; i < users->pods.n; i++) {
        const struct vol_item *other = users->pods.at[i];

        if (other == pod || pod_is_terminal(other->tree))
            continue;
        if (*pod_node(other->tree) || vol_is_stale(other) || !pod_volumes_wait(other->tree))
            return other->name;
    }
    return NULL;
}

static char *read_unbound(struct vol_reading *r, const struct vol_item *claim)
{
    const struct vol_item *class = vol_class_of(claim);
    struct vol_consumers c = {0};

    if (!vol_class_waits(class) || !vol_class_is_local(class))
        return mem_format("pod has unbound immediate PersistentVolumeClaims: %s", claim->name);
    c = vol_consumers_of(claim);
    if (c.n > 1)
        return mem_format("persistentvolumeclaim \"%s\" gets its volume first: %zu pods name it",
                          claim->name, c.n);
    (void)r;
    return NULL;
}

static char *read_bound(struct vol_reading *r, const struct vol_item *claim,
                        const struct vol_item *volume)
{
    const json_t *spec = json_object_get(volume->tree, "spec");
    const char *node = storage_volume_node(volume->tree);
    const char *path = json_text_at(spec, "local", "path", NULL);
    bool is_own = text_equal(
        json_text_at(volume->tree, "metadata", "annotations", STORAGE_PROVISIONED_BY, NULL),
        STORAGE_LOCAL);

    if (r->node && *node && !text_equal(r->node, node))
        return mem_format("its volumes are on the nodes %s and %s", r->node, node);
    if (!r->node && *node)
        r->node = mem_strdup(node);
    if (!path)
        path = text_or_empty(json_text_at(spec, "hostPath", "path", NULL));
    buf_printf(&r->lines, "%s %s %" PRId64 " %s\n", claim->name, volume->name,
               storage_bytes(json_object_get(spec, "capacity")), is_own ? "-" : path);
    return NULL;
}

/* Returns what the pod waits for, the caller's; NULL: nothing. */
static char *read_volume(struct vol_reading *r, const json_t *entry)
{
    struct vol_item *pod = r->pod;
    const json_t *template = json_at(entry, "ephemeral", "volumeClaimTemplate", NULL);
    AUTO_FREE char *name = pod_volume_claim(pod->tree, entry);
    const struct vol_item *claim = name ? vol_find(pod->loop, VOL_CLAIM, pod->ns, name) : NULL;
    const struct vol_item *volume = claim ? vol_bound(claim) : NULL;
    const char *other;

    if (!name)
        return NULL;
    if (!claim)
        return template ? make_claim(pod, template, name)
                        : mem_format("persistentvolumeclaim \"%s\" not found", name);
    if (template && !is_owned_by(claim, pod))
        return mem_format("PVC %s/%s was not created for pod %s/%s (pod is not owner)", pod->ns,
                          name, pod->ns, pod->name);
    if (volume && *pod_node(pod->tree))
        return read_bound(r, claim, volume);
    if (vol_is_deleting(claim))
        return mem_format("persistentvolumeclaim \"%s\" is being deleted", name);
    if (text_equal(json_text_at(claim->tree, "status", "phase", NULL), "Lost"))
        return mem_format("persistentvolumeclaim \"%s\" has lost its volume", name);
    other = taken_by(claim, pod);
    if (other)
        return mem_format("pod %s has the ReadWriteOncePod PersistentVolumeClaim %s", other, name);
    return volume ? read_bound(r, claim, volume) : read_unbound(r, claim);
}

/* ---- one pod ---- */

static char *read_pod(struct vol_reading *r)
{
    const json_t *volumes = json_at(r->pod->tree, "spec", "volumes", NULL);
    bool is_placed = *pod_node(r->pod->tree) != '\0';
    struct buf text = {0};

    for (size_t i = 0; i < json_array_size(volumes); i++) {
        AUTO_FREE char *wait = read_volume(r, json_array_get(volumes, i));

        if (wait && !is_placed)
            return mem_format(POD_VOLUMES_WAIT "%s", wait);
    }
    buf_printf(&text, "ready %s\n%s", r->node ? r->node : "", r->lines.at ? r->lines.at : "");
    return buf_steal(&text);
}

void vol_pod_look(struct vol_item *pod)
{
    const char *was = json_text_at(pod->tree, "metadata", "annotations", POD_VOLUMES, NULL);
    struct vol_reading r = {.pod = pod};
    AUTO_FREE char *text = NULL;
    json_t *patch;

    if (pod_is_terminal(pod->tree) || vol_is_deleting(pod))
        return;
    text = read_pod(&r);
    buf_done(&r.lines);
    free(r.node);
    if (text_equal(text, was))
        return;
    patch = json_object();
    json_put_text(json_object_at(json_object_at(patch, "metadata"), "annotations"), POD_VOLUMES,
                  text);
    vol_patch(pod, NULL, patch);
}
