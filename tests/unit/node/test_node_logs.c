/* test_node_logs.c - tests of logs, from real files, over fake pods and a fake connection */

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/stamp.h"
#include "client/frames.h"
#include "node/log/log_parts.h"
#include "node/log/logs.h"
#include "node_world.h"
#include "test.h"

struct reader {
    struct node_world world;
    struct logs *logs;
    struct stream_out out;
    struct stream_service service;
    char dir[64];
    char *path; /* the log of attempt 0 */
    struct buf text;
    int code; /* of the stream's end; 0: not ended */
    char message[256];
    bool is_full;
    size_t sent_at_most;
};

static void on_data(void *arg, uint32_t id, struct str bytes)
{
    struct reader *r = arg;

    assert_int_equal(id, 1);
    assert_in_range(bytes.size, 1, FRAME_PAYLOAD_MAX);
    buf_add(&r->text, bytes.at, bytes.size);
}

static void on_end(void *arg, uint32_t id, int code, const char *message)
{
    struct reader *r = arg;

    assert_int_equal(id, 1);
    assert_int_equal(r->code, 0);
    r->code = code;
    (void)snprintf(r->message, sizeof(r->message), "%s", message);
}

static bool is_full(void *arg)
{
    return ((struct reader *)arg)->is_full;
}

static void reader_init(struct reader *r)
{
    struct logs_options o = {.out = &r->out};
    AUTO(json_freep)
    json_t *pod = node_world_pod("{\"restartPolicy\":\"Always\",\"containers\":[{\"name\":\"m\","
                                 "\"image\":\"host\",\"command\":[\"true\"]}]}",
                                 "{}");
    AUTO_FREE char *dir = NULL;

    *r = (struct reader){.out = {.data = on_data, .end = on_end, .is_full = is_full, .arg = r}};
    node_world_init(&r->world);
    (void)snprintf(r->dir, sizeof(r->dir), "/tmp/test_node_logs.XXXXXX");
    assert_non_null(mkdtemp(r->dir));
    r->world.pods->o.dir = r->dir;
    node_world_put(&r->world, pod);
    dir = mem_format("%s/log/default_p_u1/m", r->dir);
    assert_null(dir_make(dir, 0755));
    r->path = mem_format("%s/0.log", dir);
    o.loop = r->world.loop;
    o.pods = r->world.pods;
    r->logs = logs_new(&o);
    r->service = logs_service(r->logs);
    assert_string_equal(r->service.ops[0], "logs");
}

static void reader_done(struct reader *r)
{
    logs_free(r->logs);
    r->world.pods->o.dir = "/data/node";
    node_world_done(&r->world);
    err_free(dir_remove(r->dir));
    buf_done(&r->text);
    free(r->path);
}

