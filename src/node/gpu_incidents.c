/* gpu_incidents.c - incidents of this node's gpus: their causes, their file and their checks */

#include "node/gpu_incidents.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/stamp.h"
#include "gpu/gpu_watch.h"
#include "gpu/nvlink_error.h"
#include "kinds/pod/pod_state.h"

enum {
    TOLD_XIDS = 1024, /* as many as wait to be read */
    HEALTH_GPUS_MAX = 64,
    HEALTH_FILE_MAX = 1 << 20
};

/* An idle gpu may use as much memory. */
static const int64_t idle_bytes = INT64_C(1) << 30;
/* A driver returns the memory of a process that ended within this time. */
static const int64_t orphan_ns = 10 * NS_PER_SEC;
/* The driver's event and the kernel's line of one XID come within this time. */
static const int64_t twice_ns = 10 * NS_PER_SEC;
/* A gpu whose memory is full is checked again after this time. */
static const int64_t check_again_ns = 30 * NS_PER_SEC;

const char gpu_is_reset[] = "it is being reset";

struct watched_gpu {
    struct gpu_incident incident;
    bool is_checking;
    bool is_orphaned;          /* its memory is in use, but nobody uses it */
    int64_t orphaned_since_ns; /* monotonic; 0: not so */
    int64_t orphaned_bytes;
    int64_t check_after_ns; /* monotonic: not checked before */
    int64_t xids;           /* ever */
    int64_t xid_last;       /* 0: none since the machine was booted */
    bool is_resetting;
    char reset_answered[STAMP_TEXT_SIZE]; /* the last request for a reset that was answered */
};

/* An XID that one source has told, and the other may tell, too. */
struct told_xid {
    char uuid[GPU_TEXT_SIZE]; /* "": none */
    int64_t xid;
    int instance;
    bool is_of_kernel;
    int64_t told_ns; /* monotonic */
};

struct gpu_incidents {
    struct gpu_incidents_options o;
    char *path;
    char *boot_id;
    struct xid_book *xids;
    struct file_mark xids_mark;
    char *care_text;          /* of the annotation; NULL: absent */
    json_t *care;             /* NULL: none, or damaged */
    struct loop_timer *timer; /* for checks that are due later */
    struct loop_timer *note_timer;
    int64_t written_ns; /* monotonic; 0: never */
    bool is_note_due;   /* counts are not in the file yet */
    struct watched_gpu watched[CONDITIONS_MAX];
    size_t n_watched;
    struct told_xid told[TOLD_XIDS];
    size_t next_told;
    int64_t kernel_seq;     /* lines of the kernel's log up to this one are counted; -1: none */
    int64_t kernel_from_ns; /* earlier lines are of the time before Mete came here */
    struct gpu gpus[HEALTH_GPUS_MAX];
    size_t n;
};

static struct watched_gpu *health_find(struct gpu_incidents *h, const char *uuid)
{
    struct watched_gpu *w = NULL;

    for (size_t i = 0; i < h->n_watched; i++)
        if (strcmp(h->watched[i].incident.uuid, uuid) == 0)
            return &h->watched[i];
    if (h->n_watched == CONDITIONS_MAX || !*uuid)
        return NULL;
    w = &h->watched[h->n_watched++];
    *w = (struct watched_gpu){0};
    (void)snprintf(w->incident.uuid, sizeof(w->incident.uuid), "%s", uuid);
    return w;
}

static const struct gpu *health_gpu(const struct gpu_incidents *h, const char *uuid)
{
    for (size_t i = 0; i < h->n; i++)
        if (strcmp(h->gpus[i].uuid, uuid) == 0)
            return &h->gpus[i];
    return NULL;
}

/* The slice with this uuid, and its gpu; NULL: none. */
static const struct gpu_slice *health_slice(const struct gpu_incidents *h, const char *uuid,
                                            const struct gpu **ret_gpu)
{
    for (size_t i = 0; i < h->n; i++)
        for (size_t k = 0; k < h->gpus[i].n_slices; k++)
            if (strcmp(h->gpus[i].slices[k].uuid, uuid) == 0) {
                *ret_gpu = &h->gpus[i];
                return &h->gpus[i].slices[k];
            }
    return NULL;
}

/* ---- Events ---- */

