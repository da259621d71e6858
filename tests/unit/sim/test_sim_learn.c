/* test_sim_learn.c - learning of value tables from traces */

#include <stdlib.h>

#include "base/mem.h"
#include "sim/chance.h"
#include "sim/learn_openb.h"
#include "sim/openb_run.h"
#include "test.h"

enum {
    NODES = 48,
    PODS = 400,
    ARRIVALS = 1000,
    SEEDS = 3
};

/* A file of a small table with a price. */
static struct value_table *small_table(void)
{
    struct value_table *t = mem_alloc(sizeof(*t));

    t->pods = 12;
    t->fragment_milli = 100;
    t->cpu_steps[0] = 2000;
    t->n_cpu_steps = 1;
    t->idle = mem_alloc(METE_VALUES_SIZE(1) * sizeof(*t->idle));
    for (int32_t i = 0; i < (int32_t)METE_VALUES_SIZE(1); i++)
        t->idle[i] = i;
    assert_true(value_table_price(t, STR("A100|80"), 250));
    value_table_name(t);
    return t;
}

static void a_file_reads_back_as_the_table(void **state)
{
    AUTO(value_table_freep) struct value_table *t = small_table();
    AUTO(value_table_freep) struct value_table *back = NULL;
    AUTO(buf_done) struct buf text = {0};
    AUTO(buf_done) struct buf again = {0};
    AUTO(err_freep) struct err *e = NULL;

    (void)state;
    value_table_format(t, &text);
    e = value_table_parse("f", (struct str){text.at, text.size}, &back);
    assert_null(e);
    value_table_format(back, &again);
    assert_string_equal(again.at, text.at);
    assert_memory_equal(back->idle, t->idle, METE_VALUES_SIZE(1) * sizeof(*t->idle));
    assert_string_equal(back->prices[0].model, "A100|80");
    assert_string_equal(back->id, t->id);
}

static void a_table_is_named_after_what_is_in_it(void **state)
{
    AUTO(value_table_freep) struct value_table *a = small_table();
    AUTO(value_table_freep) struct value_table *b = small_table();

    (void)state;
    assert_string_equal(a->id, b->id);
    b->idle[77]++;
    value_table_name(b);
    assert_string_not_equal(a->id, b->id);
}

static void refuses_models_that_are_no_word(void **state)
{
    AUTO(value_table_freep) struct value_table *t = small_table();

    (void)state;
    assert_false(value_table_price(t, STR(""), 1));
    assert_false(value_table_price(t, STR("two words"), 1));
    assert_false(value_table_price(t, STR("line\n"), 1));
    while (t->n_prices < VALUE_TABLE_PRICES_MAX)
        assert_true(value_table_price(t, STR("x"), 1));
    assert_false(value_table_price(t, STR("x"), 1));
}

#define HEAD "mete-values 1\nid x\npods 1\nfragment 100\ncpu-steps\n"

