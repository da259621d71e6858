/*
 * store.c - transactions: checked, batched, made durable or taken back
 *
 * The store has two states. `objects` is the durable state, which gets, lists and watches see.
 * `pending` covers it with the objects of accepted transactions that are not yet durable;
 * preconditions see both. A durable batch moves from `pending` to `objects`. When the disk was
 * full, the store takes back the transactions in flight and all later ones, which may build on
 * them, by forgetting `pending`. Batches collect transactions while the storage is busy, or else
 * for the rest of the loop's turn.
 */

#include "store/store.h"

#include <assert.h>
#include <inttypes.h>

#include "base/mem.h"
#include "store/store_private.h"

#define HISTORY_BYTES_DEFAULT (INT64_C(64) << 20)
#define PROBE_NS              INT64_C(1000000000)
#define TXN_OVERHEAD_BYTES    INT64_C(256) /* of a transaction and of an operation, roughly */
#define COMPACT_CHANGES_MAX   4096u        /* in a batch: keeps the disk's answer time even */

static const char no_space[] = "no space left on the disk of the data directory";

static const struct store_object *find_applied(const struct store *s, const struct store_key *key)
{
    const struct store_object *o = index_find(&s->pending, key);

    if (o)
        return o->is_absent ? NULL : o;
    return index_find(&s->objects, key);
}

static void batch_done(struct batch *b)
{
    VEC_EACH (&b->records, r) {
        store_object_unref(r->object);
        store_object_unref(r->before);
    }
    VEC_EACH (&b->notes, note)
        free((char *)(uintptr_t)note->at);
    vec_done(&b->records);
    vec_done(&b->waiters);
    vec_done(&b->notes);
    *b = (struct batch){0};
}

static void answer(const struct batch *b, const struct err *e)
{
    VEC_EACH (&b->waiters, w) {
        if (w->done)
            w->done(w->arg, e, e ? 0 : w->revision);
    }
}

/* Durability */

static void make_durable(struct store *s, const struct storage_record *r)
{
    const struct store_object *applied = index_find(&s->pending, &r->object->key);
    struct store_change change = {
        .type = r->type, .revision = r->revision, .object = r->object, .before = r->before};

    if (r->type == STORE_DELETED)
        store_object_unref(index_remove(&s->objects, &r->object->key));
    else
        store_object_unref(index_put(&s->objects, r->object));
    history_add(&s->history, &change);
    if (applied && applied->version == r->revision)
        store_object_unref(index_remove(&s->pending, &r->object->key));
}

static void compact_by_size(struct store *s)
{
    int64_t revision = 0;

    if (s->compacted == s->compacted_on_disk && s->history.bytes > s->options.history_max_bytes)
        revision = history_whole(&s->history,
                                 history_excess(&s->history, s->options.history_max_bytes / 8 * 7));
    if (revision > s->compacted)
        s->compacted = revision;
}

static void finish_durable(struct store *s)
{
    struct batch landed = s->flying;

    s->flying = (struct batch){0};
    VEC_EACH (&landed.records, r)
        make_durable(s, r);
    if (landed.revision > s->revision)
        s->revision = landed.revision;
    if (s->sent.compact_through > s->compacted_on_disk) {
        s->compacted_on_disk = s->sent.compact_through;
        history_drop(&s->history, s->compacted_on_disk);
    }
    compact_by_size(s);
    answer(&landed, NULL);
    if (landed.records.n > 0)
        watches_tell(s);
    batch_done(&landed);
}

/*
 * Takes back all accepted transactions that are not durable: later ones may build on earlier ones.
 */
static void finish_full(struct store *s, const char *why)
{
    AUTO(err_freep)
    struct err *e = err_new(ERR_NO_SPACE, "%s%s%s", no_space, *why ? ": " : "", why);
    struct batch flying = s->flying;
    struct batch open = s->open;

    s->flying = (struct batch){0};
    s->open = (struct batch){0};
    index_done(&s->pending);
    s->applied_revision = s->revision;
    answer(&flying, e);
    answer(&open, e);
    batch_done(&flying);
    batch_done(&open);
}

