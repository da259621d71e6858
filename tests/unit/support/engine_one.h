/* engine_one.h - tests with one engine each, whose state is checked at the end */
#pragma once

#include "engine_build.h"
#include "test.h"

static struct mete_engine *engine;
static char text[65536]; /* of the last CYCLE */

static inline int setup(void **state)
{
    (void)state;
    engine = mete_engine_new(NULL);
    return 0;
}

static inline int teardown(void **state)
{
    const char *wrong = mete_engine_check(engine);

    (void)state;
    if (wrong)
        fail_msg("%s", wrong);
    mete_engine_free(engine);
    return 0;
}

#define OK(call)         assert_int_equal(call, METE_OK)
#define NODE(...)        OK(set_node(engine, (struct node_spec){__VA_ARGS__}))
#define JOB(...)         OK(add_job(engine, (struct job_spec){__VA_ARGS__}))
#define CYCLE(now, want) assert_string_equal(cycle_text(engine, now, text, sizeof(text)), want)
#define END(id)          OK(mete_workload_remove(engine, id))
