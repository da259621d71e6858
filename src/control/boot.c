/* boot.c - creates the objects that every cluster has */

#include "control/boot.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/stamp.h"
#include "control/boot_roles.h"
#include "kinds/node_lease.h"

/* The objects that every cluster has. */
static const struct {
    const char *group;
    const char *plural;
    const char *name;
    const char *body; /* the rest of the object; NULL: boot_cluster_role's */
} wanted[] = {
    {"", "namespaces", "default", "{}"},
    {"", "namespaces", "kube-system", "{}"},
    {"", "namespaces", "kube-public", "{}"},
    {"", "namespaces", NODE_LEASE_NAMESPACE, "{}"},
    {"scheduling.k8s.io", "priorityclasses", "system-cluster-critical",
     "{\"value\":2000000000,\"description\":\"Used for system critical pods that must run in the "
     "cluster, but can be moved to another node if necessary.\"}"},
    {"scheduling.k8s.io", "priorityclasses", "system-node-critical",
     "{\"value\":2000001000,\"description\":\"Used for system critical pods that must not be moved "
     "from their current node.\"}"},
    {"resource.k8s.io", "deviceclasses", "gpu.nvidia.com",
     "{\"spec\":{\"selectors\":[{\"cel\":{\"expression\":\"device.driver == 'gpu.nvidia.com' && "
     "device.attributes['gpu.nvidia.com'].type == 'gpu'\"}}]}}"},
    {"resource.k8s.io", "deviceclasses", "mig.nvidia.com",
     "{\"spec\":{\"selectors\":[{\"cel\":{\"expression\":\"device.driver == 'gpu.nvidia.com' && "
     "device.attributes['gpu.nvidia.com'].type == 'mig'\"}}]}}"},
    {"node.k8s.io", "runtimeclasses", "nvidia", "{\"handler\":\"nvidia\"}"},
    {"storage.k8s.io", "storageclasses", "local",
     "{\"metadata\":{\"annotations\":{\"storageclass.kubernetes.io/is-default-class\":\"true\"}},"
     "\"provisioner\":\"mete.dev/local\",\"reclaimPolicy\":\"Delete\","
     "\"volumeBindingMode\":\"WaitForFirstConsumer\"}"},
    {"rbac.authorization.k8s.io", "clusterroles", "cluster-admin", NULL},
    {"rbac.authorization.k8s.io", "clusterroles", "admin", NULL},
    {"rbac.authorization.k8s.io", "clusterroles", "edit", NULL},
    {"rbac.authorization.k8s.io", "clusterroles", "view", NULL},
    {"rbac.authorization.k8s.io", "clusterroles", "system:aggregate-to-admin", NULL},
    {"rbac.authorization.k8s.io", "clusterroles", "system:aggregate-to-edit", NULL},
    {"rbac.authorization.k8s.io", "clusterroles", "system:aggregate-to-view", NULL},
    {"rbac.authorization.k8s.io", "clusterroles", "mete:reader", NULL},
    {"rbac.authorization.k8s.io", "clusterrolebindings", "cluster-admin",
     "{\"roleRef\":{\"kind\":\"ClusterRole\",\"name\":\"cluster-admin\"},\"subjects\":[{\"kind\":"
     "\"Group\",\"name\":\"system:masters\"}]}"},
    {"mete.dev", "queues", "default", "{\"spec\":{\"preemption\":{\"within\":\"LowerPriority\"}}}"},
};
enum {
    N_WANTED = COUNT(wanted)
};

struct boot {
    struct boot_options options;
    struct loop_timer *timer;
    struct store_watch *watch; /* reports durable writes */
    bool is_ready;
};

/* Durable objects only: the state that clients see. */
static bool is_there(const struct boot *b, size_t i)
{
    const struct kind *k = kind_find(wanted[i].group, wanted[i].plural);

    return store_get(objects_store(b->options.objects), objects_key(k, "", wanted[i].name)) != NULL;
}

static bool are_all_there(const struct boot *b)
{
    for (size_t i = 0; i < N_WANTED; i++) {
        if (!is_there(b, i))
            return false;
    }
    return true;
}

static struct err *boot_create(struct boot *b, size_t i)
{
    struct objects_request r = {
        .kind = kind_find(wanted[i].group, wanted[i].plural),
        .ns = "",
        .who = {.user = "system:boot", .is_system = true, .is_admin = true, .host_uid = -1}};
    AUTO(json_freep) json_t *object = NULL;
    AUTO(json_freep) json_t *result = NULL;
    struct err *e;

    if (wanted[i].body)
        TRY(json_parse(str_of(wanted[i].body), &object));
    else
        object = boot_cluster_role(wanted[i].name);
    json_put_text(json_object_at(object, "metadata"), "name", wanted[i].name);
    e = objects_create(b->options.objects, &r, object, NULL, NULL, &result);
    if (e && err_code(e) == ERR_EXISTS) {
        err_free(e);
        return NULL;
    }
    return e;
}

static void boot_on_time(void *arg)
{
    struct boot *b = arg;

    if (are_all_there(b)) {
        b->is_ready = true;
        store_watch_free(b->watch);
        b->watch = NULL;
        if (b->options.on_ready)
            b->options.on_ready(b->options.arg);
        return;
    }
    for (size_t i = 0; i < N_WANTED; i++) {
        AUTO(err_freep) struct err *e = is_there(b, i) ? NULL : boot_create(b, i);

        if (e)
            LOG(WARN, "default object cannot be created, will be tried again",
                S("resource", wanted[i].plural), S("name", wanted[i].name), E(e));
    }
    loop_timer_set(b->timer, NS_PER_SEC);
}

static void boot_on_change(void *arg, const struct store_change *change, int64_t revision)
{
    struct boot *b = arg;

    (void)change;
    (void)revision;
    if (!b->is_ready && are_all_there(b))
        loop_timer_set(b->timer, 0);
}

struct err *boot_new(const struct boot_options *o, struct boot **ret)
{
    struct boot *b = mem_alloc(sizeof(*b));
    struct store_range range = {.resource = NULL};
    struct store *s = objects_store(o->objects);
    struct err *e;

    b->options = *o;
    b->timer = loop_timer_new(o->loop, boot_on_time, b);
    loop_timer_set(b->timer, 0);
    e = store_watch_new(s, &range, store_revision(s), boot_on_change, b, &b->watch);
    if (e) {
        boot_free(b);
        return e;
    }
    *ret = b;
    return NULL;
}

void boot_free(struct boot *b)
{
    if (!b)
        return;
    store_watch_free(b->watch);
    loop_timer_free(b->timer);
    free(b);
}
