/* require.h - conditions on labels, with their texts interned; as in Kubernetes */
#pragma once

#include "base/vec.h"
#include "engine/intern.h"
#include "mete/engine.h"

struct label;
struct words;

struct requirement {
    uint32_t key;
    enum mete_operator op;
    uint32_t *values;
    size_t n_values;
    int64_t number; /* of METE_OP_GREATER and METE_OP_LESS, */
    bool is_number; /* where the text is one; else they never hold */
};

struct requirements {
    struct requirement *at;
    size_t n;
};

/* NULL, or what is wrong with one of them. With `is_named` keys are not looked at. */
const char *requirements_wrong(const struct mete_requirement *list, size_t n, bool is_named);

/* Of those that are not wrong. Every number in it is held until requirements_done. */
void requirements_read(struct intern *texts, const struct mete_requirement *list, size_t n,
                       struct requirements *ret);
void requirements_done(struct intern *texts, struct requirements *r);
void requirements_copy(struct intern *texts, const struct requirements *from,
                       struct requirements *ret);
void requirements_spell(const struct requirements *r, struct words *to);

/* Do all of them hold for these labels, which are in the order of their keys' numbers? */
bool requirements_hold(const struct intern *texts, const struct requirements *r,
                       const struct label *labels, size_t n_labels);

/* Is `text` (a number of intern) one of the values that METE_OP_IN names, or none that
 * METE_OP_NOT_IN does? */
bool requirement_takes(const struct requirement *r, uint32_t text);
