/*
 * band.h - readings over time at one resolution: a row for each step, of a bounded number of rows
 *
 * A row has the means of what was added in its step, or BAND_UNKNOWN. A full band either drops its
 * oldest row, or doubles its step and merges its rows, so that it goes back to the first row.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    BAND_FIELDS_MAX = 8
};

#define BAND_UNKNOWN INT32_MIN

/* Memory that bands share; a band that finds none left does not grow. */
struct band_budget {
    size_t used_bytes;
    size_t max_bytes;
};

struct band_row {
    int64_t at_s; /* since 1970; begin of its step */
    int32_t value[BAND_FIELDS_MAX];
};

/* Open, so that owners may embed it; set the first four members. */
struct band {
    uint32_t step_s;
    uint32_t rows_max; /* even */
    uint8_t n_fields;
    bool thins; /* a full band doubles its step */

    int32_t *cells; /* ring of rows: the time since `epoch_s`, then the fields */
    uint32_t room;  /* rows */
    uint32_t begin;
    uint32_t n;
    int64_t epoch_s; /* of the first row */
    int64_t open_s;  /* begin of the step that is being added up */
    int64_t sums[BAND_FIELDS_MAX];
    uint32_t counts[BAND_FIELDS_MAX]; /* 0: unknown */
    bool is_open;
};

/* Frees the rows, and gives their memory back to the budget. */
void band_done(struct band *b, struct band_budget *budget);

/*
 * Adds values at a time; a time before the present step counts in it: the clock was set back.
 * Values outside int32 are cut.
 */
void band_add(struct band *b, struct band_budget *budget, int64_t at_s, const int64_t *values);

/* The number of rows with the one that is being added up, and row `i`, the oldest first. */
uint32_t band_count(const struct band *b);
struct band_row band_row(const struct band *b, uint32_t i);
