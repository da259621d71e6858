/* require.c - requirements on labels, as in Kubernetes */

#include "engine/affinity/require.h"

#include <stdlib.h>

#include "engine/state.h"

static bool takes_number(enum mete_operator op)
{
    return op == METE_OP_GREATER || op == METE_OP_LESS;
}

/* Reads the whole text as Kubernetes does: at most one sign, digits, within int64. Allocates no
 * error, because each node needs a call. */
static bool read_number(const char *text, int64_t *ret)
{
    bool is_negative = *text == '-';
    int64_t number = 0;

    if (*text == '-' || *text == '+')
        text++;
    if (!*text)
        return false;
    for (; *text; text++) {
        int digit = *text - '0';

        if (digit < 0 || digit > 9 || __builtin_mul_overflow(number, 10, &number) ||
            __builtin_add_overflow(number, is_negative ? -digit : digit, &number))
            return false;
    }
    *ret = number;
    return true;
}

static const char *values_wrong(const struct mete_requirement *r)
{
    bool takes_values = r->op == METE_OP_IN || r->op == METE_OP_NOT_IN;

    if (r->n_values > LIST_MAX)
        return "a requirement has too many values";
    if (takes_values && r->n_values == 0)
        return "a requirement has no value";
    if (takes_number(r->op) && r->n_values != 1)
        return "a requirement with Gt or Lt needs one value";
    if (!takes_values && !takes_number(r->op) && r->n_values > 0)
        return "a requirement with Exists or DoesNotExist takes no values";
    for (size_t i = 0; i < r->n_values; i++)
        if (!r->values[i] || strnlen(r->values[i], TEXT_MAX + 1) > TEXT_MAX)
            return "a requirement has a missing or too long value";
    return NULL;
}

const char *requirements_wrong(const struct mete_requirement *list, size_t n, bool is_named)
{
    if (n > LIST_MAX)
        return "the list of requirements is too long";
    for (size_t i = 0; i < n; i++) {
        const char *wrong;

        if ((unsigned)list[i].op > METE_OP_LESS)
            return "a requirement has no known operator";
        if (is_named && list[i].op != METE_OP_IN && list[i].op != METE_OP_NOT_IN)
            return "a requirement on names needs In or NotIn";
        if (!is_named && !text_is_sane(list[i].key))
            return "a requirement has no key, or too long a key";
        wrong = values_wrong(&list[i]);
        if (wrong)
            return wrong;
    }
    return NULL;
}

void requirements_read(struct intern *texts, const struct mete_requirement *list, size_t n,
                       struct requirements *ret)
{
    ret->at = mem_alloc(n * sizeof(*ret->at) + 1);
    ret->n = n;
    for (size_t i = 0; i < n; i++) {
        struct requirement *r = &ret->at[i];

        r->key = intern_ref(texts, list[i].key ? list[i].key : "");
        r->op = list[i].op;
        r->n_values = list[i].n_values;
        r->values = mem_alloc(r->n_values * sizeof(*r->values) + 1);
        for (size_t k = 0; k < r->n_values; k++)
            r->values[k] = intern_ref(texts, list[i].values[k]);
        if (takes_number(r->op))
            r->is_number = read_number(list[i].values[0], &r->number);
    }
}

void requirements_copy(struct intern *texts, const struct requirements *from,
                       struct requirements *ret)
{
    ret->at = mem_alloc(from->n * sizeof(*ret->at) + 1);
    ret->n = from->n;
    for (size_t i = 0; i < from->n; i++) {
        struct requirement *r = &ret->at[i];

        *r = from->at[i];
        r->values = mem_alloc(r->n_values * sizeof(*r->values) + 1);
        r->key = intern_ref(texts, intern_text(texts, r->key));
        for (size_t k = 0; k < r->n_values; k++)
            r->values[k] = intern_ref(texts, intern_text(texts, from->at[i].values[k]));
    }
}

void requirements_done(struct intern *texts, struct requirements *r)
{
    for (size_t i = 0; i < r->n; i++) {
        intern_unref(texts, r->at[i].key);
        for (size_t k = 0; k < r->at[i].n_values; k++)
            intern_unref(texts, r->at[i].values[k]);
        free(r->at[i].values);
    }
    free(r->at);
    *r = (struct requirements){0};
}

void requirements_spell(const struct requirements *r, struct words *to)
{
    vec_add(to, (uint32_t)r->n);
    for (size_t i = 0; i < r->n; i++) {
        vec_add(to, r->at[i].key);
        vec_add(to, (uint32_t)r->at[i].op);
        vec_add(to, (uint32_t)r->at[i].n_values);
        for (size_t k = 0; k < r->at[i].n_values; k++)
            vec_add(to, r->at[i].values[k]);
    }
}

static bool is_listed(const struct requirement *r, uint32_t text)
{
    for (size_t i = 0; i < r->n_values; i++)
        if (r->values[i] == text)
            return true;
    return false;
}

bool requirement_takes(const struct requirement *r, uint32_t text)
{
    return is_listed(r, text) == (r->op == METE_OP_IN);
}

static const struct label *label_find(const struct label *labels, size_t n, uint32_t key)
{
    size_t low = 0;
    size_t high = n;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (labels[middle].key < key)
            low = middle + 1;
        else
            high = middle;
    }
    return low < n && labels[low].key == key ? &labels[low] : NULL;
}

static bool requirement_holds(const struct intern *texts, const struct requirement *r,
                              const struct label *l)
{
    int64_t number = 0;

    switch (r->op) {
    case METE_OP_IN:
        return l && is_listed(r, l->value);
    case METE_OP_NOT_IN:
        return !l || !is_listed(r, l->value);
    case METE_OP_EXISTS:
        return l != NULL;
    case METE_OP_DOES_NOT_EXIST:
        return !l;
    case METE_OP_GREATER:
        return l && r->is_number && read_number(intern_text(texts, l->value), &number) &&
               number > r->number;
    case METE_OP_LESS:
        return l && r->is_number && read_number(intern_text(texts, l->value), &number) &&
               number < r->number;
    }
    return false;
}

bool requirements_hold(const struct intern *texts, const struct requirements *r,
                       const struct label *labels, size_t n_labels)
{
    for (size_t i = 0; i < r->n; i++)
        if (!requirement_holds(texts, &r->at[i], label_find(labels, n_labels, r->at[i].key)))
            return false;
    return true;
}
