/* sharing_config.c - the configuration of NVIDIA's device plugin */

#include "gpu/sharing_config.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/num.h"
#include "model/device.h"
#include "model/resource.h"

enum {
    RESOURCES_MAX = 64
};

static const char *const strategies[] = {"", "none", "single", "mixed"};

bool mig_strategy_parse(const char *text, enum mig_strategy *ret)
{
    for (int i = MIG_STRATEGY_NONE; i <= MIG_STRATEGY_MIXED; i++) {
        if (!text_equal(text, strategies[i]))
            continue;
        *ret = (enum mig_strategy)i;
        return true;
    }
    return false;
}

const char *mig_strategy_text(enum mig_strategy s)
{
    return strategies[s == MIG_STRATEGY_UNSET ? MIG_STRATEGY_MIXED : s];
}

/* The text of a value in a message. The caller frees it. */
static char *shown(const json_t *value)
{
    char *text = value ? json_format(value) : mem_strdup("nothing");

    if (strlen(text) > 64)
        memcpy(text + 60, "...", 4);
    return text;
}

static struct err *wrong(const char *path, const json_t *value, const char *want)
{
    AUTO_FREE char *text = shown(value);

    return err_new(ERR_INVALID, "%s: %s: want %s", path, text, want);
}

static void warn(json_t *warnings, const char *path, const char *key)
{
    AUTO_FREE char *text = mem_format("%s%s%.128s: not used by mete", path, *path ? "." : "", key);

    if (warnings)
        (void)json_array_append_new(warnings, json_string(text)); /* the key is UTF-8 */
}

/* Warns of the members of `object` that are not in `used`; null and absent mean nothing. */
static void warn_others(json_t *warnings, const char *path, const json_t *object,
                        const char *const *used)
{
    const char *key;
    json_t *value;

    json_object_foreach ((json_t *)(uintptr_t)object, key, value) {
        size_t i = 0;

        while (used[i] && !text_equal(used[i], key))
            i++;
        if (!used[i] && !json_is_null(value))
            warn(warnings, path, key);
    }
}

/* `*ret` is the member, an object, or NULL if it is absent or null. */
static struct err *object_member(const json_t *from, const char *key, const char *path,
                                 const json_t **ret)
{
    const json_t *value = json_object_get(from, key);

    if (value && !json_is_null(value) && !json_is_object(value))
        return wrong(path, value, "an object");
    *ret = json_is_object(value) ? value : NULL;
    return NULL;
}

static struct err *bool_member(const json_t *from, const char *key, const char *path, bool *ret)
{
    const json_t *value = json_object_get(from, key);

    if (value && !json_is_null(value) && !json_is_boolean(value))
        return wrong(path, value, "true or false");
    *ret = json_is_true(value);
    return NULL;
}

static struct err *read_flags(const json_t *document, json_t *warnings, struct sharing_config *c)
{
    static const char *const used[] = {"migStrategy", NULL};
    const json_t *flags = NULL;
    const json_t *strategy;

    TRY(object_member(document, "flags", "flags", &flags));
    warn_others(warnings, "flags", flags, used);
    strategy = json_object_get(flags, "migStrategy");
    if (!strategy || json_is_null(strategy))
        return NULL;
    if (!json_is_string(strategy) || !mig_strategy_parse(json_string_value(strategy), &c->strategy))
        return wrong("flags.migStrategy", strategy, "none, single or mixed");
    return NULL;
}

/* Names of resources may leave out "nvidia.com/". */
static bool is_resource(const char *text, const char *resource)
{
    const char *slash = strchr(resource, '/');

    return text_equal(text, resource) || (slash && text_equal(text, slash + 1));
}

static struct err *read_device(const json_t *item, const char *path, char ret[GPU_TEXT_SIZE])
{
    const char *text = json_string_value(item);
    int64_t index = json_is_integer(item) ? json_integer_value(item) : -1;
    AUTO(err_freep)
    struct err *no_index =
        text ? num_parse_int64(str_of(text), 0, SHARING_DEVICES_MAX - 1, &index) : NULL;

