/* band.c - readings over time at one resolution */

#include "meter/history/band.h"

#include <assert.h>
#include <string.h>

#include "base/mem.h"

enum {
    ROOM_FIRST = 16 /* rows */
};

static size_t band_row_cells(const struct band *b)
{
    return 1 + (size_t)b->n_fields;
}

static size_t band_bytes(const struct band *b, uint32_t rows)
{
    return rows * band_row_cells(b) * sizeof(int32_t);
}

void band_done(struct band *b, struct band_budget *budget)
{
    budget->used_bytes -= band_bytes(b, b->room);
    free(b->cells);
    b->cells = NULL;
    b->room = 0;
    b->n = 0;
}

static int32_t *band_cells(const struct band *b, uint32_t i)
{
    assert(b->room > 0);
    return &b->cells[((b->begin + i) % b->room) * band_row_cells(b)];
}

/* Moves the rows to more room. False: there is none, in the band or in the budget. */
static bool band_grow(struct band *b, struct band_budget *budget)
{
    uint32_t room = b->room == 0 ? ROOM_FIRST : b->room * 2;
    int32_t *cells;

    room = room > b->rows_max ? b->rows_max : room;
    if (room == b->room || band_bytes(b, room - b->room) > budget->max_bytes - budget->used_bytes)
        return false;
    cells = mem_alloc(band_bytes(b, room));
    for (uint32_t i = 0; i < b->n; i++)
        memcpy(&cells[i * band_row_cells(b)], band_cells(b, i), band_bytes(b, 1));
    free(b->cells);
    budget->used_bytes += band_bytes(b, room - b->room);
    b->cells = cells;
    b->room = room;
    b->begin = 0;
    return true;
}

static int64_t step_of(const struct band *b, int64_t at_s)
{
    return at_s - at_s % b->step_s;
}

/* Writes the mean of two rows of one step, or of one row, to place `to`. */
static void band_merge(struct band *b, uint32_t to, const int32_t *one, const int32_t *other)
{
    int64_t at_s = step_of(b, b->epoch_s + one[0]) - b->epoch_s;
    int32_t *ret = band_cells(b, to);

    ret[0] = (int32_t)at_s;
    for (size_t f = 1; f < band_row_cells(b); f++) {
        if (!other || other[f] == BAND_UNKNOWN)
            ret[f] = one[f];
        else if (one[f] == BAND_UNKNOWN)
            ret[f] = other[f];
        else
            ret[f] = (int32_t)(((int64_t)one[f] + other[f]) / 2);
    }
}

/* Doubles the step until a row is free: two rows that now share a step become one. */
static void band_thin(struct band *b)
{
    uint32_t n = b->n;

    while (n == b->room) {
        uint32_t to = 0;

        b->step_s *= 2;
        for (uint32_t i = 0; i < n; to++) {
            const int32_t *one = band_cells(b, i);
            const int32_t *other = i + 1 < n ? band_cells(b, i + 1) : NULL;
            bool is_pair =
                other && step_of(b, b->epoch_s + one[0]) == step_of(b, b->epoch_s + other[0]);

            band_merge(b, to, one, is_pair ? other : NULL);
            i += is_pair ? 2 : 1;
        }
        n = to;
    }
    b->n = n;
}

/* Makes a row free at the end. False: the budget has not even room for the first. */
static bool band_make_room(struct band *b, struct band_budget *budget)
{
    if (b->n < b->room || band_grow(b, budget))
        return true;
    if (b->room == 0)
        return false;
    if (b->thins) {
        band_thin(b);
    } else {
        b->begin = (b->begin + 1) % b->room;
        b->n--;
    }
    return true;
}

static int32_t band_mean(const struct band *b, size_t field)
{
    int64_t mean;

    if (b->counts[field] == 0)
        return BAND_UNKNOWN;
    mean = b->sums[field] / b->counts[field];
    return mean > INT32_MAX ? INT32_MAX : mean < -INT32_MAX ? -INT32_MAX : (int32_t)mean;
}

/* Ends the step that is being added up. */
static void band_close(struct band *b, struct band_budget *budget)
{
    int32_t *row;

    b->is_open = false;
    if (!band_make_room(b, budget))
        return;
    if (b->n == 0)
        b->epoch_s = b->open_s;
    row = band_cells(b, b->n);
    row[0] = (int32_t)(step_of(b, b->open_s) - b->epoch_s);
    for (size_t f = 0; f < b->n_fields; f++)
        row[1 + f] = band_mean(b, f);
    /* a band that has just thinned may have a row of this step already */
    if (b->n > 0 && band_cells(b, b->n - 1)[0] == row[0])
        band_merge(b, b->n - 1, band_cells(b, b->n - 1), row);
    else
        b->n++;
}

/* Begins a step. A band that has just thinned may have a row of this step: its mean counts once. */
static void band_open(struct band *b, int64_t at_s)
{
    const int32_t *last = b->n > 0 ? band_cells(b, b->n - 1) : NULL;

    b->is_open = true;
    b->open_s = step_of(b, at_s);
    if (last && b->epoch_s + last[0] < b->open_s)
        last = NULL;
    for (size_t f = 0; f < b->n_fields; f++) {
        bool is_known = last && last[1 + f] != BAND_UNKNOWN;

        b->sums[f] = is_known ? last[1 + f] : 0;
        b->counts[f] = is_known ? 1 : 0;
    }
    if (last) {
        b->open_s = b->epoch_s + last[0];
        b->n--;
    }
}

void band_add(struct band *b, struct band_budget *budget, int64_t at_s, const int64_t *values)
{
    assert(b->n_fields <= BAND_FIELDS_MAX);
    if (b->is_open && at_s >= b->open_s + b->step_s)
        band_close(b, budget);
    if (!b->is_open)
        band_open(b, at_s);
    for (size_t f = 0; f < b->n_fields; f++) {
        if (values[f] < 0)
            continue;
        b->sums[f] += values[f] > INT32_MAX ? INT32_MAX : values[f];
        b->counts[f]++;
    }
}

uint32_t band_count(const struct band *b)
{
    return b->n + (b->is_open ? 1 : 0);
}

struct band_row band_row(const struct band *b, uint32_t i)
{
    struct band_row row = {.at_s = b->open_s};
    const int32_t *cells = i < b->n ? band_cells(b, i) : NULL;

    if (cells)
        row.at_s = b->epoch_s + cells[0];
    for (size_t f = 0; f < b->n_fields; f++)
        row.value[f] = cells ? cells[1 + f] : band_mean(b, f);
    return row;
}
