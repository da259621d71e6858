/*
 * test_jobs_prop.c - a Job's pods end, are deleted and are reported late, at random
 *
 * The Job is suspended, resumed and resized; the controllers end in between and start again. At the
 * end every pod was counted once.
 */

#include "base/mem.h"
#include "base/stamp.h"
#include "jobs_world.h"
#include "kinds/job/job.h"
#include "kinds/pod/pod_state.h"
#include "kinds/pod/pod_view.h"
#include "model/index_set.h"
#include "prop.h"
#include "sim_loop.h"
#include "test.h"

enum {
    STEPS = 120,
    CASES = 30,
    SPEC_SIZE = 512
};

struct run {
    struct jobs_world jw;
    struct prop prop;
    bool is_indexed;
    int completions;
    int n_told_ok;     /* pods that succeeded, as their node reported */
    int n_told_failed; /* pods that failed */
    struct index_set told_indexes;
};

/* Runs a few due timers, not all, so that writes stay pending. */
static void a_few_turns(struct run *r)
{
    for (size_t n = prop_below(&r->prop, 12); n > 0 && sim_loop_step(r->jw.w.loop); n--)
        ;
}

static const json_t *pick_pod(struct run *r, const json_t *pods)
{
    size_t n = json_array_size(pods);

    return n > 0 ? json_array_get(pods, prop_below(&r->prop, n)) : NULL;
}

/* The end of a pod, on its way to the disk. */
struct ending {
    struct run *run;
    bool is_ok;
    int64_t index; /* -1: none */
};

static void on_told(void *arg, const struct err *e, int64_t revision)
{
    struct ending *end = arg;
    struct run *r = end->run;

    (void)revision;
    if (!e) {
        r->n_told_ok += end->is_ok;
        r->n_told_failed += !end->is_ok;
        if (end->is_ok && end->index >= 0)
            (void)index_set_add(&r->told_indexes, (size_t)end->index);
    }
    free(end);
}

static void end_pod(struct run *r, const json_t *pod)
{
    const char *name = json_text_at(pod, "metadata", "name", NULL);
    const char *index = json_text_at(pod, "metadata", "labels", JOB_INDEX, NULL);
    struct ending *end = mem_alloc(sizeof(*end));
    struct told told = {.done = on_told, .arg = end};
    AUTO(err_freep) struct err *e = NULL;

    *end = (struct ending){.run = r, .is_ok = prop_chance(&r->prop, 70), .index = -1};
    if (index)
        world_must(num_parse_int64(str_of(index), 0, INDEX_SET_MAX - 1, &end->index));
    told.phase = end->is_ok ? "Succeeded" : "Failed";
    told.exit_code = !end->is_ok;
    e = begin_tell_pod(&r->jw, name, &told);
    if (e)
        free(end); /* the pod has ended or is gone, and that write is pending */
}

/* Acts on the applied pods, not only on durable ones: a node sees no less. */
static void act_on_pod(struct run *r)
{
    AUTO(json_freep) json_t *pods = NULL;
    const json_t *pod;
    const char *name;

    pods = list_all(&r->jw, "", "pods");
    pod = pick_pod(r, pods);
    if (!pod)
        return;
    name = json_text_at(pod, "metadata", "name", NULL);
    if (pod_is_deleting(pod) && *pod_node(pod) && !pod_is_terminal(pod)) {
        err_free(world_delete(&r->jw.w, (struct target){.kind = "pods", .name = name, .who = &ours},
                              &(struct delete_options){.grace_seconds = 0}, NULL));
    } else if (!*pod_node(pod) && prop_chance(&r->prop, 50)) {
        err_free(world_bind(&r->jw.w, "default", name, "n1")); /* the pod may be gone */
    } else if (*pod_node(pod) && !pod_is_terminal(pod) && !pod_is_deleting(pod)) {
        end_pod(r, pod);
    }
}

static void patch_job(struct run *r)
{
    AUTO_FREE char *text = NULL;

    if (prop_chance(&r->prop, 50))
        text = mem_format("{'spec':{'suspend':%s}}", prop_chance(&r->prop, 30) ? "true" : "false");
    else
        text = mem_format("{'spec':{'parallelism':%zu}}", prop_below(&r->prop, 6));
    world_must(world_patch(
        &r->jw.w, (struct target){.group = "batch", .kind = "jobs", .name = "j", .who = &root},
        text, NULL));
}

