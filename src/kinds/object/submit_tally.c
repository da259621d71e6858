/* submit_tally.c - counts of the jobs of the Slurm commands that wait or run */

#include "kinds/object/submit_tally.h"

#include <stdlib.h>

#include "base/mem.h"
#include "kinds/slurm/slurm_accounts.h"
#include "kinds/slurm/slurm_job.h"
#include "model/index_set.h"

/* A job as it was read. */
struct submit_entry {
    struct map_handle handle; /* by key */
    char *key;                /* "ns/name" */
    const struct store_object *object;
    struct submit_kind *kind;
    int64_t jobs;
    uint64_t seen_at; /* `updates` of the tally */
};

static int64_t count_of(const char *indexes)
{
    AUTO(index_set_done) struct index_set set = {0};

    if (indexes && *indexes) /* our own text */
        err_free(index_set_parse(str_of(indexes), SLURM_ARRAY_MAX, &set));
    return (int64_t)set.count;
}

/* Elements of the job that have not ended. */
static int64_t jobs_of(const json_t *job)
{
    const json_t *status = json_object_get(job, "status");
    const char *indexes = json_text_at(job, "spec", "array", "indexes", NULL);

    if (json_text(status, "endTime"))
        return 0;
    if (!indexes)
        return 1;
    return count_of(indexes) - count_of(json_text(status, "completed")) -
           count_of(json_text(status, "failed")) - count_of(json_text(status, "cancelled"));
}

static struct submit_kind *kind_get(struct submit_tally *t, const json_t *spec)
{
    const char *qos = json_text_filled(spec, "qos");
    const char *account = text_or_empty(json_text(spec, "account"));
    const char *user = text_or_empty(json_text_at(spec, "user", "name", NULL));
    const char *partition = text_or_empty(json_text(spec, "partition"));
    AUTO_FREE char *key =
        mem_format("%s\n%s\n%s\n%s", account, user, qos ? qos : SLURM_QOS_DEFAULT, partition);
    struct submit_kind *k = NULL;

    map_find_text(handle, t->kinds, key, k);
    if (k)
        return k;
    k = mem_alloc(sizeof(*k));
    k->key = TAKE(key);
    k->account = mem_strdup(account);
    k->user = mem_strdup(user);
    k->qos = mem_strdup(qos ? qos : SLURM_QOS_DEFAULT);
    k->partition = mem_strdup(partition);
    map_add(handle, t->kinds, k->key, strlen(k->key), k);
    return k;
}

static void kind_free(struct submit_tally *t, struct submit_kind *k)
{
    map_remove(handle, t->kinds, k); /* NOLINT(clang-analyzer-unix.Malloc): uthash */
    free(k->key);
    free(k->account);
    free(k->user);
    free(k->qos);
    free(k->partition);
    free(k);
}

static void entry_clear(struct submit_entry *e)
{
    if (e->kind) {
        e->kind->jobs -= e->jobs;
        e->kind->entries--;
    }
    store_object_unref(e->object);
    e->object = NULL;
    e->kind = NULL;
    e->jobs = 0;
}

static void entry_free(struct submit_tally *t, struct submit_entry *e)
{
    entry_clear(e);
    map_remove(handle, t->entries, e); /* NOLINT(clang-analyzer-unix.Malloc): uthash */
    free(e->key);
    free(e);
}

static struct err *entry_read(struct submit_tally *t, struct submit_entry *e,
                              const struct store_object *o, struct objects *objects)
{
    AUTO(json_freep) json_t *job = NULL;

    entry_clear(e);
    TRY(objects_decode_shared(objects, o, &job));
    e->object = store_object_ref(o);
    e->jobs = jobs_of(job);
    e->kind = kind_get(t, json_object_get(job, "spec"));
    e->kind->jobs += e->jobs;
    e->kind->entries++;
    return NULL;
}

static struct submit_entry *entry_get(struct submit_tally *t, const struct store_object *o)
{
    AUTO_FREE char *key = mem_format("%s/%s", o->key.ns, o->key.name);
    struct submit_entry *e = NULL;

    map_find_text(handle, t->entries, key, e);
    if (e)
        return e;
    e = mem_alloc(sizeof(*e));
    e->key = TAKE(key);
    map_add(handle, t->entries, e->key, strlen(e->key), e);
    return e;
}

/* Jobs that are gone, and kinds without jobs. */
static void tally_sweep(struct submit_tally *t)
{
    struct submit_entry *e;
    struct submit_entry *next;
    struct submit_kind *k;
    struct submit_kind *k_next;

    map_each (handle, t->entries, e, next)
        if (e->seen_at != t->updates)
            entry_free(t, e);
    map_each (handle, t->kinds, k, k_next) {
        if (k->entries == 0)
            kind_free(t, k);
    }
}

struct err *submit_tally_update(struct submit_tally *t, struct store *store,
                                struct objects *objects)
{
    const struct store_range range = {.group = "mete.dev", .resource = "slurmjobs"};
    const struct store_object *o = NULL;

    t->updates++;
    while ((o = store_next_applied(store, &range, o ? &o->key : NULL))) {
        struct submit_entry *e = entry_get(t, o);

        e->seen_at = t->updates;
        if (e->object != o)
            TRY(entry_read(t, e, o, objects));
    }
    tally_sweep(t);
    return NULL;
}

void submit_tally_done(struct submit_tally *t)
{
    while (t->entries)
        entry_free(t, t->entries); /* NOLINT(clang-analyzer-unix.Malloc): uthash */
    while (t->kinds)
        kind_free(t, t->kinds); /* NOLINT(clang-analyzer-unix.Malloc): uthash */
}
