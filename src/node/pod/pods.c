/* pods.c - the set of a node's pods, and the events that change them */

#include <inttypes.h>

#include "base/list.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/retry.h"
#include "base/stamp.h"
#include "kinds/pod/pod_state.h"
#include "kinds/pod/pod_view.h"
#include "kinds/slurm/slurm_job.h"
#include "model/device.h"
#include "model/names.h"
#include "node/net/pod_nets.h"
#include "node/pod/array_jobs.h"
#include "node/pod/pod.h"
#include "node/pod/prepare.h"

static const int64_t QUIET_NS = NS_PER_SEC;
static const int64_t BACKOFF_FIRST_NS = 10 * NS_PER_SEC;
static const int64_t BACKOFF_LAST_NS = 300 * NS_PER_SEC;

/* ---- queries ---- */

struct pod *pods_find(struct pods *set, const char *uid)
{
    struct pod *p = NULL;

    map_find_text(handle, set->pods, uid, p);
    return p;
}

static void step_waiting(struct pods *set)
{
    struct pod *p = NULL;
    struct pod *next = NULL;

    map_each (handle, set->pods, p, next) {
        for (size_t i = 0; i < p->n_containers; i++)
            if (p->containers[i].state == CONTAINER_WAITING && p->containers[i].wait_reason &&
                json_array_size(p->containers[i].gpus) > 0 &&
                !text_equal(p->containers[i].wait_reason, "CrashLoopBackOff"))
                p->containers[i].not_before_ns = 0;
        pod_step(p);
    }
}

char *pods_log_dir(const struct pods *set, const char *uid, const char *container,
                   int64_t *ret_attempt, bool *ret_is_live)
{
    struct pod *p = NULL;
    struct container *c = NULL;

    map_find_text(handle, set->pods, uid, p);
    c = p ? pod_container(p, container) : NULL;
    if (!c)
        return NULL;
    *ret_attempt = c->state == CONTAINER_WAITING ? c->attempt - 1 : c->attempt;
    *ret_is_live = container_is_live(c) || (c->state == CONTAINER_WAITING && p->life != POD_ENDED);
    return pod_log_dir(p);
}

const char *pods_node(const struct pods *set)
{
    return set->o.node;
}

char *pods_output_path(const struct pods *set, const char *uid)
{
    struct pod *p = NULL;

    map_find_text(handle, set->pods, uid, p);
    return p && p->object ? pod_output_path(p) : NULL;
}

static void tell_log(const struct pod *p, const struct container *c,
                     void (*fn)(void *arg, const char *id, const char *log, const char *words),
                     void *arg)
{
    AUTO_FREE char *id = container_id(p, c, c->attempt);
    AUTO_FREE char *log = container_log_path(p, c, c->attempt);
    AUTO_FREE char *words = container_words_path(p, c);

    fn(arg, id, log, words);
}

void pods_each_log(const struct pods *set,
                   void (*fn)(void *arg, const char *id, const char *log, const char *words),
                   void *arg)
{
    for (const struct pod *p = set->pods; p; p = p->handle.next) {
        for (size_t i = 0; i < p->n_containers; i++) {
            const struct container *c = &p->containers[i];

            if (c->state == CONTAINER_RUNNING && !pod_is_host_process(p) && !pod_is_batch(p))
                tell_log(p, c, fn, arg);
        }
    }
}

int64_t pods_log_previous(const struct pods *set, const char *uid, const char *container)
{
    struct pod *p = NULL;
    struct container *c = NULL;

    map_find_text(handle, set->pods, uid, p);
    c = p ? pod_container(p, container) : NULL;
    return c ? c->attempt - 1 : -1;
}

char *pods_running_id(const struct pods *set, const char *uid, const char *container)
{
    struct pod *p = NULL;
    struct container *c = NULL;

    map_find_text(handle, set->pods, uid, p);
    c = p ? pod_container(p, container) : NULL;
    if (!c || c->state != CONTAINER_RUNNING)
        return NULL;
    return container_id(p, c, c->attempt);
}