/* Checks that no more pods are counted than were reported, and no index twice. */
static void check_counts(struct run *r)
{
    AUTO(json_freep) json_t *job = get_job(&r->jw, "j");
    const char *text = json_text_at(job, "status", "completedIndexes", NULL);
    int64_t succeeded = json_int_at(job, "status", "succeeded", NULL);
    struct index_set done = {0};

    assert_true(succeeded <= r->completions);
    if (!r->is_indexed) {
        assert_true(succeeded <= r->n_told_ok);
        return;
    }
    world_must(index_set_parse(str_of(text ? text : ""), INDEX_SET_MAX, &done));
    assert_int_equal(done.count, succeeded);
    assert_int_equal(index_set_count_common(&done, &r->told_indexes), succeeded);
    index_set_done(&done);
}

static void step(struct run *r)
{
    switch (prop_below(&r->prop, 10)) {
    case 0:
        jobs_world_restart(&r->jw, prop_chance(&r->prop, 50));
        break;
    case 1:
        patch_job(r);
        break;
    case 2:
        jobs_world_run(&r->jw, (int)prop_below(&r->prop, 30));
        break;
    default:
        act_on_pod(r);
        break;
    }
    a_few_turns(r);
    check_counts(r);
}

/* Disturbances stop: the pods run one after another, and the Job completes. */
static void let_it_end(struct run *r)
{
    world_must(world_patch(
        &r->jw.w, (struct target){.group = "batch", .kind = "jobs", .name = "j", .who = &root},
        "{'spec':{'suspend':false,'parallelism':3}}", NULL));
    for (int i = 0; i < 2000; i++) {
        AUTO(json_freep) json_t *job = get_job(&r->jw, "j");

        if (job_is_finished(job))
            return;
        act_on_pod(r);
        jobs_world_run(&r->jw, 20);
        check_counts(r);
    }
    fail_msg("it does not end");
}

static size_t count_tracked(const json_t *pods)
{
    size_t n = 0;

    for (size_t i = 0; i < json_array_size(pods); i++)
        n += json_array_size(json_at(json_array_get(pods, i), "metadata", "finalizers", NULL)) > 0;
    return n;
}

static int64_t count_phase(const json_t *pods, const char *phase)
{
    int64_t n = 0;

    for (size_t i = 0; i < json_array_size(pods); i++)
        n += text_equal(pod_phase(json_array_get(pods, i)), phase);
    return n;
}

/*
 * Checks that pods released before their end are gone, and that all others exist and were counted.
 */
static void check_end(struct run *r)
{
    AUTO(json_freep) json_t *job = get_job(&r->jw, "j");
    AUTO(json_freep) json_t *pods = NULL;

    jobs_world_run(&r->jw, 5);
    pods = list_all(&r->jw, "", "pods");
    assert_true(job_has_condition(job, "Complete"));
    assert_int_equal(json_int_at(job, "status", "succeeded", NULL), r->completions);
    assert_int_equal(count_phase(pods, "Succeeded"), r->completions);
    assert_int_equal(json_int_at(job, "status", "failed", NULL), count_phase(pods, "Failed"));
    assert_true(json_int_at(job, "status", "failed", NULL) <= r->n_told_failed);
    assert_int_equal(count_tracked(pods), 0);
}

static void run_seed(uint64_t seed)
{
    struct run r = {.prop = {seed}};
    char spec[SPEC_SIZE];

    r.is_indexed = prop_chance(&r.prop, 50);
    r.completions = 3 + (int)prop_below(&r.prop, 12);
    (void)snprintf(spec, sizeof(spec), "'completions':%d,'parallelism':3,'backoffLimit':100000%s%s",
                   r.completions, r.is_indexed ? ",'completionMode':'Indexed'" : "",
                   r.is_indexed && prop_chance(&r.prop, 50) ? ",'backoffLimitPerIndex':1000" : "");
    jobs_world_init(&r.jw, seed);
    add_plain_job(&r.jw, spec);
    for (int i = 0; i < STEPS; i++)
        step(&r);
    let_it_end(&r);
    check_end(&r);
    jobs_world_done(&r.jw);
    index_set_done(&r.told_indexes);
}

static void every_pod_counts_once_whenever_the_controller_ends(void **state)
{
    struct prop_seeds seeds = prop_seeds(CASES);

    (void)state;
    for (uint64_t seed = seeds.first; seed < seeds.end; seed++) {
        print_message("# seed %llu\n", (unsigned long long)seed);
        run_seed(seed);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_pod_counts_once_whenever_the_controller_ends),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
