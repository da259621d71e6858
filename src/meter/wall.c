/* wall.c - the report of all gpus, and of the nodes with theirs */

#include "meter/wall.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/num.h"
#include "meter/meter_private.h"

enum wall_state {
    WALL_FREE,
    WALL_HELD,
    WALL_IDLE, /* held, and the last sample shows no work */
    WALL_DRAINED,
    WALL_SICK,
    WALL_NO_ANSWER,
    WALL_STATES
};

static const char *const state_names[WALL_STATES] = {"free",    "held", "idle",
                                                     "drained", "sick", "noAnswer"};

enum wall_order {
    WALL_BY_NAME,
    WALL_BY_FREE,
    WALL_BY_TEMPERATURE,
    WALL_BY_ERRORS
};

static const char *const order_names[] = {"name", "free", "temperature", "errors"};

enum {
    WALL_HOLDERS_MAX = 3, /* in an item */
    WALL_LIMIT_MAX = 1 << 20
};

/* A node and the sums over its gpus. */
struct wall_node {
    struct node_row row; /* borrowed texts */
    char model[GPU_TEXT_SIZE];
    int64_t n_gpus; /* and slices */
    int64_t n_in[WALL_STATES];
    int64_t temperature_c; /* the highest; -1: unknown */
    int64_t errors;        /* uncorrected ECC errors and gpus with an XID */
    bool has_match;
    int64_t key; /* of the order */
};

struct wall_report {
    struct report report; /* first */
    struct loop_timer *timer;
    report_done_fn done;
    void *arg;
    json_t *tree;
};

/* A question, and the answer in the making. */
struct wall {
    const struct meter *meter;
    const json_t *namespaces;
    const char *text; /* NULL: all */
    unsigned states;  /* bits; 0: all */
    bool is_by_node;
    enum wall_order order;
    bool is_backwards;
    int64_t offset;
    int64_t limit;
    int64_t total;
    int64_t counts[WALL_STATES];
    json_t *items;
    VEC(struct wall_node) nodes;
    size_t at_node; /* of `nodes`: the last one that a gpu was added to */
};

/* ---- the question ---- */

static struct err *wall_read_states(const char *text, unsigned *ret)
{
    struct str rest = str_of(text);

    while (rest.at && rest.size > 0) {
        struct str one = str_cut(&rest, ',');
        unsigned bit = 0;

        for (unsigned i = 0; i < WALL_STATES; i++)
            if (str_equal(one, str_of(state_names[i])))
                bit = 1U << i;
        if (!bit)
            return err_new(ERR_BAD_REQUEST,
                           "state \"%.64s\": want free, held, idle, drained, sick or noAnswer",
                           text);
        *ret |= bit;
    }
    return NULL;
}

static struct err *wall_read_order(const char *text, struct wall *w)
{
    const char *name = text ? text : "name";

    w->is_backwards = name[0] == '-';
    name += w->is_backwards;
    for (unsigned i = 0; i < COUNT(order_names); i++) {
        if (!text_equal(order_names[i], name))
            continue;
        w->order = (enum wall_order)i;
        return NULL;
    }
    return err_new(ERR_BAD_REQUEST, "sort \"%.64s\": want name, free, temperature or errors", text);
}

static struct err *wall_read_number(const struct report_question *q, const char *key,
                                    int64_t fallback, int64_t *ret)
{
    const char *text = question_parameter(q, key);
    struct err *e;

    *ret = fallback;
    e = text ? num_parse_int64(str_of(text), 0, WALL_LIMIT_MAX, ret) : NULL;
    return e ? err_wrap(e, "parameter %s", key) : NULL;
}

static struct err *wall_read(struct wall *w, const struct report_question *q)
{
    static const char *const known[] = {"by", "q", "state", "sort", "offset", "limit", NULL};
    const char *by = question_parameter(q, "by");

    TRY(question_check_known(q, known));
    if (by && !text_equal(by, "gpu") && !text_equal(by, "node"))
        return err_new(ERR_BAD_REQUEST, "by \"%.64s\": want gpu or node", by);
    w->is_by_node = text_equal(by, "node");
    w->text = question_parameter(q, "q");
    w->namespaces = q->namespaces;
    TRY(wall_read_states(question_parameter(q, "state"), &w->states));
    TRY(wall_read_order(question_parameter(q, "sort"), w));
    TRY(wall_read_number(q, "offset", 0, &w->offset));
    return wall_read_number(q, "limit", WALL_LIMIT_MAX, &w->limit);
}