char **pods_running_ids(const struct pods *set, const char *uid, size_t *ret_count)
{
    struct pod *p = NULL;
    VEC(char *) ids = {0};

    map_find_text(handle, set->pods, uid, p);
    for (size_t i = 0; p && i < p->n_containers; i++)
        if (p->containers[i].state == CONTAINER_RUNNING)
            vec_add(&ids, container_id(p, &p->containers[i], p->containers[i].attempt));
    *ret_count = ids.n;
    vec_add(&ids, NULL);
    return ids.at;
}

/* ---- a pod's containers ---- */

static void on_pod_timer(void *arg)
{
    pod_step(arg);
}

static struct pod *pod_new(struct pods *set, const char *uid, const char *ns, const char *name)
{
    struct pod *p = mem_alloc(sizeof(*p));

    *p = (struct pod){
        .set = set, .uid = mem_strdup(uid), .ns = mem_strdup(ns), .name = mem_strdup(name)};
    p->timer = loop_timer_new(set->o.loop, on_pod_timer, p);
    map_add(handle, set->pods, p->uid, strlen(p->uid), p);
    return p;
}

/* The back-off of the next crash, if all attempts before crashed. */
static int64_t backoff_of(int64_t attempt)
{
    return retry_pause_after(attempt, BACKOFF_FIRST_NS, BACKOFF_LAST_NS);
}

static const json_t *container_status(const json_t *object, const char *name)
{
    static const char *const lists[] = {"containerStatuses", "initContainerStatuses",
                                        "ephemeralContainerStatuses"};
    const json_t *item = NULL;
    size_t i = 0;

    for (size_t k = 0; k < COUNT(lists); k++)
        json_array_foreach (json_at(object, "status", lists[k], NULL), i, item)
            if (text_equal(json_text(item, "name"), name))
                return item;
    return NULL;
}

static void copy_end(const struct container_end *from, struct container_end *to)
{
    container_end_done(to);
    *to = *from;
    to->reason = from->reason ? mem_strdup(from->reason) : NULL;
    to->message = from->message ? mem_strdup(from->message) : NULL;
}

/*
 * Restores from the pod's status what this machine has lost: the end of the attempt before; and an
 * attempt without a trace here, which may have run and is not started again.
 */
static void container_recall(struct pod *p, struct container *c, bool was_found)
{
    const json_t *status = container_status(p->object, c->name);
    const json_t *state = json_object_get(status, "state");
    int64_t count = json_int(status, "restartCount", 0);
    const char *id = json_text(status, "containerID");

    if (c->attempt <= count + 1)
        container_end_read(json_at(status, "lastState", "terminated", NULL), &c->last);
    if (c->attempt == count + 1 && json_object_get(state, "terminated"))
        container_end_read(json_object_get(state, "terminated"), &c->last);
    c->backoff_ns = backoff_of(c->attempt);
    if (was_found || !id || id[0] == '\0')
        return;
    c->attempt = count;
    c->backoff_ns = backoff_of(count);
    if (json_object_get(state, "terminated")) {
        container_end_read(json_object_get(state, "terminated"), &c->end);
        container_move(c, CONTAINER_ENDED);
    } else if (json_object_get(state, "waiting")) {
        c->attempt = c->last.is_set ? c->last.attempt + 1 : count;
    } else {
        const struct runtime_container lost = {
            .state = RUNTIME_ENDED, .exit = {.code = RUNTIME_CODE_UNKNOWN, .was_started = true}};

        container_changed(p, c, &lost);
    }
}

static json_t *gpus_of(const json_t *object, const char *container)
{
    const char *text = json_text_at(object, "metadata", "annotations", POD_DEVICES, NULL);
    AUTO(json_freep) json_t *devices = NULL;
    AUTO(err_freep) struct err *e = text ? json_parse(str_of(text), &devices) : NULL;

    if (e)
        LOG(ERROR, "annotation mete.dev/devices cannot be read",
            S("pod", json_text_at(object, "metadata", "name", NULL)), E(e));
    return json_incref(json_at(devices, "containers", container, NULL));
}

