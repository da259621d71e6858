/*
 * share_watch.h - the helper process that measures capped shares (share_meter.h), while there are
 * any
 *
 * A helper that ends is started again after a pause. A helper that hangs in the driver costs
 * nothing else: shares keep their last measurement.
 */
#pragma once

#include "base/json.h"
#include "base/loop.h"

struct share_watch;

/* A pod whose processes hold more of a gpu than their share. Texts are borrowed. */
struct share_over {
    const char *pod; /* uid */
    const char *gpu; /* uuid */
    int64_t bytes;
    int64_t limit_bytes;
};

struct share_watch_options {
    struct loop *loop;
    const char *self_path;   /* the mete binary */
    const char *driver_root; /* directory; NULL: to be found */
    const char *machine;     /* file of an emulated machine; NULL: real gpus */
};

/* The texts are borrowed. */
struct share_watch *share_watch_new(const struct share_watch_options *o);
void share_watch_free(struct share_watch *w); /* accepts NULL */

/* `fn` hears of pods over their share. */
void share_watch_listen(struct share_watch *w, void (*fn)(void *arg, const struct share_over *over),
                        void *arg);

/* Ends the helper, so that no process of the watch uses the driver; shares keep their last
 * measurement. */
void share_watch_pause(struct share_watch *w);
/* Starts the helper again, if there are shares. */
void share_watch_resume(struct share_watch *w);

/* The shares from now on: a list of {"pod": UID, "dir": DIRECTORY}. Takes `list`. */
void share_watch_set(struct share_watch *w, json_t *list);
