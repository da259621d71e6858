/* scheduler_affinity.c - a pod's affinity, spread and labels, as the engine takes them */
#include "base/arena.h"
#include "base/fnv.h"
#include "base/log.h"
#include "control/scheduler/scheduler_private.h"
#include "kinds/pod/pod_state.h"
#include "kinds/slurm/slurm_job.h"

enum {
    RULES_MAX = 512 /* limit of the engine; validation allows fewer */
};

/*
 * Every pod has its own job id, and every Slurm job its own labels: rules ignore them, so that pods
 * with equal labels stay equal.
 */
static bool is_seen(const char *key)
{
    return !text_equal(key, POD_JOB_ID) && !text_equal(key, SLURM_JOB_LABEL) &&
           !text_equal(key, SLURM_ARRAY_LABEL) && !text_equal(key, SLURM_INDEX_LABEL) &&
           !text_equal(key, SLURM_RANK_LABEL);
}

/*
 * These labels number the pods of a gang. Pods that start together differ in them, so rules ignore
 * them.
 */
static bool is_number(const char *key)
{
    static const char *const keys[] = {
        "apps.kubernetes.io/pod-index",
        "batch.kubernetes.io/job-completion-index",
        "jobset.sigs.k8s.io/job-global-index",
        "jobset.sigs.k8s.io/job-index",
        "jobset.sigs.k8s.io/job-key",
        "leaderworkerset.sigs.k8s.io/worker-index",
        "statefulset.kubernetes.io/pod-name",
        "training.kubeflow.org/replica-index",
        "volcano.sh/task-index",
    };

    for (size_t i = 0; i < COUNT(keys); i++)
        if (text_equal(keys[i], key))
            return true;
    return false;
}

const struct mete_label *scheduler_labels(struct arena *a, const json_t *pod, bool is_gang,
                                          size_t *ret_count)
{
    json_t *all = json_at(pod, "metadata", "labels", NULL);
    struct mete_label *list = arena_alloc(a, (json_object_size(all) + 1) * sizeof(*list));
    const char *key;
    json_t *value;
    size_t n = 0;

    json_object_foreach (all, key, value)
        if (is_seen(key) && !(is_gang && is_number(key)))
            list[n++] =
                (struct mete_label){key, json_is_string(value) ? json_string_value(value) : ""};
    *ret_count = n;
    return list;
}

static enum mete_operator operator_of(const char *text)
{
    static const struct {
        const char *text;
        enum mete_operator op;
    } known[] = {
        {"NotIn", METE_OP_NOT_IN}, {"Exists", METE_OP_EXISTS},
        {"Gt", METE_OP_GREATER},   {"DoesNotExist", METE_OP_DOES_NOT_EXIST},
        {"Lt", METE_OP_LESS},
    };

    for (size_t i = 0; i < COUNT(known); i++)
        if (text_equal(known[i].text, text))
            return known[i].op;
    return METE_OP_IN;
}

static struct mete_requirement read_requirement(struct arena *a, const json_t *from)
{
    const json_t *values = json_object_get(from, "values");
    size_t n = json_array_size(values);
    const char **list = arena_alloc(a, (n + 1) * sizeof(*list));

    for (size_t i = 0; i < n; i++)
        list[i] = json_string_value(json_array_get(values, i));
    return (struct mete_requirement){
        .key = json_text(from, "key"),
        .op = operator_of(json_text(from, "operator")),
        .values = list,
        .n_values = n,
    };
}

static const struct mete_requirement *read_requirements(struct arena *a, const json_t *from,
                                                        size_t *ret_count)
{
    size_t n = json_array_size(from);
    struct mete_requirement *list = arena_alloc(a, (n + 1) * sizeof(*list));

    for (size_t i = 0; i < n; i++)
        list[i] = read_requirement(a, json_array_get(from, i));
    *ret_count = n;
    return list;
}

static void read_term(struct arena *a, const json_t *from, struct mete_node_term *ret)
{
    ret->labels = read_requirements(a, json_object_get(from, "matchExpressions"), &ret->n_labels);
    ret->names = read_requirements(a, json_object_get(from, "matchFields"), &ret->n_names);
}