static void says_what_is_wrong_with_a_file(void **state)
{
    static const struct {
        const char *text;
        const char *message;
    } cases[] = {
        {"", "f:1: want 'mete-values'"},
        {"mete-values 2\n", "f:1: number '2': want an integer from 1 to 1"},
        {"mete-values 1\nid \npods 1\n", "f:2: want an id of 1 to 63 printable bytes"},
        {"mete-values 1\nid x y\n", "f:2: want an id of 1 to 63 printable bytes"},
        {"mete-values 1\nid x\npods -1\n",
         "f:3: number '-1': want an integer from 0 to 9223372036854775807"},
        {"mete-values 1\nid x\npods 1\nfragment 1001\n",
         "f:4: number '1001': want an integer from 0 to 1000"},
        {"mete-values 1\nid x\npods 1\nfragment 1 2\n", "f:4: want the line to end here"},
        {"mete-values 1\nid x\npods 1\nfragment 1\ncpu-steps 5 5\n",
         "f:5: number '5': want an integer from 6 to 1125899906842624"},
        {HEAD, "f:6: want 'idle'"},
        {HEAD "price h100\n", "f:6: want more numbers on this line"},
        {HEAD "price h100 1001\n", "f:6: number '1001': want an integer from 0 to 1000"},
        {HEAD "idle 0 1\n", "f:6: number '1': want an integer from 0 to 0"},
        {HEAD "idle 0 0 1 2 3\n", "f:6: want more numbers on this line"},
        {HEAD "idle 0 0 1000001\n", "f:6: number '1000001': want an integer from 0 to 1000000"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct value_table *t = NULL;
        AUTO(err_freep) struct err *e = value_table_parse("f", str_of(cases[i].text), &t);

        assert_non_null(e);
        assert_string_equal(err_message(e), cases[i].message);
        assert_null(t);
    }
}

static void a_file_cut_anywhere_is_refused(void **state)
{
    AUTO(value_table_freep) struct value_table *t = small_table();
    AUTO(buf_done) struct buf text = {0};

    (void)state;
    value_table_format(t, &text);
    for (size_t size = 0; size + 1 < text.size; size += 97) {
        struct value_table *back = NULL;
        AUTO(err_freep) struct err *e = value_table_parse("f", (struct str){text.at, size}, &back);

        assert_non_null(e);
        assert_null(back);
    }
    buf_add_text(&text, "more\n");
    {
        struct value_table *back = NULL;
        AUTO(err_freep)
        struct err *e = value_table_parse("f", (struct str){text.at, text.size}, &back);

        assert_non_null(e);
    }
}

static void says_why_nothing_can_be_learned(void **state)
{
    static const char *const models[] = {"a"};
    static const struct learn_node node = {4000, 100, 2, 0};
    static const struct learn_node bare = {4000, 100, 0, 0};
    static const struct learn_node unknown = {4000, 100, 2, 1};
    static const struct learn_kind kind = {1000, 1, 1, 500, 0, 1};
    static const struct learn_kind cpu_only = {1000, 1, 0, 0, 0, 1};
    static const struct learn_kind large = {1000, 1, 1, 1001, 0, 1};
    static const struct learn_kind heavy[] = {{1000, 1, 1, 500, 0, UINT32_MAX},
                                              {1000, 1, 1, 500, 0, UINT32_MAX}};
    static const struct {
        struct learn_input in;
        const char *message;
    } cases[] = {
        {{NULL, 0, &kind, 1, models, 1, 1},
         "0 nodes with 1 models of gpus: want 1 to 65536 and at most 64"},
        {{&bare, 1, &kind, 1, models, 1, 1}, "the nodes have no gpus: nothing to learn"},
        {{&unknown, 1, &kind, 1, models, 1, 1}, "node 0: want at most 64 gpus of a known model"},
        {{&node, 1, &cpu_only, 1, models, 1, 1}, "no pod asks for a gpu: nothing to learn"},
        {{&node, 1, &large, 1, models, 1, 1},
         "kind 0 of pods: want at most 64 gpus, 1 to 1000 of each"},
        {{&node, 1, heavy, 2, models, 1, 1}, "the weights of the kinds of pods sum to over 2^32"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct value_table *t = NULL;
        AUTO(err_freep) struct err *e = learn_values(&cases[i].in, &t);

        assert_non_null(e);
        assert_string_equal(err_message(e), cases[i].message);
        assert_null(t);
    }
}

/* Two models: many gpus of one, and fewer of the other, which some pods name. */
static void add_nodes(struct buf *nodes)
{
    buf_add_text(nodes, "cpu_milli,memory_mib,gpu,model\n");
    for (int i = 0; i < NODES; i++)
        buf_printf(nodes, "%d,400000,%d,%s\n", i % 4 == 0 ? 32000 : 96000, i % 4 == 0 ? 2 : 8,
                   i % 4 == 0 ? "t4" : "h100");
}

/* Shares that leave a rest, whole gpus that need much cpu, a few larger pods. */
static void add_pods(struct buf *pods)
{
    static const char *const kinds[] = {
        "3000,4000,1,810,",   "3000,4000,1,810,",    "11000,8000,1,1000,", "11000,8000,1,1000,",
        "8000,8000,1,470,",   "12000,8000,1,650,",   "4000,4000,1,320,",   "4000,4000,1,160,t4",
        "14000,8000,0,0,",    "6000,4000,1,1000,t4", "4000,4000,1,230,",   "20000,8000,2,1000,",
        "11000,9000,1,1000,", "40000,60000,8,1000,", "3000,4000,1,590,",   "16000,8000,1,1000,"};

    buf_add_text(pods, "cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec\n");
    for (int i = 0; i < PODS; i++)
        buf_printf(pods, "%s\n", kinds[i % (int)COUNT(kinds)]);
}

static void add_orders(struct buf *arrivals, struct buf *ranks)
{
    for (unsigned seed = 1; seed <= SEEDS; seed++) {
        struct chance c = chance_of(seed + 99);

        buf_printf(arrivals, "%u", seed);
        for (int i = 0; i < ARRIVALS; i++)
            buf_printf(arrivals, " %u", (unsigned)chance_below(&c, PODS));
        buf_add_char(arrivals, '\n');
        buf_printf(ranks, "%u", seed);
        for (unsigned i = 0; i < NODES; i++)
            buf_printf(ranks, " %u", (i * 5 + seed) % NODES);
        buf_add_char(ranks, '\n');
    }
}

static struct str text_of(const struct buf *b)
{
    return (struct str){b->at, b->size};
}

static struct err *small_trace(struct openb *o)
{
    AUTO(buf_done) struct buf nodes = {0};
    AUTO(buf_done) struct buf pods = {0};
    AUTO(buf_done) struct buf arrivals = {0};
    AUTO(buf_done) struct buf ranks = {0};

    add_nodes(&nodes);
    add_pods(&pods);
    add_orders(&arrivals, &ranks);
    TRY(openb_read_nodes(o, "nodes", text_of(&nodes)));
    TRY(openb_read_pods(o, "pods", text_of(&pods)));
    TRY(openb_read_arrivals(o, "arrivals", text_of(&arrivals)));
    return openb_read_ranks(o, "ranks", text_of(&ranks));
}

static int64_t allocated(const struct openb *o, const char *policy, const struct mete_values *v)
{
    int64_t sum = 0;

    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        const struct openb_run_options options = {.policy = policy, .seed = seed, .values = v};
        struct openb_curves c;
        AUTO(err_freep) struct err *e = openb_run(o, &options, &c);

        assert_null(e);
        sum += c.allocated_milli;
    }
    return sum;
}

static void what_is_learned_beats_fgd(void **state)
{
    AUTO(openb_freep) struct openb *o = openb_new();
    AUTO(value_table_freep) struct value_table *t = NULL;
    AUTO(value_table_freep) struct value_table *again = NULL;
    AUTO(err_freep) struct err *e = small_trace(o);
    struct mete_values v;

    (void)state;
    assert_null(e);
    e = learn_openb(o, 1, &t);
    assert_null(e);
    e = learn_openb(o, 1, &again);
    assert_null(e);
    assert_string_equal(again->id, t->id); /* the same input, the same table */
    v = value_table_view(t);
    assert_true(allocated(o, "mete", &v) > allocated(o, "fgd", NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_reads_back_as_the_table),
        cmocka_unit_test(a_table_is_named_after_what_is_in_it),
        cmocka_unit_test(refuses_models_that_are_no_word),
        cmocka_unit_test(says_what_is_wrong_with_a_file),
        cmocka_unit_test(a_file_cut_anywhere_is_refused),
        cmocka_unit_test(says_why_nothing_can_be_learned),
        cmocka_unit_test(what_is_learned_beats_fgd),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
