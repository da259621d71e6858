/*
 * test_store_large.c - transactions with more changes than a revision has places, on SQLite over
 * the disk model
 *
 * A large transaction has one revision, is whole or absent wherever the disk stops, and is
 * reported, listed and compacted as a whole.
 */

#include <inttypes.h>
#include <stdio.h>

#include "base/mem.h"
#include "disk_model.h"
#include "sim_loop.h"
#include "store/storage.h"
#include "test.h"

enum {
    CHANGES = 9000, /* three revisions */
    HALF = CHANGES / 2,
    NAME_SIZE = 8
};

struct fixture {
    struct loop *loop;
    struct disk_model *disk;
    struct storage *storage;
    struct store *store;
    char (*names)[NAME_SIZE];
    struct store_op *ops;
    size_t acknowledged;
    size_t refused;
    bool is_fatal;
};

static void on_fatal(void *arg, const struct err *e)
{
    struct fixture *f = arg;

    (void)e;
    f->is_fatal = true;
}

static void on_done(void *arg, const struct err *e, int64_t revision)
{
    struct fixture *f = arg;

    (void)revision;
    f->acknowledged += e == NULL;
    f->refused += e != NULL;
}

static struct err *open_store(struct fixture *f)
{
    struct storage_sqlite_options disk = {.loop = f->loop,
                                          .dir = "/disk",
                                          .vfs = DISK_MODEL_VFS,
                                          .reserve_bytes = -1,
                                          .checkpoint_pages = 100};
    struct store_options options = {.loop = f->loop, .on_fatal = on_fatal, .arg = f};

    TRY(storage_sqlite_new(&disk, &f->storage));
    options.storage = f->storage;
    return store_open(&options, &f->store);
}

static void close_store(struct fixture *f)
{
    store_free(f->store);
    storage_free(f->storage);
    f->store = NULL;
    f->storage = NULL;
}

static void reopen(struct fixture *f)
{
    AUTO(err_freep) struct err *e = NULL;

    close_store(f);
    e = open_store(f);
    if (e)
        print_error("%s\n", err_message(e));
    assert_null(e);
}

static int set_up(void **state)
{
    struct fixture *f = mem_alloc(sizeof(*f));

    f->loop = sim_loop_new();
    f->disk = disk_model_new(1);
    f->names = mem_alloc(CHANGES * sizeof(*f->names));
    f->ops = mem_alloc(CHANGES * sizeof(*f->ops));
    for (unsigned i = 0; i < CHANGES; i++)
        (void)snprintf(f->names[i], NAME_SIZE, "n%04u", i);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    close_store(f);
    disk_model_free(f->disk);
    sim_loop_free(f->loop);
    free(f->names);
    free(f->ops);
    free(f);
    return 0;
}

static struct store_op op_of(const char *name, enum store_op_type type, const char *bytes)
{
    return (struct store_op){.type = type,
                             .key = {"mete.dev", "things", "a", name},
                             .bytes = str_of(bytes),
                             .if_version = STORE_ANY};
}

static int64_t commit(struct fixture *f, const char *name, enum store_op_type type)
{
    struct store_op op = op_of(name, type, "small");
    int64_t revision = 0;

    assert_null(store_commit(f->store, &op, 1, on_done, f, &revision));
    sim_loop_run(f->loop);
    return revision;
}

/* Creates all objects in one transaction. */
static struct err *try_create(struct fixture *f, int64_t *ret)
{
    for (unsigned i = 0; i < CHANGES; i++)
        f->ops[i] = op_of(f->names[i], STORE_PUT, "first");
    return store_commit(f->store, f->ops, CHANGES, on_done, f, ret);
}

static int64_t create(struct fixture *f)
{
    int64_t revision = 0;

    assert_null(try_create(f, &revision));
    sim_loop_run(f->loop);
    return revision;
}

/* Changes the first half of the objects, and deletes the second. */
static int64_t change(struct fixture *f)
{
    int64_t revision = 0;

    for (unsigned i = 0; i < CHANGES; i++)
        f->ops[i] = op_of(f->names[i], i < HALF ? STORE_PUT : STORE_DELETE, "second");
    assert_null(store_commit(f->store, f->ops, CHANGES, on_done, f, &revision));
    sim_loop_run(f->loop);
    return revision;
}

static size_t count_at(struct fixture *f, int64_t revision)
{
    static const struct store_range all = {.group = "mete.dev", .resource = "things"};
    struct store_list list = {0};
    size_t n;

    assert_null(store_list(f->store, &all, NULL, NULL, 0, revision, &list));
    n = list.n;
    store_list_done(&list);
    return n;
}

struct told {
    size_t n;
    int64_t first;
    int64_t last;
};

static void on_change(void *arg, const struct store_change *c, int64_t revision)
{
    struct told *t = arg;

    (void)revision;
    if (!c)
        return;
    assert_true(c->revision >= t->last);
    if (t->n++ == 0)
        t->first = c->revision;
    t->last = c->revision;
}

static struct told watch_from(struct fixture *f, int64_t revision)
{
    static const struct store_range all = {.group = "mete.dev", .resource = "things"};
    struct store_watch *w = NULL;
    struct told told = {0};

    assert_null(store_watch_new(f->store, &all, revision, on_change, &told, &w));
    sim_loop_run(f->loop);
    store_watch_free(w);
    return told;
}

static void check_version(struct fixture *f, unsigned i, int64_t version, const char *bytes)
{
    const struct store_object *o = store_get(f->store, op_of(f->names[i], STORE_PUT, "").key);

    assert_non_null(o);
    assert_int_equal(o->version, version);
    assert_string_equal(o->bytes.at, bytes);
}