/* Keeps the batch unanswered: only the next start can find out what the disk kept. */
static void finish_failed(struct store *s, const char *why)
{
    s->failure = err_new(ERR_UNAVAILABLE, "the disk of the data directory failed: %s", why);
    loop_timer_stop(s->probe_timer);
    s->options.on_fatal(s->options.arg, s->failure);
}

static void set_full(struct store *s, bool is_full)
{
    if (is_full && !s->is_full)
        loop_timer_set(s->probe_timer, PROBE_NS);
    if (!is_full)
        loop_timer_stop(s->probe_timer);
    s->is_full = is_full;
}

static void on_storage_done(void *arg, enum storage_result result, const char *why)
{
    struct store *s = arg;

    assert(s->is_flying);
    s->is_flying = false;
    if (s->options.on_sync && (result == STORAGE_DURABLE || result == STORAGE_DURABLE_LOW))
        s->options.on_sync(s->options.sync_arg, loop_now_ns(s->options.loop) - s->flown_ns);
    switch (result) {
    case STORAGE_DURABLE:
    case STORAGE_DURABLE_LOW:
        set_full(s, result == STORAGE_DURABLE_LOW);
        finish_durable(s);
        break;
    case STORAGE_FULL:
        set_full(s, true);
        s->is_resting = true;
        finish_full(s, why);
        break;
    case STORAGE_FAILED:
        finish_failed(s, why);
        return;
    }
    store_schedule(s);
}

static void batch_fly(struct store *s, int64_t compact_through)
{
    s->sent = (struct storage_batch){.records = s->flying.records.at,
                                     .n = s->flying.records.n,
                                     .revision = s->flying.revision,
                                     .compact_through = compact_through,
                                     .notes = s->flying.notes.at,
                                     .n_notes = s->flying.notes.n,
                                     .is_probe = s->is_probe_due};
    s->is_probe_due = false;
    s->is_flying = true;
    s->flown_ns = loop_now_ns(s->options.loop);
    s->options.storage->ops->commit(s->options.storage->self, &s->sent, on_storage_done, s);
}

/* The revision up to which the next batch may forget: at most the compacted one, a limited number
 * of changes at a time, and never a change that a watch has not seen. 0: nothing to forget. */
static int64_t next_compaction(const struct store *s)
{
    const struct history *h = &s->history;
    int64_t through = s->compacted;
    uint64_t unseen;

    if (s->compacted == s->compacted_on_disk || s->is_resting)
        return 0;
    if (h->end - h->first > COMPACT_CHANGES_MAX) {
        int64_t step = history_at(h, h->first + COMPACT_CHANGES_MAX)->revision;

        through = through < step ? through : step;
    }
    unseen = watches_first_unseen(s);
    if (unseen < h->end) {
        int64_t seen = history_at(h, unseen)->revision - 1;

        through = through < seen ? through : seen;
    }
    through = history_whole(h, through);
    return through > s->compacted_on_disk ? through : 0;
}

static void on_start(void *arg)
{
    struct store *s = arg;
    int64_t compact_through = next_compaction(s);

    s->is_starting = false;
    if (s->is_flying || s->failure)
        return;
    s->flying = s->open;
    s->open = (struct batch){0};
    if (s->flying.records.n > 0 || s->flying.notes.n > 0 || compact_through > 0 ||
        s->is_probe_due) {
        batch_fly(s, compact_through);
        return;
    }
    s->sent = (struct storage_batch){0};
    finish_durable(s); /* only checks: the disk is not needed */
    store_schedule(s);
}

void store_schedule(struct store *s)
{
    if (s->is_flying || s->is_starting || s->failure)
        return;
    if (s->open.waiters.n == 0 && !s->is_probe_due && next_compaction(s) == 0)
        return;
    s->is_starting = true;
    loop_timer_set(s->start_timer, 0);
}

