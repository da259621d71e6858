/* affinity_check.c - consistency checks of tallies, ties and domains, and a hash of them */

#include <stdlib.h>

#include "base/num.h"
#include "engine/affinity/affinity.h"
#include "engine/state.h"

struct counted_tally {
    const struct tally *tally;
    struct cell *cells;
    uint32_t n_pods;
    uint32_t n_apart;
    uint32_t n_liking;
};

static const char *check_ties(struct mete_engine *e)
{
    struct workload *w;
    size_t at;

    id_map_each (&e->workloads, at, w) {
        for (size_t i = 0; i < w->group->n_sets; i++) {
            struct pod_labels labels = workload_labels(e, w, i);
            const struct ties *ties = w->group->sets[i].ties;

            VEC_EACH (&e->affinity->tallies, t) {
                if ((*t)->users > 0 && ties_have(ties, *t) != tally_takes(e, *t, &labels))
                    return "a pod's ties differ from its labels";
            }
        }
    }
    return NULL;
}

static const char *check_domains(const struct mete_engine *e)
{
    struct topology *t;
    struct topology *next;

    map_each (handle, e->affinity->topologies, t, next) {
        for (size_t i = 0; i < e->order.n; i++) {
            const struct node *n = e->order.at[i];
            uint32_t domain = affinity_domain(t, n->slot);
            uint32_t value = 0;

            for (size_t k = 0; k < n->n_labels; k++)
                if (n->labels[k].key == t->key)
                    value = n->labels[k].value;
            if ((domain == 0) != (value == 0) ||
                (domain != 0 && t->by_index.at[domain]->value != value))
                return "a node is in another domain than its label says";
        }
    }
    return NULL;
}

/* Counts one tally anew, over the pods of all present nodes. */
static void tally_count(const struct mete_engine *e, struct counted_tally *c)
{
    const struct tally *t = c->tally;

    for (size_t i = 0; i < e->order.n; i++) {
        const struct node *n = e->order.at[i];
        uint32_t domain = affinity_domain(t->topology, n->slot);

        if (domain == 0)
            continue;
        c->cells[domain].nodes += t->is_spread && affinity_counts_node(t, n);
        for (const struct pod *p = n->pods; p; p = p->after) {
            const struct affinity_rules *rules = pod_shape(p)->affinity;

            if (ties_have(pod_ties(p), t) && affinity_counts_node(t, n)) {
                c->cells[domain].pods++;
                c->n_pods++;
            }
            for (size_t k = 0; rules && k < rules->n; k++) {
                const struct affinity_rule *r = &rules->at[k];
                int64_t weight = r->weight > 0 ? r->weight : 1;

                if (r->liked == t) {
                    c->cells[domain].liking += r->kind == METE_RULE_APART ? -weight : weight;
                    c->n_liking++;
                } else if (!r->liked && r->tally == t && r->kind == METE_RULE_APART) {
                    c->cells[domain].apart++;
                    c->n_apart++;
                }
            }
        }
    }
}

static bool is_same(const struct counted_tally *c)
{
    const struct tally *t = c->tally;

    for (size_t i = 0; i < t->cells.n; i++)
        if (t->cells.at[i].pods != c->cells[i].pods || t->cells.at[i].apart != c->cells[i].apart ||
            t->cells.at[i].liking != c->cells[i].liking ||
            t->cells.at[i].nodes != c->cells[i].nodes)
            return false;
    return t->n_pods == c->n_pods && t->n_apart == c->n_apart && t->n_liking == c->n_liking;
}

const char *affinity_check(struct mete_engine *e)
{
    const char *wrong = e->affinity ? check_domains(e) : NULL;

    if (!e->affinity || wrong)
        return wrong;
    VEC_EACH (&e->affinity->tallies, t) {
        struct counted_tally c = {.tally = *t};

        if ((*t)->users == 0)
            continue;
        c.cells = mem_alloc((*t)->cells.n * sizeof(*c.cells) + 1);
        tally_count(e, &c);
        wrong = is_same(&c) ? wrong : "a tally differs from a new count of the pods";
        free(c.cells);
    }
    return wrong ? wrong : check_ties(e);
}

/* A sum, because the numbers of tallies, domains and texts depend on earlier events. */
uint64_t affinity_hash(const struct mete_engine *e)
{
    uint64_t sum = 0;

    if (!e->affinity)
        return 0;
    VEC_EACH (&e->affinity->tallies, t) {
        for (size_t i = 1; (*t)->users > 0 && i < (*t)->cells.n; i++) {
            const struct cell *c = &(*t)->cells.at[i];
            uint64_t counts = (uint64_t)c->pods << 32 | c->apart;

            if (counts != 0 || c->liking != 0)
                sum += num_scatter(num_scatter(counts) + (uint64_t)c->liking);
        }
    }
    return sum;
}
