/*
 * affinity_fit.c - may a pod go to a node, by affinity rules, and how well does the node suit?
 *
 * The answers are those of kube-scheduler, whose plugins NodeAffinity, InterPodAffinity and
 * PodTopologySpread each score a node from 0 to 100, with weight 2. Here their sum comes after
 * PreferNoSchedule taints and before the policy's score, so that users' preferences win over Mete's
 * packing.
 */

#include <stdlib.h>

#include "base/str.h"
#include "engine/affinity/affinity.h"
#include "engine/affinity/node_rules.h"
#include "engine/place/domain.h"
#include "engine/place/fit.h"
#include "engine/place/policy.h"
#include "engine/place/search.h"
#include "engine/plan/claim.h"
#include "engine/plan/reservation.h"

enum {
    SCORE_MAX = 100,
    PLUGIN_WEIGHT = 2,
    PPM = 1000000,
    NONE = UINT32_MAX
};

/* The raw scores of a node, before the comparison with other nodes. */
struct raw {
    int64_t nodes;
    int64_t pods;
    int64_t spread;
    bool has_no_spread; /* the node lacks the topology label of a spread */
};

struct affinity_range {
    int64_t low;
    int64_t high;
};

struct affinity_question {
    const struct ties *ties;
    const struct shape *shape;
    bool is_first; /* no pod matches the required "together" rules yet: see is_first() */
    bool has_wishes;
    int64_t least[AFFINITY_RULES_MAX];        /* of a spread: the pods in the emptiest domain */
    uint32_t adjusted_at[AFFINITY_RULES_MAX]; /* index of the rule's cells in `adjusted`; NONE */
    int64_t log_ppm[AFFINITY_RULES_MAX];      /* of a spread with a weight */
    VEC(struct cell) adjusted;
    VEC(uint64_t) keys;   /* by rank */
    VEC(struct raw) raws; /* by rank */
    VEC(uint32_t) seen;   /* by domain: the last rule that counted the domain, plus 1 */
    struct affinity_range nodes;
    struct affinity_range pods;
    struct affinity_range spread;
};

bool affinity_concerns(const struct ties *ties, const struct shape *s)
{
    if (s->affinity || (s->nodes && s->nodes->n_wishes > 0))
        return true;
    for (size_t i = 0; ties && i < ties->n; i++)
        if (ties->at[i]->n_apart > 0 || ties->at[i]->n_liking > 0)
            return true;
    return false;
}

bool affinity_restricts(const struct ties *ties, const struct shape *s)
{
    for (size_t i = 0; s->affinity && i < s->affinity->n; i++)
        if (s->affinity->at[i].weight == 0)
            return true;
    for (size_t i = 0; ties && i < ties->n; i++)
        if (ties->at[i]->n_apart > 0)
            return true;
    return false;
}

bool affinity_restricts_group(const struct group *g)
{
    for (size_t i = 0; i < g->n_sets; i++)
        if (affinity_restricts(g->sets[i].ties, g->sets[i].shape))
            return true;
    return false;
}

static bool has_wishes(const struct ties *ties, const struct shape *s)
{
    if ((s->affinity && s->affinity->has_wishes) || (s->nodes && s->nodes->n_wishes > 0))
        return true;
    for (size_t i = 0; ties && i < ties->n; i++)
        if (ties->at[i]->n_liking > 0)
            return true;
    return false;
}

static const struct cell *cell_of(const struct affinity_question *q, size_t rule, uint32_t domain)
{
    const struct tally *t = q->shape->affinity->at[rule].tally;

    if (q->adjusted_at[rule] != NONE)
        return &q->adjusted.at[q->adjusted_at[rule] + domain];
    return &t->cells.at[domain];
}

/* Takes nodes that take no pods now out of the rule's cells: in Kubernetes these nodes have a
 * taint. */
static void cells_adjust(const struct mete_engine *e, struct affinity_question *q, size_t rule)
{
    const struct tally *t = q->shape->affinity->at[rule].tally;
    size_t first = q->adjusted.n;

    VEC_EACH (&t->cells, c) {
        vec_add(&q->adjusted, *c);
    }
    q->adjusted_at[rule] = (uint32_t)first;
    VEC_EACH (&e->order, n) {
        struct cell *c = &q->adjusted.at[first + affinity_domain(t->topology, (*n)->slot)];

        if (node_takes_pods(*n) || !affinity_counts_node(t, *n))
            continue;
        c->nodes--;
        for (const struct pod *p = (*n)->pods; p; p = p->after)
            c->pods -= ties_have(pod_ties(p), t);
    }
}

