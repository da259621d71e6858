/* device.c - devices and their text form; sums over the held parts of a gpu */

#include "model/device.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "base/str.h"

enum {
    WHOLE_MILLI = 1000
};

struct device device_whole(const char *uuid)
{
    struct device d = {.kind = DEVICE_WHOLE};

    (void)snprintf(d.gpu, sizeof(d.gpu), "%s", uuid);
    return d;
}

/* Can `text` be a uuid or a profile: printable, without the text form's separators? */
static bool device_is_word(struct str text, size_t size_max)
{
    if (text.size == 0 || text.size >= size_max)
        return false;
    for (size_t i = 0; i < text.size; i++) {
        if (text.at[i] <= ' ' || text.at[i] > '~' || strchr("/,@", text.at[i]))
            return false;
    }
    return true;
}

static void copy_word(struct str text, char *ret)
{
    memcpy(ret, text.at, text.size);
    ret[text.size] = '\0';
}

/* Cuts `text` at the first `mark`. `*ret_rest` is the rest after it; {0}: no mark. */
static struct str cut_at(struct str text, char mark, struct str *ret_rest)
{
    const char *at = text.size > 0 ? memchr(text.at, mark, text.size) : NULL;
    size_t size = at ? (size_t)(at - text.at) : text.size;

    *ret_rest = at ? (struct str){at + 1, text.size - size - 1} : (struct str){0};
    return (struct str){text.at, size};
}

static struct err *read_share(struct str text, struct device *d)
{
    struct str bytes = {0};
    struct str milli = cut_at(text, ',', &bytes);
    int64_t n = 0;

    TRY(num_parse_int64(milli, 1, WHOLE_MILLI - 1, &n));
    TRY(num_parse_int64(bytes, 1, INT64_MAX, &d->bytes));
    d->milli = (uint32_t)n;
    return NULL;
}

static struct err *read_replica(struct str text, struct device *d)
{
    int64_t n = 0;

    TRY(num_parse_int64(text, 1, DEVICE_REPLICAS_MAX, &n));
    d->replicas = (uint32_t)n;
    return NULL;
}

static struct err *read_slice(struct str text, struct device *d)
{
    struct str instance = {0};
    struct str place = cut_at(text, ',', &instance);
    struct str start = {0};
    struct str profile = cut_at(place, '@', &start);
    int64_t n = 0;

    if (!device_is_word(profile, sizeof(d->profile)))
        return err_new(ERR_INVALID, "a slice has a profile, as in slice:2g.20gb@4");
    TRY(num_parse_int64(start, 0, MIG_UNITS_MAX - 1, &n));
    if (instance.at && !device_is_word(instance, sizeof(d->instance)))
        return err_new(ERR_INVALID, "the uuid of the MIG instance is no uuid");
    d->start = (uint32_t)n;
    copy_word(profile, d->profile);
    if (instance.at)
        copy_word(instance, d->instance);
    return NULL;
}

static struct err *read_part(struct str part, struct device *d)
{
    static const struct {
        const char *name;
        enum device_kind kind;
        struct err *(*read)(struct str text, struct device *d);
    } parts[] = {{"share", DEVICE_SHARE, read_share},
                 {"replica", DEVICE_REPLICA, read_replica},
                 {"slice", DEVICE_SLICE, read_slice}};
    struct str value = {0};
    struct str name = cut_at(part, ':', &value);

    for (size_t i = 0; i < COUNT(parts); i++) {
        if (!str_equal(name, str_of(parts[i].name)))
            continue;
        d->kind = parts[i].kind;
        return parts[i].read(value, d);
    }
    return err_new(ERR_INVALID, "'%.*s' is not one of share, replica, slice", (int)name.size,
                   name.at);
}

struct err *device_parse(const char *text, struct device *ret)
{
    struct device d = {.kind = DEVICE_WHOLE};
    struct str part = {0};
    struct str gpu = cut_at(str_of(text), '/', &part);
    struct err *e = NULL;

    if (!device_is_word(gpu, sizeof(d.gpu)))
        return err_new(ERR_INVALID, "device '%s': want a gpu's uuid first", text);
    copy_word(gpu, d.gpu);
    if (part.at)
        e = read_part(part, &d);
    if (e)
        return err_wrap(e, "device '%s'", text);
    *ret = d;
    return NULL;
}