/* ---- one gpu or slice ---- */

/* A gpu, or a slice of it: what is told of both. */
struct wall_cell {
    const struct device_row *row;
    const struct gpu_slice *slice; /* NULL: the whole gpu */
    int64_t slice_index;           /* -1 */
    const struct gpu_sample *sample;
    int64_t sampled_ns;
    size_t n_holders;
    enum wall_state state;
};

static bool cell_is_held_by(const struct wall_cell *c, const struct device_holder *h)
{
    return !c->slice ||
           (h->device->kind == DEVICE_SLICE && h->device->start == c->slice->start &&
            text_equal(h->device->profile, c->slice->profile)) ||
           h->device->kind == DEVICE_WHOLE;
}

static enum wall_state cell_state(const struct wall_cell *c)
{
    switch (c->row->gpu->health) {
    case GPU_NOT_ANSWERING:
        return WALL_NO_ANSWER;
    case GPU_DRAINED:
        return WALL_DRAINED;
    case GPU_SUSPECT:
    case GPU_QUARANTINED:
    case GPU_UNHEALTHY:
    case GPU_LOST:
        return WALL_SICK;
    case GPU_HEALTHY:
        break;
    }
    if (c->n_holders == 0)
        return WALL_FREE;
    return c->sample && c->sample->value[GPU_FIELD_UTILIZATION_PCT] == 0 ? WALL_IDLE : WALL_HELD;
}

static struct wall_cell cell_of(const struct wall *w, const struct device_row *row, int64_t slice)
{
    struct wall_cell c = {.row = row, .slice_index = slice};

    c.slice = slice >= 0 ? &row->gpu->slices[slice] : NULL;
    c.sample = meter_gpu_sample(w->meter, row->node, c.slice ? c.slice->uuid : row->gpu->uuid,
                                &c.sampled_ns);
    for (size_t i = 0; i < row->n_holders; i++)
        c.n_holders += cell_is_held_by(&c, &row->holders[i]);
    c.state = cell_state(&c);
    return c;
}

static bool wall_shows(const struct wall *w, const struct device_holder *h)
{
    return report_may_show(w->namespaces, h->ns);
}

static bool text_has(const char *text, const char *part)
{
    return text && strcasestr(text, part);
}

static bool cell_matches(const struct wall *w, const struct wall_cell *c)
{
    const struct device_row *row = c->row;

    if (!w->text || text_has(row->node, w->text) || text_has(row->gpu->model, w->text))
        return true;
    for (size_t i = 0; i < row->n_holders; i++) {
        const struct device_holder *h = &row->holders[i];

        if (cell_is_held_by(c, h) && wall_shows(w, h) &&
            (text_has(h->pod, w->text) || text_has(h->user, w->text)))
            return true;
    }
    return false;
}

/* null: a holder in a namespace that the caller may not see. */
static json_t *holder_tree(const struct wall *w, const struct device_holder *h)
{
    json_t *o;

    if (!wall_shows(w, h))
        return json_null();
    o = json_object();
    json_put(o, "jobId", h->job_id > 0 ? json_integer(h->job_id) : json_null());
    json_put_text(o, "namespace", h->ns);
    json_put_text(o, "pod", h->pod);
    json_put(o, "user", json_text_new(h->user));
    return o;
}

static json_t *holders_tree(const struct wall *w, const struct wall_cell *c)
{
    json_t *list = json_array();

    for (size_t i = 0; i < c->row->n_holders; i++)
        if (cell_is_held_by(c, &c->row->holders[i]) && json_array_size(list) < WALL_HOLDERS_MAX)
            (void)json_array_append_new(list, holder_tree(w, &c->row->holders[i])); /* fresh */
    return list;
}

static json_t *number_tree(int64_t n)
{
    return n < 0 ? json_null() : json_integer(n);
}

static void put_sample(json_t *o, const struct wall_cell *c)
{
    static const enum gpu_field shown[] = {GPU_FIELD_UTILIZATION_PCT, GPU_FIELD_SM_ACTIVE_MILLI,
                                           GPU_FIELD_MEMORY_USED_BYTES, GPU_FIELD_TEMPERATURE_C,
                                           GPU_FIELD_POWER_MW};
    char at[STAMP_TEXT_SIZE];

    for (size_t i = 0; c->sample && i < COUNT(shown); i++)
        json_put(o, gpu_fields[shown[i]].name, number_tree(c->sample->value[shown[i]]));
    if (!c->sample)
        return;
    stamp_format(c->sampled_ns, at);
    json_put_text(o, "at", at);
}

