/* ties.c - pods' labels and ties, and the counting of pods in tallies */

#include <inttypes.h>
#include <stdlib.h>

#include "engine/affinity/affinity.h"
#include "engine/record/record.h"
#include "engine/state.h"

enum {
    UNUSED_MAX = 64 /* unused tallies that ties may keep, before all ties are made anew */
};

const char *pod_labels_wrong(const struct mete_label *labels, size_t n)
{
    if (n > LIST_MAX)
        return "the list is too long";
    for (size_t i = 0; i < n; i++) {
        if (!text_is_sane(labels[i].key) || !labels[i].value ||
            strnlen(labels[i].value, TEXT_MAX + 1) > TEXT_MAX)
            return "a label has no key, no value, or too long a text";
        for (size_t k = 0; k < i; k++)
            if (strcmp(labels[i].key, labels[k].key) == 0)
                return "a key is named twice";
    }
    return NULL;
}

static int compare_labels(const void *a, const void *b)
{
    const struct label *x = a;
    const struct label *y = b;

    return (x->key > y->key) - (x->key < y->key);
}

static void read_labels(struct mete_engine *e, const struct mete_label *labels, size_t n,
                        struct pod_labels *ret)
{
    ret->n = n;
    ret->at = mem_alloc(n * sizeof(*ret->at) + 1);
    for (size_t i = 0; i < n; i++)
        ret->at[i] = (struct label){intern_ref(e->texts, labels[i].key),
                                    intern_ref(e->texts, labels[i].value)};
    qsort(ret->at, n, sizeof(*ret->at), compare_labels);
}

struct pod_labels *pod_labels_read(struct mete_engine *e, const struct mete_workload *w)
{
    struct pod_labels *ret;
    bool has_any = false;

    for (size_t i = 0; i < w->n_pod_sets; i++)
        has_any = has_any || w->pod_sets[i].n_labels > 0 || w->pod_sets[i].ns;
    if (!has_any)
        return NULL;
    ret = mem_alloc(w->n_pod_sets * sizeof(*ret));
    for (size_t i = 0; i < w->n_pod_sets; i++) {
        ret[i].ns = intern_ref(e->texts, w->pod_sets[i].ns ? w->pod_sets[i].ns : "");
        read_labels(e, w->pod_sets[i].labels, w->pod_sets[i].n_labels, &ret[i]);
    }
    return ret;
}

static void clear_labels(struct mete_engine *e, struct pod_labels *labels)
{
    for (size_t i = 0; i < labels->n; i++) {
        intern_unref(e->texts, labels->at[i].key);
        intern_unref(e->texts, labels->at[i].value);
    }
    free(labels->at);
    labels->at = NULL;
    labels->n = 0;
}

void pod_labels_free(struct mete_engine *e, struct pod_labels *labels, size_t n_sets)
{
    for (size_t i = 0; labels && i < n_sets; i++) {
        clear_labels(e, &labels[i]);
        intern_unref(e->texts, labels[i].ns);
    }
    free(labels);
}

struct pod_labels workload_labels(const struct mete_engine *e, const struct workload *w, size_t set)
{
    if (w->labels)
        return w->labels[set];
    return (struct pod_labels){.ns = intern_find(e->texts, "")};
}

bool ties_have(const struct ties *t, const struct tally *tally)
{
    for (size_t i = 0; t && i < t->n; i++)
        if (t->at[i] == tally)
            return true;
    return false;
}

const struct ties *pod_ties(const struct pod *p)
{
    return p->workload->group->sets[p->set].ties;
}

/* The ties with this list, with one more reference. Takes the array. */
static struct ties *ties_consed(struct mete_engine *e, struct tally **list, size_t n)
{
    struct affinity *affinity = e->affinity;
    struct ties *t = NULL;

    map_find(handle, affinity->ties, list, n * sizeof(struct tally *), t);
    if (t) {
        free(list);
    } else {
        t = mem_alloc(sizeof(*t));
        t->at = list;
        t->n = n;
        for (size_t i = 0; i < n; i++)
            list[i]->refs++;
        map_add(handle, affinity->ties, t->at, n * sizeof(struct tally *), t);
    }
    t->refs++;
    return t;
}

void ties_unref(struct mete_engine *e, struct ties *t)
{
    if (!t || --t->refs > 0)
        return;
    map_remove(handle, e->affinity->ties, t);
    for (size_t i = 0; i < t->n; i++)
        tally_unref(e, t->at[i]);
    free(t->at);
    free(t);
}

/* The ties of pods with these labels; NULL: no tally counts them. */
static struct ties *ties_find(struct mete_engine *e, const struct pod_labels *labels)
{
    VEC(struct tally *) list = {0};

    VEC_EACH (&e->affinity->tallies, t) {
        if ((*t)->users > 0 && tally_takes(e, *t, labels))
            vec_add(&list, *t);
    }
    return list.n > 0 ? ties_consed(e, list.at, list.n) : NULL;
}

static void count_workload(struct mete_engine *e, struct workload *w, int by)
{
    for (size_t i = 0; i < w->n_pods; i++)
        if (w->pods[i].node)
            affinity_count(e, pod_ties(&w->pods[i]), pod_shape(&w->pods[i]), w->pods[i].node, by);
}

