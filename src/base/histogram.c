/* histogram.c - counts of durations by size */

#include "base/histogram.h"

#include <string.h>

void histogram_add(struct histogram *h, int64_t ns, const char *example, int64_t at_ns)
{
    size_t i = 0;

    if (ns < 0)
        ns = 0;
    while (i < h->n_bounds && ns > h->bounds[i])
        i++;
    h->counts[i]++;
    if (__builtin_add_overflow(h->sum_ns, ns, &h->sum_ns))
        h->sum_ns = INT64_MAX;
    if (!example || strlen(example) >= HISTOGRAM_EXAMPLE_SIZE)
        return;
    h->examples[i] = (struct histogram_example){.ns = ns, .at_ns = at_ns};
    memcpy(h->examples[i].text, example, strlen(example) + 1);
}