/* Makes the next batch, even an empty one, ask whether the disk has room again. */
static void on_probe(void *arg)
{
    struct store *s = arg;

    s->is_probe_due = true;
    s->is_resting = false;
    loop_timer_set(s->probe_timer, PROBE_NS);
    store_schedule(s);
}

/* Transactions */

static struct err *op_check_size(const struct store_op *op)
{
    const struct store_key *k = &op->key;
    size_t size = strlen(k->group) + strlen(k->resource) + strlen(k->ns) + strlen(k->name);

    if (size > STORE_KEY_BYTES_MAX)
        return err_new(ERR_TOO_LARGE, "key of %zu bytes, at most %d", size, STORE_KEY_BYTES_MAX);
    if (op->type == STORE_PUT && op->bytes.size > STORE_BYTES_MAX)
        return err_new(ERR_TOO_LARGE, "object of %zu bytes, at most %d", op->bytes.size,
                       STORE_BYTES_MAX);
    return NULL;
}

static struct err *check_version(const struct store_op *op, const struct store_object *now)
{
    AUTO_FREE char *key = NULL;

    if (op->if_version == STORE_ANY || (!now && op->if_version == STORE_ABSENT) ||
        (now && op->if_version == STORE_EXISTS) || (now && op->if_version == now->version))
        return NULL;
    key = key_format(&op->key);
    if (!now)
        return err_new(ERR_NOT_FOUND, "%s not found", key);
    if (op->if_version == STORE_ABSENT)
        return err_new(ERR_EXISTS, "%s already exists", key);
    return err_new(ERR_CONFLICT, "%s was changed: its version is %" PRId64 ", not %" PRId64, key,
                   now->version, op->if_version);
}

static int compare_written(const void *a, const void *b)
{
    const struct store_key *const *x = a;
    const struct store_key *const *y = b;

    return key_compare(*x, *y); /* equal keys are an error: their order does not matter */
}

static struct err *check_written_once(const struct store_op *ops, size_t n)
{
    VEC(const struct store_key *) written = {0};
    struct err *e = NULL;

    for (size_t i = 0; i < n; i++) {
        if (ops[i].type != STORE_CHECK)
            vec_add(&written, &ops[i].key);
    }
    if (written.n > 1)
        qsort(written.at, written.n, sizeof(written.at[0]), compare_written);
    for (size_t i = 1; i < written.n && !e; i++) {
        if (key_compare(written.at[i - 1], written.at[i]) == 0) {
            AUTO_FREE char *key = key_format(written.at[i]);

            e = err_new(ERR_INVALID, "%s is written twice in one transaction", key);
        }
    }
    vec_done(&written);
    return e;
}

static int64_t txn_bytes(const struct store_op *ops, size_t n)
{
    int64_t bytes = TXN_OVERHEAD_BYTES * (int64_t)(n + 1);

    for (size_t i = 0; i < n; i++) /* at most 32768 * 16 MiB: no overflow */
        bytes += ops[i].type == STORE_PUT ? (int64_t)ops[i].bytes.size : 0;
    return bytes;
}

static struct err *txn_check_limits(const struct store *s, const struct store_op *ops, size_t n)
{
    int64_t bytes;

    if (s->failure)
        return err_new(ERR_UNAVAILABLE, "%s", err_message(s->failure));
    if (n > STORE_TXN_OPS_MAX)
        return err_new(ERR_TOO_LARGE, "transaction of %zu operations, at most %d", n,
                       STORE_TXN_OPS_MAX);
    for (size_t i = 0; i < n; i++)
        TRY(op_check_size(&ops[i]));
    bytes = txn_bytes(ops, n);
    if (bytes > STORE_PENDING_BYTES_MAX)
        return err_new(ERR_TOO_LARGE, "transaction of %" PRId64 " bytes, at most %d", bytes,
                       STORE_PENDING_BYTES_MAX);
    if (bytes + s->open.bytes + s->flying.bytes > STORE_PENDING_BYTES_MAX)
        return err_new(ERR_BUSY, "%" PRId64 " bytes wait for the disk already",
                       s->open.bytes + s->flying.bytes);
    return NULL;
}

