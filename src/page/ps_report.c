/* ps_report.c - a page of `mete ps`: one pass over the index, 1 ms for 100,000 jobs */

#include "page/ps_report.h"

#include <inttypes.h>

#include "base/mem.h"
#include "base/num.h"
#include "page/row_heap.h"

enum {
    LIMIT_MAX = 500,
    LIMIT_DEFAULT = 50
};

/* A job's place in the order: a number, and what tells jobs of one number apart. */
struct ps_place {
    int64_t id;
    const char *ns;
    const char *name;
    bool is_batch;
};

struct report {
    struct jobs_index *index;
    struct loop_timer *timer;
    report_done_fn done;
    void *arg;
    int64_t revision; /* the answer has its changes */
    /* the question */
    char *ns;         /* NULL: all */
    char *after_text; /* the bytes of `after` */
    struct ps_place after;
    bool is_all;
    size_t limit;
    /* the index, while it is looked through */
    const struct jobs_row *rows;
    uint32_t ns_word;
    size_t n_fit;
    struct row_heap first;
};

static void ps_free(struct report *r)
{
    loop_timer_free(r->timer);
    row_heap_done(&r->first);
    free(r->ns);
    free(r->after_text);
    free(r);
}

/* ---- the question ---- */

/* "12/pod/team-a/train"; cuts `text` into pieces. */
static struct err *ps_place_parse(char *text, struct ps_place *ret)
{
    char *kind = strchr(text, '/');
    char *ns = kind ? strchr(kind + 1, '/') : NULL;
    char *name = ns ? strchr(ns + 1, '/') : NULL;
    int64_t id = 0;
    struct err *e;

    if (!name)
        return err_new(ERR_BAD_REQUEST, "after \"%.64s\": want NUMBER/KIND/NAMESPACE/NAME", text);
    *kind++ = '\0';
    *ns++ = '\0';
    *name++ = '\0';
    e = num_parse_int64(str_of(text), 0, INT64_MAX, &id);
    if (e)
        return err_wrap(e, "after");
    *ret = (struct ps_place){.id = id, .ns = ns, .name = name, .is_batch = text_equal(kind, "job")};
    return NULL;
}

static char *ps_place_format(const struct jobs_row *row)
{
    return mem_format("%" PRId64 "/%s/%s/%s", row->id, row->entry->is_batch ? "job" : "pod",
                      row->entry->ns, row->entry->name);
}

static struct err *ps_question_read(struct report *r, const json_t *parameters)
{
    static const char *const known[] = {"namespace", "all", "limit", "after"};
    const char *ns = json_text_filled(parameters, "namespace");
    const char *after = json_text_filled(parameters, "after");
    const char *all = json_text_filled(parameters, "all");

    TRY(report_check_known(parameters, known, COUNT(known)));
    TRY(report_number(parameters, "limit", LIMIT_DEFAULT, LIMIT_MAX, &r->limit));
    r->is_all = text_equal(all, "true");
    if (all && !r->is_all && !text_equal(all, "false"))
        return err_new(ERR_BAD_REQUEST, "all \"%.32s\": want true or false", all);
    r->ns = ns ? mem_strdup(ns) : NULL;
    r->after_text = after ? mem_strdup(after) : NULL;
    return after ? ps_place_parse(r->after_text, &r->after) : NULL;
}

/* ---- rows ---- */

static struct ps_place ps_place_of(const struct jobs_row *row)
{
    return (struct ps_place){.id = row->id,
                             .ns = row->entry->ns,
                             .name = row->entry->name,
                             .is_batch = row->entry->is_batch};
}

static int ps_place_compare(const struct ps_place *a, const struct ps_place *b)
{
    int order = a->id < b->id ? -1 : a->id > b->id;

    if (order == 0)
        order = strcmp(a->ns, b->ns);
    if (order == 0)
        order = strcmp(a->name, b->name);
    return order != 0 ? order : b->is_batch - a->is_batch;
}

