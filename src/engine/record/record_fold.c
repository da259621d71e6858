/* record_fold.c - the last line of each object, kept until the object is removed */

#include "engine/record/record_fold.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/map.h"

/* A node, queue or reservation by name, or a workload by id: the line that made it, without
 * newline. */
struct fold_kept {
    struct map_handle handle;
    struct record_id id;
    char *name;
    char *parent; /* of a queue, or NULL */
    char *line;
    char *placed;              /* of a workload: "placement={...}"; NULL: it waits */
    char *notes[RECORD_CALLS]; /* of a workload: the last line of each call about it */
    size_t depth;              /* of a queue, as far as known */
};

struct record_fold {
    struct arena *scratch;
    char *only[RECORD_CALLS]; /* the last line of calls that replace their last values */
    struct fold_kept *nodes;
    struct fold_kept *queues;
    struct fold_kept *reservations;
    struct fold_kept *workloads;
    size_t size;
    int64_t now_ns;
};

struct record_fold *record_fold_new(void)
{
    struct record_fold *f = mem_alloc(sizeof(*f));

    f->scratch = arena_new();
    return f;
}

static size_t size_of(const struct fold_kept *k)
{
    size_t size = sizeof(*k) + strlen(k->line) + (k->placed ? strlen(k->placed) : 0);

    for (size_t i = 0; i < RECORD_CALLS; i++)
        size += k->notes[i] ? strlen(k->notes[i]) : 0;
    return size;
}

static void kept_drop(struct record_fold *f, struct fold_kept **all, struct fold_kept *k)
{
    f->size -= size_of(k);
    /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): uthash; it is in the map */
    map_remove(handle, *all, k);
    free(k->name);
    free(k->parent);
    free(k->line);
    free(k->placed);
    for (size_t i = 0; i < RECORD_CALLS; i++)
        free(k->notes[i]);
    free(k);
}

static void kept_drop_all(struct record_fold *f, struct fold_kept **all)
{
    while (*all)
        kept_drop(f, all, *all);
}

void record_fold_free(struct record_fold *f)
{
    if (!f)
        return;
    kept_drop_all(f, &f->nodes);
    kept_drop_all(f, &f->queues);
    kept_drop_all(f, &f->reservations);
    kept_drop_all(f, &f->workloads);
    for (size_t i = 0; i < RECORD_CALLS; i++)
        free(f->only[i]);
    arena_free(f->scratch);
    free(f);
}

static struct fold_kept *find_name(struct fold_kept *all, const char *name)
{
    struct fold_kept *k = NULL;

    if (name)
        map_find_text(handle, all, name, k);
    return k;
}

static struct fold_kept *find_id(const struct record_fold *f, uint64_t id)
{
    struct fold_kept *k = NULL;

    map_find(handle, f->workloads, &id, sizeof(id), k);
    return k;
}

static void keep_name(struct record_fold *f, struct fold_kept **all, const char *name,
                      const char *parent, struct str line)
{
    struct fold_kept *k = find_name(*all, name);

    if (k)
        kept_drop(f, all, k);
    if (!name || !*name)
        return; /* the engine refused it */
    k = mem_alloc(sizeof(*k));
    k->name = mem_strdup(name);
    k->parent = parent && *parent ? mem_strdup(parent) : NULL;
    k->line = mem_strndup(line.at, line.size);
    map_add(handle, *all, k->name, strlen(k->name), k);
    f->size += size_of(k);
}

static void drop_name(struct record_fold *f, struct fold_kept **all, const char *name)
{
    struct fold_kept *k = find_name(*all, name);

    if (k)
        kept_drop(f, all, k);
}

static void keep_workload(struct record_fold *f, uint64_t id, struct str line)
{
    struct fold_kept *k;

    if (id == 0 || find_id(f, id))
        return; /* the engine refused it */
    k = mem_alloc(sizeof(*k));
    k->id.id = id;
    k->line = mem_strndup(line.at, line.size);
    map_add(handle, f->workloads, &k->id.id, sizeof(k->id.id), k);
    f->size += size_of(k);
}

/* The arguments of a line. */
static const char *arguments_of(const char *line)
{
    const char *space = strchr(line, ' ');

    return space ? space + 1 : "";
}

