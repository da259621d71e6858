/* slurm_report.c - the question of a report, and its steps over jobs, pods and nodes */
#include "control/slurm/slurm_report.h"

#include "base/num.h"
#include "control/slurm/slurm_report_private.h"
#include "kinds/slurm/slurm_rows.h"

#define STAMP_FACTOR UINT64_C(0x9e3779b97f4a7c15) /* odd: the parts stay apart */

enum {
    JOBS_A_STEP = 256,
    IDS_MAX = 65536
};

struct report {
    struct slurm_jobs *slurm;
    struct loop_timer *timer;
    struct slurm_filter filter;
    json_t *parameters;
    json_t *namespaces; /* NULL: all */
    char *reader;
    report_done_fn done;
    void *arg;
    json_t *rows;
    int64_t next_id;      /* of jobs */
    uint64_t next_number; /* of other pods */
};

static void report_free(struct report *r)
{
    loop_timer_free(r->timer);
    vec_done(&r->filter.ids);
    json_decref(r->parameters);
    json_decref(r->namespaces);
    free(r->reader);
    json_decref(r->rows);
    free(r);
}

/* ---- the question ---- */

/* "12", the element "12_3" or the component "12+1". */
static struct err *read_id(struct str text, struct slurm_filter *f)
{
    struct slurm_wanted_id id = {.index = -1};
    struct str rest = text;
    struct str component = str_cut(&rest, '_');
    struct str number = str_cut(&component, '+');
    int64_t offset = 0;

    TRY(num_parse_int64(number, 0, INT64_MAX - SLURM_HET_MAX, &id.id));
    if (component.at)
        TRY(num_parse_int64(component, 0, SLURM_HET_MAX, &offset));
    id.id += offset;
    id.is_alone = component.at != NULL;
    if (rest.at)
        TRY(num_parse_int64(rest, 0, SLURM_ARRAY_MAX, &id.index));
    if (f->ids.n >= IDS_MAX)
        return err_new(ERR_BAD_REQUEST, "at most %d ids", IDS_MAX);
    vec_add(&f->ids, id);
    return NULL;
}

static struct err *read_ids(const char *text, struct slurm_filter *f)
{
    struct str rest = str_of(text);

    while (rest.at && rest.size > 0) {
        struct err *e = read_id(str_cut(&rest, ','), f);

        if (e)
            return err_wrap(e, "parameter ids");
    }
    return NULL;
}

static struct err *read_question(struct report *r)
{
    static const char *const known[] = {"what", "ids",    "user",   "partition", "account",
                                        "name", "states", "detail", "triggers"};
    struct slurm_filter *f = &r->filter;
    const char *key;
    json_t *value;

    json_object_foreach (r->parameters, key, value) {
        bool is_known = false;

        for (size_t i = 0; i < COUNT(known); i++)
            is_known |= text_equal(key, known[i]);
        if (!is_known)
            return err_new(ERR_BAD_REQUEST, "unknown parameter '%.64s'", key);
    }
    f->namespaces = r->namespaces;
    f->user = json_text_filled(r->parameters, "user");
    f->partition = json_text_filled(r->parameters, "partition");
    f->account = json_text_filled(r->parameters, "account");
    f->name = json_text_filled(r->parameters, "name");
    f->states = json_text_filled(r->parameters, "states");
    f->is_detailed = text_equal(json_text(r->parameters, "detail"), "1");
    f->is_of_triggers = text_equal(json_text(r->parameters, "triggers"), "1");
    f->has_ids = json_text_filled(r->parameters, "ids") != NULL;
    return read_ids(json_text_filled(r->parameters, "ids"), f);
}

/* Is `word` in the list with commas? No list: yes. */
static bool in_list(const char *list, const char *word)
{
    struct str rest = str_of(list);

    if (!list)
        return true;
    while (rest.at)
        if (str_equal(str_cut(&rest, ','), str_of(text_or_empty(word))))
            return true;
    return false;
}

/* Is a word of `words` in the list? No list: yes. */
static bool lists_meet(const char *list, const char *words)
{
    struct str rest = str_of(words);

    while (list && rest.at) {
        struct str word = str_cut(&rest, ',');
        AUTO_FREE char *text = mem_strndup(word.at, word.size);

        if (in_list(list, text))
            return true;
    }
    return !list;
}

bool slurm_filter_state(const struct slurm_filter *f, const char *state)
{
    if (!f->states)
        return text_equal(state, "PENDING") || text_equal(state, "RUNNING") ||
               text_equal(state, "SUSPENDED");
    return text_equal(f->states, "all") || in_list(f->states, state);
}

bool slurm_filter_id(const struct slurm_filter *f, int64_t id, int64_t array_id, int64_t index)
{
    VEC_EACH (&f->ids, at) {
        if (at->index < 0 && (at->id == id || (!at->is_alone && at->id == array_id)))
            return true;
        if (at->index >= 0 && at->id == array_id && (at->index == index || index < 0))
            return true;
    }
    return !f->has_ids;
}

bool slurm_filter_texts(const struct slurm_filter *f, const struct slurm_row_texts *t)
{
    return report_may_show(f->namespaces, t->ns) && in_list(f->user, t->user) &&
           in_list(f->account, t->account) && in_list(f->name, t->name) &&
           lists_meet(f->partition, t->partition);
}

/* ---- the answer ---- */

