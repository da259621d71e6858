/*
 * test_store_property.c - random transactions, lists and watches on SQLite over a disk model
 *
 * The disk loses and tears unsynced writes, fails to sync, fills up and stops in the middle of an
 * operation. After every step the store must answer as the naive store does. After every restart it
 * must hold all acknowledged transactions, whole transactions only, and tell a watch from any kept
 * revision all later changes, once and in order.
 */

#include <inttypes.h>
#include <stdio.h>

#include "disk_model.h"
#include "naive_store.h"
#include "prop.h"
#include "sim_loop.h"
#include "store/storage.h"
#include "test.h"

enum {
    CASES = 1000,
    STEPS = 60,
    WATCHES = 4,
    OPS = 4,
    RESERVE = 32 * 1024,
    OPENS_MAX = 20
};

#define SECOND_NS INT64_C(1000000000)

struct world;

struct watched {
    struct world *world;
    struct store_watch *watch;
    struct store_range range;
    int64_t from;
    int64_t told; /* revision of the last progress */
    size_t next;  /* index of a change in the naive store */
};

/* The faults that a seed allows: few, so that no fault hides the others. */
struct swarm {
    bool stops;
    bool fails_syncs;
    bool fills;
    bool compacts;
    bool has_reserve;
};

struct world {
    uint64_t seed;
    int step;
    struct prop prop;
    struct swarm swarm;
    struct disk_model *disk;
    struct loop *loop;
    struct storage *storage;
    struct store *store;
    struct naive_store naive;
    struct watched watches[WATCHES];
    bool was_created;
    bool is_fatal;
    bool is_closing;
    size_t waiting; /* accepted transactions without an answer */
    size_t answered;
    size_t fatals;
    size_t fulls;
    size_t restarts;
};

static void claim_failed(const struct world *w, const char *claim, int line)
{
    print_error("seed %" PRIu64 " step %d, line %d: not so: %s\nreplay: PROP_SEED=%" PRIu64 "\n",
                w->seed, w->step, line, claim, w->seed);
    fail();
}

