/* gpu_use.c - the processes of a gpu, added up by container */

#include "gpu/gpu_use.h"

#include <stdio.h>
#include <string.h>

#include "base/str.h"

static const char cgroup_root[] = "/mete/";

bool gpu_use_id(const char *text, char ret[GPU_USE_ID_SIZE])
{
    const char *at = strstr(text, cgroup_root);
    size_t size;

    if (!at)
        return false;
    at += sizeof(cgroup_root) - 1;
    size = strcspn(at, "/\n");
    if (size == 0 || size >= GPU_USE_ID_SIZE)
        return false;
    memcpy(ret, at, size);
    ret[size] = '\0';
    return true;
}

/* ---- adding up ---- */

/* The uses of one device. */
struct device_uses {
    const struct gpu_sample *sample; /* of the device */
    struct gpu_use *list;
    size_t n;
    bool is_server_busy; /* an MPS server works for clients of which the driver tells nothing */
};

static struct gpu_use *use_of(struct device_uses *d, const char *id)
{
    struct gpu_use *u = NULL;

    for (size_t i = 0; i < d->n; i++)
        if (text_equal(d->list[i].id, id))
            return &d->list[i];
    u = &d->list[d->n++];
    *u = (struct gpu_use){0};
    memcpy(u->device, d->sample->uuid, sizeof(u->device));
    (void)snprintf(u->id, sizeof(u->id), "%s", id);
    return u;
}

/* Adds to a sum; with an unknown part, the sum is unknown. */
static void use_add(int64_t *sum, int64_t more)
{
    *sum = *sum < 0 || more < 0 ? -1 : *sum + more;
}

static void uses_count(struct device_uses *d, const struct gpu_process *p, gpu_home_fn home)
{
    struct gpu_process_home h = {0};
    struct gpu_use *u = NULL;

    home(p->pid, &h);
    if (h.is_gone)
        return;
    if (h.is_mps_server) {
        d->is_server_busy |= p->sm_milli > 0;
        return;
    }
    u = use_of(d, h.id);
    use_add(&u->memory_bytes, p->memory_bytes);
    use_add(&u->sm_milli, p->sm_milli);
    u->n_processes++;
}

int64_t gpu_sample_busy_milli(const struct gpu_sample *s)
{
    if (s->value[GPU_FIELD_GRAPHICS_ACTIVE_MILLI] >= 0)
        return s->value[GPU_FIELD_GRAPHICS_ACTIVE_MILLI];
    return s->value[GPU_FIELD_UTILIZATION_PCT] < 0 ? -1 : s->value[GPU_FIELD_UTILIZATION_PCT] * 10;
}

/* Decides what is known of the uses' compute. */
static void uses_judge(struct device_uses *d)
{
    for (size_t i = 0; i < d->n && d->is_server_busy; i++)
        if (d->list[i].sm_milli == 0)
            d->list[i].sm_milli = -1;
    if (d->n == 1 && d->list[0].sm_milli < 0)
        d->list[0].sm_milli = gpu_sample_busy_milli(d->sample);
}

size_t gpu_uses_of(const struct gpu_reading *r, gpu_home_fn home, struct gpu_use *ret)
{
    size_t n = 0;

    for (int slice = -1; slice < (int)r->n_slices; slice++) {
        struct device_uses d = {.sample = slice < 0 ? &r->gpu : &r->slices[slice], .list = ret + n};

        for (size_t i = 0; i < r->n_processes; i++)
            if (r->processes[i].slice == slice)
                uses_count(&d, &r->processes[i], home);
        uses_judge(&d);
        n += d.n;
    }
    return n;
}

/* ---- JSON ---- */

static json_t *known_number(int64_t value)
{
    return value < 0 ? json_null() : json_integer(value);
}

json_t *gpu_use_format_json(const struct gpu_use *u)
{
    json_t *o = json_object();

    json_put_text(o, "device", u->device);
    json_put_text(o, "id", u->id);
    json_put(o, "memoryBytes", known_number(u->memory_bytes));
    json_put(o, "smMilli", known_number(u->sm_milli));
    json_put_int(o, "processes", u->n_processes);
    return o;
}

struct gpu_use gpu_use_parse_json(const json_t *j)
{
    const char *device = json_text(j, "device");
    const char *id = json_text(j, "id");
    struct gpu_use u = {.memory_bytes = json_int(j, "memoryBytes", -1),
                        .sm_milli = json_int(j, "smMilli", -1),
                        .n_processes = json_int(j, "processes", -1)};

    (void)snprintf(u.device, sizeof(u.device), "%s", device ? device : "");
    (void)snprintf(u.id, sizeof(u.id), "%s", id ? id : "");
    return u;
}