static void report_answer(struct report *r, const char *what, json_t *member)
{
    AUTO(json_freep) json_t *tree = json_object();

    json_put_text(tree, "apiVersion", "mete.dev/v1");
    json_put_text(tree, "kind", "SlurmReport");
    json_put(tree, what, member);
    r->done(r->arg, NULL, tree);
    report_free(r);
}

static void step_jobs(struct report *r)
{
    struct slurm_jobs *s = r->slurm;
    size_t n = 0;

    for (size_t i = slurm_id_place(s, r->next_id); i < s->by_id.n && n < JOBS_A_STEP; i++, n++) {
        if (!s->by_id.at[i]->is_early)
            slurm_add_job_rows(s->by_id.at[i], &r->filter, r->rows);
        r->next_id = s->by_id.at[i]->id + 1;
    }
    if (n < JOBS_A_STEP)
        n += slurm_add_pod_rows(s, &r->filter, JOBS_A_STEP - n, &r->next_number, r->rows);
    if (n < JOBS_A_STEP)
        report_answer(r, "jobs", json_incref(r->rows));
    else
        loop_timer_set(r->timer, 0);
}

/* Waiting pods of the namespaces that the reader sees; the weights come first. */
static json_t *report_priorities(const struct report *r)
{
    AUTO(json_freep) json_t *all = slurm_fair_priorities(r->slurm->options.fair);
    json_t *rows = json_array();

    for (size_t i = 0; i < json_array_size(all); i++) {
        json_t *row = json_array_get(all, i);
        const char *ns = json_text(row, "namespace");

        if (!ns || report_may_show(r->namespaces, ns))
            (void)json_array_append(rows, row);
    }
    return rows;
}

static void report_on_timer(void *arg)
{
    struct report *r = arg;
    const char *what = json_text(r->parameters, "what");

    if (text_equal(what, "jobs"))
        step_jobs(r);
    else if (text_equal(what, "nodes"))
        report_answer(r, "nodes", slurm_node_rows(r->slurm));
    else if (text_equal(what, "partitions"))
        report_answer(r, "partitions", slurm_partition_rows(r->slurm));
    else if (text_equal(what, "licenses"))
        report_answer(r, "licenses", slurm_license_rows(r->slurm));
    else if (text_equal(what, "topology"))
        report_answer(r, "topology", slurm_topology_rows(r->slurm));
    else if (text_equal(what, "steps"))
        report_answer(r, "steps", slurm_step_rows(r->slurm, &r->filter));
    else if (text_equal(what, "allocation"))
        report_answer(r, "allocation", slurm_allocation(r->slurm, &r->filter));
    else if (text_equal(what, "shares"))
        report_answer(r, "shares", slurm_fair_shares(r->slurm->options.fair));
    else if (text_equal(what, "priorities"))
        report_answer(r, "priorities", report_priorities(r));
    else if (text_equal(what, "diag"))
        report_answer(r, "diag", slurm_diag_row(r->slurm));
    else
        report_answer(r, "config", slurm_config_row(r->slurm));
}

static bool is_of_fair(const char *what)
{
    return text_equal(what, "shares") || text_equal(what, "priorities");
}

static bool is_what(const char *what)
{
    return text_equal(what, "jobs") || text_equal(what, "nodes") ||
           text_equal(what, "partitions") || text_equal(what, "config") ||
           text_equal(what, "steps") || text_equal(what, "allocation") ||
           text_equal(what, "diag") || text_equal(what, "licenses") ||
           text_equal(what, "topology") || is_of_fair(what);
}

struct err *slurm_report_begin(void *slurm, const struct report_question *q, report_done_fn done,
                               void *done_arg, struct report **ret)
{
    struct slurm_jobs *s = slurm;
    struct report *r;
    struct err *e;

    if (!is_what(json_text(q->parameters, "what")) ||
        (!s->options.fair && is_of_fair(json_text(q->parameters, "what"))))
        return err_new(ERR_BAD_REQUEST, "parameter what: want jobs, steps, allocation, nodes, "
                                        "partitions, licenses, topology, config, diag, shares "
                                        "or priorities");
    r = mem_alloc(sizeof(*r));
    *r = (struct report){.slurm = s,
                         .parameters = json_deep_copy(q->parameters),
                         .namespaces = q->namespaces ? json_deep_copy(q->namespaces) : NULL,
                         .reader = q->user ? mem_strdup(q->user) : NULL,
                         .done = done,
                         .arg = done_arg,
                         .rows = json_array()};
    r->filter.is_admin = q->is_admin;
    r->filter.reader = r->reader;
    e = read_question(r);
    if (e) {
        report_free(r);
        return e;
    }
    r->timer = loop_timer_new(s->options.loop, report_on_timer, r);
    loop_timer_set(r->timer, 0);
    *ret = r;
    return NULL;
}

void slurm_report_cancel(struct report *r)
{
    report_free(r);
}

uint64_t slurm_report_stamp(void *slurm, const struct report_question *q)
{
    const struct slurm_jobs *s = slurm;
    int64_t quarter = loop_now_ns(s->options.loop) / (NS_PER_SEC / 4);
    int64_t n_cycles = s->options.scheduler ? scheduler_cycles(s->options.scheduler).n : 0;
    uint64_t mixed = s->changes;

    if (!s->options.objects || !text_equal(json_text(q->parameters, "what"), "jobs"))
        return 0;
    mixed = mixed * STAMP_FACTOR + (uint64_t)n_cycles;
    mixed = mixed * STAMP_FACTOR + (uint64_t)store_revision(objects_store(s->options.objects));
    mixed = mixed * STAMP_FACTOR + (uint64_t)quarter;
    return mixed | 1U;
}