static void take_container(struct container *to, struct container *from)
{
    char *name = to->name;
    bool is_init = to->is_init;
    bool is_sidecar = to->is_sidecar;
    bool is_ephemeral = to->is_ephemeral;
    json_t *gpus = to->gpus;

    *to = *from;
    to->name = name;
    to->is_init = is_init;
    to->is_sidecar = is_sidecar;
    to->is_ephemeral = is_ephemeral;
    to->gpus = gpus;
    free(from->name);
    json_decref(from->gpus);
    *from = (struct container){0};
}

static void free_found(struct container *found, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        container_end_done(&found[i].end);
        container_end_done(&found[i].last);
        json_decref(found[i].gpus);
        free(found[i].wait_message);
        container_image_done(&found[i]);
        free(found[i].name);
    }
    free(found);
}

static const char *const container_lists[] = {"initContainers", "containers",
                                              "ephemeralContainers"};

enum {
    LIST_INIT,
    LIST_EPHEMERAL = 2
};

/* Adds a container of the list `k`; its place has been allocated. */
static struct container *add_container(struct pod *p, size_t k, const json_t *item)
{
    struct container *c = &p->containers[p->n_containers++];

    *c = (struct container){.name = mem_strdup(text_or_empty(json_text(item, "name"))),
                            .is_init = k == LIST_INIT,
                            .is_ephemeral = k == LIST_EPHEMERAL,
                            .is_sidecar = k == LIST_INIT && container_is_sidecar(item)};
    if (!c->is_ephemeral)
        c->gpus = gpus_of(p->object, c->name);
    return c;
}

/*
 * The room for a pod's containers. Probes, hooks and pulls point to containers, which therefore
 * never move: ephemeral containers that come later have their room from the start.
 */
static size_t container_room(const struct pod *p)
{
    const json_t *spec = json_object_get(p->object, "spec");

    return json_array_size(json_object_get(spec, container_lists[0])) +
           json_array_size(json_object_get(spec, container_lists[1])) +
           (pod_is_host_process(p) ? 1 : POD_EPHEMERAL_MAX);
}

/* Makes the containers of the spec, init containers first; adopted containers keep their state. */
static void set_containers(struct pod *p)
{
    const json_t *spec = json_object_get(p->object, "spec");
    struct container *found = p->containers;
    size_t n_found = p->n_containers;
    const json_t *item = NULL;
    size_t i = 0;

    p->room = container_room(p);
    p->containers = mem_alloc(p->room * sizeof(*p->containers));
    p->n_containers = 0;
    for (size_t k = 0; k < COUNT(container_lists); k++)
        json_array_foreach (json_object_get(spec, container_lists[k]), i, item) {
            struct container *c = p->n_containers < p->room ? add_container(p, k, item) : NULL;
            bool was_found = false;

            if (!c)
                continue;
            for (size_t f = 0; f < n_found; f++)
                if (text_equal(found[f].name, c->name)) {
                    take_container(c, &found[f]);
                    was_found = true;
                }
            container_recall(p, c, was_found);
            container_remember(p, c, container_status(p->object, c->name));
            if (c->state == CONTAINER_ENDED)
                container_read_words(p, c);
        }
    free_found(found, n_found);
}

/* Adds new ephemeral containers. The pod is prepared anew: they may name other Secrets and users.
 */
static void add_ephemerals(struct pod *p)
{
    const json_t *item = NULL;
    size_t i = 0;

    json_array_foreach (json_at(p->object, "spec", container_lists[LIST_EPHEMERAL], NULL), i,
                        item) {
        if (pod_container(p, text_or_empty(json_text(item, "name"))) || p->n_containers == p->room)
            continue;
        (void)add_container(p, LIST_EPHEMERAL, item);
        if (p->preparation == PREP_DONE)
            p->preparation = PREP_NONE;
    }
}

/* ---- adoption ---- */

static void on_older_removed(void *arg, const struct err *e)
{
    (void)arg;
    if (e)
        LOG(WARN, "older attempt could not be removed", E(e));
}

