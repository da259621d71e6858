/* watch.c - watches: the delivery of durable changes */

#include "base/list.h"
#include "base/mem.h"
#include "store/store_private.h"

enum {
    TELL_MAX = 1024
}; /* changes examined for one watch before the next watch's turn */

static bool tell_change(struct store *s, struct store_watch *w)
{
    struct store_change change = *history_at(&s->history, w->next_change);

    w->next_change++;
    if (change.revision <= w->from_revision || !key_in_range(&change.object->key, &w->range))
        return true;
    w->fn(w->arg, &change, change.revision);
    return s->told == w;
}

/* Tells a watch its unseen changes, then progress. False: `fn` freed the watch. */
static bool watch_tell(struct store *s, struct store_watch *w)
{
    for (int i = 0; i < TELL_MAX && w->next_change < s->history.end; i++) {
        w->is_current = false;
        if (!tell_change(s, w))
            return false;
    }
    if (w->next_change < s->history.end || w->is_current || s->revision < w->from_revision)
        return true;
    w->is_current = true;
    w->fn(w->arg, NULL, s->revision);
    return s->told == w;
}

void watches_tell(struct store *s)
{
    bool is_behind = false;

    for (struct store_watch *w = s->watches; w; w = s->told_next) {
        s->told = w;
        s->told_next = w->next;
        if (watch_tell(s, w))
            is_behind |= w->next_change < s->history.end;
    }
    s->told = NULL;
    s->told_next = NULL;
    if (is_behind)
        loop_timer_set(s->catch_up_timer, 0);
}

void watches_catch_up(void *store)
{
    struct store *s = store;

    watches_tell(s);
    store_schedule(s);
}

uint64_t watches_first_unseen(const struct store *s)
{
    uint64_t first = s->history.end;

    for (const struct store_watch *w = s->watches; w; w = w->next) {
        if (w->next_change < first)
            first = w->next_change;
    }
    return first;
}

static const char *copy_or_null(const char *text)
{
    return text ? mem_strdup(text) : NULL;
}

struct err *store_watch_new(struct store *s, const struct store_range *range, int64_t from_revision,
                            store_watch_fn fn, void *arg, struct store_watch **ret)
{
    struct store_watch *w;

    TRY(store_check_kept(s, from_revision));
    w = mem_alloc(sizeof(*w));
    w->store = s;
    w->range.group = copy_or_null(range->group);
    w->range.resource = copy_or_null(range->resource);
    w->range.ns = copy_or_null(range->ns);
    w->from_revision = from_revision;
    w->next_change = history_after(&s->history, from_revision);
    w->fn = fn;
    w->arg = arg;
    LIST_ADD(s->watches, w);
    loop_timer_set(s->catch_up_timer, 0);
    *ret = w;
    return NULL;
}

void store_watch_free(struct store_watch *w)
{
    struct store *s = w ? w->store : NULL;

    if (!s)
        return;
    if (s->told == w)
        s->told = NULL;
    if (s->told_next == w)
        s->told_next = w->next;
    LIST_REMOVE(s->watches, w);
    mem_freep(&w->range.group);
    mem_freep(&w->range.resource);
    mem_freep(&w->range.ns);
    free(w);
    store_schedule(s); /* the watch may have held up a compaction */
}
