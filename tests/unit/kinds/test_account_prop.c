/*
 * test_account_prop.c - random lives of pods, gpus and nodes: does accounting add up?
 *
 * Pods are bound, restarted, ended, deleted; gpus become unhealthy, vanish, come back; nodes are
 * silent, cordoned, deleted; clocks are set back and forth; the server is killed. After each step,
 * and over random periods: every gpu's time adds up to the ns, and each attempt has one row.
 *
 * PROP_SEED=N runs that seed alone, PROP_CASES=N sets the number of cases.
 */

#include <inttypes.h>
#include <stdio.h>

#include "base/mem.h"
#include "base/num.h"
#include "base/stamp.h"
#include "base/vec.h"
#include "kinds/account/account.h"
#include "kinds/ledger.h"
#include "kinds/pod/pod_state.h"
#include "kinds/pod/pod_view.h"
#include "prop.h"
#include "test.h"
#include "world.h"

enum {
    SEEDS = 150,
    STEPS = 80,
    NAMES = 5,
    NODES = 2,
    GPUS = 3
};

static const char *const names[NAMES] = {"a", "b", "c", "d", "e"};
static const char *const nodes[NODES] = {"n0", "n1"};

/* The model, which does not read the rows: the number of attempts. */
struct run {
    struct world w;
    uint64_t seed;
    int64_t began_ns;
    size_t n_bound;
    size_t n_restarts;
};

static struct target pod_of(const char *name, const char *sub)
{
    return (struct target){.kind = "pods", .name = name, .sub = sub, .who = &ours};
}

static const char *any_name(struct run *r)
{
    return names[world_pick(&r->w, NAMES)];
}

static bool is_absent(const json_t *pod)
{
    return !pod;
}

static bool is_unbound(const json_t *pod)
{
    return pod && !*pod_node(pod);
}

static bool is_live(const json_t *pod)
{
    return pod && *pod_node(pod) && !pod_is_terminal(pod);
}

/* The name of a random pod that `is_wanted` accepts, or of any pod if there is none. */
static const char *name_of(struct run *r, bool (*is_wanted)(const json_t *pod))
{
    size_t first = world_pick(&r->w, NAMES);

    for (size_t i = 0; i < NAMES; i++) {
        const char *name = names[(first + i) % NAMES];
        AUTO(json_freep) json_t *pod = world_get(&r->w, pod_of(name, NULL));

        if (is_wanted(pod))
            return name;
    }
    return names[first];
}

static void settle(struct err *e)
{
    AUTO(err_freep) struct err *mine = e;

    if (mine && err_http(mine) != 404 && err_http(mine) != 409 && err_http(mine) != 422 &&
        err_http(mine) != 403)
        fail_msg("%d %s", err_http(mine), err_message(mine));
}

static void do_create(struct run *r)
{
    settle(
        world_add_pod(&r->w, "default", name_of(r, is_absent), (int)world_pick(&r->w, GPUS + 1)));
}

static void do_bind(struct run *r)
{
    struct err *e =
        world_bind(&r->w, "default", name_of(r, is_unbound), nodes[world_pick(&r->w, NODES)]);

    r->n_bound += e ? 0 : 1;
    settle(e);
}

static void do_restart(struct run *r)
{
    const char *name = name_of(r, is_live);
    AUTO(json_freep) json_t *pod = world_get(&r->w, pod_of(name, NULL));
    int64_t more = (int64_t)world_pick(&r->w, 3);
    json_t *statuses = json_at(pod, "status", "containerStatuses", NULL);
    int64_t count = json_int(json_array_get(statuses, 0), "restartCount", 0) + more;
    AUTO_FREE char *text = mem_format(
        "{'metadata':{'annotations':{'mete.dev/usage':'{}'}},'status':{'containerStatuses':[{"
        "'name':'main','restartCount':%" PRId64 ",'state':{},'lastState':{'terminated':{"
        "'exitCode':1}},'ready':true,'image':'host','imageID':''}]}}",
        count);

    if (!is_live(pod))
        return;
    world_must(world_patch(&r->w, pod_of(name, "status"), text, NULL));
    r->n_restarts += (size_t)more;
}

