/* slurm_partitions.c - partitions and settings in the controller, and the labels of their nodes */
#include <inttypes.h>

#include "base/num.h"
#include "control/slurm/slurm_private.h"
#include "kinds/slurm/slurm_job.h"
#include "kinds/slurm/slurm_partition.h"

static struct slurm_part *find_part(const struct slurm_jobs *s, struct str name)
{
    struct slurm_part *p = NULL;

    map_find(handle, s->parts, name.at, name.size, p);
    return p;
}

static const json_t *spec_of(const struct slurm_part *p)
{
    return json_object_get(p->object, "spec");
}

bool slurm_part_has(const struct slurm_part *p, const char *node)
{
    return !p->nodes || json_object_get(p->nodes, node);
}

/* ---- labels of nodes ---- */

/* Adds what the node's labels lack of its partitions, and null for those that it has left. */
static void collect_labels(const struct slurm_jobs *s, const struct slurm_node *n, json_t *labels)
{
    const json_t *now = json_at(n->object, "metadata", "labels", NULL);
    struct slurm_part *p;
    struct slurm_part *tmp;
    const char *key;
    json_t *value;

    map_each (handle, s->parts, p, tmp) {
        AUTO_FREE char *label = mem_format(SLURM_PARTITION_LABEL "%s", p->name);

        if (p->nodes && slurm_part_has(p, n->name) && !json_object_get(now, label))
            json_put_text(labels, label, "");
    }
    json_object_foreach ((json_t *)(uintptr_t)now, key, value) {
        struct slurm_part *named = NULL;

        if (!text_starts_with(key, SLURM_PARTITION_LABEL))
            continue;
        named = find_part(s, str_of(key + strlen(SLURM_PARTITION_LABEL)));
        if (!named || !named->nodes || !slurm_part_has(named, n->name))
            json_put(labels, key, json_null());
    }
}

void slurm_label_node(struct slurm_jobs *s, const struct slurm_node *n)
{
    AUTO(json_freep) json_t *patch = json_object();
    json_t *metadata = json_object_at(patch, "metadata");
    const struct cluster_target target = {.resource = "nodes", .ns = "", .name = n->name};
    struct cluster_answer a;
    AUTO(err_freep) struct err *e = NULL;

    if (!s->has_parts)
        return;
    collect_labels(s, n, json_object_at(metadata, "labels"));
    slurm_node_patch_facts(s, n, patch);
    if (json_object_size(json_object_get(metadata, "labels")) == 0 &&
        !json_object_get(metadata, "annotations") && !json_object_get(patch, "spec"))
        return;
    a = slurm_answer(s);
    e = writes_end(a, cluster_patch(s->options.cluster, &target, patch, a));
    if (e && err_code(e) != ERR_NOT_FOUND)
        LOG(WARN, "node does not get what slurm.conf says of it", S("node", n->name), E(e));
}

static void label_nodes(struct slurm_jobs *s)
{
    struct slurm_node *n;
    struct slurm_node *tmp;

    map_each (handle, s->nodes, n, tmp)
        slurm_label_node(s, n);
}

/* ---- changes ---- */

/* A rule has changed: pods that wait may have to be held, others may start. */
static void poke_all(struct slurm_jobs *s)
{
    struct sjob *j;
    struct sjob *tmp;

    map_each (handle, s->jobs, j, tmp) {
        j->is_changed = true;
        if (!j->is_over)
            sjob_poke(j);
    }
}

static void part_free(struct slurm_jobs *s, struct slurm_part *p)
{
    map_remove(handle, s->parts, p); /* NOLINT(clang-analyzer-unix.Malloc): uthash */
    json_decref(p->object);
    json_decref(p->nodes);
    free(p->name);
    free(p);
}

