/*
 * test_slurm_jobs_prop.c - elements of an array end, are cancelled, requeued and held at random
 *
 * The controllers end between any two writes and start again, with or without the store. No attempt
 * of an element has two pods, every end that a node told counts once, and at the end each element
 * has ended as its last attempt did. In half of the cases each element needs one of two licenses,
 * and no third one ever runs. The same with several nodes: nodes get lost, and no attempt
 * begins while a pod of an earlier one is left. The request of the job changes until an element has
 * started, and every pod that starts is of the last request.
 */

#include <stdio.h>

#include "base/mem.h"
#include "base/num.h"
#include "jobs_world.h"
#include "kinds/account/account.h"
#include "kinds/pod/pod_state.h"
#include "kinds/pod/pod_view.h"
#include "kinds/slurm/slurm_job.h"
#include "model/index_set.h"
#include "prop.h"
#include "sim_loop.h"
#include "test.h"

#define SLURM(n) ((struct target){.group = "mete.dev", .kind = "slurmjobs", .name = (n)})

enum {
    STEPS = 100,
    CASES = 30,
    ELEMENTS_MAX = 12,
    LICENSES = 2,
    NODES_MAX = 3
};

/* What the test told of an element. */
struct element {
    int n_told; /* attempts whose end is durable */
    bool is_told[64];
    bool was_ok;                  /* the last of them */
    int n_requeues;               /* asked for */
    char uids[64][NODES_MAX][40]; /* of the pods of its attempts */
    int n_attempts;
};

struct run {
    struct jobs_world jw;
    struct prop prop;
    int n;
    int n_nodes; /* of an element */
    bool has_licenses;
    struct element elements[ELEMENTS_MAX];
};

static void a_few_turns(struct run *r)
{
    for (size_t n = prop_below(&r->prop, 12); n > 0 && sim_loop_step(r->jw.w.loop); n--)
        ;
}

static int number_of(const json_t *pod, const char *map, const char *key)
{
    const char *text = json_text_at(pod, "metadata", map, key, NULL);
    int64_t n = 0;

    if (text)
        world_must(num_parse_int64(str_of(text), 0, 63, &n));
    return (int)n;
}

static int index_of(const json_t *pod)
{
    return number_of(pod, "labels", SLURM_INDEX_LABEL);
}

static int rank_of(const json_t *pod)
{
    return number_of(pod, "labels", SLURM_RANK_LABEL);
}

static int attempt_of(const json_t *pod)
{
    return number_of(pod, "annotations", SLURM_RESTARTS_ANNOTATION);
}

/* The last change of the request comes before the first start. */
static void check_revision(struct run *r, const json_t *pod)
{
    AUTO(json_freep) json_t *job = world_get(&r->jw.w, SLURM("a"));

    assert_int_equal(number_of(pod, "annotations", SLURM_REVISION_ANNOTATION),
                     json_int_at(job, "spec", "revision", NULL));
}

/* An attempt is a name of a pod on each node: a second pod of the name would be a second start. */
static void note_pod(struct run *r, const json_t *pod)
{
    struct element *e = &r->elements[index_of(pod)];
    const char *uid = json_text_at(pod, "metadata", "uid", NULL);
    int attempt = attempt_of(pod);
    char *known = e->uids[attempt][rank_of(pod)];

    if (e->n_attempts <= attempt) {
        assert_int_equal(e->n_attempts, attempt); /* no attempt is passed over */
        e->n_attempts = attempt + 1;
    }
    if (*pod_node(pod))
        check_revision(r, pod);
    if (*pod_node(pod) && !*known)
        (void)snprintf(known, sizeof(e->uids[0][0]), "%s", uid);
    if (*known) /* pods that have not started may be replaced */
        assert_string_equal(known, uid);
    if (!pod_is_terminal(pod)) /* all pods of earlier attempts have ended */
        assert_int_equal(attempt, e->n_attempts - 1);
}

struct ending {
    struct run *run;
    int index;
    int attempt;
    bool is_ok;
};

static void on_told(void *arg, const struct err *e, int64_t revision)
{
    struct ending *end = arg;
    struct element *of = &end->run->elements[end->index];

    (void)revision;
    if (!e && !of->is_told[end->attempt]) { /* the same end may be told twice */
        of->is_told[end->attempt] = true;
        of->n_told++;
        of->was_ok = end->is_ok;
    }
    free(end);
}

static void end_pod(struct run *r, const json_t *pod)
{
    struct ending *end = mem_alloc(sizeof(*end));
    struct told told = {.done = on_told, .arg = end};
    struct err *e;

    *end = (struct ending){.run = r,
                           .index = index_of(pod),
                           .attempt = attempt_of(pod),
                           .is_ok = prop_chance(&r->prop, 70)};
    told.phase = end->is_ok ? "Succeeded" : "Failed";
    told.exit_code = !end->is_ok;
    e = begin_tell_pod(&r->jw, json_text_at(pod, "metadata", "name", NULL), &told);
    if (e)
        free(end); /* the pod has ended or is gone, and that write is pending */
    err_free(e);
}

