/* jobs_index.c - the index of jobs: made in steps, then kept by two watches */

#include "page/jobs_index.h"

#include "base/list.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/vec.h"
#include "kinds/job/job.h"
#include "kinds/job/job_facts.h"
#include "kinds/job/job_item.h"
#include "kinds/queue.h"

enum {
    DECODES_A_STEP = 128,       /* about 2 ms */
    DEAD_NAMES_MIN = 64 * 1024, /* bytes; fewer are not worth a copy of the others */
    ITEMS_KEPT = 1024
};

const char *const jobs_state_names[JOBS_STATES] = {"waiting",   "starting", "running", "ending",
                                                   "suspended", "finished", "failed"};

struct jobs_word {
    struct map_handle handle;
    uint32_t number;
    char text[];
};

/* The item of a row's object: another object in this row has another version. */
struct jobs_kept {
    uint32_t row;
    int64_t version;
    json_t *item; /* NULL: the place is free */
};

struct jobs_index {
    struct loop *loop;
    struct objects *objects;
    struct store *store;
    struct loop_timer *timer;
    struct store_watch *pods;
    struct store_watch *batches;
    int64_t pods_seen; /* revisions that the watches have told */
    int64_t batches_seen;
    struct jobs_entry *entries;
    struct jobs_family *families;
    VEC(struct jobs_row) rows;
    VEC(uint32_t) spare;
    VEC(char) names;
    size_t dead_names; /* bytes of removed jobs in `names` */
    struct jobs_word *by_text;
    VEC(const struct jobs_word *) words;
    struct jobs_wait *waits;
    struct jobs_kept items[ITEMS_KEPT]; /* of row n at n modulo ITEMS_KEPT */
    const struct store_range *walked;   /* NULL: nothing is walked */
    char *after_ns;
    char *after_name;
    bool is_made;
    struct jobs_use use;
};

static const struct store_range jobs_pods = {.group = "", .resource = "pods"};
static const struct store_range jobs_batches = {.group = "batch", .resource = "jobs"};

struct jobs_index *jobs_index_new(struct loop *loop, struct objects *objects)
{
    struct jobs_index *x = mem_alloc(sizeof(*x));

    x->loop = loop;
    x->objects = objects;
    x->store = objects_store(objects);
    return x;
}

void jobs_index_free(struct jobs_index *x)
{
    struct jobs_entry *entry;
    struct jobs_entry *next_entry;
    struct jobs_family *family;
    struct jobs_family *next_family;
    struct jobs_word *word;
    struct jobs_word *next_word;

    if (!x)
        return;
    loop_timer_free(x->timer);
    store_watch_free(x->pods);
    store_watch_free(x->batches);
    map_each (handle, x->entries, entry, next_entry) {
        map_remove(handle, x->entries, entry); /* NOLINT(clang-analyzer-unix.Malloc): uthash */
        free(entry);
    }
    map_each (handle, x->families, family, next_family) {
        map_remove(handle, x->families, family); /* NOLINT(clang-analyzer-unix.Malloc): uthash */
        free(family);
    }
    map_each (handle, x->by_text, word, next_word) {
        map_remove(handle, x->by_text, word); /* NOLINT(clang-analyzer-unix.Malloc): uthash */
        free(word);
    }
    for (size_t i = 0; i < ITEMS_KEPT; i++)
        json_decref(x->items[i].item);
    vec_done(&x->rows);
    vec_done(&x->spare);
    vec_done(&x->names);
    vec_done(&x->words);
    free(x->after_ns);
    free(x->after_name);
    free(x);
}

/* ---- words ---- */

bool jobs_index_find_word(const struct jobs_index *x, const char *text, uint32_t *ret)
{
    struct jobs_word *found = NULL;

    map_find_text(handle, x->by_text, text, found);
    if (found)
        *ret = found->number;
    return found != NULL;
}