void slurm_put_partition(void *arg, const char *ns, const char *name, const json_t *object)
{
    struct slurm_jobs *s = arg;
    struct slurm_part *p = find_part(s, str_of(name));

    (void)ns;
    if (!p) {
        p = mem_alloc(sizeof(*p));
        p->name = mem_strdup(name);
        map_add(handle, s->parts, p->name, strlen(p->name), p);
    }
    json_decref(p->object);
    p->object = json_incref((json_t *)(uintptr_t)object);
    json_decref(p->nodes);
    p->nodes = slurm_partition_nodes(spec_of(p));
    label_nodes(s);
    poke_all(s);
}

void slurm_remove_partition(void *arg, const char *ns, const char *name, const json_t *last)
{
    struct slurm_jobs *s = arg;
    struct slurm_part *p = find_part(s, str_of(name));

    (void)ns;
    (void)last;
    if (!p)
        return;
    part_free(s, p);
    label_nodes(s);
    poke_all(s);
}

/* The first partition that the job names; NULL: none. */
static const struct slurm_part *first_part(const struct slurm_jobs *s, const json_t *spec)
{
    const char *list = json_text_filled(spec, "partition");
    struct str rest = str_of(list ? list : slurm_default_partition(s));

    return rest.at ? find_part(s, str_cut(&rest, ',')) : NULL;
}

const char *slurm_billing_of(const struct slurm_jobs *s, const json_t *spec)
{
    const struct slurm_part *p = first_part(s, spec);

    return p ? json_text_filled(spec_of(p), "billingWeights") : NULL;
}

int64_t slurm_over_minutes(const struct slurm_jobs *s, const json_t *spec)
{
    const struct slurm_part *p = first_part(s, spec);

    return json_int(p ? spec_of(p) : NULL, "overTimeMinutes", slurm_setting(s, "OverTimeLimit", 0));
}

void slurm_partitions_synced(void *arg)
{
    struct slurm_jobs *s = arg;

    s->has_parts = true;
    label_nodes(s);
    loop_timer_set(s->work_timer, 0);
}

void slurm_put_config(void *arg, const char *ns, const char *name, const json_t *object)
{
    struct slurm_jobs *s = arg;

    (void)ns;
    if (!text_equal(name, "default"))
        return;
    json_decref(s->config);
    s->config = json_incref((json_t *)(uintptr_t)object);
    slurm_read_facts(s);
    label_nodes(s);
    slurm_limits_begin(s);
    poke_all(s);
}

void slurm_remove_config(void *arg, const char *ns, const char *name, const json_t *last)
{
    struct slurm_jobs *s = arg;

    (void)ns;
    (void)last;
    if (!text_equal(name, "default"))
        return;
    json_decref(s->config);
    s->config = NULL;
    slurm_read_facts(s);
    label_nodes(s);
    slurm_limits_begin(s);
}

void slurm_forget_partitions(struct slurm_jobs *s)
{
    struct slurm_part *p;
    struct slurm_part *tmp;

    map_each (handle, s->parts, p, tmp)
        part_free(s, p); /* NOLINT(clang-analyzer-unix.Malloc): uthash */
    json_decref(s->config);
    s->config = NULL;
    slurm_read_facts(s);
    s->has_parts = false;
}

const json_t *slurm_settings(const struct slurm_jobs *s)
{
    return json_at(s->config, "spec", "settings", NULL);
}

int64_t slurm_setting(const struct slurm_jobs *s, const char *key, int64_t fallback)
{
    const char *text = json_text(slurm_settings(s), key);
    int64_t n = fallback;

    if (text)
        err_free(num_parse_int64(str_of(text), 0, INT32_MAX, &n)); /* else the fallback */
    return n;
}

/* ---- partitions of a job ---- */

/* The partition of a component; NULL: it names none. Borrowed. */
static const char *named_list(const struct sjob *j, size_t component)
{
    const json_t *spec = json_object_get(j->object, "spec");

    if (component > 0)
        spec = json_array_get(json_object_get(spec, "components"), component - 1);
    return json_text_filled(spec, "partition");
}

