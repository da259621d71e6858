/*
 * ref_watch.h - watches of the ConfigMaps and Secrets in volumes of running pods: one watch an
 * object, shared by all its pods
 *
 * The watch of an object with `immutable: true` ends once the object was seen.
 */
#pragma once

#include "client/client.h"

struct ref_watches;
struct ref_watch;

enum {
    /* Each watch is a connection. Further objects are not watched, and the log tells. */
    REF_WATCHES_MAX = 1024
};

struct ref_watches_options {
    struct loop *loop;
    struct client *client;
    /* The object was added, changed or removed. The callback may take and give watches. */
    void (*changed)(void *arg, const struct ref_watch *w);
    void *arg;
};

struct ref_watches *ref_watches_new(const struct ref_watches_options *o);
/* Accepts NULL; all watches must be given back before. */
void ref_watches_free(struct ref_watches *ws);

/* `ref` is "configmaps/NAME" or "secrets/NAME" in namespace `ns`. Each take needs a give. NULL:
 * REF_WATCHES_MAX exist already. */
struct ref_watch *ref_watch_take(struct ref_watches *ws, const char *ns, const char *ref);
void ref_watch_give(struct ref_watch *w); /* accepts NULL */

/* Has the server answered? */
bool ref_watch_is_synced(const struct ref_watch *w);
/* Borrowed, read-only; NULL: no such object. */
json_t *ref_watch_object(const struct ref_watch *w);