void device_format(const struct device *d, char ret[DEVICE_TEXT_SIZE])
{
    switch (d->kind) {
    case DEVICE_WHOLE:
        (void)snprintf(ret, DEVICE_TEXT_SIZE, "%s", d->gpu);
        return;
    case DEVICE_SHARE:
        (void)snprintf(ret, DEVICE_TEXT_SIZE, "%s/share:%" PRIu32 ",%" PRId64, d->gpu, d->milli,
                       d->bytes);
        return;
    case DEVICE_REPLICA:
        (void)snprintf(ret, DEVICE_TEXT_SIZE, "%s/replica:%" PRIu32, d->gpu, d->replicas);
        return;
    case DEVICE_SLICE:
        (void)snprintf(ret, DEVICE_TEXT_SIZE, "%s/slice:%s@%" PRIu32 "%s%s", d->gpu, d->profile,
                       d->start, d->instance[0] ? "," : "", d->instance);
        return;
    }
}

bool device_equal(const struct device *a, const struct device *b)
{
    return a->kind == b->kind && strcmp(a->gpu, b->gpu) == 0 && a->milli == b->milli &&
           a->bytes == b->bytes && a->replicas == b->replicas && a->start == b->start &&
           strcmp(a->profile, b->profile) == 0 && strcmp(a->instance, b->instance) == 0;
}

uint32_t device_milli(const struct device *d)
{
    switch (d->kind) {
    case DEVICE_WHOLE:
        break;
    case DEVICE_SHARE:
        return d->milli;
    case DEVICE_REPLICA:
        return WHOLE_MILLI / d->replicas;
    case DEVICE_SLICE:
        return mig_name_milli(d->profile);
    }
    return WHOLE_MILLI;
}

static struct err *load_add_share(struct device_load *load, const struct device *d,
                                  const struct gpu *gpu)
{
    uint32_t milli = load->milli + d->milli;
    int64_t bytes = 0;

    if (milli > WHOLE_MILLI)
        return err_new(ERR_CONFLICT,
                       "gpu %s: %" PRIu32 "/1000 of its compute are held, the share is %" PRIu32
                       "/1000",
                       d->gpu, load->milli, d->milli);
    if (__builtin_add_overflow(load->bytes, d->bytes, &bytes) ||
        (gpu && gpu->memory_bytes > 0 && bytes > gpu->memory_bytes))
        return err_new(ERR_CONFLICT,
                       "gpu %s: %" PRId64 " bytes of its memory are held, the share is %" PRId64,
                       d->gpu, load->bytes, d->bytes);
    load->milli = milli;
    load->bytes = bytes;
    return NULL;
}

static struct err *load_add_replica(struct device_load *load, const struct device *d)
{
    if (load->n > 0 && load->replicas != d->replicas)
        return err_new(ERR_CONFLICT,
                       "gpu %s is held in %" PRIu32 " replicas, the device is one of %" PRIu32,
                       d->gpu, load->replicas, d->replicas);
    if (load->n >= d->replicas)
        return err_new(ERR_CONFLICT, "gpu %s: all %" PRIu32 " replicas are held", d->gpu,
                       d->replicas);
    load->replicas = d->replicas;
    return NULL;
}

static struct err *load_add_slice(struct device_load *load, const struct device *d,
                                  const struct gpu *gpu)
{
    const struct mig_geometry *g =
        gpu && gpu->memory_bytes > 0 ? mig_geometry_of(gpu->model, gpu->memory_bytes) : NULL;
    int profile = g ? mig_profile_find(g, d->profile) : -1;

    if (profile < 0)
        return err_new(ERR_CONFLICT, "gpu %s has no MIG profile %s", d->gpu, d->profile);
    if (!(mig_starts(g, load->slices, (unsigned)profile) & 1u << d->start))
        return err_new(ERR_CONFLICT, "gpu %s: a slice %s cannot start at %" PRIu32, d->gpu,
                       d->profile, d->start);
    load->slices = mig_state_add(g, load->slices, (unsigned)profile, d->start);
    return NULL;
}

struct err *device_load_add(struct device_load *load, const struct device *d, const struct gpu *gpu)
{
    static const char *const words[] = {"whole", "in shares", "in replicas", "in slices"};

    if (load->n > 0 && (load->kind != d->kind || d->kind == DEVICE_WHOLE))
        return err_new(ERR_CONFLICT, "gpu %s is held %s", d->gpu, words[load->kind]);
    if (d->kind == DEVICE_SHARE)
        TRY(load_add_share(load, d, gpu));
    if (d->kind == DEVICE_REPLICA)
        TRY(load_add_replica(load, d));
    if (d->kind == DEVICE_SLICE)
        TRY(load_add_slice(load, d, gpu));
    load->kind = d->kind;
    load->n++;
    return NULL;
}