/* Tells "GPU 3 (GPU-...) TEXT", or "Slice 1g.10gb@4 of GPU 3 (MIG-...) TEXT". */
static void health_tell(const struct gpu_incidents *h, const char *uuid, bool is_warning,
                        const char *reason, const char *text)
{
    const struct gpu *g = health_gpu(h, uuid);
    const struct gpu_slice *s = g ? NULL : health_slice(h, uuid, &g);
    AUTO_FREE char *of = s ? mem_format("Slice %s@%u of ", s->profile, s->start) : mem_strdup("");
    AUTO_FREE char *message = g ? mem_format("%sGPU %d (%s) %s", of, g->index, uuid, text)
                                : mem_format("%s %s", uuid, text);

    if (h->o.tell)
        h->o.tell(h->o.arg, &(struct gpu_news){uuid, is_warning, reason, message});
}

static const char *event_reason(enum gpu_health health)
{
    switch (health) {
    case GPU_LOST:
        return "GpuLost";
    case GPU_NOT_ANSWERING:
        return "GpuNotAnswering";
    case GPU_QUARANTINED:
        return "GpuQuarantined";
    case GPU_HEALTHY:
    case GPU_DRAINED:
    case GPU_SUSPECT:
    case GPU_UNHEALTHY:
        break;
    }
    return "GpuUnhealthy";
}

static void tell_incident(const struct gpu_incidents *h, const struct gpu_incident *i)
{
    AUTO_FREE char *text =
        mem_format("is %s: %s. It takes no new pods; %s.", gpu_health_text(i->health), i->cause,
                   gpu_remedy_advice(i->remedy));

    LOG(WARN, "gpu is out of service", S("gpu", i->uuid), S("health", gpu_health_text(i->health)),
        S("cause", i->cause));
    health_tell(h, i->uuid, true, event_reason(i->health), text);
}

/* ---- the file ---- */

static void health_write(struct gpu_incidents *h)
{
    AUTO(json_freep) json_t *j = json_object();
    json_t *list = json_array_at(j, "gpus");
    json_t *resets = json_object_at(j, "resets");
    json_t *xids = json_object_at(j, "xids");
    AUTO_FREE char *text = NULL;
    AUTO(err_freep) struct err *e = NULL;

    json_put_text(j, "bootId", h->boot_id);
    json_put_int(j, "kernelSeq", h->kernel_seq);
    json_put_int(j, "kernelFrom", h->kernel_from_ns);
    for (size_t i = 0; i < h->n_watched; i++) {
        const struct watched_gpu *w = &h->watched[i];

        if (w->incident.health != GPU_HEALTHY)
            (void)json_array_append_new(list, gpu_incident_format(&w->incident));
        if (w->reset_answered[0])
            json_put_text(resets, w->incident.uuid, w->reset_answered);
        if (w->xids > 0)
            json_put(xids, w->incident.uuid,
                     json_pack("{s:I, s:I}", "count", (json_int_t)w->xids, "last",
                               (json_int_t)w->xid_last));
    }
    text = json_format(j);
    h->written_ns = loop_now_ns(h->o.loop);
    h->is_note_due = false;
    loop_timer_stop(h->note_timer);
    e = file_write_durable(h->path, 0600, str_of(text));
    if (e)
        LOG(ERROR, "health of gpus was not noted: a restart forgets it", E(e));
}

static void health_on_note(void *arg)
{
    health_write(arg);
}

/* Writes a count soon: a storm of XIDs writes once a second. */
static void health_note(struct gpu_incidents *h)
{
    int64_t wait_ns = h->written_ns + NS_PER_SEC - loop_now_ns(h->o.loop);

    h->is_note_due = true;
    loop_timer_set(h->note_timer, h->written_ns > 0 && wait_ns > 0 ? wait_ns : 0);
}

static void health_read_resets(struct gpu_incidents *h, const json_t *resets)
{
    const char *uuid = NULL;
    json_t *stamp = NULL;

    json_object_foreach ((json_t *)(uintptr_t)resets, uuid, stamp) {
        struct watched_gpu *w = strlen(uuid) < GPU_TEXT_SIZE ? health_find(h, uuid) : NULL;

        if (w && json_is_string(stamp))
            (void)snprintf(w->reset_answered, sizeof(w->reset_answered), "%.39s",
                           json_string_value(stamp));
    }
}

