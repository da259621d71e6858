/*
 * test_queue_tree_prop.c - Queue objects that come, move below each other and go in any order, with
 * restarts
 *
 * After each step the engine has exactly the queues whose ancestors all exist, as their objects
 * say, and each object's status says which case it is. A failing seed is printed; PROP_SEED=N
 * replays it.
 */

#include "base/mem.h"
#include "base/stamp.h"
#include "control/queue/queue_tree.h"
#include "kinds/pod/pod_state.h"
#include "prop.h"
#include "test.h"
#include "world.h"

enum {
    QUEUES = 8,
    STEPS = 40
};

struct model_queue {
    bool is_there;
    int parent; /* -1: none */
    int64_t weight;
};

struct model {
    struct world w;
    struct prop prop;
    uint64_t seed;
    struct mete_engine *engine;
    struct cluster *cluster;
    struct queue_tree *tree;
    struct model_queue queues[QUEUES];
};

/* Also for on_synced: the tree is looked at when the loop is at rest. */
static void on_change(void *arg)
{
    (void)arg;
}

static void start(struct model *m)
{
    struct queue_tree_options o = {
        .loop = m->w.loop, .on_change = on_change, .on_synced = on_change};

    m->engine = mete_engine_new(NULL);
    m->cluster = cluster_store_new(m->w.store, m->w.objects);
    o.engine = m->engine;
    o.cluster = m->cluster;
    world_must(queue_tree_new(&o, &m->tree));
}

static void stop(struct model *m)
{
    queue_tree_free(m->tree);
    cluster_free(m->cluster);
    mete_engine_free(m->engine);
}

static void name_of(int i, char ret[8])
{
    ret[0] = 'q';
    ret[1] = (char)('0' + i);
    ret[2] = '\0';
}

static struct target target_of(const char *name)
{
    return (struct target){.group = "mete.dev", .kind = "queues", .name = name, .who = &root};
}

/* Is `i` at or above `at`, by the objects? */
static bool is_above(const struct model *m, int i, int at)
{
    for (int n = 0; at >= 0 && n <= QUEUES; n++) {
        if (at == i)
            return true;
        at = m->queues[at].is_there ? m->queues[at].parent : -1;
    }
    return false;
}

static bool is_active(const struct model *m, int i)
{
    for (; i >= 0; i = m->queues[i].parent)
        if (!m->queues[i].is_there)
            return false;
    return true;
}

/* Creates or changes a queue; a cycle is refused and changes nothing. */
static void put(struct model *m, int i)
{
    int parent = prop_chance(&m->prop, 70) ? (int)prop_below(&m->prop, QUEUES) : -1;
    int64_t weight = 1 + (int64_t)prop_below(&m->prop, 3);
    char name[8];
    char above[8] = "root";
    AUTO_FREE char *spec = NULL;
    AUTO_FREE char *text = NULL;
    AUTO(err_freep) struct err *e = NULL;
    bool is_circle = parent >= 0 && is_above(m, i, parent);

    name_of(i, name);
    if (parent >= 0)
        name_of(parent, above);
    spec = mem_format("'spec':{'parent':'%s','weight':%d}", above, (int)weight);
    text = mem_format("{'metadata':{'name':'%s'},%s}", name, spec);
    if (m->queues[i].is_there) {
        AUTO_FREE char *patch = mem_format("{%s}", spec);

        e = world_patch(&m->w, target_of(name), patch, NULL);
    } else {
        e = world_create(&m->w, target_of(name), text, NULL);
    }
    CHECK(m, (e != NULL) == is_circle);
    CHECK(m, !e || err_code(e) == ERR_INVALID);
    if (!e)
        m->queues[i] = (struct model_queue){true, parent, weight};
}

static void drop(struct model *m, int i)
{
    char name[8];

    if (!m->queues[i].is_there)
        return;
    name_of(i, name);
    world_must(world_delete(&m->w, target_of(name), NULL, NULL));
    m->queues[i] = (struct model_queue){.parent = -1};
}

static void check_engine(struct model *m)
{
    size_t n = 1; /* default */
    struct mete_queue_view v;

    if (mete_engine_check(m->engine))
        fail_msg("seed %llu: %s", (unsigned long long)m->seed, mete_engine_check(m->engine));
    for (int i = 0; i < QUEUES; i++)
        n += is_active(m, i);
    CHECK(m, mete_queue_count(m->engine) == n);
    for (size_t k = 0; k < n; k++) {
        char above[8] = "";
        int i;

        CHECK(m, mete_queue_view(m->engine, k, &v) == METE_OK);
        if (v.name[0] != 'q')
            continue;
        i = v.name[1] - '0';
        if (m->queues[i].parent >= 0)
            name_of(m->queues[i].parent, above);
        CHECK(m, is_active(m, i));
        CHECK(m, text_equal(v.parent, above));
        CHECK(m, v.weight == m->queues[i].weight);
    }
}

static void check_status(struct model *m)
{
    sim_loop_advance(m->w.loop, 3 * NS_PER_SEC);
    for (int i = 0; i < QUEUES; i++) {
        AUTO(json_freep) json_t *object = NULL;
        const json_t *condition;
        char name[8];

        name_of(i, name);
        object = m->queues[i].is_there ? world_get(&m->w, target_of(name)) : NULL;
        if (!object)
            continue;
        condition = object_condition(object, "Active");
        CHECK(m, text_equal(json_text(condition, "status"), is_active(m, i) ? "True" : "False"));
        CHECK(m, text_equal(json_text(condition, "reason"),
                            is_active(m, i) ? "Ready" : "ParentMissing"));
    }
}

static void run_seed(uint64_t seed)
{
    struct model m = {.seed = seed, .prop = {seed}};

    for (int i = 0; i < QUEUES; i++)
        m.queues[i].parent = -1;
    world_init(&m.w, seed);
    start(&m);
    for (int i = 0; i < STEPS; i++) {
        size_t kind = prop_below(&m.prop, 100);
        int at = (int)prop_below(&m.prop, QUEUES);

        if (kind < 65) {
            put(&m, at);
        } else if (kind < 95) {
            drop(&m, at);
        } else {
            stop(&m);
            start(&m);
        }
        sim_loop_run(m.w.loop);
        check_engine(&m);
        if (prop_chance(&m.prop, 20))
            check_status(&m);
    }
    check_status(&m);
    stop(&m);
    world_done(&m.w);
}

static void the_engine_has_what_the_objects_say(void **state)
{
    struct prop_seeds seeds = prop_seeds(300);

    (void)state;
    for (uint64_t seed = seeds.first; seed < seeds.end; seed++)
        run_seed(seed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_engine_has_what_the_objects_say)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
