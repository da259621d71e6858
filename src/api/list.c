/*
 * list.c - lists of objects
 *
 * A list is written in pieces, as fast as the client reads, and in turns of bounded work: 100,000
 * pods are kept as references, never as one text. A small list is one reply with its length.
 */

#include <inttypes.h>

#include "api/form.h"
#include "api/handlers.h"
#include "api/selection.h"
#include "api/token.h"
#include "api/version.h"
#include "base/mem.h"
#include "kinds/object/objects.h"

enum {
    WHOLE_MAX = 1 << 20, /* a list up to this size is one reply */
    PIECE_SIZE = 64 << 10,
    LOOKS_A_TURN = 16384, /* objects checked by labels in a turn: about 8 ms */
    FIELD_LOOKS = 4,      /* cost of a check by field, in checks by label */
    TREE_LOOKS = 64,      /* cost of a check by tree */
    ROWS_AT_ONCE = 32,
};

struct lister {
    struct core *core;
    struct exchange *x;
    struct loop_timer *timer; /* the next turn */
    struct form form;
    struct selection selection;
    struct store_list list;
    json_t *view; /* of a computed kind, instead of `list` */
    size_t next;
    size_t n_items;
    size_t limit; /* 0: all */
    size_t looks_left;
    bool has_more;
    bool is_begun;
    bool is_over;
    bool is_first; /* no item was written yet */
    struct buf b;
};

static void lister_free(struct lister *l)
{
    loop_timer_free(l->timer);
    form_done(&l->form);
    selection_done(&l->selection);
    store_list_done(&l->list);
    json_decref(l->view);
    buf_done(&l->b);
    free(l);
}

static void on_close(void *arg)
{
    lister_free(arg);
}

static void add_begin(struct lister *l)
{
    AUTO(json_freep) json_t *columns = NULL;
    AUTO_FREE char *text = NULL;

    l->is_first = true;
    switch (l->form.as) {
    case AS_TABLE:
        columns = form_columns(&l->form, l->core);
        text = json_format(columns);
        buf_printf(&l->b,
                   "{\"kind\":\"Table\",\"apiVersion\":\"meta.k8s.io/"
                   "v1\",\"columnDefinitions\":%s,\"rows\":[",
                   text);
        break;
    case AS_METADATA:
        buf_add_text(&l->b, "{\"kind\":\"PartialObjectMetadataList\",\"apiVersion\":\"meta.k8s.io/"
                            "v1\",\"items\":[");
        break;
    case AS_OBJECT:
        if (l->form.kind->list_kind)
            buf_printf(&l->b, "{\"kind\":\"%s\",", l->form.kind->list_kind);
        else
            buf_printf(&l->b, "{\"kind\":\"%sList\",", l->form.kind->kind);
        buf_printf(&l->b, "\"apiVersion\":\"%s\",\"items\":[", l->form.kind->api_version);
        break;
    }
}

/* Adds the metadata, at the end: only now the continue token is known. */
static void add_end(struct lister *l)
{
    int64_t revision = l->view ? store_revision(core_store(l->core)) : l->list.revision;

    buf_printf(&l->b, "],\"metadata\":{\"resourceVersion\":\"%" PRId64 "\"", revision);
    if (l->has_more && l->next > 0) {
        const struct store_key *last = &l->list.at[l->next - 1]->key;
        const struct token token = {.revision = revision, .ns = last->ns, .name = last->name};
        AUTO_FREE char *text = token_format(&token);

        buf_printf(&l->b, ",\"continue\":\"%s\"", text);
        if (l->list.has_more) /* without a selector, all of the rest */
            buf_printf(&l->b, ",\"remainingItemCount\":%zu", l->list.n_after);
    }
    buf_add_text(&l->b, "}}\n");
    l->is_over = true;
}

static void add_separator(struct lister *l)
{
    if (!l->is_first)
        buf_add_char(&l->b, ',');
    l->is_first = false;
}

