/*
 * test_store.c - the store above a storage in the test's hand, which says when and how a batch ends
 */

#include <stdio.h>
#include <string.h>

#include "base/loop.h"
#include "base/mem.h"
#include "base/vec.h"
#include "sim_loop.h"
#include "store/storage.h"
#include "test.h"

#define SECOND_NS INT64_C(1000000000)

/* A storage that keeps nothing, and shows the batch in flight. */
struct hand {
    struct storage storage;
    const struct storage_batch *batch;
    storage_done_fn done;
    void *arg;
    size_t batches;
    enum storage_result on_finish;
};

struct answers {
    size_t n;
    size_t failed;
    int64_t last;
    enum err_code code; /* of the last failure */
    char message[256];
};

struct fixture {
    struct loop *loop;
    struct hand hand;
    struct store *store;
    struct answers answers;
    size_t fatals;
};

static struct err *hand_load(void *self, storage_load_fn fn, void *arg, int64_t *ret_revision,
                             int64_t *ret_compacted)
{
    (void)self;
    (void)fn;
    (void)arg;
    *ret_revision = 0;
    *ret_compacted = 0;
    return NULL;
}

static void hand_commit(void *self, const struct storage_batch *batch, storage_done_fn done,
                        void *arg)
{
    struct hand *h = self;

    assert_null(h->batch);
    h->batch = batch;
    h->done = done;
    h->arg = arg;
    h->batches++;
}

static enum storage_result hand_finish(void *self)
{
    struct hand *h = self;

    h->batch = NULL;
    return h->on_finish;
}

static const struct storage_ops hand_ops = {
    .load = hand_load, .commit = hand_commit, .finish = hand_finish};

/* Ends the batch in flight. */
static void land(struct fixture *f, enum storage_result result)
{
    assert_non_null(f->hand.batch);
    f->hand.batch = NULL;
    f->hand.done(f->hand.arg, result, result == STORAGE_FAILED ? "it burns" : "");
    sim_loop_run(f->loop);
}

static void on_done(void *arg, const struct err *e, int64_t revision)
{
    struct answers *a = arg;

    a->n++;
    a->last = revision;
    if (e) {
        a->failed++;
        a->code = err_code(e);
        (void)snprintf(a->message, sizeof(a->message), "%s", err_message(e));
    }
}

static void on_fatal(void *arg, const struct err *e)
{
    struct fixture *f = arg;

    assert_string_equal(err_message(e), "the disk of the data directory failed: it burns");
    f->fatals++;
}

static int set_up(void **state)
{
    struct fixture *f = mem_alloc(sizeof(*f));
    struct store_options options = {.on_fatal = on_fatal, .arg = f};

    f->loop = sim_loop_new();
    f->hand.storage = (struct storage){.ops = &hand_ops, .self = &f->hand};
    f->hand.on_finish = STORAGE_DURABLE;
    options.loop = f->loop;
    options.storage = &f->hand.storage;
    assert_null(store_open(&options, &f->store));
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    store_free(f->store);
    sim_loop_free(f->loop);
    free(f);
    return 0;
}

static struct store_key pod(const char *name)
{
    return (struct store_key){.group = "", .resource = "pods", .ns = "a", .name = name};
}

static struct store_op put(const char *name, const char *bytes)
{
    return (struct store_op){
        .type = STORE_PUT, .key = pod(name), .bytes = str_of(bytes), .if_version = STORE_ANY};
}

static int64_t commit(struct fixture *f, struct store_op op)
{
    int64_t revision = 0;
    AUTO(err_freep) struct err *e = store_commit(f->store, &op, 1, on_done, &f->answers, &revision);

    assert_null(e);
    return revision;
}

static void make_durable(struct fixture *f, struct store_op op)
{
    (void)commit(f, op);
    sim_loop_run(f->loop);
    land(f, STORAGE_DURABLE);
}

