/*
 * tally.c - tallies and topologies: made with rules, freed with the last user
 *
 * The first shape with a rule makes the rule's tally; the last shape or ties with a reference free
 * it. Domains and cells grow or move only in calls from outside, when no trial is open; trials
 * change only the numbers in cells.
 */

#include <stdlib.h>

#include "engine/affinity/affinity.h"
#include "engine/place/fit.h"
#include "engine/state.h"

static struct affinity *affinity_of(struct mete_engine *e)
{
    if (!e->affinity)
        e->affinity = mem_alloc(sizeof(*e->affinity));
    return e->affinity;
}

static void fit_cells(struct tally *t)
{
    while (t->cells.n < t->topology->by_index.n)
        vec_add(&t->cells, (struct cell){0});
}

static struct region *region_make(struct mete_engine *e, struct topology *t, uint32_t value)
{
    struct region *d = NULL;

    map_find(handle, t->domains, &value, sizeof(value), d);
    if (d)
        return d;
    d = mem_alloc(sizeof(*d));
    d->value = intern_ref(e->texts, intern_text(e->texts, value));
    if (t->unused.n > 0) {
        d->index = t->unused.at[--t->unused.n];
        t->by_index.at[d->index] = d;
    } else {
        d->index = (uint32_t)t->by_index.n;
        vec_add(&t->by_index, d);
    }
    map_add(handle, t->domains, &d->value, sizeof(d->value), d);
    return d;
}

static void region_leave(struct mete_engine *e, struct topology *t, struct region *d)
{
    if (--d->n_nodes > 0)
        return;
    map_remove(handle, t->domains, d);
    t->by_index.at[d->index] = NULL;
    vec_add(&t->unused, d->index);
    intern_unref(e->texts, d->value);
    free(d);
}

static uint32_t value_of(const struct node *n, uint32_t key)
{
    for (size_t i = 0; i < n->n_labels; i++)
        if (n->labels[i].key == key)
            return n->labels[i].value;
    return 0;
}

static void topology_enter(struct mete_engine *e, struct topology *t, const struct node *n)
{
    uint32_t value = value_of(n, t->key);
    struct region *d;

    if (value == 0)
        return;
    d = region_make(e, t, value);
    d->n_nodes++;
    while (t->of_slot.n <= n->slot)
        vec_add(&t->of_slot, 0);
    t->of_slot.at[n->slot] = d->index;
}

static void topology_leave(struct mete_engine *e, struct topology *t, const struct node *n)
{
    uint32_t domain = affinity_domain(t, n->slot);

    if (domain == 0)
        return;
    t->of_slot.at[n->slot] = 0;
    region_leave(e, t, t->by_index.at[domain]);
}

static struct topology *topology_make(struct mete_engine *e, uint32_t key)
{
    struct affinity *affinity = affinity_of(e);
    struct topology *t = NULL;

    map_find(handle, affinity->topologies, &key, sizeof(key), t);
    if (t) {
        t->refs++;
        return t;
    }
    t = mem_alloc(sizeof(*t));
    t->key = intern_ref(e->texts, intern_text(e->texts, key));
    t->refs = 1;
    vec_add(&t->by_index, NULL);
    map_add(handle, affinity->topologies, &t->key, sizeof(t->key), t);
    VEC_EACH (&e->order, n) {
        topology_enter(e, t, *n);
    }
    return t;
}

static void topology_unref(struct mete_engine *e, struct topology *t)
{
    if (--t->refs > 0)
        return;
    for (size_t i = 1; i < t->by_index.n; i++) {
        struct region *d = t->by_index.at[i];

        if (!d)
            continue;
        /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): uthash; it is in the map */
        map_remove(handle, t->domains, d);
        intern_unref(e->texts, d->value);
        free(d);
    }
    map_remove(handle, e->affinity->topologies, t);
    intern_unref(e->texts, t->key);
    vec_done(&t->by_index);
    vec_done(&t->unused);
    vec_done(&t->of_slot);
    free(t);
}

bool tally_takes(const struct mete_engine *e, const struct tally *t,
                 const struct pod_labels *labels)
{
    for (size_t i = 0; i < t->n_filters; i++)
        if (!pod_filter_takes(e->texts, &t->filters[i], labels))
            return false;
    return true;
}

