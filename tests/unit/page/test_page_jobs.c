/* test_page_jobs.c - the list of jobs: searches and orders by name, also after many removals */

#include "base/mem.h"
#include "page/jobs_report.h"
#include "test.h"
#include "world.h"

enum {
    LONG_NAMES = 320,
    LONG_SIZE = 240,
    KEPT = 20 /* every twentieth of them is left */
};

struct listed {
    struct world w;
    struct jobs_index *index;
    json_t *answer;
};

static void begin(struct listed *l)
{
    *l = (struct listed){0};
    world_init(&l->w, 1);
    l->index = jobs_index_new(l->w.loop, l->w.objects);
}

static void end(struct listed *l)
{
    json_decref(l->answer);
    jobs_index_free(l->index);
    world_done(&l->w);
}

static void on_answer(void *arg, const struct err *e, const json_t *report)
{
    struct listed *l = arg;

    assert_null(e);
    json_decref(l->answer);
    l->answer = json_deep_copy(report);
}

/* Asks with a text and an order; returns the number of jobs that match. */
static int64_t ask(struct listed *l, const char *text, const char *sort)
{
    AUTO(json_freep) json_t *parameters = json_pack("{s:s, s:s}", "q", text, "sort", sort);
    const struct report_question q = {.parameters = parameters, .user = "root"};
    struct report *r = NULL;

    world_must(jobs_report_begin(l->index, &q, on_answer, l, &r));
    sim_loop_run(l->w.loop);
    return json_int(l->answer, "total", -1);
}

static const char *name_at(const struct listed *l, size_t i)
{
    return json_text(json_array_get(json_object_get(l->answer, "items"), i), "name");
}

static void a_search_finds_parts_of_names_and_numbers(void **state)
{
    static const char *const names[] = {"train-llama", "train-bert", "eval-llama", "x"};
    struct listed l;

    (void)state;
    begin(&l);
    for (size_t i = 0; i < COUNT(names); i++)
        world_must(world_add_pod(&l.w, "default", names[i], 1));
    assert_int_equal(ask(&l, "", "name"), 4);
    assert_int_equal(ask(&l, "llama", "name"), 2);
    assert_string_equal(name_at(&l, 0), "eval-llama");
    assert_string_equal(name_at(&l, 1), "train-llama");
    assert_int_equal(ask(&l, "LLAMA", "-name"), 2);
    assert_string_equal(name_at(&l, 0), "train-llama");
    assert_int_equal(ask(&l, "n-b", "id"), 1);
    assert_int_equal(ask(&l, "x", "id"), 1);
    assert_int_equal(ask(&l, "amat", "id"), 0); /* no match across two names */
    assert_int_equal(ask(&l, "train-llama-2", "id"), 0);
    assert_int_equal(ask(&l, "2", "id"), 1);
    assert_string_equal(name_at(&l, 0), "train-bert");
    end(&l);
}

static void long_name(size_t i, char ret[LONG_SIZE + 1])
{
    (void)snprintf(ret, LONG_SIZE + 1, "n%03zu%0*d", i, LONG_SIZE - 4, 0);
}

static void names_of_removed_jobs_make_room(void **state)
{
    char name[LONG_SIZE + 1];
    struct listed l;

    (void)state;
    begin(&l);
    for (size_t i = 0; i < LONG_NAMES; i++) {
        long_name(i, name);
        world_must(world_add_pod(&l.w, "default", name, 0));
    }
    assert_int_equal(ask(&l, "n", "name"), LONG_NAMES);
    for (size_t i = 0; i < LONG_NAMES; i++) {
        const struct target t = {.kind = "pods", .ns = "default", .name = name};

        long_name(i, name);
        if (i % KEPT != 0)
            world_must(world_delete(&l.w, t, NULL, NULL));
    }
    assert_int_equal(ask(&l, "n", "name"), LONG_NAMES / KEPT);
    assert_in_range(jobs_index_names_size(l.index), 1, (size_t)LONG_NAMES * LONG_SIZE / 2);
    for (size_t i = 0; i < LONG_NAMES / KEPT; i++) {
        long_name(i * KEPT, name);
        assert_string_equal(name_at(&l, i), name);
    }
    world_must(world_add_pod(&l.w, "default", "late", 0));
    assert_int_equal(ask(&l, "late", "name"), 1);
    end(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_search_finds_parts_of_names_and_numbers),
        cmocka_unit_test(names_of_removed_jobs_make_room),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
