/* dra_driver.c - the driver of claims beside a kubelet: sockets, registration, health */

#include "kubelet/dra/dra_driver.h"

#include "base/arena.h"
#include "base/file.h"
#include "base/list.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/stamp.h"
#include "kinds/kind/claim_fields.h"
#include "kubelet/dra.pb-c.h"
#include "kubelet/dra/dra_prepare.h"
#include "kubelet/grpc/grpc_message.h"
#include "kubelet/kubelet_dir.h"
#include "kubelet/pluginregistration.pb-c.h"

/* A kubelet forgets a device's health 30 s after it was told. */
#define HEALTH_EVERY_NS (10 * NS_PER_SEC)

enum dra_health {
    DRA_HEALTH_UNKNOWN,
    DRA_HEALTH_HEALTHY,
    DRA_HEALTH_UNHEALTHY
};

/* A kubelet that watches the health of devices. */
struct dra_watcher {
    struct dra_watcher *prev;
    struct dra_watcher *next;
    struct dra_driver *driver;
    struct grpc_call *call;
};

struct dra_socket {
    char *path;
    const struct grpc_method *methods;
    size_t n_methods;
    struct grpc_server *server; /* NULL: the socket cannot be made now */
};

struct dra_driver {
    struct dra_driver_options o;
    char *node;
    struct dra_socket registry;
    struct dra_socket own;
    struct kubelet_dir *watch; /* of the registry's directory */
    struct dra_devices devices;
    bool has_devices;
    bool is_registered; /* a kubelet knows the driver, or knew it */
    struct dra_slices *slices;
    struct dra_store *store;
    struct dra_preparer *preparer;
    struct dra_watcher *watchers;
    struct loop_timer *timer; /* of the watchers */
};

/* ---- registration ---- */

static void on_info(void *arg, struct grpc_call *call, struct str message)
{
    static const char *const versions[] = {"v1.DRAPlugin", "v1beta1.DRAPlugin",
                                           "v1alpha1.DRAResourceHealth"};
    AUTO(arena_freep) struct arena *a = arena_new();
    struct dra_driver *d = arg;
    Pluginregistration__PluginInfo info;

    (void)message;
    pluginregistration__plugin_info__init(&info);
    info.type = arena_strdup(a, "DRAPlugin");
    info.name = arena_strdup(a, CLAIM_DRIVER);
    info.endpoint = d->own.path;
    info.supported_versions = arena_alloc(a, COUNT(versions) * sizeof(*info.supported_versions));
    for (size_t i = 0; i < COUNT(versions); i++)
        info.supported_versions[info.n_supported_versions++] = arena_strdup(a, versions[i]);
    grpc_call_answer(call, &info.base);
    grpc_call_end(call, NULL);
}

/* Devices are published now at the earliest: a kubelet waits a minute before it asks again a driver
 * that it did not know. */
static void driver_registered(struct dra_driver *d)
{
    d->is_registered = true;
    if (d->has_devices)
        dra_slices_update(d->slices, &d->devices);
    if (d->o.on_registered)
        d->o.on_registered(d->o.arg, CLAIM_DRIVER);
}

static void on_status(void *arg, struct grpc_call *call, struct str message)
{
    struct dra_driver *d = arg;
    Pluginregistration__RegistrationStatusResponse answer =
        PLUGINREGISTRATION__REGISTRATION_STATUS_RESPONSE__INIT;
    Pluginregistration__RegistrationStatus *status =
        pluginregistration__registration_status__unpack(NULL, message.size,
                                                        (const uint8_t *)message.at);

    if (!status) {
        grpc_call_end(call, err_new(ERR_INVALID, "malformed RegistrationStatus"));
        return;
    }
    if (!status->plugin_registered)
        LOG(WARN, "kubelet refuses the driver", S("driver", CLAIM_DRIVER),
            S("cause", status->error));
    else
        LOG(INFO, "registered at the kubelet", S("driver", CLAIM_DRIVER));
    if (status->plugin_registered)
        driver_registered(d);
    pluginregistration__registration_status__free_unpacked(status, NULL);
    grpc_call_answer(call, &answer.base);
    grpc_call_end(call, NULL);
}

