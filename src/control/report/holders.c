/* holders.c - which pods hold each gpu: an array in the order of the gpus */

#include "control/report/holders.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/vec.h"

struct holders {
    VEC(struct scheduler_holder) all; /* by gpu, namespace, pod, device */
};

static int holders_compare(const void *a, const void *b)
{
    const struct scheduler_holder *x = a;
    const struct scheduler_holder *y = b;
    char first[DEVICE_TEXT_SIZE];
    char second[DEVICE_TEXT_SIZE];
    int order = strcmp(x->device->gpu, y->device->gpu);

    if (!order)
        order = strcmp(x->ns, y->ns);
    if (!order)
        order = strcmp(x->pod, y->pod);
    if (order)
        return order;
    device_format(x->device, first);
    device_format(y->device, second);
    return strcmp(first, second);
}

static void holders_add(void *arg, const struct scheduler_holder *holder)
{
    struct holders *h = arg;

    vec_add(&h->all, *holder);
}

struct holders *holders_new(const struct scheduler *scheduler)
{
    struct holders *h = mem_alloc(sizeof(*h));

    scheduler_each_device(scheduler, holders_add, h);
    if (h->all.n > 0)
        qsort(h->all.at, h->all.n, sizeof(*h->all.at), holders_compare);
    return h;
}

void holders_free(struct holders *h)
{
    if (!h)
        return;
    vec_done(&h->all);
    free(h);
}

/* The place of the gpu's first holder, or of the next gpu. */
static size_t holders_first(const struct holders *h, const char *uuid)
{
    size_t first = 0;
    size_t end = h->all.n;

    while (first < end) {
        size_t middle = first + (end - first) / 2;

        if (strcmp(h->all.at[middle].device->gpu, uuid) < 0)
            first = middle + 1;
        else
            end = middle;
    }
    return first;
}

bool holders_find(const struct holders *h, const char *uuid, size_t i, struct scheduler_holder *ret)
{
    size_t at = holders_first(h, uuid) + i;

    if (at >= h->all.n || !text_equal(h->all.at[at].device->gpu, uuid))
        return false;
    *ret = h->all.at[at];
    return true;
}