static uint32_t word_of(struct jobs_index *x, const char *text)
{
    struct jobs_word *made;
    uint32_t number = (uint32_t)x->words.n;

    if (jobs_index_find_word(x, text, &number))
        return number;
    made = mem_alloc(sizeof(*made) + strlen(text) + 1);
    made->number = number;
    memcpy(made->text, text, strlen(text) + 1);
    map_add(handle, x->by_text, made->text, strlen(made->text), made);
    vec_add(&x->words, made);
    return number;
}

size_t jobs_index_words(const struct jobs_index *x)
{
    return x->words.n;
}

const char *jobs_index_word(const struct jobs_index *x, uint32_t word)
{
    return x->words.at[word]->text;
}

/* ---- families ---- */

/* NULL: a pod of no Job. */
static struct jobs_family *family_take(struct jobs_index *x, const json_t *tree, bool is_batch)
{
    const char *ns = text_or_empty(json_text_at(tree, "metadata", "namespace", NULL));
    const char *uid = is_batch ? json_text_at(tree, "metadata", "uid", NULL)
                               : json_text_at(tree, "metadata", "labels", JOB_UID_LABEL, NULL);
    AUTO_FREE char *key = uid ? mem_format("%s/%s", ns, uid) : NULL;
    struct jobs_family *family = NULL;

    if (!key)
        return NULL;
    map_find_text(handle, x->families, key, family);
    if (!family) {
        family = mem_alloc(sizeof(*family) + strlen(key) + 1);
        memcpy(family->key, key, strlen(key) + 1);
        map_add(handle, x->families, family->key, strlen(family->key), family);
    }
    family->n_rows++;
    return family;
}

static void family_leave(struct jobs_index *x, const struct jobs_row *row, bool is_batch)
{
    struct jobs_family *family = row->family;

    if (!family)
        return;
    family->is_listed = family->is_listed && !is_batch;
    if (--family->n_rows > 0)
        return;
    map_remove(handle, x->families, family);
    free(family);
}

/* ---- rows ---- */

static struct jobs_entry *entry_find(const struct jobs_index *x, const struct store_key *key,
                                     bool is_batch)
{
    AUTO_FREE char *text = mem_format("%c%s/%s", is_batch ? 'j' : 'p', key->ns, key->name);
    struct jobs_entry *found = NULL;

    map_find_text(handle, x->entries, text, found);
    return found;
}

static void row_name(struct jobs_index *x, struct jobs_row *row, const char *name)
{
    size_t size = strlen(name);

    row->name_at = (uint32_t)x->names.n;
    row->name_size = (uint8_t)size; /* at most 253 */
    for (size_t i = 0; i < size; i++)
        vec_add(&x->names, name[i]);
}

/* Copies the names of the jobs that are left, when most bytes are of removed ones. */
static void names_tidy(struct jobs_index *x)
{
    if (x->dead_names < DEAD_NAMES_MIN || x->dead_names < x->names.n / 2)
        return;
    vec_clear(&x->names);
    x->dead_names = 0;
    VEC_EACH (&x->rows, row)
        if (row->entry)
            row_name(x, row, row->entry->name);
}

static struct jobs_entry *entry_make(struct jobs_index *x, const struct store_key *key,
                                     bool is_batch)
{
    size_t ns = strlen(key->ns);
    size_t name = strlen(key->name);
    struct jobs_entry *made = mem_alloc(sizeof(*made) + 2 * (ns + name) + 6);
    char *texts = made->key + ns + name + 3;

    made->key[0] = is_batch ? 'j' : 'p';
    memcpy(made->key + 1, key->ns, ns);
    made->key[ns + 1] = '/';
    memcpy(made->key + ns + 2, key->name, name);
    memcpy(texts, key->ns, ns);
    memcpy(texts + ns + 1, key->name, name);
    made->ns = texts;
    made->name = texts + ns + 1;
    made->is_batch = is_batch;
    made->row = (uint32_t)x->rows.n;
    if (x->spare.n > 0)
        made->row = x->spare.at[--x->spare.n];
    else
        vec_add(&x->rows, (struct jobs_row){0});
    row_name(x, &x->rows.at[made->row], made->name);
    map_add(handle, x->entries, made->key, strlen(made->key), made);
    return made;
}

