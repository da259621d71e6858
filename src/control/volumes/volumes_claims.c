/* volumes_claims.c - one look at a claim: its volume, its phase, its end */

#include "base/mem.h"
#include "base/stamp.h"
#include "control/volumes/volumes_private.h"
#include "kinds/pod/pod_state.h"
#include "kinds/pod/pod_view.h"
#include "kinds/pod/pod_volume_claims.h"

static const int64_t MISSED_NS = 2 * NS_PER_SEC;

/* ---- classes ---- */

const struct vol_item *vol_class_of(const struct vol_item *claim)
{
    const char *name = json_text_at(claim->tree, "spec", "storageClassName", NULL);

    return name && *name ? vol_find(claim->loop, VOL_CLASS, "", name) : NULL;
}

bool vol_class_waits(const struct vol_item *class)
{
    return class && text_equal(json_text(class->tree, "volumeBindingMode"), "WaitForFirstConsumer");
}

bool vol_class_is_local(const struct vol_item *class)
{
    return class && text_equal(json_text(class->tree, "provisioner"), STORAGE_LOCAL);
}

/* A claim from before there was a default class gets it now, as in Kubernetes. */
static bool take_default(struct vol_item *claim)
{
    const struct vol_item *found = NULL;
    struct vol_item *class;
    struct vol_item *next;
    json_t *patch;

    map_each (handle, claim->loop->all[VOL_CLASS], class, next)
        if (storage_class_is_default(class->tree) &&
            (!found || strcmp(class->name, found->name) < 0))
            found = class;
    if (!found)
        return false;
    patch = json_object();
    json_put_text(json_object_at(patch, "spec"), "storageClassName", found->name);
    vol_patch(claim, NULL, patch);
    return true;
}

/* ---- consumers ---- */

static bool is_live(const struct vol_item *pod)
{
    return !pod_is_terminal(pod->tree) && (!vol_is_deleting(pod) || *pod_node(pod->tree));
}

/* May the pod be placed on any node, as far as this claim goes? Unknown while its annotation is
 * being written. */
static bool is_let_go(const struct vol_item *pod, const char *claim)
{
    struct pod_volume volume = {0};

    if (vol_is_stale(pod))
        return true;
    return !pod_volumes_wait(pod->tree) && !pod_volume_find(pod->tree, claim, &volume);
}

struct vol_consumers vol_consumers_of(const struct vol_item *claim)
{
    const struct vol_users *users = vol_users_of(claim->loop, claim->ns, claim->name);
    struct vol_consumers c = {0};

    for (size_t i = 0; users && i < users->pods.n; i++) {
        struct vol_item *pod = users->pods.at[i];

        if (!is_live(pod))
            continue;
        c.n++;
        if (!c.first || strcmp(pod->name, c.first->name) < 0)
            c.first = pod;
        if (*pod_node(pod->tree))
            c.node = pod_node(pod->tree);
        else
            c.is_let_go = c.is_let_go || is_let_go(pod, claim->name);
    }
    return c;
}

/* Does a pod on a node use the claim, or may its containers still run? */
static bool is_in_use(const struct vol_item *claim)
{
    const struct vol_users *users = vol_users_of(claim->loop, claim->ns, claim->name);

    for (size_t i = 0; users && i < users->pods.n; i++) {
        const struct vol_item *pod = users->pods.at[i];

        if (*pod_node(pod->tree) && !pod_is_terminal(pod->tree))
            return true;
        if (vol_is_stale(pod) ||
            (!pod_volumes_wait(pod->tree) && !pod_is_terminal(pod->tree) && !vol_is_deleting(pod)))
            return true; /* it may be placed at any time */
    }
    return false;
}

/* ---- bound claims ---- */

static bool is_claimed_by(const json_t *volume, const struct vol_item *claim)
{
    const json_t *ref = json_at(volume, "spec", "claimRef", NULL);

    return text_equal(json_text(ref, "uid"), claim->uid);
}

const struct vol_item *vol_bound(const struct vol_item *claim)
{
    const char *name = json_text_at(claim->tree, "spec", "volumeName", NULL);
    const struct vol_item *volume =
        name && *name ? vol_find(claim->loop, VOL_VOLUME, "", name) : NULL;

    return volume && is_claimed_by(volume->tree, claim) ? volume : NULL;
}

static void put_phase(struct vol_item *claim, const char *phase, const json_t *volume)
{
    const json_t *status = json_object_get(claim->tree, "status");
    const json_t *capacity = json_at(volume, "spec", "capacity", NULL);
    const json_t *modes = json_at(volume, "spec", "accessModes", NULL);
    json_t *patch = NULL;
    json_t *to = NULL;

    if (text_equal(json_text(status, "phase"), phase) &&
        (!volume || (json_equal(json_object_get(status, "capacity"), capacity) &&
                     json_equal(json_object_get(status, "accessModes"), modes))))
        return;
    patch = json_object();
    to = json_object_at(patch, "status");
    json_put_text(to, "phase", phase);
    if (volume) {
        json_put(to, "capacity", json_deep_copy(capacity));
        json_put(to, "accessModes", json_deep_copy(modes));
    }
    vol_patch(claim, "status", patch);
}