static void append(struct reader *r, const char *text)
{
    FILE *f = fopen(r->path, "ae");

    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

static void ask(struct reader *r, const char *question)
{
    AUTO(json_freep) json_t *tree = NULL;
    struct err *e = json_parse(str_of(question), &tree);

    assert_null(e);
    r->service.open(r->service.self, 1, tree);
    sim_loop_run(r->world.loop);
}

#define Q(more) "{\"podUid\":\"u1\",\"container\":\"m\",\"attempt\":0" more "}"

static void answers_what_is_asked(void **state)
{
    static const struct {
        const char *question;
        const char *want;
        int code;
        const char *message;
    } cases[] = {
        {Q(""), "one\ntwo and more\nthree\n", 200, ""},
        {Q(",\"tailLines\":1"), "three\n", 200, ""},
        {Q(",\"tailLines\":2"), "two and more\nthree\n", 200, ""},
        {Q(",\"tailLines\":0"), "", 200, ""},
        {Q(",\"tailLines\":99"), "one\ntwo and more\nthree\n", 200, ""},
        {Q(",\"limitBytes\":6"), "one\ntw", 200, ""},
        {Q(",\"timestamps\":true,\"tailLines\":2"), "T2 two and more\nT4 three\n", 200, ""},
        {"{\"podUid\":\"u2\",\"container\":\"m\"}", "", 404, "container 'm' is not on this node"},
        {"{\"podUid\":\"u1\",\"container\":\"x\"}", "", 404, "container 'x' is not on this node"},
        {"{\"podUid\":\"u1\",\"container\":\"m\",\"previous\":true}", "", 400,
         "previous terminated container 'm' not found"},
        {"{\"container\":\"m\"}", "", 400, "want podUid and container"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct reader r;

        reader_init(&r);
        append(&r, "T1 stdout F one\nT2 stdout P two \nT3 stdout F and more\nT4 stderr F three\n");
        ask(&r, cases[i].question);
        assert_string_equal(r.text.at ? r.text.at : "", cases[i].want);
        assert_int_equal(r.code, cases[i].code);
        assert_string_equal(r.message, cases[i].message);
        reader_done(&r);
    }
}

static void follows_until_the_container_ends(void **state)
{
    struct reader r;

    (void)state;
    reader_init(&r);
    append(&r, "T stdout F one\n");
    ask(&r, Q(",\"follow\":true"));
    assert_string_equal(r.text.at, "one\n");
    append(&r, "T stdout F tw");
    assert_true(sim_loop_wait_io(r.world.loop, 5000));
    assert_string_equal(r.text.at, "one\n"); /* an incomplete line is not sent */
    append(&r, "o\n");
    assert_true(sim_loop_wait_io(r.world.loop, 5000));
    assert_string_equal(r.text.at, "one\ntwo\n");
    append(&r, "T stdout F last\n");
    node_world_end(&r.world, "u1-m-0", 1);
    pods_tell(r.world.pods);
    sim_loop_run(r.world.loop); /* the end comes at once */
    assert_string_equal(r.text.at, "one\ntwo\nlast\n");
    assert_int_equal(r.code, 200);
    reader_done(&r);
}

static void follows_a_file_that_is_not_there_yet(void **state)
{
    struct reader r;

    (void)state;
    reader_init(&r);
    ask(&r, Q(",\"follow\":true"));
    sim_loop_advance(r.world.loop, NS_PER_SEC);
    assert_int_equal(r.code, 0);
    append(&r, "T stdout F one\n");
    sim_loop_advance(r.world.loop, NS_PER_SEC);
    assert_string_equal(r.text.at, "one\n");
    reader_done(&r);
}

/* No byte is sent without credit, none is read ahead, none is lost. */
static void a_slow_reader_costs_one_buffer(void **state)
{
    const size_t lines = 40000;
    struct buf all = {0};
    struct reader r;

    (void)state;
    reader_init(&r);
    for (size_t i = 0; i < lines; i++)
        buf_printf(&all, "T stdout F line number %zu\n", i);
    append(&r, all.at);
    ask(&r, Q(""));
    assert_int_equal(r.text.size, FRAME_CREDIT_FIRST);
    sim_loop_advance(r.world.loop, 60 * NS_PER_SEC);
    assert_int_equal(r.text.size, FRAME_CREDIT_FIRST);
    r.service.credit(r.service.self, 1, 10);
    sim_loop_run(r.world.loop);
    assert_int_equal(r.text.size, FRAME_CREDIT_FIRST + 10);
    r.is_full = true;
    r.service.credit(r.service.self, 1, 1 << 30);
    sim_loop_run(r.world.loop);
    assert_int_equal(r.text.size, FRAME_CREDIT_FIRST + 10);
    r.is_full = false;
    r.service.drained(r.service.self);
    sim_loop_run(r.world.loop);
    assert_int_equal(r.code, 200);
    assert_int_equal(r.text.size, all.size - lines * strlen("T stdout F "));
    assert_string_equal(r.text.at + r.text.size - strlen("line number 39999\n"),
                        "line number 39999\n");
    buf_done(&all);
    reader_done(&r);
}

static void finds_the_tail_of_a_large_log(void **state)
{
    struct buf all = {0};
    struct reader r;

    (void)state;
    reader_init(&r);
    for (size_t i = 0; i < 50000; i++)
        buf_printf(&all, "T stdout F %zu\n", i);
    append(&r, all.at);
    ask(&r, Q(",\"tailLines\":7000"));
    assert_int_equal(r.code, 200);
    assert_true(str_starts_with((struct str){r.text.at, r.text.size}, STR("43000\n43001\n")));
    assert_int_equal(r.text.size, 7000 * strlen("43000\n"));
    buf_done(&all);
    reader_done(&r);
}

static void a_cancelled_reader_hears_no_more(void **state)
{
    struct reader r;

    (void)state;
    reader_init(&r);
    append(&r, "T stdout F one\n");
    ask(&r, Q(",\"follow\":true"));
    r.service.cancel(r.service.self, 1);
    append(&r, "T stdout F two\n");
    sim_loop_advance(r.world.loop, NS_PER_SEC);
    assert_string_equal(r.text.at, "one\n");
    assert_int_equal(r.code, 0);
    reader_done(&r);
}

/* ---- a log in parts ---- */

static void write_part(struct reader *r, const char *suffix, const char *text)
{
    AUTO_FREE char *path = mem_format("%s%s", r->path, suffix);

    assert_null(file_write(path, 0600, str_of(text)));
}

/* Rotates as conmon does when its file is full. */
static void begin_anew(struct reader *r)
{
    AUTO_FREE char *other = mem_format("%s.tmp", r->path);

    assert_null(file_write(other, 0600, STR("")));
    assert_int_equal(rename(other, r->path), 0);
}

static size_t count_parts(const struct reader *r)
{
    struct log_parts p = {0};
    size_t n;

    assert_null(log_parts_read(r->path, &p));
    n = p.list.n;
    log_parts_done(&p);
    return n;
}

#define AT(second) "2026-01-01T00:00:0" #second ".5+00:00 stdout F "

static void reads_over_all_parts(void **state)
{
    static const struct {
        const char *question;
        const char *want;
    } cases[] = {
        {Q(""), "one\ntwo\nthree\nfour\nfive\nopen"},
        {Q(",\"tailLines\":1"), "open"},
        {Q(",\"tailLines\":2"), "five\nopen"},
        {Q(",\"tailLines\":4"), "three\nfour\nfive\nopen"},
        {Q(",\"tailLines\":5"), "two\nthree\nfour\nfive\nopen"},
        {Q(",\"tailLines\":9"), "one\ntwo\nthree\nfour\nfive\nopen"},
        {Q(",\"tailLines\":0"), ""},
        {Q(",\"sinceTime\":\"2026-01-01T00:00:03.5Z\""), "three\nfour\nfive\nopen"},
        {Q(",\"sinceTime\":\"2026-01-01T00:00:04.6Z\""), "five\nopen"},
        {Q(",\"sinceTime\":\"2026-01-01T00:00:09Z\""), ""},
        {Q(",\"sinceTime\":\"2025-01-01T00:00:00Z\",\"limitBytes\":6"), "one\ntw"},
        {Q(",\"sinceTime\":\"2026-01-01T00:00:02Z\",\"tailLines\":3"), "four\nfive\nopen"},
        {Q(",\"tailLines\":1,\"timestamps\":true"), "2026-01-01T00:00:06.500000000Z open"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct reader r;

        reader_init(&r);
        write_part(&r, ".9", AT(1) "one\n" AT(2) "two\n");
        write_part(&r, ".10", AT(3) "three\n");
        write_part(&r, ".x", AT(3) "not a part\n");
        append(&r, AT(4) "four\n" AT(5) "five\n2026-01-01T00:00:06.5+00:00 stderr P open\n");
        ask(&r, cases[i].question);
        assert_string_equal(r.text.at ? r.text.at : "", cases[i].want);
        assert_int_equal(r.code, 200);
        reader_done(&r);
    }
}

/* conmon gives all that it reads at once one stamp, and may begin a new file in the middle. */
static void lines_of_one_stamp_are_read_over_all_parts(void **state)
{
    struct reader r;

    (void)state;
    reader_init(&r);
    write_part(&r, ".1", AT(1) "one\n" AT(2) "two\n");
    write_part(&r, ".2", AT(2) "three\n");
    append(&r, AT(2) "four\n" AT(3) "five\n");
    ask(&r, Q(",\"sinceTime\":\"2026-01-01T00:00:02.5Z\""));
    assert_string_equal(r.text.at, "two\nthree\nfour\nfive\n");
    reader_done(&r);
}

/* This machine's clock in the world is at 00:00:01. */
static void shows_what_is_not_older(void **state)
{
    struct reader r;

    (void)state;
    reader_init(&r);
    sim_loop_advance(r.world.loop, 5 * NS_PER_SEC);
    append(&r, AT(1) "one\n" AT(3) "three\n");
    ask(&r, Q(",\"sinceSeconds\":3"));
    assert_string_equal(r.text.at, "three\n");
    reader_done(&r);
}

static void a_line_belongs_to_the_time_of_its_begin(void **state)
{
    struct reader r;

    (void)state;
    reader_init(&r);
    append(&r, "2026-01-01T00:00:01+00:00 stdout P early \n" AT(3) "and late\n" AT(4) "next\n");
    ask(&r, Q(",\"sinceTime\":\"2026-01-01T00:00:02Z\""));
    assert_string_equal(r.text.at, "next\n");
    reader_done(&r);
}

static void follows_from_part_to_part(void **state)
{
    struct reader r;

    (void)state;
    reader_init(&r);
    append(&r, AT(1) "one\n");
    assert_null(log_parts_keep(r.path, 3));
    ask(&r, Q(",\"follow\":true"));
    append(&r, AT(2) "two\n");
    begin_anew(&r);
    append(&r, AT(3) "three\n"); /* lines two and three were not read before */
    sim_loop_advance(r.world.loop, NS_PER_SEC);
    assert_string_equal(r.text.at, "one\ntwo\nthree\n");
    assert_null(log_parts_keep(r.path, 3));
    for (int i = 0; i < 2; i++) { /* two rotations before the reader looks */
        append(&r, AT(4) "four\n");
        begin_anew(&r);
        assert_null(log_parts_keep(r.path, 3));
    }
    append(&r, AT(5) "five\n");
    sim_loop_advance(r.world.loop, NS_PER_SEC);
    assert_string_equal(r.text.at, "one\ntwo\nthree\nfour\nfour\nfive\n");
    assert_int_equal(r.code, 0);
    reader_done(&r);
}

/* The follower's part was removed, or has no link: it continues with the parts left. */
static void a_follower_that_is_too_slow_goes_on_with_what_is_left(void **state)
{
    struct reader r;

    (void)state;
    reader_init(&r);
    append(&r, AT(1) "one\n");
    ask(&r, Q(",\"follow\":true"));
    append(&r, AT(2) "two\n");
    begin_anew(&r); /* without a link, but the reader has the file open */
    append(&r, AT(3) "three\n");
    begin_anew(&r); /* this file is lost */
    append(&r, AT(4) "four\n");
    sim_loop_advance(r.world.loop, NS_PER_SEC);
    assert_string_equal(r.text.at, "one\ntwo\nfour\n");
    append(&r, AT(5) "five\n");
    sim_loop_advance(r.world.loop, NS_PER_SEC);
    assert_string_equal(r.text.at, "one\ntwo\nfour\nfive\n");
    reader_done(&r);
}

static void keeps_so_many_files(void **state)
{
    struct reader r;

    (void)state;
    reader_init(&r);
    for (int i = 0; i < 10; i++) {
        append(&r, AT(1) "one\n");
        assert_null(log_parts_keep(r.path, 3));
        assert_null(log_parts_keep(r.path, 3)); /* again, without effect */
        assert_int_equal(count_parts(&r), i < 2 ? i + 1 : 3);
        begin_anew(&r);
    }
    ask(&r, Q(""));
    assert_string_equal(r.text.at,
                        "one\none\none\n"); /* the newest file is empty and has no link yet */
    assert_null(log_parts_remove(r.path));
    assert_null(log_parts_remove(r.path));
    assert_false(file_exists(r.path));
    reader_done(&r);
}

static void the_attempt_before_is_the_one_that_ended_last(void **state)
{
    struct reader r;

    (void)state;
    reader_init(&r);
    append(&r, AT(1) "first\n");
    node_world_end(&r.world, "u1-m-0", 1);
    assert_int_equal(pods_log_previous(r.world.pods, "u1", "m"), 0);
    ask(&r, "{\"podUid\":\"u1\",\"container\":\"m\",\"previous\":true}");
    assert_string_equal(r.text.at, "first\n");
    node_world_end(&r.world, "u1-m-1", 1); /* then waits for its back-off */
    assert_int_equal(pods_log_previous(r.world.pods, "u1", "m"), 1);
    reader_done(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_what_is_asked),
        cmocka_unit_test(follows_until_the_container_ends),
        cmocka_unit_test(follows_a_file_that_is_not_there_yet),
        cmocka_unit_test(a_slow_reader_costs_one_buffer),
        cmocka_unit_test(finds_the_tail_of_a_large_log),
        cmocka_unit_test(a_cancelled_reader_hears_no_more),
        cmocka_unit_test(reads_over_all_parts),
        cmocka_unit_test(lines_of_one_stamp_are_read_over_all_parts),
        cmocka_unit_test(shows_what_is_not_older),
        cmocka_unit_test(a_line_belongs_to_the_time_of_its_begin),
        cmocka_unit_test(follows_from_part_to_part),
        cmocka_unit_test(a_follower_that_is_too_slow_goes_on_with_what_is_left),
        cmocka_unit_test(keeps_so_many_files),
        cmocka_unit_test(the_attempt_before_is_the_one_that_ended_last),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
