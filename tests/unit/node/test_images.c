/* test_images.c - tests of the image store without imports, which need the sandboxed child and are
 * in tests/system/test_images.py */

#include <stdio.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/stamp.h"
#include "node/image/images.h"
#include "sim_loop.h"
#include "test.h"

#define ID(c) "sha256:" c c c c c c c c c c c c c c c c
#define A     ID("aaaa")
#define B     ID("bbbb")
#define C     ID("cccc")
#define L1    ID("1111")
#define L2    ID("2222")

/* A (names a:1 and a:2) has layer 1, B (b:1) has 1 and 2, C (without a name) has 2. */
static const char index_text[] =
    "{\"version\":1,\"images\":{"
    "\"" A "\":{\"names\":[\"docker.io/t/a:1\",\"docker.io/t/a:2\"],\"layers\":[\"" L1
    "\"],\"config\":{\"user\":\"app\",\"env\":[\"X=1\"],\"workingDir\":\"/w\"},\"usedAt\":3},"
    "\"" B "\":{\"names\":[\"docker.io/t/b:1\"],\"layers\":[\"" L1 "\",\"" L2
    "\"],\"config\":{},\"usedAt\":2},"
    "\"" C "\":{\"names\":[],\"layers\":[\"" L2 "\"],\"config\":{},\"usedAt\":4}},"
    "\"layers\":{\"" L1 "\":{\"dir\":\"00000001\",\"sizeBytes\":100,\"isOpaque\":false},"
    "\"" L2 "\":{\"dir\":\"00000002\",\"sizeBytes\":20,\"isOpaque\":false}}}";

struct job {
    worker_work_fn work;
    worker_done_fn done;
    void *message;
};

/* A worker that runs jobs in the next turn of the loop, so that no call calls back. */
struct world {
    struct loop *loop;
    struct worker worker;
    struct loop_timer *timer;
    struct job jobs[64];
    size_t n_jobs;
    char *dir;
    struct images *images;
    unsigned n_changes;
    size_t n_collected;
    int64_t freed_bytes;
    int code; /* of the last answer; 0: success */
};

static void on_turn(void *arg)
{
    struct world *w = arg;

    while (w->n_jobs > 0) {
        struct job j = w->jobs[0];
        AUTO(err_freep) struct err *e = NULL;

        w->n_jobs--;
        memmove(&w->jobs[0], &w->jobs[1], w->n_jobs * sizeof(j));
        e = j.work(j.message);
        j.done(j.message, e);
    }
}

static void give(void *self, worker_work_fn work, worker_done_fn done, void *message)
{
    struct world *w = self;

    assert_true(w->n_jobs < COUNT(w->jobs));
    w->jobs[w->n_jobs++] = (struct job){work, done, message};
    loop_timer_set(w->timer, 0);
}

static void on_changed(void *arg)
{
    struct world *w = arg;

    w->n_changes++;
}

static void make_dir(const struct world *w, const char *below)
{
    AUTO_FREE char *path = mem_format("%s/%s", w->dir, below);

    assert_null(dir_make(path, 0700));
}

static bool is_there(const struct world *w, const char *below)
{
    AUTO_FREE char *path = mem_format("%s/%s", w->dir, below);

    return file_exists(path);
}

static struct err *open_images(struct world *w, int64_t high, int64_t low)
{
    const struct images_options o = {.loop = w->loop,
                                     .worker = &w->worker,
                                     .dir = w->dir,
                                     .self_path = "/nowhere/mete",
                                     .architecture = "amd64",
                                     .keep_pct_high = high,
                                     .keep_pct_low = low,
                                     .changed = on_changed,
                                     .arg = w};

    return images_new(&o, &w->images);
}