/* Adopts the newest attempt of a container; keeps the end of the attempt before. */
static void adopt_attempt(struct pods *set, struct pod *p, const struct runtime_container *found)
{
    const char *name = json_text(found->intent, "container");
    int64_t attempt = json_int(found->intent, "attempt", 0);
    struct container *c = pod_container(p, name);
    struct runtime *r = set->o.runtime;

    if (!c) {
        p->containers = mem_realloc(p->containers, (p->n_containers + 1) * sizeof(*c));
        c = &p->containers[p->n_containers++];
        *c = (struct container){.name = mem_strdup(name),
                                .is_init = json_bool(found->intent, "init", false),
                                .attempt = attempt,
                                .stop_signal = (int)json_int(found->intent, "stopSignal", 0)};
        c->gpus = json_incref(json_object_get(found->intent, "gpus"));
    } else if (attempt > c->attempt) {
        AUTO_FREE char *old = container_id(p, c, c->attempt);

        if (c->state == CONTAINER_ENDED)
            copy_end(&c->end, &c->last);
        r->ops->remove(r->self, old, on_older_removed, NULL);
        c->attempt = attempt;
        c->state = CONTAINER_WAITING; /* the newer attempt begins anew */
    } else {
        r->ops->remove(r->self, found->id, on_older_removed, NULL);
        return;
    }
    container_image_adopt(p, c, found->intent);
    container_changed(p, c, found);
}

void pods_adopt(struct pods *set, const struct runtime_container *found, size_t n)
{
    prepare_adopt_ranges(set->o.dir, set->ranges);
    for (size_t i = 0; i < n; i++) {
        const json_t *intent = found[i].intent;
        const char *uid = json_text(intent, "uid");
        const char *ns = json_text(intent, "namespace");
        const char *name = json_text(intent, "pod");
        struct pod *p = uid ? pods_find(set, uid) : NULL;

        if (found[i].state != RUNTIME_ENDED) /* ended attempts are many: those of finished pods */
            LOG(INFO, "container found", S("id", found[i].id), U("state", found[i].state));
        if (!uid || !json_text(intent, "container"))
            continue;
        if (!p)
            p = pod_new(set, uid, ns ? ns : "", name ? name : "");
        p->tolerated_ns = json_int(intent, "toleratedNs", 0);
        adopt_attempt(set, p, &found[i]);
    }
    pods_tell_shares(set);
    pods_keep_mps(set);
}

/* ---- events of the runtime ---- */

static void pods_on_change(void *arg, const struct runtime_container *found)
{
    struct pods *set = arg;
    const char *uid = json_text(found->intent, "uid");
    struct pod *p = uid ? pods_find(set, uid) : NULL;
    const char *name = json_text(found->intent, "container");
    struct container *c = p && name ? pod_container(p, name) : NULL;
    bool is_freed = false;

    if (!c || c->attempt != json_int(found->intent, "attempt", -1))
        return;
    is_freed = found->state == RUNTIME_ENDED && json_array_size(c->gpus) > 0;
    container_changed(p, c, found);
    if (found->state == RUNTIME_ENDED)
        LOG(INFO, "container ended", S("id", found->id), U("code", found->exit.code));
    pod_step(p);
    pods_tell(set);
    if (is_freed) /* another pod may wait for its gpus */
        step_waiting(set);
}

/* ---- objects of the server ---- */

static struct err *check_names(const json_t *object)
{
    const json_t *meta = json_object_get(object, "metadata");
    const char *uid = json_text(meta, "uid");
    const char *ns = json_text(meta, "namespace");
    const char *name = json_text(meta, "name");
    const json_t *item = NULL;
    size_t i = 0;

    TRY(name_check_label(uid ? uid : ""));
    TRY(name_check_label(ns ? ns : ""));
    TRY(name_check_subdomain(name ? name : ""));
    for (size_t k = 0; k < COUNT(container_lists); k++)
        json_array_foreach (json_at(object, "spec", container_lists[k], NULL), i, item) {
            const char *container = json_text(item, "name");

            TRY(name_check_label(container ? container : ""));
        }
    return NULL;
}

