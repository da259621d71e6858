/* jobs_report.c - the list of jobs: one pass over the index, in steps, that keeps the best rows */

#include "page/jobs_report.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/num.h"
#include "base/vec.h"
#include "kinds/job/job_facts.h"
#include "kinds/queue.h"
#include "page/row_heap.h"

enum {
    ROWS_A_STEP = 65536,
    OFFSET_MAX = 10000,
    LIMIT_MAX = 500,
    LIMIT_DEFAULT = 50,
    WANTED_MAX = 64
};

enum jobs_order {
    BY_ID,
    BY_NAME,
    BY_USER,
    BY_QUEUE,
    BY_STATE,
    BY_GPUS,
    BY_SUBMITTED,
    BY_STARTED,
    BY_ENDED
};

static const char *const order_names[] = {"id",   "name",      "user",    "queue", "state",
                                          "gpus", "submitted", "started", "ended"};

/* Words of a filter; n 0: all fit. */
struct wanted {
    uint32_t at[WANTED_MAX];
    size_t n;
    bool is_none; /* the filter names only words that no job has */
};

struct queue_sum {
    uint64_t n_waiting;
    uint64_t n_running;
    uint64_t gpus_waiting;
    uint64_t gpus_running;
    int64_t oldest_ns;
};

struct report {
    struct jobs_index *index;
    struct jobs_wait wait;
    struct loop_timer *timer;
    report_done_fn done;
    void *arg;
    /* the question */
    json_t *parameters;
    json_t *namespaces; /* NULL: all */
    unsigned states;    /* bits */
    struct wanted ns, user, queue;
    struct str text; /* in lower case, as names are; at NULL: all */
    char *lower;     /* the bytes of `text` */
    int64_t number;  /* -1: `text` is no number */
    enum jobs_order order;
    bool is_backwards;
    size_t offset;
    size_t limit;
    /* the index, in this turn of the loop */
    const struct jobs_row *rows;
    const char *names;
    /* the answer so far */
    size_t left; /* rows below it are still to be looked at: the newest come first */
    size_t total;
    size_t counts[JOBS_STATES];
    VEC(uint8_t) may_show;      /* by word: 0 unknown, 1 yes, 2 no */
    VEC(struct queue_sum) sums; /* by word */
    struct row_heap best;
};

static void report_free(struct report *r)
{
    loop_timer_free(r->timer);
    json_decref(r->parameters);
    json_decref(r->namespaces);
    vec_done(&r->may_show);
    vec_done(&r->sums);
    row_heap_done(&r->best);
    free(r->lower);
    free(r);
}

/* ---- the question ---- */

static struct err *read_states(const char *text, unsigned *ret)
{
    struct str rest = str_of(text);
    unsigned states = 0;

    while (rest.at && rest.size > 0) {
        struct str one = str_cut(&rest, ',');
        unsigned bit = 0;

        for (unsigned i = 0; i < JOBS_STATES; i++)
            if (str_equal(one, str_of(jobs_state_names[i])))
                bit = 1U << i;
        if (!bit)
            return err_new(ERR_BAD_REQUEST,
                           "state \"%.32s\": want waiting, starting, running, "
                           "ending, suspended, finished or failed",
                           text);
        states |= bit;
    }
    *ret = states;
    return NULL;
}

static struct err *read_order(const char *text, struct report *r)
{
    const char *name = text ? text : "-id";

    r->is_backwards = name[0] == '-';
    name += r->is_backwards;
    for (unsigned i = 0; i < COUNT(order_names); i++) {
        if (!text_equal(order_names[i], name))
            continue;
        r->order = (enum jobs_order)i;
        return NULL;
    }
    return err_new(ERR_BAD_REQUEST,
                   "sort \"%.32s\": want id, name, user, queue, state, gpus, "
                   "submitted, started or ended",
                   text);
}

