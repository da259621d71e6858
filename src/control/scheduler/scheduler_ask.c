/* scheduler_ask.c - a pod's requests, as the engine takes them */
#include <inttypes.h>

#include "base/arena.h"
#include "base/fnv.h"
#include "base/stamp.h"
#include "control/scheduler/scheduler_private.h"
#include "kinds/object/requeue.h"
#include "kinds/pod/pod_claims.h"
#include "kinds/pod/pod_state.h"
#include "kinds/pod/pod_volume_claims.h"
#include "kinds/queue.h"
#include "kinds/slurm/slurm_job.h"

enum {
    PORTS_MAX = 64 /* distinct host ports of one pod */
};

/* Limit of the engine; more than any node has. */
#define AMOUNT_MAX (INT64_C(1) << 60)

/* json_put_text and its like keep insertion order, so equal specs have equal texts. */
uint64_t scheduler_ask_hash(const json_t *pod)
{
    AUTO_FREE char *spec = json_format(json_object_get(pod, "spec"));
    const char *claims = json_text_at(pod, "metadata", "annotations", POD_CLAIMS, NULL);
    AUTO_FREE char *volumes = pod_volumes_node(pod);
    uint64_t hash = fnv_text(FNV_START, spec);
    struct topology_level levels[TOPOLOGY_MAX];
    size_t n = topology_read(pod, NULL, levels);

    hash = fnv_text(hash, pod_has_claims(pod) ? text_or_empty(claims) : "");
    hash = fnv_text(hash, volumes);
    hash = fnv_text(hash, topology_is_linked(pod) ? "linked" : "");
    hash = fnv_text(hash, scheduler_queue_of(NULL, pod));
    hash = fnv_text(hash, scheduler_reservation_of(pod));
    hash = fnv_number(hash, (uint64_t)scheduler_expected_ns(pod));
    hash = fnv_number(hash, (uint64_t)queue_priority(pod));
    for (size_t i = 0; i < n; i++)
        hash = fnv_text(fnv_text(hash, levels[i].is_required ? "!" : "?"), levels[i].key);
    return hash;
}

static size_t list_ports(struct arena *a, const json_t *pod, struct mete_amount *ret)
{
    json_t *containers = json_at(pod, "spec", "containers", NULL);
    bool has_more = false;
    size_t n = 0;
    json_t *container;
    json_t *port;
    size_t i;
    size_t k;

    json_array_foreach (containers, i, container) {
        json_array_foreach (json_object_get(container, "ports"), k, port) {
            const char *protocol = json_text(port, "protocol");
            int64_t number = json_int(port, "hostPort", 0);
            const char *name;
            bool is_new = true;

            has_more |= number != 0 && n == PORTS_MAX;
            if (number == 0 || n == PORTS_MAX)
                continue;
            name = arena_format(a, "hostport/%s/%" PRId64, protocol ? protocol : "TCP", number);
            for (size_t at = 0; at < n; at++)
                is_new = is_new && !text_equal(ret[at].resource, name);
            if (is_new)
                ret[n++] = (struct mete_amount){name, 1};
        }
    }
    if (has_more) /* as below: no node has this resource */
        ret[n++] = (struct mete_amount){"mete.dev/too-many-host-ports", 1};
    return n;
}

static void list_requests(const struct scheduler *s, struct arena *a, const json_t *pod,
                          struct mete_pod_set *set)
{
    struct pod_asks asked = pod_asks(pod);
    const struct mete_amount fixed[] = {
        {"cpu", asked.cpu_milli},
        {"memory", asked.memory_bytes},
        {"ephemeral-storage", asked.ephemeral_bytes},
        {"pods", 1},
    };
    struct mete_amount *list = arena_alloc(a, (8 + asked.n_others + PORTS_MAX) * sizeof(*list));
    const char *partition =
        json_text_at(pod, "metadata", "annotations", SLURM_PARTITION_CPUS_ANNOTATION, NULL);
    size_t n = 0;

