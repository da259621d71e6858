/*
 * srun_pmix.c - PMIx between the nodes of a step: srun gathers their fences, and sends requests for
 * keys to the node of their rank
 */

#include <inttypes.h>

#include "base/mem.h"
#include "cli/slurm/srun_private.h"
#include "slurm/pmix_message.h"

enum {
    FENCES_MAX = 1024, /* that are open at once */
    ASKS_MAX = 1 << 20,
    STATUS_NOT_FOUND = -46,  /* PMIX_ERR_NOT_FOUND */
    STATUS_UNREACHABLE = -25 /* PMIX_ERR_UNREACH */
};

static void node_send(struct srun_node *node, const struct pmix_message *m)
{
    AUTO(buf_done) struct buf bytes = {.cap = PMIX_MESSAGE_HEAD_SIZE + PMIX_MESSAGE_MAX};

    pmix_message_add(&bytes, m);
    srun_send_node(node, STEP_PMIX, STEP_ALL_RANKS, (struct str){bytes.at, bytes.size});
}

/* ---- fences ---- */

static void fence_free(struct srun_pmix_fence *f)
{
    buf_done(&f->ranks);
    buf_done(&f->data);
    free(f->wants);
    free(f->has_come);
    free(f);
}

static void fence_want(struct srun_pmix_fence *f, size_t node)
{
    f->n_wanted += f->wants[node] ? 0 : 1;
    f->wants[node] = true;
}

static struct err *fence_new(const struct srun_run *r, struct str ranks, uint32_t n_ranks,
                             struct srun_pmix_fence **ret)
{
    struct srun_pmix_fence *f = mem_alloc(sizeof(*f));

    *f = (struct srun_pmix_fence){.n_ranks = n_ranks,
                                  .wants = mem_alloc(r->n_nodes * sizeof(*f->wants)),
                                  .has_come = mem_alloc(r->n_nodes * sizeof(*f->has_come)),
                                  .data = {.cap = PMIX_MESSAGE_DATA_MAX}};
    buf_add(&f->ranks, ranks.at, ranks.size);
    for (uint32_t i = 0; i < n_ranks; i++) {
        uint32_t rank = pmix_fence_rank(ranks, i);

        if (rank >= (uint64_t)r->o->make->tasks) {
            fence_free(f);
            return err_new(ERR_INVALID, "a fence of PMIx has rank %u of %" PRId64, rank,
                           r->o->make->tasks);
        }
        fence_want(f, r->tasks[rank].node);
    }
    for (size_t i = 0; i < r->n_nodes && n_ranks == 0; i++)
        fence_want(f, i);
    *ret = f;
    return NULL;
}

/* The place of the fence among those that are open; it may be a new one. */
static struct err *fence_find(struct srun_run *r, struct str ranks, uint32_t n_ranks, size_t *ret)
{
    struct srun_pmix_fence *f = NULL;

    for (size_t i = 0; i < r->pmix_fences.n; i++) {
        f = r->pmix_fences.at[i];
        *ret = i;
        if (f->n_ranks == n_ranks && str_equal(ranks, (struct str){f->ranks.at, f->ranks.size}))
            return NULL;
    }
    if (r->pmix_fences.n == FENCES_MAX)
        return err_new(ERR_TOO_LARGE, "the tasks wait at %d fences of PMIx at once", FENCES_MAX);
    TRY(fence_new(r, ranks, n_ranks, &f));
    *ret = r->pmix_fences.n;
    vec_add(&r->pmix_fences, f);
    return NULL;
}

/* Tells all nodes of the fence what all have put. */
static void fence_end(struct srun_run *r, size_t place)
{
    struct srun_pmix_fence *f = r->pmix_fences.at[place];
    AUTO(buf_done) struct buf all = {.cap = PMIX_MESSAGE_MAX};
    struct pmix_message m = {.kind = PMIX_MESSAGE_FENCE, .number = f->n_ranks, .status = f->status};

    vec_remove(&r->pmix_fences, place);
    buf_add(&all, f->ranks.at, f->ranks.size);
    buf_add(&all, f->data.at, f->data.size);
    m.payload = (struct str){all.at, all.size};
    for (size_t i = 0; i < r->n_nodes; i++)
        if (f->wants[i])
            node_send(&r->nodes[i], &m);
    fence_free(f);
}

static struct err *pmix_take_fence(struct srun_node *node, const struct pmix_message *m)
{
    struct srun_run *r = node->run;
    struct srun_pmix_fence *f;
    struct str ranks;
    struct str data;
    size_t place = 0;

