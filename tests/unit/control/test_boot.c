/* test_boot.c - the objects that every cluster has, made at the server's start */

#include "control/boot.h"
#include "mem_storage.h"
#include "test.h"
#include "world.h"

static void on_ready(void *arg)
{
    size_t *n = arg;

    (*n)++;
}

static struct boot *start(struct world *w, size_t *n_ready)
{
    struct boot_options options = {.loop = w->loop, .objects = w->objects, .on_ready = on_ready};
    struct boot *b = NULL;

    options.arg = n_ready;
    world_must(boot_new(&options, &b));
    assert_int_equal(*n_ready, 0);
    return b;
}

static bool has(struct world *w, const char *name)
{
    AUTO(json_freep) json_t *ns = world_get(w, (struct target){.kind = "namespaces", .name = name});

    return ns != NULL;
}

static bool has_class(struct world *w, const char *name)
{
    AUTO(json_freep)
    json_t *class = world_get(
        w, (struct target){.group = "scheduling.k8s.io", .kind = "priorityclasses", .name = name});

    return class != NULL;
}

static void makes_what_every_cluster_has_and_tells_once(void **state)
{
    size_t n_ready = 0;
    struct world w;
    struct boot *b;
    int64_t revision;

    (void)state;
    world_init(&w, 1); /* makes two of the objects */
    b = start(&w, &n_ready);
    sim_loop_advance(w.loop, INT64_C(10000000000));
    assert_int_equal(n_ready, 1);
    assert_true(has(&w, "default") && has(&w, "kube-system") && has(&w, "kube-public") &&
                has(&w, "kube-node-lease"));
    assert_true(has_class(&w, "system-node-critical") && has_class(&w, "system-cluster-critical"));
    boot_free(b);
    revision = store_revision(w.store);
    n_ready = 0;
    b = start(&w, &n_ready);
    sim_loop_advance(w.loop, INT64_C(10000000000));
    assert_int_equal(n_ready, 1);
    assert_int_equal(store_revision(w.store), revision);
    boot_free(b);
    world_done(&w);
}

static void waits_while_the_disk_is_full(void **state)
{
    size_t n_ready = 0;
    struct world w;
    struct boot *b;

    (void)state;
    world_init(&w, 1);
    mem_storage_set_full(w.disk, true);
    b = start(&w, &n_ready);
    sim_loop_advance(w.loop, INT64_C(10000000000));
    assert_int_equal(n_ready, 0);
    assert_false(has(&w, "kube-public"));
    mem_storage_set_full(w.disk, false);
    sim_loop_advance(w.loop, INT64_C(60000000000));
    assert_int_equal(n_ready, 1);
    assert_true(has(&w, "kube-public"));
    boot_free(b);
    world_done(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(makes_what_every_cluster_has_and_tells_once),
        cmocka_unit_test(waits_while_the_disk_is_full),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