static void transactions_of_one_turn_share_a_batch_and_later_ones_the_next(void **state)
{
    struct fixture *f = *state;

    for (int i = 0; i < 64; i++) {
        char name[16];

        (void)snprintf(name, sizeof(name), "pod-%d", i);
        assert_int_equal(commit(f, put(name, "{}")), i + 1);
    }
    assert_int_equal(f->hand.batches, 0); /* never from inside */
    sim_loop_run(f->loop);
    assert_int_equal(f->hand.batch->n, 64);
    (void)commit(f, put("late", "{}"));
    (void)commit(f, put("later", "{}"));
    sim_loop_run(f->loop);
    assert_int_equal(f->hand.batches, 1);
    land(f, STORAGE_DURABLE);
    assert_int_equal(f->answers.n, 64);
    assert_int_equal(f->hand.batch->n, 2);
    land(f, STORAGE_DURABLE);
    assert_int_equal(f->answers.n, 66);
    assert_int_equal(f->answers.failed, 0);
}

static void nothing_shows_before_it_is_durable_and_conditions_see_it_at_once(void **state)
{
    struct fixture *f = *state;
    struct store_op again = put("x", "{}");
    AUTO(err_freep) struct err *e = NULL;

    (void)commit(f, put("x", "{}"));
    sim_loop_run(f->loop);
    assert_null(store_get(f->store, pod("x")));
    assert_non_null(store_get_applied(f->store, pod("x")));
    assert_int_equal(store_revision(f->store), 0);
    assert_int_equal(store_applied_revision(f->store), 1);
    again.if_version = STORE_ABSENT;
    e = store_commit(f->store, &again, 1, NULL, NULL, NULL);
    assert_int_equal(err_code(e), ERR_EXISTS);
    assert_int_equal(f->answers.n, 0);
    land(f, STORAGE_DURABLE);
    assert_int_equal(f->answers.n, 1);
    assert_int_equal(store_get(f->store, pod("x"))->version, 1);
}

static void says_which_condition_failed_and_changes_nothing(void **state)
{
    static const struct {
        enum store_op_type type;
        const char *name;
        int64_t if_version;
        enum err_code code;
        const char *message;
    } cases[] = {
        {STORE_PUT, "x", STORE_ABSENT, ERR_EXISTS, "pods 'a/x' already exists"},
        {STORE_PUT, "x", 7, ERR_CONFLICT, "pods 'a/x' was changed: its version is 1, not 7"},
        {STORE_PUT, "y", 7, ERR_NOT_FOUND, "pods 'a/y' not found"},
        {STORE_PUT, "y", STORE_EXISTS, ERR_NOT_FOUND, "pods 'a/y' not found"},
        {STORE_DELETE, "y", STORE_EXISTS, ERR_NOT_FOUND, "pods 'a/y' not found"},
        {STORE_DELETE, "x", 2, ERR_CONFLICT, "pods 'a/x' was changed: its version is 1, not 2"},
        {STORE_CHECK, "x", STORE_ABSENT, ERR_EXISTS, "pods 'a/x' already exists"},
        {STORE_PUT, "z", STORE_ANY, ERR_INVALID, "pods 'a/z' is written twice in one transaction"},
    };
    struct fixture *f = *state;

    make_durable(f, put("x", "{}"));
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct store_op ops[] = {put("z", "{}"), put(cases[i].name, "{}")};
        AUTO(err_freep) struct err *e = NULL;

        ops[1].type = cases[i].type;
        ops[1].if_version = cases[i].if_version;
        e = store_commit(f->store, ops, 2, on_done, NULL, NULL);
        assert_non_null(e);
        assert_int_equal(err_code(e), cases[i].code);
        assert_string_equal(err_message(e), cases[i].message);
        assert_null(store_get_applied(f->store, pod("z")));
    }
    assert_int_equal(store_applied_revision(f->store), 1);
}

static void checks_alone_wait_for_what_they_saw_and_take_no_revision(void **state)
{
    struct fixture *f = *state;
    struct store_op check = {.type = STORE_CHECK, .key = pod("x"), .if_version = STORE_EXISTS};

    (void)commit(f, put("x", "{}"));
    sim_loop_run(f->loop);
    assert_int_equal(commit(f, check), 1);
    sim_loop_run(f->loop);
    assert_int_equal(f->answers.n, 0);
    land(f, STORAGE_DURABLE);
    assert_int_equal(f->answers.n, 2);
    assert_int_equal(f->answers.last, 1);
    assert_int_equal(f->hand.batches, 1);
}

