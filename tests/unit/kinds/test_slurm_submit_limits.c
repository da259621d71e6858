/*
 * test_slurm_submit_limits.c - limits of the jobs that wait or run, in any order of events
 *
 * Jobs and arrays are submitted, end in part or whole, and are deleted at random, and the store and
 * all that counts start again. A submission is refused if and only if a model says so.
 */

#include <stdio.h>

#include "base/mem.h"
#include "prop.h"
#include "test.h"
#include "world.h"

enum {
    STEPS = 120,
    CASES = 20,
    JOBS = 24,
    ELEMENTS = 3
};

static const struct kind_context bob = {.user = "bob", .host_uid = 1001};
static const char *const accounts[] = {"vision", "speech"};

static const char *const first_indexes[] = {"", "0", "0-1", "0-2"};

struct model_job {
    bool is_there;
    size_t user;
    size_t account;
    bool is_tight; /* of the QOS `tight` */
    int elements;
    int ended; /* the first ones */
};

struct run {
    struct world w;
    struct prop prop;
    uint64_t seed;
    struct model_job jobs[JOBS];
};

static void add(struct run *r, const char *kind, const char *text)
{
    world_must(world_create(&r->w, (struct target){.group = "mete.dev", .kind = kind, .who = &root},
                            text, NULL));
}

static void add_books(struct run *r)
{
    add(r, "slurmconfigs",
        "{'metadata':{'name':'default'},'spec':{'settings':{'AccountingStorageEnforce':'limits'}}"
        "}");
    add(r, "queues", "{'metadata':{'name':'lab'},'spec':{'slurm':{'grpSubmitJobs':9}}}");
    add(r, "queues",
        "{'metadata':{'name':'vision'},'spec':{'parent':'lab','slurm':{'grpSubmitJobs':6,"
        "'maxSubmitJobs':5}}}");
    add(r, "queues", "{'metadata':{'name':'speech'},'spec':{'parent':'lab'}}");
    add(r, "slurmusers",
        "{'metadata':{'name':'ann'},'spec':{'defaultAccount':'vision','associations':[{'account':"
        "'vision','maxSubmitJobs':4},{'account':'speech'}]}}");
    add(r, "slurmusers",
        "{'metadata':{'name':'bob'},'spec':{'defaultAccount':'vision','associations':[{'account':"
        "'vision'},{'account':'speech'}]}}");
    add(r, "slurmqoses",
        "{'metadata':{'name':'tight'},'spec':{'grpSubmitJobs':5,'maxSubmitJobsPerUser':3}}");
}

/* Jobs that wait or run, of the account (-1: any), the user, and the QOS `tight` or any. */
static int count(const struct run *r, int account, int user, bool is_tight)
{
    int n = 0;

    for (size_t i = 0; i < JOBS; i++) {
        const struct model_job *j = &r->jobs[i];

        if (j->is_there && (account < 0 || j->account == (size_t)account) &&
            (user < 0 || j->user == (size_t)user) && (!is_tight || j->is_tight))
            n += j->elements - j->ended;
    }
    return n;
}

/* The reason that the model expects; NULL: the job is taken. */
static const char *limit_of(const struct run *r, const struct model_job *j)
{
    int user = (int)j->user;

    if (j->is_tight && count(r, -1, -1, true) + j->elements > 5)
        return "QOSGrpSubmitJobsLimit";
    if (j->is_tight && count(r, -1, user, true) + j->elements > 3)
        return "QOSMaxSubmitJobPerUserLimit";
    if (j->account == 0 && user == 0 && count(r, 0, user, false) + j->elements > 4)
        return "AssocMaxSubmitJobLimit";
    if (j->account == 0 && count(r, 0, -1, false) + j->elements > 6)
        return "AssocGrpSubmitJobsLimit";
    if (j->account == 0 && user == 1 && count(r, 0, user, false) + j->elements > 5)
        return "AssocMaxSubmitJobLimit";
    return count(r, -1, -1, false) + j->elements > 9 ? "AssocGrpSubmitJobsLimit" : NULL;
}

static void submit(struct run *r, size_t slot)
{
    struct model_job *j = &r->jobs[slot];
    const char *want;
    AUTO_FREE char *text = NULL;
    AUTO(err_freep) struct err *e = NULL;

    *j = (struct model_job){.user = prop_below(&r->prop, 2),
                            .account = prop_below(&r->prop, 2),
                            .is_tight = prop_chance(&r->prop, 50),
                            .elements = 1 + (int)prop_below(&r->prop, ELEMENTS)};
    want = limit_of(r, j);
    text = mem_format("{'metadata':{'name':'j%zu'},'spec':{'name':'x','script':'#!/bin/sh\\n',"
                      "'workDir':'/','account':'%s','qos':'%s','array':{'indexes':'%s'}}}",
                      slot, accounts[j->account], j->is_tight ? "tight" : "normal",
                      first_indexes[j->elements]);
    e = world_create(&r->w,
                     (struct target){.group = "mete.dev",
                                     .kind = "slurmjobs",
                                     .who = j->user == 0 ? &ann : &bob},
                     text, NULL);
    if (want && (!e || strncmp(err_message(e), want, strlen(want)) != 0))
        fail_msg("seed %llu: want %s, found %s", (unsigned long long)r->seed, want,
                 e ? err_message(e) : "no refusal");
    if (!want && e)
        fail_msg("seed %llu: %s", (unsigned long long)r->seed, err_message(e));
    j->is_there = !want;
}

static struct target job_target(size_t slot, const char *sub, char name[16])
{
    (void)snprintf(name, 16, "j%zu", slot);
    return (struct target){
        .group = "mete.dev", .kind = "slurmjobs", .name = name, .sub = sub, .who = &ours};
}

/* An element more ends, or the job as a whole. */
static void end(struct run *r, size_t slot)
{
    struct model_job *j = &r->jobs[slot];
    bool is_whole = prop_chance(&r->prop, 30);
    char name[16];
    AUTO_FREE char *text = NULL;

    j->ended = is_whole || j->ended == j->elements ? j->elements : j->ended + 1;
    text = mem_format("{'status':{'completed':'%s','endTime':%s}}", first_indexes[j->ended],
                      j->ended == j->elements ? "'2026-01-01T00:00:00Z'" : "null");
    world_must(world_patch(&r->w, job_target(slot, "status", name), text, NULL));
}

static void run_step(struct run *r)
{
    size_t slot = prop_below(&r->prop, JOBS);
    bool is_gone = false;
    char name[16];

    if (!r->jobs[slot].is_there) {
        submit(r, slot);
    } else if (prop_chance(&r->prop, 60)) {
        end(r, slot);
    } else if (prop_chance(&r->prop, 30)) {
        world_must(world_delete(&r->w, job_target(slot, NULL, name), NULL, &is_gone));
        r->jobs[slot].is_there = !is_gone;
        assert_true(is_gone);
    } else if (prop_chance(&r->prop, 20)) {
        world_restart(&r->w);
    }
}

static void no_job_is_taken_beyond_a_limit(void **state)
{
    struct prop_seeds seeds = prop_seeds(CASES);
    size_t n_submitted = 0;

    (void)state;
    for (uint64_t seed = seeds.first; seed < seeds.end; seed++) {
        struct run r = {.seed = seed, .prop = {seed}};

        world_init(&r.w, seed);
        add_books(&r);
        for (int i = 0; i < STEPS; i++)
            run_step(&r);
        n_submitted += (size_t)count(&r, -1, -1, false);
        world_done(&r.w);
    }
    assert_true(n_submitted > 0);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_job_is_taken_beyond_a_limit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
