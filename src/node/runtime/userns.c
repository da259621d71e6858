/* userns.c - the id ranges of pods */

#include "node/runtime/userns.h"

#include "base/map.h"
#include "node/image/images.h"

struct range {
    struct map_handle handle;
    char *pod_uid;
    unsigned index;
};

struct userns_ranges {
    struct range *pods;
    bool is_taken[USERNS_RANGES];
    unsigned next; /* search from here, so that a released range is not reused at once */
    bool is_shared;
};

struct userns_ranges *userns_new(void)
{
    return mem_alloc(sizeof(struct userns_ranges));
}

static void range_free(struct userns_ranges *r, struct range *x)
{
    map_remove(handle, r->pods, x);
    r->is_taken[x->index] = false;
    free(x->pod_uid);
    free(x);
}

void userns_free(struct userns_ranges *r)
{
    struct range *x = NULL;
    struct range *tmp = NULL;

    if (!r)
        return;
    map_each (handle, r->pods, x, tmp)
        range_free(r, x);
    free(r);
}

static struct range *range_find(struct userns_ranges *r, const char *pod_uid)
{
    struct range *x = NULL;

    map_find_text(handle, r->pods, pod_uid, x);
    return x;
}

static uint32_t range_base(const struct range *x)
{
    return (uint32_t)USERNS_FIRST + x->index * (uint32_t)USERNS_SIZE;
}

static struct range *range_add(struct userns_ranges *r, const char *pod_uid, unsigned index)
{
    struct range *x = mem_alloc(sizeof(*x));

    x->pod_uid = mem_strdup(pod_uid);
    x->index = index;
    r->is_taken[index] = true;
    map_add(handle, r->pods, x->pod_uid, strlen(x->pod_uid), x);
    return x;
}

struct err *userns_take(struct userns_ranges *r, const char *pod_uid, uint32_t *ret_base)
{
    const struct range *x = range_find(r, pod_uid);

    if (r->is_shared) {
        *ret_base = (uint32_t)IMAGE_UID_BASE;
        return NULL;
    }
    for (unsigned i = 0; !x && i < USERNS_RANGES; i++) {
        unsigned index = (r->next + i) % USERNS_RANGES;

        if (!r->is_taken[index]) {
            x = range_add(r, pod_uid, index);
            r->next = (index + 1) % USERNS_RANGES;
        }
    }
    if (!x)
        return err_new(ERR_UNAVAILABLE, "all %d user id ranges of this machine are in use",
                       USERNS_RANGES);
    *ret_base = range_base(x);
    return NULL;
}

struct err *userns_adopt(struct userns_ranges *r, const char *pod_uid, uint32_t base)
{
    const struct range *x = range_find(r, pod_uid);
    uint32_t offset = base - (uint32_t)USERNS_FIRST;

    if (base == (uint32_t)IMAGE_UID_BASE)
        return NULL; /* the shared range */
    if (base < (uint32_t)USERNS_FIRST || offset % USERNS_SIZE != 0 ||
        offset / USERNS_SIZE >= USERNS_RANGES)
        return err_new(ERR_INVALID, "user id range %u is not one of the node's", base);
    if (x && range_base(x) == base)
        return NULL;
    if (x)
        return err_new(ERR_CONFLICT, "user id range %u: pod %s has %u already", base, pod_uid,
                       range_base(x));
    if (r->is_taken[offset / USERNS_SIZE])
        return err_new(ERR_CONFLICT, "user id range %u: another pod has it", base);
    (void)range_add(r, pod_uid, offset / USERNS_SIZE);
    return NULL;
}

void userns_release(struct userns_ranges *r, const char *pod_uid)
{
    struct range *x = range_find(r, pod_uid);

    if (x)
        range_free(r, x);
}

void userns_share(struct userns_ranges *r)
{
    r->is_shared = true;
}
