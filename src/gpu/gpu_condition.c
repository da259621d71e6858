/* gpu_condition.c - conditions of gpus and the queue of XIDs */

#include "gpu/gpu_condition.h"

#include <stdio.h>
#include <string.h>

struct gpu_condition *gpu_condition_of(struct gpu_conditions *all, const char *uuid)
{
    struct gpu_condition *c = NULL;

    for (size_t i = 0; i < all->n; i++)
        if (strcmp(all->list[i].uuid, uuid) == 0)
            return &all->list[i];
    if (all->n == CONDITIONS_MAX || !*uuid)
        return NULL;
    c = &all->list[all->n++];
    *c = (struct gpu_condition){0};
    (void)snprintf(c->uuid, sizeof(c->uuid), "%s", uuid);
    return c;
}

void gpu_condition_sampled(struct gpu_condition *c, const struct gpu_sample *s, int64_t now_ns)
{
    c->sample = *s;
    memcpy(c->sample.uuid, c->uuid, sizeof(c->uuid));
    c->sample.at_ns = now_ns;
    c->sample.value[GPU_FIELD_XID_LAST] = c->xid_last;
    c->n_failed = 0;
    c->n_good++;
    if (c->n_good >= SAMPLES_GOOD_AGAIN) {
        c->is_failing = false;
        c->is_lost = false;
    }
}

void gpu_condition_failed(struct gpu_condition *c, bool is_lost, const char *why)
{
    c->n_good = 0;
    c->n_failed++;
    if (!is_lost && c->n_failed < SAMPLES_FAILED_BAD)
        return;
    c->is_failing = true;
    c->is_lost = is_lost;
    (void)snprintf(c->problem, sizeof(c->problem), "%.120s", why);
}

void gpu_conditions_add_xid(struct gpu_conditions *all, const struct gpu_xid *x)
{
    struct gpu_condition *c = gpu_condition_of(all, x->uuid);

    if (c) {
        c->xid_last = x->xid;
        c->sample.value[GPU_FIELD_XID_LAST] = x->xid;
    }
    if (all->n_queued == XID_QUEUE_MAX) {
        all->n_dropped++;
        return;
    }
    all->queue[(all->first + all->n_queued++) % XID_QUEUE_MAX] = *x;
}

bool gpu_conditions_next_xid(struct gpu_conditions *all, struct gpu_xid *ret)
{
    if (all->n_queued == 0)
        return false;
    *ret = all->queue[all->first];
    all->first = (all->first + 1) % XID_QUEUE_MAX;
    all->n_queued--;
    return true;
}

void gpu_condition_apply(const struct gpu_condition *c, const struct gpu *listed, struct gpu *g)
{
    g->health = listed->health;
    memcpy(g->health_reason, listed->health_reason, sizeof(g->health_reason));
    if (listed->health == GPU_NOT_ANSWERING)
        return;
    if (!c->is_failing)
        return;
    g->health = c->is_lost ? GPU_LOST : GPU_UNHEALTHY;
    (void)snprintf(g->health_reason, sizeof(g->health_reason), "%s", c->problem);
}