static void health_read_xids(struct gpu_incidents *h, const json_t *xids, bool is_same_boot)
{
    const char *uuid = NULL;
    json_t *counts = NULL;

    json_object_foreach ((json_t *)(uintptr_t)xids, uuid, counts) {
        struct watched_gpu *w = strlen(uuid) < GPU_TEXT_SIZE ? health_find(h, uuid) : NULL;

        if (!w)
            continue;
        w->xids = json_int(counts, "count", 0);
        w->xid_last = is_same_boot ? json_int(counts, "last", 0) : 0;
    }
}

/* A damaged entry counts as absent. */
static struct err *health_read(struct gpu_incidents *h)
{
    AUTO(buf_done) struct buf text = {0};
    AUTO(json_freep) json_t *j = NULL;
    AUTO(err_freep) struct err *e = file_read(h->path, HEALTH_FILE_MAX, &text);
    const json_t *item = NULL;
    bool is_same_boot = false;
    size_t i = 0;

    h->kernel_seq = -1;
    if (e && err_code(e) == ERR_NOT_FOUND) {
        h->kernel_from_ns = loop_now_ns(h->o.loop);
        health_note(h); /* a restart goes on from here */
        return NULL;
    }
    if (e)
        return TAKE(e);
    TRY(json_parse((struct str){.at = text.at, .size = text.size}, &j));
    is_same_boot = text_equal(json_text(j, "bootId"), h->boot_id);
    if (is_same_boot) {
        h->kernel_seq = json_int(j, "kernelSeq", -1);
        h->kernel_from_ns = json_int(j, "kernelFrom", loop_now_ns(h->o.loop));
    }
    health_read_resets(h, json_object_get(j, "resets"));
    health_read_xids(h, json_object_get(j, "xids"), is_same_boot);
    json_array_foreach (json_object_get(j, "gpus"), i, item) {
        struct gpu_incident incident = {0};
        struct watched_gpu *w =
            gpu_incident_parse(item, &incident) ? health_find(h, incident.uuid) : NULL;

        if (!w)
            continue;
        w->incident = incident;
        if (!is_same_boot)
            (void)gpu_incident_remedied(&w->incident, GPU_REMEDY_REBOOT);
    }
    return NULL;
}

/* ---- checks ---- */

/* The incident whose check was on this device: of the device, or of the slice's gpu; NULL: none. */
static struct watched_gpu *health_checking(struct gpu_incidents *h, const char *uuid)
{
    const struct gpu *g = NULL;
    struct watched_gpu *of_gpu = NULL;

    for (size_t i = 0; i < h->n_watched; i++)
        if (strcmp(h->watched[i].incident.uuid, uuid) == 0 && h->watched[i].is_checking)
            return &h->watched[i];
    if (!health_slice(h, uuid, &g))
        return NULL;
    of_gpu = health_find(h, g->uuid);
    return of_gpu && of_gpu->is_checking ? of_gpu : NULL;
}

static void on_health_checked(void *arg, const char *uuid, const struct err *e)
{
    struct gpu_incidents *h = arg;
    struct watched_gpu *w = health_checking(h, uuid);

    if (!w)
        return;
    w->is_checking = false;
    if (e && err_code(e) == ERR_BUSY) {
        w->check_after_ns = loop_now_ns(h->o.loop) + check_again_ns;
        loop_timer_set(h->timer, check_again_ns);
        return;
    }
    if (!gpu_incident_is_check_due(&w->incident)) /* became worse meanwhile */
        return;
    gpu_incident_checked(&w->incident, e ? err_message(e) : NULL, loop_wall_ns(h->o.loop));
    health_write(h);
    if (e)
        tell_incident(h, &w->incident);
    else
        health_tell(h, w->incident.uuid, false, "GpuHealthy",
                    "passed its check and takes pods again.");
    h->o.changed(h->o.arg);
}

/* The device that the check computes on: the gpu, or one of its slices. NULL: there is none, or the
 * check, by CUDA, is not for this vendor. */
static const char *check_device(const struct gpu *g)
{
    if (g->vendor != GPU_NVIDIA)
        return NULL;
    if (g->mig_mode != 1)
        return g->uuid;
    for (size_t i = 0; i < g->n_slices; i++)
        if (g->slices[i].uuid[0])
            return g->slices[i].uuid;
    return NULL;
}