static void ask_nodes(struct arena *a, const json_t *affinity, struct mete_pod_set *set)
{
    const json_t *required =
        json_at(affinity, "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution",
                "nodeSelectorTerms", NULL);
    const json_t *preferred =
        json_at(affinity, "nodeAffinity", "preferredDuringSchedulingIgnoredDuringExecution", NULL);
    size_t n_terms = json_array_size(required);
    size_t n_wishes = json_array_size(preferred);
    struct mete_node_term *terms = arena_alloc(a, (n_terms + 1) * sizeof(*terms));
    struct mete_node_wish *wishes = arena_alloc(a, (n_wishes + 1) * sizeof(*wishes));

    for (size_t i = 0; i < n_terms; i++)
        read_term(a, json_array_get(required, i), &terms[i]);
    for (size_t i = 0; i < n_wishes; i++) {
        const json_t *wish = json_array_get(preferred, i);

        wishes[i].weight = (uint32_t)json_int(wish, "weight", 1);
        read_term(a, json_object_get(wish, "preference"), &wishes[i].term);
    }
    set->node_terms = terms;
    set->n_node_terms = n_terms;
    set->node_wishes = wishes;
    set->n_node_wishes = n_wishes;
}

/* One more condition: the pod's own value of the label, or any other value. */
static bool add_own(struct arena *a, const json_t *pod, const char *key, enum mete_operator op,
                    struct mete_requirement *ret)
{
    const char *value = json_text_at(pod, "metadata", "labels", key, NULL);
    const char **list;

    if (!value)
        return false; /* the pod lacks the label: no condition, as in Kubernetes */
    list = arena_alloc(a, sizeof(*list));
    list[0] = value;
    *ret = (struct mete_requirement){.key = key, .op = op, .values = list, .n_values = 1};
    return true;
}

/*
 * matchLabels, matchExpressions, and the pod's own values of matchLabelKeys and mismatchLabelKeys.
 */
static void read_selector(struct arena *a, const json_t *pod, const json_t *term,
                          struct mete_pod_rule *ret)
{
    const json_t *selector = json_object_get(term, "labelSelector");
    json_t *labels = json_object_get(selector, "matchLabels");
    const json_t *expressions = json_object_get(selector, "matchExpressions");
    const json_t *same = json_object_get(term, "matchLabelKeys");
    const json_t *other = json_object_get(term, "mismatchLabelKeys");
    size_t room = json_object_size(labels) + json_array_size(expressions) + json_array_size(same) +
                  json_array_size(other);
    struct mete_requirement *list = arena_alloc(a, (room + 1) * sizeof(*list));
    const char *key;
    json_t *value;
    size_t n = 0;

    json_object_foreach (labels, key, value) {
        const char **values = arena_alloc(a, sizeof(*values));

        values[0] = json_string_value(value);
        list[n++] = (struct mete_requirement){.key = key, .values = values, .n_values = 1};
    }
    for (size_t i = 0; i < json_array_size(expressions); i++)
        list[n++] = read_requirement(a, json_array_get(expressions, i));
    for (size_t i = 0; i < json_array_size(same); i++)
        n += add_own(a, pod, json_string_value(json_array_get(same, i)), METE_OP_IN, &list[n]);
    for (size_t i = 0; i < json_array_size(other); i++)
        n += add_own(a, pod, json_string_value(json_array_get(other, i)), METE_OP_NOT_IN, &list[n]);
    ret->labels = list;
    ret->n_labels = n;
    ret->matches_none = !selector;
}

/*
 * Without a list and a selector, the pod's own namespace; the empty selector takes all namespaces.
 */
static void read_namespaces(struct arena *a, const json_t *pod, const json_t *term,
                            struct mete_pod_rule *ret)
{
    const json_t *named = json_object_get(term, "namespaces");
    const json_t *selector = json_object_get(term, "namespaceSelector");
    size_t n = json_array_size(named);
    const char **list = arena_alloc(a, (n + 1) * sizeof(*list));