/* The fewest pods in a domain that counts; 0: fewer domains than min_domains. */
static int64_t least_of(const struct affinity_question *q, size_t rule)
{
    const struct affinity_rule *r = &q->shape->affinity->at[rule];
    int64_t least = INT64_MAX;
    uint32_t n_domains = 0;

    for (uint32_t i = 1; i < r->tally->cells.n; i++) {
        const struct cell *c = cell_of(q, rule, i);

        if (c->nodes == 0)
            continue;
        n_domains++;
        least = c->pods < least ? c->pods : least;
    }
    return n_domains < r->min_domains ? 0 : least;
}

/* Does no pod match the required "together" rules, while the pod itself does? Then the rules hold
 * everywhere, as in Kubernetes. */
static bool is_first(const struct affinity_question *q)
{
    const struct affinity_rules *rules = q->shape->affinity;

    for (size_t i = 0; i < rules->n; i++) {
        const struct affinity_rule *r = &rules->at[i];

        if (r->kind == METE_RULE_TOGETHER && r->weight == 0 &&
            (r->tally->n_pods > 0 || !ties_have(q->ties, r->tally)))
            return false;
    }
    return true;
}

void affinity_ask(struct mete_engine *e, const struct ties *ties, const struct shape *s)
{
    struct affinity_question *q;

    if (!e->question)
        e->question = mem_alloc(sizeof(*e->question));
    q = e->question;
    q->ties = ties;
    q->shape = s;
    q->has_wishes = has_wishes(ties, s);
    if (!s->affinity)
        return;
    vec_clear(&q->adjusted);
    q->is_first = is_first(q);
    for (size_t i = 0; i < s->affinity->n; i++) {
        const struct affinity_rule *r = &s->affinity->at[i];

        q->adjusted_at[i] = NONE;
        if (r->kind != METE_RULE_SPREAD)
            continue;
        if (r->counts_no_tainted_nodes)
            cells_adjust(e, q, i);
        q->least[i] = r->weight == 0 ? least_of(q, i) : 0;
    }
}

static struct affinity_refusal refuse_spread(const struct affinity_question *q, size_t rule,
                                             uint32_t domain)
{
    const struct affinity_rule *r = &q->shape->affinity->at[rule];
    struct affinity_refusal ret = {.rule = r, .domain = domain};

    ret.skew =
        (int64_t)cell_of(q, rule, domain)->pods + ties_have(q->ties, r->tally) - q->least[rule];
    if (ret.skew > r->max_skew)
        ret.answer = AFFINITY_RULE;
    return ret;
}

static struct affinity_refusal refuse_rule(const struct affinity_question *q, size_t rule,
                                           const struct node *n)
{
    const struct affinity_rule *r = &q->shape->affinity->at[rule];
    uint32_t domain = affinity_domain(r->tally->topology, n->slot);
    struct affinity_refusal ret = {.rule = r, .domain = domain};
    bool is_there;

    if (r->weight > 0)
        return ret;
    if (domain == 0) {
        ret.answer = r->kind == METE_RULE_APART ? AFFINITY_FITS : AFFINITY_NO_TOPOLOGY;
        return ret;
    }
    if (r->kind == METE_RULE_SPREAD)
        return refuse_spread(q, rule, domain);
    is_there = r->tally->cells.at[domain].pods > 0;
    if (r->kind == METE_RULE_APART ? is_there : !is_there && !q->is_first)
        ret.answer = AFFINITY_RULE;
    return ret;
}

bool affinity_allows(const struct mete_engine *e, const struct node *n,
                     struct affinity_refusal *ret)
{
    const struct affinity_question *q = e->question;
    struct affinity_refusal refusal = {0};

    for (size_t i = 0; q->ties && i < q->ties->n && refusal.answer == AFFINITY_FITS; i++) {
        const struct tally *t = q->ties->at[i];
        uint32_t domain = affinity_domain(t->topology, n->slot);

        if (t->n_apart > 0 && domain != 0 && t->cells.at[domain].apart > 0)
            refusal = (struct affinity_refusal){AFFINITY_REPELLED, NULL, t, domain, 0};
    }
    for (size_t i = 0;
         q->shape->affinity && i < q->shape->affinity->n && refusal.answer == AFFINITY_FITS; i++)
        refusal = refuse_rule(q, i, n);
    if (ret)
        *ret = refusal;
    return refusal.answer == AFFINITY_FITS;
}

/* 1000000 x ln(x) for x >= 1, in integers: bit by bit, by squaring. */
static int64_t log_ppm(uint32_t x)
{
    enum {
        BITS = 24,
        ONE = 31
    };
    int whole = 31 - __builtin_clz(x);
    uint64_t rest = (uint64_t)x << (ONE - whole); /* 1 .. 2 */
    int64_t log2 = whole;

    for (int i = 0; i < BITS; i++) {
        rest = rest * rest >> ONE;
        log2 = log2 << 1 | (int64_t)(rest >> (ONE + 1));
        rest >>= rest >> (ONE + 1);
    }
    return log2 * 693147 >> BITS;
}

