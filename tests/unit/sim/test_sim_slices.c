/* test_sim_slices.c - replays of jobs on MIG slices */

#include "base/err.h"
#include "sim/job_trace.h"
#include "sim/replay_cluster.h"
#include "test.h"

/* Ends of the jobs, in their order; an error's text where there is one. */
static const char *replay(const char *nodes, const char *jobs, int64_t *ends)
{
    static char message[256];
    AUTO(sim_cluster_freep) struct sim_cluster *c = sim_cluster_new();
    AUTO(job_trace_freep) struct job_trace *t = NULL;
    AUTO(err_freep) struct err *e = NULL;
    json_t *document = json_loads(nodes, 0, NULL);
    struct replay_job done[16];
    struct cluster_replay asked = {.cluster = c};

    assert_non_null(document);
    assert_null(job_trace_parse("f", str_of(jobs), &(struct job_trace_options){0}, &t));
    assert_true(job_trace_count(t) <= COUNT(done));
    assert_null(cluster_policy_parse(str_of("engine"), &asked.policy));
    asked.trace = t;
    asked.options.jobs = job_trace_jobs(t);
    asked.options.n = job_trace_count(t);
    e = sim_cluster_add_nodes(c, document);
    if (!e)
        e = cluster_replay_run(&asked, done);
    json_decref(document);
    (void)snprintf(message, sizeof(message), "%s", e ? err_message(e) : "");
    for (size_t i = 0; !e && i < asked.options.n; i++)
        ends[i] = done[i].end_s;
    return message;
}

static const char flexible[] =
    "{\"kind\": \"Cluster\", \"nodes\": [{\"name\": \"n\", \"gpus\": 1, \"model\": \"h100\", "
    "\"mig\": \"flexible\", \"gpuMemory\": \"80Gi\"}]}";

/* Two 3g instances fill the gpu, though one of seven compute slices is left. */
static void slices_share_a_gpu_as_its_driver_allows(void **state)
{
    int64_t ends[4] = {0};

    (void)state;
    assert_string_equal(replay(flexible,
                               "submit_s,duration_s,gpus,mig\n1,100,1,3g.40gb\n2,100,1,3g.40gb\n"
                               "3,100,1,1g.10gb\n4,50,2,1g.10gb\n",
                               ends),
                        "");
    assert_int_equal(ends[0], 101);
    assert_int_equal(ends[1], 102);
    assert_int_equal(ends[2], 201);
    assert_int_equal(ends[3], 151);
}

static void says_what_cannot_be_cut(void **state)
{
    int64_t ends[4] = {0};

    (void)state;
    assert_string_equal(
        replay("{\"kind\": \"Cluster\", \"nodes\": [{\"name\": \"n\", \"mig\": \"fixed\"}]}",
               "submit_s,duration_s,gpus\n1,100,1\n", ends),
        "nodes[0]: mig: want 'flexible': slices are made as jobs ask for them");
    assert_non_null(strstr(replay("{\"kind\": \"Cluster\", \"nodes\": [{\"name\": \"n\", "
                                  "\"model\": \"t4\", \"mig\": \"flexible\"}]}",
                                  "submit_s,duration_s,gpus\n1,100,1\n", ends),
                           "no MIG geometry is known of a 't4'"));
    assert_non_null(strstr(
        replay(flexible, "submit_s,duration_s,gpus,mig\n1,100,8,1g.10gb\n", ends), "NeverFits"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slices_share_a_gpu_as_its_driver_allows),
        cmocka_unit_test(says_what_cannot_be_cut),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
