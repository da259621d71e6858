/*
 * scheduler_groups.c - groups of pods (PodGroup, Workload, Job): which pods start together
 *
 * In a group with the minimum `min`, placed and succeeded pods count. The oldest waiting pods, as
 * many as are missing, form one workload; until enough pods are there, none is in the queue. Pods
 * beyond the minimum are workloads of their own (scheduler_elastic.c), once the others' binding is
 * certain: else they could start alone. Groups are settled anew
 * whenever a pod or the defining object changes; workloads that stay the same keep their place.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "base/list.h"
#include "base/log.h"
#include "base/vec.h"
#include "control/scheduler/scheduler_private.h"
#include "kinds/pod/pod_state.h"
#include "store/store.h"

typedef VEC(struct sched_pod *) pod_list;

static const char refused[] = "GangRefused";

static char *definition_key(enum gang_door door, const char *ns, const char *name)
{
    return mem_format("%d/%s/%s", (int)door, ns, name);
}

const struct sched_definition *sched_group_definition(const struct scheduler *s,
                                                      const struct sched_group *g)
{
    struct sched_definition *d = NULL;

    map_find_text(handle, s->definitions, g->object, d);
    if (!d && g->other_object)
        map_find_text(handle, s->definitions, g->other_object, d);
    return d;
}

bool sched_group_read(const struct scheduler *s, const struct sched_group *g,
                      struct gang_rules *ret)
{
    const struct sched_definition *d = sched_group_definition(s, g);
    struct gang_ref ref = g->ref;

    if (!d)
        return false;
    ref.door = d->door;
    return gang_read(&ref, d->tree, ret);
}

static struct sched_group *find_group(const struct scheduler *s, const char *key)
{
    struct sched_group *g = NULL;

    map_find_text(handle, s->groups, key, g);
    return g;
}

static struct sched_group *group_new(struct scheduler *s, const char *ns, const char *name,
                                     const struct gang_ref *ref)
{
    struct sched_group *g = mem_alloc(sizeof(*g));

    g->key = mem_format("%s/%s", ns, name);
    g->ns = mem_strdup(ns);
    g->name = mem_strdup(name);
    g->object = definition_key(ref->door, ns, ref->name);
    if (ref->door == GANG_COSCHEDULING || ref->door == GANG_VOLCANO)
        g->other_object = definition_key(GANG_PODGROUP, ns, ref->name);
    g->ref_name = mem_strdup(ref->name);
    g->ref_part = ref->part ? mem_strdup(ref->part) : NULL;
    g->ref = (struct gang_ref){.door = ref->door, .name = g->ref_name, .part = g->ref_part};
    map_add(handle, s->groups, g->key, strlen(g->key), g);
    return g;
}

static void group_free(struct scheduler *s, struct sched_group *g)
{
    if (g->is_changed)
        LIST_REMOVE(s->changed_groups, g);
    /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): uthash; it is in the map */
    map_remove(handle, s->groups, g);
    vec_done(&g->pods);
    free(g->key);
    free(g->ns);
    free(g->name);
    free(g->object);
    free(g->other_object);
    free(g->ref_name);
    free(g->ref_part);
    free(g);
}

void sched_group_changed(struct scheduler *s, struct sched_group *g)
{
    g->is_status_old = true;
    loop_timer_set(s->status_timer, GROUP_STATUS_NS);
    if (!g->is_changed) {
        g->is_changed = true;
        LIST_ADD(s->changed_groups, g);
    }
    scheduler_poke(s);
}

/* "native:train:workers:0" for a pod group of a Workload, "volcano:train" for a PodGroup. */
static char *group_name_of(const struct gang_ref *ref)
{
    return mem_format("%s:%s%s%s%s%s", gang_sources[ref->door].word, ref->name,
                      ref->part ? ":" : "", ref->part ? ref->part : "", ref->replica ? ":" : "",
                      ref->replica ? ref->replica : "");
}