/* The number of the rule's domains with nodes that fit. */
static uint32_t count_domains(struct mete_engine *e, size_t rule, const uint64_t *keys)
{
    struct affinity_question *q = e->question;
    const struct topology *t = q->shape->affinity->at[rule].tally->topology;
    uint32_t n = 0;

    while (q->seen.n < t->by_index.n)
        vec_add(&q->seen, 0);
    for (size_t i = 0; i < e->order.n; i++) {
        uint32_t domain = affinity_domain(t, e->order.at[i]->slot);

        if (keys[i] == 0 || q->raws.at[i].has_no_spread || q->seen.at[domain] == rule + 1)
            continue;
        q->seen.at[domain] = (uint32_t)rule + 1;
        n++;
    }
    return n;
}

static int64_t raw_pods(const struct affinity_question *q, const struct node *n)
{
    int64_t sum = 0;

    for (size_t i = 0; q->ties && i < q->ties->n; i++) {
        const struct tally *t = q->ties->at[i];

        sum += t->cells.at[affinity_domain(t->topology, n->slot)].liking;
    }
    for (size_t i = 0; q->shape->affinity && i < q->shape->affinity->n; i++) {
        const struct affinity_rule *r = &q->shape->affinity->at[i];
        int64_t pods;

        if (r->weight == 0 || r->kind == METE_RULE_SPREAD)
            continue;
        pods = r->tally->cells.at[affinity_domain(r->tally->topology, n->slot)].pods;
        sum += r->kind == METE_RULE_APART ? -pods * r->weight : pods * r->weight;
    }
    return sum;
}

static bool is_wished_spread(const struct affinity_rule *r)
{
    return r->kind == METE_RULE_SPREAD && r->weight > 0;
}

static bool has_no_spread(const struct affinity_question *q, const struct node *n)
{
    for (size_t i = 0; q->shape->affinity && i < q->shape->affinity->n; i++) {
        const struct affinity_rule *r = &q->shape->affinity->at[i];

        if (is_wished_spread(r) && affinity_domain(r->tally->topology, n->slot) == 0)
            return true;
    }
    return false;
}

static int64_t raw_spread(const struct affinity_question *q, const struct node *n)
{
    int64_t sum_ppm = 0;

    for (size_t i = 0; q->shape->affinity && i < q->shape->affinity->n; i++) {
        const struct affinity_rule *r = &q->shape->affinity->at[i];
        uint32_t domain = affinity_domain(r->tally->topology, n->slot);

        if (is_wished_spread(r))
            sum_ppm +=
                cell_of(q, i, domain)->pods * q->log_ppm[i] + (int64_t)(r->max_skew - 1) * PPM;
    }
    return (sum_ppm + PPM / 2) / PPM;
}

static void widen(struct affinity_range *r, int64_t value)
{
    r->low = value < r->low ? value : r->low;
    r->high = value > r->high ? value : r->high;
}

static struct raw raw_of(const struct mete_engine *e, const struct affinity_question *q,
                         const struct node *n)
{
    struct raw raw = {.has_no_spread = has_no_spread(q, n)};

    raw.nodes = q->shape->nodes ? node_rules_wishes(e, q->shape->nodes, n) : 0;
    raw.pods = raw_pods(q, n);
    return raw;
}

/* Computes the raw scores of all nodes whose key is not 0, and their ranges. */
static void nodes_weigh(struct mete_engine *e, const uint64_t *keys)
{
    struct affinity_question *q = e->question;
    const struct affinity_range empty = {INT64_MAX, INT64_MIN};

    q->nodes = q->pods = q->spread = empty;
    vec_clear(&q->raws);
    for (size_t i = 0; i < e->order.n; i++)
        vec_add(&q->raws, keys[i] ? raw_of(e, q, e->order.at[i]) : (struct raw){0});
    vec_clear(&q->seen);
    for (size_t i = 0; q->shape->affinity && i < q->shape->affinity->n; i++)
        if (is_wished_spread(&q->shape->affinity->at[i]))
            q->log_ppm[i] = log_ppm(count_domains(e, i, keys) + 2);
    for (size_t i = 0; i < e->order.n; i++) {
        struct raw *raw = &q->raws.at[i];

        if (keys[i] == 0)
            continue;
        widen(&q->nodes, raw->nodes);
        widen(&q->pods, raw->pods);
        if (raw->has_no_spread)
            continue;
        raw->spread = raw_spread(q, e->order.at[i]);
        widen(&q->spread, raw->spread);
    }
}