static void read_text(struct report *r)
{
    const char *text = json_text_filled(r->parameters, "q");

    r->number = -1;
    if (!text)
        return;
    err_free(num_parse_int64(str_of(text), 0, INT64_MAX, &r->number)); /* else a name */
    r->lower = mem_strdup(text);
    for (char *at = r->lower; *at; at++)
        if (*at >= 'A' && *at <= 'Z')
            *at = (char)(*at - 'A' + 'a');
    r->text = str_of(r->lower);
}

static struct err *question_read(struct report *r)
{
    static const char *const known[] = {"state", "namespace", "user",   "queue",
                                        "q",     "sort",      "offset", "limit"};

    TRY(report_check_known(r->parameters, known, COUNT(known)));
    TRY(read_states(json_text(r->parameters, "state"), &r->states));
    TRY(read_order(json_text_filled(r->parameters, "sort"), r));
    TRY(report_number(r->parameters, "offset", 0, OFFSET_MAX, &r->offset));
    TRY(report_number(r->parameters, "limit", LIMIT_DEFAULT, LIMIT_MAX, &r->limit));
    read_text(r);
    return NULL;
}

/* Words are looked up when the index is made. */
static void read_wanted(const struct report *r, const char *key, struct wanted *ret)
{
    struct str rest = str_of(json_text_filled(r->parameters, key));

    ret->is_none = rest.at != NULL;
    while (rest.at && rest.size > 0 && ret->n < WANTED_MAX) {
        struct str one = str_cut(&rest, ',');
        AUTO_FREE char *word = mem_strndup(one.at, one.size);

        if (jobs_index_find_word(r->index, word, &ret->at[ret->n]))
            ret->n++;
    }
    ret->is_none = ret->is_none && ret->n == 0;
}

/* ---- rows ---- */

static bool is_wanted(const struct wanted *w, uint32_t word)
{
    for (size_t i = 0; i < w->n; i++)
        if (w->at[i] == word)
            return true;
    return w->n == 0 && !w->is_none;
}

static struct str row_name(const struct report *r, const struct jobs_row *row)
{
    return (struct str){.at = r->names + row->name_at, .size = row->name_size};
}

static bool name_has(struct str name, struct str text)
{
    const char *at = name.at;
    const char *end = name.at + name.size;

    while ((size_t)(end - at) >= text.size) {
        at = memchr(at, text.at[0], (size_t)(end - at) - text.size + 1);
        if (!at)
            return false;
        if (memcmp(at, text.at, text.size) == 0)
            return true;
        at++;
    }
    return false;
}

static int compare_names(struct str a, struct str b)
{
    int order = memcmp(a.at, b.at, a.size < b.size ? a.size : b.size);

    return order != 0 ? order : (a.size > b.size) - (a.size < b.size);
}

static bool may_show(struct report *r, uint32_t ns)
{
    while (r->may_show.n <= ns) {
        const char *name = jobs_index_word(r->index, (uint32_t)r->may_show.n);

        vec_add(&r->may_show, report_may_show(r->namespaces, name) ? 1 : 2);
    }
    return r->may_show.at[ns] == 1;
}

static bool row_fits(struct report *r, const struct jobs_row *row)
{
    if (!row->entry || row->is_part || !may_show(r, row->ns))
        return false;
    if (!is_wanted(&r->ns, row->ns) || !is_wanted(&r->user, row->user) ||
        !is_wanted(&r->queue, row->queue))
        return false;
    return !r->text.at || row->id == r->number || name_has(row_name(r, row), r->text);
}

static int compare_numbers(int64_t a, int64_t b)
{
    return a < b ? -1 : a > b;
}

static int compare_words(const struct report *r, uint32_t a, uint32_t b)
{
    return a == b ? 0 : strcmp(jobs_index_word(r->index, a), jobs_index_word(r->index, b));
}

static int compare_rows(const struct report *r, const struct jobs_row *a, const struct jobs_row *b)
{
    switch (r->order) {
    case BY_ID:
        break;
    case BY_NAME:
        return compare_names(row_name(r, a), row_name(r, b));
    case BY_USER:
        return compare_words(r, a->user, b->user);
    case BY_QUEUE:
        return compare_words(r, a->queue, b->queue);
    case BY_STATE:
        return compare_numbers(a->state, b->state);
    case BY_GPUS:
        return compare_numbers(a->n_gpus, b->n_gpus);
    case BY_SUBMITTED:
        return compare_numbers(a->created_ns, b->created_ns);
    case BY_STARTED:
        return compare_numbers(a->started_ns, b->started_ns);
    case BY_ENDED:
        return compare_numbers(a->ended_ns, b->ended_ns);
    }
    return compare_numbers(a->id, b->id);
}

