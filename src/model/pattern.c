/*
 * pattern.c - the match: all threads of the program side by side, in the order of preference
 *
 * A thread is a place in the program and the byte where its match began. Each place has at most one
 * thread for each byte of the text, the most liked one.
 */

#include "model/pattern.h"

#include <ctype.h>

#include "base/mem.h"
#include "model/pattern_private.h"

struct thread {
    size_t at;
    size_t begin;
};

struct threads {
    struct thread *list;
    size_t n;
    uint64_t *marks; /* the round in which the place was added */
};

struct run {
    const struct pattern *p;
    struct str text;
    size_t at; /* byte of the text */
    uint64_t round;
    int64_t *steps;
    size_t *stack;
    struct threads now;
    struct threads next;
    bool is_found;
    struct pattern_span best;
};

/* The code point at `at`, and its size in bytes. A broken byte stands for itself. */
static uint32_t point_at(struct str text, size_t at, size_t *ret_size)
{
    unsigned char c = (unsigned char)text.at[at];
    size_t size = c < 0xc0 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
    uint32_t point;

    if (text.size - at < size)
        size = 1;
    point = size == 1 ? c : c & (0xffu >> (size + 1));
    for (size_t i = 1; i < size; i++)
        point = point << 6 | ((unsigned char)text.at[at + i] & 0x3fu);
    *ret_size = size;
    return point;
}

static bool is_word(struct str text, size_t at)
{
    return at < text.size && (isalnum((unsigned char)text.at[at]) || text.at[at] == '_');
}

static bool edge_holds(const struct run *r, enum pattern_edge edge)
{
    bool before = r->at > 0 && is_word(r->text, r->at - 1);
    bool after = is_word(r->text, r->at);

    switch (edge) {
    case EDGE_TEXT_BEGIN:
        return r->at == 0;
    case EDGE_TEXT_END:
        return r->at == r->text.size;
    case EDGE_LINE_BEGIN:
        return r->at == 0 || r->text.at[r->at - 1] == '\n';
    case EDGE_LINE_END:
        return r->at == r->text.size || r->text.at[r->at] == '\n';
    case EDGE_WORD:
        return before != after;
    case EDGE_NOT_WORD:
        return before == after;
    }
    return false;
}

static bool set_has(const struct pattern *p, const struct pattern_step *step, uint32_t point)
{
    for (size_t i = 0; i < step->n_ranges; i++) {
        const struct pattern_range *range = &p->ranges.at[step->range_at + i];

        if (point >= range->first && point <= range->last)
            return true;
    }
    return false;
}

/* Adds the threads that `place` leads to without a byte, the most liked first. */
static void add_thread(struct run *r, struct threads *to, size_t place, size_t begin)
{
    size_t n = 0;

    r->stack[n++] = place;
    while (n > 0) {
        size_t at = r->stack[--n];
        const struct pattern_step *step = &r->p->steps.at[at];

        if (to->marks[at] == r->round)
            continue;
        to->marks[at] = r->round;
        --*r->steps;
        if (step->op == PATTERN_SPLIT)
            r->stack[n++] = step->other;
        if (step->op == PATTERN_SPLIT || step->op == PATTERN_JUMP ||
            (step->op == PATTERN_EDGE && edge_holds(r, step->edge)))
            r->stack[n++] = step->next;
        else if (step->op != PATTERN_EDGE)
            to->list[to->n++] = (struct thread){at, begin};
    }
}

/* Moves the threads over one code point. A match ends the less liked ones. */
static void step_all(struct run *r)
{
    size_t size = 1;
    bool has_point = r->at < r->text.size;
    uint32_t point = has_point ? point_at(r->text, r->at, &size) : 0;
    struct threads moved;

    r->next.n = 0;
    r->round++;
    r->at += size;
    for (size_t i = 0; i < r->now.n; i++) {
        const struct thread *t = &r->now.list[i];
        const struct pattern_step *step = &r->p->steps.at[t->at];

        *r->steps -= 1 + (int64_t)step->n_ranges;
        if (step->op == PATTERN_MATCH) {
            r->is_found = true;
            r->best = (struct pattern_span){t->begin, r->at - size};
            break;
        }
        if (has_point && set_has(r->p, step, point))
            add_thread(r, &r->next, step->next, t->begin);
    }
    moved = r->now;
    r->now = r->next;
    r->next = moved;
}

static void run_all(struct run *r, bool wants_any)
{
    for (;;) {
        if (!r->is_found) /* marks of this round: a thread that is there already is more liked */
            add_thread(r, &r->now, 0, r->at);
        if (r->now.n == 0 && (r->is_found || r->at >= r->text.size))
            return;
        if (r->at > r->text.size || *r->steps < 0 || (wants_any && r->is_found))
            return;
        step_all(r);
    }
}

static struct err *find(const struct pattern *p, struct run *r, bool wants_any)
{
    size_t n = p->steps.n;

    r->p = p;
    r->round = 1;
    r->stack = mem_alloc((2 * n + 2) * sizeof(*r->stack));
    r->now = (struct threads){.list = mem_alloc(n * sizeof(struct thread)),
                              .marks = mem_alloc(n * sizeof(uint64_t))};
    r->next = (struct threads){.list = mem_alloc(n * sizeof(struct thread)),
                               .marks = mem_alloc(n * sizeof(uint64_t))};
    run_all(r, wants_any);
    free(r->stack);
    free(r->now.list);
    free(r->now.marks);
    free(r->next.list);
    free(r->next.marks);
    if (*r->steps < 0)
        return err_new(ERR_INVALID, "the pattern takes too many steps");
    return NULL;
}

struct err *pattern_find(const struct pattern *p, struct str text, size_t from, int64_t *steps,
                         bool *ret_found, struct pattern_span *ret)
{
    struct run r = {.text = {text.at ? text.at : "", text.size}, .at = from, .steps = steps};

    TRY(find(p, &r, false));
    *ret_found = r.is_found;
    *ret = r.best;
    return NULL;
}

struct err *pattern_matches(const struct pattern *p, struct str text, int64_t *steps, bool *ret)
{
    struct run r = {.text = {text.at ? text.at : "", text.size}, .steps = steps};

    TRY(find(p, &r, true));
    *ret = r.is_found;
    return NULL;
}