/* A job that names no partition is in the default one. */
static const char *list_of(const struct sjob *j, size_t component)
{
    const char *list = named_list(j, component);

    return list ? list : slurm_default_partition(j->jobs);
}

/* Why the component may not start in the partition; NULL: it may. */
static const char *wait_in(const struct sjob *j, size_t component, const struct slurm_part *p)
{
    int64_t minutes = json_int_at(j->object, "spec", "timeLimitMinutes", NULL);

    if (!p)
        return "PartitionDown"; /* it was deleted */
    return slurm_partition_wait(spec_of(p), j->het.asks[component].nodes, minutes);
}

static const char *component_wait(const struct sjob *j, size_t component)
{
    struct str rest = str_of(list_of(j, component));
    const char *why = NULL;

    while (rest.at) {
        struct str name = str_cut(&rest, ',');
        bool is_whole = !j->jobs->parts && str_equal(name, STR(SLURM_PARTITION));
        const char *one = is_whole ? NULL : wait_in(j, component, find_part(j->jobs, name));

        if (!one)
            return NULL;
        why = why ? why : one;
    }
    return why;
}

const char *sjob_partition_wait(const struct sjob *j)
{
    const char *why = NULL;

    for (size_t i = 0; i < j->het.n && !why; i++)
        why = component_wait(j, i);
    return why;
}

static int64_t cpus_on_node_of(const struct slurm_part *p)
{
    return p ? json_int(spec_of(p), "maxCpusPerNode", 0) : 0;
}

/* Does a partition of the list limit the cpus on a node? */
static bool limits_cpus(const struct sjob *j, size_t component)
{
    struct str rest = str_of(list_of(j, component));

    while (j->jobs->parts && rest.at)
        if (cpus_on_node_of(find_part(j->jobs, str_cut(&rest, ','))) > 0)
            return true;
    return false;
}

char *sjob_partition_cpus(const struct sjob *j, size_t component, int64_t *ret_count)
{
    struct str rest = str_of(list_of(j, component));

    *ret_count = 0;
    while (j->jobs->parts && rest.at) {
        const struct slurm_part *p = find_part(j->jobs, str_cut(&rest, ','));

        if (wait_in(j, component, p))
            continue;
        *ret_count = cpus_on_node_of(p);
        return *ret_count > 0 ? mem_format("%s/%" PRId64, p->name, *ret_count) : NULL;
    }
    return NULL;
}

json_t *sjob_partitions(const struct sjob *j, size_t component)
{
    bool is_one = j->het.asks[component].nodes > 1 || limits_cpus(j, component);
    struct str rest = str_of(list_of(j, component));
    AUTO(json_freep) json_t *names = json_array();

    while (j->jobs->parts && rest.at) {
        const struct slurm_part *p = find_part(j->jobs, str_cut(&rest, ','));

        if (wait_in(j, component, p))
            continue;
        if (!p->nodes)
            return NULL;
        (void)json_array_append_new(names, json_string(p->name));
        if (is_one) /* all of its nodes are in one partition, whose limit it meets */
            break;
    }
    return json_array_size(names) > 0 ? TAKE(names) : NULL;
}

char *slurm_partition_on(const struct slurm_jobs *s, const char *list, const char *node)
{
    struct str rest = str_of(list);

    while (node && rest.at) {
        const struct slurm_part *p = find_part(s, str_cut(&rest, ','));

        if (p && slurm_part_has(p, node))
            return mem_strdup(p->name);
    }
    return mem_strdup(list && *list ? list : slurm_default_partition(s));
}

const char *slurm_default_partition(const struct slurm_jobs *s)
{
    const char *name = s->parts ? "" : SLURM_PARTITION;
    struct slurm_part *p;
    struct slurm_part *tmp;

    map_each (handle, s->parts, p, tmp)
        if (json_bool(spec_of(p), "isDefault", false) && (!*name || strcmp(p->name, name) < 0))
            name = p->name;
    return name;
}
