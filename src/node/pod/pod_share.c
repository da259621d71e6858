/* pod_share.c - the capped shares of pods: their files, and who measures them */

#include "base/mem.h"
#include "model/device.h"
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