    TRY(pmix_fence_read(m, &ranks, &data));
    TRY(fence_find(r, ranks, m->number, &place));
    f = r->pmix_fences.at[place];
    if (!f->wants[node->i] || f->has_come[node->i])
        return err_new(ERR_INVALID, "%s is not at this fence of PMIx, or twice",
                       step_make_node(r->o->make, node->i));
    buf_add(&f->data, data.at, data.size);
    if (f->data.overflow)
        return err_new(ERR_TOO_LARGE, "the tasks have put more than %d bytes for PMIx",
                       PMIX_MESSAGE_DATA_MAX);
    f->has_come[node->i] = true;
    f->status = f->status == 0 ? m->status : f->status;
    f->n_come++;
    if (f->n_come == f->n_wanted)
        fence_end(r, place);
    return NULL;
}

/* ---- requests ---- */

static void ask_refuse(struct srun_run *r, const struct srun_pmix_ask *ask, int32_t status)
{
    const struct pmix_message m = {
        .kind = PMIX_MESSAGE_TELL, .number = ask->number_of_asker, .status = status};

    node_send(&r->nodes[ask->asker], &m);
}

static struct err *pmix_take_ask(struct srun_node *node, const struct pmix_message *m)
{
    struct srun_run *r = node->run;
    struct srun_pmix_ask ask = {
        .number = r->pmix_number++, .number_of_asker = m->number, .asker = node->i};
    struct pmix_message passed = *m;

    if (m->rank >= (uint64_t)r->o->make->tasks || m->payload.size > PMIX_MESSAGE_KEY_MAX ||
        r->pmix_asks.n == ASKS_MAX) {
        ask_refuse(r, &ask, STATUS_NOT_FOUND);
        return NULL;
    }
    ask.node = r->tasks[m->rank].node;
    if (r->nodes[ask.node].is_over) {
        ask_refuse(r, &ask, STATUS_UNREACHABLE);
        return NULL;
    }
    vec_add(&r->pmix_asks, ask);
    passed.number = ask.number;
    node_send(&r->nodes[ask.node], &passed);
    return NULL;
}

static struct err *pmix_take_tell(struct srun_node *node, const struct pmix_message *m)
{
    struct srun_run *r = node->run;
    struct pmix_message passed = *m;

    for (size_t i = 0; i < r->pmix_asks.n; i++) {
        struct srun_pmix_ask ask = r->pmix_asks.at[i];

        if (ask.number != m->number || ask.node != node->i)
            continue;
        vec_remove(&r->pmix_asks, i);
        passed.number = ask.number_of_asker;
        node_send(&r->nodes[ask.asker], &passed);
        return NULL;
    }
    return err_new(ERR_INVALID, "%s answers what was not asked",
                   step_make_node(r->o->make, node->i));
}

void srun_pmix_lose(struct srun_run *r, size_t node)
{
    for (size_t i = 0; i < r->pmix_asks.n;) {
        struct srun_pmix_ask ask = r->pmix_asks.at[i];

        if (ask.node != node) {
            i++;
            continue;
        }
        vec_remove(&r->pmix_asks, i);
        ask_refuse(r, &ask, STATUS_UNREACHABLE);
    }
}

/* ---- the step ---- */

static struct err *pmix_take(void *arg, const struct pmix_message *m)
{
    struct srun_node *node = arg;

    switch ((enum pmix_message_kind)m->kind) {
    case PMIX_MESSAGE_FENCE:
        return pmix_take_fence(node, m);
    case PMIX_MESSAGE_ASK:
        return pmix_take_ask(node, m);
    case PMIX_MESSAGE_TELL:
        return pmix_take_tell(node, m);
    case PMIX_MESSAGE_SETUP:
    case PMIX_MESSAGE_VARIABLE:
    case PMIX_MESSAGE_READY:
    case PMIX_MESSAGE_CONNECTED:
    case PMIX_MESSAGE_FINALIZED:
    case PMIX_MESSAGE_ABORT:
    case PMIX_MESSAGE_FAILED:
    case PMIX_MESSAGE_OVER:
        break;
    }
    return err_new(ERR_INVALID, "the node sent what srun does not take");
}

struct err *srun_pmix_take(struct srun_node *node, struct str payload)
{
    if (!step_make_has_pmix(node->run->o->make))
        return err_new(ERR_INVALID, "the node sent what srun does not take");
    node->pmix.cap = PMIX_MESSAGE_HEAD_SIZE + PMIX_MESSAGE_MAX + STEP_FRAME_MAX;
    buf_add(&node->pmix, payload.at, payload.size);
    return pmix_messages_take(&node->pmix, pmix_take, node);
}

void srun_pmix_end(struct srun_run *r)
{
    const struct pmix_message m = {.kind = PMIX_MESSAGE_OVER};

    for (size_t i = 0; step_make_has_pmix(r->o->make) && i < r->n_nodes; i++)
        node_send(&r->nodes[i], &m);
}

void srun_pmix_done(struct srun_run *r)
{
    VEC_EACH (&r->pmix_fences, fence)
        fence_free(*fence);
    vec_done(&r->pmix_fences);
    vec_done(&r->pmix_asks);
}
