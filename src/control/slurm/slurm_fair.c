/* slurm_fair.c - the objects and pods behind fair shares, and the steps */

#include "control/slurm/slurm_fair.h"

#include <stdlib.h>

#include "base/num.h"
#include "control/slurm/slurm_fair_private.h"
#include "kinds/job/job_facts.h"
#include "kinds/pod/pod_asks.h"
#include "kinds/pod/pod_state.h"
#include "kinds/slurm/slurm_job.h"
#include "kinds/slurm/slurm_preempt.h"
#include "model/quantity.h"

#define ACCRUE_NS (NS_PER_SEC / 2) /* after a job has come or started */

/* ---- objects ---- */

static void object_remove(struct fair_object **map, struct fair_object *o)
{
    map_remove(handle, *map, o); /* NOLINT(clang-analyzer-unix.Malloc): uthash */
    json_decref(o->object);
    free(o->name);
    free(o);
}

static void object_put(struct fair_object **map, const char *name, const json_t *object)
{
    struct fair_object *o = NULL;

    map_find_text(handle, *map, name, o);
    if (!o && object) {
        o = mem_alloc(sizeof(*o));
        o->name = mem_strdup(name);
        map_add(handle, *map, o->name, strlen(o->name), o);
    }
    if (o && !object) {
        object_remove(map, o);
        return;
    }
    if (!o)
        return;
    json_decref(o->object);
    o->object = json_incref((json_t *)(uintptr_t)object);
}

static void fair_objects_free(struct fair_object **map)
{
    struct fair_object *o;
    struct fair_object *next;

    map_each (handle, *map, o, next)
        object_remove(map, o);
}

/* The tree borrows from the objects: it is built anew before its next use. */
static void fair_changed(struct slurm_fair *f)
{
    f->is_changed = true;
    if (f->is_loaded)
        loop_timer_set(f->timer, 0);
}

static void read_policy(struct slurm_fair *f, const json_t *config)
{
    const char *name;
    json_t *value;

    slurm_priority_policy_done(&f->policy);
    slurm_priority_policy_default(&f->policy);
    json_object_foreach (json_at(config, "spec", "settings", NULL), name, value) {
        AUTO(err_freep)
        struct err *e =
            slurm_priority_policy_set(&f->policy, name, text_or_empty(json_string_value(value)));

        if (e)
            LOG(WARN, "a parameter of slurm.conf is malformed", S("name", name), E(e));
    }
}

/* The specs of a map of objects, by name. New reference. */
static json_t *specs_of(struct fair_object *map)
{
    json_t *specs = json_object();
    struct fair_object *o;
    struct fair_object *next;

    map_each (handle, map, o, next)
        (void)json_object_set(specs, o->name, json_object_get(o->object, "spec"));
    return specs;
}

/* Tells the scheduler who may preempt whom, once all objects have been read. */
static void fair_tell_preempts(struct slurm_fair *f)
{
    AUTO(json_freep) json_t *qoses = NULL;
    AUTO(json_freep) json_t *partitions = NULL;
    size_t n_left = 0;

    if (f->n_unsynced > 0)
        return;
    qoses = specs_of(f->qoses);
    partitions = specs_of(f->partitions);
    json_decref(f->preempts);
    f->preempts = slurm_preempt_rules(f->settings, qoses, partitions, &n_left);
    if (n_left > 0)
        LOG(WARN, "too many QOS or partitions preempt: the last do not", U("left out", n_left));
    scheduler_set_evict_rules(f->options.scheduler, f->preempts);
}

static void put_queue(void *arg, const char *ns, const char *name, const json_t *object)
{
    struct slurm_fair *f = arg;
    struct fair_object *old = NULL;

    (void)ns;
    map_find_text(handle, f->queues, name, old);
    if (old && object &&
        json_equal(json_object_get(old->object, "spec"), json_object_get(object, "spec")))
        return; /* its status changes each second */
    object_put(&f->queues, name, object);
    fair_changed(f);
}

static void put_user(void *arg, const char *ns, const char *name, const json_t *object)
{
    struct slurm_fair *f = arg;

    (void)ns;
    object_put(&f->users, name, object);
    fair_changed(f);
}

static void put_qos(void *arg, const char *ns, const char *name, const json_t *object)
{
    struct slurm_fair *f = arg;

    (void)ns;
    object_put(&f->qoses, name, object);
    fair_changed(f);
    fair_tell_preempts(f);
}

