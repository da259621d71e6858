/*
 * pod_disk.c - disk limits of pods
 *
 * The limits: emptyDir.sizeLimit, resources.limits.ephemeral-storage of a container (the writable
 * layer of its root, and its logs) and of the pod (all containers, and emptyDirs on disk). A
 * separate worker measures the pods in turns, as a walk over a large tree takes long. A pod over a
 * limit is evicted, in the kubelet's words.
 */

#include <inttypes.h>

#include "base/mem.h"
#include "base/stamp.h"
#include "model/quantity.h"
#include "node/pod/pod.h"

static const int64_t TURN_NS = 10 * NS_PER_SEC;

enum disk_kind {
    DISK_VOLUME,
    DISK_ROOT,
    DISK_LOG
};

struct disk_item {
    enum disk_kind kind;
    char *name; /* of the volume or container */
    char *path;
    int64_t bytes;
};

/* The measurement of one pod. */
struct disk_turn {
    struct pods *set;
    struct err *(*measure)(const char *path, struct disk_usage *ret);
    char *uid;
    VEC(struct disk_item) items;
};

static void turn_free(struct disk_turn *t)
{
    VEC_EACH (&t->items, item) {
        free(item->name);
        free(item->path);
    }
    vec_done(&t->items);
    free(t->uid);
    free(t);
}

/* ---- limits ---- */

/* A limit in bytes; -1: none. `*ret_text` is its text in the manifest. */
static int64_t read_limit(const json_t *value, const char **ret_text)
{
    struct quantity q = {0};
    const char *text = json_string_value(value);
    AUTO(err_freep) struct err *e = text ? quantity_parse(str_of(text), &q) : NULL;

    *ret_text = text;
    return !text || e || q.milli <= 0 ? -1 : quantity_units(q);
}

static const json_t *container_limit(const json_t *spec)
{
    return json_at(spec, "resources", "limits", "ephemeral-storage", NULL);
}

static bool is_on_disk(const json_t *volume)
{
    const json_t *empty = json_object_get(volume, "emptyDir");

    return empty && !text_equal(json_text(empty, "medium"), "Memory");
}

static bool has_limits(const struct pod *p)
{
    const json_t *volume = NULL;
    size_t i = 0;

    for (i = 0; i < p->n_containers; i++)
        if (container_limit(pod_container_spec(p, &p->containers[i])))
            return true;
    json_array_foreach (json_at(p->object, "spec", "volumes", NULL), i, volume)
        if (is_on_disk(volume) && json_at(volume, "emptyDir", "sizeLimit", NULL))
            return true;
    return false;
}

/* ---- verdicts ---- */

static void disk_add(int64_t *sum, int64_t bytes)
{
    if (__builtin_add_overflow(*sum, bytes, sum))
        *sum = INT64_MAX;
}

static int64_t sum_of(const struct disk_turn *t, const char *container)
{
    int64_t sum = 0;

    VEC_EACH (&t->items, item)
        if (!container || (item->kind != DISK_VOLUME && text_equal(item->name, container)))
            disk_add(&sum, item->bytes);
    return sum;
}

static char *judge_volumes(const struct pod *p, const struct disk_turn *t)
{
    const json_t *volume = NULL;
    size_t i = 0;

    json_array_foreach (json_at(p->object, "spec", "volumes", NULL), i, volume) {
        const char *text = NULL;
        int64_t limit = read_limit(json_at(volume, "emptyDir", "sizeLimit", NULL), &text);

        VEC_EACH (&t->items, item)
            if (limit >= 0 && item->kind == DISK_VOLUME && item->bytes > limit &&
                text_equal(item->name, json_text(volume, "name")))
                return mem_format("Usage of EmptyDir volume \"%s\" exceeds the limit \"%s\". ",
                                  item->name, text);
    }
    return NULL;
}

/* Checks the pod's limit: the sum of its containers' limits, if any has one. */
static char *judge_pod(const struct pod *p, const struct disk_turn *t)
{
    char text[QUANTITY_TEXT_SIZE];
    struct quantity total = {.form = QUANTITY_BINARY};
    bool is_any = false;

    for (size_t i = 0; i < p->n_containers; i++) {
        const char *own = NULL;
        int64_t limit = read_limit(container_limit(pod_container_spec(p, &p->containers[i])), &own);

        if ((p->containers[i].is_init && !p->containers[i].is_sidecar) || limit < 0)
            continue;
        is_any = true;
        if (__builtin_add_overflow(total.milli, limit * 1000, &total.milli))
            return NULL;
    }
    if (!is_any || sum_of(t, NULL) <= total.milli / 1000)
        return NULL;
    quantity_format(total, text);
    return mem_format(
        "Pod ephemeral local storage usage exceeds the total limit of containers %s. ", text);
}