static void do_end(struct run *r)
{
    const char *name = name_of(r, is_live);

    settle(world_patch(&r->w, pod_of(name, "status"),
                       world_pick(&r->w, 2) ? "{'status':{'phase':'Succeeded'}}"
                                            : "{'status':{'phase':'Failed'}}",
                       NULL));
}

static void do_delete(struct run *r)
{
    static const int64_t graces[] = {-1, 0, 0, 5};
    struct delete_options d = {.grace_seconds = graces[world_pick(&r->w, COUNT(graces))]};

    settle(world_delete(&r->w, pod_of(any_name(r), NULL), &d, NULL));
}

/* The node reports its gpus again: some are unhealthy, some are missing. */
static void do_node(struct run *r)
{
    static const char *const healths[] = {"healthy", "healthy", "healthy", "unhealthy", "lost"};
    const char *node = nodes[world_pick(&r->w, NODES)];
    AUTO(buf_done) struct buf text = {0};
    size_t n = 0;

    buf_add_text(&text, "{'metadata':{'annotations':{'mete.dev/gpus':'[");
    for (int i = 0; i < GPUS; i++) {
        if (world_pick(&r->w, 6) == 0)
            continue;
        buf_printf(&text, "%s{\\'uuid\\':\\'GPU-%s-%d\\',\\'index\\':%d,\\'health\\':\\'%s\\'}",
                   n++ ? "," : "", node, i, i, healths[world_pick(&r->w, COUNT(healths))]);
    }
    buf_add_text(&text, "]'}}}");
    settle(world_patch(&r->w, (struct target){.kind = "nodes", .name = node, .who = &ours}, text.at,
                       NULL));
}

static void do_ready(struct run *r)
{
    static const char *const patches[] = {
        "{'status':{'conditions':[{'type':'Ready','status':'True'}]}}",
        "{'status':{'conditions':[{'type':'Ready','status':'True'}]}}",
        "{'status':{'conditions':[{'type':'Ready','status':'Unknown'}]}}",
    };
    struct target t = {
        .kind = "nodes", .name = nodes[world_pick(&r->w, NODES)], .sub = "status", .who = &ours};

    settle(world_patch(&r->w, t, patches[world_pick(&r->w, COUNT(patches))], NULL));
}

static void do_cordon(struct run *r)
{
    struct target t = {.kind = "nodes", .name = nodes[world_pick(&r->w, NODES)], .who = &root};

    settle(world_patch(&r->w, t,
                       world_pick(&r->w, 2) ? "{'spec':{'unschedulable':true}}"
                                            : "{'spec':{'unschedulable':null}}",
                       NULL));
}

static void do_node_gone(struct run *r)
{
    const char *node = nodes[world_pick(&r->w, NODES)];

    settle(world_delete(&r->w, (struct target){.kind = "nodes", .name = node, .who = &root}, NULL,
                        NULL));
    if (world_pick(&r->w, 2))
        world_add_node(&r->w, node, GPUS);
}

static void do_add_node(struct run *r)
{
    const char *node = nodes[world_pick(&r->w, NODES)];
    AUTO(json_freep)
    json_t *there = world_get(&r->w, (struct target){.kind = "nodes", .name = node});

    if (!there)
        world_add_node(&r->w, node, GPUS);
}

static void do_wait(struct run *r)
{
    sim_loop_advance(r->w.loop, (int64_t)(world_random(&r->w) % 100000000000ULL));
}

static void do_clock(struct run *r)
{
    int64_t step_ns = (int64_t)(world_random(&r->w) % 20000000000ULL) - 10000000000;

    sim_loop_step_wall(r->w.loop, step_ns);
}

static void do_kill(struct run *r)
{
    world_restart(&r->w);
}

static void (*const actions[])(struct run *) = {
    do_create, do_create, do_create, do_bind,  do_bind,  do_bind,      do_restart, do_restart,
    do_end,    do_delete, do_delete, do_node,  do_ready, do_ready,     do_cordon,  do_add_node,
    do_wait,   do_wait,   do_wait,   do_clock, do_kill,  do_node_gone,
};

/* Checks that each attempt has one row, and that rows of a placement follow each other without a
 * gap. */
struct seen {
    char *uid;
    int64_t attempt;
    int64_t from_ns;
    int64_t to_ns;
};

