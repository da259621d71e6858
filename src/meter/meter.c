/* meter.c - the meter, and the removal of old rows */
#include "base/log.h"
#include "base/mem.h"
#include "kinds/object/txn.h"
#include "meter/meter_private.h"
#include "meter/rollup.h"

enum {
    OLD_A_TURN = 200
};

static const int64_t RETENTION_NS = INT64_C(400) * 86400 * NS_PER_SEC;
static const int64_t LOOK_NS = 3600 * NS_PER_SEC;
static const int64_t GO_ON_NS = 100 * NS_PER_MS; /* between two batches */

/*
 * Removes the oldest rows of a range that ended before `before_ns`, at most OLD_A_TURN.
 * `*ret_has_more`: there may be more.
 */
static struct err *remove_old(struct meter *m, const struct store_range *range, int64_t before_ns,
                              bool *ret_has_more)
{
    struct store_list list = {0};
    struct txn txn = {0};
    struct err *e = NULL;

    TRY(store_list(m->store, range, NULL, NULL, OLD_A_TURN, 0, &list));
    for (size_t i = 0; i < list.n; i++) {
        int64_t from_ns = 0;
        int64_t to_ns = 0;

        if (!account_key_read(list.at[i]->key.name, &from_ns, &to_ns) || to_ns >= before_ns)
            break; /* rows are in the order of their ends */
        txn_delete(&txn, list.at[i]->key, STORE_ANY);
    }
    if (txn.ops.n > 0)
        e = txn_commit(&txn, m->store, NULL, NULL, NULL);
    *ret_has_more = *ret_has_more || (!e && txn.ops.n == OLD_A_TURN);
    store_list_done(&list);
    txn_done(&txn);
    return e;
}

static void meter_on_timer(void *arg)
{
    struct meter *m = arg;
    const struct store_range ranges[] = {account_rows(), account_stretches()};
    int64_t before_ns = loop_wall_ns(m->o.loop) - m->o.retention_ns;
    bool has_more = false;

    for (size_t i = 0; i < COUNT(ranges); i++) {
        AUTO(err_freep) struct err *e = remove_old(m, &ranges[i], before_ns, &has_more);

        if (e)
            LOG(WARN, "old rows of accounting cannot be removed, will be tried again", E(e));
    }
    loop_timer_set(m->timer, has_more ? GO_ON_NS : LOOK_NS);
}

static void check_prices(const struct meter *m)
{
    AUTO(prices_freep) struct prices *prices = NULL;
    AUTO(err_freep) struct err *e = prices_load(m->o.prices_files, &prices);

    if (e)
        LOG(WARN, "prices cannot be read, usage has no cost", E(e));
}

struct meter *meter_new(const struct meter_options *o)
{
    struct meter *m = mem_alloc(sizeof(*m));

    m->o = *o;
    if (m->o.retention_ns == 0)
        m->o.retention_ns = RETENTION_NS;
    m->store = objects_store(o->objects);
    m->history = (struct use_history){
        .budget.max_bytes = HISTORY_BYTES, .find_pod = meter_find_pod, .arg = m};
    m->timer = loop_timer_new(o->loop, meter_on_timer, m);
    loop_timer_set(m->timer, NS_PER_SEC);
    m->rollup = rollup_new(m);
    check_prices(m);
    return m;
}

void meter_free(struct meter *m)
{
    if (!m)
        return;
    rollup_free(m->rollup);
    meter_forget_samples(m);
    use_history_done(&m->history);
    loop_timer_free(m->timer);
    free(m);
}

void meter_cancel(struct report *r)
{
    r->free(r);
}