static void put_config(void *arg, const char *ns, const char *name, const json_t *object)
{
    struct slurm_fair *f = arg;

    (void)ns;
    if (!text_equal(name, "default"))
        return;
    read_policy(f, object);
    json_decref(f->settings);
    f->settings = json_incref(json_at(object, "spec", "settings", NULL));
    fair_changed(f);
    fair_tell_preempts(f);
}

static void put_partition(void *arg, const char *ns, const char *name, const json_t *object)
{
    struct slurm_fair *f = arg;

    (void)ns;
    object_put(&f->partitions, name, object);
    fair_changed(f);
    fair_tell_preempts(f);
}

static void remove_config(void *arg, const char *ns, const char *name, const json_t *last)
{
    (void)last;
    put_config(arg, ns, name, NULL);
}

static void remove_partition(void *arg, const char *ns, const char *name, const json_t *last)
{
    (void)last;
    put_partition(arg, ns, name, NULL);
}

static void remove_queue(void *arg, const char *ns, const char *name, const json_t *last)
{
    (void)last;
    put_queue(arg, ns, name, NULL);
}

static void remove_user(void *arg, const char *ns, const char *name, const json_t *last)
{
    (void)last;
    put_user(arg, ns, name, NULL);
}

static void remove_qos(void *arg, const char *ns, const char *name, const json_t *last)
{
    (void)last;
    put_qos(arg, ns, name, NULL);
}

/* ---- nodes ---- */

static int64_t capacity_of(const json_t *node, const char *resource)
{
    const json_t *value = json_at(node, "status", "capacity", resource, NULL);
    struct quantity q = {0};
    AUTO(err_freep) struct err *e = NULL;

    if (json_is_integer(value))
        return json_integer_value(value);
    e = json_is_string(value) ? quantity_parse(str_of(json_string_value(value)), &q) : NULL;
    return e ? 0 : q.milli / 1000;
}

static void sum_nodes(struct slurm_fair *f)
{
    struct fair_object *o;
    struct fair_object *next;
    int64_t memory = 0;
    int64_t gpus = 0;

    f->cluster_cpus = 0;
    f->cluster_nodes = 0;
    map_each (handle, f->nodes, o, next) {
        f->cluster_nodes++;
        f->cluster_cpus += capacity_of(o->object, "cpu");
        memory += capacity_of(o->object, "memory") >> 20;
        gpus += capacity_of(o->object, "nvidia.com/gpu");
    }
    slurm_tres_set(&f->cluster, "cpu", f->cluster_cpus);
    slurm_tres_set(&f->cluster, "mem", memory);
    slurm_tres_set(&f->cluster, "node", f->cluster_nodes);
    slurm_tres_set(&f->cluster, "gres/gpu", gpus);
}

static void put_node(void *arg, const char *ns, const char *name, const json_t *object)
{
    struct slurm_fair *f = arg;

    (void)ns;
    object_put(&f->nodes, name, object);
    sum_nodes(f);
}

static void remove_node(void *arg, const char *ns, const char *name, const json_t *last)
{
    (void)last;
    put_node(arg, ns, name, NULL);
}

/* ---- jobs: their nice values and priorities ---- */

static bool is_number_same(const json_t *was, const json_t *is, const char *key)
{
    return json_int_at(was, "spec", key, NULL) == json_int_at(is, "spec", key, NULL);
}

static void put_job(void *arg, const char *ns, const char *name, const json_t *object)
{
    struct slurm_fair *f = arg;
    AUTO_FREE char *key = mem_format("%s/%s", ns, name);
    struct fair_object *o = NULL;
    bool is_same;

    map_find_text(handle, f->jobs, key, o);
    is_same = is_number_same(o ? o->object : NULL, object, "nice") &&
              is_number_same(o ? o->object : NULL, object, "priority");
    if (is_same && !o)
        return;
    object_put(&f->jobs, key,
               is_number_same(NULL, object, "nice") && is_number_same(NULL, object, "priority")
                   ? NULL
                   : object);
    /* A new job has no pods yet. */
    if (!is_same && json_int_at(object, "metadata", "generation", NULL) > 1)
        fair_points_all(f);
}

static void remove_job(void *arg, const char *ns, const char *name, const json_t *last)
{
    (void)last;
    put_job(arg, ns, name, NULL);
}

/* ---- pods ---- */

static void fair_pod_free(struct slurm_fair *f, struct fair_pod *p)
{
    map_remove(handle, f->pods, p); /* NOLINT(clang-analyzer-unix.Malloc): uthash */
    free(p->key);
    free(p->uid);
    free(p->account);
    free(p->user);
    free(p->job);
    free(p->qos);
    free(p->partition);
    free(p->model);
    free(p);
}

