/*
 * informer.h - one kind of objects kept up to date: list, then watch, resumed for ever
 *
 * 410, cut connections and a server that is away are its own business (back-off 50 ms to 5 s).
 * `put` may repeat an object. An object deleted and made anew under its name while the watch was
 * cut is `removed` first. No callback may free the informer.
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
    void (*removed)(void *arg, const json_t *object); /* its last known state */
    void (*synced)(void *arg);                        /* after each full list; may be NULL */
    void *arg;
};

struct informer *informer_new(const struct informer_options *o);
void informer_free(struct informer *i); /* accepts NULL; no callback after it */
