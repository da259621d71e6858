/*
 * test_storage.c - SQLite storage: real files with the storage thread, and the disk model for
 * damaged and full disks
 */

#include <errno.h>
#include <inttypes.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "disk_model.h"
#include "prop.h"
#include "sim_loop.h"
#include "store/storage.h"
#include "test.h"

#define SECOND_NS INT64_C(1000000000)

enum {
    DEADLINE_MS = 20000,
    WAL_BYTES_MAX = 12 << 20
};

struct fixture {
    struct loop *loop;
    char *dir;               /* real */
    struct disk_model *disk; /* or modelled */
    struct storage *storage;
    struct store *store;
    size_t answered;
    size_t failed;
};

static void on_fatal(void *arg, const struct err *e)
{
    (void)arg;
    print_error("%s\n", err_message(e));
    fail();
}

static void on_done(void *arg, const struct err *e, int64_t revision)
{
    struct fixture *f = arg;

    (void)revision;
    f->answered++;
    f->failed += e != NULL;
}

static struct err *open_storage(const struct fixture *f, struct storage **ret)
{
    struct storage_sqlite_options options = {.loop = f->loop,
                                             .dir = f->dir ? f->dir : "/disk",
                                             .vfs = f->disk ? DISK_MODEL_VFS : NULL,
                                             .is_threaded = !f->disk,
                                             .reserve_bytes = INT64_C(256) * 1024,
                                             .checkpoint_pages = f->disk ? 30 : 0};

    return storage_sqlite_new(&options, ret);
}

static struct err *try_open(struct fixture *f)
{
    struct store_options options = {.loop = f->loop, .on_fatal = on_fatal, .arg = f};

    TRY(open_storage(f, &f->storage));
    options.storage = f->storage;
    return store_open(&options, &f->store);
}

static void open_store(struct fixture *f)
{
    AUTO(err_freep) struct err *e = try_open(f);

    if (e)
        print_error("%s\n", err_message(e));
    assert_null(e);
}

static void close_store(struct fixture *f)
{
    store_free(f->store);
    storage_free(f->storage);
    f->store = NULL;
    f->storage = NULL;
}

static int set_up_real(void **state)
{
    struct fixture *f = mem_alloc(sizeof(*f));
    const char *tmp = getenv("TMPDIR");

    f->loop = sim_loop_new();
    f->dir = mem_format("%s/test_storage.XXXXXX", tmp ? tmp : "/tmp");
    assert_non_null(mkdtemp(f->dir));
    *state = f;
    return 0;
}

static int set_up_model(void **state)
{
    struct fixture *f = mem_alloc(sizeof(*f));

    f->loop = sim_loop_new();
    f->disk = disk_model_new(1);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    AUTO(err_freep) struct err *e = NULL;

    close_store(f);
    if (f->disk)
        disk_model_free(f->disk);
    if (f->dir)
        e = dir_remove(f->dir);
    assert_null(e);
    sim_loop_free(f->loop);
    free(f->dir);
    free(f);
    return 0;
}

static struct store_op put(const char *name, struct str bytes)
{
    return (struct store_op){.type = STORE_PUT,
                             .key = {"mete.dev", "things", "a", name},
                             .bytes = bytes,
                             .if_version = STORE_ANY};
}

static void commit(struct fixture *f, const char *name, struct str bytes)
{
    struct store_op op = put(name, bytes);

    assert_null(store_commit(f->store, &op, 1, on_done, f, NULL));
}

/* Waits until all `count` transactions are answered. */
static void wait_answers(struct fixture *f, size_t count)
{
    sim_loop_run(f->loop);
    while (f->answered < count) {
        assert_true(sim_loop_wait_io(f->loop, DEADLINE_MS));
        sim_loop_run(f->loop);
    }
}

static void keeps_objects_and_changes_over_a_restart(void **state)
{
    struct fixture *f = *state;
    struct store_list list = {0};
    const struct store_object *o;
    char name[16];

    open_store(f);
    for (unsigned i = 0; i < 500; i++) {
        (void)snprintf(name, sizeof(name), "n%03u", i);
        commit(f, name, STR("first"));
        commit(f, name, STR("second\0with a NUL"));
    }
    wait_answers(f, 1000);
    assert_int_equal(f->failed, 0);
    close_store(f);
    open_store(f);
    assert_int_equal(store_revision(f->store), 1000);
    assert_int_equal(store_compacted_revision(f->store), 0);
    o = store_get(f->store, put("n007", STR("")).key);
    assert_int_equal(o->version, 16);
    assert_int_equal(o->created_revision, 15);
    assert_int_equal(o->bytes.size, 17);
    assert_memory_equal(o->bytes.at, "second\0with a NUL", 17);
    assert_null(store_list(f->store, &(struct store_range){0}, NULL, NULL, 0, 999, &list));
    assert_int_equal(list.n, 500);
    assert_memory_equal(list.at[499]->bytes.at, "first", 5);
    store_list_done(&list);
}

