/*
 * ref_watch.h - the ConfigMaps and Secrets that volumes of running pods show, kept up to date: one
 * watch an object, however many pods show it
 *
 * What says `immutable: true` is not watched any longer once it was seen.
 */
#pragma once

#include "client/client.h"

struct ref_watches;
struct ref_watch;

enum {
    REF_WATCHES_MAX = 1024 /* each is a connection; past it they are not followed, and said so */
};

struct ref_watches_options {
    struct loop *loop;
    struct client *client;
    /* The object came, changed or went. It may take and give watches. */
    void (*changed)(void *arg, const struct ref_watch *w);
    void *arg;
};

struct ref_watches *ref_watches_new(const struct ref_watches_options *o);
void ref_watches_free(struct ref_watches *ws); /* accepts NULL; all must be given back before */

/* `ref` is "configmaps/NAME" or "secrets/NAME" in namespace `ns`. Each take wants a give. NULL:
 * there are REF_WATCHES_MAX. */
struct ref_watch *ref_watch_take(struct ref_watches *ws, const char *ns, const char *ref);
void ref_watch_give(struct ref_watch *w); /* accepts NULL */

/* Whether the server has told. */
bool ref_watch_is_synced(const struct ref_watch *w);
/* Borrowed, never to be changed; NULL: it is not there. */
json_t *ref_watch_object(const struct ref_watch *w);
