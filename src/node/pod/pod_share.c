/* pod_share.c - the capped shares of pods: their files, and who measures them */

#include "base/mem.h"
#include "base/stamp.h"
#include "gpu/share_watch.h"
#include "model/device.h"
#include "model/quantity.h"
#include "node/pod/pod.h"
#include "node/spec/share_files.h"

char *pod_share_dir(const struct pod *p)
{
    return mem_format("%s/pods/%s/share", p->set->o.dir, p->uid);
}

static struct err *share_plan_container(const struct container *c, struct share_files *f)
{
    const json_t *item = NULL;
    size_t i = 0;

    json_array_foreach (c->gpus, i, item) {
        struct device d = {0};

        TRY(device_parse(json_is_string(item) ? json_string_value(item) : "", &d));
        if (d.kind == DEVICE_SHARE && !share_files_add(f, d.gpu, (uint64_t)d.bytes, d.milli))
            return err_new(ERR_INVALID, "the pod has shares of more than %d gpus", SHARE_GPUS_MAX);
    }
    return NULL;
}

/* An init container has the devices of main containers: the first plan of a gpu counts. */
struct err *pod_plan_share(const struct pod *p, struct share_files *ret)
{
    for (size_t i = 0; i < p->n_containers; i++)
        TRY(share_plan_container(&p->containers[i], ret));
    if (ret->limits.n_gpus > 0)
        ret->dir = pod_share_dir(p);
    return NULL;
}

bool pod_has_shares(const struct pod *p)
{
    for (size_t i = 0; i < p->n_containers; i++) {
        const json_t *item = NULL;
        size_t at = 0;

        json_array_foreach (p->containers[i].gpus, at, item) {
            const char *text = json_string_value(item);

            if (text && strstr(text, "/share:"))
                return true;
        }
    }
    return false;
}

void pods_tell_shares(const struct pods *set)
{
    json_t *list = json_array();

    for (const struct pod *p = set->pods; p; p = p->handle.next) {
        AUTO_FREE char *dir = NULL;
        json_t *entry = NULL;

        if (!pod_has_shares(p))
            continue;
        dir = pod_share_dir(p);
        entry = json_object();
        json_put_text(entry, "pod", p->uid);
        json_put_text(entry, "dir", dir);
        (void)json_array_append_new(list, entry);
    }
    set->o.on_shares(set->o.arg, list);
}

/* In whole MiB: "40Gi", "40961Mi". */
static void share_size_format(int64_t bytes, char ret[QUANTITY_TEXT_SIZE])
{
    quantity_format(
        (struct quantity){.milli = bytes / 1048576 * 1048576 * 1000, .form = QUANTITY_BINARY}, ret);
}

void pods_end_over_share(struct pods *set, const struct share_over *over)
{
    struct pod *p = pods_find(set, over->pod);
    AUTO_FREE char *why = NULL;
    char used[QUANTITY_TEXT_SIZE];
    char limit[QUANTITY_TEXT_SIZE];

    if (!p)
        return;
    share_size_format(over->bytes, used);
    share_size_format(over->limit_bytes, limit);
    why = mem_format("Pod used %s of gpu %s, more than its share of %s. ", used, over->gpu, limit);
    pod_evict(p, why, POD_EVICTION_GRACE_NS);
    pod_step(p);
}