/* Readings that are not there are unknown. */
static json_t *cell_tree(const struct wall *w, const struct wall_cell *c)
{
    const struct gpu *g = c->row->gpu;
    json_t *o = json_object();

    json_put_text(o, "node", c->row->node);
    json_put_int(o, "index", g->index);
    if (c->slice)
        json_put_int(o, "slice", c->slice_index);
    json_put_text(o, "uuid", c->slice ? c->slice->uuid : g->uuid);
    json_put_text(o, "model", c->slice ? c->slice->profile : g->model);
    json_put_text(o, "state", state_names[c->state]);
    json_put_text(o, "health", gpu_health_text(g->health));
    if (*g->health_reason)
        json_put(o, "healthReason", json_text_new(g->health_reason));
    if (g->health_since_ns > 0) {
        char since[STAMP_TEXT_SIZE];

        stamp_format(g->health_since_ns, since);
        json_put_text(o, "healthSince", since);
    }
    json_put(o, "memoryBytes", number_tree(c->slice ? c->slice->memory_bytes : g->memory_bytes));
    if (c->n_holders > 0) {
        json_put(o, "holders", holders_tree(w, c));
        json_put_int(o, "nHolders", (int64_t)c->n_holders);
    }
    put_sample(o, c);
    return o;
}

/* ---- nodes ---- */

static void wall_add_node(void *arg, const struct node_row *row)
{
    struct wall *w = arg;

    vec_add(&w->nodes, (struct wall_node){.row = *row,
                                          .temperature_c = -1,
                                          .has_match = !w->text || text_has(row->name, w->text)});
}

/* The gpus come in the order of the nodes. */
static struct wall_node *wall_node_of(struct wall *w, const char *name)
{
    while (w->at_node < w->nodes.n && !text_equal(w->nodes.at[w->at_node].row.name, name))
        w->at_node++;
    return w->at_node < w->nodes.n ? &w->nodes.at[w->at_node] : NULL;
}

static void node_count_cell(struct wall_node *n, const struct wall_cell *c)
{
    int64_t celsius = c->sample ? c->sample->value[GPU_FIELD_TEMPERATURE_C] : -1;
    int64_t ecc = c->sample ? c->sample->value[GPU_FIELD_ECC_UNCORRECTED] : -1;
    int64_t xid = c->sample ? c->sample->value[GPU_FIELD_XID_LAST] : -1;

    if (n->n_gpus == 0)
        (void)snprintf(n->model, sizeof(n->model), "%s", c->row->gpu->model);
    n->n_gpus++;
    n->n_in[c->state]++;
    n->temperature_c = celsius > n->temperature_c ? celsius : n->temperature_c;
    n->errors += (ecc > 0 && ecc < INT32_MAX ? ecc : 0) + (xid > 0);
}

static int64_t node_value(const struct wall_node *n, enum wall_order order)
{
    switch (order) {
    case WALL_BY_FREE:
        return n->n_in[WALL_FREE];
    case WALL_BY_TEMPERATURE:
        return n->temperature_c;
    case WALL_BY_ERRORS:
        return n->errors;
    case WALL_BY_NAME:
        break;
    }
    return 0;
}

static int compare_nodes(const void *a, const void *b)
{
    const struct wall_node *x = a;
    const struct wall_node *y = b;

    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return strcmp(x->row.name, y->row.name);
}

/* Equal nodes are in the order of their names. The nodes came in that order. */
static void wall_sort_nodes(struct wall *w)
{
    int64_t place = 0;

    VEC_EACH (&w->nodes, n) {
        n->key = w->order == WALL_BY_NAME ? place++ : node_value(n, w->order);
        n->key = w->is_backwards ? -n->key : n->key;
    }
    if (w->nodes.n > 1)
        qsort(w->nodes.at, w->nodes.n, sizeof(w->nodes.at[0]), compare_nodes);
}