static void fold_place(struct record_fold *f, const struct mete_placement *from)
{
    AUTO(buf_done) struct buf line = {.cap = RECORD_LINE_MAX};
    struct mete_placement placement = *from;
    struct fold_kept *k = find_id(f, from->workload);

    if (!k)
        return;
    if (placement.started_ns == 0)
        placement.started_ns = f->now_ns;
    record_line_format(&line, RECORD_WORKLOAD_RESTORE, &(struct record_restore){NULL, &placement});
    f->size -= size_of(k);
    free(k->placed);
    k->placed = mem_strndup(arguments_of(line.at), strlen(arguments_of(line.at)) - 1);
    f->size += size_of(k);
}

static void fold_forget(struct record_fold *f, uint64_t id, enum record_call call)
{
    struct fold_kept *k = find_id(f, id);

    if (!k)
        return;
    f->size -= size_of(k);
    free(k->notes[call]);
    k->notes[call] = NULL;
    f->size += size_of(k);
}

static void fold_unplace(struct record_fold *f, uint64_t id)
{
    struct fold_kept *k = find_id(f, id);

    if (!k || !k->placed)
        return;
    f->size -= strlen(k->placed);
    free(k->placed);
    k->placed = NULL;
    fold_forget(f, id, RECORD_WORKLOAD_SUSPENDED);
}

/* Records a restored workload as if it had waited and then been placed. */
static void fold_restore(struct record_fold *f, const struct record_restore *r)
{
    AUTO(buf_done) struct buf line = {.cap = RECORD_LINE_MAX};
    struct mete_placement placement;

    if (!r->workload || !r->placement || find_id(f, r->workload->id))
        return;
    record_line_format(&line, RECORD_WORKLOAD_ADD, r->workload);
    keep_workload(f, r->workload->id, (struct str){line.at, line.size - 1});
    placement = *r->placement;
    placement.workload = r->workload->id;
    fold_place(f, &placement);
}

static void keep_only(struct record_fold *f, enum record_call call, struct str line)
{
    free(f->only[call]);
    f->only[call] = mem_strndup(line.at, line.size);
}

/* Keeps a line about a workload, to follow the line that made it. */
static void fold_note(struct record_fold *f, uint64_t id, enum record_call call, struct str line)
{
    struct fold_kept *k = find_id(f, id);

    if (!k)
        return;
    f->size -= size_of(k);
    free(k->notes[call]);
    k->notes[call] = mem_strndup(line.at, line.size);
    f->size += size_of(k);
}

static void drop_id(struct record_fold *f, uint64_t id)
{
    struct fold_kept *k = find_id(f, id);

    if (k)
        kept_drop(f, &f->workloads, k);
}

static void fold_take_workload(struct record_fold *f, enum record_call call, const void *args,
                               struct str line)
{
    const struct mete_workload *w = args;
    const struct record_id *id = args; /* arguments about one workload begin with its id */

    if (call == RECORD_WORKLOAD_ADD)
        keep_workload(f, w->id, line);
    else if (call == RECORD_WORKLOAD_RESTORE)
        fold_restore(f, args);
    else if (call == RECORD_WORKLOAD_UNPLACE)
        fold_unplace(f, id->id);
    else if (call == RECORD_WORKLOAD_REMOVE)
        drop_id(f, id->id);
    else
        fold_note(f, id->id, call, line);
}

static void fold_take_decisions(struct record_fold *f, const struct mete_decisions *d)
{
    for (size_t i = 0; i < d->n_placements; i++)
        fold_place(f, &d->placements[i]);
    for (size_t i = 0; i < d->n_resumes; i++)
        fold_forget(f, d->resumes[i].workload, RECORD_WORKLOAD_SUSPENDED);
}

static void fold_take(struct record_fold *f, enum record_call call, const void *args,
                      struct str line)
{
    const struct mete_queue *q = args;
    const struct mete_node *node = args;
    const struct record_name *name = args;
    const struct mete_reservation *r = args;
    const struct record_cycle *cycle = args;