static void world_init(struct world *w)
{
    static const struct worker_ops ops = {.give = give};
    AUTO_FREE char *index = NULL;
    char uuid[37];

    uuid_make(uuid);
    *w = (struct world){.loop = sim_loop_new(), .dir = mem_format("/tmp/mete-images-%s", uuid)};
    w->worker = (struct worker){.ops = &ops, .self = w};
    w->timer = loop_timer_new(w->loop, on_turn, w);
    make_dir(w, "layers/00000001/bin");
    make_dir(w, "layers/00000002");
    make_dir(w, "layers/0000dead/half");
    make_dir(w, "work/some-import/layers/0");
    index = mem_format("%s/index.json", w->dir);
    assert_null(file_write(index, 0600, str_of(index_text)));
}

static void world_done(struct world *w)
{
    sim_loop_run(w->loop);
    images_free(w->images);
    loop_timer_free(w->timer);
    sim_loop_free(w->loop);
    assert_null(dir_remove(w->dir));
    free(w->dir);
}

static void on_done(void *arg, const struct err *e, const char *id)
{
    struct world *w = arg;

    assert_true(!e == (id != NULL));
    w->code = e ? err_http(e) : 0;
}

static void on_collected(void *arg, const struct err *e, size_t n, int64_t bytes)
{
    struct world *w = arg;

    assert_null(e);
    w->n_collected = n;
    w->freed_bytes = bytes;
}

static int rm(struct world *w, const char *name)
{
    w->code = -1;
    images_remove(w->images, name, on_done, w);
    assert_int_equal(w->code, -1); /* no callback from inside the call */
    sim_loop_run(w->loop);
    return w->code;
}

static void images_are_found_by_every_name(void **state)
{
    static const struct {
        const char *name;
        const char *id; /* NULL: none */
    } cases[] = {{"t/a:1", A}, {"docker.io/t/a:2", A}, {"t/b:1", B},
                 {A, A},       {"t/a", NULL},          {"t/a:3", NULL},
                 {"", NULL},   {"Not A Name", NULL},   {"aaaaaaaaaaaa", NULL}};
    struct world w;
    size_t n = 0;

    (void)state;
    world_init(&w);
    assert_null(open_images(&w, 0, 0));
    for (size_t i = 0; i < COUNT(cases); i++) {
        const struct image *m = images_find(w.images, cases[i].name);

        assert_true(!m == !cases[i].id);
        if (m)
            assert_string_equal(m->id, cases[i].id);
    }
    assert_string_equal(images_find_short(w.images, "aaaaaa")->id, A);
    assert_null(images_find_short(w.images, "aaaaa"));
    assert_string_equal(images_list(w.images, &n)[0]->id, A);
    assert_int_equal(n, 3);
    assert_string_equal(images_find(w.images, A)->user, "app");
    assert_string_equal(images_find(w.images, A)->working_dir, "/w");
    assert_null(images_find(w.images, B)->entrypoint);
    assert_int_equal(images_find(w.images, B)->size_bytes, 120);
    world_done(&w);
}

static void what_a_start_before_left_is_removed(void **state)
{
    struct world w;

    (void)state;
    world_init(&w);
    assert_null(open_images(&w, 0, 0));
    sim_loop_run(w.loop);
    assert_false(is_there(&w, "layers/0000dead"));
    assert_false(is_there(&w, "work/some-import"));
    assert_true(is_there(&w, "layers/00000001/bin"));
    world_done(&w);
}

static void an_image_that_lost_a_layer_is_forgotten(void **state)
{
    struct world w;
    AUTO_FREE char *layer = NULL;

    (void)state;
    world_init(&w);
    layer = mem_format("%s/layers/00000002", w.dir);
    assert_null(dir_remove(layer));
    assert_null(open_images(&w, 0, 0));
    assert_non_null(images_find(w.images, A));
    assert_null(images_find(w.images, B));
    assert_null(images_find(w.images, C));
    world_done(&w);
}

static void a_damaged_index_stops_the_start(void **state)
{
    struct world w;
    AUTO_FREE char *index = NULL;
    AUTO(err_freep) struct err *e = NULL;

    (void)state;
    world_init(&w);
    index = mem_format("%s/index.json", w.dir);
    assert_null(file_write(index, 0600, STR("{\"version\":1,\"images\":")));
    e = open_images(&w, 0, 0);
    assert_non_null(e);
    assert_non_null(strstr(err_message(e), "index.json"));
    assert_true(is_there(&w, "layers/00000001/bin")); /* the files stay */
    world_done(&w);
}