static void read_facts(struct fair_pod *p, const json_t *pod)
{
    const char *text = json_text_at(pod, "metadata", "annotations", SLURM_ACCOUNT_ANNOTATION, NULL);
    AUTO(json_freep) json_t *facts = NULL;
    AUTO(err_freep) struct err *e = text ? json_parse(str_of(text), &facts) : NULL;
    const char *user = json_text_at(facts, "user", "name", NULL);
    const char *qos = json_text(facts, "qos");
    const char *partition = json_text(facts, "partition");

    if (user) {
        free(p->user);
        p->user = mem_strdup(user);
    }
    p->qos = mem_strdup(qos ? qos : SLURM_QOS_DEFAULT);
    p->partition = mem_strdup(partition ? partition : SLURM_PARTITION);
    p->nodes = json_int(facts, "nodeCount", 1);
}

static struct fair_pod *fair_pod_new(struct slurm_fair *f, const char *key, const json_t *pod)
{
    const struct pod_asks asks = pod_asks(pod);
    const struct job facts = job_of(pod);
    const char *queue = queue_of(pod);
    const char *job = json_text_at(pod, "metadata", "labels", SLURM_JOB_LABEL, NULL);
    const char *id = json_text_at(pod, "metadata", "labels", POD_JOB_ID, NULL);
    struct fair_pod *p = mem_alloc(sizeof(*p));

    p->key = mem_strdup(key);
    p->uid = mem_strdup(text_or_empty(json_text_at(pod, "metadata", "uid", NULL)));
    p->account = mem_strdup(queue ? queue : QUEUE_DEFAULT);
    p->user = mem_strdup(facts.user);
    p->job = job ? mem_format("%s/%s", facts.ns, job) : NULL;
    p->cpus = (asks.cpu_milli + 999) / 1000;
    p->memory_mib = asks.memory_bytes >> 20;
    p->gpus = asks.gpus.n > 0 ? asks.gpus.at[0].count : 0;
    p->model = mem_strdup(
        text_or_empty(json_text_at(pod, "spec", "nodeSelector", "mete.dev/gpu.model", NULL)));
    p->created_ns = queue_since_ns(pod);
    p->accrues_ns = f->is_loaded && !f->is_accrue_limited ? p->created_ns : 0;
    p->limit_s = json_int_at(pod, "spec", "activeDeadlineSeconds", NULL);
    if (id)
        err_free(num_parse_int64(str_of(id), 0, INT64_MAX, &p->id)); /* our own number */
    read_facts(p, pod);
    map_add(handle, f->pods, p->key, strlen(p->key), p);
    return p;
}

static void put_pod(void *arg, const char *ns, const char *name, const json_t *pod)
{
    struct slurm_fair *f = arg;
    AUTO_FREE char *key = mem_format("%s/%s", ns, name);
    const struct job facts = job_of(pod);
    struct fair_pod *p = NULL;

    map_find_text(handle, f->pods, key, p);
    if (p && !text_equal(p->uid, json_text_at(pod, "metadata", "uid", NULL))) {
        fair_pod_ended(f, p, loop_wall_ns(f->options.loop));
        fair_pod_free(f, p);
        p = NULL;
    }
    if (facts.is_ended) {
        if (p && p->started_ns == 0)
            p->started_ns = facts.started_ns;
        if (p) {
            fair_pod_ended(f, p,
                           facts.ended_ns > 0 ? facts.ended_ns : loop_wall_ns(f->options.loop));
            fair_pod_free(f, p);
        }
        return;
    }
    if (!p)
        p = fair_pod_new(f, key, pod);
    if (p->started_ns == 0 && f->is_accrue_limited)
        loop_timer_set(f->accrue_timer, ACCRUE_NS);
    if (p->started_ns == 0 && facts.started_ns > 0)
        p->started_ns = facts.started_ns;
    else if (p->started_ns == 0 && f->is_loaded && !*pod_node(pod))
        fair_points_of(f, p);
}

static void remove_pod(void *arg, const char *ns, const char *name, const json_t *last)
{
    struct slurm_fair *f = arg;
    AUTO_FREE char *key = mem_format("%s/%s", ns, name);
    struct fair_pod *p = NULL;

    (void)last;
    map_find_text(handle, f->pods, key, p);
    if (!p)
        return;
    if (p->started_ns == 0 && f->is_accrue_limited)
        loop_timer_set(f->accrue_timer, ACCRUE_NS);
    fair_pod_ended(f, p, loop_wall_ns(f->options.loop));
    fair_pod_free(f, p);
}