static void finish_pod(struct run *r, const json_t *pod)
{
    const struct target t = {
        .kind = "pods", .name = json_text_at(pod, "metadata", "name", NULL), .who = &ours};

    err_free(world_delete(&r->jw.w, t, &(struct delete_options){.grace_seconds = 0}, NULL));
}

/* Binds the attempt of the pod as the scheduler does: when all of its pods are there. */
static void bind_attempt(struct run *r, const json_t *pods, const json_t *of)
{
    int n = 0;

    for (size_t i = 0; i < json_array_size(pods); i++) {
        const json_t *pod = json_array_get(pods, i);

        n += index_of(pod) == index_of(of) && attempt_of(pod) == attempt_of(of) &&
             !pod_is_deleting(pod);
    }
    for (size_t i = 0; i < json_array_size(pods) && n == r->n_nodes; i++) {
        const json_t *pod = json_array_get(pods, i);
        AUTO_FREE char *node = mem_format("n%d", rank_of(pod) + 1);

        if (index_of(pod) == index_of(of) && attempt_of(pod) == attempt_of(of) && !*pod_node(pod))
            err_free(world_bind(&r->jw.w, "default", json_text_at(pod, "metadata", "name", NULL),
                                node)); /* the pod may be gone */
    }
}

static void on_ignored(void *arg, const struct err *e, int64_t revision)
{
    (void)arg;
    (void)e;
    (void)revision;
}

/* The pod of another node than the script's ends when it is deleted, or with its node. */
static void end_holder(struct run *r, const json_t *pod)
{
    const struct told told = {.phase = "Failed",
                              .exit_code = 143,
                              .reason = pod_is_deleting(pod) ? NULL : "NodeLost",
                              .done = on_ignored};

    if (pod_is_deleting(pod) || prop_chance(&r->prop, 5)) /* the pod may be gone */
        err_free(begin_tell_pod(&r->jw, json_text_at(pod, "metadata", "name", NULL), &told));
}

/* At most one attempt of an element has pods that have not ended, and no more attempts than there
 * are licenses. */
static void check_attempts(struct run *r, const json_t *pods)
{
    int n_held = 0;

    for (size_t i = 0; i < json_array_size(pods); i++) {
        const json_t *pod = json_array_get(pods, i);

        n_held += rank_of(pod) == 0 && !pod_is_terminal(pod);
    }
    assert_true(!r->has_licenses || n_held <= LICENSES);
    for (size_t i = 0; i < json_array_size(pods); i++)
        note_pod(r, json_array_get(pods, i));
    for (size_t i = 0; i < json_array_size(pods); i++)
        note_pod(r, json_array_get(pods, i));
}

/* Acts on a pod as a node does: binds it, or ends it. */
static void act_on_pod(struct run *r)
{
    AUTO(json_freep) json_t *pods = list_all(&r->jw, "", "pods");
    size_t n = json_array_size(pods);
    const json_t *pod = n > 0 ? json_array_get(pods, prop_below(&r->prop, n)) : NULL;

    check_attempts(r, pods);
    if (!pod)
        return;
    if (pod_is_terminal(pod)) {
        if (pod_is_deleting(pod)) /* the containers are gone */
            finish_pod(r, pod);
        return;
    }
    if (!*pod_node(pod))
        bind_attempt(r, pods, pod);
    else if (rank_of(pod) > 0)
        end_holder(r, pod);
    else
        end_pod(r, pod);
}

static void change_job(struct run *r)
{
    int index = (int)prop_below(&r->prop, (size_t)r->n);
    AUTO_FREE char *text = NULL;

    switch (prop_below(&r->prop, 5)) {
    case 0:
        text = mem_format("{'spec':{'hold':'%s'}}", prop_chance(&r->prop, 30) ? "user" : "none");
        break;
    case 1:
        text =
            mem_format("{'spec':{'requeues':{'%d':%d}}}", index, ++r->elements[index].n_requeues);
        break;
    case 2:
        text = mem_format("{'spec':{'array':{'limit':%zu}}}", prop_below(&r->prop, 4));
        break;
    case 3:
        text = mem_format("{'spec':{'stdout':'/out%zu'}}", prop_below(&r->prop, 3));
        break;
    default:
        text = mem_strdup("{'spec':{'comment':'x'}}");
        break;
    }
    err_free(world_patch(&r->jw.w, SLURM("a"), text, NULL));
}

static void read_set(const json_t *job, const char *key, struct index_set *ret)
{
    const char *text = json_text_at(job, "status", key, NULL);

    world_must(index_set_parse(str_of(text ? text : ""), INDEX_SET_MAX, ret));
}

/* No element is in two sets, and none ended without a pod's end. */
static void check_sets(struct run *r)
{
    AUTO(json_freep) json_t *job = world_get(&r->jw.w, SLURM("a"));
    AUTO(index_set_done) struct index_set completed = {0};
    AUTO(index_set_done) struct index_set failed = {0};

    read_set(job, "completed", &completed);
    read_set(job, "failed", &failed);
    assert_int_equal(index_set_count_common(&completed, &failed), 0);
    for (int i = 0; i < r->n; i++) {
        bool has_ended = index_set_has(&completed, (size_t)i) || index_set_has(&failed, (size_t)i);

        assert_true(!has_ended || r->elements[i].n_told > 0);
    }
}

