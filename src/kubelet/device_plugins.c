/* device_plugins.c - device plugins of a kubelet: registration, lists of devices, allocations */

#include "kubelet/device_plugins.h"

#include "base/file.h"
#include "base/list.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/retry.h"
#include "kubelet/grpc/grpc_client.h"
#include "kubelet/grpc/grpc_message.h"
#include "kubelet/kubelet_dir.h"
#include "kubelet/plugin_choice.h"

#define REGISTER_TIMEOUT_NS (10 * NS_PER_SEC)
/* After a registration a kubelet that works connects within this time. */
#define WATCH_TIMEOUT_NS (10 * NS_PER_SEC)

/* A kubelet that watches. */
struct plugin_watcher {
    struct plugin_watcher *prev;
    struct plugin_watcher *next;
    struct device_plugin *plugin;
    struct grpc_call *call;
};

struct device_plugin {
    struct device_plugin *prev;
    struct device_plugin *next;
    struct device_plugins *all;
    struct plugin_resource resource; /* its name is here as long as the plugin */
    char *endpoint;                  /* name of the socket */
    char *socket;
    struct grpc_server *server; /* NULL: the socket cannot be made now */
    struct grpc_request *request;
    struct file_mark kubelet; /* the socket of the kubelet that was told last */
    int64_t told_ns;          /* monotonic: the last registration; 0: none */
    struct retry retry;
    struct plugin_watcher *watchers;
};

struct device_plugins {
    struct device_plugins_options o;
    char *dir;
    char *kubelet_socket;
    struct kubelet_dir *watch;
    struct loop_timer *timer; /* the next try of a plugin */
    struct device_plugin *list;
};

/* ---- the list of devices ---- */

static V1beta1__TopologyInfo *topology_new(struct arena *a, int numa_node)
{
    V1beta1__TopologyInfo *info = arena_alloc(a, sizeof(*info));
    V1beta1__NUMANode *node = arena_alloc(a, sizeof(*node));

    v1beta1__topology_info__init(info);
    v1beta1__numanode__init(node);
    node->id = numa_node;
    info->n_nodes = 1;
    info->nodes = arena_alloc(a, sizeof(*info->nodes));
    info->nodes[0] = node;
    return info;
}

static V1beta1__Device *device_message(struct arena *a, const struct plugin_device *d)
{
    V1beta1__Device *m = arena_alloc(a, sizeof(*m));

    v1beta1__device__init(m);
    m->id = arena_strdup(a, d->id);
    m->health = arena_strdup(a, d->is_healthy ? "Healthy" : "Unhealthy");
    if (d->numa_node >= 0)
        m->topology = topology_new(a, d->numa_node);
    return m;
}

static struct buf plugin_list(const struct device_plugin *p)
{
    AUTO(arena_freep) struct arena *a = arena_new();
    V1beta1__ListAndWatchResponse list = V1BETA1__LIST_AND_WATCH_RESPONSE__INIT;

    list.devices = arena_alloc(a, (p->resource.devices.n + 1) * sizeof(*list.devices));
    VEC_EACH (&p->resource.devices, d)
        list.devices[list.n_devices++] = device_message(a, d);
    return grpc_message_pack(&list.base);
}

static void plugin_tell(struct device_plugin *p)
{
    AUTO(buf_done) struct buf list = plugin_list(p);
    struct plugin_watcher *w = NULL;

    LIST_EACH (p->watchers, w)
        grpc_call_send(w->call, buf_str(&list));
}

static void on_watcher_gone(void *arg, struct grpc_call *call)
{
    struct plugin_watcher *w = arg;
    struct device_plugin *p = w->plugin;

    (void)call;
    LIST_REMOVE(p->watchers, w);
    free(w);
    LOG(DEBUG, "kubelet watches no more", S("resource", p->resource.name));
    loop_timer_set(p->all->timer, NS_PER_SEC);
}

/* ---- methods ---- */

static void on_options(void *arg, struct grpc_call *call, struct str message)
{
    V1beta1__DevicePluginOptions options = V1BETA1__DEVICE_PLUGIN_OPTIONS__INIT;

    (void)arg;
    (void)message;
    options.get_preferred_allocation_available = true;
    grpc_call_answer(call, &options.base);
    grpc_call_end(call, NULL);
}