/* The signal before the deadline, which is `left_ns` away. */
static void pod_read_signal(struct pod *p, int64_t left_ns)
{
    struct str rest =
        str_of(json_text_at(p->object, "metadata", "annotations", SLURM_SIGNAL_ANNOTATION, NULL));
    int64_t number = 0;
    int64_t before_s = 0;
    AUTO(err_freep) struct err *e = NULL;
    AUTO(err_freep) struct err *other = NULL;

    if (!rest.at)
        return;
    e = num_parse_int64(str_cut(&rest, ' '), 1, 64, &number);
    other = num_parse_int64(str_cut(&rest, ' '), 0, UINT16_MAX, &before_s);
    p->is_signal_for_steps = rest.at != NULL;
    if (e || other)
        return; /* our own text */
    left_ns -= before_s * NS_PER_SEC;
    p->signal = (int)number;
    p->signal_ns = pod_now_ns(p) + (left_ns > 0 ? left_ns : 0);
}

/* "SECONDS[ STAMP]": SLURM_SUSPENDED_ANNOTATION. */
static void pod_read_suspension(struct pod *p)
{
    struct str rest = str_of(
        json_text_at(p->object, "metadata", "annotations", SLURM_SUSPENDED_ANNOTATION, NULL));
    AUTO(err_freep) struct err *e = NULL;

    p->was_suspended = p->was_suspended || rest.at;
    p->suspended_s = 0;
    if (rest.at)
        e = num_parse_int64(str_cut(&rest, ' '), 0, INT32_MAX, &p->suspended_s);
    p->is_suspended = !e && rest.at && rest.size > 0;
}

/* The time by which the pod may exceed its limit (SLURM_OVER_ANNOTATION); -1: any. */
static int64_t pod_over_ns(const struct pod *p)
{
    const char *text =
        json_text_at(p->object, "metadata", "annotations", SLURM_OVER_ANNOTATION, NULL);
    int64_t minutes = 0;

    if (text)
        err_free(num_parse_int64(str_of(text), 0, SLURM_OVER_ENDLESS, &minutes)); /* our own text */
    return minutes == SLURM_OVER_ENDLESS ? -1 : minutes * 60 * NS_PER_SEC;
}

/* A suspended pod has no deadline; the time that it was suspended does not count. */
static void pod_read_deadline(struct pod *p)
{
    int64_t deadline_s = json_int(json_object_get(p->object, "spec"), "activeDeadlineSeconds", 0);
    int64_t over_ns = pod_over_ns(p);
    int64_t left_ns;

    pod_read_suspension(p);
    p->deadline_ns = 0;
    p->signal_ns = 0;
    if (deadline_s <= 0 || deadline_s >= INT64_MAX / NS_PER_SEC / 4 || p->is_suspended)
        return;
    left_ns =
        p->start_ns + (deadline_s + p->suspended_s) * NS_PER_SEC - loop_wall_ns(p->set->o.loop);
    pod_read_signal(p, left_ns);
    if (over_ns < 0)
        return;
    left_ns += over_ns;
    p->deadline_ns = pod_now_ns(p) + (left_ns > 0 ? left_ns : 0);
}

static void pod_known(struct pod *p)
{
    const json_t *status = json_object_get(p->object, "status");
    const char *phase = json_text(status, "phase");
    const char *started = json_text(status, "startTime");
    int64_t wall_ns = loop_wall_ns(p->set->o.loop);
    int64_t now_ns = pod_now_ns(p);

    p->start_ns = stamp_or(started, wall_ns);
    p->quiet_ns = now_ns + QUIET_NS;
    set_containers(p);
    if (text_equal(phase, "Succeeded") || text_equal(phase, "Failed")) {
        pod_move(p, POD_ENDED);
        p->is_final_sent = true;
    }
    pod_read_deadline(p);
    /* The node was down when the signal was due, or has sent it. */
    p->is_signalled = started && p->signal_ns > 0 && p->signal_ns <= pod_now_ns(p);
}