static const struct grpc_method registry_methods[] = {
    {"/pluginregistration.Registration/GetInfo", on_info},
    {"/pluginregistration.Registration/NotifyRegistrationStatus", on_status},
};

/* ---- claims ---- */

static void on_prepare(void *arg, struct grpc_call *call, struct str message)
{
    const struct dra_driver *d = arg;

    if (d->has_devices)
        dra_prepare(d->preparer, call, message);
    else
        grpc_call_end(call, err_new(ERR_UNAVAILABLE, "the gpus of this node are not known yet"));
}

static void on_unprepare(void *arg, struct grpc_call *call, struct str message)
{
    const struct dra_driver *d = arg;

    dra_unprepare(d->preparer, call, message);
}

/* ---- health ---- */

static Dra__DeviceHealth *health_message(struct arena *a, struct dra_driver *d,
                                         const struct dra_device *device)
{
    Dra__DeviceHealth *h = arena_alloc(a, sizeof(*h));
    Dra__DeviceIdentifier *id = arena_alloc(a, sizeof(*id));

    dra__device_health__init(h);
    dra__device_identifier__init(id);
    id->pool_name = d->node;
    id->device_name = arena_strdup(a, device->name);
    h->device = id;
    h->health = device->health == GPU_HEALTHY ? DRA_HEALTH_HEALTHY : DRA_HEALTH_UNHEALTHY;
    h->last_updated_time = loop_wall_ns(d->o.loop) / NS_PER_SEC;
    h->message = arena_strdup(a, device->reason);
    return h;
}

static struct buf health_list(struct dra_driver *d)
{
    AUTO(arena_freep) struct arena *a = arena_new();
    Dra__NodeWatchResourcesResponse list = DRA__NODE_WATCH_RESOURCES_RESPONSE__INIT;

    list.devices = arena_alloc(a, (d->devices.list.n + 1) * sizeof(*list.devices));
    VEC_EACH (&d->devices.list, device)
        list.devices[list.n_devices++] = health_message(a, d, device);
    return grpc_message_pack(&list.base);
}

static void health_tell(struct dra_driver *d)
{
    AUTO(buf_done) struct buf list = health_list(d);
    struct dra_watcher *w = NULL;

    LIST_EACH (d->watchers, w)
        grpc_call_send(w->call, buf_str(&list));
}

static void on_health_time(void *arg)
{
    struct dra_driver *d = arg;

    health_tell(d);
    if (d->watchers)
        loop_timer_set(d->timer, HEALTH_EVERY_NS);
}

static void on_watcher_gone(void *arg, struct grpc_call *call)
{
    struct dra_watcher *w = arg;

    (void)call;
    LIST_REMOVE(w->driver->watchers, w);
    free(w);
}

static void on_watch_health(void *arg, struct grpc_call *call, struct str message)
{
    struct dra_driver *d = arg;
    struct dra_watcher *w = mem_alloc(sizeof(*w));
    AUTO(buf_done) struct buf list = health_list(d);

    (void)message;
    *w = (struct dra_watcher){.driver = d, .call = call};
    LIST_ADD(d->watchers, w);
    grpc_call_on_gone(call, on_watcher_gone, w);
    grpc_call_send(call, buf_str(&list));
    loop_timer_set(d->timer, HEALTH_EVERY_NS);
}

static const struct grpc_method own_methods[] = {
    {"/k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin/NodePrepareResources", on_prepare},
    {"/k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin/NodeUnprepareResources", on_unprepare},
    {"/k8s.io.kubelet.pkg.apis.dra.v1beta1.DRAPlugin/NodePrepareResources", on_prepare},
    {"/k8s.io.kubelet.pkg.apis.dra.v1beta1.DRAPlugin/NodeUnprepareResources", on_unprepare},
    {"/v1alpha1.DRAResourceHealth/NodeWatchResources", on_watch_health},
};

/* ---- sockets ---- */