static uint64_t wish_score(const struct affinity_question *q, const struct raw *raw)
{
    int64_t sum = 0;

    if (q->nodes.high > 0)
        sum += SCORE_MAX * raw->nodes / q->nodes.high;
    if (q->pods.high > q->pods.low)
        sum += SCORE_MAX * (raw->pods - q->pods.low) / (q->pods.high - q->pods.low);
    if (raw->has_no_spread || q->spread.high == INT64_MIN)
        return (uint64_t)sum * PLUGIN_WEIGHT;
    if (q->spread.high == 0)
        sum += SCORE_MAX;
    else
        sum += SCORE_MAX * (q->spread.high + q->spread.low - raw->spread) / q->spread.high;
    return (uint64_t)sum * PLUGIN_WEIGHT;
}

/*
 * A search's key is the score plus 1, above 32 bits for the rank, of which 20 are used. The mixed
 * key begins with the score's bits for disliked taints; then come the wishes (at most 600, in 12
 * bits), the rest of the score, and the rank.
 */
static uint64_t key_mix(uint64_t key, uint64_t wishes)
{
    enum {
        REST_BITS = POLICY_BITS + 2,
        RANK_BITS = 20,
        WISH_BITS = 12
    };
    uint64_t score = (key >> 32) - 1;
    uint64_t liked = score >> REST_BITS;
    uint64_t rest = score & ((UINT64_C(1) << REST_BITS) - 1);

    return UINT64_C(1) << 63 | liked << (WISH_BITS + REST_BITS + RANK_BITS) |
           wishes << (REST_BITS + RANK_BITS) | rest << RANK_BITS |
           (key & ((UINT64_C(1) << RANK_BITS) - 1));
}

/* Has the node a reservation or backfill reservation? Searches of such nodes call affinity_key. */
static bool is_apart(const struct node *n)
{
    return n->backfill || n->n_reserved > 0;
}

/* Compares all nodes that fit, also nodes with reservations, which affinity_best leaves out. */
static void nodes_weigh_all(struct mete_engine *e, const struct shape *s, const struct scope *scope,
                            const uint64_t *keys)
{
    struct affinity_question *q = e->question;

    vec_clear(&q->keys);
    for (size_t i = 0; i < e->order.n; i++) {
        const struct node *n = e->order.at[i];
        uint64_t key = keys[i];

        if (is_apart(n) && !node_is_barred(e, n))
            key = search_key(e, n, s);
        if (!scope_has(scope, n) || !affinity_allows(e, n, NULL))
            key = 0;
        vec_add(&q->keys, key);
    }
    nodes_weigh(e, q->keys.at);
}

struct node *affinity_best(struct mete_engine *e, struct attempt *a, const struct ties *ties,
                           struct shape *s, uint64_t *ret_key)
{
    const uint64_t *keys = search_keys(e, s);
    const struct affinity_question *q;
    struct node *best = NULL;

    affinity_ask(e, ties, s);
    q = e->question;
    if (q->has_wishes)
        nodes_weigh_all(e, s, &a->scope, keys);
    *ret_key = 0;
    for (size_t i = 0; i < e->order.n; i++) {
        uint64_t key = keys[i];

        if (key == 0 || !scope_has(&a->scope, e->order.at[i]) ||
            (!q->has_wishes && key <= *ret_key))
            continue;
        key = affinity_key(e, e->order.at[i], key);
        if (key <= *ret_key || !claim_allows(e, a, s, e->order.at[i]))
            continue;
        *ret_key = key;
        best = e->order.at[i];
    }
    return best;
}

uint64_t affinity_key(struct mete_engine *e, const struct node *n, uint64_t key)
{
    const struct affinity_question *q = e->question;

    if (key == 0 || !affinity_allows(e, n, NULL))
        return 0;
    return q->has_wishes ? key_mix(key, wish_score(q, &q->raws.at[n->rank])) : key;
}

bool affinity_holds(struct mete_engine *e, struct workload *w)
{
    bool holds = true;

    if (!e->affinity)
        return true;
    for (size_t i = 0; i < w->n_pods && holds; i++) {
        struct pod *p = &w->pods[i];
        const struct shape *s = pod_shape(p);

        if (!p->node || !affinity_concerns(pod_ties(p), s))
            continue;
        affinity_count(e, pod_ties(p), s, p->node, -1);
        affinity_ask(e, pod_ties(p), s);
        holds = affinity_allows(e, p->node, NULL);
        affinity_count(e, pod_ties(p), s, p->node, 1);
    }
    return holds;
}

void affinity_question_free(struct affinity_question *q)
{
    if (!q)
        return;
    vec_done(&q->adjusted);
    vec_done(&q->keys);
    vec_done(&q->raws);
    vec_done(&q->seen);
    free(q);
}
