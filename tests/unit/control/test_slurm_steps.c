/* test_slurm_steps.c - the rules of SlurmSteps: numbers, users, what steps hold, lost clients */

#include "base/mem.h"
#include "jobs_world.h"
#include "kinds/slurm/slurm_step.h"
#include "test.h"

#define SLURM(n) ((struct target){.group = "mete.dev", .kind = "slurmjobs", .name = (n)})
#define STEP(n)  ((struct target){.group = "mete.dev", .kind = "slurmsteps", .name = (n)})

static struct jobs_world jw;

static const struct kind_context bob = {.user = "bob", .host_uid = 1001};

/* An allocation of two cpus, whose pod runs. */
static int setup(void **state)
{
    (void)state;
    jobs_world_init(&jw, 7);
    world_must(world_create(&jw.w, SLURM(NULL),
                            "{'metadata':{'name':'j'},'spec':{'name':'train','workDir':'/work',"
                            "'tasks':2,'endsWithSteps':true}}",
                            NULL));
    jobs_world_run(&jw, 1);
    place_pod(&jw, "j");
    tell_pod(&jw, "j", "Running", 0);
    jobs_world_run(&jw, 2);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    jobs_world_done(&jw);
    return 0;
}

static struct err *begin_step(const struct kind_context *who, const char *cpus, const char *more)
{
    struct target target = STEP(NULL);
    AUTO_FREE char *text = mem_format(
        "{'metadata':{'generateName':'step-'},'spec':{'job':'j','name':'s','tasks':1,'nodes':"
        "[{'node':'n1','pod':'j','tasks':1,'cpus':%s}]%s}}",
        cpus, more);

    if (who)
        target.who = who;
    return world_create(&jw.w, target, text, NULL);
}

static void assert_step(const char *name, const char *state)
{
    AUTO(json_freep) json_t *step = world_get(&jw.w, STEP(name));

    assert_non_null(step);
    assert_string_equal(json_text_at(step, "status", "state", NULL), state);
}

static void steps_hold_the_cpus_that_they_name(void **state)
{
    (void)state;
    world_must(begin_step(NULL, "1", ""));
    world_must(begin_step(NULL, "1", ""));
    assert_step("j.0", "RUNNING");
    assert_step("j.1", "RUNNING");
    world_refused(begin_step(NULL, "1", ""), 409, SLURM_STEP_BUSY);
    world_refused(begin_step(NULL, "0", ""), 409, SLURM_STEP_BUSY);
    world_must(begin_step(NULL, "0", ",'overlap':true"));
    world_refused(begin_step(NULL, "3", ""), 422, "Requested node configuration is not available");
    world_must(world_patch(&jw.w, STEP("j.0"),
                           "{'spec':{'end':{'state':'FAILED','exitCode':3},'usage':{'cpuNs':5}}}",
                           NULL));
    assert_step("j.0", "FAILED");
    world_must(begin_step(NULL, "1", ""));
    assert_step("j.3", "RUNNING");
}

static void only_the_user_of_the_job_has_steps(void **state)
{
    struct target step = STEP("j.0");

    (void)state;
    world_refused(begin_step(&bob, "1", ""), 403, "Access/permission denied");
    world_must(begin_step(NULL, "1", ""));
    step.who = &bob;
    world_refused(world_patch(&jw.w, step, "{'spec':{'end':{'state':'COMPLETED'}}}", NULL), 403,
                  "Access/permission denied");
    world_refused(world_delete(&jw.w, step, NULL, NULL), 403, "Access/permission denied");
    world_refused(world_patch(&jw.w, STEP("j.0"), "{'spec':{'tasks':7}}", NULL), 422,
                  "SlurmStep.mete.dev \"j.0\" is invalid: spec.tasks: Forbidden: does not change "
                  "after the start");
}

static void a_job_of_srun_ends_without_signs_of_life(void **state)
{
    (void)state;
    world_must(begin_step(NULL, "1", ""));
    jobs_world_run(&jw, SLURM_STEP_SILENT_S - 20);
    assert_int_equal(count_active(&jw), 1);
    jobs_world_run(&jw, 40);
    assert_int_equal(count_active(&jw), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        CASE(steps_hold_the_cpus_that_they_name),
        CASE(only_the_user_of_the_job_has_steps),
        CASE(a_job_of_srun_ends_without_signs_of_life),
#undef CASE
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