void scheduler_join_group(struct scheduler *s, struct sched_pod *p)
{
    AUTO_FREE char *name = NULL;
    AUTO_FREE char *key = NULL;
    struct gang_ref ref;

    if (p->group || !gang_of(p->tree, &ref))
        return; /* the group of a pod does not change */
    name = group_name_of(&ref);
    key = mem_format("%s/%s", p->ns, name);
    p->group = find_group(s, key);
    if (!p->group)
        p->group = group_new(s, p->ns, name, &ref);
    vec_add(&p->group->pods, p);
    sched_group_changed(s, p->group);
}

void scheduler_leave_group(struct scheduler *s, struct sched_pod *p)
{
    struct sched_group *g = p->group;

    if (!g)
        return;
    p->group = NULL;
    for (size_t i = g->pods.n; i-- > 0;)
        if (g->pods.at[i] == p)
            vec_remove(&g->pods, i);
    sched_group_changed(s, g);
}

int sched_pod_compare(const struct sched_pod *a, const struct sched_pod *b)
{
    if (a->submit_ns != b->submit_ns)
        return a->submit_ns < b->submit_ns ? -1 : 1;
    if (a->job_id != b->job_id)
        return a->job_id < b->job_id ? -1 : 1;
    return strcmp(a->name, b->name);
}

static int compare_pods(const void *left, const void *right)
{
    return sched_pod_compare(*(struct sched_pod *const *)left, *(struct sched_pod *const *)right);
}

/* One attempt to form a gang. */
struct forming {
    struct sched_group *g;
    struct gang_rules rules;
    pod_list waiting; /* the oldest first */
    pod_list chosen;  /* to start together */
    int64_t there;    /* placed or succeeded */
    bool is_pending;  /* of the pods that are there, a binding is not certain yet */
    char *missing;    /* why no pod may start, or NULL */
};

const char *sched_pod_task(const struct sched_pod *p)
{
    const char *task = json_text_at(p->tree, "metadata", "annotations", GANG_VOLCANO_TASK, NULL);

    return task ? task : json_text_at(p->tree, "metadata", "labels", GANG_VOLCANO_TASK, NULL);
}

static void choose_pod(struct forming *f, struct sched_pod *p)
{
    p->is_chosen = true;
    vec_add(&f->chosen, p);
}

/* Pods that are being deleted do not count. */
static bool is_present(const struct sched_pod *p)
{
    return p->phase == SCHED_SUCCEEDED || (sched_pod_is_placed(p) && !p->is_deleting);
}

static int64_t count_there(const struct forming *f, const char *task)
{
    int64_t n = 0;

    VEC_EACH (&f->g->pods, p) {
        if (is_present(*p) && text_equal(sched_pod_task(*p), task))
            n++;
    }
    return n;
}

/* The minimum of each task comes first. */
static void choose_tasks(struct forming *f)
{
    const char *task;
    json_t *count;

    json_object_foreach ((json_t *)(uintptr_t)f->rules.tasks, task, count) {
        int64_t want = json_integer_value(count);
        int64_t missing = want - count_there(f, task);

        VEC_EACH (&f->waiting, p) {
            if (missing <= 0)
                break;
            if ((*p)->is_chosen || !text_equal(sched_pod_task(*p), task))
                continue;
            choose_pod(f, *p);
            missing--;
        }
        if (missing > 0 && !f->missing)
            f->missing = mem_format(
                "waits for %" PRId64 " pod%s of task %s of its group; %" PRId64 " %s there", want,
                want == 1 ? "" : "s", task, want - missing, want - missing == 1 ? "is" : "are");
    }
}

/* The minimum of such rules counts running pods only. */
static void forget_succeeded(struct forming *f)
{
    VEC_EACH (&f->g->pods, p) {
        f->there -= is_present(*p) && (*p)->phase == SCHED_SUCCEEDED;
    }
}

static void choose_pods(struct forming *f)
{
    int64_t need;

    if (f->rules.counts_what_runs)
        forget_succeeded(f);
    need = f->rules.min - f->there;

    if (f->rules.tasks)
        choose_tasks(f);
    VEC_EACH (&f->waiting, p) {
        if ((int64_t)f->chosen.n >= need)
            break;
        if (!(*p)->is_chosen)
            choose_pod(f, *p);
    }
    if ((int64_t)f->chosen.n < need && !f->missing)
        f->missing = mem_format("waits for %" PRId64 " pods of its group; %" PRId64 " %s there",
                                f->rules.min, f->there + (int64_t)f->chosen.n,
                                f->there + (int64_t)f->chosen.n == 1 ? "is" : "are");
    if (f->missing)
        vec_clear(&f->chosen);
}