static struct err *check_ops(const struct store *s, const struct store_op *ops, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct store_object *now = find_applied(s, &ops[i].key);

        TRY(check_version(&ops[i], now));
        if (s->is_full && ops[i].type == STORE_PUT && !ops[i].is_owed && !now)
            return err_new(
                ERR_NO_SPACE,
                "%s: nothing can be created until there is some, only changed and deleted",
                no_space);
    }
    return n > 1 ? check_written_once(ops, n) : NULL;
}

static bool changes_nothing(const struct store *s, const struct store_op *op)
{
    return op->type == STORE_CHECK || (op->type == STORE_DELETE && !find_applied(s, &op->key));
}

/* The object that `pending` gets: the new one, or for a deletion an absent one. The caller owns one
 * ref. */
static const struct store_object *new_state(const struct store_op *op, int64_t revision,
                                            uint16_t ordinal, const struct store_object *now)
{
    bool is_put = op->type == STORE_PUT;
    struct store_object *o = object_new(&op->key, is_put ? op->bytes : (struct str){0});

    o->version = revision;
    o->ordinal = ordinal;
    o->created_revision = now ? now->created_revision : revision;
    o->is_absent = !is_put;
    return o;
}

static void txn_apply(struct store *s, const struct store_op *op, int64_t revision,
                      uint16_t ordinal)
{
    const struct store_object *now = find_applied(s, &op->key);
    const struct store_object *state = new_state(op, revision, ordinal, now);
    struct storage_record r = {.revision = revision, .before = now, .ordinal = ordinal};

    r.type = op->type == STORE_DELETE ? STORE_DELETED : now ? STORE_UPDATED : STORE_CREATED;
    r.object = store_object_ref(op->type == STORE_DELETE ? now : state);
    if (now) {
        r.before_place = storage_place(now->version, now->ordinal);
        (void)store_object_ref(now);
    }
    vec_add(&s->open.records, r);
    store_object_unref(index_put(&s->pending, state));
    store_object_unref(state);
}

struct err *store_commit(struct store *s, const struct store_op *ops, size_t n, store_done_fn done,
                         void *arg, int64_t *ret_revision)
{
    int64_t revision = s->applied_revision + 1;
    uint16_t ordinal = 0;

    TRY(txn_check_limits(s, ops, n));
    TRY(check_ops(s, ops, n));
    for (size_t i = 0; i < n; i++) {
        if (!changes_nothing(s, &ops[i]))
            txn_apply(s, &ops[i], revision, ordinal++);
    }
    if (ordinal > 0) {
        s->applied_revision = revision + storage_extra_revisions(ordinal);
        s->open.revision = s->applied_revision;
    } else {
        revision = s->applied_revision;
    }
    s->open.bytes += txn_bytes(ops, n);
    vec_add(&s->open.waiters, (struct waiter){.revision = revision, .done = done, .arg = arg});
    if (ret_revision)
        *ret_revision = revision;
    store_schedule(s);
    return NULL;
}

struct err *store_note(struct store *s, struct str line, store_done_fn done, void *arg)
{
    if (s->failure)
        return err_new(ERR_UNAVAILABLE, "%s", err_message(s->failure));
    s->open.bytes += TXN_OVERHEAD_BYTES + (int64_t)line.size;
    vec_add(&s->open.notes, (struct str){mem_strndup(line.at, line.size), line.size});
    vec_add(&s->open.waiters,
            (struct waiter){.revision = s->applied_revision, .done = done, .arg = arg});
    store_schedule(s);
    return NULL;
}

/* Opening and closing */

/*
 * Loads a record: up to the compacted revision into the state, after it into the history as well.
 */