static void health_check(struct gpu_incidents *h, struct watched_gpu *w)
{
    const struct gpu *g = health_gpu(h, w->incident.uuid);
    const char *device = g ? check_device(g) : NULL;
    const struct gpu_slice *s = g ? NULL : health_slice(h, w->incident.uuid, &g);
    AUTO(err_freep) struct err *e = NULL;

    if (!g || w->is_checking || w->is_resetting || !gpu_incident_is_check_due(&w->incident) ||
        loop_now_ns(h->o.loop) < w->check_after_ns)
        return;
    device = s ? s->uuid : device;
    w->is_checking = true;
    if (!h->o.check || !device) { /* a gpu in MIG mode without a slice has nothing to compute on */
        on_health_checked(h, w->incident.uuid, NULL);
        return;
    }
    e = h->o.check(h->o.arg, device, on_health_checked, h);
    if (!e)
        return;
    LOG(WARN, "gpu cannot be checked yet", S("gpu", w->incident.uuid), E(e));
    w->is_checking = false;
    w->check_after_ns = loop_now_ns(h->o.loop) + check_again_ns;
    loop_timer_set(h->timer, check_again_ns);
}

static void health_on_time(void *arg)
{
    struct gpu_incidents *h = arg;

    for (size_t i = 0; i < h->n_watched; i++)
        health_check(h, &h->watched[i]);
}

/* ---- causes ---- */

/* The incident has changed: notes it, and tells it once. */
static void health_changed(struct gpu_incidents *h, struct watched_gpu *w)
{
    health_write(h);
    if (w->incident.health != GPU_HEALTHY && !w->incident.is_remedied)
        tell_incident(h, &w->incident);
}

int64_t gpu_incidents_xids(const struct gpu_incidents *h, const char *uuid, int64_t *ret_last)
{
    *ret_last = 0;
    for (size_t i = 0; i < h->n_watched; i++) {
        if (strcmp(h->watched[i].incident.uuid, uuid) != 0)
            continue;
        *ret_last = h->watched[i].xid_last;
        return h->watched[i].xids;
    }
    return 0;
}

/* Has the other source told this XID? Each report answers for one of the other source at most. */
static bool xid_is_told(struct gpu_incidents *h, const struct gpu_xid *x)
{
    int64_t now_ns = loop_now_ns(h->o.loop);
    bool is_of_kernel = x->kernel_seq >= 0;
    struct told_xid *fresh = &h->told[h->next_told];

    for (size_t i = 0; i < TOLD_XIDS; i++) {
        struct told_xid *t = &h->told[i];

        if (t->is_of_kernel == is_of_kernel || t->xid != x->xid || strcmp(t->uuid, x->uuid) != 0 ||
            now_ns - t->told_ns > twice_ns)
            continue;
        if (t->instance != x->instance && t->instance >= 0 && x->instance >= 0)
            continue;
        *t = (struct told_xid){0};
        return true;
    }
    *fresh = (struct told_xid){
        .xid = x->xid, .instance = x->instance, .is_of_kernel = is_of_kernel, .told_ns = now_ns};
    (void)snprintf(fresh->uuid, sizeof(fresh->uuid), "%s", x->uuid);
    h->next_told = (h->next_told + 1) % TOLD_XIDS;
    return false;
}

/* Is the XID one that counts? The kernel's log begins anew with each start of this process. */
static bool xid_is_new(struct gpu_incidents *h, const struct gpu_xid *x)
{
    if (x->kernel_seq >= 0) {
        if (x->kernel_seq <= h->kernel_seq)
            return false;
        h->kernel_seq = x->kernel_seq;
        health_note(h);
        if (x->at_ns < h->kernel_from_ns)
            return false;
    } else if (h->kernel_seq >= 0 && x->xid >= NVLINK_XID_FIRST && x->xid <= NVLINK_XID_LAST)
        return false; /* the line says more, and comes, too */
    return !xid_is_told(h, x);
}

/* What an XID is about: the gpu, or the slice that it names. An XID that takes the whole gpu away
 * is about the gpu, and so is any of a flexible gpu, where slices are not told apart. */