    if (!no_index && index >= 0 && index < SHARING_DEVICES_MAX) {
        (void)snprintf(ret, GPU_TEXT_SIZE, "%" PRId64, index);
        return NULL;
    }
    if (!text || !text_starts_with(text, "GPU-") || strlen(text) >= GPU_TEXT_SIZE)
        return wrong(path, item, "the index or the UUID of a gpu");
    (void)snprintf(ret, GPU_TEXT_SIZE, "%s", text);
    return NULL;
}

static struct err *read_devices(const json_t *devices, const char *path, struct sharing_config *c)
{
    if (!devices || json_is_null(devices) || text_equal(json_string_value(devices), "all"))
        return NULL;
    if (json_is_integer(devices)) {
        json_int_t n = json_integer_value(devices);

        if (n < 1 || n > SHARING_DEVICES_MAX)
            return wrong(path, devices, "a number from 1 to 64");
        c->count = (unsigned)n;
        return NULL;
    }
    if (!json_is_array(devices) || json_array_size(devices) == 0 ||
        json_array_size(devices) > SHARING_DEVICES_MAX)
        return wrong(path, devices, "all, a number, or a list of 1 to 64 gpus");
    for (size_t i = 0; i < json_array_size(devices); i++) {
        AUTO_FREE char *at = mem_format("%s[%zu]", path, i);

        TRY(read_device(json_array_get(devices, i), at, c->devices[i]));
        c->n_devices++;
    }
    return NULL;
}

static struct err *read_rename(const json_t *rename, const char *path, struct sharing_config *c)
{
    const char *text = json_string_value(rename);

    if (!rename || json_is_null(rename) || text_equal(text, ""))
        return NULL;
    if (!text || !is_resource(text, GPU_SHARED_RESOURCE))
        return wrong(path, rename, "nvidia.com/gpu.shared; other names are not supported by mete");
    c->is_renamed = true;
    return NULL;
}

static struct err *read_resource(const json_t *resource, const char *path, json_t *warnings,
                                 struct sharing_config *c)
{
    static const char *const used[] = {"name", "rename", "replicas", "devices", NULL};
    AUTO_FREE char *at_name = mem_format("%s.name", path);
    AUTO_FREE char *at_rename = mem_format("%s.rename", path);
    AUTO_FREE char *at_replicas = mem_format("%s.replicas", path);
    AUTO_FREE char *at_devices = mem_format("%s.devices", path);
    const json_t *replicas = json_object_get(resource, "replicas");
    const char *name = json_text(resource, "name");

    if (!json_is_object(resource))
        return wrong(path, resource, "an object with name and replicas");
    warn_others(warnings, path, resource, used);
    if (!name || !is_resource(name, GPU_RESOURCE))
        return wrong(at_name, json_object_get(resource, "name"),
                     "nvidia.com/gpu; replicas of other resources are not supported by mete");
    if (c->replicas > 0)
        return wrong(at_name, json_object_get(resource, "name"), "each resource once");
    if (!json_is_integer(replicas) || json_integer_value(replicas) < 2 ||
        json_integer_value(replicas) > DEVICE_REPLICAS_MAX)
        return wrong(at_replicas, replicas, "a number from 2 to 256");
    c->replicas = (unsigned)json_integer_value(replicas);
    TRY(read_rename(json_object_get(resource, "rename"), at_rename, c));
    return read_devices(json_object_get(resource, "devices"), at_devices, c);
}

/* Reads sharing.timeSlicing or sharing.mps. */
static struct err *read_replication(const json_t *slicing, const char *path, json_t *warnings,
                                    struct sharing_config *c)
{
    static const char *const used[] = {"renameByDefault", "failRequestsGreaterThanOne", "resources",
                                       NULL};
    const json_t *resources = json_object_get(slicing, "resources");
    AUTO_FREE char *at_rename = mem_format("%s.renameByDefault", path);
    AUTO_FREE char *at_single = mem_format("%s.failRequestsGreaterThanOne", path);
    AUTO_FREE char *at_resources = mem_format("%s.resources", path);
    bool is_renamed = false;