static char *judge_containers(const struct pod *p, const struct disk_turn *t)
{
    for (size_t i = 0; i < p->n_containers; i++) {
        const struct container *c = &p->containers[i];
        const char *text = NULL;
        int64_t limit = read_limit(container_limit(pod_container_spec(p, c)), &text);

        if (limit >= 0 && sum_of(t, c->name) > limit)
            return mem_format("Container %s exceeded its local ephemeral storage limit \"%s\". ",
                              c->name, text);
    }
    return NULL;
}

/* The reason for an eviction, checked in the kubelet's order; NULL: none. */
static char *disk_judge(const struct pod *p, const struct disk_turn *t)
{
    char *why = judge_volumes(p, t);

    if (!why)
        why = judge_pod(p, t);
    return why ? why : judge_containers(p, t);
}

/* ---- measurements ---- */

static void disk_measure_next(struct pods *set);

/* In the worker. A tree too deep to measure counts as endless; a missing or unreadable tree counts
 * as empty until the next turn. */
static struct err *disk_measure(void *message)
{
    struct disk_turn *t = message;

    VEC_EACH (&t->items, item) {
        struct disk_usage usage = {0};
        AUTO(err_freep) struct err *e = t->measure(item->path, &usage);

        item->bytes = !e ? usage.bytes : err_code(e) == ERR_TOO_LARGE ? INT64_MAX : 0;
    }
    return NULL;
}

static void on_measured(void *message, const struct err *e)
{
    struct disk_turn *t = message;
    struct pods *set = t->set;
    struct pod *p = pods_find(set, t->uid);
    AUTO_FREE char *why = NULL;

    (void)e; /* measure never fails */
    if (p && p->object && p->life == POD_ACTIVE)
        why = disk_judge(p, t);
    if (why)
        pod_evict(p, why, POD_EVICTION_GRACE_NS);
    turn_free(t);
    if (why)
        pod_step(p);
    disk_measure_next(set);
}

static void add_item(struct disk_turn *t, enum disk_kind kind, const char *name, char *path)
{
    vec_add(&t->items,
            ((struct disk_item){.kind = kind, .name = mem_strdup(name), .path = TAKE(path)}));
}

static struct disk_turn *turn_new(struct pod *p)
{
    struct disk_turn *t = mem_alloc(sizeof(*t));
    AUTO_FREE char *logs = pod_log_dir(p);
    const json_t *volume = NULL;
    size_t i = 0;

    *t = (struct disk_turn){.set = p->set, .measure = p->set->o.measure, .uid = mem_strdup(p->uid)};
    json_array_foreach (json_at(p->object, "spec", "volumes", NULL), i, volume) {
        const char *name = json_text(volume, "name");

        if (name && is_on_disk(volume))
            add_item(t, DISK_VOLUME, name,
                     mem_format("%s/pods/%s/volumes/%s", p->set->o.dir, p->uid, name));
    }
    for (i = 0; i < p->n_containers; i++) {
        const struct container *c = &p->containers[i];
        AUTO_FREE char *root = container_root_dir(p, c, c->attempt);

        if (container_image(pod_container_spec(p, c)))
            add_item(t, DISK_ROOT, c->name, mem_format("%s/upper", root));
        add_item(t, DISK_LOG, c->name, mem_format("%s/%s", logs, c->name));
    }
    return t;
}

static bool is_measured(const struct pod *p)
{
    return p->object && p->record != RECORD_GONE && p->life == POD_ACTIVE && !pod_has_ended(p) &&
           has_limits(p);
}

/* Measures the next pod of this round that has limits; after the last, sets the timer of the next
 * round. */
static void disk_measure_next(struct pods *set)
{
    if (!set->o.disk_worker)
        return;
    for (struct pod *p = set->pods; p; p = p->handle.next)
        if (p->disk_round < set->disk_round) {
            p->disk_round = set->disk_round;
            if (is_measured(p)) {
                worker_give(set->o.disk_worker, disk_measure, on_measured, turn_new(p));
                return;
            }
        }
    loop_timer_set(set->disk_timer, TURN_NS);
}

static void on_round(void *arg)
{
    struct pods *set = arg;

    set->disk_round++;
    disk_measure_next(set);
}

void pods_end_disk(struct pods *set)
{
    if (set)
        set->o.disk_worker = NULL;
}

void pods_begin_disk(struct pods *set)
{
    set->disk_timer = loop_timer_new(set->o.loop, on_round, set);
    if (set->o.disk_worker)
        loop_timer_set(set->disk_timer, TURN_NS);
}
