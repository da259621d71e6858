/* test_keyring.c - sealed rows, and rotations that are cut short at any part */

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "access/keyring.h"
#include "base/file.h"
#include "base/mem.h"
#include "store/object.h"
#include "store/sqlite_file_linux.h"
#include "test.h"

enum {
    ROWS = 5000 /* more than one part of a rotation looks at */
};

struct fixture {
    char dir[64];
    char *key;
    char *db;
    struct keyring *ring;
    struct sqlite_file *file;
    size_t n_loaded;
};

static struct err *fixture_open(struct fixture *f)
{
    struct storage_sqlite_options o = {.reserve_bytes = -1};

    TRY(keyring_open(f->key, &f->ring));
    o.seal = keyring_seal(f->ring);
    return sqlite_file_open(f->db, &o, &f->file);
}

static void fixture_close(struct fixture *f)
{
    sqlite_file_close(f->file);
    keyring_free(f->ring);
    f->file = NULL;
    f->ring = NULL;
}

static struct err *on_row(void *arg, const struct storage_record *r)
{
    struct fixture *f = arg;
    AUTO_FREE char *want = mem_format("value-%s", r->object->key.name);

    assert_true(str_equal(r->object->bytes, str_of(want)));
    f->n_loaded++;
    return NULL;
}

static struct err *fixture_load(struct fixture *f)
{
    int64_t revision = 0;
    int64_t compacted = 0;

    f->n_loaded = 0;
    return sqlite_file_load(f->file, on_row, f, &revision, &compacted);
}

static void must(struct err *e)
{
    if (e)
        fail_msg("%s", err_message(e));
}

static void write_rows(struct fixture *f)
{
    struct storage_record *records = mem_alloc(ROWS * sizeof(*records));
    struct storage_batch batch = {.records = records, .n = ROWS, .revision = ROWS};
    struct store_object **objects = mem_alloc(ROWS * sizeof(*objects));
    char why[SQLITE_FILE_WHY_SIZE];

    for (size_t i = 0; i < ROWS; i++) {
        AUTO_FREE char *name = mem_format("s%zu", i);
        AUTO_FREE char *bytes = mem_format("value-s%zu", i);
        const struct store_key key = {
            .group = "", .resource = i % 2 ? "secrets" : "configmaps", .ns = "a", .name = name};

        objects[i] = object_new(&key, str_of(bytes));
        objects[i]->version = (int64_t)i + 1;
        objects[i]->created_revision = (int64_t)i + 1;
        records[i] = (struct storage_record){
            .revision = (int64_t)i + 1, .type = STORE_CREATED, .object = objects[i]};
    }
    assert_true(sqlite_file_write(f->file, &batch, why) != STORAGE_FAILED);
    assert_string_equal(why, "");
    for (size_t i = 0; i < ROWS; i++)
        store_object_unref(objects[i]);
    free(objects);
    free(records);
}

static size_t count_keys(const struct fixture *f)
{
    AUTO(buf_done) struct buf text = {0};
    size_t n = 0;

    must(file_read(f->key, 1 << 16, &text));
    for (const char *at = text.at; (at = strstr(at, "\nKEY ")); at++)
        n++;
    return n;
}

static int set_up(void **state)
{
    struct fixture *f = mem_alloc(sizeof(*f));

    (void)snprintf(f->dir, sizeof(f->dir), "/tmp/test_keyring.XXXXXX");
    assert_non_null(mkdtemp(f->dir));
    f->key = mem_format("%s/secrets.key", f->dir);
    f->db = mem_format("%s/state.db", f->dir);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    fixture_close(f);
    err_free(dir_remove(f->dir));
    free(f->key);
    free(f->db);
    free(f);
    return 0;
}

static void begin(struct fixture *f)
{
    must(fixture_open(f));
    must(fixture_load(f));
    must(keyring_keep(f->ring));
    write_rows(f);
}

