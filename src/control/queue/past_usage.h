/*
 * past_usage.h - what was used before the server started, from the rows of accounting to the engine
 *
 * Read in small steps once, at the start, as far back as eight half-lives; nothing where the
 * half-life is 0 then. Rows tell gpus: what was used of cpu and memory begins anew.
 */
#pragma once

#include "control/cluster.h"
#include "mete/engine.h"
#include "store/store.h"

struct past_usage;

struct past_usage_options {
    struct loop *loop;
    struct store *store;
    struct cluster *cluster;
    struct mete_engine *engine;
};

/* NULL where there is nothing to read. */
struct past_usage *past_usage_new(const struct past_usage_options *o);
void past_usage_free(struct past_usage *p); /* accepts NULL */
