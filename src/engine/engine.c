/* engine.c - an engine's birth and end, and lookups by name */

#include <stdio.h>
#include <stdlib.h>

#include "engine/affinity/affinity.h"
#include "engine/device/device_parts.h"
#include "engine/group_cache.h"
#include "engine/place/demand.h"
#include "engine/place/domain.h"
#include "engine/place/policy.h"
#include "engine/place/search.h"
#include "engine/place/values.h"
#include "engine/plan/backfill.h"
#include "engine/plan/claim.h"
#include "engine/plan/reservation.h"
#include "engine/queue/queue.h"
#include "engine/record/record.h"
#include "engine/state.h"

/* Records the options, with the policy's name: another version may have another default. */
static void record_begin(struct mete_engine *e, const struct mete_options *options)
{
    struct mete_options o = {0};

    if (!options || !options->record)
        return;
    o = *options;
    o.policy = e->policy->name;
    e->record = o.record;
    e->record_arg = o.record_arg;
    e->record_line = (struct buf){.cap = RECORD_LINE_MAX};
    record_call(e, RECORD_ENGINE, &o);
}

struct mete_engine *mete_engine_new(const struct mete_options *options)
{
    const struct policy *policy = policy_find(options ? options->policy : NULL);
    struct mete_engine *e;

    if (!policy)
        return NULL;
    e = mem_alloc(sizeof(*e));
    e->texts = intern_new();
    e->group_cache = group_cache_new();
    e->cpu = intern_ref(e->texts, "cpu");
    e->memory = intern_ref(e->texts, "memory");
    e->pods = intern_ref(e->texts, "pods");
    e->policy = policy;
    e->seed = options ? options->seed : 0;
    e->lines_max = options && options->nodes_max ? options->nodes_max : NODE_LINES_DEFAULT;
    e->reserve_depth =
        options && options->reserve_depth ? options->reserve_depth : RESERVE_DEPTH_DEFAULT;
    if (e->reserve_depth == METE_RESERVE_NONE)
        e->reserve_depth = 0;
    e->plan_period_ns = PLAN_PERIOD_NS;
    e->root = queue_new("");
    e->queues_max = QUEUES_MAX;
    e->nodes_max = NODES_MAX;
    e->root->cells = mem_alloc(1);
    e->journal.on_mark = search_undone;
    e->journal.arg = e;
    e->epoch = 1;
    e->newest = NO_SLOT;
    for (unsigned tier = 0; tier < TIERS; tier++)
        e->tiers[tier] = NO_SLOT;
    e->nodes_version = 1;
    e->labels_version = 1;
    e->freed = 1;
    e->eased = 1;
    e->version = 1;
    queue_default(e);
    e->decisions = arena_new();
    e->answers = arena_new();
    e->scratch = arena_new();
    record_begin(e, options);
    return e;
}

static void free_maps(struct mete_engine *e)
{
    struct workload *w;
    size_t at;
    struct node *n;
    struct node *next_n;
    struct gpu *g;
    struct gpu *next_g;

    while (e->backfills.n > 0)
        backfill_drop(e, e->backfills.at[0]);
    claims_drop_all(e);
    reservations_free_all(e);
    id_map_each (&e->workloads, at, w) {
        if (!w->is_placed)
            group_unwait(e, w);
        workload_free(e, w);
    }
    map_each (handle, e->node_map, n, next_n) {
        engine_node_free(e, n);
    }
    map_each (handle, e->gpu_map, g, next_g) {
        g->holder = NULL;
        g->n_shares = 0;
        parts_free(e, g);
        gpu_drop_unused(e, g);
    }
}

void mete_engine_free(struct mete_engine *e)
{
    if (!e)
        return;
    demand_free(e, e->demand);
    values_free(e, e->values);
    free_maps(e);
    id_map_done(&e->workloads);
    group_cache_free(e->group_cache);
    affinity_free(e);
    affinity_question_free(e->question);
    vec_done(&e->keys);
    queues_free(e);
    levels_free(e);
    domain_search_free(e->domain_search);
    vec_done(&e->order);
    vec_done(&e->slots);
    vec_done(&e->free_slots);
    vec_done(&e->glances);
    vec_done(&e->details);
    vec_done(&e->backfills);
    vec_done(&e->trees);
    boards_free(e);
    vec_done(&e->placed);
    vec_done(&e->lenders);
    vec_done(&e->resumes);
    vec_done(&e->holders);
    vec_done(&e->claims);
    vec_done(&e->outlooks);
    arena_free(e->decisions);
    arena_free(e->answers);
    arena_free(e->scratch);
    vec_done(&e->words);
    journal_done(&e->journal);
    buf_done(&e->record_line);
    intern_free(e->texts);
    free(e);
}

const char *mete_last_error(const struct mete_engine *e)
{
    return e->error;
}

enum mete_result engine_refuse(struct mete_engine *e, enum mete_result result, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    (void)vsnprintf(e->error, sizeof(e->error), fmt, ap); /* cut when too long */
    va_end(ap);
    return result;
}

struct node *engine_node(const struct mete_engine *e, const char *name)
{
    struct node *n = NULL;

    map_find_text(handle, e->node_map, name, n);
    return n;
}

struct gpu *engine_gpu(const struct mete_engine *e, const char *uuid)
{
    struct gpu *g = NULL;

    map_find_text(handle, e->gpu_map, uuid, g);
    return g;
}

struct workload *engine_workload(const struct mete_engine *e, uint64_t id)
{
    return id_map_find(&e->workloads, id);
}

bool text_is_sane(const char *text)
{
    return text && *text && strnlen(text, TEXT_MAX + 1) <= TEXT_MAX;
}

uint64_t mete_gpu_holder(const struct mete_engine *e, const char *uuid)
{
    const struct gpu *g = uuid ? engine_gpu(e, uuid) : NULL;

    return g && g->holder ? g->holder->workload->key.id : 0;
}
