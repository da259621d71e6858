/* account_check.c - the check of the invariant "accounting adds up" on stored objects */

#include <inttypes.h>

#include "base/map.h"
#include "base/vec.h"
#include "kinds/account/account_private.h"
#include "kinds/ledger.h"

struct checked {
    struct map_handle handle;
    char *uuid;
    VEC(struct account_span) held;
    VEC(struct account_span) up;
    VEC(struct account_span) out;
    size_t n_open;    /* devices of the gpu that open attempts have */
    size_t n_holders; /* in the ledger; pods that share a device by a claim count once */
    bool has_parts;   /* a row has a part of the gpu */
};

struct check {
    const struct store *store;
    struct checked *gpus;
    struct err *e; /* the first fault */
};

static void checked_free(struct checked *g)
{
    vec_done(&g->held);
    vec_done(&g->up);
    vec_done(&g->out);
    free(g->uuid);
    free(g);
}

static struct checked *find_or_add(struct check *c, const char *uuid)
{
    struct checked *g = NULL;

    map_find_text(handle, c->gpus, uuid, g);
    if (g)
        return g;
    g = mem_alloc(sizeof(*g));
    g->uuid = mem_strdup(uuid);
    map_add(handle, c->gpus, g->uuid, strlen(g->uuid), g);
    return g;
}

static void check_add_row(void *arg, const struct account_row *row)
{
    struct check *c = arg;
    const json_t *gpu;
    size_t i;

    json_array_foreach (row->gpus, i, gpu) {
        struct checked *g = find_or_add(c, json_text(gpu, "uuid"));

        vec_add(&g->held, (struct account_span){account_gpu_from_ns(row, gpu), row->to_ns});
        g->n_open += row->cause == NULL;
        g->has_parts = g->has_parts || json_text(gpu, "device");
    }
}

static void check_take_row(struct check *c, const struct store_object *o)
{
    AUTO(json_freep) json_t *tree = NULL;
    struct account_row row = {0};
    int64_t from_ns = 0;
    int64_t to_ns = 0;
    struct err *e = json_parse(o->bytes, &tree);

    if (!e && (!account_row_read(tree, &row) || !account_key_read(o->key.name, &from_ns, &to_ns) ||
               from_ns != row.from_ns || to_ns != row.to_ns))
        e = err_new(ERR_INTERNAL, "accounting: row %s is damaged", o->key.name);
    if (!e)
        check_add_row(c, &row);
    else if (!c->e)
        c->e = e;
    else
        err_free(e);
}

static void check_take_stretch(struct check *c, const struct store_object *o)
{
    AUTO(json_freep) json_t *tree = NULL;
    struct account_stretch stretch = {0};
    struct err *e = json_parse(o->bytes, &tree);
    struct checked *g;

    if (!e && !account_stretch_read(tree, &stretch))
        e = err_new(ERR_INTERNAL, "accounting: stretch %s is damaged", o->key.name);
    if (e) {
        if (c->e)
            err_free(e);
        else
            c->e = e;
        return;
    }
    g = find_or_add(c, stretch.uuid);
    if (stretch.state == ACCOUNT_UP)
        vec_add(&g->up, (struct account_span){stretch.from_ns, stretch.to_ns});
    else
        vec_add(&g->out, (struct account_span){stretch.from_ns, stretch.to_ns});
}

static void check_take_placement(struct check *c, const struct store_object *o)
{
    account_each_open(o, check_add_row, c);
}

static void check_take_entry(struct check *c, const struct store_object *o)
{
    AUTO(json_freep) json_t *entry = NULL;
    struct err *e = ledger_entry_parse(o->bytes, &entry);
    const json_t *holders = json_object_get(entry, "holders");
    struct checked *g = find_or_add(c, o->key.name);

    g->n_holders = 0;
    for (size_t i = 0; i < json_array_size(holders); i++)
        g->n_holders += !ledger_holder_repeats(holders, i);
    if (c->e)
        err_free(e);
    else
        c->e = e;
}

static struct err *check_each(struct check *c, struct store_range range,
                              void (*fn)(struct check *c, const struct store_object *o))
{
    struct store_list list = {0};

    TRY(store_list(c->store, &range, NULL, NULL, 0, 0, &list));
    for (size_t i = 0; i < list.n; i++)
        fn(c, list.at[i]);
    store_list_done(&list);
    return NULL;
}

static struct err *check_gpu(struct checked *g, struct account_span period)
{
    struct account_spans spans = {.held = g->held.at,
                                  .n_held = g->held.n,
                                  .up = g->up.at,
                                  .n_up = g->up.n,
                                  .out = g->out.at,
                                  .n_out = g->out.n};
    int64_t sum_ns = 0;
    struct account_time t = account_sum(&spans, period, &sum_ns);

    if (g->n_open != g->n_holders)
        return err_new(ERR_INTERNAL,
                       "accounting: gpu %s is held %zu times, and %zu open attempts name it",
                       g->uuid, g->n_holders, g->n_open);
    if (sum_ns != t.held_ns && !g->has_parts) /* parts are held beside each other */
        return err_new(ERR_INTERNAL,
                       "accounting: gpu %s was held for %" PRId64
                       " ns, its rows add up to %" PRId64,
                       g->uuid, t.held_ns, sum_ns);
    if (t.held_ns + t.free_ns + t.out_ns != t.capacity_ns)
        return err_new(ERR_INTERNAL,
                       "accounting: gpu %s: held %" PRId64 " + free %" PRId64
                       " + out of service %" PRId64 " is not its capacity %" PRId64,
                       g->uuid, t.held_ns, t.free_ns, t.out_ns, t.capacity_ns);
    return NULL;
}

static struct err *read_all(struct check *c)
{
    const struct store_range ledger = {.group = "mete.dev", .resource = "ledger"};

    TRY(check_each(c, account_rows(), check_take_row));
    TRY(check_each(c, account_placements(), check_take_placement));
    TRY(check_each(c, account_stretches(), check_take_stretch));
    TRY(check_each(c, account_states(), check_take_stretch));
    return check_each(c, ledger, check_take_entry);
}

struct err *account_check(const struct store *s, int64_t from_ns, int64_t to_ns)
{
    struct check c = {.store = s};
    struct err *e = read_all(&c);
    struct checked *g;
    struct checked *tmp;

    map_each (handle, c.gpus, g, tmp) {
        if (!e && !c.e)
            e = check_gpu(g, (struct account_span){from_ns, to_ns});
        /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): uthash; the gpu is in the map once */
        map_remove(handle, c.gpus, g);
        checked_free(g);
    }
    if (!e)
        return c.e;
    err_free(c.e);
    return e;
}