static void a_name_goes_first_and_the_image_with_its_last(void **state)
{
    struct world w;

    (void)state;
    world_init(&w);
    assert_null(open_images(&w, 0, 0));
    images_use(w.images, A, "u1");
    images_use(w.images, A, "u1");
    images_use(w.images, A, "u2");
    assert_int_equal(images_uses(w.images, A), 2);
    assert_int_equal(rm(&w, "t/none:1"), 404);
    assert_int_equal(rm(&w, "t/a:1"), 0);
    assert_null(images_find(w.images, "t/a:1"));
    assert_int_equal(rm(&w, "t/a:2"), 409);
    images_unuse(w.images, "u1");
    assert_int_equal(rm(&w, "t/a:2"), 409);
    images_unuse(w.images, "u2");
    assert_int_equal(rm(&w, "t/a:2"), 0);
    assert_null(images_find(w.images, A));
    assert_true(is_there(&w, "layers/00000001")); /* B has the layer, too */
    assert_int_equal(rm(&w, B), 0);
    assert_false(is_there(&w, "layers/00000001"));
    assert_true(is_there(&w, "layers/00000002"));
    images_free(w.images);
    w.images = NULL;
    assert_null(open_images(&w, 0, 0)); /* the same after a restart */
    assert_null(images_find(w.images, B));
    assert_non_null(images_find(w.images, C));
    world_done(&w);
}

static void collecting_takes_what_nobody_uses(void **state)
{
    struct world w;

    (void)state;
    world_init(&w);
    assert_null(open_images(&w, 0, 0));
    images_gc(w.images, false, on_collected, &w);
    sim_loop_run(w.loop);
    assert_int_equal(w.n_collected, 1); /* C; B keeps its layer */
    assert_int_equal(w.freed_bytes, 0);
    images_use(w.images, A, "u1");
    images_gc(w.images, true, on_collected, &w);
    sim_loop_run(w.loop);
    assert_int_equal(w.n_collected, 1);
    assert_int_equal(w.freed_bytes, 20);
    assert_non_null(images_find(w.images, A));
    assert_int_equal(w.n_changes, 2);
    world_done(&w);
}

/* With these marks every disk counts as full: all removable images go, in order, and no other. */
static void a_full_disk_takes_the_longest_unused_first(void **state)
{
    struct world w;

    (void)state;
    world_init(&w);
    sim_loop_advance(w.loop, 1000 * NS_PER_SEC);
    assert_null(open_images(&w, 1, 1));
    images_use(w.images, A, "u1"); /* in use */
    images_use(w.images, B, "u2"); /* not in use, but used just now */
    images_unuse(w.images, "u2");
    sim_loop_advance(w.loop, 100 * NS_PER_SEC);
    assert_non_null(images_find(w.images, C)); /* the uses are not known yet */
    images_settled(w.images);
    sim_loop_advance(w.loop, 61 * NS_PER_SEC);
    assert_null(images_find(w.images, C));
    sim_loop_advance(w.loop, 200 * NS_PER_SEC);
    assert_null(images_find(w.images, B));
    assert_non_null(images_find(w.images, A));
    sim_loop_advance(w.loop, 600 * NS_PER_SEC);
    assert_non_null(images_find(w.images, A));
    world_done(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(images_are_found_by_every_name),
        cmocka_unit_test(what_a_start_before_left_is_removed),
        cmocka_unit_test(an_image_that_lost_a_layer_is_forgotten),
        cmocka_unit_test(a_damaged_index_stops_the_start),
        cmocka_unit_test(a_name_goes_first_and_the_image_with_its_last),
        cmocka_unit_test(collecting_takes_what_nobody_uses),
        cmocka_unit_test(a_full_disk_takes_the_longest_unused_first),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
