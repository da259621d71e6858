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

static void put_replicationcontroller(void *arg, const char *ns, const char *name,
                                      const json_t *object)
{
    (void)ns;
    (void)name;
    apps_put(arg, &app_replicationcontroller, object);
}

static void remove_replicationcontroller(void *arg, const char *ns, const char *name,
                                         const json_t *last)
{
    (void)last;
    apps_remove(arg, &app_replicationcontroller, ns, name);
}

static void put_statefulset(void *arg, const char *ns, const char *name, const json_t *object)
{
    (void)ns;
    (void)name;
    apps_put(arg, &app_statefulset, object);
}

static void remove_statefulset(void *arg, const char *ns, const char *name, const json_t *last)
{
    (void)last;
    apps_remove(arg, &app_statefulset, ns, name);
}

static void put_daemonset(void *arg, const char *ns, const char *name, const json_t *object)
{
    (void)ns;
    (void)name;
    apps_put(arg, &app_daemonset, object);
}

static void remove_daemonset(void *arg, const char *ns, const char *name, const json_t *last)
{
    (void)last;
    apps_remove(arg, &app_daemonset, ns, name);
}

static void put_revision(void *arg, const char *ns, const char *name, const json_t *object)
{
    struct podsets *s = apps_arg(arg);

    (void)ns;
    (void)name;
    revisions_put(s->revisions, object);
}

static void remove_revision(void *arg, const char *ns, const char *name, const json_t *last)
{
    struct podsets *s = apps_arg(arg);

    (void)last;
    revisions_remove(s->revisions, ns, name);
}

static void put_node(void *arg, const char *ns, const char *name, const json_t *object)
{
    (void)ns;
    daemon_put_node(apps_arg(arg), name, object);
}

static void remove_node(void *arg, const char *ns, const char *name, const json_t *last)
{
    (void)ns;
    (void)last;
    daemon_remove_node(apps_arg(arg), name);
}

/* Most claims belong to no set: they are cheap to look at. */
static void put_claim(void *arg, const char *ns, const char *name, const json_t *object)
{
    struct podsets *s = apps_arg(arg);

    (void)ns;
    (void)name;
    set_claims_put(s->claims, object);
    apps_poke_all(arg, &app_statefulset);
}

static void remove_claim(void *arg, const char *ns, const char *name, const json_t *last)
{
    struct podsets *s = apps_arg(arg);

    (void)last;
    set_claims_remove(s->claims, ns, name);
    apps_poke_all(arg, &app_statefulset);
}

/* The rules that the loop does not know by itself. */
static void podsets_forget(void *arg)
{
    struct podsets *s = arg;

    revisions_clear(s->revisions);
    daemon_forget_nodes(s);
    set_claims_clear(s->claims);
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

static void share_member(json_t *to, const json_t *from, const char *name)
{
    json_t *value = json_object_get(from, name);

    if (value)
        json_put(to, name, json_incref(value));
}

/* Most pods of a machine are of no set, and a pod's containers take more memory than all the rest.
 * A pod that is adopted is read in whole with the news of the adoption. */
static json_t *pod_brief(const json_t *pod)
{
    static const char *const members[] = {"nodeName", "affinity", "volumes", "hostname", NULL};
    json_t *brief = json_object();
    json_t *spec = json_object_at(brief, "spec");

    share_member(brief, pod, "metadata");
    share_member(brief, pod, "status");
    for (size_t i = 0; members[i]; i++)
        share_member(spec, json_object_get(pod, "spec"), members[i]);
    return brief;
}

static const struct turns_source podset_sources[] = {
    {"apps", "replicasets", put_replicaset, remove_replicaset},
    {"", "replicationcontrollers", put_replicationcontroller, remove_replicationcontroller},
    {"apps", "statefulsets", put_statefulset, remove_statefulset},
    {"apps", "daemonsets", put_daemonset, remove_daemonset},
    {"apps", "controllerrevisions", put_revision, remove_revision},
    {"", "nodes", put_node, remove_node},
    {"", "persistentvolumeclaims", put_claim, remove_claim},
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
                                      .brief = pod_brief,
                                      .forget = podsets_forget,
                                      .arg = s};
    struct err *e;

    s->revisions = revisions_new();
    s->claims = set_claims_new();
    e = apps_loop_new(&apps, &s->loop);
    if (e) {
        revisions_free(s->revisions);
        set_claims_free(s->claims);
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
    revisions_free(s->revisions);
    set_claims_free(s->claims);
    free(s);
}
