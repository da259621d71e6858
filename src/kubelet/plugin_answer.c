/* plugin_answer.c - what a container gets with its devices */

#include "kubelet/plugin_answer.h"

#include <stdio.h>

enum {
    DEVICES_MAX = 1024
};

#define MOUNTS_DIR "/var/run/nvidia-container-devices"

static const struct {
    const char *name;
    enum plugin_strategy strategy;
} strategies[] = {{"envvar", PLUGIN_ENVVAR},
                  {"volume-mounts", PLUGIN_VOLUME_MOUNTS},
                  {"cdi-annotations", PLUGIN_CDI_ANNOTATIONS},
                  {"cdi-cri", PLUGIN_CDI_CRI}};

/* ---- settings ---- */

static struct err *strategy_add(struct str text, unsigned *ret)
{
    for (size_t i = 0; i < COUNT(strategies); i++) {
        if (!str_equal(text, str_of(strategies[i].name)))
            continue;
        *ret |= strategies[i].strategy;
        return NULL;
    }
    return err_new(ERR_INVALID,
                   "flags.plugin.deviceListStrategy: \"%.*s\": want envvar, volume-mounts, "
                   "cdi-annotations or cdi-cri",
                   text.size < 64 ? (int)text.size : 64, text.at);
}

static struct err *strategies_parse(const json_t *value, unsigned *ret)
{
    unsigned found = 0;

    if (json_is_string(value)) {
        struct str rest = str_of(json_string_value(value));

        while (rest.at)
            TRY(strategy_add(str_cut(&rest, ','), &found));
    }
    for (size_t i = 0; i < json_array_size(value); i++)
        TRY(strategy_add(str_of(text_or_empty(json_string_value(json_array_get(value, i)))),
                         &found));
    if (found == 0)
        return err_new(ERR_INVALID,
                       "flags.plugin.deviceListStrategy: want a text or a list of texts");
    *ret = found;
    return NULL;
}

struct err *plugin_settings_parse(const json_t *document, json_t *warnings,
                                  struct plugin_settings *ret)
{
    const json_t *plugin = json_at(document, "flags", "plugin", NULL);
    struct plugin_settings s = {.strategies = PLUGIN_CDI_CRI};
    const char *key = NULL;
    json_t *value = NULL;

    json_object_foreach ((json_t *)(uintptr_t)plugin, key, value) {
        const char *text = json_string_value(value);

        if (json_is_null(value))
            continue;
        if (text_equal(key, "deviceListStrategy")) {
            TRY(strategies_parse(value, &s.strategies));
        } else if (text_equal(key, "deviceIDStrategy")) {
            if (!text_equal(text, "uuid") && !text_equal(text, "index"))
                return err_new(ERR_INVALID, "flags.plugin.deviceIDStrategy: want uuid or index");
            s.is_by_index = text_equal(text, "index");
        } else {
            AUTO_FREE char *warning = mem_format("flags.plugin.%.128s: not used by mete", key);

            (void)json_array_append_new(warnings, json_string(warning));
        }
    }
    *ret = s;
    return NULL;
}

/* ---- answers ---- */

struct answering {
    struct arena *arena;
    const struct plugin_settings *settings;
    const struct plugin_device **devices; /* one of each gpu or slice */
    size_t n;
    V1beta1__ContainerAllocateResponse *answer;
};

static V1beta1__Pair **pair_list(struct arena *a, const char *key, char *value)
{
    V1beta1__Pair **list = arena_alloc(a, sizeof(*list));
    V1beta1__Pair *pair = arena_alloc(a, sizeof(*pair));

    v1beta1__pair__init(pair);
    pair->key = arena_strdup(a, key);
    pair->value = value;
    list[0] = pair;
    return list;
}

static const char *visible_name(const struct answering *x, const struct plugin_device *d)
{
    return x->settings->is_by_index && !text_starts_with(d->uuid, "MIG-")
               ? arena_format(x->arena, "%d", d->gpu)
               : d->uuid;
}

static void put_visible(struct answering *x, char *value)
{
    x->answer->n_envs = 1;
    x->answer->envs = pair_list(x->arena, "NVIDIA_VISIBLE_DEVICES", value);
}

static void put_names(struct answering *x)
{
    AUTO(buf_done) struct buf text = {0};

    for (size_t i = 0; i < x->n; i++)
        buf_printf(&text, "%s%s", i > 0 ? "," : "", visible_name(x, x->devices[i]));
    put_visible(x, arena_strndup(x->arena, text.at, text.size));
}

/* The variable names the directory: the runtime then takes the devices from the mounts alone. */
static void put_volume_mounts(struct answering *x)
{
    put_visible(x, arena_strdup(x->arena, MOUNTS_DIR));
    x->answer->n_mounts = x->n;
    x->answer->mounts = arena_alloc(x->arena, x->n * sizeof(*x->answer->mounts));
    for (size_t i = 0; i < x->n; i++) {
        V1beta1__Mount *m = arena_alloc(x->arena, sizeof(*m));

        v1beta1__mount__init(m);
        m->host_path = arena_strdup(x->arena, "/dev/null");
        m->container_path =
            arena_format(x->arena, MOUNTS_DIR "/%s", visible_name(x, x->devices[i]));
        x->answer->mounts[i] = m;
    }
}