    if (partition && strchr(partition, '/'))
        list[n++] = (struct mete_amount){arena_format(a, SCHED_PARTITION_CPUS "%s", partition),
                                         (asked.cpu_milli + 999) / 1000};
    for (size_t i = 0; i < 4; i++)
        if (fixed[i].amount > 0)
            list[n++] = fixed[i];
    for (size_t i = 0; i < asked.n_others; i++)
        list[n++] = (struct mete_amount){asked.others[i].name, asked.others[i].amount};
    if (asked.has_more_others) /* a request that is not counted cannot be promised: no node has this
                                  resource */
        list[n++] = (struct mete_amount){"mete.dev/too-many-resources", 1};
    if (!sched_devices_ask(s, a, &asked.gpus, set))
        list[n++] = (struct mete_amount){"mete.dev/too-many-devices", 1}; /* likewise */
    n += list_ports(a, pod, list + n);
    for (size_t i = 0; i < n; i++)
        if (list[i].amount > AMOUNT_MAX)
            list[i].amount = AMOUNT_MAX;
    set->requests = list;
    set->n_requests = n;
}

static void list_selector(struct arena *a, const json_t *pod, struct mete_pod_set *set)
{
    json_t *all = json_at(pod, "spec", "nodeSelector", NULL);
    struct mete_label *list = arena_alloc(a, (json_object_size(all) + 1) * sizeof(*list));
    const char *key;
    json_t *value;

    json_object_foreach (all, key, value)
        list[set->n_selector++] =
            (struct mete_label){key, json_is_string(value) ? json_string_value(value) : ""};
    set->selector = list;
}

/* A pod that shares devices of a claim goes where they are, and a pod to the node of its volumes.
 * scheduler_queue.c holds a pod whose devices and volumes are on different nodes. */
static void list_node(struct arena *a, const json_t *pod, struct mete_pod_set *set)
{
    AUTO_FREE char *node = pod_has_claims(pod) ? pod_claims_node(pod) : NULL;
    AUTO_FREE char *volumes = pod_volumes_node(pod);

    if (*volumes)
        set->node = arena_strdup(a, volumes);
    if (node && *node)
        set->node = arena_strdup(a, node);
}

static void list_tolerations(struct arena *a, const json_t *pod, struct mete_pod_set *set)
{
    json_t *all = json_at(pod, "spec", "tolerations", NULL);
    struct mete_toleration *list = arena_alloc(a, (json_array_size(all) + 1) * sizeof(*list));
    json_t *t;
    size_t i;

    json_array_foreach (all, i, t) {
        const char *effect = json_text(t, "effect");

        list[set->n_tolerations++] = (struct mete_toleration){
            .key = json_text(t, "key"),
            .value = json_text(t, "value"),
            .is_exists = text_equal(json_text(t, "operator"), "Exists"),
            .any_effect = !effect || !*effect,
            .effect = text_equal(effect, "NoExecute")          ? METE_NO_EXECUTE
                      : text_equal(effect, "PreferNoSchedule") ? METE_PREFER_NO_SCHEDULE
                                                               : METE_NO_SCHEDULE,
        };
    }
    set->tolerations = list;
}

static bool tolerates_same(const struct mete_pod_set *a, const struct mete_pod_set *b)
{
    for (size_t i = 0; i < a->n_tolerations; i++) {
        const struct mete_toleration *one = &a->tolerations[i];
        const struct mete_toleration *other = &b->tolerations[i];

        if (!text_equal(one->key, other->key) || !text_equal(one->value, other->value) ||
            one->is_exists != other->is_exists || one->any_effect != other->any_effect ||
            one->effect != other->effect)
            return false;
    }
    return true;
}

static bool selects_same(const struct mete_pod_set *a, const struct mete_pod_set *b)
{
    for (size_t i = 0; i < a->n_selector; i++)
        if (!text_equal(a->selector[i].key, b->selector[i].key) ||
            !text_equal(a->selector[i].value, b->selector[i].value))
            return false;
    return true;
}

static bool requests_same(const struct mete_pod_set *a, const struct mete_pod_set *b)
{
    for (size_t i = 0; i < a->n_requests; i++)
        if (!text_equal(a->requests[i].resource, b->requests[i].resource) ||
            a->requests[i].amount != b->requests[i].amount)
            return false;
    return true;
}

static bool domains_same(const struct mete_pod_set *a, const struct mete_pod_set *b)
{
    for (size_t i = 0; i < a->n_domains; i++)
        if (!text_equal(a->domains[i].key, b->domains[i].key) ||
            a->domains[i].is_required != b->domains[i].is_required)
            return false;
    return true;
}