static void entry_drop(struct jobs_index *x, struct jobs_entry *entry)
{
    x->dead_names += x->rows.at[entry->row].name_size;
    family_leave(x, &x->rows.at[entry->row], entry->is_batch);
    x->rows.at[entry->row] = (struct jobs_row){0};
    vec_add(&x->spare, entry->row);
    map_remove(handle, x->entries, entry);
    free(entry);
    names_tidy(x);
}

static uint8_t state_of(const char *name)
{
    for (unsigned i = 0; i < JOBS_STATES; i++)
        if (text_equal(jobs_state_names[i], name))
            return (uint8_t)i;
    return JOBS_WAITING;
}

static void row_fill(struct jobs_index *x, struct jobs_row *row, const json_t *tree)
{
    const struct job job = job_of(tree);
    const char *queue = queue_of(tree);
    int64_t id = 0;

    err_free(num_parse_int64(str_of(job.id), 0, INT64_MAX, &id)); /* no number: 0 */
    row->id = id;
    row->created_ns = job.created_ns;
    row->started_ns = job.started_ns;
    row->ended_ns = job.is_ended ? job.ended_ns : 0;
    row->ns = word_of(x, job.ns);
    row->user = word_of(x, job.user);
    row->queue = word_of(x, queue ? queue : QUEUE_DEFAULT);
    row->n_gpus = (uint32_t)gpu_asks_count(&job.asks);
    row->state = state_of(job.state);
}

static void row_join(struct jobs_index *x, struct jobs_row *row, const json_t *tree, bool is_batch)
{
    struct jobs_family *family = family_take(x, tree, is_batch);

    family_leave(x, row, is_batch);
    row->family = family;
    row->is_part = family && !is_batch;
    if (!family || !is_batch)
        return;
    family->is_listed = true;
    family->is_ended = row->state == JOBS_FINISHED || row->state == JOBS_FAILED;
}

static void index_put(struct jobs_index *x, const struct store_object *o, bool is_batch)
{
    struct jobs_entry *entry = entry_find(x, &o->key, is_batch);
    AUTO(json_freep) json_t *tree = NULL;
    AUTO(err_freep) struct err *e = objects_decode_shared(x->objects, o, &tree);

    if (e) {
        if (entry)
            entry_drop(x, entry);
        return;
    }
    if (!entry)
        entry = entry_make(x, &o->key, is_batch);
    row_fill(x, &x->rows.at[entry->row], tree);
    row_join(x, &x->rows.at[entry->row], tree, is_batch);
    x->rows.at[entry->row].entry = entry;
}

static void index_change(struct jobs_index *x, const struct store_change *change, bool is_batch)
{
    struct jobs_entry *entry;

    if (!change)
        return;
    if (change->type != STORE_DELETED) {
        index_put(x, change->object, is_batch);
        return;
    }
    entry = entry_find(x, &change->object->key, is_batch);
    if (entry)
        entry_drop(x, entry);
}

static void on_pod(void *arg, const struct store_change *change, int64_t revision)
{
    struct jobs_index *x = arg;

    x->pods_seen = change ? x->pods_seen : revision;
    index_change(x, change, false);
}

static void on_batch(void *arg, const struct store_change *change, int64_t revision)
{
    struct jobs_index *x = arg;

    x->batches_seen = change ? x->batches_seen : revision;
    index_change(x, change, true);
}

/* ---- the first walk ---- */

static void index_made(struct jobs_index *x)
{
    struct jobs_wait *w;

    x->is_made = true;
    while ((w = x->waits) != NULL) {
        LIST_REMOVE(x->waits, w);
        w->fn(w->arg);
    }
}

/* False: the range is walked. */
static bool index_step(struct jobs_index *x)
{
    const struct store_key after = {.group = x->walked->group,
                                    .resource = x->walked->resource,
                                    .ns = x->after_ns,
                                    .name = x->after_name};
    const struct store_object *o = store_next(x->store, x->walked, x->after_ns ? &after : NULL);

    if (!o)
        return false;
    index_put(x, o, x->walked == &jobs_batches);
    free(x->after_ns);
    free(x->after_name);
    x->after_ns = mem_strdup(o->key.ns);
    x->after_name = mem_strdup(o->key.name);
    return true;
}