static void is_private_and_held_by_one_process(void **state)
{
    struct fixture *f = *state;
    AUTO_FREE char *path = mem_format("%s/state.db", f->dir);
    AUTO_FREE char *want = mem_format("directory '%s' is in use by process %d ('test_storage')",
                                      f->dir, (int)getpid());
    struct storage *other = NULL;
    struct stat st;
    struct err *e;

    open_store(f);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    e = open_storage(f, &other);
    assert_int_equal(err_code(e), ERR_CONFLICT);
    assert_string_equal(err_message(e), want);
    err_free(e);
    close_store(f);
    assert_null(open_storage(f, &other));
    storage_free(other);
}

static void closing_waits_for_the_batch_in_flight(void **state)
{
    struct fixture *f = *state;

    open_store(f);
    commit(f, "x", STR("{}"));
    while (f->answered == 0 && sim_loop_step(f->loop))
        ; /* the thread has the batch, or has ended it */
    close_store(f);
    assert_int_equal(f->answered, 1);
    assert_int_equal(f->failed, 0);
    open_store(f);
    assert_int_equal(store_revision(f->store), 1);
}

static void the_log_does_not_grow_for_ever_and_compaction_frees_space(void **state)
{
    struct fixture *f = *state;
    AUTO_FREE char *bytes = mem_alloc(100000);
    AUTO_FREE char *path = mem_format("%s/state.db", f->dir);
    AUTO_FREE char *log = mem_format("%s/state.db-wal", f->dir);
    struct stat st = {0};

    open_store(f);
    for (size_t i = 0; i < 400; i++) {
        commit(f, "x", (struct str){.at = bytes, .size = 100000});
        wait_answers(f, i + 1);
        if (i % 20 == 19)
            store_compact(f->store, store_revision(f->store) - 1);
        assert_int_equal(stat(log, &st), 0);
        assert_true(st.st_size < WAL_BYTES_MAX);
    }
    assert_int_equal(stat(path, &st), 0);
    assert_true(st.st_size < 10000000); /* 40 MB were written */
    close_store(f);
    open_store(f);
    assert_true(store_compacted_revision(f->store) >= 379);
    assert_int_equal(store_revision(f->store), 400);
}

/* Damage */

