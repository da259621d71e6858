/* reservations.c - Reservation objects in the engine, and their status */

#include "control/queue/reservations.h"

#include <stdlib.h>

#include "base/arena.h"
#include "base/log.h"
#include "base/map.h"
#include "base/stamp.h"
#include "base/vec.h"
#include "control/writes.h"

static const int64_t settle_ns = NS_PER_SEC;                /* between two writes of statuses */
static const int64_t keep_ns = INT64_C(86400) * NS_PER_SEC; /* after the end, for people to see */

struct entry {
    struct map_handle handle;
    char *name;
    json_t *object;
    int64_t start_ns;
    int64_t end_ns;
    char *problem; /* the engine's refusal; NULL: the engine has or had the reservation */
    bool is_fed;
};

struct reservations {
    struct reservations_options options;
    struct entry *entries;
    struct cluster_watch *watch;
    struct loop_timer *status_timer;
    struct loop_timer *time_timer; /* of the next start, end or deletion */
    struct writes *writes;
    bool is_status_due;
    bool has_begun; /* reservations_feed was called: the engine has them */
};

static struct entry *reservation_find(const struct reservations *r, const char *name)
{
    struct entry *entry = NULL;

    map_find_text(handle, r->entries, name, entry);
    return entry;
}

static void entry_free(struct reservations *r, struct entry *entry)
{
    /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): uthash; it is in the map, once */
    map_remove(handle, r->entries, entry);
    json_decref(entry->object);
    free(entry->problem);
    free(entry->name);
    free(entry);
}

void reservations_touch(struct reservations *r)
{
    if (r->is_status_due || !r->entries || !r->has_begun)
        return;
    r->is_status_due = true;
    loop_timer_set(r->status_timer, settle_ns);
}

/* ---- objects to the engine ---- */

static int64_t time_at(const json_t *spec, const char *key)
{
    return stamp_or(json_text(spec, key), 0);
}

static const char *const *names_of(struct arena *a, const json_t *list, size_t *ret_n)
{
    const char **names = arena_alloc(a, (json_array_size(list) + 1) * sizeof(*names));

    for (size_t i = 0; i < json_array_size(list); i++)
        names[i] = json_string_value(json_array_get(list, i));
    *ret_n = json_array_size(list);
    return names;
}

static void read_reservation(struct arena *a, const struct entry *entry,
                             struct mete_reservation *ret)
{
    const json_t *spec = json_object_get(entry->object, "spec");

    *ret = (struct mete_reservation){
        .name = entry->name,
        .start_ns = entry->start_ns,
        .end_ns = entry->end_ns,
        .gpus = (uint32_t)json_int(spec, "gpus", 0),
        .is_maintenance = json_bool(spec, "maintenance", false),
    };
    ret->nodes = names_of(a, json_object_get(spec, "nodes"), &ret->n_nodes);
    ret->gpu_models = names_of(a, json_object_get(spec, "gpuModels"), &ret->n_gpu_models);
    ret->queues = names_of(a, json_object_get(spec, "queues"), &ret->n_queues);
    ret->users = names_of(a, json_object_get(spec, "users"), &ret->n_users);
    if (ret->gpus > 0)
        ret->gpu_uuids =
            names_of(a, json_at(entry->object, "status", "gpuUuids", NULL), &ret->n_gpu_uuids);
}

static bool is_over(const struct reservations *r, const struct entry *entry)
{
    return entry->end_ns <= loop_wall_ns(r->options.loop);
}

static void reservation_feed(struct reservations *r, struct entry *entry)
{
    struct arena *a;
    struct mete_reservation reservation;

    free(entry->problem);
    entry->problem = NULL;
    if (is_over(r, entry))
        return;
    a = arena_new();
    read_reservation(a, entry, &reservation);
    entry->is_fed = mete_reservation_set(r->options.engine, &reservation) == METE_OK;
    arena_free(a);
    if (entry->is_fed)
        return;
    entry->problem = mem_strdup(mete_last_error(r->options.engine));
    LOG(WARN, "reservation was refused", S("reservation", entry->name), S("error", entry->problem));
}

/* An obstacle to refused reservations may be gone. */
static void feed_refused(struct reservations *r)
{
    struct entry *entry;
    struct entry *next;

    map_each (handle, r->entries, entry, next) {
        if (!entry->is_fed)
            reservation_feed(r, entry);
    }
}