static json_t *node_tree(const struct wall *w, const struct wall_node *n)
{
    int64_t seen_ns = meter_node_seen(w->meter, n->row.name);
    json_t *o = json_object();
    char seen[STAMP_TEXT_SIZE];

    json_put_text(o, "name", n->row.name);
    json_put(o, "model", json_text_new(n->model));
    json_put_int(o, "gpus", n->n_gpus);
    for (size_t i = 0; i < WALL_STATES; i++)
        json_put_int(o, state_names[i], n->n_in[i]);
    json_put(o, "temperatureC", number_tree(n->temperature_c));
    json_put_int(o, "errors", n->errors);
    json_put_bool(o, "ready", n->row.is_ready);
    json_put_bool(o, "takesPods", n->row.takes_pods);
    json_put(o, "drainReason", json_text_new(n->row.drain_reason));
    json_put(o, "agent", json_text_new(n->row.agent));
    stamp_format(seen_ns, seen);
    json_put(o, "seenAt", seen_ns > 0 ? json_string(seen) : json_null());
    return o;
}

static void wall_add_nodes(struct wall *w)
{
    wall_sort_nodes(w);
    VEC_EACH (&w->nodes, n) {
        int64_t place = w->total;

        if (!n->has_match)
            continue;
        w->total++;
        if (place >= w->offset && place - w->offset < w->limit)
            (void)json_array_append_new(w->items, node_tree(w, n)); /* fresh: cannot fail */
    }
}

/* ---- the answer ---- */

static void wall_add_cell(struct wall *w, const struct wall_cell *c)
{
    bool matches = cell_matches(w, c);
    struct wall_node *n = w->is_by_node ? wall_node_of(w, c->row->node) : NULL;
    int64_t place = w->total;

    if (matches)
        w->counts[c->state]++;
    matches = matches && (!w->states || w->states & (1U << c->state));
    if (n) {
        node_count_cell(n, c);
        n->has_match = n->has_match || matches;
        return;
    }
    if (!matches || w->is_by_node)
        return;
    w->total++;
    if (place >= w->offset && place - w->offset < w->limit)
        (void)json_array_append_new(w->items, cell_tree(w, c)); /* fresh: cannot fail */
}

static void wall_add_gpu(void *arg, const struct device_row *row)
{
    struct wall *w = arg;
    int64_t n = (int64_t)row->gpu->n_slices;
    struct wall_cell c;

    for (int64_t i = n > 0 ? 0 : -1; i < n; i++) {
        c = cell_of(w, row, i);
        wall_add_cell(w, &c);
    }
}

static json_t *wall_tree(struct wall *w)
{
    const struct device_table *table = &w->meter->devices;
    json_t *o = json_object();
    json_t *counts;
    char at[STAMP_TEXT_SIZE];

    w->items = json_array();
    if (table->each_node && w->is_by_node)
        table->each_node(table->arg, wall_add_node, w);
    if (table->each)
        table->each(table->arg, wall_add_gpu, w);
    if (w->is_by_node)
        wall_add_nodes(w);
    stamp_format(loop_wall_ns(w->meter->o.loop), at);
    json_put_text(o, "apiVersion", "mete.dev/v1");
    json_put_text(o, "kind", "Wall");
    json_put_text(o, "at", at);
    json_put_int(o, "total", w->total);
    json_put_int(o, "offset", w->offset);
    counts = json_object_at(o, "counts");
    for (size_t i = 0; i < WALL_STATES; i++)
        json_put_int(counts, state_names[i], w->counts[i]);
    json_put(o, "items", w->items);
    vec_done(&w->nodes);
    return o;
}

static void wall_report_free(struct report *report)
{
    struct wall_report *r = (struct wall_report *)report;

    loop_timer_free(r->timer);
    json_decref(r->tree);
    free(r);
}

static void wall_report_on_timer(void *arg)
{
    struct wall_report *r = arg;

    r->done(r->arg, NULL, r->tree);
    wall_report_free(&r->report);
}

struct err *meter_wall(void *meter, const struct report_question *q, report_done_fn done,
                       void *done_arg, struct report **ret)
{
    struct meter *m = meter;
    struct wall w = {.meter = m};
    struct wall_report *r;

    TRY(wall_read(&w, q));
    r = mem_alloc(sizeof(*r));
    *r = (struct wall_report){
        .report = {.free = wall_report_free}, .done = done, .arg = done_arg, .tree = wall_tree(&w)};
    r->timer = loop_timer_new(m->o.loop, wall_report_on_timer, r);
    loop_timer_set(r->timer, 0);
    *ret = &r->report;
    return NULL;
}

void meter_set_devices(struct meter *m, struct device_table table)
{
    m->devices = table;
}
