/* top_feed.h - asks the API for what `mete top` shows: all GPUs, and a window of the jobs */
#pragma once

#include "cli/session.h"
#include "cli/top/top_view.h"

struct top_feed;

enum {
    TOP_JOBS_WINDOW = 100
};

/* Called at the end of a refresh. `view` is taken from the feed, which forgets it; after an error
 * it is NULL. */
typedef void (*top_feed_fn)(void *arg, const struct err *e, struct top_view *view);

struct top_feed *top_feed_new(struct session *s, top_feed_fn done, void *arg);
void top_feed_free(struct top_feed *f); /* accepts NULL; no callback after it */
static inline void top_feed_freep(struct top_feed **f)
{
    top_feed_free(*f);
}

/* Begins a refresh; none may be under way. */
void top_feed_refresh(struct top_feed *f);