static void on_list_and_watch(void *arg, struct grpc_call *call, struct str message)
{
    struct device_plugin *p = arg;
    struct plugin_watcher *w = mem_alloc(sizeof(*w));
    AUTO(buf_done) struct buf list = plugin_list(p);

    (void)message;
    *w = (struct plugin_watcher){.plugin = p, .call = call};
    LIST_ADD(p->watchers, w);
    grpc_call_on_gone(call, on_watcher_gone, w);
    grpc_call_send(call, buf_str(&list));
    p->retry = (struct retry){0};
    LOG(INFO, "kubelet watches the devices", S("resource", p->resource.name),
        U("devices", p->resource.devices.n));
    if (p->all->o.on_watched)
        p->all->o.on_watched(p->all->o.arg, p->resource.name);
}

static struct err *preferred_make(struct arena *a, const struct plugin_resource *r,
                                  const V1beta1__ContainerPreferredAllocationRequest *q,
                                  V1beta1__ContainerPreferredAllocationResponse **ret)
{
    V1beta1__ContainerPreferredAllocationResponse *answer = arena_alloc(a, sizeof(*answer));
    struct plugin_choice choice = {.resource = r,
                                   .available = q->available_deviceids,
                                   .n = q->n_available_deviceids,
                                   .must = q->must_include_deviceids,
                                   .n_must = q->n_must_include_deviceids};
    const struct plugin_device **chosen = NULL;

    if (q->allocation_size < 0 || (size_t)q->allocation_size > choice.n)
        return err_new(ERR_INVALID, "%d devices of %zu available: want no more than these",
                       q->allocation_size, choice.n);
    choice.size = (size_t)q->allocation_size;
    chosen = arena_alloc(a, (choice.size + 1) * sizeof(struct plugin_device *));
    TRY(plugin_choose(&choice, chosen));
    v1beta1__container_preferred_allocation_response__init(answer);
    answer->n_deviceids = choice.size;
    answer->deviceids = arena_alloc(a, (choice.size + 1) * sizeof(*answer->deviceids));
    for (size_t i = 0; i < choice.size; i++)
        answer->deviceids[i] = arena_strdup(a, chosen[i]->id);
    *ret = answer;
    return NULL;
}

static struct err *malformed(const char *what)
{
    return err_new(ERR_INVALID, "malformed %s", what);
}

static void on_preferred(void *arg, struct grpc_call *call, struct str message)
{
    struct device_plugin *p = arg;
    AUTO(arena_freep) struct arena *a = arena_new();
    V1beta1__PreferredAllocationResponse answer = V1BETA1__PREFERRED_ALLOCATION_RESPONSE__INIT;
    V1beta1__PreferredAllocationRequest *q = v1beta1__preferred_allocation_request__unpack(
        NULL, message.size, (const uint8_t *)message.at);
    struct err *e = q ? NULL : malformed("PreferredAllocationRequest");

    if (q)
        answer.container_responses =
            arena_alloc(a, (q->n_container_requests + 1) * sizeof(*answer.container_responses));
    for (size_t i = 0; q && !e && i < q->n_container_requests; i++)
        e = preferred_make(a, &p->resource, q->container_requests[i],
                           &answer.container_responses[answer.n_container_responses++]);
    if (!e)
        grpc_call_answer(call, &answer.base);
    if (q)
        v1beta1__preferred_allocation_request__free_unpacked(q, NULL);
    grpc_call_end(call, e);
}

static void on_allocate(void *arg, struct grpc_call *call, struct str message)
{
    struct device_plugin *p = arg;
    AUTO(arena_freep) struct arena *a = arena_new();
    V1beta1__AllocateResponse answer = V1BETA1__ALLOCATE_RESPONSE__INIT;
    V1beta1__AllocateRequest *q =
        v1beta1__allocate_request__unpack(NULL, message.size, (const uint8_t *)message.at);
    struct err *e = q ? NULL : malformed("AllocateRequest");

    if (q)
        answer.container_responses =
            arena_alloc(a, (q->n_container_requests + 1) * sizeof(*answer.container_responses));
    for (size_t i = 0; q && !e && i < q->n_container_requests; i++)
        e = plugin_answer(a, &p->resource, &p->all->o.settings, q->container_requests[i],
                          &answer.container_responses[answer.n_container_responses++]);
    if (e)
        LOG(WARN, "allocation refused", S("resource", p->resource.name), E(e));
    else
        grpc_call_answer(call, &answer.base);
    if (q)
        v1beta1__allocate_request__free_unpacked(q, NULL);
    grpc_call_end(call, e);
}

