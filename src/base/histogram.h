/*
 * histogram.h - counts of durations by size, with an example of each size
 *
 * A value inside its owner; {.bounds = ..., .n_bounds = ...} is an empty one. Durations are in ns.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum {
    HISTOGRAM_BOUNDS_MAX = 20,
    HISTOGRAM_EXAMPLE_SIZE = 100 /* OpenMetrics allows 128 characters with the label's name */
};

/* One duration that fell into a bucket. */
struct histogram_example {
    char text[HISTOGRAM_EXAMPLE_SIZE]; /* what took that long: "team-a/train"; "": no example */
    int64_t ns;
    int64_t at_ns; /* realtime */
};

struct histogram {
    const int64_t *bounds; /* upper bounds in ns, each included in its bucket; static */
    size_t n_bounds;       /* at most HISTOGRAM_BOUNDS_MAX */
    uint64_t counts[HISTOGRAM_BOUNDS_MAX + 1]; /* the last: beyond all bounds */
    int64_t sum_ns;
    struct histogram_example examples[HISTOGRAM_BOUNDS_MAX + 1];
};

/*
 * Counts a duration. A negative one counts as 0: a clock was set back. `example` says what took so
 * long, at the realtime `at_ns`; NULL, or too long a text: no example.
 */
void histogram_add(struct histogram *h, int64_t ns, const char *example, int64_t at_ns);