#define CLAIM(w, claim)                          \
    do {                                         \
        if (!(claim))                            \
            claim_failed((w), #claim, __LINE__); \
    } while (0)

/* Comparing */

static bool same_object(const struct naive_change *n, const struct store_object *o)
{
    if (!n || !o)
        return !n && !o;
    return n->revision == o->version && n->created == o->created_revision &&
           n->size == o->bytes.size && memcmp(n->bytes, o->bytes.at, n->size) == 0 &&
           strcmp(n->key.group, o->key.group) == 0 &&
           strcmp(n->key.resource, o->key.resource) == 0 && strcmp(n->key.ns, o->key.ns) == 0 &&
           strcmp(n->key.name, o->key.name) == 0;
}

static struct store_key random_key(struct prop *p)
{
    static const char *const groups[] = {"", "mete.dev"};
    static const char *const resources[] = {"pods", "queues"};
    static const char *const spaces[] = {"", "a", "ab"};
    static const char *const names[] = {"x", "y", "z"};
    size_t which = prop_below(p, 2);

    return (struct store_key){groups[which], resources[which], spaces[prop_below(p, 3)],
                              names[prop_below(p, 3)]};
}

static struct store_range random_range(struct prop *p)
{
    struct store_key key = random_key(p);
    struct store_range range = {.group = key.group, .resource = key.resource};

    if (prop_chance(p, 40))
        range.ns = key.ns;
    if (prop_chance(p, 20))
        range = (struct store_range){0};
    return range;
}

static void check_gets(struct world *w)
{
    struct store_key key = random_key(&w->prop);
    const struct naive_change *durable = naive_get(&w->naive, &key, w->naive.durable);
    const struct naive_change *applied = naive_get(&w->naive, &key, w->naive.applied);

    CLAIM(w, store_revision(w->store) == w->naive.durable);
    CLAIM(w, store_applied_revision(w->store) == w->naive.applied);
    CLAIM(w, same_object(durable, store_get(w->store, key)));
    CLAIM(w, same_object(applied, store_get_applied(w->store, key)));
}

static void check_list(struct world *w, const struct store_range *range, int64_t revision)
{
    struct store_key after = random_key(&w->prop);
    bool is_page = range->resource && prop_chance(&w->prop, 50);
    const char *after_ns = is_page ? after.ns : NULL;
    const char *after_name = is_page ? after.name : NULL;
    size_t limit = prop_below(&w->prop, 4);
    int64_t at = revision ? revision : w->naive.durable;
    struct store_list list = {0};
    struct naive_list naive;
    AUTO(err_freep)
    struct err *e = store_list(w->store, range, after_ns, after_name, limit, revision, &list);

    if (e) {
        CLAIM(w, err_code(e) == (at > w->naive.durable ? ERR_TIMEOUT : ERR_EXPIRED));
        CLAIM(w, at > w->naive.durable || at < store_compacted_revision(w->store));
        return;
    }
    CLAIM(w, at >= store_compacted_revision(w->store) && list.revision == at);
    naive = naive_list(&w->naive, range, after_ns, after_name, at);
    CLAIM(w, list.has_more == (limit > 0 && naive.found.n > limit));
    CLAIM(w, list.n == (list.has_more ? limit : naive.found.n));
    CLAIM(w, list.n_after == (list.has_more && range->resource ? naive.found.n - limit : 0));
    for (size_t i = 0; i < list.n; i++)
        CLAIM(w, same_object(naive.found.at[i], list.at[i]));
    vec_done(&naive.found);
    store_list_done(&list);
}

/* Watching */

/* The change that the watch must be told next, or NULL. */
static const struct naive_change *next_change(struct watched *d)
{
    const struct naive_store *n = &d->world->naive;

    for (; d->next < n->changes.n; d->next++) {
        const struct naive_change *c = &n->changes.at[d->next];

        if (c->revision > n->durable)
            return NULL; /* the change may be taken back */
        if (c->revision > d->from && naive_in_range(&c->key, &d->range))
            return c;
    }
    return NULL;
}

static void check_change(struct watched *d, const struct store_change *change)
{
    struct world *w = d->world;
    const struct naive_change *c = next_change(d);
    const struct naive_change *before;

    if (!c) {
        claim_failed(w, "a change was told that there was not", __LINE__);
        return;
    }
    before = naive_get(&w->naive, &c->key, c->revision - 1);
    CLAIM(w, c->revision == change->revision && c->type == change->type);
    CLAIM(w, c->revision <= w->naive.durable);
    CLAIM(w, same_object(c->type == STORE_DELETED ? before : c, change->object));
    CLAIM(w, same_object(before, change->before));
    d->next++;
}

static void on_change(void *arg, const struct store_change *change, int64_t revision)
{
    struct watched *d = arg;
    const struct naive_change *c;

    if (change) {
        CLAIM(d->world, revision == change->revision);
        check_change(d, change);
    } else {
        CLAIM(d->world, revision >= d->told);
        c = next_change(d);
        CLAIM(d->world, !c || c->revision > revision);
        d->told = revision;
    }
    if (prop_chance(&d->world->prop, 1)) {
        store_watch_free(d->watch);
        d->watch = NULL;
    }
}

static void start_watch(struct world *w, struct watched *d, struct store_range range, int64_t from)
{
    AUTO(err_freep) struct err *e = NULL;

    store_watch_free(d->watch);
    *d = (struct watched){.world = w, .range = range, .from = from};
    e = store_watch_new(w->store, &range, from, on_change, d, &d->watch);
    if (from < store_compacted_revision(w->store))
        CLAIM(w, e && err_code(e) == ERR_EXPIRED);
    else
        CLAIM(w, !e);
}

static void check_watches_saw_all(struct world *w)
{
    for (size_t i = 0; i < WATCHES; i++) {
        struct watched *d = &w->watches[i];
        const struct naive_change *c = d->watch ? next_change(d) : NULL;

        CLAIM(w, !c || c->revision > w->naive.durable);
        CLAIM(w, !d->watch || d->told == w->naive.durable || d->from > w->naive.durable);
    }
}

/* Transactions */

static void on_done(void *arg, const struct err *e, int64_t revision)
{
    struct world *w = arg;

    w->waiting--;
    if (!e) {
        w->answered++;
        CLAIM(w, !w->is_fatal);
        CLAIM(w, revision >= w->naive.durable && revision <= w->naive.applied);
        CLAIM(w, w->is_closing || store_revision(w->store) >= revision);
        w->naive.durable = revision;
        return;
    }
    CLAIM(w, err_code(e) == ERR_NO_SPACE || (w->is_closing && err_code(e) == ERR_UNAVAILABLE));
    if (w->is_closing)
        return;
    CLAIM(w, w->swarm.fills && store_is_full(w->store));
    CLAIM(w, strstr(err_message(e), "no space left on the disk of the data directory"));
    naive_cut(&w->naive, w->naive.durable);
    w->fulls++;
}

static size_t random_size(struct prop *p)
{
    static const size_t sizes[] = {1, 10, 300, 300, 3000, 9000};

    return prop_below(p, sizes[prop_below(p, COUNT(sizes))] + 1);
}

static int64_t random_precondition(struct world *w, const struct store_key *key)
{
    const struct naive_change *now = naive_get(&w->naive, key, w->naive.applied);

    switch (prop_below(&w->prop, 8)) {
    case 0:
        return STORE_ABSENT;
    case 1:
        return STORE_EXISTS;
    case 2:
        return (int64_t)prop_below(&w->prop, (size_t)w->naive.applied + 2);
    case 3:
    case 4:
        return now ? now->revision : STORE_ABSENT;
    default:
        return STORE_ANY;
    }
}

static void random_op(struct world *w, struct store_op *op, char bytes[9001])
{
    size_t kind = prop_below(&w->prop, 10);

    *op = (struct store_op){.key = random_key(&w->prop)};
    op->type = kind < 6 ? STORE_PUT : kind < 9 ? STORE_DELETE : STORE_CHECK;
    op->if_version = random_precondition(w, &op->key);
    op->is_owed = prop_chance(&w->prop, 10);
    op->bytes = (struct str){.at = bytes, .size = random_size(&w->prop)};
    for (size_t i = 0; i < op->bytes.size; i++)
        bytes[i] = (char)prop_next(&w->prop);
}

static void commit(struct world *w)
{
    static char bytes[OPS][9001];
    struct store_op ops[OPS];
    size_t n = prop_chance(&w->prop, 50) ? 1 : prop_below(&w->prop, OPS + 1);
    int64_t revision = -1;
    int expected;
    AUTO(err_freep) struct err *e = NULL;

    for (size_t i = 0; i < n; i++)
        random_op(w, &ops[i], bytes[i]);
    expected = naive_check(&w->naive, ops, n, store_is_full(w->store));
    w->waiting++;
    e = store_commit(w->store, ops, n, on_done, w, &revision);
    CLAIM(w, (e ? (int)err_code(e) : -1) == expected);
    if (e)
        w->waiting--;
    else
        CLAIM(w, revision == naive_apply(&w->naive, ops, n));
}

/* Starting and ending */

static void on_fatal(void *arg, const struct err *e)
{
    struct world *w = arg;

    CLAIM(w, !w->is_fatal && err_code(e) == ERR_UNAVAILABLE);
    CLAIM(w, disk_model_is_stopped(w->disk) || disk_model_syncs_failed(w->disk) > 0);
    w->is_fatal = true;
    w->fatals++;
}

static void close_store(struct world *w)
{
    w->is_closing = true;
    for (size_t i = 0; i < WATCHES; i++)
        w->watches[i].watch = NULL; /* the store frees its watches */
    store_free(w->store);
    storage_free(w->storage);
    w->store = NULL;
    w->storage = NULL;
    CLAIM(w, w->waiting == 0);
    w->is_closing = false;
    w->is_fatal = false;
}

static struct err *open_store(struct world *w)
{
    struct storage_sqlite_options disk = {.loop = w->loop,
                                          .dir = "/disk",
                                          .vfs = DISK_MODEL_VFS,
                                          .reserve_bytes = w->swarm.has_reserve ? RESERVE : -1,
                                          .checkpoint_pages = 12};
    struct store_options options = {.loop = w->loop, .on_fatal = on_fatal, .arg = w};

    TRY(storage_sqlite_new(&disk, &w->storage));
    options.storage = w->storage;
    options.history_max_bytes = w->swarm.compacts ? 20000 : 0;
    return store_open(&options, &w->store);
}

/* Opens until it succeeds, as a supervisor would, while the disk's faults allow failures. */
static void open_until_it_works(struct world *w)
{
    for (int i = 0; i < OPENS_MAX; i++) {
        uint64_t failed = disk_model_syncs_failed(w->disk);
        AUTO(err_freep) struct err *e = open_store(w);

        if (!e) {
            w->was_created = true;
            return;
        }
        if (!disk_model_is_stopped(w->disk) && disk_model_syncs_failed(w->disk) == failed) {
            print_error("%s\n", err_message(e));
            claim_failed(w, "it opens", __LINE__);
        }
        close_store(w);
        if (prop_chance(&w->prop, 50))
            disk_model_power_cut(w->disk);
        else
            disk_model_restart(w->disk);
    }
    claim_failed(w, "it opens at last", __LINE__);
}

/* Checks that the store has all acknowledged transactions, and perhaps some in flight. */
static void check_restart(struct world *w, int64_t at_most)
{
    static const struct store_range all = {0};
    int64_t revision = store_revision(w->store);

    if (revision < w->naive.durable || revision > at_most)
        print_error("revision %" PRId64 " not in %" PRId64 "..%" PRId64 "\n", revision,
                    w->naive.durable, at_most);
    CLAIM(w, revision >= w->naive.durable && revision <= at_most);
    naive_cut(&w->naive, revision);
    w->naive.durable = revision;
    CLAIM(w, store_compacted_revision(w->store) <= revision);
    check_list(w, &all, 0);
    start_watch(w, &w->watches[0], all, store_compacted_revision(w->store));
    start_watch(w, &w->watches[1], random_range(&w->prop), store_compacted_revision(w->store));
}

static void restart(struct world *w, bool is_power_cut)
{
    int64_t at_most = w->naive.applied;

    w->restarts++;
    disk_model_kill(w->disk);
    close_store(w);
    if (is_power_cut)
        disk_model_power_cut(w->disk);
    else
        disk_model_restart(w->disk);
    if (w->swarm.stops && prop_chance(&w->prop, 30))
        disk_model_stop_in(w->disk, 1 + prop_below(&w->prop, 20));
    open_until_it_works(w);
    check_restart(w, at_most);
}

/* Reopens without a fault: the store has exactly the acknowledged transactions. */
static void reopen(struct world *w)
{
    uint64_t failed = disk_model_syncs_failed(w->disk);
    bool was_full = store_is_full(w->store);

    close_store(w);
    if (!disk_model_is_stopped(w->disk) && disk_model_syncs_failed(w->disk) == failed && !was_full)
        naive_cut(&w->naive, w->naive.durable);
    open_until_it_works(w);
    check_restart(w, w->naive.applied);
}

/* Steps */

static void fault(struct world *w)
{
    size_t which = prop_below(&w->prop, 3);

    if (which == 0 && w->swarm.stops)
        disk_model_stop_in(w->disk, 1 + prop_below(&w->prop, 40));
    if (which == 1 && w->swarm.fails_syncs)
        disk_model_fail_syncs(w->disk, 1 + prop_below(&w->prop, 6),
                              prop_chance(&w->prop, 50) ? 1 : -1);
    if (which == 2 && w->swarm.fills) {
        bool is_end = prop_chance(&w->prop, 40);

        disk_model_set_room(
            w->disk, is_end ? -1 : disk_model_used(w->disk) + (int64_t)prop_below(&w->prop, 40000));
    }
}

static void run_some(struct world *w)
{
    if (prop_chance(&w->prop, 50)) {
        for (size_t i = prop_below(&w->prop, 3); i > 0; i--)
            (void)sim_loop_step(w->loop);
        return;
    }
    if (prop_chance(&w->prop, 20))
        sim_loop_advance(w->loop, (int64_t)prop_below(&w->prop, (size_t)(3 * SECOND_NS)));
    else
        sim_loop_run(w->loop);
    if (!w->is_fatal) {
        CLAIM(w, w->waiting == 0);
        check_watches_saw_all(w);
    }
}

static void look(struct world *w)
{
    struct store_range range = random_range(&w->prop);
    int64_t revision = (int64_t)prop_below(&w->prop, (size_t)w->naive.durable + 2);

    if (prop_chance(&w->prop, 60))
        check_list(w, &range, revision);
    else
        start_watch(w, &w->watches[prop_below(&w->prop, WATCHES)], range, revision);
}

static void take_step(struct world *w)
{
    size_t which = prop_below(&w->prop, 100);

    if (which < 50)
        commit(w);
    else if (which < 75)
        run_some(w);
    else if (which < 88)
        look(w);
    else if (which < 95)
        fault(w);
    else if (which < 97 && w->swarm.compacts)
        store_compact(w->store, (int64_t)prop_below(&w->prop, (size_t)w->naive.durable + 3));
    else if (which < 98 && w->swarm.stops)
        restart(w, prop_chance(&w->prop, 60));
    else if (which < 99)
        reopen(w);
    if (w->is_fatal)
        restart(w, prop_chance(&w->prop, 60));
    check_gets(w);
}

/* Commits until acknowledged. False: the disk failed earlier, and no call had noticed. */
static bool commit_last(struct world *w)
{
    struct store_op op = {.type = STORE_PUT,
                          .key = {"", "pods", "a", "the-last-one"},
                          .bytes = STR("{}"),
                          .if_version = STORE_ANY};
    size_t answered = w->answered;

    w->waiting++;
    CLAIM(w, !store_commit(w->store, &op, 1, on_done, w, NULL));
    (void)naive_apply(&w->naive, &op, 1);
    sim_loop_run(w->loop);
    return w->answered > answered;
}

/* Ends the faults: the store must work again without help. */
static void heal(struct world *w)
{
    w->swarm.stops = false;
    disk_model_set_room(w->disk, -1);
    disk_model_fail_syncs(w->disk, 0, 0);
    disk_model_stop_in(w->disk, 0);
    sim_loop_advance(w->loop, 3 * SECOND_NS);
    if (w->is_fatal || disk_model_is_stopped(w->disk))
        restart(w, true);
    sim_loop_advance(w->loop, 3 * SECOND_NS);
    CLAIM(w, w->is_fatal || !store_is_full(w->store));
    if (w->is_fatal || !commit_last(w)) {
        CLAIM(w, w->is_fatal && disk_model_syncs_failed(w->disk) > 0);
        restart(w, true);
        CLAIM(w, commit_last(w));
    }
    CLAIM(w, w->waiting == 0);
    restart(w, true);
    sim_loop_run(w->loop);
    check_watches_saw_all(w);
    check_gets(w);
}

struct totals {
    size_t answered;
    size_t fatals;
    size_t fulls;
    size_t restarts;
};

static void run_seed(uint64_t seed, struct totals *totals)
{
    struct world w = {.seed = seed, .prop = {.state = seed}};

    w.swarm.stops = prop_chance(&w.prop, 60);
    w.swarm.fails_syncs = prop_chance(&w.prop, 30);
    w.swarm.fills = prop_chance(&w.prop, 40);
    w.swarm.compacts = prop_chance(&w.prop, 50);
    w.swarm.has_reserve = prop_chance(&w.prop, 70);
    w.disk = disk_model_new(prop_next(&w.prop));
    w.loop = sim_loop_new();
    if (w.swarm.stops && prop_chance(&w.prop, 50))
        disk_model_stop_in(w.disk, 1 + prop_below(&w.prop, 60));
    open_until_it_works(&w);
    for (w.step = 0; w.step < STEPS; w.step++)
        take_step(&w);
    heal(&w);
    close_store(&w);
    naive_done(&w.naive);
    disk_model_free(w.disk);
    sim_loop_free(w.loop);
    totals->answered += w.answered;
    totals->fatals += w.fatals;
    totals->fulls += w.fulls;
    totals->restarts += w.restarts;
}

static void keeps_what_it_acknowledged_and_answers_as_the_naive_store(void **state)
{
    struct prop_seeds seeds = prop_seeds(CASES);
    struct totals totals = {0};

    (void)state;
    for (uint64_t seed = seeds.first; seed < seeds.end; seed++)
        run_seed(seed, &totals);
    print_message(
        "# %zu acknowledged, %zu refused by a full disk, %zu disks failed, %zu restarts\n",
        totals.answered, totals.fulls, totals.fatals, totals.restarts);
    if (seeds.end - seeds.first >= CASES) {
        assert_true(totals.fatals > 100 && totals.fulls > 50 && totals.restarts > 500);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keeps_what_it_acknowledged_and_answers_as_the_naive_store),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