/* Finds the workload's ties anew. The workload may wait, be placed, or be new. */
static void workload_retie(struct mete_engine *e, struct workload *w)
{
    struct group *old = w->group;
    struct ties **ties = mem_alloc(old->n_sets * sizeof(struct ties *));
    bool is_waiting = w->all.size > 0;
    bool is_same = true;

    for (size_t i = 0; i < old->n_sets; i++) {
        struct pod_labels labels = workload_labels(e, w, i);

        ties[i] = ties_find(e, &labels);
        is_same = is_same && ties[i] == old->sets[i].ties;
    }
    if (!is_same) {
        count_workload(e, w, -1);
        if (is_waiting)
            group_unwait(e, w);
        w->group = group_tied(e, old, ties);
        if (is_waiting)
            group_wait(e, w);
        count_workload(e, w, 1);
        group_unref(e, old);
    }
    for (size_t i = 0; i < w->group->n_sets; i++)
        ties_unref(e, ties[i]);
    free(ties);
}

static bool is_new_to(struct mete_engine *e, const struct workload *w)
{
    for (size_t i = 0; i < w->group->n_sets; i++) {
        struct pod_labels labels = workload_labels(e, w, i);

        VEC_EACH (&e->affinity->fresh, t) {
            if (!ties_have(w->group->sets[i].ties, *t) && tally_takes(e, *t, &labels))
                return true;
        }
    }
    return false;
}

/* Adds new tallies to the ties of present workloads, and sometimes drops unused tallies from all
 * ties. */
static void ties_settle(struct mete_engine *e)
{
    struct affinity *affinity = e->affinity;
    bool is_full = affinity->n_unused > UNUSED_MAX && affinity->n_unused > affinity->tallies.n / 2;
    struct workload *w;
    size_t at;

    if (affinity->fresh.n == 0 && !is_full)
        return;
    id_map_each (&e->workloads, at, w) {
        if (is_full || is_new_to(e, w))
            workload_retie(e, w);
    }
    vec_clear(&affinity->fresh);
}

void affinity_join(struct mete_engine *e, struct workload *w)
{
    if (!e->affinity)
        return;
    ties_settle(e);
    workload_retie(e, w);
}

static const char *sets_wrong(const struct workload *w, const struct mete_pod_labels *sets,
                              size_t n_sets)
{
    const char *wrong = NULL;

    if (n_sets != w->group->n_sets)
        return "want one list for each pod set";
    for (size_t i = 0; i < n_sets && !wrong; i++)
        wrong = pod_labels_wrong(sets[i].labels, sets[i].n_labels);
    return wrong;
}

static void set_labels(struct mete_engine *e, struct workload *w,
                       const struct mete_pod_labels *sets, size_t n_sets)
{
    if (!w->labels)
        w->labels = mem_alloc(n_sets * sizeof(*w->labels));
    for (size_t i = 0; i < n_sets; i++) {
        if (w->labels[i].ns == 0)
            w->labels[i].ns = intern_ref(e->texts, "");
        clear_labels(e, &w->labels[i]);
        read_labels(e, sets[i].labels, sets[i].n_labels, &w->labels[i]);
    }
    if (e->affinity)
        workload_retie(e, w);
}

enum mete_result mete_workload_label(struct mete_engine *e, uint64_t id,
                                     const struct mete_pod_labels *sets, size_t n_sets)
{
    struct workload *w = engine_workload(e, id);
    const char *wrong;

    if (!w)
        return engine_refuse(e, METE_NOT_FOUND, "there is no workload %" PRIu64, id);
    wrong = sets_wrong(w, sets, n_sets);
    if (wrong)
        return engine_refuse(e, METE_INVALID, "labels of workload %" PRIu64 ": %s", id, wrong);
    record_call(e, RECORD_WORKLOAD_LABEL, &(struct record_label){id, sets, n_sets});
    set_labels(e, w, sets, n_sets);
    if (!e->affinity)
        return METE_OK;
    engine_freed(e); /* waiting workloads may fit now */
    e->version++;
    return METE_OK;
}

static void add(struct mete_engine *e, uint32_t *at, int by)
{
    SET(e, *at, by > 0 ? *at + 1 : *at - 1);
}

static void count_rule(struct mete_engine *e, const struct affinity_rule *r, const struct node *n,
                       int by)
{
    struct tally *t = r->liked ? r->liked : r->tally;
    uint32_t domain = affinity_domain(t->topology, n->slot);
    int64_t weight = r->weight > 0 ? r->weight : 1; /* Kubernetes' weight of required rules */
    struct cell *c;

    if (domain == 0 || r->kind == METE_RULE_SPREAD)
        return;
    c = &t->cells.at[domain];
    if (r->liked) {
        SET(e, c->liking, c->liking + (r->kind == METE_RULE_APART ? -weight : weight) * by);
        add(e, &t->n_liking, by);
    } else {
        add(e, &c->apart, by);
        add(e, &t->n_apart, by);
    }
}

void affinity_count(struct mete_engine *e, const struct ties *ties, const struct shape *s,
                    const struct node *n, int by)
{
    for (size_t i = 0; ties && i < ties->n; i++) {
        struct tally *t = ties->at[i];
        uint32_t domain = affinity_domain(t->topology, n->slot);

        if (domain == 0 || !affinity_counts_node(t, n))
            continue;
        add(e, &t->cells.at[domain].pods, by);
        add(e, &t->n_pods, by);
    }
    for (size_t i = 0; s->affinity && i < s->affinity->n; i++)
        count_rule(e, &s->affinity->at[i], n, by);
}

bool affinity_helps(const struct workload *w)
{
    for (size_t i = 0; i < w->group->n_sets; i++) {
        const struct ties *ties = w->group->sets[i].ties;

        for (size_t k = 0; ties && k < ties->n; k++)
            if (ties->at[k]->n_waited > 0)
                return true;
    }
    return false;
}
