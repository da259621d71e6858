/*
 * past_usage.h - the usage before the server's start, from the rows of accounting to the engine
 *
 * Rows are read once, at the start, in small steps, as far back as eight half-lives; a half-life of
 * 0 reads none. Rows hold gpus: the usage of cpu and memory begins anew.
 */
#pragma once

#include "kinds/object/objects.h"
#include "mete/engine.h"
#include "store/store.h"

struct past_usage;

struct past_usage_options {
    struct loop *loop;
    struct store *store;
    struct mete_engine *engine;
};

/* NULL: there is nothing to read. */
struct past_usage *past_usage_new(const struct past_usage_options *o);
void past_usage_free(struct past_usage *p); /* accepts NULL */
