/* affinity_rules.c - rules about other pods: checked, read, spelled */

#include <stdlib.h>

#include "engine/affinity/affinity.h"
#include "engine/state.h"

enum {
    RULES_MAX = AFFINITY_RULES_MAX,
    WEIGHT_MAX = 100,
    SKEW_MAX = INT32_MAX
};

static const char *filter_wrong(const struct mete_pod_rule *r)
{
    if (r->n_namespaces > LIST_MAX)
        return "the list of namespaces is too long";
    for (size_t i = 0; i < r->n_namespaces; i++)
        if (!r->namespaces[i] || strnlen(r->namespaces[i], TEXT_MAX + 1) > TEXT_MAX)
            return "a namespace is missing or too long";
    return requirements_wrong(r->labels, r->n_labels, false);
}

static const char *spread_wrong(const struct mete_pod_rule *r)
{
    if (r->kind != METE_RULE_SPREAD)
        return NULL;
    if (r->max_skew == 0 || r->max_skew > SKEW_MAX)
        return "max_skew is not within 1 .. 2^31-1";
    return r->min_domains > SKEW_MAX ? "min_domains is over 2^31-1" : NULL;
}

enum mete_result affinity_rules_check(struct mete_engine *e, const struct mete_pod_set *set)
{
    const char *wrong = pod_labels_wrong(set->labels, set->n_labels);

    if (wrong || (set->ns && strnlen(set->ns, TEXT_MAX + 1) > TEXT_MAX))
        return engine_refuse(e, METE_INVALID, "pod labels: %s",
                             wrong ? wrong : "the namespace is too long");
    if (set->n_rules > RULES_MAX)
        return engine_refuse(e, METE_INVALID, "more than %d rules about other pods", RULES_MAX);
    for (size_t i = 0; i < set->n_rules; i++) {
        const struct mete_pod_rule *r = &set->rules[i];

        if ((unsigned)r->kind > METE_RULE_SPREAD || r->weight > WEIGHT_MAX)
            return engine_refuse(e, METE_INVALID, "rule %zu has no known kind, or a weight over %d",
                                 i, WEIGHT_MAX);
        if (!text_is_sane(r->topology))
            return engine_refuse(e, METE_INVALID, "rule %zu names no topology", i);
        wrong = filter_wrong(r);
        if (!wrong)
            wrong = spread_wrong(r);
        if (wrong)
            return engine_refuse(e, METE_INVALID, "rule %zu: %s", i, wrong);
    }
    return METE_OK;
}

static int compare_numbers(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a;
    uint32_t y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

static void read_filter(struct intern *texts, const struct mete_pod_rule *from,
                        struct pod_filter *ret)
{
    requirements_read(texts, from->labels, from->n_labels, &ret->labels);
    ret->matches_none = from->matches_none;
    ret->any_namespace = from->any_namespace;
    ret->n_namespaces = from->n_namespaces;
    ret->namespaces = mem_alloc(ret->n_namespaces * sizeof(*ret->namespaces) + 1);
    for (size_t i = 0; i < ret->n_namespaces; i++)
        ret->namespaces[i] = intern_ref(texts, from->namespaces[i]);
    qsort(ret->namespaces, ret->n_namespaces, sizeof(*ret->namespaces), compare_numbers);
}

struct affinity_rules *affinity_rules_read(struct mete_engine *e, const struct mete_pod_set *set)
{
    struct affinity_rules *rules;

    if (set->n_rules == 0)
        return NULL;
    rules = mem_alloc(sizeof(*rules));
    rules->at = mem_alloc(set->n_rules * sizeof(*rules->at));
    rules->n = set->n_rules;
    for (size_t i = 0; i < rules->n; i++) {
        const struct mete_pod_rule *from = &set->rules[i];
        struct affinity_rule *r = &rules->at[i];

        r->kind = from->kind;
        r->weight = from->weight;
        r->topology = intern_ref(e->texts, from->topology);
        if (r->kind == METE_RULE_SPREAD) {
            r->max_skew = from->max_skew;
            r->min_domains = from->min_domains > 0 ? from->min_domains : 1;
            r->counts_all_nodes = from->counts_all_nodes;
            r->counts_no_tainted_nodes = from->counts_no_tainted_nodes;
        }
        read_filter(e->texts, from, &r->pods);
        rules->has_wishes = rules->has_wishes || r->weight > 0;
    }
    return rules;
}

void affinity_rules_free(struct mete_engine *e, struct affinity_rules *r)
{
    if (!r)
        return;
    for (size_t i = 0; i < r->n; i++) {
        intern_unref(e->texts, r->at[i].topology);
        pod_filter_done(e->texts, &r->at[i].pods);
    }
    free(r->at);
    free(r);
}

void affinity_rules_spell(const struct affinity_rules *rules, struct words *to)
{
    vec_add(to, rules ? (uint32_t)rules->n : 0);
    for (size_t i = 0; rules && i < rules->n; i++) {
        const struct affinity_rule *r = &rules->at[i];

        vec_add(to, (uint32_t)r->kind);
        vec_add(to, r->weight);
        vec_add(to, r->topology);
        vec_add(to, r->max_skew);
        vec_add(to, r->min_domains);
        vec_add(to, (uint32_t)r->counts_all_nodes << 1 | r->counts_no_tainted_nodes);
        pod_filter_spell(&r->pods, to);
    }
}

void pod_filter_spell(const struct pod_filter *f, struct words *to)
{
    requirements_spell(&f->labels, to);
    vec_add(to, (uint32_t)f->matches_none << 1 | f->any_namespace);
    vec_add(to, (uint32_t)f->n_namespaces);
    for (size_t i = 0; i < f->n_namespaces; i++)
        vec_add(to, f->namespaces[i]);
}

void pod_filter_copy(struct intern *texts, const struct pod_filter *from, struct pod_filter *ret)
{
    *ret = *from;
    requirements_copy(texts, &from->labels, &ret->labels);
    ret->namespaces = mem_alloc(from->n_namespaces * sizeof(*ret->namespaces) + 1);
    for (size_t i = 0; i < from->n_namespaces; i++)
        ret->namespaces[i] = intern_ref(texts, intern_text(texts, from->namespaces[i]));
}

void pod_filter_done(struct intern *texts, struct pod_filter *f)
{
    requirements_done(texts, &f->labels);
    for (size_t i = 0; i < f->n_namespaces; i++)
        intern_unref(texts, f->namespaces[i]);
    free(f->namespaces);
    *f = (struct pod_filter){0};
}

bool pod_filter_takes(const struct intern *texts, const struct pod_filter *f,
                      const struct pod_labels *labels)
{
    bool is_there = f->any_namespace;

    for (size_t i = 0; i < f->n_namespaces && !is_there; i++)
        is_there = f->namespaces[i] == labels->ns;
    return is_there && !f->matches_none &&
           requirements_hold(texts, &f->labels, labels->at, labels->n);
}