/* Did labels or annotations change, which downwardAPI volumes show? */
static bool shows_differently(const json_t *before, const json_t *after)
{
    static const char *const maps[] = {"labels", "annotations"};

    for (size_t i = 0; i < 2; i++) {
        const json_t *was = json_at(before, "metadata", maps[i], NULL);
        const json_t *is = json_at(after, "metadata", maps[i], NULL);

        if (was != is && !(was && is && json_equal(was, is)))
            return true;
    }
    return false;
}

/* The node ended the pod before a restart of this process. */
static void pod_end_again(struct pod *p)
{
    const json_t *status = json_object_get(p->object, "status");
    const char *reason = json_text(status, "reason");
    const char *why = json_text(status, "message");

    if (text_equal(reason, "Evicted"))
        pod_evict(p, why ? why : "", POD_EVICTION_GRACE_NS);
    else if (text_equal(reason, POD_GPU_LOST))
        pod_end_as(p, POD_GPU_LOST, why ? why : "", pod_grace_ns(p));
}

static bool is_suspended_differently(const json_t *before, const json_t *after)
{
    static const char key[] = SLURM_SUSPENDED_ANNOTATION;

    return !text_equal(json_text_at(before, "metadata", "annotations", key, NULL),
                       json_text_at(after, "metadata", "annotations", key, NULL));
}

void pods_put(struct pods *set, const json_t *object)
{
    const json_t *meta = json_object_get(object, "metadata");
    AUTO(err_freep) struct err *e = check_names(object);
    struct pod *p = NULL;
    bool is_new = false;
    bool is_relabelled = false;
    bool is_limit_new = false;

    if (e) {
        LOG(ERROR, "pod refused", S("pod", json_text(meta, "name")), E(e));
        return;
    }
    p = pods_find(set, json_text(meta, "uid"));
    if (p && p->record == RECORD_GONE)
        return; /* an outdated object */
    if (!p)
        p = pod_new(set, json_text(meta, "uid"), json_text(meta, "namespace"),
                    json_text(meta, "name"));
    is_new = !p->object;
    is_relabelled = !is_new && shows_differently(p->object, object);
    is_limit_new = !is_new && json_int_at(p->object, "spec", "activeDeadlineSeconds", NULL) !=
                                  json_int_at(object, "spec", "activeDeadlineSeconds", NULL);
    is_limit_new = is_limit_new || (!is_new && is_suspended_differently(p->object, object));
    json_decref(p->object);
    p->object = json_incref((json_t *)(uintptr_t)object); /* never changed */
    if (is_new)
        pod_known(p);
    else if (is_limit_new)
        pod_read_deadline(p);
    if (!is_new)
        add_ephemerals(p);
    if (is_new)
        pod_end_again(p);
    if (is_relabelled)
        pod_refresh_again(p);
    if (set->o.nets)
        pod_nets_describe(set->o.nets, object);
    pod_step(p);
}

void pods_removed(struct pods *set, const json_t *object)
{
    const char *uid = json_text_at(object, "metadata", "uid", NULL);
    struct pod *p = uid ? pods_find(set, uid) : NULL;

    if (!p)
        return;
    pod_record_move(p, RECORD_GONE);
    pod_step(p);
}

static bool has_pod(void *arg, const char *uid)
{
    return pods_find(arg, uid) != NULL;
}

void pods_synced(struct pods *set)
{
    struct pod *p = NULL;
    struct pod *next = NULL;

    set->is_synced = true;
    map_each (handle, set->pods, p, next)
        if (!p->object && p->record != RECORD_GONE) {
            LOG(WARN, "pod is unknown to the server", S("pod", p->name), S("uid", p->uid));
            pod_record_move(p, RECORD_GONE);
            pod_step(p);
        }
    if (set->o.nets)
        pod_nets_keep(set->o.nets, has_pod, set);
}

static bool is_over(const struct pod *p)
{
    const char *phase = json_text_at(p->object, "status", "phase", NULL);

    return text_equal(phase, "Succeeded") || text_equal(phase, "Failed");
}