static void index_walk(void *arg)
{
    struct jobs_index *x = arg;

    for (size_t i = 0; i < DECODES_A_STEP; i++) {
        if (x->is_made)
            break;
        if (index_step(x))
            continue;
        free(TAKE(x->after_ns));
        free(TAKE(x->after_name));
        if (x->walked == &jobs_batches)
            index_made(x);
        else
            x->walked = &jobs_batches;
    }
    if (!x->is_made)
        loop_timer_set(x->timer, 0);
    else if (x->waits)
        index_made(x);
}

struct err *jobs_index_make(struct jobs_index *x)
{
    int64_t now = store_revision(x->store);

    if (x->pods && x->batches)
        return NULL;
    if (!x->pods) {
        TRY(store_watch_new(x->store, &jobs_pods, now, on_pod, x, &x->pods));
        x->pods_seen = now;
    }
    TRY(store_watch_new(x->store, &jobs_batches, now, on_batch, x, &x->batches));
    x->batches_seen = now;
    x->walked = &jobs_pods;
    x->timer = loop_timer_new(x->loop, index_walk, x);
    loop_timer_set(x->timer, 0);
    return NULL;
}

bool jobs_index_is_made(const struct jobs_index *x)
{
    return x->is_made;
}

int64_t jobs_index_revision(const struct jobs_index *x)
{
    return x->pods_seen < x->batches_seen ? x->pods_seen : x->batches_seen;
}

struct store *jobs_index_store(const struct jobs_index *x)
{
    return x->store;
}

struct err *jobs_index_wait(struct jobs_index *x, struct jobs_wait *w)
{
    TRY(jobs_index_make(x));
    LIST_ADD(x->waits, w);
    loop_timer_set(x->timer, 0);
    return NULL;
}

void jobs_index_forget(struct jobs_index *x, struct jobs_wait *w)
{
    LIST_REMOVE(x->waits, w);
}

void jobs_index_set_use(struct jobs_index *x, struct jobs_use use)
{
    x->use = use;
}

const struct jobs_use *jobs_index_use(const struct jobs_index *x)
{
    return &x->use;
}

struct loop *jobs_index_loop(const struct jobs_index *x)
{
    return x->loop;
}

const struct jobs_row *jobs_index_rows(const struct jobs_index *x, size_t *ret_count)
{
    *ret_count = x->rows.n;
    return x->rows.at;
}

const char *jobs_index_names(const struct jobs_index *x)
{
    return x->names.at;
}

size_t jobs_index_names_size(const struct jobs_index *x)
{
    return x->names.n;
}

static const struct store_object *row_object(const struct jobs_index *x, const struct jobs_row *row)
{
    const struct store_range *range = row->entry->is_batch ? &jobs_batches : &jobs_pods;

    return store_get(x->store, (struct store_key){.group = range->group,
                                                  .resource = range->resource,
                                                  .ns = row->entry->ns,
                                                  .name = row->entry->name});
}

json_t *jobs_index_object(const struct jobs_index *x, const struct jobs_row *row)
{
    const struct store_object *o = row_object(x, row);
    AUTO(err_freep) struct err *e = NULL;
    json_t *tree = NULL;

    if (o)
        e = objects_decode_shared(x->objects, o, &tree);
    return tree;
}

json_t *jobs_index_item(struct jobs_index *x, const struct jobs_row *row)
{
    struct jobs_kept *kept = &x->items[row->entry->row % ITEMS_KEPT];
    const struct store_object *o = row_object(x, row);
    AUTO(json_freep) json_t *object = NULL;

    if (o && kept->item && kept->row == row->entry->row && kept->version == o->version)
        return json_incref(kept->item);
    object = o ? jobs_index_object(x, row) : NULL;
    if (!object)
        return NULL;
    json_decref(kept->item);
    *kept =
        (struct jobs_kept){.row = row->entry->row, .version = o->version, .item = job_item(object)};
    return json_incref(kept->item);
}
