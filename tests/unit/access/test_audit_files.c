/* test_audit_files.c - the audit's chain and files, over a real database without its thread */

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "access/audit_chain.h"
#include "access/audit_files_linux.h"
#include "access/audit_read_linux.h"
#include "base/file.h"
#include "base/mem.h"
#include "sim_loop.h"
#include "store/store.h"
#include "test.h"

struct audit_world {
    struct loop *loop;
    char *dir;
    char *audit_dir;
    int64_t file_max_bytes;
    struct audit_files *files;
    struct storage *storage;
    struct store *store;
    size_t kept;
    size_t taken_back;
};

static void on_fatal(void *arg, const struct err *e)
{
    (void)arg;
    print_error("%s\n", err_message(e));
    fail();
}

static void audit_world_open(struct audit_world *w)
{
    const struct audit_files_options files = {.dir = w->audit_dir,
                                              .file_max_bytes = w->file_max_bytes};
    struct storage_sqlite_options storage = {.loop = w->loop, .dir = w->dir, .reserve_bytes = -1};
    struct store_options store = {.loop = w->loop, .on_fatal = on_fatal};

    assert_null(audit_files_open(&files, &w->files));
    storage.notes = audit_files_notes(w->files);
    assert_null(storage_sqlite_new(&storage, &w->storage));
    store.storage = w->storage;
    assert_null(store_open(&store, &w->store));
}

static void audit_world_close(struct audit_world *w)
{
    store_free(w->store);
    storage_free(w->storage);
    audit_files_free(w->files);
}

static void audit_world_init(struct audit_world *w)
{
    char dir[] = "/tmp/mete-audit-XXXXXX";

    assert_non_null(mkdtemp(dir));
    w->loop = sim_loop_new();
    w->dir = mem_strdup(dir);
    w->audit_dir = mem_format("%s/audit", dir);
    audit_world_open(w);
}

static void audit_world_done(struct audit_world *w)
{
    audit_world_close(w);
    sim_loop_free(w->loop);
    assert_null(dir_remove(w->dir));
    free(w->dir);
    free(w->audit_dir);
}

static void on_noted(void *arg, const struct err *e, int64_t revision)
{
    struct audit_world *w = arg;

    (void)revision;
    if (e)
        w->taken_back++;
    else
        w->kept++;
}

/* Notes a line with this text, and waits for the disk. */
static void audit_world_note(struct audit_world *w, const char *text)
{
    AUTO_FREE char *line =
        mem_format("\"time\":\"2026-01-01T00:00:00.000000Z\",\"verb\":\"%s\"", text);

    assert_null(store_note(w->store, str_of(line), on_noted, w));
    sim_loop_run(w->loop);
}

/* Reads all lines, checks the chain, and returns the number of lines. */
static int64_t audit_world_check(const struct audit_world *w)
{
    AUTO(audit_reader_freep) struct audit_reader *r = NULL;
    struct audit_head head = audit_head_first();
    struct str line = {0};

    assert_null(audit_reader_new(w->audit_dir, NULL, &r));
    for (;;) {
        assert_null(audit_reader_next(r, &line));
        if (!line.at)
            return head.number;
        assert_null(audit_line_check(&head, line));
    }
}

static size_t audit_world_files(const struct audit_world *w)
{
    char **names = NULL;
    size_t n = 0;

    assert_null(audit_files_list(w->audit_dir, &names, &n));
    names_free(names, n);
    return n;
}

static void a_chain_continues_over_files_and_restarts(void **state)
{
    struct audit_world w = {.file_max_bytes = 1000};
    struct audit_head head;

    (void)state;
    audit_world_init(&w);
    for (int i = 0; i < 20; i++) {
        audit_world_note(&w, "x");
        if (i % 7 == 3) {
            audit_world_close(&w);
            audit_world_open(&w);
        }
    }
    assert_int_equal(w.kept, 20);
    assert_int_equal(audit_world_check(&w), 20);
    assert_true(audit_world_files(&w) >= 3);
    head = audit_files_log(w.files)->head(w.files);
    assert_int_equal(head.number, 20);
    audit_world_done(&w);
}

/* The last file as a crash may leave it: shorter, torn, or gone. */
static void the_database_gives_back_lines_that_a_crash_took(void **state)
{
    struct audit_world w = {0};
    AUTO_FREE char *path = NULL;
    struct stat st;

    (void)state;
    audit_world_init(&w);
    path = mem_format("%s/audit-0000000000000001.jsonl", w.audit_dir);
    for (int i = 0; i < 5; i++)
        audit_world_note(&w, "x");
    for (off_t cut = 1; cut < 900; cut += 97) {
        audit_world_close(&w);
        assert_int_equal(stat(path, &st), 0);
        assert_int_equal(truncate(path, st.st_size > cut ? st.st_size - cut : 0), 0);
        audit_world_open(&w);
        assert_int_equal(audit_world_check(&w), w.kept);
        audit_world_note(&w, "y");
        assert_int_equal(audit_world_check(&w), w.kept);
    }
    audit_world_done(&w);
}

static void old_files_go_and_leave_their_last_line(void **state)
{
    struct audit_world w = {.file_max_bytes = 1000};
    const struct audit_log *log;
    struct audit_head through = {0};
    size_t n;

    (void)state;
    audit_world_init(&w);
    log = audit_files_log(w.files);
    for (int i = 0; i < 20; i++)
        audit_world_note(&w, "x");
    n = audit_world_files(&w);
    assert_null(log->find_old(log->self, "2025", &through));
    assert_int_equal(through.number, 0);
    assert_null(log->find_old(log->self, "2027", &through));
    assert_true(through.number > 10 && through.number < 20);
    assert_null(log->remove(log->self, through.number));
    assert_int_equal(audit_world_files(&w), 1);
    assert_true(n > 1);
    audit_world_done(&w);
}

static void each_changed_byte_breaks_the_chain(void **state)
{
    struct audit_head head = audit_head_first();
    AUTO(buf_done) struct buf line = {0};

    (void)state;
    audit_seal(&head, STR("\"verb\":\"create\""), &line);
    for (size_t i = 0; i < line.size; i++) {
        struct audit_head before = audit_head_first();
        struct err *e;

        line.at[i] ^= 1;
        e = audit_line_check(&before, (struct str){line.at, line.size});
        line.at[i] ^= 1;
        assert_non_null(e);
        err_free(e);
        assert_int_equal(before.number, 0);
    }
    head = audit_head_first();
    assert_null(audit_line_check(&head, (struct str){line.at, line.size}));
    assert_int_equal(head.number, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_chain_continues_over_files_and_restarts),
        cmocka_unit_test(the_database_gives_back_lines_that_a_crash_took),
        cmocka_unit_test(old_files_go_and_leave_their_last_line),
        cmocka_unit_test(each_changed_byte_breaks_the_chain),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