static void socket_check(struct dra_driver *d, struct dra_socket *s)
{
    AUTO(err_freep) struct err *e = NULL;

    if (s->server && grpc_server_is_there(s->server))
        return;
    grpc_server_free(TAKE(s->server));
    e = grpc_server_new(&(struct grpc_server_options){.loop = d->o.loop,
                                                      .socket = s->path,
                                                      .methods = s->methods,
                                                      .n_methods = s->n_methods,
                                                      .arg = d},
                        &s->server);
    if (e)
        LOG(WARN, "driver of claims cannot listen", S("socket", s->path), E(e));
}

/* The kubelet connects to the driver's own socket once it has seen the other one. */
static void on_registry(void *arg)
{
    struct dra_driver *d = arg;

    socket_check(d, &d->own);
    if (d->own.server)
        socket_check(d, &d->registry);
}

/* ---- outside ---- */

static struct err *driver_begin(struct dra_driver *d, const char *dir)
{
    AUTO_FREE char *registry_dir = mem_format("%s/plugins_registry", d->o.kubelet_dir);
    AUTO_FREE char *claims_dir = mem_format("%s/claims", dir);

    if (grpc_server_answers(d->registry.path))
        return err_new(ERR_CONFLICT,
                       "%s: another driver for " CLAIM_DRIVER " serves this kubelet: end it first",
                       d->registry.path);
    TRY(dir_make(registry_dir, 0750));
    TRY(dra_store_new(claims_dir, &d->store));
    d->slices = dra_slices_new(
        &(struct dra_slices_options){.loop = d->o.loop, .client = d->o.client, .node = d->node});
    d->preparer = dra_preparer_new(&(struct dra_preparer_options){.loop = d->o.loop,
                                                                  .client = d->o.client,
                                                                  .slices = d->slices,
                                                                  .devices = &d->devices,
                                                                  .store = d->store});
    TRY(kubelet_dir_new(d->o.loop, registry_dir, on_registry, d, &d->watch));
    on_registry(d);
    return NULL;
}

struct err *dra_driver_new(const struct dra_driver_options *o, struct dra_driver **ret)
{
    struct dra_driver *d = mem_alloc(sizeof(*d));
    AUTO_FREE char *dir = mem_format("%s/plugins/" CLAIM_DRIVER, o->kubelet_dir);
    struct err *e = NULL;

    *d = (struct dra_driver){
        .o = *o,
        .node = mem_strdup(o->node),
        .registry = {.path = mem_format("%s/plugins_registry/" CLAIM_DRIVER "-reg.sock",
                                        o->kubelet_dir),
                     .methods = registry_methods,
                     .n_methods = COUNT(registry_methods)},
        .own = {.path = mem_format("%s/dra.sock", dir),
                .methods = own_methods,
                .n_methods = COUNT(own_methods)},
    };
    d->timer = loop_timer_new(o->loop, on_health_time, d);
    e = driver_begin(d, dir);
    if (e) {
        dra_driver_free(d);
        return e;
    }
    *ret = d;
    return NULL;
}

void dra_driver_free(struct dra_driver *d)
{
    if (!d)
        return;
    kubelet_dir_free(d->watch);
    grpc_server_free(d->registry.server);
    grpc_server_free(d->own.server);
    dra_preparer_free(d->preparer);
    dra_slices_free(d->slices);
    dra_store_free(d->store);
    dra_devices_done(&d->devices);
    loop_timer_free(d->timer);
    free(d->registry.path);
    free(d->own.path);
    free(d->node);
    free(d);
}

void dra_driver_update(struct dra_driver *d, const struct gpu *gpus, size_t n,
                       const struct gpu_driver_info *info)
{
    const struct claim_versions versions = {.driver = info ? info->driver_version : NULL,
                                            .cuda = info ? info->cuda_version : NULL};
    struct dra_devices now = {0};

    dra_devices_make(gpus, n, &versions, &now);
    if (d->has_devices && dra_devices_equal(&d->devices, &now)) {
        dra_devices_done(&now);
        return;
    }
    dra_devices_done(&d->devices);
    d->devices = now;
    d->has_devices = true;
    if (d->is_registered)
        dra_slices_update(d->slices, &d->devices);
    health_tell(d);
}
