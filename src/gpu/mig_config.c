/* mig_config.c - configurations of mig-parted */

#include "gpu/mig_config.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/num.h"
#include "model/mig.h"

static struct err *mig_wrong(const char *path, const json_t *value, const char *want)
{
    AUTO_FREE char *text = value ? json_format(value) : mem_strdup("nothing");

    return err_new(ERR_INVALID, "%s: %.64s: want %s", path, text, want);
}

static struct err *read_indices(const json_t *devices, const char *path, struct mig_rule *r)
{
    r->is_all = text_equal(json_string_value(devices), "all");
    if (r->is_all)
        return NULL;
    if (!json_is_array(devices))
        return mig_wrong(path, devices, "all, or a list of indices");
    for (size_t i = 0; i < json_array_size(devices); i++) {
        const json_t *index = json_array_get(devices, i);

        if (!json_is_integer(index) || json_integer_value(index) < 0 ||
            json_integer_value(index) >= MIG_INDICES_MAX)
            return mig_wrong(path, index, "indices from 0 to 63");
        r->indices |= UINT64_C(1) << json_integer_value(index);
    }
    return NULL;
}

static struct err *add_filter(const json_t *filter, const char *path, struct mig_rule *r)
{
    const char *text = json_string_value(filter);
    uint64_t id = 0;
    AUTO(err_freep)
    struct err *e = text && (text_starts_with(text, "0x") || text_starts_with(text, "0X"))
                        ? num_parse_hex(str_of(text + 2), &id)
                        : err_new(ERR_INVALID, "no hexadecimal number");

    if (e || id > UINT32_MAX || r->n_filters == MIG_FILTERS_MAX)
        return mig_wrong(path, filter, "at most 32 PCI devices such as 0x20B010DE");
    r->filters[r->n_filters++] = (int64_t)id;
    return NULL;
}

static struct err *read_filters(const json_t *filters, const char *path, struct mig_rule *r)
{
    if (!filters || json_is_null(filters) || text_equal(json_string_value(filters), ""))
        return NULL;
    if (!json_is_array(filters))
        return add_filter(filters, path, r);
    for (size_t i = 0; i < json_array_size(filters); i++)
        TRY(add_filter(json_array_get(filters, i), path, r));
    return NULL;
}

static struct err *read_instances(const json_t *devices, const char *path, struct mig_rule *r)
{
    const char *profile;
    json_t *count;

    if (devices && !json_is_null(devices) && !json_is_object(devices))
        return mig_wrong(path, devices, "an object of profiles and their numbers");
    json_object_foreach ((json_t *)(uintptr_t)devices, profile, count) {
        struct gpu_wish_slice *s = &r->slices[r->n_slices];
        AUTO_FREE char *at = mem_format("%s.%.64s", path, profile);

        if (r->n_slices == GPU_SLICES_MAX)
            return mig_wrong(path, devices, "at most 16 profiles");
        if (!mig_name_read(profile, s->profile))
            return err_new(ERR_INVALID,
                           "%s: want a profile such as 1g.10gb; compute instances smaller than "
                           "their GPU instance are not supported by mete",
                           at);
        if (!json_is_integer(count) || json_integer_value(count) < 1 ||
            json_integer_value(count) > GPU_SLICES_MAX)
            return mig_wrong(at, count, "a number from 1 to 16");
        s->count = (unsigned)json_integer_value(count);
        r->n_slices++;
    }
    return NULL;
}

static struct err *check_members(const json_t *rule, const char *path)
{
    static const char *const known[] = {"devices", "device-filter", "mig-enabled", "mig-devices"};
    const char *key;
    json_t *value;

    json_object_foreach ((json_t *)(uintptr_t)rule, key, value) {
        size_t i = 0;

        while (i < COUNT(known) && !text_equal(known[i], key))
            i++;
        if (i == COUNT(known))
            return err_new(ERR_INVALID, "%s.%.64s: unknown member", path, key);
    }
    return NULL;
}

static struct err *read_rule(const json_t *rule, const char *path, struct mig_rule *r)
{
    AUTO_FREE char *at_devices = mem_format("%s.devices", path);
    AUTO_FREE char *at_filter = mem_format("%s.device-filter", path);
    AUTO_FREE char *at_enabled = mem_format("%s.mig-enabled", path);
    AUTO_FREE char *at_instances = mem_format("%s.mig-devices", path);
    const json_t *enabled = json_object_get(rule, "mig-enabled");

    if (!json_is_object(rule))
        return mig_wrong(path, rule, "an object with devices and mig-enabled");
    TRY(check_members(rule, path));
    if (!json_is_boolean(enabled))
        return mig_wrong(at_enabled, enabled, "true or false");
    r->is_enabled = json_is_true(enabled);
    TRY(read_indices(json_object_get(rule, "devices"), at_devices, r));
    TRY(read_filters(json_object_get(rule, "device-filter"), at_filter, r));
    TRY(read_instances(json_object_get(rule, "mig-devices"), at_instances, r));
    if (!r->is_enabled && r->n_slices > 0)
        return mig_wrong(at_instances, json_object_get(rule, "mig-devices"),
                         "none while mig-enabled is false");
    return NULL;
}

static struct err *unknown_config(const json_t *configs, const char *name)
{
    AUTO(buf_done) struct buf names = {.cap = 4096};
    const char *key;
    json_t *value;
    size_t n = 0;

    json_object_foreach ((json_t *)(uintptr_t)configs, key, value) {
        if (n < 16)
            buf_printf(&names, "%s%.63s", n ? ", " : "", key);
        n++;
    }
    return err_new(ERR_NOT_FOUND, "there is no mig-config '%.63s': there are %s%s", name,
                   n > 0 ? names.at : "none", n > 16 ? ", ..." : "");
}