/* Takes the pod out of the queue, with the reason. */
static void keep_waiting(struct scheduler *s, struct sched_pod *p, const char *code,
                         const char *why)
{
    if (p->work)
        sched_work_leave(s, p);
    sched_pod_wait(s, p, code, code == refused ? "yours" : "held", why);
}

/* Is there a waiting workload of exactly these pods? */
static bool is_formed(const pod_list *chosen, const struct sched_work_name *name,
                      const char *topology)
{
    const struct sched_work *w = chosen->n > 0 ? chosen->at[0]->work : NULL;

    if (!w || w->phase != SCHED_WORK_WAITING || w->pods.n != chosen->n ||
        !text_equal(w->topology, topology) || w->has_priority != name->has_priority ||
        w->priority != name->priority)
        return false;
    VEC_EACH (chosen, p) {
        if ((*p)->work != w)
            return false;
    }
    return true;
}

/* An unknown priority class is ignored: the pods' priorities count. */
static void read_priority(struct scheduler *s, const struct gang_rules *rules,
                          struct sched_work_name *name)
{
    name->has_priority = rules->has_priority;
    name->priority = rules->priority;
    if (rules->class_name && scheduler_class_value(s, rules->class_name, &name->priority))
        name->has_priority = true;
}

void scheduler_class_changed(struct scheduler *s, const char *name)
{
    struct sched_group *g;
    struct sched_group *next;
    struct gang_rules rules;

    map_each (handle, s->groups, g, next) {
        if (sched_group_read(s, g, &rules) && text_equal(rules.class_name, name))
            sched_group_changed(s, g);
    }
}

void sched_group_read_priority(struct scheduler *s, const struct sched_group *g,
                               struct sched_work_name *name)
{
    struct gang_rules rules;

    if (sched_group_read(s, g, &rules))
        read_priority(s, &rules, name);
}

/* Distinct from an earlier gang of the group whose pods are still ending. */
static char *placement_name(const struct forming *f)
{
    return mem_format("%s:%.8s", f->g->name, f->chosen.at[0]->uid);
}

static void queue_gang(struct scheduler *s, struct forming *f)
{
    AUTO_FREE char *placement = placement_name(f);
    struct sched_work_name name = {.ns = f->g->ns, .name = placement, .is_gang = true};
    AUTO_FREE char *topology = sched_topology_format(&f->rules);
    struct sched_work *w;

    read_priority(s, &f->rules, &name);
    if (is_formed(&f->chosen, &name, topology))
        return;
    VEC_EACH (&f->chosen, p) {
        if ((*p)->work)
            sched_work_leave(s, *p);
        sched_pod_wait(s, *p, NULL, NULL, NULL);
    }
    w = sched_work_new(s, &name, f->chosen.at, f->chosen.n);
    w->topology = TAKE(topology);
    if (sched_work_wait(s, w))
        return;
    VEC_EACH (&f->chosen, p) {
        keep_waiting(s, *p, refused, mete_last_error(s->engine));
    }
}

static void queue_alone(struct scheduler *s, struct sched_pod *p, bool is_extra)
{
    if (p->work && p->work->pods.n == 1 && p->work->is_extra == is_extra)
        return;
    if (p->work)
        sched_work_leave(s, p);
    sched_pod_wait(s, p, NULL, NULL, NULL);
    sched_pod_queue(s, p, is_extra);
}

/* Why no pod of the group may start, or NULL. The caller frees it. */
static char *find_rules(const struct scheduler *s, struct forming *f)
{
    const struct gang_ref *ref = &f->g->ref;
    const struct gang_source *source = &gang_sources[ref->door];

    if (!sched_group_definition(s, f->g))
        return mem_format("waits for its group: there is no %s.%s %s", source->plural,
                          source->group, ref->name);
    if (!sched_group_read(s, f->g, &f->rules))
        return mem_format("waits for its group: the %s %s has no pod group %s", source->kind,
                          ref->name, ref->part);
    return NULL;
}