static void a_rotation_that_is_cut_short_goes_on(void **state)
{
    struct fixture *f = *state;

    begin(f);
    assert_int_equal(count_keys(f), 1);
    must(keyring_ask(f->ring));
    assert_int_equal(keyring_state(f->ring).phase, KEYRING_ROTATING);
    sqlite_file_reseal(f->file);
    assert_true(sqlite_file_reseal_more(f->file));
    assert_int_equal(count_keys(f), 2);
    fixture_close(f); /* some rows have the one key, some the other */

    must(fixture_open(f));
    must(fixture_load(f));
    assert_int_equal(f->n_loaded, ROWS);
    assert_true(keyring_is_stale(f->ring));
    sqlite_file_reseal(f->file);
    while (sqlite_file_reseal_more(f->file))
        ;
    assert_int_equal(count_keys(f), 1);
    fixture_close(f);

    must(fixture_open(f));
    must(fixture_load(f));
    assert_int_equal(f->n_loaded, ROWS);
    assert_false(keyring_is_stale(f->ring));
}

static void rows_without_a_seal_are_read_and_sealed(void **state)
{
    struct fixture *f = *state;
    struct storage_sqlite_options plain = {.reserve_bytes = -1};

    must(sqlite_file_open(f->db, &plain, &f->file));
    write_rows(f);
    sqlite_file_close(f->file);
    must(fixture_open(f));
    must(fixture_load(f));
    must(keyring_keep(f->ring));
    assert_int_equal(f->n_loaded, ROWS);
    assert_true(keyring_is_stale(f->ring));
    sqlite_file_reseal(f->file);
    while (sqlite_file_reseal_more(f->file))
        ;
    assert_int_equal(keyring_state(f->ring).phase, KEYRING_IDLE);
    fixture_close(f);
    must(fixture_open(f));
    must(fixture_load(f));
    assert_false(keyring_is_stale(f->ring));
}

static void another_key_opens_nothing(void **state)
{
    struct fixture *f = *state;
    AUTO(err_freep) struct err *e = NULL;

    begin(f);
    fixture_close(f);
    assert_int_equal(remove(f->key), 0);
    must(fixture_open(f));
    e = fixture_load(f);
    assert_non_null(strstr(err_message(e), "does not hold (the file is missing)"));
}

static void a_row_stays_in_its_place(void **state)
{
    struct fixture *f = *state;
    const struct storage_seal *seal;
    AUTO(buf_done) struct buf sealed = {0};
    AUTO(buf_done) struct buf opened = {0};
    AUTO(err_freep) struct err *moved = NULL;
    AUTO(err_freep) struct err *changed = NULL;
    struct str row;

    must(keyring_open(f->key, &f->ring));
    seal = keyring_seal(f->ring);
    seal->seal(seal->self, STR("{\"data\":1}"), STR("1/a"), &sealed);
    row = (struct str){sealed.at, sealed.size};
    must(seal->open(seal->self, row, STR("1/a"), &opened));
    assert_true(str_equal((struct str){opened.at, opened.size}, STR("{\"data\":1}")));
    moved = seal->open(seal->self, row, STR("2/a"), &opened);
    assert_non_null(strstr(err_message(moved), "its tag does not fit"));
    sealed.at[sealed.size - 1] ^= 1;
    changed = seal->open(seal->self, row, STR("1/a"), &opened);
    assert_non_null(strstr(err_message(changed), "its tag does not fit"));
}

static void refuses_files_of_keys(void **state)
{
    static const struct {
        const char *text;
        mode_t mode;
        const char *want;
    } cases[] = {
        {"# nothing\n", 0600, "holds no key"},
        {"KEY 12\n", 0600, "line 1: want KEY, an id and a key in hexadecimal"},
        {"KEY 0000000000000000 "
         "0000000000000000000000000000000000000000000000000000000000000000\n",
         0600, "line 1: the key is not the one of its id"},
        {"KEY 66687aadf862bd77 "
         "0000000000000000000000000000000000000000000000000000000000000000\n",
         0640, "has mode 0640: others may read it; want 0600"},
    };
    struct fixture *f = *state;

    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO(err_freep) struct err *e = NULL;

        must(file_write(f->key, cases[i].mode, str_of(cases[i].text)));
        assert_int_equal(chmod(f->key, cases[i].mode), 0);
        e = keyring_open(f->key, &f->ring);
        assert_non_null(e);
        if (!strstr(err_message(e), cases[i].want))
            fail_msg("%s", err_message(e));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_rotation_that_is_cut_short_goes_on, set_up, tear_down),
        cmocka_unit_test_setup_teardown(rows_without_a_seal_are_read_and_sealed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(another_key_opens_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_row_stays_in_its_place, set_up, tear_down),
        cmocka_unit_test_setup_teardown(refuses_files_of_keys, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