static const char *xid_device(const struct gpu_incidents *h, const struct gpu_xid *x,
                              enum xid_state state)
{
    const struct gpu *g = health_gpu(h, x->uuid);

    if (!g || x->instance < 0 || state == XID_LOST ||
        (h->o.is_flexible && h->o.is_flexible(h->o.arg, g->uuid)))
        return x->uuid;
    for (size_t i = 0; i < g->n_slices; i++)
        if (g->slices[i].gpu_instance == x->instance && g->slices[i].uuid[0])
            return g->slices[i].uuid;
    return x->uuid;
}

/* What an XID means: as an administrator says, else as its line says, else as the table says. */
static struct xid_info xid_of(const struct gpu_incidents *h, const struct gpu_xid *x)
{
    struct xid_info info = xid_find(h->xids, x->xid);

    if (!x->is_decoded || xid_is_changed(h->xids, x->xid))
        return info;
    info.action = x->action;
    info.state = x->action == XID_DO_RESET ? XID_UNHEALTHY : XID_KEEP;
    return info;
}

bool gpu_incidents_xid(struct gpu_incidents *h, const struct gpu_xid *x)
{
    struct watched_gpu *w = health_find(h, x->uuid);
    struct watched_gpu *about = NULL;
    AUTO(err_freep) struct err *e = NULL;
    AUTO_FREE char *text = NULL;
    struct xid_info info;

    if (!xid_is_new(h, x))
        return false;
    e = xid_book_read(h->xids, h->o.xids_file, &h->xids_mark);
    if (e)
        LOG(WARN, "changes of the XID table cannot be used", E(e));
    info = xid_of(h, x);
    text = mem_format("reported XID %" PRId64 ": %s; %s.", x->xid, info.meaning,
                      xid_action_advice(info.action));
    about = health_find(h, xid_device(h, x, info.state));
    health_tell(h, about ? about->incident.uuid : x->uuid, info.action >= XID_DO_RESTART_APP,
                "GpuXid", text);
    if (!w || !about)
        return true;
    w->xids++;
    w->xid_last = x->xid;
    if (gpu_incident_xid(&about->incident, &info, loop_wall_ns(h->o.loop)))
        health_changed(h, about);
    else
        health_note(h);
    return true;
}

static int64_t health_reading(const struct gpu_incidents *h, const char *uuid, enum gpu_field field)
{
    return h->o.reading ? h->o.reading(h->o.arg, uuid, field) : GPU_VALUE_UNKNOWN;
}

/* Adds faults that only readings show to a gpu that the driver lists as healthy. */
static void health_judge(const struct gpu_incidents *h, const struct watched_gpu *w, struct gpu *g)
{
    if (g->health != GPU_HEALTHY)
        return;
    if (health_reading(h, g->uuid, GPU_FIELD_REMAP_FAILED) == 1) {
        g->health = GPU_UNHEALTHY;
        (void)snprintf(g->health_reason, sizeof(g->health_reason),
                       "a row of its memory could not be remapped: the GPU has to be replaced");
    } else if (w->is_orphaned) {
        g->health = GPU_QUARANTINED;
        (void)snprintf(g->health_reason, sizeof(g->health_reason),
                       "%" PRId64 " MiB of its memory are in use that no process holds: a reset of "
                       "the GPU gives them back",
                       w->orphaned_bytes >> 20);
    }
}

/* Notes the gpu as listed, and its readings. True: the incident has changed. */
static bool health_see(const struct gpu_incidents *h, struct watched_gpu *w,
                       const struct gpu *listed)
{
    int64_t now_ns = loop_wall_ns(h->o.loop);
    int64_t recovery = health_reading(h, listed->uuid, GPU_FIELD_RECOVERY_ACTION);
    struct gpu g = *listed;
    bool has_changed = false;

    health_judge(h, w, &g);
    has_changed = gpu_incident_seen(&w->incident, &g, now_ns);
    return gpu_incident_recovery(&w->incident, recovery, now_ns) || has_changed;
}