static char *cdi_name(const struct answering *x, const struct plugin_device *d)
{
    return arena_format(x->arena, PLUGIN_CDI_KIND "=%s", d->uuid);
}

static void put_cdi_annotation(struct answering *x)
{
    AUTO(buf_done) struct buf text = {0};
    char *key = arena_format(x->arena, "cdi.k8s.io/mete_%s", x->devices[0]->uuid);

    for (size_t i = 0; i < x->n; i++)
        buf_printf(&text, "%s%s", i > 0 ? "," : "", cdi_name(x, x->devices[i]));
    x->answer->n_annotations = 1;
    x->answer->annotations = pair_list(x->arena, key, arena_strndup(x->arena, text.at, text.size));
}

static void put_cdi_devices(struct answering *x)
{
    x->answer->n_cdi_devices = x->n;
    x->answer->cdi_devices = arena_alloc(x->arena, x->n * sizeof(*x->answer->cdi_devices));
    for (size_t i = 0; i < x->n; i++) {
        V1beta1__CDIDevice *d = arena_alloc(x->arena, sizeof(*d));

        v1beta1__cdidevice__init(d);
        d->name = cdi_name(x, x->devices[i]);
        x->answer->cdi_devices[i] = d;
    }
}

/* Device nodes of other vendors' gpus, which need no files of a driver. */
static void put_nodes(struct answering *x)
{
    V1beta1__DeviceSpec **list = arena_alloc(x->arena, x->n * GPU_NODES_MAX * sizeof(*list));
    size_t n = 0;

    for (size_t i = 0; i < x->n; i++) {
        for (size_t k = 0; k < x->devices[i]->n_nodes; k++) {
            V1beta1__DeviceSpec *d = arena_alloc(x->arena, sizeof(*d));

            v1beta1__device_spec__init(d);
            d->host_path = arena_strdup(x->arena, x->devices[i]->nodes[k].path);
            d->container_path = d->host_path;
            d->permissions = arena_strdup(x->arena, "rw");
            list[n++] = d;
        }
    }
    x->answer->n_devices = n;
    x->answer->devices = list;
}

static bool answering_has(const struct answering *x, const char *uuid)
{
    for (size_t i = 0; i < x->n; i++)
        if (text_equal(x->devices[i]->uuid, uuid))
            return true;
    return false;
}

static struct err *take_devices(struct answering *x, const struct plugin_resource *r,
                                const V1beta1__ContainerAllocateRequest *request)
{
    for (size_t i = 0; i < request->n_devices_ids; i++) {
        const struct plugin_device *d = plugin_device_find(r, request->devices_ids[i]);

        if (!d)
            return err_new(ERR_INVALID, "%s has no device \"%.128s\"", r->name,
                           request->devices_ids[i]);
        if (!d->is_healthy)
            return err_new(ERR_UNAVAILABLE, "device %s of %s is not healthy", d->id, r->name);
        if (!answering_has(x, d->uuid))
            x->devices[x->n++] = d;
    }
    return NULL;
}

struct err *plugin_answer(struct arena *a, const struct plugin_resource *r,
                          const struct plugin_settings *settings,
                          const V1beta1__ContainerAllocateRequest *request,
                          V1beta1__ContainerAllocateResponse **ret)
{
    struct answering x = {.arena = a, .settings = settings};
    size_t n = request->n_devices_ids;

    if (n == 0 || n > DEVICES_MAX)
        return err_new(ERR_INVALID, "%zu devices: want 1 to %d", n, DEVICES_MAX);
    if (r->is_single && n > 1)
        return err_new(ERR_UNAVAILABLE,
                       "%zu replicas of %s: the configuration allows one for a container "
                       "(failRequestsGreaterThanOne)",
                       n, r->name);
    x.devices = arena_alloc(a, n * sizeof(*x.devices));
    x.answer = arena_alloc(a, sizeof(*x.answer));
    v1beta1__container_allocate_response__init(x.answer);
    TRY(take_devices(&x, r, request));
    if (x.devices[0]->n_nodes > 0) {
        put_nodes(&x);
    } else {
        if (settings->strategies & PLUGIN_ENVVAR)
            put_names(&x);
        if (settings->strategies & PLUGIN_VOLUME_MOUNTS)
            put_volume_mounts(&x);
        if (settings->strategies & PLUGIN_CDI_ANNOTATIONS)
            put_cdi_annotation(&x);
        if (settings->strategies & PLUGIN_CDI_CRI)
            put_cdi_devices(&x);
    }
    *ret = x.answer;
    return NULL;
}