static void on_pre_start(void *arg, struct grpc_call *call, struct str message)
{
    V1beta1__Empty empty = V1BETA1__EMPTY__INIT;

    (void)arg;
    (void)message;
    grpc_call_answer(call, &empty.base);
    grpc_call_end(call, NULL);
}

static const struct grpc_method methods[] = {
    {"/v1beta1.DevicePlugin/GetDevicePluginOptions", on_options},
    {"/v1beta1.DevicePlugin/ListAndWatch", on_list_and_watch},
    {"/v1beta1.DevicePlugin/GetPreferredAllocation", on_preferred},
    {"/v1beta1.DevicePlugin/Allocate", on_allocate},
    {"/v1beta1.DevicePlugin/PreStartContainer", on_pre_start},
};

/* ---- registration ---- */

static void on_registered(void *arg, const struct err *e, struct str message)
{
    struct device_plugin *p = arg;
    int64_t now_ns = loop_now_ns(p->all->o.loop);

    (void)message;
    p->request = NULL;
    if (!e) {
        LOG(INFO, "registered at the kubelet", S("resource", p->resource.name));
        p->retry = (struct retry){0};
        loop_timer_set(p->all->timer, WATCH_TIMEOUT_NS);
        return;
    }
    p->told_ns = 0;
    LOG(WARN, "kubelet refuses the registration", S("resource", p->resource.name), E(e));
    loop_timer_set(p->all->timer, retry_failed(&p->retry, now_ns));
}

static void plugin_register(struct device_plugin *p, const struct file_mark *kubelet)
{
    V1beta1__RegisterRequest request;
    V1beta1__DevicePluginOptions options = V1BETA1__DEVICE_PLUGIN_OPTIONS__INIT;
    AUTO_FREE char *version = mem_strdup("v1beta1");
    AUTO(buf_done) struct buf message = {0};

    v1beta1__register_request__init(&request);
    options.get_preferred_allocation_available = true;
    request.version = version;
    request.endpoint = p->endpoint;
    request.resource_name = p->resource.name;
    request.options = &options;
    message = grpc_message_pack(&request.base);
    p->kubelet = *kubelet;
    p->told_ns = loop_now_ns(p->all->o.loop);
    p->request =
        grpc_request_new(&(struct grpc_request_options){.loop = p->all->o.loop,
                                                        .socket = p->all->kubelet_socket,
                                                        .path = "/v1beta1.Registration/Register",
                                                        .message = buf_str(&message),
                                                        .timeout_ns = REGISTER_TIMEOUT_NS,
                                                        .done = on_registered,
                                                        .arg = p});
}

static struct err *plugin_serve(struct device_plugin *p)
{
    const struct grpc_server_options o = {.loop = p->all->o.loop,
                                          .socket = p->socket,
                                          .methods = methods,
                                          .n_methods = COUNT(methods),
                                          .arg = p};

    return grpc_server_new(&o, &p->server);
}

/* Is the kubelet to be told? It knows the plugin while it watches it, or has just been told. */
static bool plugin_is_unknown(const struct device_plugin *p, const struct file_mark *kubelet)
{
    int64_t now_ns = loop_now_ns(p->all->o.loop);

    if (p->request || retry_left_ns(&p->retry, now_ns) > 0)
        return false;
    if (p->told_ns == 0 || p->kubelet.inode != kubelet->inode ||
        p->kubelet.changed_ns != kubelet->changed_ns)
        return true;
    return !p->watchers && now_ns - p->told_ns >= WATCH_TIMEOUT_NS;
}

/* Brings the plugin's socket and its registration to where they should be. */
static void plugin_check(struct device_plugin *p)
{
    struct file_mark kubelet = file_mark_of(p->all->kubelet_socket);
    AUTO(err_freep) struct err *e = NULL;

    if (kubelet.inode == 0)
        return; /* no kubelet runs */
    if (!p->server || !grpc_server_is_there(p->server)) {
        grpc_server_free(TAKE(p->server));
        p->told_ns = 0;
        e = plugin_serve(p);
    }
    if (e)
        LOG(WARN, "device plugin cannot listen", S("socket", p->socket), E(e));
    else if (plugin_is_unknown(p, &kubelet))
        plugin_register(p, &kubelet);
}

static void on_kubelet_dir(void *arg)
{
    struct device_plugins *all = arg;
    struct device_plugin *p = NULL;

    LIST_EACH (all->list, p)
        plugin_check(p);
}

/* ---- plugins ---- */

static struct device_plugin *plugin_new(struct device_plugins *all, const char *name)
{
    struct device_plugin *p = mem_alloc(sizeof(*p));

