/* why_text.c - amounts, workloads, labels and the line of one node, in words */

#include <ctype.h>
#include <inttypes.h>

#include "base/str.h"
#include "engine/place/fit.h"
#include "engine/why/why.h"

static const char *upper(struct mete_engine *e, const char *text)
{
    char *ret = arena_strdup(e->answers, text);

    for (char *c = ret; *c; c++)
        *c = (char)toupper((unsigned char)*c);
    return ret;
}

/* "H100", "A100 or H100" */
static const char *models_asked(struct mete_engine *e, const struct shape *s)
{
    const char *text = upper(e, intern_text(e->texts, s->models[0]));

    for (size_t i = 1; i < s->n_models; i++)
        text = arena_format(e->answers, "%s or %s", text,
                            upper(e, intern_text(e->texts, s->models[i])));
    return text;
}

const char *why_part(struct mete_engine *e, int64_t count, uint32_t milli)
{
    const char *many = count == 1 ? "" : arena_format(e->answers, "%" PRId64 " x ", count);
    uint32_t part = milli;
    int digits = 3;

    if (milli >= MILLI)
        return arena_format(e->answers, "%sall", many);
    while (digits > 1 && part % 10 == 0) {
        part /= 10;
        digits--;
    }
    return arena_format(e->answers, "%s0.%0*u", many, digits, part);
}

const char *why_gpus(struct mete_engine *e, const struct shape *s, int64_t count)
{
    const char *kind = s->n_models > 0 ? models_asked(e, s) : count == 1 ? "gpu" : "gpus";

    if (s->n_asks > 0)
        return why_asks(e, s);
    if (!shape_is_share(s))
        return arena_format(e->answers, "%" PRId64 " %s%s", count, s->is_linked ? "linked " : "",
                            kind);
    return arena_format(e->answers, "%s of %s %s", why_part(e, count, s->milli),
                        s->n_models > 0 ? "one" : "a", s->n_models > 0 ? kind : "gpu");
}

/* "12", "12.5", "12.25": thousandths without trailing zeros. */
static const char *format_milli(struct mete_engine *e, int64_t milli)
{
    int64_t rest = milli % 1000;

    if (rest == 0)
        return arena_format(e->answers, "%" PRId64, milli / 1000);
    if (rest % 100 == 0)
        return arena_format(e->answers, "%" PRId64 ".%" PRId64, milli / 1000, rest / 100);
    return arena_format(e->answers, "%" PRId64 ".%03" PRId64, milli / 1000, rest);
}

static const char *format_bytes(struct mete_engine *e, int64_t bytes)
{
    static const char *const units[] = {"", "Ki", "Mi", "Gi", "Ti", "Pi"};
    size_t unit = 0;
    int64_t tenths = 0;

    while (bytes >= 1024 && unit + 1 < COUNT(units)) {
        tenths = bytes % 1024 * 10 / 1024;
        bytes /= 1024;
        unit++;
    }
    if (tenths == 0)
        return arena_format(e->answers, "%" PRId64 "%s", bytes, units[unit]);
    return arena_format(e->answers, "%" PRId64 ".%" PRId64 "%s", bytes, tenths, units[unit]);
}

const char *why_number(struct mete_engine *e, uint32_t resource, int64_t amount)
{
    const char *name = intern_text(e->texts, resource); /* "" for gpus */

    if (text_equal(name, "cpu"))
        return format_milli(e, amount);
    if (text_equal(name, "memory") || text_equal(name, "ephemeral-storage") ||
        text_starts_with(name, "hugepages-"))
        return format_bytes(e, amount);
    return arena_format(e->answers, "%" PRId64, amount);
}

const char *why_amount(struct mete_engine *e, uint32_t resource, int64_t amount)
{
    const char *name = intern_text(e->texts, resource);
    const char *noun = name;

    if (text_equal(name, "pods"))
        noun = amount == 1 ? "pod slot" : "pod slots";
    return arena_format(e->answers, "%s %s", why_number(e, resource, amount), noun);
}