static void reservation_take_out(struct reservations *r, struct entry *entry)
{
    if (entry->is_fed) /* missing if the reservation had ended */
        (void)mete_reservation_remove(r->options.engine, entry->name);
    entry->is_fed = false;
}

/* When the object is deleted. */
static int64_t gone_ns(const struct entry *entry)
{
    int64_t at_ns = INT64_MAX;

    return __builtin_add_overflow(entry->end_ns, keep_ns, &at_ns) ? INT64_MAX : at_ns;
}

/* A cycle at each start and end tells the engine the time. */
static void reservations_wake_next(struct reservations *r)
{
    int64_t now_ns = loop_wall_ns(r->options.loop);
    int64_t next_ns = INT64_MAX;
    struct entry *entry;
    struct entry *next;

    map_each (handle, r->entries, entry, next) {
        const int64_t times_ns[] = {entry->start_ns, entry->end_ns, gone_ns(entry)};

        for (size_t i = 0; i < COUNT(times_ns); i++)
            if (times_ns[i] > now_ns && times_ns[i] < next_ns)
                next_ns = times_ns[i];
    }
    if (next_ns != INT64_MAX)
        loop_timer_set(r->time_timer, next_ns - now_ns);
}

static void reservations_changed(struct reservations *r)
{
    reservations_wake_next(r);
    reservations_touch(r);
    r->options.on_change(r->options.arg);
}

static void on_time(void *arg)
{
    reservations_changed(arg);
}

static void put_reservation(void *arg, const char *ns, const char *name, const json_t *object)
{
    struct reservations *r = arg;
    struct entry *entry = reservation_find(r, name);
    bool is_same;

    (void)ns;
    if (!entry) {
        entry = mem_alloc(sizeof(*entry));
        entry->name = mem_strdup(name);
        map_add(handle, r->entries, entry->name, strlen(entry->name), entry);
    }
    is_same = entry->object &&
              json_equal(json_object_get(entry->object, "spec"), json_object_get(object, "spec"));
    json_decref(entry->object);
    entry->object = json_deep_copy(object);
    if (is_same)
        return;
    entry->start_ns = time_at(json_object_get(object, "spec"), "startTime");
    entry->end_ns = time_at(json_object_get(object, "spec"), "endTime");
    if (!r->has_begun)
        return;
    reservation_feed(r, entry);
    feed_refused(r);
    reservations_changed(r);
}

static void remove_reservation(void *arg, const char *ns, const char *name, const json_t *last)
{
    struct reservations *r = arg;
    struct entry *entry = reservation_find(r, name);

    (void)ns;
    (void)last;
    if (!entry)
        return;
    reservation_take_out(r, entry);
    entry_free(r, entry);
    if (!r->has_begun)
        return;
    feed_refused(r);
    reservations_changed(r);
}

/* ---- the engine's picks to the objects ---- */

static json_t *names_tree(const char *const *names, size_t n)
{
    json_t *list = json_array();

    for (size_t i = 0; i < n; i++) {
        json_t *text = json_string(names[i]);

        (void)json_array_append_new(list, text ? text : json_null()); /* names are ASCII */
    }
    return list;
}

/* False: the engine does not have the reservation. */
static bool view_of(const struct reservations *r, const struct entry *entry,
                    struct mete_reservation_view *ret)
{
    for (size_t i = 0; i < mete_reservation_count(r->options.engine); i++)
        if (mete_reservation_view(r->options.engine, i, ret) == METE_OK &&
            text_equal(ret->name, entry->name))
            return true;
    return false;
}

static const char *phase_of(const struct reservations *r, const struct entry *entry)
{
    if (is_over(r, entry))
        return "ended";
    if (entry->problem)
        return "refused";
    return entry->start_ns <= loop_wall_ns(r->options.loop) ? "active" : "pending";
}

static json_t *reservation_status_tree(const struct reservations *r, const struct entry *entry)
{
    json_t *status = json_object();
    struct mete_reservation_view v;

    json_put_text(status, "phase", phase_of(r, entry));
    if (entry->problem && !is_over(r, entry))
        json_put_text(status, "message", entry->problem);
    if (!view_of(r, entry, &v))
        return status;
    json_put_int(status, "gpus", v.gpus_kept);
    json_put_int(status, "gpusLate", v.gpus_late);
    json_put(status, "nodes", names_tree(v.nodes, v.n_nodes));
    if (v.n_gpu_uuids > 0)
        json_put(status, "gpuUuids", names_tree(v.gpu_uuids, v.n_gpu_uuids));
    return status;
}