bool gpu_incidents_sampled(struct gpu_incidents *h, const struct gpu_sample *s, bool is_used)
{
    struct watched_gpu *w = health_find(h, s->uuid);
    int64_t used_bytes = s->value[GPU_FIELD_MEMORY_USED_BYTES];
    bool was_orphaned = w && w->is_orphaned;

    if (!w)
        return false;
    if (is_used || w->is_checking || used_bytes <= idle_bytes) {
        w->orphaned_since_ns = 0;
        w->is_orphaned = false;
        return was_orphaned;
    }
    if (w->orphaned_since_ns == 0)
        w->orphaned_since_ns = s->at_ns;
    w->is_orphaned = s->at_ns - w->orphaned_since_ns >= orphan_ns;
    if (!was_orphaned)
        w->orphaned_bytes = used_bytes;
    return w->is_orphaned != was_orphaned;
}

/* Applies what administrators said of the gpu: drained, or its remedy is done. */
static bool health_care(const struct gpu_incidents *h, struct watched_gpu *w, struct gpu *g)
{
    const json_t *care = json_object_get(h->care, w->incident.uuid);
    const char *drained = json_text_filled(care, "drained");
    bool is_resumed = w->incident.health != GPU_HEALTHY && !w->incident.is_remedied &&
                      stamp_or(json_text(care, "resumed"), -1) == w->incident.since_ns;

    if (drained) {
        g->health = GPU_DRAINED;
        (void)snprintf(g->drained_by, sizeof(g->drained_by), "%.90s",
                       text_or_empty(json_text(care, "by")));
        (void)snprintf(g->health_reason, sizeof(g->health_reason), "%s", drained);
    }
    return is_resumed && gpu_incident_remedied(&w->incident, GPU_REMEDY_INSPECT);
}

/* ---- resets ---- */

/* The request that is not answered yet; NULL: none. */
static const char *reset_asked(const struct gpu_incidents *h, const struct watched_gpu *w)
{
    const char *stamp = json_text_filled(json_object_get(h->care, w->incident.uuid), "reset");

    return stamp && strlen(stamp) < STAMP_TEXT_SIZE && strcmp(stamp, w->reset_answered) != 0 ? stamp
                                                                                             : NULL;
}

/* Keeps a gpu out of service from the request for its reset to the answer. */
static void health_apply_reset(const struct gpu_incidents *h, struct watched_gpu *w, struct gpu *g)
{
    w->is_resetting = reset_asked(h, w) != NULL;
    if (!w->is_resetting)
        return;
    g->health = g->health > GPU_UNHEALTHY ? g->health : GPU_UNHEALTHY;
    (void)snprintf(g->health_reason, sizeof(g->health_reason), "%s", gpu_is_reset);
}

const char *gpu_incidents_reset_due(const struct gpu_incidents *h)
{
    for (size_t i = 0; i < h->n_watched; i++)
        if (h->watched[i].is_resetting && health_gpu(h, h->watched[i].incident.uuid))
            return h->watched[i].incident.uuid;
    return NULL;
}

/* The gpu was reset: so were its slices. */
static void health_reset_slices(struct gpu_incidents *h, const char *uuid)
{
    const struct gpu *g = health_gpu(h, uuid);

    for (size_t i = 0; g && i < h->n_watched; i++)
        for (size_t k = 0; k < g->n_slices; k++)
            if (strcmp(h->watched[i].incident.uuid, g->slices[k].uuid) == 0)
                (void)gpu_incident_remedied(&h->watched[i].incident, GPU_REMEDY_RESET);
}

void gpu_incidents_reset_over(struct gpu_incidents *h, const char *uuid, const struct err *e,
                              bool was_tried)
{
    struct watched_gpu *w = health_find(h, uuid);
    const char *stamp = w ? reset_asked(h, w) : NULL;
    AUTO_FREE char *text = e ? mem_format("was not reset: %s.", err_message(e))
                             : mem_strdup("was reset. It takes pods again after its check.");

    if (!w)
        return;
    if (stamp)
        (void)snprintf(w->reset_answered, sizeof(w->reset_answered), "%s", stamp);
    w->is_resetting = false;
    if (was_tried &&
        gpu_incident_reset(&w->incident, e ? err_message(e) : NULL, loop_wall_ns(h->o.loop)))
        loop_timer_set(h->timer, 0);
    if (!e)
        health_reset_slices(h, uuid);
    health_write(h);
    health_tell(h, uuid, e != NULL, e ? "GpuResetFailed" : "GpuReset", text);
    h->o.changed(h->o.arg);
}