/* Does row `a` stand before row `b` in the list? Equal rows: the newest first. */
static bool is_before(const void *report, uint32_t a, uint32_t b)
{
    const struct report *r = report;
    const struct jobs_row *x = &r->rows[a];
    const struct jobs_row *y = &r->rows[b];
    int order = !x->entry || !y->entry ? 0 : compare_rows(r, x, y);

    if (order != 0)
        return r->is_backwards ? order > 0 : order < 0;
    return x->id != y->id ? x->id > y->id : a < b;
}

static void count_queue(struct report *r, const struct jobs_row *row)
{
    struct queue_sum *sum;

    if (row->state > JOBS_RUNNING)
        return;
    while (r->sums.n <= row->queue)
        vec_add(&r->sums, (struct queue_sum){0});
    sum = &r->sums.at[row->queue];
    if (row->state != JOBS_WAITING) {
        sum->n_running++;
        sum->gpus_running += row->n_gpus;
        return;
    }
    sum->n_waiting++;
    sum->gpus_waiting += row->n_gpus;
    if (sum->oldest_ns == 0 || row->created_ns < sum->oldest_ns)
        sum->oldest_ns = row->created_ns;
}

static void row_look(struct report *r, uint32_t i)
{
    const struct jobs_row *row = &r->rows[i];

    if (!row_fits(r, row))
        return;
    r->counts[row->state]++;
    count_queue(r, row);
    if (r->states && !(r->states & (1U << row->state)))
        return;
    r->total++;
    row_heap_add(&r->best, i);
}

/* ---- the answer ---- */

static void put_time(json_t *o, const char *key, int64_t ns)
{
    char text[STAMP_TEXT_SIZE];

    stamp_format(ns, text);
    json_put(o, key, ns ? json_string(text) : json_null());
}

static json_t *number_tree(int64_t n)
{
    return n < 0 ? json_null() : json_integer(n);
}

static void put_use(json_t *o, const struct jobs_use *use, const struct job *job,
                    const json_t *object)
{
    const char *uid = json_text_at(object, "metadata", "uid", NULL);
    int64_t milli = -1;
    int64_t bytes = -1;

    if (use->of && uid && *job->node && !job->is_ended)
        use->of(use->arg, job->node, uid, &milli, &bytes);
    json_put(o, "gpuMilli", number_tree(milli));
    json_put(o, "gpuMemoryBytes", number_tree(bytes));
}

static json_t *item_tree(const struct report *r, const struct jobs_row *row, const json_t *object)
{
    const struct job job = job_of(object);
    const char *queue = queue_of(object);
    json_t *o = json_object();

    json_put_int(o, "id", row->id);
    json_put_text(o, "object", row->entry->is_batch ? "job" : "pod");
    json_put_text(o, "name", job.name);
    json_put_text(o, "namespace", job.ns);
    json_put(o, "user", json_text_new(job.user));
    json_put_text(o, "queue", queue ? queue : QUEUE_DEFAULT);
    json_put_text(o, "state", job.state);
    json_put(o, "reason", json_text_new(*job.reason ? job.reason : job.progress));
    json_put(o, "gpus", job_gpus_cell(&job));
    json_put(o, "node", json_text_new(job.node));
    json_put(o, "timeLimitSeconds",
             number_tree(json_int(json_object_get(object, "spec"), "activeDeadlineSeconds", -1)));
    put_use(o, jobs_index_use(r->index), &job, object);
    json_put(o, "exitCode",
             job.is_ended && job.exit_code >= 0 ? json_integer(job.exit_code) : json_null());
    put_time(o, "submittedAt", job.created_ns);
    put_time(o, "startedAt", job.started_ns);
    put_time(o, "endedAt", job.is_ended ? job.ended_ns : 0);
    return o;
}