static void step(struct run *r)
{
    switch (prop_below(&r->prop, 10)) {
    case 0:
        jobs_world_restart(&r->jw, prop_chance(&r->prop, 50));
        break;
    case 1:
        change_job(r);
        break;
    case 2:
        jobs_world_run(&r->jw, (int)prop_below(&r->prop, 5));
        break;
    default:
        act_on_pod(r);
        break;
    }
    a_few_turns(r);
    check_sets(r);
}

/* Disturbances stop: the rest runs, and the job ends. */
static void let_it_end(struct run *r)
{
    world_must(
        world_patch(&r->jw.w, SLURM("a"), "{'spec':{'hold':'none','array':{'limit':0}}}", NULL));
    for (int i = 0; i < 1000; i++) {
        AUTO(json_freep) json_t *job = world_get(&r->jw.w, SLURM("a"));

        if (json_text_at(job, "status", "endTime", NULL))
            return;
        act_on_pod(r);
        jobs_world_run(&r->jw, 2);
        check_sets(r);
    }
    fail_msg("it does not end");
}

static size_t count_rows(struct run *r)
{
    const struct store_range range = account_rows();
    struct store_list list = {0};
    size_t n;

    world_must(store_list(r->jw.w.store, &range, NULL, NULL, 0, 0, &list));
    n = list.n;
    store_list_done(&list);
    return n;
}

static void check_end(struct run *r)
{
    AUTO(json_freep) json_t *job = world_get(&r->jw.w, SLURM("a"));
    AUTO(json_freep) json_t *pods = NULL;
    AUTO(index_set_done) struct index_set completed = {0};
    AUTO(index_set_done) struct index_set failed = {0};
    size_t n_told = 0;

    for (int i = 0; i < 100; i++) {
        act_on_pod(r);
        sim_loop_run(r->jw.w.loop);
    }
    pods = list_all(&r->jw, "", "pods");
    assert_int_equal(json_array_size(pods), 0);
    read_set(job, "completed", &completed);
    read_set(job, "failed", &failed);
    assert_int_equal(completed.count + failed.count, r->n);
    for (int i = 0; i < r->n; i++) {
        assert_true(index_set_has(&completed, (size_t)i) == r->elements[i].was_ok);
        assert_int_equal(r->elements[i].n_told, r->elements[i].n_attempts);
        n_told += (size_t)r->elements[i].n_told;
    }
    assert_int_equal(count_rows(r), n_told * (size_t)r->n_nodes);
}

static void run_seed(uint64_t seed, int n_nodes)
{
    struct run r = {.prop = {seed}, .n_nodes = n_nodes, .has_licenses = seed % 2 == 0};
    const struct target config = {.group = "mete.dev", .kind = "slurmconfigs", .who = &root};
    AUTO_FREE char *text = NULL;

    r.n = 2 + (int)prop_below(&r.prop, ELEMENTS_MAX - 2);
    text = mem_format("{'metadata':{'name':'a'},'spec':{'name':'a','script':'#!/bin/sh\\n',"
                      "'workDir':'/','nodesMin':%d,'noKill':%s%s,'array':{'indexes':'0-%d',"
                      "'limit':3}}}",
                      n_nodes, seed % 3 == 0 ? "true" : "false",
                      r.has_licenses ? ",'licenses':'x'" : "", r.n - 1);
    jobs_world_init(&r.jw, seed);
    if (r.has_licenses)
        world_must(world_create(
            &r.jw.w, config,
            "{'metadata':{'name':'default'},'spec':{'settings':{'Licenses':'x:2'}}}", NULL));
    for (int i = 2; i <= n_nodes; i++) {
        AUTO_FREE char *name = mem_format("n%d", i);

        world_add_node(&r.jw.w, name, 0);
    }
    world_must(world_create(&r.jw.w, SLURM(NULL), text, NULL));
    for (int i = 0; i < STEPS; i++)
        step(&r);
    let_it_end(&r);
    check_end(&r);
    jobs_world_done(&r.jw);
}

static void every_end_counts_once_whenever_the_controller_ends(void **state)
{
    struct prop_seeds seeds = prop_seeds(CASES);

    (void)state;
    for (uint64_t seed = seeds.first; seed < seeds.end; seed++) {
        print_message("# seed %llu\n", (unsigned long long)seed);
        run_seed(seed, 1);
    }
}

static void attempts_on_several_nodes_end_and_begin_as_one(void **state)
{
    struct prop_seeds seeds = prop_seeds(CASES);

    (void)state;
    for (uint64_t seed = seeds.first; seed < seeds.end; seed++) {
        print_message("# seed %llu\n", (unsigned long long)seed);
        run_seed(seed, 2 + (int)(seed % (NODES_MAX - 1)));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_end_counts_once_whenever_the_controller_ends),
        cmocka_unit_test(attempts_on_several_nodes_end_and_begin_as_one),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