    for (size_t i = 0; i < n; i++)
        list[i] = json_string_value(json_array_get(named, i));
    if (n == 0 && !selector)
        list[n++] = json_text_at(pod, "metadata", "namespace", NULL);
    ret->namespaces = list;
    ret->n_namespaces = n;
    /* validation accepts only the empty selector */
    ret->any_namespace = selector && json_object_size(selector) == 0;
}

struct rules {
    struct arena *arena;
    const json_t *pod;
    struct mete_pod_rule *at;
    size_t n;
};

static void add_term(struct rules *rules, const json_t *term, enum mete_rule_kind kind,
                     int64_t weight)
{
    struct mete_pod_rule *r = &rules->at[rules->n];

    if (rules->n == RULES_MAX)
        return;
    rules->n++;
    *r = (struct mete_pod_rule){
        .kind = kind, .weight = (uint32_t)weight, .topology = json_text(term, "topologyKey")};
    read_selector(rules->arena, rules->pod, term, r);
    read_namespaces(rules->arena, rules->pod, term, r);
}

static void add_terms(struct rules *rules, const json_t *affinity, const char *which,
                      enum mete_rule_kind kind)
{
    const json_t *all = json_object_get(affinity, which);
    const json_t *required = json_object_get(all, "requiredDuringSchedulingIgnoredDuringExecution");
    const json_t *preferred =
        json_object_get(all, "preferredDuringSchedulingIgnoredDuringExecution");

    for (size_t i = 0; i < json_array_size(required); i++)
        add_term(rules, json_array_get(required, i), kind, 0);
    for (size_t i = 0; i < json_array_size(preferred); i++) {
        const json_t *wish = json_array_get(preferred, i);

        add_term(rules, json_object_get(wish, "podAffinityTerm"), kind,
                 json_int(wish, "weight", 1));
    }
}

static void add_spreads(struct rules *rules, const json_t *list)
{
    for (size_t i = 0; i < json_array_size(list) && rules->n < RULES_MAX; i++) {
        const json_t *from = json_array_get(list, i);
        bool is_wish = text_equal(json_text(from, "whenUnsatisfiable"), "ScheduleAnyway");
        struct mete_pod_rule *r = &rules->at[rules->n++];

        *r = (struct mete_pod_rule){
            .kind = METE_RULE_SPREAD,
            .weight = is_wish ? 1 : 0,
            .topology = json_text(from, "topologyKey"),
            .max_skew = (uint32_t)json_int(from, "maxSkew", 1),
            .min_domains = (uint32_t)json_int(from, "minDomains", 1),
            .counts_all_nodes = text_equal(json_text(from, "nodeAffinityPolicy"), "Ignore"),
            .counts_no_tainted_nodes = text_equal(json_text(from, "nodeTaintsPolicy"), "Honor"),
        };
        read_selector(rules->arena, rules->pod, from, r);
        read_namespaces(rules->arena, rules->pod, NULL, r); /* the pod's own namespace */
    }
}

void scheduler_ask_affinity(struct arena *a, const json_t *pod, struct mete_pod_set *set)
{
    const json_t *spec = json_object_get(pod, "spec");
    const json_t *affinity = json_object_get(spec, "affinity");
    const json_t *spread = json_object_get(spec, "topologySpreadConstraints");
    struct rules rules = {.arena = a, .pod = pod};

    set->ns = json_text_at(pod, "metadata", "namespace", NULL);
    set->labels = scheduler_labels(a, pod, false, &set->n_labels);
    if (affinity)
        ask_nodes(a, affinity, set);
    if (!affinity && !spread)
        return;
    rules.at = arena_alloc(a, RULES_MAX * sizeof(*rules.at));
    add_terms(&rules, affinity, "podAffinity", METE_RULE_TOGETHER);
    add_terms(&rules, affinity, "podAntiAffinity", METE_RULE_APART);
    add_spreads(&rules, spread);
    set->rules = rules.at;
    set->n_rules = rules.n;
}