    switch (call) {
    case RECORD_ENGINE:
    case RECORD_DEMAND_SET:
    case RECORD_VALUES_SET:
    case RECORD_FAIRNESS_SET:
    case RECORD_MOVES_SET:
    case RECORD_EVICT_RULES_SET:
        keep_only(f, call, line);
        return;
    case RECORD_NODE_SET:
        keep_name(f, &f->nodes, node->name, NULL, line);
        return;
    case RECORD_NODE_REMOVE:
        drop_name(f, &f->nodes, name->name);
        return;
    case RECORD_QUEUE_SET:
        keep_name(f, &f->queues, q->name, q->parent, line);
        return;
    case RECORD_QUEUE_REMOVE:
        drop_name(f, &f->queues, name->name);
        return;
    case RECORD_RESERVATION_SET:
        keep_name(f, &f->reservations, r->name, NULL, line);
        return;
    case RECORD_RESERVATION_REMOVE:
        drop_name(f, &f->reservations, name->name);
        return;
    case RECORD_WORKLOAD_ADD:
    case RECORD_WORKLOAD_RESTORE:
    case RECORD_WORKLOAD_UNPLACE:
    case RECORD_WORKLOAD_REMOVE:
    case RECORD_WORKLOAD_ESTIMATE:
    case RECORD_WORKLOAD_POINTS:
    case RECORD_WORKLOAD_HOLD:
    case RECORD_WORKLOAD_LABEL:
    case RECORD_WORKLOAD_UNRESERVED:
    case RECORD_WORKLOAD_SUSPENDED:
        fold_take_workload(f, call, args, line);
        return;
    case RECORD_USAGE_ADD: /* recent usage begins anew */
        return;
    case RECORD_CYCLE:
        f->now_ns = cycle->now_ns;
        return;
    case RECORD_DECIDED:
        fold_take_decisions(f, args);
        return;
    case RECORD_CALLS:
        return;
    }
}

struct err *record_fold_line(struct record_fold *f, struct str line)
{
    enum record_call call = RECORD_CALLS;
    void *args = NULL;

    arena_reset(f->scratch);
    TRY(record_line_parse(f->scratch, line, &call, &args));
    fold_take(f, call, args, line);
    return NULL;
}

static void add_line(struct buf *out, const char *line)
{
    if (!line)
        return;
    buf_add_text(out, line);
    buf_add_char(out, '\n');
}

/* Adds the queues, parents first: level by level. A queue without its parent comes last, and the
 * engine refuses it. */
static void add_queues(const struct record_fold *f, struct buf *out)
{
    struct fold_kept *next = NULL;
    struct fold_kept *k = NULL;
    size_t left = map_count(handle, f->queues);

    map_each (handle, f->queues, k, next) {
        const struct fold_kept *up = k;

        for (k->depth = 0; up && k->depth < left; k->depth++)
            up = find_name(f->queues, up->parent);
    }
    for (size_t depth = 0; left > 0; depth++)
        map_each (handle, f->queues, k, next) {
            if (k->depth != depth)
                continue;
            add_line(out, k->line);
            left--;
        }
}

static void add_workload(const struct fold_kept *k, struct buf *out)
{
    if (!k->placed) {
        add_line(out, k->line);
    } else {
        buf_printf(out, "%s workload={%s} %s\n", record_call_names[RECORD_WORKLOAD_RESTORE],
                   arguments_of(k->line), k->placed);
    }
    for (size_t i = 0; i < RECORD_CALLS; i++)
        add_line(out, k->notes[i]);
}

void record_fold_format(const struct record_fold *f, struct buf *out)
{
    struct fold_kept *next = NULL;
    struct fold_kept *k = NULL;

    add_line(out, f->only[RECORD_ENGINE]);
    add_line(out, f->only[RECORD_FAIRNESS_SET]);
    add_line(out, f->only[RECORD_MOVES_SET]);
    add_line(out, f->only[RECORD_EVICT_RULES_SET]);
    add_queues(f, out);
    map_each (handle, f->nodes, k, next) {
        add_line(out, k->line);
    }
    map_each (handle, f->reservations, k, next) {
        add_line(out, k->line);
    }
    add_line(out, f->only[RECORD_VALUES_SET]);
    add_line(out, f->only[RECORD_DEMAND_SET]);
    for (int is_waiting = 0; is_waiting < 2; is_waiting++)
        map_each (handle, f->workloads, k, next) {
            if ((k->placed == NULL) == (is_waiting == 1))
                add_workload(k, out);
        }
}

size_t record_fold_size(const struct record_fold *f)
{
    return f->size;
}

int64_t record_fold_now_ns(const struct record_fold *f)
{
    return f->now_ns;
}
