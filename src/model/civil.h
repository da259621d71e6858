/* civil.h - conversion between days since 1970 and Gregorian dates (Hinnant, "chrono-Compatible
 * Low-Level Date Algorithms") */
#pragma once

#include <stdint.h>

struct civil {
    int64_t year;
    int month; /* 1 .. 12 */
    int day;   /* 1 .. 31 */
};

static inline int64_t civil_days(int64_t year, int month, int day)
{
    int64_t y = month <= 2 ? year - 1 : year;
    int64_t era = (y >= 0 ? y : y - 399) / 400;
    int64_t of_era = y - era * 400;
    int64_t of_year = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;

    return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

static inline struct civil civil_of(int64_t days)
{
    int64_t z = days + 719468;
    int64_t era = (z >= 0 ? z : z - 146096) / 146097;
    int64_t of_era = z - era * 146097;
    int64_t year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    int64_t of_year = of_era - (365 * year + year / 4 - year / 100);
    int64_t shifted = (5 * of_year + 2) / 153;
    int day = (int)(of_year - (153 * shifted + 2) / 5 + 1);
    int month = (int)(shifted < 10 ? shifted + 3 : shifted - 9);

    return (struct civil){.year = year + era * 400 + (month <= 2), .month = month, .day = day};
}

/* The weekday; 0: Sunday. */
static inline int civil_weekday(int64_t days)
{
    return (int)(((days + 4) % 7 + 7) % 7);
}

/* a / b, rounded down; b > 0. */
static inline int64_t floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}