bool gpu_incidents_set_node(struct gpu_incidents *h, const json_t *node)
{
    const char *text = json_text_at(node, "metadata", "annotations", NODE_GPU_CARE, NULL);
    AUTO(err_freep) struct err *e = NULL;

    if (text_equal(text, h->care_text))
        return false;
    free(h->care_text);
    h->care_text = text ? mem_strdup(text) : NULL;
    json_decref(h->care);
    h->care = NULL;
    if (text)
        e = json_parse(str_of(text), &h->care);
    if (e)
        LOG(WARN, "annotation of this node cannot be used", S("annotation", NODE_GPU_CARE), E(e));
    return true;
}

/* Sets the health of the slices that have an incident of their own. */
static void health_apply_slices(struct gpu_incidents *h, struct gpu *g)
{
    for (size_t i = 0; i < h->n_watched; i++) {
        const struct gpu_incident *incident = &h->watched[i].incident;

        for (size_t k = 0; incident->health != GPU_HEALTHY && k < g->n_slices; k++) {
            struct gpu_slice *s = &g->slices[k];

            if (strcmp(s->uuid, incident->uuid) != 0)
                continue;
            s->health = incident->health;
            (void)snprintf(s->health_reason, sizeof(s->health_reason), "%s", incident->cause);
            if (gpu_incident_is_check_due(incident) && !h->watched[i].is_checking &&
                loop_now_ns(h->o.loop) >= h->watched[i].check_after_ns)
                loop_timer_set(h->timer, 0);
        }
    }
}

const struct gpu *gpu_incidents_update(struct gpu_incidents *h, const struct gpu *list, size_t n)
{
    h->n = n < HEALTH_GPUS_MAX ? n : HEALTH_GPUS_MAX;
    for (size_t i = 0; i < h->n; i++)
        h->gpus[i] = list[i];
    for (size_t i = 0; i < h->n; i++) {
        struct watched_gpu *w = health_find(h, list[i].uuid);
        bool has_changed;

        if (!w)
            continue;
        has_changed = health_see(h, w, &list[i]);
        if (health_care(h, w, &h->gpus[i]) || has_changed)
            health_changed(h, w);
        if (gpu_incident_is_check_due(&w->incident) && !w->is_checking &&
            loop_now_ns(h->o.loop) >= w->check_after_ns)
            loop_timer_set(h->timer, 0);
        gpu_incident_apply(&w->incident, &h->gpus[i]);
        health_apply_reset(h, w, &h->gpus[i]);
        health_apply_slices(h, &h->gpus[i]);
    }
    return h->gpus;
}

void gpu_incidents_take(struct gpu_incidents *h, struct gpu_watch *w)
{
    struct gpu_xid x = {0};
    uint64_t n_dropped = 0;
    bool has_any = false;

    while (gpu_watch_next_xid(w, &x, &n_dropped)) {
        if (gpu_incidents_xid(h, &x))
            LOG(WARN, "gpu reported an error", S("gpu", x.uuid), U("xid", x.xid));
        has_any = true;
    }
    if (has_any && n_dropped > 0)
        LOG(WARN, "gpu errors dropped", U("dropped", n_dropped));
}

struct err *gpu_incidents_new(const struct gpu_incidents_options *o, struct gpu_incidents **ret)
{
    struct gpu_incidents *h = mem_alloc(sizeof(*h));
    struct err *e = NULL;

    h->o = *o;
    h->path = mem_format("%s/gpu-health.json", o->dir);
    h->boot_id = mem_strdup(o->boot_id);
    h->xids = xid_book_new();
    h->timer = loop_timer_new(o->loop, health_on_time, h);
    h->note_timer = loop_timer_new(o->loop, health_on_note, h);
    e = xid_book_read(h->xids, o->xids_file, &h->xids_mark);
    if (!e)
        e = health_read(h);
    if (e) {
        gpu_incidents_free(h);
        return e;
    }
    *ret = h;
    return NULL;
}

void gpu_incidents_free(struct gpu_incidents *h)
{
    if (!h)
        return;
    if (h->is_note_due)
        health_write(h);
    loop_timer_free(h->timer);
    loop_timer_free(h->note_timer);
    xid_book_free(h->xids);
    free(h->care_text);
    json_decref(h->care);
    free(h->path);
    free(h->boot_id);
    free(h);
}