static void sort_pods(struct forming *f)
{
    VEC_EACH (&f->g->pods, p) {
        const struct sched_work *w = (*p)->work;

        (*p)->is_chosen = false;
        f->is_pending = f->is_pending || (w && w->binding != 0 && !w->is_extra);
        if (is_present(*p))
            f->there++;
        else if ((*p)->phase == SCHED_WAITING)
            vec_add(&f->waiting, *p);
    }
    if (f->waiting.n > 1)
        qsort(f->waiting.at, f->waiting.n, sizeof(struct sched_pod *), compare_pods);
}

/* One transaction binds a gang: an entry for each pod, gpu and node, and one for the placement. */
static bool is_too_large(struct forming *f)
{
    size_t n = 1;

    VEC_EACH (&f->chosen, p) {
        n += 2;
        VEC_EACH (&(*p)->parts, part) {
            n += part->count;
        }
    }
    if (n <= STORE_TXN_OPS_MAX)
        return false;
    f->missing = mem_format("is a gang of %zu pods, with their gpus and nodes %zu entries to bind "
                            "at once; at most %d",
                            f->chosen.n, n, (int)STORE_TXN_OPS_MAX);
    vec_clear(&f->chosen);
    return true;
}

static void choose_none(struct forming *f)
{
    VEC_EACH (&f->chosen, p) {
        (*p)->is_chosen = false;
    }
    vec_clear(&f->chosen);
}

static void group_settle(struct scheduler *s, struct sched_group *g)
{
    struct forming f = {.g = g};
    const char *code = "WaitingForGang";
    bool is_elastic = false;

    sched_group_end_rest(s, g);
    sort_pods(&f);
    f.missing = find_rules(s, &f);
    if (f.missing) {
        code = "NoSuchGroup";
    } else {
        choose_pods(&f);
        is_elastic = sched_rules_are_elastic(&f.rules);
        sched_group_sort_extras(s, g, &f.rules);
    }
    if (is_too_large(&f))
        code = refused;
    if (f.is_pending)
        choose_none(&f);
    if (f.chosen.n > 1)
        queue_gang(s, &f);
    VEC_EACH (&f.waiting, p) {
        if (f.missing)
            keep_waiting(s, *p, code, f.missing);
        else if ((f.chosen.n > 0 || f.is_pending) && !(*p)->is_chosen)
            keep_waiting(s, *p, code, "waits for the first pods of its group to start");
        else if (f.chosen.n <= 1)
            queue_alone(s, *p, is_elastic && !(*p)->is_chosen);
    }
    free(f.missing);
    vec_done(&f.waiting);
    vec_done(&f.chosen);
}

void scheduler_settle_groups(struct scheduler *s)
{
    while (s->changed_groups) {
        struct sched_group *g = s->changed_groups;

        LIST_REMOVE(s->changed_groups, g);
        g->is_changed = false;
        if (g->pods.n > 0 || sched_group_definition(s, g))
            group_settle(s, g);
        else
            group_free(s, g);
    }
}

static void definition_changed(struct scheduler *s, const char *key)
{
    struct sched_group *g;
    struct sched_group *next;

    map_each (handle, s->groups, g, next) {
        if (text_equal(g->object, key) || text_equal(g->other_object, key))
            sched_group_changed(s, g);
    }
}

/* A PodGroup without pods has a status, too. */
static void ensure_group(struct scheduler *s, enum gang_door door, const char *ns, const char *name)
{
    const struct gang_ref ref = {.door = door, .name = name};
    AUTO_FREE char *full = group_name_of(&ref);
    AUTO_FREE char *key = mem_format("%s/%s", ns, full);

    if (!find_group(s, key))
        (void)group_new(s, ns, full, &ref);
}

/* Do the annotations ask for the same domains? */
static bool is_together_same(const json_t *was, const json_t *is)
{
    struct topology_level a[TOPOLOGY_MAX];
    struct topology_level b[TOPOLOGY_MAX];
    size_t n = topology_read(was, NULL, a);

    if (topology_read(is, NULL, b) != n)
        return false;
    for (size_t i = 0; i < n; i++)
        if (a[i].is_required != b[i].is_required || !text_equal(a[i].key, b[i].key))
            return false;
    return true;
}

