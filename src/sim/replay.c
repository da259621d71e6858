/* replay.c - the parts that all replays share, and the strict orders */

#include "sim/replay.h"

#include <assert.h>
#include <inttypes.h>

#include "base/mem.h"
#include "sim/replay_private.h"

static const char *const names[] = {"fifo",   "sjf",  "srtf",        "mete",
                                    "engine", "easy", "conservative"};

struct err *replay_policy_parse(struct str text, enum replay_policy *ret)
{
    for (size_t i = 0; i < COUNT(names); i++) {
        if (str_equal(text, str_of(names[i]))) {
            *ret = (enum replay_policy)i;
            return NULL;
        }
    }
    return err_new(ERR_INVALID,
                   "policy '" STR_FMT "': want fifo, sjf, srtf, mete, engine, easy or conservative",
                   STR_ARG(text));
}

const char *replay_policy_name(enum replay_policy policy)
{
    return names[policy];
}

int64_t replay_next_arrival(const struct replay *r)
{
    return r->arrived < r->options->n ? r->options->jobs[r->arrived].submit_s : NEVER;
}

/* Is the item the end of an earlier run, which a preemption cut short? */
static bool is_stale(const struct replay *r, const struct heap_item *item)
{
    return r->done[item->job].end_s != item->key;
}

int64_t replay_next_end(struct replay *r)
{
    while (heap_first(&r->ends) && is_stale(r, heap_first(&r->ends)))
        heap_drop_first(&r->ends);
    return heap_first(&r->ends) ? heap_first(&r->ends)->key : NEVER;
}

static void note_move(const struct replay *r, int64_t at_s, uint32_t job, bool runs)
{
    if (r->options->moved)
        r->options->moved(r->options->moved_arg, at_s, job, runs);
}

void replay_note_start(struct replay *r, uint32_t job, int64_t now_s, int64_t run_s)
{
    if (r->done[job].start_s < 0)
        r->done[job].start_s = now_s;
    r->done[job].end_s = now_s + run_s;
    heap_add(&r->ends, now_s + run_s, job);
    note_move(r, now_s, job, true);
}

bool replay_start(struct replay *r, uint32_t job, int64_t now_s, int64_t run_s)
{
    if (!pool_take(r->pool, r->options->jobs[job].gpus, &r->holds[job]))
        return false;
    replay_note_start(r, job, now_s, run_s);
    return true;
}

void replay_start_planned(struct replay *r, uint32_t job, int64_t now_s, int64_t run_s)
{
    const bool is_free = pool_take_same(r->pool, &r->holds[job]);

    assert(is_free);
    replay_note_start(r, job, now_s, run_s);
}

int64_t replay_preemption_cost(uint32_t gpus)
{
    if (gpus == 1)
        return 7;
    return gpus <= 8 ? 30 : 60;
}

/* Gives a job's gpus back. Replays on the engine have no pool. */
static void give_back(struct replay *r, uint32_t job)
{
    if (r->pool)
        pool_give(r->pool, &r->holds[job]);
}

void replay_stop(struct replay *r, uint32_t job, int64_t now_s)
{
    give_back(r, job);
    note_move(r, now_s, job, false);
    r->done[job].end_s = -1;
    r->done[job].preemptions++;
}

int64_t replay_preempt(struct replay *r, uint32_t job, struct replay_run *run, int64_t now_s)
{
    const int64_t cost = replay_preemption_cost(r->options->jobs[job].gpus);
    const int64_t held_s = now_s - run->began_s;
    const int64_t progress_s = held_s > run->paying_s ? held_s - run->paying_s : 0;

    replay_stop(r, job, now_s);
    r->done[job].lost_s += cost;
    run->paying_s = run->paying_s - (held_s - progress_s) + cost;
    run->remain_s += cost - held_s;
    return progress_s;
}

void replay_release(struct replay *r, int64_t now_s, void (*fn)(void *arg, uint32_t job), void *arg)
{
    while (replay_next_end(r) <= now_s) {
        const uint32_t job = heap_first(&r->ends)->job;

        heap_drop_first(&r->ends);
        give_back(r, job);
        note_move(r, r->done[job].end_s, job, false);
        r->ended++;
        if (fn)
            fn(arg, job);
        if (r->options->progress && r->ended % 1024 == 0)
            r->options->progress(r->options->arg, r->ended);
    }
}

/* Starts jobs in the order of the queue, until a job does not fit. */
static void replay_strict(struct replay *r, bool by_duration)
{
    const struct sim_job *jobs = r->options->jobs;
    struct heap queue = {0};

    while (r->ended < r->options->n) {
        const int64_t arrival = replay_next_arrival(r);
        const int64_t end = replay_next_end(r);
        const int64_t now = arrival < end ? arrival : end;

        replay_release(r, now, NULL, NULL);
        for (; replay_next_arrival(r) == now; r->arrived++)
            heap_add(&queue, by_duration ? jobs[r->arrived].duration_s : 0, (uint32_t)r->arrived);
        while (heap_first(&queue)) {
            const uint32_t job = heap_first(&queue)->job;

            if (!replay_start(r, job, now, jobs[job].duration_s))
                break;
            heap_drop_first(&queue);
        }
    }
    heap_done(&queue);
}

static struct err *check_jobs(const struct replay *r)
{
    for (size_t i = 0; i < r->options->n; i++)
        if (!pool_could_fit(r->pool, r->options->jobs[i].gpus))
            return err_new(
                ERR_INVALID, "the job submitted at %" PRId64 " s wants %u gpus: the pool has %u",
                r->options->jobs[i].submit_s, r->options->jobs[i].gpus, pool_gpus(r->pool));
    return NULL;
}

static void run_policy(struct replay *r, enum replay_policy policy)
{
    switch (policy) {
    case REPLAY_FIFO:
    case REPLAY_SJF:
        replay_strict(r, policy == REPLAY_SJF);
        break;
    case REPLAY_SRTF:
        replay_srtf(r);
        break;
    case REPLAY_METE:
        replay_mete(r);
        break;
    case REPLAY_ENGINE:
    case REPLAY_EASY:
    case REPLAY_CONSERVATIVE:
        replay_engine(r, policy);
        break;
    }
}

struct err *replay_run(enum replay_policy policy, const struct replay_options *options,
                       struct replay_job *ret)
{
    struct replay r = {.options = options, .done = ret};
    struct err *e;

    r.pool = pool_new(options->nodes, options->gpus_per_node);
    e = check_jobs(&r);
    if (!e) {
        r.holds = mem_alloc(options->n * sizeof(*r.holds));
        for (size_t i = 0; i < options->n; i++)
            ret[i] = (struct replay_job){.start_s = -1, .end_s = -1};
        run_policy(&r, policy);
    }
    free(r.holds);
    heap_done(&r.ends);
    pool_free(r.pool);
    return e;
}