const char *why_workload(struct mete_engine *e, const struct workload *w)
{
    if (w->key.id >= METE_ID_UNNAMED)
        return w->name;
    return arena_format(e->answers, "job %" PRIu64, w->key.id);
}

const char *why_label(struct mete_engine *e, const struct label *l)
{
    return arena_format(e->answers, "%s=%s", intern_text(e->texts, l->key),
                        intern_text(e->texts, l->value));
}

const char *why_taint(struct mete_engine *e, const struct taint *t)
{
    static const char *const effects[] = {"NoSchedule", "PreferNoSchedule", "NoExecute"};
    const char *value = intern_text(e->texts, t->value);

    return arena_format(e->answers, "%s%s%s:%s", intern_text(e->texts, t->key), *value ? "=" : "",
                        value, effects[t->effect]);
}

struct why_holding {
    const struct workload *w;
    int64_t amount;
};

/* The gpus of the kind, or the amount, that a pod holds of the resource in short supply. */
static int64_t held_by(const struct pod *p, const struct shape *s, const struct answer *a)
{
    uint64_t kind = node_gpus_of(a->node, s);
    int64_t amount = 0;

    if (a->resource == 0) {
        for (size_t i = 0; i < p->n_gpus; i++)
            amount += p->gpus[i]->node == a->node && (kind >> p->gpus[i]->bit & 1);
        return amount;
    }
    for (size_t i = 0; i < pod_shape(p)->n_requests; i++)
        if (pod_shape(p)->requests[i].resource == a->resource)
            amount = pod_shape(p)->requests[i].amount;
    return amount;
}

/* Lists the workloads that hold the resource on the node, by amount, then by id. A workload with
 * several pods there is listed once. */
static size_t list_holdings(struct mete_engine *e, const struct shape *s, const struct answer *a,
                            struct why_holding **ret)
{
    struct why_holding *list;
    size_t count = 0;
    size_t n = 0;

    for (const struct pod *p = a->node->pods; p; p = p->after)
        count++;
    list = arena_alloc(e->scratch, (count + 1) * sizeof(*list));
    for (const struct pod *p = a->node->pods; p; p = p->after) {
        int64_t amount = held_by(p, s, a);
        size_t at = 0;

        if (amount == 0)
            continue;
        while (at < n && list[at].w != p->workload)
            at++;
        if (at == n)
            list[n++] = (struct why_holding){.w = p->workload};
        list[at].amount += amount;
        while (at > 0 && (list[at - 1].amount < list[at].amount ||
                          (list[at - 1].amount == list[at].amount &&
                           list[at - 1].w->key.id > list[at].w->key.id))) {
            struct why_holding moved = list[at];

            list[at] = list[at - 1];
            list[--at] = moved;
        }
    }
    *ret = list;
    return n;
}

/* "; job 12 holds 5, job 15 holds 2, 3 more" */
static const char *holders_text(struct mete_engine *e, const struct shape *s,
                                const struct answer *a)
{
    enum {
        SHOWN = 3
    };
    struct why_holding *list = NULL;
    size_t n = list_holdings(e, s, a, &list);
    const char *text = "";

    for (size_t i = 0; i < n && i < SHOWN; i++)
        text = arena_format(e->answers, "%s%s%s holds %s", text, i == 0 ? "; " : ", ",
                            why_workload(e, list[i].w), why_number(e, a->resource, list[i].amount));
    if (n > SHOWN)
        text = arena_format(e->answers, "%s, %zu more", text, n - SHOWN);
    return text;
}

static const char *cordoned_text(struct mete_engine *e, const struct node *n)
{
    return n->cordon_reason ? arena_format(e->answers, "cordoned: \"%s\"", n->cordon_reason)
                            : "cordoned";
}

