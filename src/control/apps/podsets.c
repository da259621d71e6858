/* podsets.c - the loop of all kinds whose parts are pods */

#include "base/mem.h"
#include "control/apps/podsets_private.h"
#include "kinds/pod/pod_state.h"
#include "kinds/pod/pod_view.h"

static void put_replicaset(void *arg, const char *ns, const char *name, const json_t *object)
{
    (void)ns;
    (void)name;
    apps_put(arg, &app_replicaset, object);
}

static void remove_replicaset(void *arg, const char *ns, const char *name, const json_t *last)
{
    (void)last;
    apps_remove(arg, &app_replicaset, ns, name);
}

static void put_pod(void *arg, const char *ns, const char *name, const json_t *object)
{
    apps_put_part(arg, ns, name, object);
}

static void remove_pod(void *arg, const char *ns, const char *name, const json_t *last)
{
    apps_remove_part(arg, ns, name, last);
}

/* Pods that have ended, or are being deleted, are not adopted. */
static bool is_free(const json_t *pod)
{
    return !pod_is_terminal(pod) && !pod_is_deleting(pod);
}

static const struct turns_source podset_sources[] = {
    {"apps", "replicasets", put_replicaset, remove_replicaset},
    {"", "pods", put_pod, remove_pod},
};

struct err *podsets_new(const struct podsets_options *o, struct podsets **ret)
{
    struct podsets *s = mem_alloc(sizeof(*s));
    const struct apps_options apps = {.loop = o->loop,
                                      .cluster = o->cluster,
                                      .events = o->events,
                                      .name = "sets of pods",
                                      .sources = podset_sources,
                                      .n_sources = COUNT(podset_sources),
                                      .part_resource = "pods",
                                      .is_free = is_free,
                                      .arg = s};
    struct err *e = apps_loop_new(&apps, &s->loop);

    if (e) {
        free(s);
        return e;
    }
    *ret = s;
    return NULL;
}

void podsets_free(struct podsets *s)
{
    if (!s)
        return;
    apps_loop_free(s->loop);
    free(s);
}
