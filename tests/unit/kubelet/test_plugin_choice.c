/* test_plugin_choice.c - the devices that a plugin prefers */

#include <stdio.h>

#include "kubelet/plugin_choice.h"
#include "prop.h"
#include "test.h"

enum {
    GPUS_MAX = 16
};

/* A machine: gpus, or replicas of them, and their ids. */
struct choice_world {
    uint64_t seed;
    struct plugin_resource resource;
    char *ids[GPUS_MAX * 4];
    size_t n;
};

static void world_add(struct choice_world *w, int gpu, int replica, const char *peers)
{
    struct plugin_device d = {.gpu = gpu, .replica = replica, .is_healthy = true};

    (void)snprintf(d.uuid, sizeof(d.uuid), "GPU-%d", gpu);
    if (replica < 0)
        (void)snprintf(d.id, sizeof(d.id), "GPU-%d", gpu);
    else
        (void)snprintf(d.id, sizeof(d.id), "GPU-%d::%d", gpu, replica);
    (void)snprintf(d.peers, sizeof(d.peers), "%s", peers);
    w->ids[w->n++] = mem_strdup(d.id);
    vec_add(&w->resource.devices, d);
}

static void world_done(struct choice_world *w)
{
    for (size_t i = 0; i < w->n; i++)
        free(w->ids[i]);
    free(w->resource.name);
    vec_done(&w->resource.devices);
}

static struct err *world_choose(const struct choice_world *w, char *const *available, size_t n,
                                size_t size, const struct plugin_device **ret)
{
    const struct plugin_choice c = {
        .resource = &w->resource, .available = available, .n = n, .size = size};

    return plugin_choose(&c, ret);
}

/* Whatever is asked for comes: so many different devices, all of them available. */
static void chooses_as_many_different_devices_as_asked(void **state)
{
    struct prop_seeds seeds = prop_seeds(300);

    (void)state;
    for (uint64_t seed = seeds.first; seed < seeds.end; seed++) {
        struct prop p = {seed};
        struct choice_world w = {.seed = seed, .resource = {.name = mem_strdup("nvidia.com/gpu")}};
        size_t gpus = 1 + prop_below(&p, GPUS_MAX);
        size_t replicas = prop_chance(&p, 50) ? 0 : 1 + prop_below(&p, 4);
        const struct plugin_device *chosen[GPUS_MAX * 4] = {0};
        size_t first;
        size_t size;

        for (size_t i = 0; i < gpus; i++)
            for (size_t k = 0; k < (replicas ? replicas : 1); k++)
                world_add(&w, (int)i, replicas ? (int)k : -1,
                          prop_chance(&p, 50) ? "NV18:0-7 SYS:8-15" : "");
        first = prop_below(&p, w.n);
        size = prop_below(&p, w.n - first + 1);
        CHECK(&w, !world_choose(&w, w.ids + first, w.n - first, size, chosen));
        for (size_t i = 0; i < size; i++) {
            CHECK(&w, chosen[i] >= &w.resource.devices.at[first]);
            for (size_t k = 0; k < i; k++)
                CHECK(&w, chosen[i] != chosen[k]);
        }
        world_done(&w);
    }
}

static void spreads_replicas(void **state)
{
    struct choice_world w = {.resource = {.name = mem_strdup("nvidia.com/gpu")}};
    const struct plugin_device *chosen[4] = {0};
    int of[2] = {0};

    (void)state;
    for (int gpu = 0; gpu < 2; gpu++)
        for (int replica = 0; replica < 4; replica++)
            world_add(&w, gpu, replica, "");
    assert_null(world_choose(&w, w.ids, w.n, 4, chosen));
    for (size_t i = 0; i < 4; i++)
        of[chosen[i]->gpu]++;
    assert_int_equal(of[0], 2);
    assert_int_equal(of[1], 2);
    world_done(&w);
}

static void keeps_links_whole_for_others(void **state)
{
    static const char *const peers[] = {"NV4:1 SYS:2-3", "NV4:0 SYS:2-3", "NV4:3 SYS:0-1",
                                        "NV4:2 SYS:0-1"};
    struct choice_world w = {.resource = {.name = mem_strdup("nvidia.com/gpu")}};
    const struct plugin_device *chosen[2] = {0};

    (void)state;
    for (int gpu = 0; gpu < 4; gpu++)
        world_add(&w, gpu, -1, peers[gpu]);
    assert_null(world_choose(&w, w.ids + 1, 3, 1, chosen));
    assert_int_equal(chosen[0]->gpu, 1);
    assert_null(world_choose(&w, w.ids + 1, 3, 2, chosen));
    assert_int_equal(chosen[0]->gpu + chosen[1]->gpu, 2 + 3);
    world_done(&w);
}

static void says_what_is_wrong(void **state)
{
    char unknown[] = "GPU-9";
    char known[] = "GPU-0";
    char *strange[] = {unknown};
    struct choice_world w = {.resource = {.name = mem_strdup("nvidia.com/gpu")}};
    const struct plugin_device *chosen[2] = {0};
    char *must[] = {known, unknown};
    struct plugin_choice c = {
        .resource = &w.resource, .available = w.ids, .must = must, .n_must = 1, .size = 0};
    AUTO(err_freep) struct err *e = NULL;

    (void)state;
    world_add(&w, 0, -1, "");
    c.n = w.n;
    e = world_choose(&w, strange, 1, 1, chosen);
    assert_string_equal(err_message(e), "nvidia.com/gpu has no device \"GPU-9\"");
    err_free(e);
    e = world_choose(&w, w.ids, 1, 2, chosen);
    assert_string_equal(err_message(e), "2 devices are asked for, 1 are available");
    err_free(e);
    e = plugin_choose(&c, chosen);
    assert_string_equal(err_message(e), "more devices must be chosen than the 0 asked for");
    err_free(e);
    c.n_must = 2;
    c.size = 2;
    e = plugin_choose(&c, chosen);
    assert_string_equal(err_message(e), "device \"GPU-9\" must be chosen, but is not available");
    world_done(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chooses_as_many_different_devices_as_asked),
        cmocka_unit_test(spreads_replicas),
        cmocka_unit_test(keeps_links_whole_for_others),
        cmocka_unit_test(says_what_is_wrong),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
