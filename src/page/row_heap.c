/* row_heap.c - a binary heap of rows */

#include "page/row_heap.h"

/* Sinks the row at `i` among the first `n` rows. */
static void row_heap_sink(struct row_heap *h, size_t i, size_t n)
{
    uint32_t *at = h->rows.at;

    for (;;) {
        size_t worst = i;

        for (size_t child = 2 * i + 1; child <= 2 * i + 2 && child < n; child++)
            if (h->is_before(h->arg, at[worst], at[child]))
                worst = child;
        if (worst == i)
            return;
        uint32_t moved = at[i];

        at[i] = at[worst];
        at[worst] = moved;
        i = worst;
    }
}

void row_heap_add(struct row_heap *h, uint32_t row)
{
    size_t i = h->rows.n;

    if (h->rows.n == h->max) {
        if (h->max == 0 || !h->is_before(h->arg, row, h->rows.at[0]))
            return;
        h->rows.at[0] = row;
        row_heap_sink(h, 0, h->rows.n);
        return;
    }
    vec_add(&h->rows, row);
    while (i > 0 && h->is_before(h->arg, h->rows.at[(i - 1) / 2], row)) {
        h->rows.at[i] = h->rows.at[(i - 1) / 2];
        i = (i - 1) / 2;
        h->rows.at[i] = row;
    }
}

void row_heap_sort(struct row_heap *h)
{
    for (size_t n = h->rows.n; n > 1; n--) {
        uint32_t worst = h->rows.at[0];

        h->rows.at[0] = h->rows.at[n - 1];
        h->rows.at[n - 1] = worst;
        row_heap_sink(h, 0, n - 1);
    }
}

void row_heap_done(struct row_heap *h)
{
    vec_done(&h->rows);
}