/* Expects the names that a walk over namespace "a" finds: "1 2 3". */
static void walks(struct fixture *f, bool is_applied, const char *want)
{
    const struct store_range range = {.group = "", .resource = "pods", .ns = "a"};
    const struct store_object *o = NULL;
    AUTO(buf_done) struct buf found = {0};

    for (;;) {
        const struct store_key *after = o ? &o->key : NULL;

        o = is_applied ? store_next_applied(f->store, &range, after)
                       : store_next(f->store, &range, after);
        if (!o)
            break;
        buf_printf(&found, "%s%s" STR_FMT, found.size > 0 ? " " : "", o->key.name,
                   STR_ARG(o->bytes));
    }
    assert_string_equal(found.at ? found.at : "", want);
}

static void a_walk_sees_what_is_durable_or_what_is_applied(void **state)
{
    struct fixture *f = *state;
    struct store_op other = put("x", "!");
    struct store_op gone = {.type = STORE_DELETE, .key = pod("b"), .if_version = STORE_EXISTS};

    walks(f, true, "");
    other.key.ns = "b";
    (void)commit(f, other);
    other.key.ns = "";
    (void)commit(f, other);
    (void)commit(f, put("d", "0"));
    (void)commit(f, put("b", "0"));
    walks(f, false, "");
    walks(f, true, "b0 d0");
    sim_loop_run(f->loop);
    land(f, STORAGE_DURABLE);
    walks(f, false, "b0 d0");
    (void)commit(f, put("a", "1"));
    (void)commit(f, put("d", "1"));
    (void)commit(f, put("e", "1"));
    (void)commit(f, gone);
    walks(f, false, "b0 d0");
    walks(f, true, "a1 d1 e1");
    sim_loop_run(f->loop);
    land(f, STORAGE_FULL); /* the whole batch is taken back */
    walks(f, true, "b0 d0");
}

static void refuses_what_is_too_large(void **state)
{
    struct fixture *f = *state;
    AUTO_FREE char *name = mem_alloc(STORE_KEY_BYTES_MAX + 1);
    AUTO_FREE char *bytes = mem_alloc(STORE_BYTES_MAX + 1);
    AUTO_FREE struct store_op *many = mem_alloc((STORE_TXN_OPS_MAX + 1) * sizeof(*many));
    struct store_op op;
    struct err *e;

    memset(name, 'n', STORE_KEY_BYTES_MAX);
    op = put(name, "{}");
    e = store_commit(f->store, &op, 1, NULL, NULL, NULL);
    assert_int_equal(err_code(e), ERR_TOO_LARGE);
    err_free(e);
    op = put("x", "");
    op.bytes = (struct str){.at = bytes, .size = STORE_BYTES_MAX + 1};
    e = store_commit(f->store, &op, 1, NULL, NULL, NULL);
    assert_int_equal(err_code(e), ERR_TOO_LARGE);
    err_free(e);
    for (size_t i = 0; i <= STORE_TXN_OPS_MAX; i++)
        many[i] = (struct store_op){.type = STORE_CHECK, .key = pod("x")};
    e = store_commit(f->store, many, STORE_TXN_OPS_MAX + 1, NULL, NULL, NULL);
    assert_int_equal(err_code(e), ERR_TOO_LARGE);
    err_free(e);
}

static void refuses_more_when_too_much_waits_for_a_slow_disk(void **state)
{
    struct fixture *f = *state;
    AUTO_FREE char *bytes = mem_alloc(STORE_BYTES_MAX);
    struct store_op op = put("x", "");
    struct err *e = NULL;
    int n = 0;

    op.bytes = (struct str){.at = bytes, .size = STORE_BYTES_MAX};
    while (!e && n < 10) {
        e = store_commit(f->store, &op, 1, on_done, &f->answers, NULL);
        n++;
        sim_loop_run(f->loop);
    }
    assert_int_equal(n, 4);
    assert_int_equal(err_code(e), ERR_BUSY);
    err_free(e);
    land(f, STORAGE_DURABLE);
    (void)commit(f, put("x", "{}"));
}