    *p = (struct device_plugin){.all = all,
                                .resource = {.name = mem_strdup(name)},
                                .endpoint = mem_format("mete-%s", name)};
    for (char *at = p->endpoint; *at; at++)
        if (*at == '/')
            *at = '-';
    p->socket = mem_format("%s/%s", all->dir, p->endpoint);
    LIST_ADD(all->list, p);
    return p;
}

static void plugin_free(struct device_plugin *p)
{
    LIST_REMOVE(p->all->list, p);
    grpc_request_free(p->request);
    grpc_server_free(p->server); /* ends the watchers */
    free(p->resource.name);
    vec_done(&p->resource.devices);
    free(p->endpoint);
    free(p->socket);
    free(p);
}

static struct device_plugin *plugin_find(struct device_plugins *all, const char *name)
{
    struct device_plugin *p = NULL;

    LIST_EACH (all->list, p)
        if (text_equal(p->resource.name, name))
            return p;
    return NULL;
}

/* Takes the devices of `fresh`. */
static void plugin_take(struct device_plugin *p, struct plugin_resource *fresh)
{
    if (plugin_resource_equal(&p->resource, fresh))
        return;
    vec_done(&p->resource.devices);
    p->resource.devices.at = fresh->devices.at;
    p->resource.devices.n = fresh->devices.n;
    p->resource.devices.room = fresh->devices.room;
    p->resource.is_single = fresh->is_single;
    fresh->devices.at = NULL;
    fresh->devices.n = 0;
    fresh->devices.room = 0;
    plugin_tell(p);
}

void device_plugins_set(struct device_plugins *all, const struct plugin_settings *settings)
{
    all->o.settings = *settings;
}

void device_plugins_update(struct device_plugins *all, const struct gpu *gpus, size_t n)
{
    struct plugin_resources fresh = {0};
    struct device_plugin *p = NULL;

    plugin_resources_make(gpus, n, &fresh);
    VEC_EACH (&fresh.list, r)
        if (!plugin_find(all, r->name))
            (void)plugin_new(all, r->name);
    LIST_EACH (all->list, p) {
        struct plugin_resource none = {0};
        struct plugin_resource *r = NULL;

        VEC_EACH (&fresh.list, one)
            if (text_equal(one->name, p->resource.name))
                r = one;
        plugin_take(p, r ? r : &none);
        plugin_check(p);
    }
    plugin_resources_done(&fresh);
}

/* Two plugins would give each gpu twice: the sockets of NVIDIA's are "nvidia-gpu.sock",
 * "nvidia-mig-1g.10gb.sock", ... */
static struct err *check_others(const char *dir)
{
    char **names = NULL;
    size_t n = 0;
    struct err *e = dir_list(dir, &names, &n);

    if (e && err_code(e) == ERR_NOT_FOUND) {
        err_free(e);
        return NULL;
    }
    for (size_t i = 0; i < n && !e; i++) {
        AUTO_FREE char *path = mem_format("%s/%s", dir, names[i]);

        if (text_starts_with(names[i], "nvidia-") && text_ends_with(names[i], ".sock") &&
            grpc_server_answers(path))
            e = err_new(ERR_CONFLICT,
                        "%s: NVIDIA's device plugin serves this kubelet: remove it first", path);
    }
    names_free(names, n);
    return e;
}

struct err *device_plugins_new(const struct device_plugins_options *o, struct device_plugins **ret)
{
    struct device_plugins *all = NULL;
    struct err *e;

    TRY(check_others(o->dir));
    all = mem_alloc(sizeof(*all));

    *all = (struct device_plugins){.o = *o,
                                   .dir = mem_strdup(o->dir),
                                   .kubelet_socket = mem_format("%s/" KUBELET_SOCKET, o->dir)};
    all->timer = loop_timer_new(o->loop, on_kubelet_dir, all);
    e = kubelet_dir_new(o->loop, o->dir, on_kubelet_dir, all, &all->watch);
    if (e) {
        device_plugins_free(all);
        return e;
    }
    *ret = all;
    return NULL;
}

void device_plugins_free(struct device_plugins *all)
{
    if (!all)
        return;
    while (all->list)
        plugin_free(all->list); /* NOLINT(clang-analyzer-unix.Malloc): utlist */
    kubelet_dir_free(all->watch);
    loop_timer_free(all->timer);
    free(all->dir);
    free(all->kubelet_socket);
    free(all);
}