static size_t source_count(const struct lister *l)
{
    return l->view ? json_array_size(l->view) : l->list.n;
}

static void count_look(struct lister *l, bool makes_tree, bool has_tree)
{
    size_t looks = l->selection.labels ? 1 : l->selection.needs_text ? FIELD_LOOKS : 0;

    if (makes_tree || has_tree)
        looks = TREE_LOOKS;
    l->looks_left -= looks < l->looks_left ? looks : l->looks_left;
}

/* Finds the next selected object. False: the end of the list, of its limit, or of this turn. */
static bool next_index(struct lister *l, size_t *ret)
{
    while (l->next < source_count(l)) {
        size_t i = l->next;
        bool has_tree = l->view != NULL;
        bool fits;

        if (l->limit > 0 && l->n_items == l->limit) {
            l->has_more = true;
            return false;
        }
        if (l->looks_left == 0)
            return false;
        l->next++;
        fits = l->view ? selection_matches_tree(&l->selection, json_array_get(l->view, i))
                       : selection_matches(&l->selection, l->core, l->list.at[i], &has_tree);
        count_look(l, fits && l->form.as != AS_OBJECT, has_tree);
        if (!fits)
            continue;
        l->n_items++;
        *ret = i;
        return true;
    }
    return false;
}

static bool is_exhausted(const struct lister *l)
{
    return l->next == source_count(l) || (l->limit > 0 && l->n_items == l->limit);
}

static void add_rows(struct lister *l, const json_t *trees)
{
    AUTO(json_freep) json_t *rows = form_rows(&l->form, l->core, trees);
    size_t i;
    json_t *row;

    json_array_foreach (rows, i, row) {
        AUTO_FREE char *text = json_format(row);

        add_separator(l);
        buf_add_text(&l->b, text);
    }
}

/* Adds a batch of rows: tables are made for many objects at once. False: no objects left. */
static bool add_table_items(struct lister *l)
{
    AUTO(json_freep) json_t *trees = json_array();
    size_t i = 0;

    while (json_array_size(trees) < ROWS_AT_ONCE && next_index(l, &i)) {
        json_t *tree =
            l->view ? json_incref(json_array_get(l->view, i)) : core_tree(l->core, l->list.at[i]);

        if (tree)
            json_array_append_new(trees, tree);
    }
    add_rows(l, trees);
    return json_array_size(trees) > 0;
}

static bool add_item(struct lister *l)
{
    size_t i = 0;

    if (l->form.as == AS_TABLE)
        return add_table_items(l);
    if (!next_index(l, &i))
        return false;
    add_separator(l);
    if (l->view)
        form_add_tree(&l->form, l->core, json_array_get(l->view, i), &l->b);
    else
        form_add_object(&l->form, l->core, l->list.at[i], 0, &l->b);
    return true;
}

/* Fills the buffer up to `size`. False: the turn's work is used up first. */
static bool lister_fill(struct lister *l, size_t size)
{
    while (l->b.size < size && !l->is_over) {
        if (add_item(l))
            continue;
        if (!is_exhausted(l))
            return false;
        if (l->limit > 0 && l->n_items == l->limit && l->next < source_count(l))
            l->has_more = true;
        add_end(l);
    }
    return true;
}

static void send_whole(struct lister *l)
{
    reply_bytes(l->x, (struct str){.at = l->b.at, .size = l->b.size});
    lister_free(l);
}

static void send_piece(struct lister *l)
{
    const struct api_reply head = {.status = 200};

    if (!l->is_begun)
        l->x->ops->begin(l->x, &head);
    l->is_begun = true;
    l->x->ops->piece(l->x, (struct str){.at = l->b.at, .size = l->b.size});
    buf_clear(&l->b);
}