/* Most Jobs and SlurmJobs are no gang. A Job that is one says so at creation. */
static bool is_of_use(enum gang_door door, const json_t *object)
{
    struct topology_level levels[TOPOLOGY_MAX];
    const struct gang_ref slurm = {.door = GANG_SLURM};
    struct gang_rules rules;

    if (door == GANG_SLURM)
        return gang_read(&slurm, object, &rules) && rules.min > 1;
    return door != GANG_JOB ||
           topology_read(json_at(object, "spec", "template", NULL), NULL, levels) > 0;
}

/* Does the Job still lack the same number of pods? */
static bool is_progress_same(enum gang_door door, const json_t *was, const json_t *is)
{
    return door != GANG_JOB || json_int_at(was, "status", "succeeded", NULL) ==
                                   json_int_at(is, "status", "succeeded", NULL);
}

static void put_definition(struct scheduler *s, enum gang_door door, const json_t *object)
{
    const char *ns = json_text_at(object, "metadata", "namespace", NULL);
    const char *name = json_text_at(object, "metadata", "name", NULL);
    AUTO_FREE char *key = definition_key(door, ns ? ns : "", name ? name : "");
    struct sched_definition *d = NULL;
    bool is_same = false;

    if (!is_of_use(door, object))
        return;
    map_find_text(handle, s->definitions, key, d);
    if (!d) {
        d = mem_alloc(sizeof(*d));
        d->key = mem_strdup(key);
        d->door = door;
        map_add(handle, s->definitions, d->key, strlen(d->key), d);
    } else {
        is_same = json_equal(json_object_get(d->tree, "spec"), json_object_get(object, "spec")) &&
                  is_together_same(d->tree, object) && is_progress_same(door, d->tree, object);
    }
    json_decref(d->tree);
    d->tree = json_incref((json_t *)(uintptr_t)object);
    if (door != GANG_WORKLOAD && door != GANG_JOB && door != GANG_SLURM)
        ensure_group(s, door, ns, name);
    if (!is_same)
        definition_changed(s, key);
}

static void definition_free(struct scheduler *s, struct sched_definition *d)
{
    map_remove(handle, s->definitions, d);
    json_decref(d->tree);
    free(d->key);
    free(d);
}

static void remove_definition(struct scheduler *s, enum gang_door door, const char *ns,
                              const char *name)
{
    AUTO_FREE char *key = definition_key(door, ns, name);
    struct sched_definition *d = NULL;

    map_find_text(handle, s->definitions, key, d);
    if (!d)
        return;
    definition_free(s, d);
    definition_changed(s, key);
}

static void on_synced(void *arg)
{
    const struct sched_door *d = arg;

    scheduler_synced(d->s);
}

static void on_put(void *arg, const char *ns, const char *name, const json_t *object)
{
    const struct sched_door *d = arg;

    (void)ns;
    (void)name;
    put_definition(d->s, d->door, object);
}

static void on_removed(void *arg, const char *ns, const char *name, const json_t *last)
{
    const struct sched_door *d = arg;

    (void)last;
    remove_definition(d->s, d->door, ns, name);
}

struct err *scheduler_watch_groups(struct scheduler *s)
{
    for (enum gang_door door = GANG_WORKLOAD; door < GANG_DOORS; door++) {
        const struct gang_source *source = &gang_sources[door];
        struct cluster_listener l = {on_put, on_removed, &s->doors[door], on_synced};

        s->doors[door] = (struct sched_door){s, door};
        s->n_unsynced++;
        TRY(cluster_watch(s->options.cluster, source->group, source->plural, &l,
                          &s->group_watches[door]));
    }
    return NULL;
}

void scheduler_groups_free(struct scheduler *s)
{
    for (enum gang_door door = GANG_WORKLOAD; door < GANG_DOORS; door++)
        cluster_unwatch(s->options.cluster, s->group_watches[door]);
    while (s->groups)
        group_free(s, s->groups);
    while (s->definitions)
        definition_free(s, s->definitions);
}
