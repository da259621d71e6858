/* volumes_volumes.c - one look at a volume: its phase, and its end */

#include "base/mem.h"
#include "base/stamp.h"
#include "control/volumes/volumes_private.h"
#include "control/writes.h"

static void put_phase(struct vol_item *v, const char *phase, const char *message)
{
    const json_t *status = json_object_get(v->tree, "status");
    char now[STAMP_TEXT_SIZE];
    json_t *patch;

    if (text_equal(json_text(status, "phase"), phase))
        return;
    stamp_format(loop_wall_ns(v->loop->options.loop), now);
    patch = json_pack("{s:{s:s,s:s}}", "status", "phase", phase, "lastPhaseTransitionTime", now);
    if (message)
        json_put_text(json_object_at(patch, "status"), "message", message);
    vol_patch(v, "status", patch);
}

/* The claim that has the volume; NULL: it is gone, or another has its name. */
static struct vol_item *holder_of(const struct vol_item *v)
{
    const json_t *ref = json_at(v->tree, "spec", "claimRef", NULL);
    const char *uid = json_text_filled(ref, "uid");
    struct vol_item *claim = vol_find(v->loop, VOL_CLAIM, json_text(ref, "namespace"),
                                      text_or_empty(json_text(ref, "name")));

    return claim && (!uid || text_equal(uid, claim->uid)) ? claim : NULL;
}

static bool is_own(const struct vol_item *v)
{
    return text_equal(
        json_text_at(v->tree, "metadata", "annotations", STORAGE_PROVISIONED_BY, NULL),
        STORAGE_LOCAL);
}

/* The node has erased the data, or is gone with it. */
static bool is_erased(const struct vol_item *v)
{
    return text_equal(json_text_at(v->tree, "status", "reason", NULL), STORAGE_ERASED) ||
           !vol_find(v->loop, VOL_NODE, "", storage_volume_node(v->tree));
}

/* False: the volume is being removed. */
static bool keep_volume(struct vol_item *v)
{
    if (!vol_is_deleting(v))
        return true;
    if (vol_drop_finalizer(v, STORAGE_VOLUME_PROTECTION))
        return false;
    return !(is_erased(v) && vol_drop_finalizer(v, STORAGE_LOCAL_DATA));
}

static void volume_remove(struct vol_item *v)
{
    const struct cluster_target t = {.resource = "persistentvolumes", .ns = "", .name = v->name};
    struct cluster_answer a = turns_answer(v->loop->turns);
    AUTO(err_freep) struct err *e = NULL;

    e = writes_end(a, cluster_remove(v->loop->options.cluster, &t, v->uid, a));
    if (e && err_code(e) != ERR_NOT_FOUND)
        turn_poke_in(&v->item, NS_PER_SEC);
}

static void release(struct vol_item *v)
{
    const char *policy = json_text_at(v->tree, "spec", "persistentVolumeReclaimPolicy", NULL);

    if (!keep_volume(v))
        return;
    if (text_equal(policy, "Delete") && !is_own(v)) {
        put_phase(v, "Failed",
                  "only volumes that were made for a claim can be deleted with it: remove the data "
                  "and the volume by hand");
        return;
    }
    if (!text_equal(json_text_at(v->tree, "status", "phase", NULL), "Released"))
        put_phase(v, "Released", NULL);
    else if (text_equal(policy, "Delete") && !vol_is_deleting(v))
        volume_remove(v);
}

void vol_volume_look(struct vol_item *v)
{
    const json_t *ref = json_at(v->tree, "spec", "claimRef", NULL);
    const struct vol_item *claim = ref ? holder_of(v) : NULL;
    const char *bound = claim ? json_text_at(claim->tree, "spec", "volumeName", NULL) : NULL;

    if (!ref || (!claim && !json_text_filled(ref, "uid"))) {
        if (keep_volume(v))
            put_phase(v, "Available", NULL);
    } else if (claim && text_equal(bound, v->name)) {
        put_phase(v, "Bound", NULL);
    } else if (claim && bound && *bound) {
        release(v);
    } else if (!claim) {
        release(v);
    } else if (!text_equal(json_text_at(v->tree, "status", "phase", NULL), "Bound")) {
        put_phase(v, "Available", NULL); /* reserved for the claim */
    }
}
