/*
 * top_feed.h - asks the API for what `mete top` shows: the gpus or their counts, and a page of one
 * list
 */
#pragma once

#include "cli/session.h"
#include "cli/top/top_page.h"

struct top_feed;

/* Called at the end of a refresh; the caller takes `view` and `page`, and leaves {0} there. NULL: a
 * failed refresh, or, of `page`, a screen without a page. */
typedef void (*top_feed_fn)(void *arg, const struct err *e, struct top_view *view,
                            struct top_page *page);

struct top_feed *top_feed_new(struct session *s, top_feed_fn done, void *arg);
void top_feed_free(struct top_feed *f); /* accepts NULL; no callback after it */
static inline void top_feed_freep(struct top_feed **f)
{
    top_feed_free(*f);
}

/* Begins a refresh; one that is under way ends without its callback. */
void top_feed_refresh(struct top_feed *f, const struct top_wish *w);
