/* line.c - sorted arrays of jobs */

#include "sim/line.h"

#include <assert.h>

static bool is_before(const struct place *a, const struct place *b)
{
    return a->key != b->key ? a->key < b->key : a->turn < b->turn;
}

void line_add(struct line *l, const struct place *p)
{
    const struct place new = *p;
    size_t at = l->places.n;

    vec_add(&l->places, new);
    for (; at > 0 && is_before(&new, &l->places.at[at - 1]); at--)
        l->places.at[at] = l->places.at[at - 1];
    l->places.at[at] = new;
}

void line_remove(struct line *l, uint32_t job)
{
    size_t at = 0;

    while (at < l->places.n && l->places.at[at].job != job)
        at++;
    assert(at < l->places.n);
    vec_remove(&l->places, at);
}

void line_done(struct line *l)
{
    vec_done(&l->places);
}

static struct size_class *class_of(struct waiting *w, uint32_t gpus)
{
    VEC_EACH (&w->classes, c)
        if (c->gpus == gpus)
            return c;
    vec_add(&w->classes, (struct size_class){.gpus = gpus});
    return &w->classes.at[w->classes.n - 1];
}

/* The index of `p`, or the index at which to insert it. */
static size_t find_place(const struct size_class *c, const struct place *p)
{
    size_t low = 0;
    size_t high = c->places.n;

    while (low < high) {
        const size_t middle = (low + high) / 2;

        if (is_before(p, &c->places.at[middle]))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void waiting_add(struct waiting *w, uint32_t gpus, const struct place *p)
{
    struct size_class *c = class_of(w, gpus);
    const struct place new = *p;
    const size_t at = find_place(c, &new);

    vec_add(&c->places, new);
    memmove(&c->places.at[at + 1], &c->places.at[at], (c->places.n - 1 - at) * sizeof(new));
    c->places.at[at] = new;
}

void waiting_remove(struct waiting *w, uint32_t gpus, const struct place *p)
{
    struct size_class *c = class_of(w, gpus);
    const size_t at = find_place(c, p);

    assert(at < c->places.n && c->places.at[at].job == p->job);
    vec_remove(&c->places, at);
}

void waiting_done(struct waiting *w)
{
    VEC_EACH (&w->classes, c)
        vec_done(&c->places);
    vec_done(&w->classes);
}

void waiting_rewind(struct waiting *w)
{
    VEC_EACH (&w->classes, c)
        c->left = c->places.n;
}

const struct place *waiting_peek(const struct waiting *w,
                                 bool (*fits)(const void *arg, uint32_t gpus), const void *arg)
{
    const struct place *best = NULL;

    VEC_EACH (&w->classes, c) {
        if (c->left == 0 || (best && !is_before(&c->places.at[c->left - 1], best)))
            continue;
        if (fits(arg, c->gpus))
            best = &c->places.at[c->left - 1];
    }
    return best;
}

void waiting_pass(struct waiting *w, uint32_t gpus)
{
    class_of(w, gpus)->left--;
}