static struct err *store_on_load(void *arg, const struct storage_record *r)
{
    struct store *s = arg;
    const struct store_key *key = &r->object->key;
    AUTO(store_object_unrefp)
    const struct store_object *before = r->type == STORE_DELETED
                                            ? index_remove(&s->objects, key)
                                            : index_put(&s->objects, r->object);
    struct store_change change = {
        .type = r->type, .revision = r->revision, .object = r->object, .before = before};
    AUTO_FREE char *text = key_format(key);
    int64_t place = before ? storage_place(before->version, before->ordinal) : 0;

    if (r->revision <= s->compacted_on_disk)
        return before || r->type == STORE_DELETED
                   ? err_new(ERR_INTERNAL, "%s is there twice before revision %" PRId64, text,
                             s->compacted_on_disk)
                   : NULL;
    if (place != r->before_place || (r->type == STORE_CREATED) != (before == NULL))
        return err_new(ERR_INTERNAL, "%s lacks its version %" PRId64, text,
                       r->before_place >> STORAGE_PLACE_BITS);
    if (r->type == STORE_DELETED)
        change.object = before;
    history_add(&s->history, &change);
    return NULL;
}

struct err *store_open(const struct store_options *options, struct store **ret)
{
    AUTO(store_freep) struct store *s = mem_alloc(sizeof(*s));
    const struct storage *storage = options->storage;

    s->options = *options;
    if (s->options.history_max_bytes == 0)
        s->options.history_max_bytes = HISTORY_BYTES_DEFAULT;
    s->start_timer = loop_timer_new(options->loop, on_start, s);
    s->probe_timer = loop_timer_new(options->loop, on_probe, s);
    s->catch_up_timer = loop_timer_new(options->loop, watches_catch_up, s);
    TRY(storage->ops->load(storage->self, store_on_load, s, &s->revision, &s->compacted_on_disk));
    s->applied_revision = s->revision;
    s->compacted = s->compacted_on_disk;
    compact_by_size(s);
    store_schedule(s);
    *ret = TAKE(s);
    return NULL;
}

/* Waits for the disk, so that the waiters get the true result. */
static void close_batches(struct store *s)
{
    AUTO(err_freep) struct err *e = err_new(ERR_UNAVAILABLE, "the store is closing");
    struct batch flying = s->flying;
    struct batch open = s->open;
    enum storage_result result = STORAGE_FAILED;

    s->flying = (struct batch){0};
    s->open = (struct batch){0};
    if (s->is_flying)
        result = s->options.storage->ops->finish(s->options.storage->self);
    s->is_flying = false;
    answer(&flying, result == STORAGE_DURABLE || result == STORAGE_DURABLE_LOW ? NULL : e);
    answer(&open, e);
    batch_done(&flying);
    batch_done(&open);
}

void store_free(struct store *s)
{
    if (!s)
        return;
    if (!s->failure)
        s->failure = err_new(ERR_UNAVAILABLE, "the store is closing");
    close_batches(s);
    while (s->watches)
        store_watch_free(s->watches);
    loop_timer_free(s->start_timer);
    loop_timer_free(s->probe_timer);
    loop_timer_free(s->catch_up_timer);
    index_done(&s->objects);
    index_done(&s->pending);
    history_done(&s->history);
    err_free(s->failure);
    free(s);
}

/* Reading */

int64_t store_revision(const struct store *s)
{
    return s->revision;
}

int64_t store_applied_revision(const struct store *s)
{
    return s->applied_revision;
}

int64_t store_compacted_revision(const struct store *s)
{
    return s->compacted;
}

bool store_is_full(const struct store *s)
{
    return s->is_full;
}

const struct store_object *store_get(const struct store *s, struct store_key key)
{
    return index_find(&s->objects, &key);
}

const struct store_object *store_get_applied(const struct store *s, struct store_key key)
{
    return find_applied(s, &key);
}

void store_compact(struct store *s, int64_t revision)
{
    if (revision > s->revision)
        revision = s->revision;
    if (revision <= s->compacted)
        return;
    s->compacted = history_whole(&s->history, revision);
    store_schedule(s);
}