bool affinity_counts_node(const struct tally *t, const struct node *n)
{
    return !t->is_spread || (n->slot < t->counts.n && t->counts.at[n->slot]);
}

/*
 * Does the spread count the node? A node must have the topology labels of all of the pod's spreads
 * of that kind (required or preferred), and, if the rule says so, match the pod's selector and
 * taints. affinity_ask handles nodes that take no pods now.
 */
static bool is_eligible(const struct tally *t, const struct node *n)
{
    const struct affinity_rules *rules = t->owner->affinity;

    for (size_t i = 0; i < rules->n; i++)
        if (rules->at[i].kind == METE_RULE_SPREAD &&
            (rules->at[i].weight > 0) == (t->rule->weight > 0) &&
            value_of(n, rules->at[i].topology) == 0)
            return false;
    if (!t->rule->counts_all_nodes && !fit_wanted(n, t->owner))
        return false;
    return !t->rule->counts_no_tainted_nodes || !fit_taint(n, t->owner);
}

static void tally_enter(struct tally *t, const struct node *n)
{
    uint32_t domain = affinity_domain(t->topology, n->slot);

    fit_cells(t);
    if (!t->owner || domain == 0 || !is_eligible(t, n))
        return;
    while (t->counts.n <= n->slot)
        vec_add(&t->counts, false);
    t->counts.at[n->slot] = true;
    t->cells.at[domain].nodes++;
}

static void tally_leave(struct tally *t, const struct node *n)
{
    uint32_t domain = affinity_domain(t->topology, n->slot);

    if (!t->is_spread || domain == 0 || !affinity_counts_node(t, n))
        return;
    t->counts.at[n->slot] = false;
    t->cells.at[domain].nodes--;
}

static struct tally *tally_new(struct mete_engine *e, uint32_t topology)
{
    struct affinity *affinity = affinity_of(e);
    struct tally *t = mem_alloc(sizeof(*t));

    t->number = ++affinity->next_number;
    t->topology = topology_make(e, topology);
    vec_add(&affinity->tallies, t);
    return t;
}

/* Adds a rule to the tally's users. */
static void tally_use(struct mete_engine *e, struct tally *t)
{
    t->refs++;
    if (t->users++ > 0)
        return;
    if (t->refs > 1)
        e->affinity->n_unused--; /* only ties held the tally */
    vec_add(&e->affinity->fresh, t);
}

static struct tally *tally_of_spread(struct mete_engine *e, const struct shape *s,
                                     const struct affinity_rule *r)
{
    struct tally *t = tally_new(e, r->topology);

    t->is_spread = true;
    t->owner = s;
    t->rule = r;
    t->filters = mem_alloc(sizeof(*t->filters));
    t->n_filters = 1;
    pod_filter_copy(e->texts, &r->pods, &t->filters[0]);
    VEC_EACH (&e->order, n) {
        tally_enter(t, *n);
    }
    fit_cells(t);
    tally_use(e, t);
    return t;
}

/* Finds or makes the tally of pods that pass the filters of all these rules (one or more), in one
 * topology. */
static struct tally *tally_shared(struct mete_engine *e, uint32_t topology,
                                  const struct affinity_rule *const *rules, size_t n)
{
    struct tally *t = NULL;
    struct words w = {0};

    vec_add(&w, topology);
    for (size_t i = 0; i < n; i++)
        pod_filter_spell(&rules[i]->pods, &w);
    if (e->affinity)
        map_find(handle, e->affinity->shared, w.at, w.n * sizeof(*w.at), t);
    if (t) {
        vec_done(&w);
        tally_use(e, t);
        return t;
    }
    t = tally_new(e, topology);
    t->words = w.at;
    t->n_words = w.n;
    t->filters = mem_alloc(n * sizeof(*t->filters));
    t->n_filters = n;
    for (size_t i = 0; i < n; i++)
        pod_filter_copy(e->texts, &rules[i]->pods, &t->filters[i]);
    fit_cells(t);
    map_add(handle, e->affinity->shared, t->words, t->n_words * sizeof(*t->words), t);
    tally_use(e, t);
    return t;
}