static void a_full_disk_takes_back_what_was_accepted_and_recovers_by_itself(void **state)
{
    struct fixture *f = *state;
    struct store_op op = put("new", "{}");
    AUTO(err_freep) struct err *e = NULL;

    make_durable(f, put("x", "old"));
    (void)commit(f, put("x", "new"));
    sim_loop_run(f->loop);
    (void)commit(f, put("y", "{}")); /* accepted after "x" */
    land(f, STORAGE_FULL);
    assert_int_equal(f->answers.failed, 2);
    assert_int_equal(f->answers.code, ERR_NO_SPACE);
    assert_string_equal(f->answers.message, "no space left on the disk of the data directory");
    assert_int_equal(store_applied_revision(f->store), 1);
    assert_int_equal(store_get_applied(f->store, pod("x"))->bytes.size, 3);
    assert_null(store_get_applied(f->store, pod("y")));
    assert_true(store_is_full(f->store));
    e = store_commit(f->store, &op, 1, on_done, NULL, NULL);
    assert_int_equal(err_code(e), ERR_NO_SPACE);
    assert_int_equal(err_http(e), 507);

    (void)commit(f, put("x", "changed")); /* the disk gets the change */
    sim_loop_run(f->loop);
    land(f, STORAGE_DURABLE_LOW);
    sim_loop_advance(f->loop, SECOND_NS);
    assert_true(f->hand.batch && f->hand.batch->is_probe && f->hand.batch->n == 0);
    land(f, STORAGE_DURABLE_LOW);
    assert_true(store_is_full(f->store));
    sim_loop_advance(f->loop, SECOND_NS);
    land(f, STORAGE_DURABLE);
    assert_false(store_is_full(f->store));
    (void)commit(f, op);
    sim_loop_run(f->loop);
    assert_int_equal(f->hand.batch->n, 1);
}

static void out_of_the_reserve_one_may_change_and_delete_but_not_create(void **state)
{
    struct fixture *f = *state;
    struct store_op op = put("new", "{}");
    AUTO(err_freep) struct err *e = NULL;

    (void)commit(f, put("x", "{}"));
    sim_loop_run(f->loop);
    land(f, STORAGE_DURABLE_LOW);
    assert_int_equal(f->answers.failed, 0);
    e = store_commit(f->store, &op, 1, on_done, NULL, NULL);
    assert_int_equal(err_code(e), ERR_NO_SPACE);
    assert_string_equal(err_message(e), "no space left on the disk of the data directory: nothing "
                                        "can be created until there is some, only changed and "
                                        "deleted");
    op.is_owed = true; /* records of an end are owed */
    (void)commit(f, op);
    (void)commit(f, put("x", "changed"));
    (void)commit(
        f, (struct store_op){.type = STORE_DELETE, .key = pod("x"), .if_version = STORE_EXISTS});
    sim_loop_run(f->loop);
    land(f, STORAGE_DURABLE_LOW);
    assert_int_equal(f->answers.n, 4);
    assert_null(store_get(f->store, pod("x")));
    assert_non_null(store_get(f->store, pod("new")));
}

static void a_failed_disk_is_fatal_and_acknowledges_nothing(void **state)
{
    struct fixture *f = *state;
    struct store_op op = put("y", "{}");
    AUTO(err_freep) struct err *e = NULL;

    (void)commit(f, put("x", "{}"));
    sim_loop_run(f->loop);
    land(f, STORAGE_FAILED);
    assert_int_equal(f->fatals, 1);
    assert_int_equal(f->answers.n, 0);
    assert_null(store_get(f->store, pod("x")));
    e = store_commit(f->store, &op, 1, on_done, NULL, NULL);
    assert_int_equal(err_code(e), ERR_UNAVAILABLE);
    sim_loop_advance(f->loop, 10 * SECOND_NS);
    assert_int_equal(f->hand.batches, 1); /* no batch after the failure */
}

static void closing_tells_the_truth_about_the_batch_in_flight(void **state)
{
    struct fixture *f = *state;

    (void)commit(f, put("flying", "{}"));
    sim_loop_run(f->loop);
    (void)commit(f, put("open", "{}"));
    store_free(f->store);
    f->store = NULL;
    assert_int_equal(f->answers.n, 2);
    assert_int_equal(f->answers.failed, 1);
    assert_int_equal(f->answers.code, ERR_UNAVAILABLE);
    assert_string_equal(f->answers.message, "the store is closing");
}

