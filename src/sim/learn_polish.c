/*
 * A search by chance: a shift that does worse after two plays is tried the other way round, then
 * given up; one that does better in the mean of all plays, by more than chance would have it, and
 * at no time worse, stays. The arrivals change every few moves, so that no table suits them alone.
 */
#include "sim/learn_polish.h"

#include <stdlib.h>

#include "base/mem.h"
#include "sim/chance.h"

enum {
    TRIALS = 6, /* plays that decide on a shift */
    TRIALS_LEAST = 2,
    MOVES = 10,     /* shifts tried with the same arrivals */
    SHIFT_MAX = 20, /* of an entry, in 1/1000 gpu */
    BAND_MAX = 20,  /* levels that are shifted together */
    PRICE_SHIFT_MAX = 80,
    UNIT = 1000,
    IDLE_MAX = UNIT * UNIT,
    WIDTH = METE_VALUES_WHOLE * METE_VALUES_LEVELS
};

struct shift {
    int64_t levels[WIDTH]; /* by count of whole gpus and level, alike for all cpu */
    int64_t prices[LEARN_MODELS_MAX];
};

struct search {
    struct polish_way *best;
    struct polish_way next;
    struct shift shift;
    struct chance chance;
    uint64_t arrivals; /* seed of the first trial */
    struct polish_used was[TRIALS];
    int n_was;
    int plays; /* left */
    polish_play *play;
    void *who;
};

static int64_t draw(struct chance *c, int64_t most)
{
    return (int64_t)chance_below(c, (uint64_t)(2 * most + 1)) - most;
}

/* Levels [from, to) of these counts of whole gpus. */
static void shift_band(struct shift *s, size_t whole, size_t n_whole, size_t from, size_t to,
                       int64_t by)
{
    for (size_t i = whole; i < whole + n_whole; i++)
        for (size_t level = from; level < to && level < METE_VALUES_LEVELS; level++)
            s->levels[i * METE_VALUES_LEVELS + level] += by;
}

static void draw_levels(struct search *s)
{
    struct chance *c = &s->chance;
    const size_t from = 1 + (size_t)chance_below(c, METE_VALUES_LEVELS - 1);

    switch (chance_below(c, 3)) {
    case 0: /* one in four */
        for (size_t i = 1; i < METE_VALUES_LEVELS; i++)
            if (chance_below(c, 4) == 0)
                shift_band(&s->shift, 0, METE_VALUES_WHOLE, i, i + 1, draw(c, SHIFT_MAX));
        break;
    case 1: /* neighbours */
        shift_band(&s->shift, 0, METE_VALUES_WHOLE, from,
                   from + 1 + (size_t)chance_below(c, BAND_MAX), draw(c, SHIFT_MAX));
        break;
    default: /* more of them, on nodes with so many whole gpus */
        shift_band(&s->shift, (size_t)chance_below(c, METE_VALUES_WHOLE), 1, from,
                   from + 1 + (size_t)chance_below(c, METE_VALUES_LEVELS), draw(c, SHIFT_MAX));
    }
}

/* One price, or all in proportion. */
static void draw_prices(struct search *s)
{
    const size_t n = s->best->n_prices;
    const size_t one = (size_t)chance_below(&s->chance, 2 * n);
    const int64_t by = draw(&s->chance, PRICE_SHIFT_MAX);

    if (one < n)
        s->shift.prices[one] = by;
    else
        for (size_t i = 0; i < n; i++)
            s->shift.prices[i] = s->best->price_milli[i] * by * 4 / UNIT;
}

static void draw_shift(struct search *s)
{
    s->shift = (struct shift){0};
    if (s->best->n_prices > 0 && chance_below(&s->chance, 3) == 0)
        draw_prices(s);
    else
        draw_levels(s);
}

static void turn_round(struct shift *s)
{
    for (size_t i = 0; i < WIDTH; i++)
        s->levels[i] = -s->levels[i];
    for (size_t i = 0; i < LEARN_MODELS_MAX; i++)
        s->prices[i] = -s->prices[i];
}

static int32_t within(int64_t value, int64_t most)
{
    return (int32_t)(value < 0 ? 0 : value > most ? most : value);
}

static void apply(struct search *s)
{
    for (size_t i = 0; i < s->best->size; i++)
        s->next.idle[i] = within(s->best->idle[i] + s->shift.levels[i % WIDTH] * UNIT, IDLE_MAX);
    for (size_t i = 0; i < s->best->n_prices; i++)
        s->next.price_milli[i] = within(s->best->price_milli[i] + s->shift.prices[i], UNIT);
}

static struct polish_used play_trial(struct search *s, const struct polish_way *way, int trial)
{
    s->plays--;
    return s->play(s->who, way, s->arrivals + (uint64_t)trial);
}

/* What a shift gained, summed over the trials. */
struct gain {
    int64_t at_100;
    int64_t at_end;
    int64_t squares; /* of both together */
};

static void add_gain(struct gain *g, const struct polish_used *now, const struct polish_used *was)
{
    const int64_t at_100 = now->at_100 - was->at_100;
    const int64_t at_end = now->at_end - was->at_end;

    g->at_100 += at_100;
    g->at_end += at_end;
    g->squares += (at_100 + at_end) * (at_100 + at_end);
}

/* The mean is over its standard error, and neither part fell. */
static bool is_better(const struct gain *g)
{
    const double sum = (double)(g->at_100 + g->at_end);

    return sum > 0 && g->at_100 >= 0 && g->at_end >= 0 &&
           (TRIALS + 1) * sum * sum > TRIALS * (double)g->squares;
}

static bool try_shift(struct search *s)
{
    struct polish_used now[TRIALS];
    struct gain g = {0};

    apply(s);
    for (int i = 0; i < TRIALS; i++) {
        if (i == s->n_was)
            s->was[s->n_was++] = play_trial(s, s->best, i);
        now[i] = play_trial(s, &s->next, i);
        add_gain(&g, &now[i], &s->was[i]);
        if (i + 1 >= TRIALS_LEAST && g.at_100 + g.at_end <= 0)
            return false;
    }
    if (!is_better(&g))
        return false;
    memcpy(s->best->idle, s->next.idle, s->best->size * sizeof(*s->best->idle));
    memcpy(s->best->price_milli, s->next.price_milli,
           s->best->n_prices * sizeof(*s->best->price_milli));
    memcpy(s->was, now, sizeof(s->was));
    return true;
}

void polish(struct polish_way *way, uint64_t seed, int plays, polish_play *play, void *who)
{
    int32_t prices[LEARN_MODELS_MAX];
    struct search s = {.best = way,
                       .next = *way,
                       .chance = chance_of(seed),
                       .plays = plays,
                       .play = play,
                       .who = who};
    bool is_other_way = false;

    s.next.idle = mem_alloc(way->size * sizeof(*way->idle));
    s.next.price_milli = prices;
    for (int move = 0; s.plays > 0; move++) {
        if (move % MOVES == 0) {
            s.arrivals = chance_next(&s.chance);
            s.n_was = 0;
        }
        if (is_other_way)
            turn_round(&s.shift);
        else
            draw_shift(&s);
        is_other_way = !try_shift(&s) && !is_other_way;
    }
    free(s.next.idle);
}