static void exec_sql(const struct fixture *f, const char *sql)
{
    AUTO_FREE char *path = mem_format("%s/state.db", f->dir);
    sqlite3 *db = NULL;

    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static void refuses_what_it_does_not_understand_and_says_what_to_do(void **state)
{
    static const struct {
        const char *sql;
        const char *message; /* after the path */
    } cases[] = {
        {"PRAGMA user_version = 7",
         " was written by a newer mete (format 7, this version knows up to 3): use the "
         "newer version, or restore an older backup"},
        {"PRAGMA application_id = 5",
         " is another program's database (application id 5): use another data directory"},
        {"UPDATE changes SET bytes = x'00' WHERE id = 8192",
         " is damaged: change 8192 has a wrong checksum; restore its directory from a "
         "backup, "
         "or move the directory away to begin empty"},
        {"DELETE FROM changes WHERE id = 4096",
         " is damaged: things.mete.dev 'a/x' lacks its version 1; restore its directory from a "
         "backup, or move the directory away to begin empty"},
        {"UPDATE state SET compacted = 2", " is damaged: the state has a wrong checksum; "
                                           "restore its directory from a backup, or "
                                           "move the directory away to begin empty"},
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        void *own = NULL;
        struct fixture *f;
        AUTO_FREE char *want = NULL;
        AUTO(err_freep) struct err *e = NULL;

        assert_int_equal(set_up_real(&own), 0);
        f = own;
        want = mem_format("'%s/state.db'%s", f->dir, cases[i].message);
        open_store(f);
        commit(f, "x", STR("1"));
        commit(f, "x", STR("2"));
        wait_answers(f, 2);
        close_store(f);
        exec_sql(f, cases[i].sql);
        e = try_open(f);
        assert_non_null(e);
        assert_int_equal(err_code(e), ERR_INTERNAL);
        assert_string_equal(err_message(e), want);
        assert_int_equal(tear_down(&own), 0);
    }
    (void)state;
}

static void fill_model(struct fixture *f)
{
    char name[16];

    open_store(f);
    for (unsigned i = 0; i < 40; i++) {
        (void)snprintf(name, sizeof(name), "n%02u", i % 30);
        commit(f, name, STR("some bytes that are long enough to be worth damaging, and then more"));
        sim_loop_run(f->loop);
    }
    close_store(f);
}

/* After damage, the store opens with all objects or reports an error: no object is lost silently.
 */
static void check_damaged(struct fixture *f, const char *what, int64_t byte)
{
    AUTO(err_freep) struct err *e = try_open(f);
    struct store_list list = {0};

    if (e) {
        assert_int_equal(err_code(e), ERR_INTERNAL);
        assert_non_null(strstr(err_message(e), "/disk/state.db"));
    } else {
        if (store_revision(f->store) != 40)
            print_error("%s at %" PRId64 " went unnoticed\n", what, byte);
        assert_int_equal(store_revision(f->store), 40);
        assert_null(store_list(f->store, &(struct store_range){0}, NULL, NULL, 0, 0, &list));
        assert_int_equal(list.n, 30);
        for (size_t i = 0; i < list.n; i++)
            assert_int_equal(list.at[i]->bytes.size, 67);
        store_list_done(&list);
    }
    disk_model_kill(f->disk); /* leave the file as it is */
    close_store(f);
    disk_model_restart(f->disk);
}

static void no_flipped_bit_and_no_cut_is_accepted_in_silence(void **state)
{
    struct fixture *f = *state;
    struct prop prop = {.state = 5};
    int64_t size;

    fill_model(f);
    size = disk_model_size(f->disk, "/disk/state.db");
    assert_true(size > 8192);
    for (int i = 0; i < 4000; i++) {
        int64_t byte = i < 800 ? i / 8 : (int64_t)prop_below(&prop, (size_t)size);
        unsigned bit = (unsigned)(i % 8);

        assert_true(disk_model_flip(f->disk, "/disk/state.db", byte, bit));
        check_damaged(f, "a flipped bit", byte);
        assert_true(disk_model_size(f->disk, "/disk/state.db") == size);
        assert_true(disk_model_flip(f->disk, "/disk/state.db", byte, bit));
    }
}

static void a_file_cut_short_is_never_taken_for_a_smaller_or_a_new_one(void **state)
{
    for (int64_t size = 0; size < 16384; size += 509) {
        void *own = NULL;
        struct fixture *f;

        assert_int_equal(set_up_model(&own), 0);
        f = own;
        fill_model(f);
        assert_true(disk_model_size(f->disk, "/disk/state.db") > size);
        assert_true(disk_model_cut(f->disk, "/disk/state.db", size));
        check_damaged(f, "a cut", size);
        assert_int_equal(tear_down(&own), 0);
    }
    (void)state;
}

static void a_full_disk_leaves_room_to_change_and_delete_and_recovers(void **state)
{
    struct fixture *f = *state;
    struct store_op op = put("another", STR("{}"));
    AUTO_FREE char *bytes = mem_alloc(5000);
    struct err *e = NULL;
    size_t created = 0;
    char name[16];

    fill_model(f);
    f->answered = 0;
    open_store(f);
    disk_model_set_room(f->disk, disk_model_used(f->disk) + 20000);
    while (!store_is_full(f->store) && created < 100) {
        (void)snprintf(name, sizeof(name), "big%02zu", created++);
        commit(f, name, (struct str){.at = bytes, .size = 5000});
        sim_loop_run(f->loop);
    }
    assert_true(created > 1 && created < 100);
    assert_int_equal(f->failed, 0); /* the last write went into the reserve */
    e = store_commit(f->store, &op, 1, on_done, f, NULL);
    assert_int_equal(err_code(e), ERR_NO_SPACE);
    err_free(e);
    for (unsigned i = 0; i < 30; i++) {
        (void)snprintf(name, sizeof(name), "n%02u", i);
        commit(f, name, STR("ended"));
        sim_loop_run(f->loop);
    }
    assert_int_equal(f->failed, 0);
    close_store(f);
    open_store(f); /* without an administrator's help */
    disk_model_set_room(f->disk, -1);
    commit(f, "n00", STR("ended"));
    sim_loop_advance(f->loop, 2 * SECOND_NS);
    assert_false(store_is_full(f->store));
    commit(f, "another", STR("{}"));
    sim_loop_run(f->loop);
    assert_int_equal(f->failed, 0);
}

#define REAL(name)  cmocka_unit_test_setup_teardown(name, set_up_real, tear_down)
#define MODEL(name) cmocka_unit_test_setup_teardown(name, set_up_model, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        REAL(keeps_objects_and_changes_over_a_restart),
        REAL(is_private_and_held_by_one_process),
        REAL(closing_waits_for_the_batch_in_flight),
        REAL(the_log_does_not_grow_for_ever_and_compaction_frees_space),
        cmocka_unit_test(refuses_what_it_does_not_understand_and_says_what_to_do),
        MODEL(no_flipped_bit_and_no_cut_is_accepted_in_silence),
        cmocka_unit_test(a_file_cut_short_is_never_taken_for_a_smaller_or_a_new_one),
        MODEL(a_full_disk_leaves_room_to_change_and_delete_and_recovers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
