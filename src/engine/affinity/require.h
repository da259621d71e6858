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
    int64_t number; /* METE_OP_GREATER and METE_OP_LESS: the value */
    bool is_number; /* false: the value is no number, and the requirement never holds */
};

struct requirements {
    struct requirement *at;
    size_t n;
};

/* NULL, or what is wrong with a requirement. `is_named`: keys are ignored. */
const char *requirements_wrong(const struct mete_requirement *list, size_t n, bool is_named);

/* Reads a list that requirements_wrong accepts. The result holds its interned texts until
 * requirements_done. */
void requirements_read(struct intern *texts, const struct mete_requirement *list, size_t n,
                       struct requirements *ret);
void requirements_done(struct intern *texts, struct requirements *r);
void requirements_copy(struct intern *texts, const struct requirements *from,
                       struct requirements *ret);
void requirements_spell(const struct requirements *r, struct words *to);

/* Do the labels, in the order of their keys' numbers, meet all requirements? */
bool requirements_hold(const struct intern *texts, const struct requirements *r,
                       const struct label *labels, size_t n_labels);

/* METE_OP_IN and METE_OP_NOT_IN: does the interned text meet the requirement? */
bool requirement_takes(const struct requirement *r, uint32_t text);