static json_t *queues_tree(const struct report *r)
{
    json_t *list = json_array();

    for (uint32_t i = 0; i < r->sums.n; i++) {
        const struct queue_sum *sum = &r->sums.at[i];
        json_t *o;

        if (sum->n_waiting == 0 && sum->n_running == 0)
            continue;
        o = json_object();
        json_put_text(o, "name", jobs_index_word(r->index, i));
        json_put_int(o, "waiting", (int64_t)sum->n_waiting);
        json_put_int(o, "running", (int64_t)sum->n_running);
        json_put_int(o, "gpusWaiting", (int64_t)sum->gpus_waiting);
        json_put_int(o, "gpusRunning", (int64_t)sum->gpus_running);
        put_time(o, "oldestWaitSince", sum->oldest_ns);
        (void)json_array_append_new(list, o); /* a fresh object: cannot fail */
    }
    return list;
}

static json_t *report_tree(struct report *r)
{
    json_t *o = json_object();
    json_t *counts;
    json_t *items;

    row_heap_sort(&r->best);
    json_put_text(o, "apiVersion", "mete.dev/v1");
    json_put_text(o, "kind", "JobList");
    json_put_int(o, "total", (int64_t)r->total);
    json_put_int(o, "offset", (int64_t)r->offset);
    counts = json_object_at(o, "counts");
    for (size_t i = 0; i < JOBS_STATES; i++)
        json_put_int(counts, jobs_state_names[i], (int64_t)r->counts[i]);
    json_put(o, "queues", queues_tree(r));
    items = json_array_at(o, "items");
    for (size_t i = r->offset; i < r->best.rows.n; i++) {
        const struct jobs_row *row = &r->rows[r->best.rows.at[i]];
        AUTO(json_freep) json_t *object = row->entry ? jobs_index_object(r->index, row) : NULL;

        if (object)
            (void)json_array_append_new(items, item_tree(r, row, object)); /* fresh, as above */
    }
    return o;
}

static void report_step(void *arg)
{
    struct report *r = arg;
    AUTO(json_freep) json_t *tree = NULL;
    size_t n = 0;

    r->rows = jobs_index_rows(r->index, &n);
    r->names = jobs_index_names(r->index);
    for (size_t i = 0; i < ROWS_A_STEP && r->left > 0; i++)
        row_look(r, (uint32_t)--r->left);
    if (r->left > 0) {
        loop_timer_set(r->timer, 0);
        return;
    }
    tree = report_tree(r);
    r->done(r->arg, NULL, tree);
    report_free(r);
}

static void report_on_made(void *arg)
{
    struct report *r = arg;

    r->wait.fn = NULL;
    (void)jobs_index_rows(r->index, &r->left);
    read_wanted(r, "namespace", &r->ns);
    read_wanted(r, "user", &r->user);
    read_wanted(r, "queue", &r->queue);
    report_step(r);
}

struct err *jobs_report_begin(void *arg, const struct report_question *q, report_done_fn done,
                              void *done_arg, struct report **ret)
{
    struct report *r = mem_alloc(sizeof(*r));
    struct err *e;

    r->index = arg;
    r->parameters = json_deep_copy(q->parameters);
    r->namespaces = q->namespaces ? json_deep_copy(q->namespaces) : NULL;
    r->done = done;
    r->arg = done_arg;
    r->wait = (struct jobs_wait){.fn = report_on_made, .arg = r};
    e = question_read(r);
    r->best = (struct row_heap){.max = r->offset + r->limit, .is_before = is_before, .arg = r};
    if (!e)
        e = jobs_index_wait(r->index, &r->wait);
    if (e) {
        report_free(r);
        return e;
    }
    r->timer = loop_timer_new(jobs_index_loop(r->index), report_step, r);
    *ret = r;
    return NULL;
}

void jobs_report_cancel(struct report *r)
{
    if (r->wait.fn)
        jobs_index_forget(r->index, &r->wait);
    report_free(r);
}