static const char *missing_label_text(struct mete_engine *e, const struct shape *s,
                                      const struct node *n)
{
    for (size_t i = 0; i < s->n_selector; i++) {
        const struct label *want = &s->selector[i];
        const struct label *found = NULL;

        for (size_t k = 0; k < n->n_labels; k++)
            if (n->labels[k].key == want->key)
                found = &n->labels[k];
        if (!found)
            return arena_format(e->answers, "label %s is missing", why_label(e, want));
        if (found->value != want->value)
            return arena_format(e->answers, "label is %s, not %s", why_label(e, found),
                                intern_text(e->texts, want->value));
    }
    return "";
}

static const char *models_text(struct mete_engine *e, const struct shape *s, const struct node *n)
{
    const char *text = "";

    if (n->n_gpus == 0)
        return "no gpus";
    if (s->n_asks > 0)
        return "its gpus are of another model, or in another mode";
    for (size_t i = 0; i < n->n_models; i++)
        text = arena_format(e->answers, "%s%s%s", text, i == 0 ? "" : ", ",
                            intern_text(e->texts, (uint32_t)n->models[i].number));
    return arena_format(e->answers, "wrong model (%s)", text);
}

const char *why_out_of_service(struct mete_engine *e, const struct node *n)
{
    enum {
        SHOWN = 3
    };
    const char *text = "";
    size_t shown = 0;

    for (uint64_t left = node_gpus(n) & ~n->healthy; left && shown < SHOWN; left &= left - 1) {
        const struct gpu *g = n->gpus[__builtin_ctzll(left)];

        if (g->out)
            text = arena_format(e->answers, "%s%s gpu %u is %s", text, shown++ ? "," : ":", g->bit,
                                intern_text(e->texts, g->out));
    }
    return text;
}

const char *why_node_text(struct mete_engine *e, const struct shape *s, const struct answer *a)
{
    int64_t missing = a->asked - a->free;

    switch (a->trouble) {
    case TROUBLE_NONE:
        return "fits, but not together with the other pods";
    case TROUBLE_KEPT:
        return arena_format(e->answers, "kept for %s", why_workload(e, a->kept_by));
    case TROUBLE_RESERVED:
    case TROUBLE_OUTSIDE:
        return why_barred_text(e, a->node);
    case TROUBLE_NEAR:
        return why_affinity_text(e, &a->refusal);
    case TROUBLE_SHORT_GPUS:
        return arena_format(e->answers, "%" PRId64 " short%s", missing, holders_text(e, s, a));
    case TROUBLE_SHORT_ROOM:
        return arena_format(e->answers, "%s short%s", why_amount(e, a->resource, missing),
                            holders_text(e, s, a));
    case TROUBLE_UNHEALTHY:
        return arena_format(e->answers, "%" PRId64 " of %" PRId64 " out of service%s",
                            a->capacity - a->free, a->capacity, why_out_of_service(e, a->node));
    case TROUBLE_CORDONED:
        return cordoned_text(e, a->node);
    case TROUBLE_NOT_READY:
        return "not ready";
    case TROUBLE_SMALL_ROOM:
    case TROUBLE_SMALL_GPUS:
        if (s->n_asks > 0 && a->resource == 0)
            return "its gpus cannot hold that, even when empty";
        return arena_format(e->answers, "too small: has %s",
                            a->resource ? why_amount(e, a->resource, a->capacity)
                                        : why_gpus(e, s, a->capacity));
    case TROUBLE_MODEL:
        return models_text(e, s, a->node);
    case TROUBLE_TAINT:
        return arena_format(e->answers, "taint %s is not tolerated",
                            why_taint(e, fit_taint(a->node, s)));
    case TROUBLE_LABEL:
        return missing_label_text(e, s, a->node);
    case TROUBLE_TERMS:
        return arena_format(e->answers, "node affinity is not met: %s", why_terms(e, s->nodes));
    case TROUBLE_NAME:
        return "not the requested node";
    }
    return "";
}
