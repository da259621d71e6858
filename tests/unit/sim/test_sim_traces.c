/* test_sim_traces.c - readers of job and cluster traces, and their error texts */

#include "sim/job_trace.h"
#include "sim/openb.h"
#include "test.h"

static struct err *parse_jobs(const char *text, const char *vc, struct job_trace **ret)
{
    const struct job_trace_options options = {.vc = vc};

    return job_trace_parse("f", str_of(text), &options, ret);
}

static void says_what_is_wrong_with_jobs(void **state)
{
    static const struct {
        const char *text;
        const char *vc;
        const char *message;
    } cases[] = {
        {"", NULL, "f:1: empty: want a header, then a record a line"},
        {"submit_s,duration_s\n", NULL,
         "f:1: no column 'gpus': the header has submit_s,duration_s"},
        {"submit_s,duration_s,gpus\n", NULL, "f: no jobs: want a record a line after the header"},
        {"submit_s,duration_s,gpus,gpus\n", NULL, "f:1: column 'gpus' is there twice"},
        {"submit_s,duration_s,gpus,colour\n1,2,3,4\n", NULL,
         "f:1: column 'colour' is not replayed: see docs/simulator.md"},
        {"submit_s,duration_s,gpus,gpu_milli\n1,2,3,0\n", NULL,
         "f:2: gpu_milli: number '0': want an integer from 1 to 1000"},
        {"submit_s,duration_s,gpus,pods\n1,2,3,2\n", NULL,
         "f:2: 3 gpus cannot be divided by 2 pods"},
        {"submit_s,duration_s,gpus,pods,min_pods\n1,2,4,2,3\n", NULL,
         "f:2: min_pods: number '3': want an integer from 0 to 2"},
        {"submit_s,duration_s,gpus,mig\n1,2,3,small\n", NULL,
         "f:2: mig 'small': want a profile such as '1g.10gb'"},
        {"submit_s,duration_s,gpus,mig,gpu_milli\n1,2,3,1g.10gb,500\n", NULL,
         "f:2: mig and gpu_milli in one job: want a slice or a share"},
        {"submit_s,duration_s,gpus\n1,2\n", NULL, "f:2: 2 fields: want 3, as the header has"},
        {"submit_s,duration_s,gpus\n1,2,3\n1,-2,3\n", NULL,
         "f:3: duration_s: number '-2': want an integer from 0 to 8589934592"},
        {"submit_s,duration_s,gpus\n1,2,0\n", NULL,
         "f:2: gpus: number '0': want an integer from 1 to 65536"},
        {"submit_s,duration_s,gpus\n1,\"2\",3\n", NULL,
         "f:2: a quote: want plain fields, without quotes and commas"},
        {"submit_s,duration_s,gpus\n1,2,3\n", "a",
         "f:1: no column 'vc': only philly's traces have virtual clusters"},
        {"submit_s,duration_s,num_gpu,vc\n1,2,3,b\n", "a", "f: no job of the virtual cluster 'a'"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct job_trace *t = NULL;
        AUTO(err_freep) struct err *e = parse_jobs(cases[i].text, cases[i].vc, &t);

        assert_non_null(e);
        assert_string_equal(err_message(e), cases[i].message);
        assert_null(t);
    }
}

static void reads_each_format_sorted_by_submit_time(void **state)
{
    static const struct {
        const char *text;
        const char *vc;
    } cases[] = {
        {"submit_s,duration_s,gpus,user,queue,priority,limit_s\n7,0,2,eve,q,1,60\n5,30,8,bob,q,,\n",
         NULL},
        {"job,submit_s,duration_s,num_gpu,model,batch_size,iterations,deadline_s\r\n"
         "0,5,30,8,bert,64,7628,5985\r\n1,7,0,2,bert,64,7628,5985",
         NULL},
        {"submit_s,duration_s,num_gpu,vc\n1,1,1,other\n5,30,8,mine\n7,0,2,mine\n", "mine"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO(job_trace_freep) struct job_trace *t = NULL;
        AUTO(err_freep) struct err *e = parse_jobs(cases[i].text, cases[i].vc, &t);
        const struct sim_job *jobs;

        assert_null(e);
        assert_int_equal(job_trace_count(t), 2);
        jobs = job_trace_jobs(t);
        assert_int_equal(jobs[0].submit_s, 5);
        assert_int_equal(jobs[0].duration_s, 30);
        assert_int_equal(jobs[0].gpus, 8);
        assert_int_equal(jobs[1].submit_s, 7);
        assert_int_equal(jobs[1].duration_s, 1); /* 0 counts as the minimum */
        assert_int_equal(jobs[1].gpus, 2);
        if (i == 0)
            assert_string_equal(job_trace_user(t, jobs[0].user), "bob");
    }
}

static void reads_what_clusters_know(void **state)
{
    AUTO(job_trace_freep) struct job_trace *t = NULL;
    const struct sim_ask *ask;

    (void)state;
    assert_null(parse_jobs("submit_s,duration_s,gpus,queue,priority,limit_s,gpu_milli,"
                           "gpu_memory_mib,model,pods,min_pods,cpu_milli,memory_mib,preemptible\n"
                           "1,900,4,q,-3,600,250,1024,h100,2,1,500,64,0\n2,5,1,,,,,,,,,,,\n",
                           NULL, &t));
    assert_string_equal(job_trace_needs_cluster(t), "gpu_milli");
    ask = &job_trace_asks(t)[job_trace_jobs(t)[0].ask];
    assert_string_equal(ask->queue, "q");
    assert_string_equal(ask->model, "h100");
    assert_int_equal(ask->priority, -3);
    assert_int_equal(ask->limit_s, 600);
    assert_int_equal(ask->gpu_milli, 250);
    assert_int_equal(ask->gpu_bytes, INT64_C(1) << 30);
    assert_int_equal(ask->pods, 2);
    assert_int_equal(ask->min_pods, 1);
    assert_int_equal(ask->cpu_milli, 500);
    assert_int_equal(ask->memory_bytes, 64 << 20);
    assert_false(ask->is_preemptible);
    assert_int_equal(job_trace_jobs(t)[0].milli, 1000);
    assert_int_equal(job_trace_jobs(t)[0].duration_s, 600); /* the job ends at its limit */
    assert_int_equal(job_trace_jobs(t)[1].ask, 0);          /* no ask */
}

static void reads_slices_of_a_trace_as_their_share_of_a_gpu(void **state)
{
    AUTO(job_trace_freep) struct job_trace *t = NULL;

    (void)state;
    assert_null(
        parse_jobs("submit_s,duration_s,gpus,mig\n1,900,3,mig-1g.10gb.me\n2,5,1,\n", NULL, &t));
    assert_string_equal(job_trace_needs_cluster(t), "mig");
    assert_string_equal(job_trace_asks(t)[job_trace_jobs(t)[0].ask].mig, "1g.10gb+me");
    assert_int_equal(job_trace_jobs(t)[0].milli, 3 * 142);
    assert_int_equal(job_trace_jobs(t)[1].ask, 0);
    assert_int_equal(job_trace_jobs(t)[1].milli, 1000);
}

static void errs_the_same_for_the_same_seed_with_a_median_of_one(void **state)
{
    enum {
        JOBS = 2000
    };
    AUTO(buf_done) struct buf text = {0};
    AUTO(job_trace_freep) struct job_trace *t = NULL;
    AUTO(err_freep) struct err *e = NULL;
    int64_t first;
    size_t below = 0;

    (void)state;
    buf_add_text(&text, "submit_s,duration_s,gpus\n");
    for (int i = 0; i < JOBS; i++)
        buf_add_text(&text, "1,100000,1\n");
    e = parse_jobs(text.at, NULL, &t);
    assert_null(e);
    assert_int_equal(job_trace_jobs(t)[0].estimate_s, 100000);
    job_trace_estimate(t, 1000, 7);
    first = job_trace_jobs(t)[0].estimate_s;
    for (size_t i = 0; i < JOBS; i++)
        below += job_trace_jobs(t)[i].estimate_s < 100000;
    assert_in_range(below, JOBS * 46 / 100, JOBS * 54 / 100);
    job_trace_estimate(t, 1000, 8);
    assert_int_not_equal(job_trace_jobs(t)[0].estimate_s, first);
    job_trace_estimate(t, 1000, 7);
    assert_int_equal(job_trace_jobs(t)[0].estimate_s, first);
    job_trace_estimate(t, 0, 7);
    assert_int_equal(job_trace_jobs(t)[0].estimate_s, 100000);
}

static const char nodes_text[] =
    "sn,cpu_milli,memory_mib,gpu,model\na,4000,1024,2,T4\nb,4000,1024,1,\n";
static const char pods_text[] =
    "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,scheduled_time,"
    "deletion_time\n"
    "p,1000,1,1,1000,T4|P100,10,25\n"
    "q,1000,2,1,500,,,\n"
    "r,500,3,0,700,T4,5,4\n"
    "s,1000,9,1,500,,3,9\n";

static struct openb *openb_of(const char *arrivals, const char *ranks, struct err **ret)
{
    struct openb *o = openb_new();
    struct err *e = openb_read_nodes(o, "n", str_of(nodes_text));

    if (!e)
        e = openb_read_pods(o, "p", str_of(pods_text));
    if (!e)
        e = openb_read_arrivals(o, "a", str_of(arrivals));
    if (!e)
        e = openb_read_ranks(o, "r", str_of(ranks));
    *ret = e;
    return o;
}

static void reads_nodes_pods_and_orders(void **state)
{
    struct err *e = NULL;
    AUTO(openb_freep) struct openb *o = openb_of("42 0 3 3\n43 1\n", "42 1 0\n", &e);
    const struct openb_pod *pods = openb_pods(o);
    const struct openb_kind *kinds = NULL;

    (void)state;
    assert_null(e);
    assert_int_equal(openb_capacity_milli(o), 3000);
    assert_string_equal(openb_nodes(o)[0].model, "T4");
    assert_int_equal(pods[0].n_models, 2);
    assert_string_equal(pods[0].models[1], "P100");
    assert_int_equal(pods[0].run_s, 15);
    assert_int_equal(pods[1].run_s, -1);
    assert_int_equal(pods[2].gpu_milli, 0); /* without gpus the share has no meaning */
    assert_int_equal(pods[2].n_models, 0);
    assert_int_equal(pods[2].run_s, -1);
    assert_int_equal(openb_arrivals(o, 42)->n, 3);
    assert_int_equal(openb_arrivals(o, 42)->items[1], 3);
    assert_null(openb_ranks(o, 43));
    assert_int_equal(openb_kinds(o, &kinds), 3);
    assert_int_equal(kinds[0].pod, 1); /* two such pods, memory aside */
    assert_int_equal(kinds[0].count, 2);
    assert_int_equal(kinds[1].pod, 0); /* the larger cpu of the others */
}

static void says_what_is_wrong_with_orders(void **state)
{
    static const struct {
        const char *arrivals;
        const char *ranks;
        const char *message;
    } cases[] = {
        {"42 0 4\n", "", "a:1: number '4': want an integer from 0 to 3"},
        {"42 0 x\n", "", "a:1: number 'x': want an integer from 0 to 3"},
        {"42 0\n", "42 0\n", "r:1: 1 ranks: want one for each of the 2 nodes"},
        {"42 0\n", "42 0 0\n", "r:1: rank 0 is there twice"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct err *e = NULL;
        AUTO(openb_freep) struct openb *o = openb_of(cases[i].arrivals, cases[i].ranks, &e);

        assert_non_null(e);
        assert_string_equal(err_message(e), cases[i].message);
        err_free(e);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(says_what_is_wrong_with_jobs),
        cmocka_unit_test(reads_each_format_sorted_by_submit_time),
        cmocka_unit_test(reads_what_clusters_know),
        cmocka_unit_test(reads_slices_of_a_trace_as_their_share_of_a_gpu),
        cmocka_unit_test(errs_the_same_for_the_same_seed_with_a_median_of_one),
        cmocka_unit_test(reads_nodes_pods_and_orders),
        cmocka_unit_test(says_what_is_wrong_with_orders),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
