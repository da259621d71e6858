/* test_engine_fair.c - shares of the cluster in the long run, over endless streams of jobs */

#include "base/attr.h"
#include "base/err.h"
#include "engine_build.h"
#include "prop.h"
#include "test.h"

static const char *const names[] = {"q0", "q1", "q2", "q3"};

enum {
    STREAM_QUEUES = 4,
    STREAM_WAITING = 30,
    STREAM_GPUS = 16,
    STREAM_S = 4000,
    STREAM_IDS = STREAM_S * STREAM_GPUS + STREAM_QUEUES * STREAM_WAITING,
};

struct stream {
    struct mete_engine *e;
    struct prop prop;
    uint64_t next_id;
    uint32_t weights[STREAM_QUEUES];
    uint64_t used[STREAM_QUEUES]; /* gpu seconds */
    uint8_t queue_of[STREAM_IDS];
    uint64_t running[STREAM_GPUS];
    size_t n_running;
};

static void stream_add(struct stream *s, unsigned queue)
{
    s->queue_of[s->next_id] = (uint8_t)queue;
    assert_int_equal(
        add_job(
            s->e,
            (struct job_spec){.id = s->next_id, .gpus = 1, .submit_s = 1, .queue = names[queue]}),
        METE_OK);
    s->next_id++;
}

static void stream_second(struct stream *s, int64_t now_s)
{
    struct mete_decisions d;

    mete_cycle(s->e, now_s * SECOND, 0, &d);
    for (size_t i = 0; i < d.n_placements; i++) {
        s->running[s->n_running++] = d.placements[i].workload;
        stream_add(s, s->queue_of[d.placements[i].workload]);
    }
    assert_int_equal(s->n_running, STREAM_GPUS); /* no gpu is idle */
    for (size_t i = s->n_running; i > 0; i--) {
        s->used[s->queue_of[s->running[i - 1]]]++;
        if (!prop_chance(&s->prop, 10))
            continue;
        assert_int_equal(mete_workload_remove(s->e, s->running[i - 1]), METE_OK);
        s->running[i - 1] = s->running[--s->n_running];
    }
}

/* Queues that always have waiting jobs get the cluster by their weights: within a gpu, and with
 * past usage within a fiftieth. */
static void shares_converge_to_weights(void **state)
{
    static struct stream s;

    (void)state;
    for (uint64_t seed = 1; seed <= 8; seed++) {
        const struct mete_fairness fairness = {.half_life_ns = seed % 2 ? 300 * SECOND : 0};
        uint64_t weights = 0;

        s = (struct stream){.e = mete_engine_new(NULL), .prop = {seed}, .next_id = 1};
        assert_int_equal(mete_fairness_set(s.e, &fairness), METE_OK);
        for (int i = 0; i < STREAM_QUEUES; i++)
            (void)set_node(s.e, (struct node_spec){.name = names[i], .gpus = 4});
        for (unsigned q = 0; q < STREAM_QUEUES; q++) {
            s.weights[q] = 1 + (uint32_t)prop_below(&s.prop, 5);
            weights += s.weights[q];
            assert_int_equal(
                mete_queue_set(s.e, &(struct mete_queue){.name = names[q], .weight = s.weights[q]}),
                METE_OK);
            for (int i = 0; i < STREAM_WAITING; i++)
                stream_add(&s, q);
        }
        for (int64_t now_s = 1; now_s <= STREAM_S; now_s++)
            stream_second(&s, now_s);
        for (unsigned q = 0; q < STREAM_QUEUES; q++) {
            int64_t got = (int64_t)(s.used[q] * 1000 / (UINT64_C(1) * STREAM_S * STREAM_GPUS));
            int64_t due = (int64_t)(UINT64_C(1000) * s.weights[q] / weights);
            int64_t most = fairness.half_life_ns > 0 ? 20 : 1000 / STREAM_GPUS;

            if (got < due - most || got > due + most)
                fail_msg("seed %llu: queue %u is due %lld of 1000 and got %lld",
                         (unsigned long long)seed, q, (long long)due, (long long)got);
        }
        assert_null(mete_engine_check(s.e));
        mete_engine_free(s.e);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shares_converge_to_weights),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
