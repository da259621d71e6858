/* test_cluster_feed.c - feeds of the cluster's objects to listeners, amid random changes */

#include "base/map.h"
#include "base/mem.h"
#include "control/cluster_feed.h"
#include "prop.h"
#include "test.h"
#include "world.h"

enum {
    OBJECTS = 60, /* several turns of a feed */
    CASES = 150
};

/* An object as a listener knows it. */
struct known {
    struct map_handle handle;
    char *name;
    int64_t version;
};

struct listening {
    struct world *w;
    struct known *all;
    struct feed_member *member;
    const json_t *last_put; /* for its address only: the tree is shared */
    unsigned puts;
    unsigned synced;
    uint64_t seed;
};

static struct known *known_find(const struct listening *l, const char *name)
{
    struct known *k = NULL;

    map_find_text(handle, l->all, name, k);
    return k;
}

static void put(void *arg, const char *ns, const char *name, const json_t *object)
{
    struct listening *l = arg;
    struct known *k = known_find(l, name);
    const char *text = json_text_at(object, "metadata", "resourceVersion", NULL);
    int64_t version = 0;

    CHECK(l, strcmp(ns, "default") == 0 && text);
    err_free(num_parse_int64(str_of(text), 1, INT64_MAX, &version));
    CHECK(l, version > 0 && (!k || k->version < version)); /* each version once, in order */
    if (!k) {
        k = mem_alloc(sizeof(*k));
        k->name = mem_strdup(name);
        map_add(handle, l->all, k->name, strlen(k->name), k);
    }
    k->version = version;
    l->last_put = object;
    l->puts++;
}

static void forget(struct listening *l, struct known *k)
{
    map_remove(handle, l->all, k); /* NOLINT(clang-analyzer-core.NullDereference): uthash */
    free(k->name);
    free(k);
}

static void removed(void *arg, const char *ns, const char *name, const json_t *last)
{
    struct listening *l = arg;
    struct known *k = known_find(l, name);

    (void)ns;
    (void)last;
    CHECK(l, k != NULL); /* the object was put before */
    forget(l, k);
}

/* Does the listener know exactly the durable objects? */
static bool knows_all(const struct listening *l)
{
    const struct store_range range = {.group = "", .resource = "configmaps", .ns = "default"};
    struct store_list list = {0};
    bool is_right = true;

    world_must(store_list(l->w->store, &range, NULL, NULL, 0, 0, &list));
    is_right = list.n == map_count(handle, l->all);
    for (size_t i = 0; i < list.n; i++) {
        const struct known *k = known_find(l, list.at[i]->key.name);

        is_right = is_right && k && k->version == list.at[i]->version;
    }
    store_list_done(&list);
    return is_right;
}

static void synced(void *arg)
{
    struct listening *l = arg;

    l->synced++;
}

static void listen(struct feeds *feeds, struct listening *l)
{
    const struct cluster_listener listener = {put, removed, l, synced};
    const struct feed_options options = {.loop = l->w->loop,
                                         .store = l->w->store,
                                         .objects = l->w->objects,
                                         .group = "",
                                         .resource = "configmaps"};

    l->member = feeds_join(feeds, &options, &listener);
}

static void listening_done(struct listening *l)
{
    feed_leave(l->member);
    while (l->all)
        forget(l, l->all); /* NOLINT(clang-analyzer-unix.Malloc): uthash */
}

static struct objects_request request_of(const char *name)
{
    return (struct objects_request){
        .kind = kind_find("", "configmaps"), .ns = "default", .name = name, .who = root};
}

/* Writes without running the loop: the write is durable some steps later. */
static void write_one(struct world *w, struct prop *r)
{
    AUTO_FREE char *name = mem_format("m-%02zu", prop_below(r, OBJECTS + 10));
    struct objects_request request = request_of(name);
    const struct delete_options options = {.grace_seconds = -1};
    AUTO(json_freep) json_t *object = manifest("{'apiVersion':'v1','kind':'ConfigMap'}");
    AUTO(json_freep) json_t *ret = NULL;
    AUTO(err_freep) struct err *e = NULL;
    bool is_gone = false;

    json_put_text(json_object_at(object, "metadata"), "name", name);
    switch (prop_below(r, 3)) {
    case 0:
        e = objects_create(w->objects, &request, object, NULL, NULL, &ret);
        break;
    case 1:
        json_put_text(json_object_at(json_object_at(object, "metadata"), "labels"), "v",
                      prop_chance(r, 50) ? "a" : "b");
        e = objects_patch(w->objects, &request, PATCH_MERGE, object, NULL, NULL, &ret);
        break;
    default:
        e = objects_delete(w->objects, &request, &options, NULL, NULL, &ret, &is_gone);
    }
}

static void fill(struct world *w, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        AUTO_FREE char *name = mem_format("m-%02zu", i);
        AUTO_FREE char *text = mem_format(
            "{'apiVersion':'v1','kind':'ConfigMap','metadata':{'name':'%s'},'data':{'k':'v'}}",
            name);

        world_must(
            world_create(w, (struct target){.kind = "configmaps", .ns = "default"}, text, NULL));
    }
}

static void one_seed(uint64_t seed)
{
    struct prop r = {seed};
    struct world w;
    struct listening a = {.w = &w, .seed = seed};
    struct listening b = {.w = &w, .seed = seed};
    struct feeds feeds = {0};

    world_init(&w, seed);
    fill(&w, OBJECTS);
    listen(&feeds, &a);
    for (int i = 0; i < 40; i++) {
        if (prop_chance(&r, 60))
            write_one(&w, &r);
        for (size_t n = prop_below(&r, 3); n > 0; n--)
            (void)sim_loop_step(w.loop);
        if (i == 20)
            listen(&feeds, &b); /* during the feed or after it */
    }
    sim_loop_run(w.loop);
    CHECK(&a, a.synced == 1 && knows_all(&a));
    CHECK(&b, b.synced == 1 && knows_all(&b));
    listening_done(&a);
    write_one(&w, &r);
    sim_loop_run(w.loop);
    CHECK(&b, knows_all(&b));
    listening_done(&b);
    world_done(&w);
}

static void tells_each_version_once_and_in_order_whatever_changes_meanwhile(void **state)
{
    const struct prop_seeds seeds = prop_seeds(CASES);

    (void)state;
    for (uint64_t seed = seeds.first; seed < seeds.end; seed++)
        one_seed(seed);
}

static void takes_several_turns_and_shares_its_trees(void **state)
{
    struct world w;
    struct listening a = {.w = &w};
    struct listening b = {.w = &w};
    struct feeds feeds = {0};

    (void)state;
    world_init(&w, 1);
    fill(&w, OBJECTS);
    listen(&feeds, &a);
    listen(&feeds, &b);
    assert_int_equal(a.puts, 0); /* no calls before the loop runs */
    while (a.puts == 0)
        assert_true(sim_loop_step(w.loop));
    assert_true(a.puts < OBJECTS / 2);
    assert_int_equal(a.puts, b.puts);
    assert_ptr_equal(a.last_put, b.last_put);
    assert_int_equal(a.synced, 0);
    sim_loop_run(w.loop);
    assert_int_equal(a.synced, 1);
    assert_int_equal(a.puts, OBJECTS);
    assert_true(knows_all(&a) && knows_all(&b));
    listening_done(&a);
    listening_done(&b);
    world_done(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(takes_several_turns_and_shares_its_trees),
        cmocka_unit_test(tells_each_version_once_and_in_order_whatever_changes_meanwhile),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