static bool ps_is_before(const void *report, uint32_t a, uint32_t b)
{
    const struct report *r = report;
    struct ps_place x;
    struct ps_place y;

    if (r->rows[a].id != r->rows[b].id)
        return r->rows[a].id < r->rows[b].id;
    x = ps_place_of(&r->rows[a]);
    y = ps_place_of(&r->rows[b]);
    return ps_place_compare(&x, &y) < 0;
}

static bool ps_is_after(const struct report *r, const struct jobs_row *row)
{
    struct ps_place place;

    if (!r->after_text || row->id != r->after.id)
        return !r->after_text || row->id > r->after.id;
    place = ps_place_of(row);
    return ps_place_compare(&place, &r->after) > 0;
}

/* The Job of a pod stands for it while the Job is in the list. */
static bool ps_row_is_told_by_job(const struct report *r, const struct jobs_row *row)
{
    return row->is_part && row->family->is_listed && (r->is_all || !row->family->is_ended);
}

static bool ps_row_fits(const struct report *r, const struct jobs_row *row)
{
    bool is_ended = row->state == JOBS_FINISHED || row->state == JOBS_FAILED;

    return row->entry && (r->is_all || !is_ended) && (!r->ns || row->ns == r->ns_word) &&
           !ps_row_is_told_by_job(r, row) && ps_is_after(r, row);
}

static void ps_rows_look(struct report *r)
{
    size_t n = 0;

    r->rows = jobs_index_rows(r->index, &n);
    if (r->ns && !jobs_index_find_word(r->index, r->ns, &r->ns_word))
        return;
    for (size_t i = 0; i < n; i++) {
        if (!ps_row_fits(r, &r->rows[i]))
            continue;
        r->n_fit++;
        row_heap_add(&r->first, (uint32_t)i);
    }
    row_heap_sort(&r->first);
}

/* ---- the answer ---- */

static json_t *ps_tree(const struct report *r, bool is_made)
{
    size_t more = r->n_fit - r->first.rows.n;
    AUTO_FREE char *after = NULL;
    const uint32_t *last = NULL;
    json_t *o = json_object();
    json_t *items;

    json_put_text(o, "apiVersion", "mete.dev/v1");
    json_put_text(o, "kind", "JobList");
    json_put_bool(o, "isMade", is_made);
    json_put_int(o, "more", (int64_t)more);
    items = json_array_at(o, "items");
    VEC_EACH (&r->first.rows, row) {
        json_t *item = jobs_index_item(r->index, &r->rows[*row]);

        last = row;
        if (item)
            (void)json_array_append_new(items, item); /* a tree of its own: cannot fail */
    }
    after = more > 0 && last ? ps_place_format(&r->rows[*last]) : NULL;
    json_put(o, "after", json_text_new(after));
    return o;
}

static void ps_on_time(void *arg)
{
    struct report *r = arg;
    bool is_made = jobs_index_is_made(r->index);
    AUTO(json_freep) json_t *tree = NULL;

    if (is_made && jobs_index_revision(r->index) < r->revision) {
        loop_timer_set(r->timer, 0);
        return;
    }
    if (is_made)
        ps_rows_look(r);
    tree = ps_tree(r, is_made);
    r->done(r->arg, NULL, tree);
    ps_free(r);
}

struct err *ps_report_begin(void *arg, const struct report_question *q, report_done_fn done,
                            void *done_arg, struct report **ret)
{
    struct report *r = mem_alloc(sizeof(*r));
    struct err *e;

    r->index = arg;
    r->done = done;
    r->arg = done_arg;
    r->revision = store_revision(jobs_index_store(r->index));
    e = ps_question_read(r, q->parameters);
    r->first = (struct row_heap){.max = r->limit, .is_before = ps_is_before, .arg = r};
    if (!e)
        e = jobs_index_make(r->index);
    if (e) {
        ps_free(r);
        return e;
    }
    r->timer = loop_timer_new(jobs_index_loop(r->index), ps_on_time, r);
    loop_timer_set(r->timer, 0);
    *ret = r;
    return NULL;
}

void ps_report_cancel(struct report *r)
{
    ps_free(r);
}