static bool asks_same(const struct mete_pod_set *a, const struct mete_pod_set *b)
{
    for (size_t i = 0; i < a->n_asks; i++) {
        const struct mete_gpu_ask *one = &a->asks[i];
        const struct mete_gpu_ask *other = &b->asks[i];

        if (one->count != other->count || one->gpu_milli != other->gpu_milli ||
            one->memory_bytes != other->memory_bytes || one->is_replica != other->is_replica ||
            one->or_replica != other->or_replica || one->is_by_memory != other->is_by_memory ||
            one->is_several != other->is_several || one->n_models != other->n_models ||
            one->n_uuids != other->n_uuids || one->starts != other->starts ||
            !text_equal(one->profile, other->profile) ||
            !texts_equal(one->models, other->models, one->n_models) ||
            !texts_equal(one->uuids, other->uuids, one->n_uuids))
            return false;
    }
    return true;
}

/*
 * Pods that differ only in a member that is not compared here would be placed as if they were
 * equal.
 */
_Static_assert(sizeof(struct mete_pod_set) == 216, "compare the new members of a pod set too");

bool sched_set_equal(const struct mete_pod_set *a, const struct mete_pod_set *b)
{
    return a->gpus == b->gpus && a->is_linked == b->is_linked &&
           a->are_models_fixed == b->are_models_fixed && a->gpu_milli == b->gpu_milli &&
           a->gpu_memory_bytes == b->gpu_memory_bytes && text_equal(a->node, b->node) &&
           a->n_requests == b->n_requests && a->n_gpu_models == b->n_gpu_models &&
           a->n_selector == b->n_selector && a->n_tolerations == b->n_tolerations &&
           a->n_domains == b->n_domains && a->n_asks == b->n_asks && domains_same(a, b) &&
           asks_same(a, b) && requests_same(a, b) &&
           texts_equal(a->gpu_models, b->gpu_models, a->n_gpu_models) && selects_same(a, b) &&
           tolerates_same(a, b) && scheduler_affinity_same(a, b);
}

bool scheduler_is_ours(const struct scheduler *s, const json_t *pod)
{
    return scheduler_names_has(&s->names, json_text_at(pod, "spec", "schedulerName", NULL));
}

void scheduler_ask(const struct scheduler *s, struct arena *a, const json_t *pod,
                   struct sched_ask *ret)
{
    const char *user = json_text_at(pod, "metadata", "annotations", POD_USER, NULL);
    int64_t limit_s = json_int_at(pod, "spec", "activeDeadlineSeconds", NULL);

    *ret = (struct sched_ask){.set = {.name = "main", .count = 1}};
    ret->set.is_linked = topology_is_linked(pod);
    list_requests(s, a, pod, &ret->set);
    list_selector(a, pod, &ret->set);
    list_node(a, pod, &ret->set);
    list_tolerations(a, pod, &ret->set);
    scheduler_ask_affinity(a, pod, &ret->set);
    ret->workload = (struct mete_workload){
        .name = arena_format(a, "%s/%s", json_text_at(pod, "metadata", "namespace", NULL),
                             json_text_at(pod, "metadata", "name", NULL)),
        .queue = arena_strdup(a, scheduler_queue_of(s, pod)),
        .reservation = arena_strdup(a, scheduler_reservation_of(pod)),
        .user = user ? user : "",
        .priority = queue_priority(pod),
        .submit_ns = queue_since_ns(pod),
        .time_limit_ns = limit_s > 0 ? limit_s * NS_PER_SEC : 0,
        .estimate_ns = scheduler_expected_ns(pod),
        .is_preemptible =
            scheduler_is_ours(s, pod) &&
            !text_equal(json_text_at(pod, "metadata", "annotations", POD_PREEMPTIBLE, NULL),
                        "false"),
        .never_preempts = text_equal(json_text_at(pod, "spec", "preemptionPolicy", NULL), "Never"),
        .pod_sets = &ret->set,
        .n_pod_sets = 1,
    };
    sched_evict_class_read(s, pod, &ret->workload, &ret->grace_s);
}

static void add_part(void *arg, const struct pod_part *part)
{
    struct sched_pod *p = arg;

    vec_add(&p->parts, (struct sched_part){.container = mem_strdup(part->container),
                                           .first = part->first,
                                           .count = part->count});
}

void scheduler_read_parts(struct sched_pod *p, const json_t *pod)
{
    VEC_EACH (&p->parts, part) {
        free(part->container);
    }
    vec_clear(&p->parts);
    pod_each_part(pod, add_part, p);
    vec_fit(&p->parts);
}