/* Checks the history after create, a small transaction, change and another small one. */
static void check_history(struct fixture *f)
{
    struct told told;

    assert_int_equal(store_revision(f->store), 8);
    for (int64_t at = 1; at <= 3; at++)
        assert_int_equal(count_at(f, at), CHANGES);
    assert_int_equal(count_at(f, 4), CHANGES + 1);
    for (int64_t at = 5; at <= 7; at++)
        assert_int_equal(count_at(f, at), HALF + 1);
    assert_int_equal(count_at(f, 8), HALF + 2);
    check_version(f, 0, 5, "second");
    check_version(f, HALF - 1, 5, "second");
    told = watch_from(f, 0);
    assert_int_equal(told.n, 2 * CHANGES + 2);
    assert_int_equal(told.first, 1);
    assert_int_equal(told.last, 8);
    told = watch_from(f, 4);
    assert_int_equal(told.n, CHANGES + 1);
    assert_int_equal(told.first, 5);
    for (int64_t at = 5; at <= 7; at++)
        assert_int_equal(watch_from(f, at).n, 1);
}

static void has_one_revision_and_is_told_and_listed_whole(void **state)
{
    struct fixture *f = *state;

    assert_null(open_store(f));
    assert_int_equal(create(f), 1);
    assert_int_equal(commit(f, "x", STORE_PUT), 4);
    assert_int_equal(change(f), 5);
    assert_int_equal(commit(f, "y", STORE_PUT), 8);
    assert_int_equal(f->acknowledged, 4);
    check_history(f);
    reopen(f);
    check_history(f);
}

/* Objects in later places are replaced, deleted and found like all others. */
static void later_changes_know_what_they_replaced(void **state)
{
    struct fixture *f = *state;

    assert_null(open_store(f));
    (void)create(f);
    assert_int_equal(commit(f, f->names[5000], STORE_PUT), 4);
    assert_int_equal(commit(f, f->names[CHANGES - 1], STORE_DELETE), 5);
    reopen(f);
    check_version(f, 5000, 4, "small");
    check_version(f, 4999, 1, "first");
    assert_int_equal(count_at(f, 3), CHANGES);
    assert_int_equal(count_at(f, 5), CHANGES - 1);
}

static void compact(struct fixture *f, int64_t through, int64_t want)
{
    store_compact(f->store, through);
    sim_loop_run(f->loop);
    assert_int_equal(store_compacted_revision(f->store), want);
    reopen(f);
    assert_int_equal(store_compacted_revision(f->store), want);
}

static void is_forgotten_whole_or_not_at_all(void **state)
{
    struct fixture *f = *state;

    assert_null(open_store(f));
    (void)create(f);
    (void)commit(f, "x", STORE_PUT);
    (void)change(f);
    (void)commit(f, "y", STORE_PUT);
    compact(f, 1, 3);
    assert_int_equal(count_at(f, 4), CHANGES + 1);
    compact(f, 6, 7); /* in the middle of the transaction */
    assert_int_equal(count_at(f, 0), HALF + 2);
    assert_int_equal(watch_from(f, 7).n, 1);
    (void)change(f); /* deletes nothing: the objects are absent */
    compact(f, store_revision(f->store), store_revision(f->store));
    assert_int_equal(count_at(f, 0), HALF + 2);
    check_version(f, HALF - 1, 9, "second");
}

/* A store that compacts by itself is not held up by a transaction larger than one step of
 * compaction. */
static void does_not_hold_up_what_is_forgotten_after_it(void **state)
{
    struct fixture *f = *state;

    assert_null(open_store(f));
    (void)create(f);
    for (unsigned i = 0; i < 20; i++)
        (void)commit(f, "x", STORE_PUT);
    compact(f, 15, 15);
    compact(f, 23, 23);
    assert_int_equal(count_at(f, 0), CHANGES + 1);
}

/* Stops the disk in operation `k` of the write. Did it stop, and how many changes were kept? */
static bool stop_in(struct fixture *f, uint64_t k, size_t *ret_kept)
{
    bool was_stopped;
    int64_t revision = 0;

    assert_null(open_store(f));
    disk_model_stop_in(f->disk, k);
    assert_null(try_create(f, &revision));
    sim_loop_run(f->loop);
    was_stopped = disk_model_is_stopped(f->disk);
    disk_model_kill(f->disk);
    close_store(f);
    if (k % 2 == 0)
        disk_model_power_cut(f->disk);
    else
        disk_model_restart(f->disk);
    assert_null(open_store(f));
    *ret_kept = count_at(f, 0);
    assert_int_equal(store_revision(f->store), *ret_kept > 0 ? 3 : 0);
    return was_stopped;
}

static void is_whole_or_not_there_wherever_the_disk_stops(void **state)
{
    size_t nothing = 0;
    size_t all = 0;
    bool was_stopped = true;

    (void)state;
    for (uint64_t k = 1; was_stopped; k += k < 8 ? 1 : 13) {
        void *own = NULL;
        struct fixture *f;
        size_t kept = 0;

        assert_int_equal(set_up(&own), 0);
        f = own;
        assert_null(open_store(f)); /* makes the file */
        close_store(f);
        was_stopped = stop_in(f, k, &kept);
        assert_true(kept == 0 || kept == CHANGES);
        if (f->acknowledged > 0)
            assert_int_equal(kept, CHANGES);
        nothing += kept == 0;
        all += kept != 0;
        assert_int_equal(tear_down(&own), 0);
    }
    assert_true(nothing > 10 && all > 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(has_one_revision_and_is_told_and_listed_whole),
        TEST(later_changes_know_what_they_replaced),
        TEST(is_forgotten_whole_or_not_at_all),
        TEST(does_not_hold_up_what_is_forgotten_after_it),
        cmocka_unit_test(is_whole_or_not_there_wherever_the_disk_stops),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