void slurm_fair_expect_pod(struct slurm_fair *f, const json_t *pod)
{
    const json_t *metadata = json_object_get(pod, "metadata");

    if (f->is_loaded)
        put_pod(f, json_text(metadata, "namespace"), json_text(metadata, "name"), pod);
}

void slurm_fair_drop_pod(struct slurm_fair *f, const char *ns, const char *name, const char *uid)
{
    AUTO_FREE char *key = mem_format("%s/%s", ns, name);
    struct fair_pod *p = NULL;

    map_find_text(handle, f->pods, key, p);
    if (p && text_equal(p->uid, uid))
        fair_pod_free(f, p);
}

/* ---- steps ---- */

static void fair_on_step(void *arg)
{
    struct slurm_fair *f = arg;
    int64_t period_s = f->policy.calc_period_s > 0 ? f->policy.calc_period_s : 1;

    fair_usage_step(f, loop_wall_ns(f->options.loop) / NS_PER_SEC);
    fair_tree_find(f);
    fair_on_accrue(f);
    fair_points_all(f);
    loop_timer_set(f->timer, period_s * NS_PER_SEC);
}

/* The past is read when the parameters, the accounts and the running pods are known. */
static void fair_synced(void *arg)
{
    struct slurm_fair *f = arg;

    if (--f->n_unsynced > 0)
        return;
    fair_tell_preempts(f);
    fair_load_begin(f);
}

static struct err *fair_watch(struct slurm_fair *f)
{
    const struct {
        const char *group;
        const char *resource;
        struct cluster_listener listener;
    } all[] = {
        {"mete.dev", "queues", {put_queue, remove_queue, f, fair_synced}},
        {"mete.dev", "slurmusers", {put_user, remove_user, f, fair_synced}},
        {"mete.dev", "slurmqoses", {put_qos, remove_qos, f, fair_synced}},
        {"mete.dev", "slurmconfigs", {put_config, remove_config, f, fair_synced}},
        {"mete.dev", "slurmpartitions", {put_partition, remove_partition, f, fair_synced}},
        {"mete.dev", "slurmjobs", {put_job, remove_job, f, fair_synced}},
        {"", "nodes", {put_node, remove_node, f, fair_synced}},
        {"", "pods", {put_pod, remove_pod, f, fair_synced}},
    };

    f->n_unsynced = COUNT(all);
    for (size_t i = 0; i < COUNT(all); i++)
        TRY(cluster_watch(f->options.cluster, all[i].group, all[i].resource, &all[i].listener,
                          &f->watches[i]));
    return NULL;
}

bool slurm_fair_preempt_cancels(const struct slurm_fair *f, const char *qos, const char *partitions)
{
    return json_bool(slurm_preempt_class(f->preempts, qos, partitions), "cancels", false);
}

struct err *slurm_fair_new(const struct slurm_fair_options *o, struct slurm_fair **ret)
{
    struct slurm_fair *f = mem_alloc(sizeof(*f));
    struct err *e;

    f->options = *o;
    f->timer = loop_timer_new(o->loop, fair_on_step, f);
    f->load_timer = loop_timer_new(o->loop, fair_on_load, f);
    f->points_timer = loop_timer_new(o->loop, fair_on_points, f);
    f->accrue_timer = loop_timer_new(o->loop, fair_on_accrue, f);
    f->is_changed = true;
    slurm_priority_policy_default(&f->policy);
    e = fair_watch(f);
    if (e) {
        slurm_fair_free(f);
        return err_wrap(e, "fair shares of Slurm accounts");
    }
    *ret = f;
    return NULL;
}

void slurm_fair_free(struct slurm_fair *f)
{
    if (!f)
        return;
    for (size_t i = 0; i < COUNT(f->watches); i++)
        cluster_unwatch(f->options.cluster, f->watches[i]);
    loop_timer_free(f->timer);
    loop_timer_free(f->load_timer);
    loop_timer_free(f->points_timer);
    loop_timer_free(f->accrue_timer);
    fair_points_free(f);
    fair_tree_free(f);
    while (f->pods)
        fair_pod_free(f, f->pods);
    fair_usage_free(f);
    fair_objects_free(&f->queues);
    fair_objects_free(&f->users);
    fair_objects_free(&f->qoses);
    fair_objects_free(&f->partitions);
    fair_objects_free(&f->nodes);
    fair_objects_free(&f->jobs);
    slurm_tres_done(&f->cluster);
    json_decref(f->settings);
    json_decref(f->preempts);
    slurm_priority_policy_done(&f->policy);
    free(f);
}