struct err *mig_config_parse(const json_t *document, const char *name, struct mig_config *ret)
{
    const json_t *configs = json_object_get(document, "mig-configs");
    const json_t *list = json_object_get(configs, name);
    AUTO_FREE struct mig_config *c = mem_alloc(sizeof(*c));
    AUTO_FREE char *path = mem_format("mig-configs.%.63s", name);

    if (!text_equal(json_text(document, "version"), "v1"))
        return mig_wrong("version", json_object_get(document, "version"), "v1");
    if (!json_is_object(configs))
        return mig_wrong("mig-configs", configs, "an object of named configurations");
    if (!list)
        return unknown_config(configs, name);
    if (!json_is_array(list) || json_array_size(list) > MIG_RULES_MAX)
        return mig_wrong(path, list, "a list of at most 32 rules");
    for (size_t i = 0; i < json_array_size(list); i++) {
        AUTO_FREE char *at = mem_format("%s[%zu]", path, i);

        TRY(read_rule(json_array_get(list, i), at, &c->rules[i]));
        c->n++;
    }
    *ret = *c;
    return NULL;
}

struct err *mig_config_usual(const char *name, struct mig_config *ret)
{
    static const char all[] = "all-";
    struct mig_config c = {.n = 1};
    struct mig_rule *r = &c.rules[0];
    const char *rest = text_starts_with(name, all) ? name + sizeof(all) - 1 : "";
    AUTO_FREE char *profile = mem_format("mig-%s", rest);

    r->is_all = true;
    r->is_enabled = !text_equal(rest, "disabled");
    if (text_equal(rest, "balanced")) {
        r->choice = MIG_CHOICE_BALANCED;
    } else if (mig_name_read(profile, r->slices[0].profile)) {
        r->choice = MIG_CHOICE_FILLED;
        r->n_slices = 1;
    } else if (!text_equal(rest, "disabled") && !text_equal(rest, "enabled")) {
        return err_new(ERR_NOT_FOUND,
                       "there is no mig-parted file for '%.63s': without one there are "
                       "all-disabled, all-enabled, all-balanced, and all-PROFILE",
                       name);
    }
    *ret = c;
    return NULL;
}

/* The number of instances of a profile for which an empty gpu has room. */
static unsigned room_for(const struct mig_geometry *geometry, unsigned profile)
{
    struct mig_state s = {0};
    unsigned n = 0;

    for (;; n++) {
        uint16_t starts = mig_starts(geometry, s, profile);

        if (starts == 0)
            return n;
        s = mig_state_add(geometry, s, profile, (unsigned)__builtin_ctz(starts));
    }
}

/* Adds `count` instances of the smallest usual profile with so many compute slices. */
static void add_usual(const struct mig_geometry *geometry, unsigned compute, unsigned count,
                      struct gpu_wish *w)
{
    const struct mig_profile *found = NULL;

    for (unsigned i = 0; i < geometry->n_profiles; i++) {
        const struct mig_profile *p = &geometry->profiles[i];

        if (p->compute == compute && p->media == MIG_MEDIA_USUAL &&
            (!found || p->size < found->size))
            found = p;
    }
    if (!found || w->n_slices == GPU_SLICES_MAX)
        return;
    (void)snprintf(w->slices[w->n_slices].profile, sizeof(w->slices[0].profile), "%s", found->name);
    w->slices[w->n_slices++].count = count;
}

/* Makes the wish that a choice means for this gpu. */
static void choose_slices(const struct mig_rule *r, const struct gpu *g, struct gpu_wish *w)
{
    const struct mig_geometry *geometry = mig_geometry_of(g->model, g->memory_bytes);
    int k = geometry ? mig_profile_find(geometry, r->slices[0].profile) : -1;

    if (r->choice == MIG_CHOICE_FILLED) {
        /* A gpu without the profile refuses the one instance, and names those that it has. */
        w->slices[0].count = k >= 0 ? room_for(geometry, (unsigned)k) : 1;
        return;
    }
    if (!geometry)
        return;
    add_usual(geometry, 1, 2, w);
    add_usual(geometry, 2, 1, w);
    if (geometry->compute >= 7)
        add_usual(geometry, 3, 1, w);
}

static bool rule_matches(const struct mig_rule *r, const struct gpu *g)
{
    bool is_filtered = r->n_filters > 0;

    if (r->choice != MIG_CHOICE_LISTED && g->mig_mode < 0)
        return false;
    if (!r->is_all &&
        (g->index < 0 || g->index >= MIG_INDICES_MAX || !(r->indices >> g->index & 1)))
        return false;
    for (size_t i = 0; i < r->n_filters; i++)
        is_filtered = is_filtered && r->filters[i] != g->pci_device;
    return !is_filtered;
}

bool mig_config_wish(const struct mig_config *c, const struct gpu *g, struct gpu_wish *ret)
{
    const struct mig_rule *found = NULL;

    for (size_t i = 0; i < c->n; i++)
        if (rule_matches(&c->rules[i], g))
            found = &c->rules[i];
    if (!found)
        return false;
    *ret = (struct gpu_wish){.kind = found->is_enabled ? GPU_WISH_SLICES : GPU_WISH_WHOLE,
                             .is_asked = true,
                             .n_slices = found->n_slices};
    memcpy(ret->slices, found->slices, sizeof(ret->slices));
    if (found->choice != MIG_CHOICE_LISTED)
        choose_slices(found, g, ret);
    return true;
}