/* The watch tells the present state; a lost write is repeated. */
static void reservations_on_written(void *owner, const char *key, uint64_t number,
                                    const struct err *e)
{
    (void)number;
    if (!e)
        return;
    LOG(WARN, "write of a reservation was taken back, will be tried again", S("reservation", key),
        E(e));
    reservations_touch(owner);
}

static void reservation_write_status(struct reservations *r, struct entry *entry)
{
    const json_t *was = json_object_get(entry->object, "status");
    AUTO(json_freep) json_t *status = reservation_status_tree(r, entry);
    AUTO(json_freep) json_t *patch = json_object();
    const struct cluster_target target = {.resource = "reservations.mete.dev",
                                          .ns = "",
                                          .name = entry->name,
                                          .subresource = "status"};
    struct cluster_answer a;
    AUTO(err_freep) struct err *e = NULL;
    const char *key;
    json_t *value;

    if (was && json_equal(was, status))
        return;
    json_object_foreach ((json_t *)(uintptr_t)was, key, value)
        if (!json_object_get(status, key))
            json_put(status, key, json_null()); /* removes the member */
    json_put(patch, "status", json_incref(status));
    a = writes_begin(r->writes, reservations_on_written, entry->name, 0);
    e = writes_end(a, cluster_patch(r->options.cluster, &target, patch, a));
    if (e && err_code(e) != ERR_NOT_FOUND && err_code(e) != ERR_CONFLICT)
        LOG(WARN, "status of a reservation was not written", S("reservation", entry->name), E(e));
}

static void reservation_delete(const struct reservations *r, const struct entry *entry)
{
    const char *uid = json_text_at(entry->object, "metadata", "uid", NULL);
    const struct cluster_target target = {
        .resource = "reservations.mete.dev", .ns = "", .name = entry->name};
    struct cluster_answer a = writes_begin(r->writes, reservations_on_written, entry->name, 0);
    AUTO(err_freep)
    struct err *e = writes_end(a, cluster_remove(r->options.cluster, &target, uid, a));

    if (e && err_code(e) != ERR_NOT_FOUND && err_code(e) != ERR_CONFLICT)
        LOG(WARN, "ended reservation was not deleted", S("reservation", entry->name), E(e));
}

static void on_status(void *arg)
{
    struct reservations *r = arg;
    struct entry *entry;
    struct entry *next;

    r->is_status_due = false;
    map_each (handle, r->entries, entry, next) {
        if (gone_ns(entry) <= loop_wall_ns(r->options.loop))
            reservation_delete(r, entry);
        else
            reservation_write_status(r, entry);
    }
}

static int compare_names(const void *a, const void *b)
{
    return strcmp((*(struct entry *const *)a)->name, (*(struct entry *const *)b)->name);
}

/* By name, so that the engine's picks do not depend on the order of the watch. */
void reservations_feed(struct reservations *r)
{
    VEC(struct entry *) all = {0};
    struct entry *entry;
    struct entry *next;

    r->has_begun = true;
    map_each (handle, r->entries, entry, next) {
        vec_add(&all, entry);
    }
    if (all.n > 1)
        qsort(all.at, all.n, sizeof(struct entry *), compare_names);
    VEC_EACH (&all, each) {
        reservation_feed(r, *each);
    }
    vec_done(&all);
    reservations_wake_next(r);
    reservations_touch(r);
}

static void on_synced(void *arg)
{
    struct reservations *r = arg;

    r->options.on_synced(r->options.arg);
}

struct err *reservations_new(const struct reservations_options *o, struct reservations **ret)
{
    struct reservations *r = mem_alloc(sizeof(*r));
    const struct cluster_listener listener = {put_reservation, remove_reservation, r, on_synced};
    struct err *e;

    r->options = *o;
    r->status_timer = loop_timer_new(o->loop, on_status, r);
    r->time_timer = loop_timer_new(o->loop, on_time, r);
    r->writes = writes_new(r);
    e = cluster_watch(o->cluster, "mete.dev", "reservations", &listener, &r->watch);
    if (e) {
        reservations_free(r);
        return e;
    }
    *ret = r;
    return NULL;
}

void reservations_free(struct reservations *r)
{
    if (!r)
        return;
    loop_timer_free(r->status_timer);
    loop_timer_free(r->time_timer);
    cluster_unwatch(r->options.cluster, r->watch);
    while (r->entries)
        /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): uthash; it goes out of the map */
        entry_free(r, r->entries);
    writes_free(r->writes);
    free(r);
}