    warn_others(warnings, path, slicing, used);
    TRY(bool_member(slicing, "renameByDefault", at_rename, &is_renamed));
    TRY(bool_member(slicing, "failRequestsGreaterThanOne", at_single, &c->is_single));
    if (!json_is_array(resources) || json_array_size(resources) == 0 ||
        json_array_size(resources) > RESOURCES_MAX)
        return wrong(at_resources, resources, "a list with a resource");
    for (size_t i = 0; i < json_array_size(resources); i++) {
        AUTO_FREE char *at = mem_format("%s[%zu]", at_resources, i);

        TRY(read_resource(json_array_get(resources, i), at, warnings, c));
    }
    c->is_renamed = c->is_renamed || is_renamed;
    return NULL;
}

static struct err *read_sharing(const json_t *document, json_t *warnings, struct sharing_config *c)
{
    static const char *const used[] = {"timeSlicing", "mps", NULL};
    const json_t *sharing = NULL;
    const json_t *slicing = NULL;
    const json_t *mps = NULL;

    TRY(object_member(document, "sharing", "sharing", &sharing));
    TRY(object_member(sharing, "timeSlicing", "sharing.timeSlicing", &slicing));
    TRY(object_member(sharing, "mps", "sharing.mps", &mps));
    warn_others(warnings, "sharing", sharing, used);
    c->is_mps = mps && json_object_size(mps) > 0;
    if (c->is_mps && slicing && json_object_size(slicing) > 0)
        return err_new(ERR_INVALID, "sharing.mps: timeSlicing is set, too: want one of them");
    if (c->is_mps) {
        TRY(read_replication(mps, "sharing.mps", warnings, c));
        c->is_single = true;
        return NULL;
    }
    return slicing && json_object_size(slicing) > 0
               ? read_replication(slicing, "sharing.timeSlicing", warnings, c)
               : NULL;
}

/* The resources of patterns: all gpus have their usual names. */
static struct err *check_names(const json_t *document, json_t *warnings)
{
    static const char *const used[] = {"gpus", "mig", NULL};
    const json_t *resources = NULL;
    const json_t *gpus;
    const json_t *migs;

    TRY(object_member(document, "resources", "resources", &resources));
    warn_others(warnings, "resources", resources, used);
    gpus = json_object_get(resources, "gpus");
    migs = json_object_get(resources, "mig");
    for (size_t i = 0; i < json_array_size(gpus); i++) {
        const char *name = json_text(json_array_get(gpus, i), "name");
        AUTO_FREE char *at = mem_format("resources.gpus[%zu].name", i);

        if (!name || !is_resource(name, GPU_RESOURCE))
            return wrong(at, json_object_get(json_array_get(gpus, i), "name"),
                         "nvidia.com/gpu; other names are not supported by mete");
    }
    if (json_array_size(migs) > 0)
        warn(warnings, "resources", "mig");
    return NULL;
}

struct err *sharing_config_parse(const json_t *document, json_t *warnings,
                                 struct sharing_config *ret)
{
    static const char *const used[] = {"version", "flags", "resources", "sharing", NULL};
    AUTO_FREE struct sharing_config *c = mem_alloc(sizeof(*c));

    if (!json_is_object(document))
        return err_new(ERR_INVALID, "want an object with version: v1");
    if (!text_equal(json_text(document, "version"), "v1"))
        return wrong("version", json_object_get(document, "version"), "v1");
    warn_others(warnings, "", document, used);
    TRY(read_flags(document, warnings, c));
    TRY(check_names(document, warnings));
    TRY(read_sharing(document, warnings, c));
    *ret = *c;
    return NULL;
}

bool sharing_config_has(const struct sharing_config *c, const struct gpu *g)
{
    char index[16];

    if (c->replicas == 0 || g->vendor != GPU_NVIDIA)
        return false;
    if (c->count > 0)
        return g->index >= 0 && (unsigned)g->index < c->count;
    (void)snprintf(index, sizeof(index), "%d", g->index);
    for (size_t i = 0; i < c->n_devices; i++)
        if (text_equal(c->devices[i], index) || text_equal(c->devices[i], g->uuid))
            return true;
    return c->n_devices == 0;
}