/* The volume's news may come after the claim's. */
static void claim_missed(struct vol_item *claim)
{
    if (!json_text_at(claim->tree, "metadata", "annotations", STORAGE_BIND_COMPLETED, NULL)) {
        put_phase(claim, "Pending", NULL);
        return;
    }
    if (!claim->is_missed) {
        claim->is_missed = true;
        turn_poke_in(&claim->item, MISSED_NS);
        return;
    }
    vol_tell(claim, true, "ClaimLost",
             "Bound claim has lost its PersistentVolume. Data on the volume is lost!");
    put_phase(claim, "Lost", NULL);
}

static void follow_volume(struct vol_item *claim, const char *name)
{
    struct vol_item *volume = vol_find(claim->loop, VOL_VOLUME, "", name);
    const json_t *ref = volume ? json_at(volume->tree, "spec", "claimRef", NULL) : NULL;
    AUTO_FREE char *message = NULL;

    if (!volume) {
        claim_missed(claim);
        return;
    }
    claim->is_missed = false;
    if (is_claimed_by(volume->tree, claim)) {
        if (!json_text_at(claim->tree, "metadata", "annotations", STORAGE_BIND_COMPLETED, NULL))
            vol_bind(claim, volume);
        else
            put_phase(claim, "Bound", volume->tree);
        return;
    }
    if (!ref ||
        (!json_text_filled(ref, "uid") && text_equal(json_text(ref, "namespace"), claim->ns) &&
         text_equal(json_text(ref, "name"), claim->name))) {
        vol_bind(claim, volume);
        return;
    }
    message = mem_format("volume \"%s\" already bound to a different claim.", name);
    vol_tell(claim, true, "FailedBinding", message);
    put_phase(claim, "Pending", NULL);
}

/* ---- unbound claims ---- */

static void provision_somewhere(struct vol_item *claim, const struct vol_item *class,
                                const struct vol_item *pod)
{
    const char *node = vol_choose_node(claim->loop, pod ? pod->tree : NULL);

    if (node)
        vol_provision(claim, class, node);
    else
        vol_tell(claim, true, "ProvisioningFailed",
                 "no node is ready to hold the volume, the claim is tried again with the next one");
}

static void wait_for_consumer(struct vol_item *claim, const struct vol_item *class)
{
    struct vol_consumers c = vol_consumers_of(claim);
    struct vol_item *volume = c.n > 0 && !c.is_let_go && !c.node ? vol_match(claim) : NULL;

    if (volume)
        vol_bind(claim, volume);
    else if (c.n == 0)
        vol_tell(claim, false, "WaitForFirstConsumer",
                 "waiting for first consumer to be created before binding");
    else if (vol_class_is_local(class) && c.node)
        vol_provision(claim, class, c.node);
    else if (vol_class_is_local(class) && c.n > 1 && !c.is_let_go)
        provision_somewhere(claim, class, c.first);
    else if (!vol_class_is_local(class))
        vol_tell(claim, false, "ExternalProvisioning",
                 "waiting for a volume to be created, either by an external provisioner or by the "
                 "system administrator");
}

static void find_volume(struct vol_item *claim)
{
    const char *name = json_text_at(claim->tree, "spec", "storageClassName", NULL);
    const struct vol_item *class = vol_class_of(claim);
    struct vol_item *volume = NULL;
    AUTO_FREE char *message = NULL;

    if (!name && take_default(claim))
        return;
    if (vol_class_waits(class)) {
        wait_for_consumer(claim, class);
        return;
    }
    volume = vol_match(claim);
    if (volume) {
        vol_bind(claim, volume);
        return;
    }
    if (vol_class_is_local(class)) {
        provision_somewhere(claim, class, NULL);
        return;
    }
    if (class) {
        message = mem_format("Waiting for a volume to be created either by the external "
                             "provisioner '%s' or manually by the system administrator.",
                             text_or_empty(json_text(class->tree, "provisioner")));
        vol_tell(claim, false, "ExternalProvisioning", message);
        return;
    }
    if (!name || !*name) {
        vol_tell(claim, false, "FailedBinding",
                 "no persistent volumes available for this claim and no storage class is set");
        return;
    }
    message = mem_format("storageclass.storage.k8s.io \"%s\" not found", name);
    vol_tell(claim, true, "ProvisioningFailed", message);
}

void vol_claim_look(struct vol_item *claim)
{
    const char *volume = json_text_at(claim->tree, "spec", "volumeName", NULL);

    if (vol_is_deleting(claim) && !is_in_use(claim)) {
        (void)vol_drop_finalizer(claim, STORAGE_CLAIM_PROTECTION);
        return;
    }
    if (volume && *volume)
        follow_volume(claim, volume);
    else if (!vol_is_deleting(claim))
        find_volume(claim);
}