static void tally_free(struct mete_engine *e, struct tally *t)
{
    struct affinity *affinity = e->affinity;

    if (t->words)
        map_remove(handle, affinity->shared, t);
    for (size_t i = 0; i < affinity->tallies.n; i++)
        if (affinity->tallies.at[i] == t) {
            vec_remove(&affinity->tallies, i);
            break;
        }
    for (size_t i = 0; i < t->n_filters; i++)
        pod_filter_done(e->texts, &t->filters[i]);
    topology_unref(e, t->topology);
    free(t->filters);
    free(t->words);
    vec_done(&t->counts);
    vec_done(&t->cells);
    free(t);
}

void tally_unref(struct mete_engine *e, struct tally *t)
{
    if (--t->refs > 0)
        return;
    e->affinity->n_unused--;
    tally_free(e, t);
}

static void tally_unuse(struct mete_engine *e, struct tally *t)
{
    struct affinity *affinity = e->affinity;

    if (--t->users == 0) {
        affinity->n_unused++;
        t->owner = NULL; /* the shape is about to be freed */
        for (size_t i = 0; i < affinity->fresh.n; i++)
            if (affinity->fresh.at[i] == t) {
                vec_remove(&affinity->fresh, i);
                break;
            }
    }
    tally_unref(e, t);
}

/* Lists the required "together" rules: a pod counts for them when it passes all. */
static size_t list_together(const struct affinity_rules *rules, const struct affinity_rule **ret)
{
    size_t n = 0;

    for (size_t i = 0; i < rules->n; i++)
        if (rules->at[i].kind == METE_RULE_TOGETHER && rules->at[i].weight == 0)
            ret[n++] = &rules->at[i];
    return n;
}

void affinity_attach(struct mete_engine *e, struct shape *s)
{
    const struct affinity_rule *together[AFFINITY_RULES_MAX];
    size_t n_together;

    if (!s->affinity)
        return;
    n_together = list_together(s->affinity, together);
    for (size_t i = 0; i < s->affinity->n; i++) {
        struct affinity_rule *r = &s->affinity->at[i];
        const struct affinity_rule *const own[] = {r};
        bool is_together = r->kind == METE_RULE_TOGETHER && r->weight == 0;

        if (r->kind == METE_RULE_SPREAD)
            r->tally = tally_of_spread(e, s, r);
        else if (is_together)
            r->tally = tally_shared(e, r->topology, together, n_together);
        else
            r->tally = tally_shared(e, r->topology, own, 1);
        if (is_together || (r->kind != METE_RULE_SPREAD && r->weight > 0))
            r->liked = tally_shared(e, r->topology, own, 1);
        r->tally->n_waited += is_together || (r->kind == METE_RULE_SPREAD && r->weight == 0);
    }
}

void affinity_detach(struct mete_engine *e, struct shape *s)
{
    for (size_t i = 0; s->affinity && i < s->affinity->n; i++) {
        struct affinity_rule *r = &s->affinity->at[i];

        if (!r->tally)
            continue; /* not attached: the shape existed already */
        r->tally->n_waited -=
            (r->kind == METE_RULE_TOGETHER || r->kind == METE_RULE_SPREAD) && r->weight == 0;
        tally_unuse(e, r->tally);
        if (r->liked)
            tally_unuse(e, r->liked);
    }
}

static void count_pods(struct mete_engine *e, const struct node *n, int by)
{
    for (const struct pod *p = n->pods; p; p = p->after)
        affinity_count(e, pod_ties(p), pod_shape(p), n, by);
}

void affinity_node_leave(struct mete_engine *e, const struct node *n)
{
    struct topology *t;
    struct topology *next;

    if (!e->affinity)
        return;
    count_pods(e, n, -1);
    VEC_EACH (&e->affinity->tallies, tally) {
        tally_leave(*tally, n);
    }
    map_each (handle, e->affinity->topologies, t, next) {
        topology_leave(e, t, n);
    }
}

void affinity_node_enter(struct mete_engine *e, const struct node *n)
{
    struct topology *t;
    struct topology *next;

    if (!e->affinity)
        return;
    map_each (handle, e->affinity->topologies, t, next) {
        topology_enter(e, t, n);
    }
    VEC_EACH (&e->affinity->tallies, tally) {
        tally_enter(*tally, n);
    }
    count_pods(e, n, 1);
}

void affinity_free(struct mete_engine *e)
{
    struct affinity *affinity = e->affinity;

    if (!affinity)
        return;
    vec_done(&affinity->tallies);
    vec_done(&affinity->fresh);
    free(affinity);
    e->affinity = NULL;
}
