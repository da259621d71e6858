/* why_rules.c - node terms and rules about other pods, in words */

#include <inttypes.h>

#include "engine/affinity/node_rules.h"
#include "engine/why/why.h"

enum {
    SHOWN = 4 /* of a list */
};

/* "a, b, c, 2 more" */
static const char *values_text(struct mete_engine *e, const struct requirement *r)
{
    const char *text = "";

    for (size_t i = 0; i < r->n_values && i < SHOWN; i++)
        text = arena_format(e->answers, "%s%s%s", text, i == 0 ? "" : ", ",
                            intern_text(e->texts, r->values[i]));
    if (r->n_values > SHOWN)
        text = arena_format(e->answers, "%s, %zu more", text, r->n_values - SHOWN);
    return text;
}

/* As kubectl writes selectors: "zone=a", "zone in (a, b)", "!spot", "cores > 8". */
static const char *requirement_text(struct mete_engine *e, const struct requirement *r,
                                    const char *key)
{
    const char *values = values_text(e, r);

    switch (r->op) {
    case METE_OP_IN:
        return arena_format(e->answers, r->n_values == 1 ? "%s=%s" : "%s in (%s)", key, values);
    case METE_OP_NOT_IN:
        return arena_format(e->answers, r->n_values == 1 ? "%s!=%s" : "%s notin (%s)", key, values);
    case METE_OP_EXISTS:
        return key;
    case METE_OP_DOES_NOT_EXIST:
        return arena_format(e->answers, "!%s", key);
    case METE_OP_GREATER:
        return arena_format(e->answers, "%s > %s", key, values);
    case METE_OP_LESS:
        return arena_format(e->answers, "%s < %s", key, values);
    }
    return "";
}

static const char *add_requirements(struct mete_engine *e, const char *text,
                                    const struct requirements *r, const char *key)
{
    for (size_t i = 0; i < r->n && i < SHOWN; i++)
        text = arena_format(
            e->answers, "%s%s%s", text, *text ? "," : "",
            requirement_text(e, &r->at[i], key ? key : intern_text(e->texts, r->at[i].key)));
    if (r->n > SHOWN)
        text = arena_format(e->answers, "%s and %zu more", text, r->n - SHOWN);
    return text;
}

const char *why_terms(struct mete_engine *e, const struct node_rules *r)
{
    const char *text = "";

    for (size_t i = 0; i < r->n_terms && i < SHOWN; i++) {
        const char *term = add_requirements(e, "", &r->terms[i].labels, NULL);

        term = add_requirements(e, term, &r->terms[i].names, "metadata.name");
        text =
            arena_format(e->answers, "%s%s%s", text, i == 0 ? "" : " or ", *term ? term : "none");
    }
    if (r->n_terms > SHOWN)
        text = arena_format(e->answers, "%s or %zu more", text, r->n_terms - SHOWN);
    return text;
}

static const char *filter_text(struct mete_engine *e, const struct pod_filter *f)
{
    const char *text = add_requirements(e, "", &f->labels, NULL);

    if (f->matches_none)
        return "no pod";
    if (!*text)
        text = "any pod";
    if (f->any_namespace)
        return arena_format(e->answers, "%s in any namespace", text);
    return text;
}

static const char *in_text(struct mete_engine *e, const char *what, const struct pod_filter *f,
                           uint32_t topology)
{
    return arena_format(e->answers, "%s %s on %s", what, filter_text(e, f),
                        intern_text(e->texts, topology));
}

const char *why_rule(struct mete_engine *e, const struct affinity_rule *r)
{
    static const char *const kinds[] = {"pod affinity", "pod anti-affinity", "topology spread"};

    return in_text(e, kinds[r->kind], &r->pods, r->topology);
}

/* Has the pod a required rule to be apart from the tally's pods? */
static bool repels(const struct pod *p, const struct tally *t)
{
    const struct affinity_rules *rules = pod_shape(p)->affinity;

    for (size_t i = 0; rules && i < rules->n; i++)
        if (rules->at[i].kind == METE_RULE_APART && rules->at[i].weight == 0 &&
            rules->at[i].tally == t)
            return true;
    return false;
}

/* The first workload by id in the domain that the tally counts or, with `repelling`, that repels
 * its pods; NULL: none. */
static const struct workload *who_is_there(const struct mete_engine *e, const struct tally *t,
                                           uint32_t domain, bool repelling)
{
    const struct workload *first = NULL;

    for (size_t i = 0; i < e->order.n; i++) {
        const struct node *n = e->order.at[i];

        if (affinity_domain(t->topology, n->slot) != domain)
            continue;
        for (const struct pod *p = n->pods; p; p = p->after)
            if ((repelling ? repels(p, t) : ties_have(pod_ties(p), t)) &&
                (!first || p->workload->key.id < first->key.id))
                first = p->workload;
    }
    return first;
}

static const char *rule_text(struct mete_engine *e, const struct affinity_refusal *r)
{
    const char *rule = why_rule(e, r->rule);
    const struct workload *w;

    switch (r->rule->kind) {
    case METE_RULE_TOGETHER:
        return arena_format(e->answers, "%s: no such pod is there", rule);
    case METE_RULE_APART:
        w = who_is_there(e, r->rule->tally, r->domain, false);
        return arena_format(e->answers, "%s: %s is there", rule,
                            w ? why_workload(e, w) : "such a pod");
    case METE_RULE_SPREAD:
        return arena_format(e->answers, "%s: skew would be %" PRId64 " of at most %u", rule,
                            r->skew, r->rule->max_skew);
    }
    return rule;
}

const char *why_affinity_text(struct mete_engine *e, const struct affinity_refusal *r)
{
    const struct workload *w;

    switch (r->answer) {
    case AFFINITY_FITS:
        return "";
    case AFFINITY_RULE:
        return rule_text(e, r);
    case AFFINITY_NO_TOPOLOGY:
        return arena_format(e->answers, "%s: the node has no such label", why_rule(e, r->rule));
    case AFFINITY_REPELLED:
        w = who_is_there(e, r->tally, r->domain, true);
        return in_text(e,
                       arena_format(e->answers, "pod anti-affinity of %s keeps away",
                                    w ? why_workload(e, w) : "a pod there"),
                       &r->tally->filters[0], r->tally->topology->key);
    }
    return "";
}