/* Watches */

struct log {
    struct store *store;
    struct store_watch *watch;
    struct store_watch *victim; /* the first call frees it */
    struct buf text;
};

static void on_change(void *arg, const struct store_change *change, int64_t revision)
{
    struct log *l = arg;
    static const char types[] = {'+', '~', '-'};

    if (change)
        buf_printf(&l->text, "%c%s%d ", types[change->type], change->object->key.name,
                   (int)revision);
    else
        buf_printf(&l->text, "|%d ", (int)revision);
    if (l->victim) {
        store_watch_free(l->victim);
        l->victim = NULL;
    }
}

static const struct store_range all_pods = {.group = "", .resource = "pods"};

static void watch(struct fixture *f, struct log *l, int64_t from)
{
    l->store = f->store;
    assert_null(store_watch_new(f->store, &all_pods, from, on_change, l, &l->watch));
}

static void a_watch_tells_the_past_then_the_present_each_once(void **state)
{
    struct fixture *f = *state;
    struct log l = {0};
    struct store_op other = put("q", "{}");

    make_durable(f, put("x", "1"));
    make_durable(f, put("y", "1"));
    make_durable(f, put("x", "2"));
    watch(f, &l, 1);
    assert_int_equal(l.text.size, 0); /* never from inside */
    sim_loop_run(f->loop);
    assert_string_equal(l.text.at, "+y2 ~x3 |3 ");
    other.key.resource = "queues";
    make_durable(f, other);
    make_durable(f,
                 (struct store_op){.type = STORE_DELETE, .key = pod("y"), .if_version = STORE_ANY});
    assert_string_equal(l.text.at, "+y2 ~x3 |3 |4 -y5 |5 ");
    store_watch_free(l.watch);
    buf_done(&l.text);
}

static void a_watch_may_free_itself_and_others(void **state)
{
    struct fixture *f = *state;
    struct log a = {0};
    struct log b = {0};
    struct log c = {0};

    watch(f, &a, 0);
    watch(f, &b, 0);
    watch(f, &c, 0);
    sim_loop_run(f->loop);
    a.victim = b.watch; /* the next watch */
    c.victim = c.watch;
    make_durable(f, put("x", "1"));
    assert_string_equal(a.text.at, "|0 +x1 |1 ");
    assert_string_equal(b.text.at, "|0 ");
    assert_string_equal(c.text.at, "|0 +x1 ");
    store_watch_free(a.watch);
    buf_done(&a.text);
    buf_done(&b.text);
    buf_done(&c.text);
}

static void compaction_expires_old_watches_and_lists_but_not_those_that_listen(void **state)
{
    struct fixture *f = *state;
    struct log l = {0};
    struct store_watch *late = NULL;
    struct store_list list = {0};
    struct err *e;

    for (int i = 0; i < 5; i++)
        make_durable(f, put("x", "1"));
    watch(f, &l, 0);
    store_compact(f->store, 3); /* before the watch was told a change */
    assert_int_equal(store_compacted_revision(f->store), 3);
    sim_loop_run(f->loop);
    assert_string_equal(l.text.at, "+x1 ~x2 ~x3 ~x4 ~x5 |5 ");
    assert_int_equal(f->hand.batch->compact_through, 3);
    land(f, STORAGE_DURABLE);
    e = store_watch_new(f->store, &all_pods, 2, on_change, &l, &late);
    assert_int_equal(err_code(e), ERR_EXPIRED);
    err_free(e);
    e = store_list(f->store, &all_pods, NULL, NULL, 0, 2, &list);
    assert_int_equal(err_code(e), ERR_EXPIRED);
    err_free(e);
    assert_null(store_list(f->store, &all_pods, NULL, NULL, 0, 3, &list));
    assert_int_equal(list.n, 1);
    assert_int_equal(list.at[0]->version, 3);
    store_list_done(&list);
    store_watch_free(l.watch);
    buf_done(&l.text);
}