struct all_seen {
    VEC(struct seen) rows;
};

static void see(void *arg, const struct account_row *row)
{
    struct all_seen *all = arg;

    vec_add(&all->rows, (struct seen){.uid = mem_strdup(row->uid),
                                      .attempt = row->attempt,
                                      .from_ns = row->from_ns,
                                      .to_ns = row->to_ns});
}

static void see_all(struct run *r, struct all_seen *all)
{
    const struct store_range rows = account_rows();
    const struct store_range placements = account_placements();
    struct store_list list = {0};

    world_must(store_list(r->w.store, &rows, NULL, NULL, 0, 0, &list));
    for (size_t i = 0; i < list.n; i++) {
        AUTO(json_freep) json_t *tree = NULL;
        struct account_row row = {0};

        world_must(json_parse(list.at[i]->bytes, &tree));
        assert_true(account_row_read(tree, &row));
        see(all, &row);
    }
    store_list_done(&list);
    world_must(store_list(r->w.store, &placements, NULL, NULL, 0, 0, &list));
    for (size_t i = 0; i < list.n; i++)
        account_each_open(list.at[i], see, all);
    store_list_done(&list);
}

static int compare_seen(const void *a, const void *b)
{
    const struct seen *one = a;
    const struct seen *other = b;
    int order = strcmp(one->uid, other->uid);

    if (order != 0)
        return order;
    return one->attempt < other->attempt ? -1 : one->attempt > other->attempt;
}

static void check_attempts(struct run *r)
{
    struct all_seen all = {0};

    see_all(r, &all);
    if (all.rows.n > 1)
        qsort(all.rows.at, all.rows.n, sizeof(all.rows.at[0]), compare_seen);
    assert_int_equal(all.rows.n, r->n_bound + r->n_restarts);
    for (size_t i = 0; i < all.rows.n; i++) {
        const struct seen *row = &all.rows.at[i];
        const struct seen *before = i > 0 ? row - 1 : NULL;

        assert_true(row->from_ns <= row->to_ns);
        if (before && text_equal(before->uid, row->uid)) {
            assert_int_equal(row->attempt, before->attempt + 1);
            assert_int_equal(row->from_ns, before->to_ns);
        } else {
            assert_int_equal(row->attempt, 0);
        }
    }
    for (size_t i = 0; i < all.rows.n; i++)
        free(all.rows.at[i].uid);
    vec_done(&all.rows);
}

static void check(struct run *r)
{
    int64_t now_ns = objects_now_ns(r->w.objects);
    int64_t span_ns = now_ns - r->began_ns;
    int64_t from_ns = r->began_ns + (int64_t)(world_random(&r->w) % (uint64_t)(span_ns + 1));
    int64_t to_ns = from_ns + (int64_t)(world_random(&r->w) % (uint64_t)(now_ns - from_ns + 1));
    struct err *e = account_check(r->w.store, r->began_ns, now_ns);

    if (!e)
        e = account_check(r->w.store, from_ns, to_ns);
    if (!e)
        e = ledger_check(r->w.store);
    if (e)
        fail_msg("seed %llu: %s", (unsigned long long)r->seed, err_message(e));
    check_attempts(r);
}

/* Runs one seed. Returns the number of attempts. */
static size_t run_seed(uint64_t seed)
{
    struct run r = {.seed = seed};

    world_init(&r.w, seed);
    r.began_ns = loop_wall_ns(r.w.loop) - 3600 * NS_PER_SEC; /* earlier than any clock of the run */
    for (size_t i = 0; i < NODES; i++)
        world_add_node(&r.w, nodes[i], GPUS);
    for (int i = 0; i < STEPS; i++) {
        actions[world_pick(&r.w, COUNT(actions))](&r);
        check(&r);
    }
    world_done(&r.w);
    return r.n_bound + r.n_restarts;
}

static void the_time_of_each_gpu_adds_up(void **state)
{
    struct prop_seeds seeds = prop_seeds(SEEDS);
    size_t n_attempts = 0;

    (void)state;
    for (uint64_t seed = seeds.first; seed < seeds.end; seed++)
        n_attempts += run_seed(seed);
    print_message("%zu attempts\n", n_attempts);
    assert_true(n_attempts > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_time_of_each_gpu_adds_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