static bool holds_devices(const struct pod *p)
{
    bool has_devices = false;

    for (size_t i = 0; i < p->n_containers && !has_devices; i++)
        has_devices = json_array_size(p->containers[i].gpus) > 0;
    return has_devices && !is_over(p);
}

/* The first by name: any will do, but always the same. */
char *pods_slurm_of(const struct pods *set, uint32_t uid)
{
    struct pod *p = NULL;
    struct pod *next = NULL;
    char *first = NULL;

    map_each (handle, set->pods, p, next) {
        const json_t *user = json_at(p->object, "spec", "securityContext", "runAsUser", NULL);
        char *key;

        if (is_over(p) || !json_is_integer(user) || json_integer_value(user) != uid ||
            !json_text_at(p->object, "metadata", "annotations", SLURM_ENVIRONMENT_ANNOTATION, NULL))
            continue;
        key = mem_format("%s/%s", p->ns, p->name);
        if (first && strcmp(first, key) < 0) {
            free(key);
            continue;
        }
        free(first);
        first = key;
    }
    return first;
}

void pods_each_device(const struct pods *set,
                      void (*fn)(void *arg, const char *pod, const char *device), void *arg)
{
    struct pod *p = NULL;
    struct pod *next = NULL;

    map_each (handle, set->pods, p, next) {
        AUTO_FREE char *key = holds_devices(p) ? mem_format("%s/%s", p->ns, p->name) : NULL;

        for (size_t i = 0; key && i < p->n_containers; i++)
            for (size_t k = 0; k < json_array_size(p->containers[i].gpus); k++)
                fn(arg, key, json_string_value(json_array_get(p->containers[i].gpus, k)));
    }
}

void pods_listen(struct pods *set, void (*fn)(void *arg), void *arg)
{
    vec_add(&set->listeners, (struct pods_listener){fn, arg});
}

void pods_unlisten(struct pods *set, const void *arg)
{
    for (size_t i = set->listeners.n; i > 0; i--)
        if (set->listeners.at[i - 1].arg == arg)
            vec_remove(&set->listeners, i - 1);
}

void pods_tell(const struct pods *set)
{
    for (size_t i = 0; i < set->listeners.n; i++)
        set->listeners.at[i].fn(set->listeners.at[i].arg);
}

void pods_gpus_changed(struct pods *set)
{
    pods_keep_mps(set);
    step_waiting(set);
}

/* ---- start and end ---- */

struct pods *pods_new(const struct pods_options *o)
{
    struct pods *set = mem_alloc(sizeof(*set));

    set->o = *o;
    set->array_jobs = array_jobs_new();
    set->events = pod_events_new(o->loop, o->client, o->node);
    set->ranges = userns_new();
    pods_begin_disk(set);
    if (o->is_shift_missing)
        userns_share(set->ranges);
    set->watches = ref_watches_new(&(const struct ref_watches_options){
        .loop = o->loop, .client = o->client, .changed = pods_refresh, .arg = set});
    o->runtime->on_change = pods_on_change;
    o->runtime->arg = set;
    return set;
}

void pods_free(struct pods *set)
{
    struct pod *p = NULL;
    struct pod *next = NULL;
    struct fetch *f = NULL;
    struct pending *w = NULL;

    if (!set)
        return;
    array_jobs_free(set->array_jobs);
    set->o.runtime->on_change = NULL;
    set->o.mps = NULL; /* daemons go on, as containers do */
    LIST_EACH (set->fetches, f) {
        client_cancel(f->call);
        fetch_free(f);
    }
    LIST_EACH (set->pending, w) /* answers of the runtime find no pods */
        pending_free(w);
    map_each (handle, set->pods, p, next)
        pod_free(p);
    ref_watches_free(set->watches);
    pod_events_free(set->events);
    vec_done(&set->listeners);
    userns_free(set->ranges);
    loop_timer_free(set->disk_timer);
    loop_timer_free(set->fence);
    free(set);
}
