/*
 * informer.h - a list and watch of one kind of objects, resumed without end
 *
 * The informer handles 410 answers, cut connections and an absent server by itself (back-off 50 ms
 * to 5 s). The callbacks' objects are never changed. `put` may repeat an object. If an object was
 * deleted and created again with the same name while the watch was down, `removed` comes before
 * `put`. No callback may free the informer.
 */
#pragma once

#include "client/client.h"

struct informer;

struct informer_options {
    struct client *client;
    struct loop *loop;
    const char
        *path; /* "/api/v1/pods?fieldSelector=..." ; limit, watch and resourceVersion are added */
    void (*put)(void *arg, const json_t *object);
    void (*removed)(void *arg, const json_t *object); /* the last known state */
    void (*synced)(void *arg);                        /* after each full list; may be NULL */
    void *arg;
    bool is_pooled;    /* parts that many objects have in common are kept once */
    bool is_unmanaged; /* metadata.managedFields are dropped: often most of an object. Not with
                          is_pooled */
    void (*trim)(json_t *object); /* drops members before the object is kept and told; may be NULL.
                                     Not with is_pooled */
    bool is_packed; /* objects are kept as texts, a tenth of their trees, and read again for each
                       informer_get and informer_each */
};

struct informer *informer_new(const struct informer_options *o);
void informer_free(struct informer *i); /* accepts NULL; no callback after it */

/* Calls `fn` for each known object, in no order. `fn` does not end the informer. */
void informer_each(const struct informer *i, void (*fn)(void *arg, const json_t *object),
                   void *arg);
/* A known object by "NAMESPACE/NAME" or "/NAME". A new reference; NULL: there is none. */
json_t *informer_get(const struct informer *i, const char *key);
