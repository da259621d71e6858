/* node_rules.c - rules about nodes: checked, read, spelled, answered */

#include "engine/affinity/node_rules.h"

#include <stdlib.h>

#include "engine/state.h"

enum {
    WEIGHT_MAX = 100
};

static const char *term_wrong(const struct mete_node_term *t)
{
    const char *wrong = requirements_wrong(t->labels, t->n_labels, false);

    return wrong ? wrong : requirements_wrong(t->names, t->n_names, true);
}

enum mete_result node_rules_check(struct mete_engine *e, const struct mete_pod_set *set)
{
    if (set->n_node_terms > LIST_MAX || set->n_node_wishes > LIST_MAX)
        return engine_refuse(e, METE_INVALID, "more than %d node terms or wishes", LIST_MAX);
    for (size_t i = 0; i < set->n_node_terms; i++) {
        const char *wrong = term_wrong(&set->node_terms[i]);

        if (wrong)
            return engine_refuse(e, METE_INVALID, "node term %zu: %s", i, wrong);
    }
    for (size_t i = 0; i < set->n_node_wishes; i++) {
        const struct mete_node_wish *wish = &set->node_wishes[i];
        const char *wrong = term_wrong(&wish->term);

        if (wrong)
            return engine_refuse(e, METE_INVALID, "node wish %zu: %s", i, wrong);
        if (wish->weight == 0 || wish->weight > WEIGHT_MAX)
            return engine_refuse(e, METE_INVALID, "node wish %zu: weight %u is not within 1 .. %d",
                                 i, wish->weight, WEIGHT_MAX);
    }
    return METE_OK;
}

static void read_term(struct intern *texts, const struct mete_node_term *from,
                      struct node_term *ret)
{
    requirements_read(texts, from->labels, from->n_labels, &ret->labels);
    requirements_read(texts, from->names, from->n_names, &ret->names);
}

struct node_rules *node_rules_read(struct mete_engine *e, const struct mete_pod_set *set)
{
    struct node_rules *r;

    if (set->n_node_terms == 0 && set->n_node_wishes == 0)
        return NULL;
    r = mem_alloc(sizeof(*r));
    r->texts = e->texts;
    r->terms = mem_alloc(set->n_node_terms * sizeof(*r->terms) + 1);
    r->n_terms = set->n_node_terms;
    r->wishes = mem_alloc(set->n_node_wishes * sizeof(*r->wishes) + 1);
    r->n_wishes = set->n_node_wishes;
    r->sums = mem_alloc(sizeof(*r->sums));
    for (size_t i = 0; i < r->n_terms; i++)
        read_term(e->texts, &set->node_terms[i], &r->terms[i]);
    for (size_t i = 0; i < r->n_wishes; i++) {
        r->wishes[i].weight = set->node_wishes[i].weight;
        read_term(e->texts, &set->node_wishes[i].term, &r->wishes[i].term);
    }
    return r;
}

static void term_done(struct intern *texts, struct node_term *t)
{
    requirements_done(texts, &t->labels);
    requirements_done(texts, &t->names);
}

void node_rules_free(struct mete_engine *e, struct node_rules *r)
{
    if (!r)
        return;
    for (size_t i = 0; i < r->n_terms; i++)
        term_done(e->texts, &r->terms[i]);
    for (size_t i = 0; i < r->n_wishes; i++)
        term_done(e->texts, &r->wishes[i].term);
    vec_done(&r->sums->at);
    free(r->sums);
    free(r->terms);
    free(r->wishes);
    free(r);
}

static void spell_term(const struct node_term *t, struct words *to)
{
    requirements_spell(&t->labels, to);
    requirements_spell(&t->names, to);
}

void node_rules_spell(const struct node_rules *r, struct words *to)
{
    vec_add(to, r ? (uint32_t)r->n_terms : 0);
    vec_add(to, r ? (uint32_t)r->n_wishes : 0);
    for (size_t i = 0; r && i < r->n_terms; i++)
        spell_term(&r->terms[i], to);
    for (size_t i = 0; r && i < r->n_wishes; i++) {
        vec_add(to, r->wishes[i].weight);
        spell_term(&r->wishes[i].term, to);
    }
}

static bool term_holds(const struct intern *texts, const struct node_term *t, const struct node *n)
{
    if (t->labels.n == 0 && t->names.n == 0)
        return false;
    for (size_t i = 0; i < t->names.n; i++)
        if (!requirement_takes(&t->names.at[i], n->name_id))
            return false;
    return requirements_hold(texts, &t->labels, n->labels, n->n_labels);
}

bool node_rules_hold(const struct node_rules *r, const struct node *n)
{
    for (size_t i = 0; i < r->n_terms; i++)
        if (term_holds(r->texts, &r->terms[i], n))
            return true;
    return r->n_terms == 0;
}

static void forget_sums(const struct mete_engine *e, struct wish_sums *sums)
{
    vec_clear(&sums->at);
    while (sums->at.n < e->slots.n)
        vec_add(&sums->at, UINT32_MAX);
    sums->known_at = e->nodes_version;
}

uint32_t node_rules_wishes(const struct mete_engine *e, const struct node_rules *r,
                           const struct node *n)
{
    uint32_t sum = 0;

    if (r->sums->known_at != e->nodes_version)
        forget_sums(e, r->sums);
    if (r->sums->at.at[n->slot] != UINT32_MAX)
        return r->sums->at.at[n->slot];
    for (size_t i = 0; i < r->n_wishes; i++)
        if (term_holds(r->texts, &r->wishes[i].term, n))
            sum += r->wishes[i].weight;
    r->sums->at.at[n->slot] = sum;
    return sum;
}