static bool requirements_same(const struct mete_requirement *a, size_t n_a,
                              const struct mete_requirement *b, size_t n_b)
{
    for (size_t i = 0; n_a == n_b && i < n_a; i++)
        if (!text_equal(a[i].key, b[i].key) || a[i].op != b[i].op ||
            a[i].n_values != b[i].n_values || !texts_equal(a[i].values, b[i].values, a[i].n_values))
            return false;
    return n_a == n_b;
}

static bool terms_same(const struct mete_node_term *a, const struct mete_node_term *b)
{
    return requirements_same(a->labels, a->n_labels, b->labels, b->n_labels) &&
           requirements_same(a->names, a->n_names, b->names, b->n_names);
}

static bool rules_same(const struct mete_pod_rule *a, const struct mete_pod_rule *b)
{
    return a->kind == b->kind && a->weight == b->weight && text_equal(a->topology, b->topology) &&
           a->matches_none == b->matches_none && a->any_namespace == b->any_namespace &&
           a->max_skew == b->max_skew && a->min_domains == b->min_domains &&
           a->counts_all_nodes == b->counts_all_nodes &&
           a->counts_no_tainted_nodes == b->counts_no_tainted_nodes &&
           a->n_namespaces == b->n_namespaces &&
           texts_equal(a->namespaces, b->namespaces, a->n_namespaces) &&
           requirements_same(a->labels, a->n_labels, b->labels, b->n_labels);
}

bool scheduler_affinity_same(const struct mete_pod_set *a, const struct mete_pod_set *b)
{
    bool is_same = a->n_node_terms == b->n_node_terms && a->n_node_wishes == b->n_node_wishes &&
                   a->n_rules == b->n_rules && text_equal(a->ns, b->ns);

    for (size_t i = 0; is_same && i < a->n_node_terms; i++)
        is_same = terms_same(&a->node_terms[i], &b->node_terms[i]);
    for (size_t i = 0; is_same && i < a->n_node_wishes; i++)
        is_same = a->node_wishes[i].weight == b->node_wishes[i].weight &&
                  terms_same(&a->node_wishes[i].term, &b->node_wishes[i].term);
    for (size_t i = 0; is_same && i < a->n_rules; i++)
        is_same = rules_same(&a->rules[i], &b->rules[i]);
    return is_same;
}

bool scheduler_labels_same(const struct mete_pod_set *a, const struct mete_pod_set *b)
{
    bool is_same = a->n_labels == b->n_labels;

    for (size_t i = 0; is_same && i < a->n_labels; i++) {
        bool is_there = false;

        for (size_t k = 0; k < b->n_labels; k++)
            is_there = is_there || (text_equal(a->labels[i].key, b->labels[k].key) &&
                                    text_equal(a->labels[i].value, b->labels[k].value));
        is_same = is_there;
    }
    return is_same;
}

uint64_t scheduler_label_hash(const json_t *pod)
{
    uint64_t sum = 0; /* order-independent: labels have no order */
    const char *key;
    json_t *value;

    json_object_foreach (json_at(pod, "metadata", "labels", NULL), key, value) {
        uint64_t hash = fnv_byte(fnv_text(FNV_START, key), 0);

        sum += fnv_text(hash, text_or_empty(json_string_value(value)));
    }
    return sum;
}

/* The labels of each set's first pod, as ask_for takes them. */
void scheduler_relabel(struct scheduler *s, const struct sched_work *w)
{
    struct arena *a = arena_new();
    struct mete_pod_labels *sets = arena_alloc(a, (w->pods.n + 1) * sizeof(*sets));
    size_t n = 0;

    scheduler_tell_shrunk(s);
    VEC_EACH (&w->pods, p) {
        if ((*p)->set < n || !(*p)->tree)
            continue; /* pods are in the order of their sets */
        sets[n].labels = scheduler_labels(a, (*p)->tree, w->is_gang, &sets[n].n_labels);
        n++;
    }
    if (mete_workload_label(s->engine, w->id, sets, n) != METE_OK)
        LOG(ERROR, "labels cannot be counted", S("workload", w->key),
            S("error", mete_last_error(s->engine)));
    scheduler_poke(s);
    arena_free(a);
}