static void compaction_waits_for_a_watch_that_has_much_to_be_told(void **state)
{
    struct fixture *f = *state;
    struct log l = {0};
    char name[16];

    for (unsigned i = 0; i < 3000; i++) {
        (void)snprintf(name, sizeof(name), "%u", i);
        (void)commit(f, put(name, "{}"));
    }
    sim_loop_run(f->loop);
    land(f, STORAGE_DURABLE);
    watch(f, &l, 0);
    store_compact(f->store, 3000);
    while (!f->hand.batch)
        assert_true(sim_loop_step(f->loop));
    assert_in_range(f->hand.batch->compact_through, 1, 2048); /* only changes that were told */
    while (f->hand.batch)
        land(f, STORAGE_DURABLE);
    assert_true(text_ends_with(l.text.at, "+29982999 +29993000 |3000 "));
    assert_int_equal(f->hand.batches, 3);
    store_watch_free(l.watch);
    buf_done(&l.text);
}

static void pages_of_a_list_are_of_one_revision(void **state)
{
    struct fixture *f = *state;
    struct store_list list = {0};

    make_durable(f, put("a", "1"));
    make_durable(f, put("b", "1"));
    make_durable(f, put("d", "1"));
    assert_null(store_list(f->store, &all_pods, NULL, NULL, 2, 0, &list));
    assert_int_equal(list.n, 2);
    assert_true(list.has_more);
    assert_int_equal(list.revision, 3);
    store_list_done(&list);
    make_durable(f, put("c", "1")); /* later change */
    make_durable(f,
                 (struct store_op){.type = STORE_DELETE, .key = pod("d"), .if_version = STORE_ANY});
    assert_null(store_list(f->store, &all_pods, "a", "b", 2, 3, &list));
    assert_int_equal(list.n, 1);
    assert_string_equal(list.at[0]->key.name, "d");
    assert_false(list.has_more);
    store_list_done(&list);
}

static void ten_thousand_objects_stay_in_order(void **state)
{
    struct fixture *f = *state;
    struct store_list list = {0};
    char name[16];

    for (unsigned i = 0; i < 10000; i++) {
        (void)snprintf(name, sizeof(name), "n%05u", i * 7919 % 10000);
        (void)commit(f, put(name, "{}"));
    }
    sim_loop_run(f->loop);
    land(f, STORAGE_DURABLE);
    for (unsigned i = 0; i < 10000; i++) {
        if (i % 10 == 3)
            continue;
        (void)snprintf(name, sizeof(name), "n%05u", i * 3 % 10000);
        (void)commit(f, (struct store_op){
                            .type = STORE_DELETE, .key = pod(name), .if_version = STORE_EXISTS});
    }
    sim_loop_run(f->loop);
    land(f, STORAGE_DURABLE);
    assert_null(store_list(f->store, &all_pods, NULL, NULL, 0, 0, &list));
    assert_int_equal(list.n, 1000);
    for (size_t i = 0; i < list.n; i++) {
        (void)snprintf(name, sizeof(name), "n%05zu", i * 10 + 9);
        assert_string_equal(list.at[i]->key.name, name);
    }
    store_list_done(&list);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(transactions_of_one_turn_share_a_batch_and_later_ones_the_next),
        TEST(nothing_shows_before_it_is_durable_and_conditions_see_it_at_once),
        TEST(says_which_condition_failed_and_changes_nothing),
        TEST(checks_alone_wait_for_what_they_saw_and_take_no_revision),
        TEST(a_walk_sees_what_is_durable_or_what_is_applied),
        TEST(refuses_what_is_too_large),
        TEST(refuses_more_when_too_much_waits_for_a_slow_disk),
        TEST(a_full_disk_takes_back_what_was_accepted_and_recovers_by_itself),
        TEST(out_of_the_reserve_one_may_change_and_delete_but_not_create),
        TEST(a_failed_disk_is_fatal_and_acknowledges_nothing),
        TEST(closing_tells_the_truth_about_the_batch_in_flight),
        TEST(a_watch_tells_the_past_then_the_present_each_once),
        TEST(a_watch_may_free_itself_and_others),
        TEST(compaction_expires_old_watches_and_lists_but_not_those_that_listen),
        TEST(compaction_waits_for_a_watch_that_has_much_to_be_told),
        TEST(pages_of_a_list_are_of_one_revision),
        TEST(ten_thousand_objects_stay_in_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