static void lister_run(void *arg)
{
    struct lister *l = arg;

    l->looks_left = LOOKS_A_TURN;
    for (;;) {
        bool is_full = lister_fill(l, l->is_begun ? PIECE_SIZE : WHOLE_MAX);

        if (l->is_over && !l->is_begun) {
            send_whole(l);
            return;
        }
        if (!is_full) {
            loop_timer_set(l->timer, 0);
            return;
        }
        send_piece(l);
        if (l->is_over) {
            l->x->ops->end(l->x);
            lister_free(l);
            return;
        }
        if (l->x->ops->backlog(l->x) > API_BACKLOG_MAX)
            return; /* on_drain continues */
    }
}

static void on_drain(void *arg)
{
    struct lister *l = arg;

    loop_timer_set(l->timer, 0);
}

/* Reads the snapshot that the client wants: of a continue token, of an exact revision, or the
 * present. */
static struct err *parse_snapshot(struct call *c, struct token *ret, bool *ret_is_continued)
{
    const char *match = query_get(&c->query, "resourceVersionMatch");
    const char *text = query_get(&c->query, "continue");
    int64_t version = 0;

    *ret = (struct token){0};
    TRY(version_parse(c, &version));
    if (text && *text) {
        if (version > 0)
            return err_new(ERR_BAD_REQUEST,
                           "specifying resource version is not allowed when using continue");
        *ret_is_continued = true;
        return token_parse(c->arena, text, ret);
    }
    if (!match || *match == '\0' || text_equal(match, "NotOlderThan"))
        return version_check_reached(c, version);
    if (!text_equal(match, "Exact"))
        return err_new(
            ERR_BAD_REQUEST,
            "resourceVersionMatch: Unsupported value: \"%.32s\": want Exact or NotOlderThan",
            match);
    if (version == 0)
        return err_new(ERR_BAD_REQUEST,
                       "resourceVersionMatch: Exact needs a resourceVersion other than 0");
    ret->revision = version;
    return version_check_reached(c, version);
}

static struct err *open_list(struct call *c, struct lister *l)
{
    const struct kind *kept = kind_kept(c->kind);
    const struct store_range range = {.group = kept->group, .resource = kept->plural, .ns = c->ns};
    struct token from = {0};
    bool is_continued = false;
    int64_t limit = 0;
    struct err *e;

    TRY(query_int(&c->query, "limit", 0, &limit));
    TRY(parse_snapshot(c, &from, &is_continued));
    if (from.revision > store_revision(core_store(c->core)))
        return err_new(ERR_BAD_REQUEST, "continue key is not valid");
    l->limit = (size_t)limit;
    /* With a selector the store cannot count the matching objects. */
    e = store_list(core_store(c->core), &range, from.ns, from.name,
                   selection_is_all(&l->selection) ? l->limit : 0, from.revision, &l->list);
    if (e && err_code(e) == ERR_EXPIRED && is_continued) {
        err_free(e);
        return err_new(
            ERR_EXPIRED,
            "The provided continue parameter is too old to display a consistent list result. "
            "Start a new list without it");
    }
    l->has_more = !e && l->list.has_more;
    return e;
}

static struct err *open_source(struct call *c, struct lister *l)
{
    const struct api_view *view;

    TRY(form_parse(c, &l->form));
    TRY(selection_parse(c, &l->selection));
    if (!c->kind->is_view)
        return open_list(c, l);
    view = core_view(c->core, c->kind);
    l->view = view ? view->list(view->arg, c->ns) : json_array();
    return NULL;
}

struct err *handle_list_or_watch(struct call *c)
{
    struct lister *l;
    struct err *e;

    if (query_bool(&c->query, "watch"))
        return handle_watch(c);
    l = mem_alloc(sizeof(*l));
    l->core = c->core;
    l->x = c->x;
    e = open_source(c, l);
    if (e) {
        lister_free(l);
        return e;
    }
    l->timer = loop_timer_new(core_loop(c->core), lister_run, l);
    l->x->arg = l;
    l->x->on_close = on_close;
    l->x->on_drain = on_drain;
    add_begin(l);
    lister_run(l);
    return NULL;
}
