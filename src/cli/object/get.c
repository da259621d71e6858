/* get.c - mete get: objects of any kind, as tables or documents */

#include <inttypes.h>

#include "base/mem.h"
#include "base/stamp.h"
#include "cli/commands.h"
#include "cli/object/resource.h"
#include "cli/session.h"
#include "cli/term/output.h"
#include "client/informer.h"

enum {
    LIMIT_TABLE = 50
};

static const char accept_table[] = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";

struct view {
    struct cli *cli;
    struct session *session;
    struct resource resource;
    enum output_format format;
    bool is_table; /* the server makes table rows */
    bool has_namespace;
    struct listing listing;
    struct err *failure;
    bool has_headers;
};

static bool is_rows(enum output_format f)
{
    return f == OUTPUT_TABLE || f == OUTPUT_WIDE || f == OUTPUT_CSV;
}

static char *collection_path(const struct view *v, const char *name)
{
    const struct invocation *in = v->cli->in;
    const char *labels = flag_text(in, "selector");
    const char *fields = flag_text(in, "field-selector");
    AUTO_FREE char *base = resource_path(
        &v->resource, flag_switch(in, "all-namespaces") ? NULL : session_namespace(v->session),
        name);
    struct buf b = {0};

    buf_add_text(&b, base);
    if (!name && v->is_table)
        buf_add_text(&b, "?includeObject=Object");
    if (!name && labels) {
        buf_add_text(&b, strchr(b.at, '?') ? "&labelSelector=" : "?labelSelector=");
        client_add_escaped(&b, str_of(labels));
    }
    if (!name && fields) {
        buf_add_text(&b, strchr(b.at, '?') ? "&fieldSelector=" : "?fieldSelector=");
        client_add_escaped(&b, str_of(fields));
    }
    return buf_steal(&b);
}

/* Takes the column names of the server's table, in capitals. */
static void take_columns(struct view *v, const json_t *table)
{
    json_t *column;
    size_t i;

    if (v->listing.columns.n > 0)
        return;
    if (v->has_namespace)
        listing_column(&v->listing, "NAMESPACE");
    json_array_foreach (json_object_get(table, "columnDefinitions"), i, column) {
        const char *name = json_text(column, "name");
        AUTO_FREE char *upper = mem_strdup(name ? name : "");
        AUTO_FREE char *marked = NULL;

        for (char *at = upper; *at; at++)
            *at = (char)(*at >= 'a' && *at <= 'z' ? *at - 'a' + 'A' : *at);
        marked = mem_format("%s%s", json_int(column, "priority", 0) > 0 ? "!" : "", upper);
        listing_column(&v->listing, marked);
    }
}

static void take_rows(struct view *v, const json_t *table)
{
    json_t *entry;
    size_t i;

    take_columns(v, table);
    json_array_foreach (json_object_get(table, "rows"), i, entry) {
        json_t *object = json_object_get(entry, "object");
        json_t *cells = json_deep_copy(json_object_get(entry, "cells"));
        const char *ns = json_text_at(object, "metadata", "namespace", NULL);

        if (!cells)
            continue;
        if (v->has_namespace)
            (void)json_array_insert_new(cells, 0, json_text_new(ns));
        listing_add(&v->listing, cells, object);
    }
}

/* For an answer that is not a table: columns name and age. */
static void take_object(struct view *v, json_t *object)
{
    json_t *row = json_array();
    const char *ns = json_text_at(object, "metadata", "namespace", NULL);
    const char *name = json_text_at(object, "metadata", "name", NULL);
    const char *created = json_text_at(object, "metadata", "creationTimestamp", NULL);

    if (v->listing.columns.n == 0) {
        if (v->has_namespace)
            listing_column(&v->listing, "NAMESPACE");
        listing_column(&v->listing, "NAME");
        listing_column(&v->listing, "CREATED");
    }
    if (v->has_namespace)
        (void)json_array_append_new(row, json_text_new(ns));
    (void)json_array_append_new(row, json_text_new(name));
    (void)json_array_append_new(row, json_text_new(created));
    listing_add(&v->listing, row, object);
}

/* Items of a list carry no apiVersion and kind: adds both. */
static void name_kind(const struct view *v, json_t *object)
{
    AUTO_FREE char *api_version = v->resource.group[0]
                                      ? mem_format("%s/%s", v->resource.group, v->resource.version)
                                      : mem_strdup(v->resource.version);

    if (!json_text(object, "kind"))
        json_put_text(object, "kind", v->resource.kind);
    if (!json_text(object, "apiVersion"))
        json_put_text(object, "apiVersion", api_version);
}

static void take_answer(struct view *v, json_t *answer)
{
    json_t *items = json_object_get(answer, "items");
    json_t *item;
    size_t i;

    if (text_equal(json_text(answer, "kind"), "Table")) {
        take_rows(v, answer);
    } else if (json_is_array(items)) {
        json_array_foreach (items, i, item) {
            name_kind(v, item);
            take_object(v, item);
        }
    } else {
        name_kind(v, answer);
        take_object(v, answer);
    }
}

static int64_t limit_of(const struct view *v)
{
    return flag_count(v->cli->in, "limit",
                      v->format == OUTPUT_TABLE || v->format == OUTPUT_WIDE ? LIMIT_TABLE : 0);
}

static struct err *get_list(struct view *v)
{
    AUTO_FREE char *path = collection_path(v, NULL);
    const struct list_query q = {
        .path = path, .accept = v->is_table ? accept_table : NULL, .limit = limit_of(v)};
    struct list_result list = {0};
    struct err *e;

    TRY(session_list(v->session, &q, &list));
    take_answer(v, list.first);
    json_decref(list.first);
    if (json_array_size(v->listing.objects) == 0 &&
        (v->format == OUTPUT_TABLE || v->format == OUTPUT_WIDE)) {
        cli_say(v->cli,
                flag_switch(v->cli->in, "all-namespaces") || !v->resource.is_namespaced
                    ? "there are no %s"
                    : "there are no %s in namespace %s",
                v->resource.plural, session_namespace(v->session));
        return NULL;
    }
    e = listing_print(v->cli, &v->listing);
    if (e || list.more == 0)
        return e;
    if (list.more > 0)
        cli_say(v->cli, "%zu of %" PRId64 "; --limit 0 for all",
                json_array_size(v->listing.objects),
                (int64_t)json_array_size(v->listing.objects) + list.more);
    else
        cli_say(v->cli, "the first %zu; --limit 0 for all", json_array_size(v->listing.objects));
    return NULL;
}

static struct err *get_named(struct view *v)
{
    const struct invocation *in = v->cli->in;

    v->listing.is_single = in->arguments.n == 2;
    for (size_t i = 1; i < in->arguments.n; i++) {
        AUTO_FREE char *path = collection_path(v, in->arguments.at[i]);
        struct call call = {.path = path, .accept = v->is_table ? accept_table : NULL};
        AUTO(json_freep) json_t *answer = NULL;

        TRY(session_call(v->session, &call, &answer));
        take_answer(v, answer);
    }
    return listing_print(v->cli, &v->listing);
}

/* Prints one change and drops its row. */
static void print_change(struct view *v, const json_t *object, bool is_gone)
{
    AUTO(json_freep) json_t *copy = json_deep_copy(object);
    AUTO(json_freep) json_t *one = NULL;
    struct buf b = {0};

    if (v->failure)
        return;
    name_kind(v, copy);
    if (v->resource.known && v->is_table) {
        AUTO(json_freep) json_t *objects = json_array();

        (void)json_array_append(objects, copy);
        one = table_format(v->resource.known, objects, 0, "Object",
                           loop_wall_ns(session_loop(v->session)));
    }
    take_answer(v, one ? one : copy);
    if (is_gone && v->is_table && v->format != OUTPUT_CSV)
        cli_say(v->cli, "%s was deleted:", json_text_at(copy, "metadata", "name", NULL));
    v->listing.is_single = true;
    listing_format(&v->listing, v->format == OUTPUT_JSON ? OUTPUT_JSONL : v->format, v->has_headers,
                   v->cli->terminal.columns, &b);
    if (v->format == OUTPUT_YAML)
        buf_add_text(&b, "---\n");
    v->failure = output_write(v->cli, (struct str){.at = b.at, .size = b.size});
    buf_done(&b);
    v->has_headers = false;
    (void)json_array_clear(v->listing.rows);
    (void)json_array_clear(v->listing.objects);
    if (v->failure)
        session_stop(v->session);
}

static void on_put(void *arg, const json_t *object)
{
    print_change(arg, object, false);
}

static void on_removed(void *arg, const json_t *object)
{
    print_change(arg, object, true);
}

/* Prints the present objects, then each change, until Ctrl-C. Column widths fit each line alone. */
static struct err *get_watch(struct view *v)
{
    const struct invocation *in = v->cli->in;
    bool was_table = v->is_table;
    AUTO_FREE char *path = NULL;
    AUTO_FREE char *whole = NULL;
    struct informer_options o = {.client = session_client(v->session),
                                 .loop = session_loop(v->session),
                                 .put = on_put,
                                 .removed = on_removed,
                                 .arg = v};
    struct informer *informer;
    struct err *e;

    v->is_table = false;
    path = collection_path(v, NULL);
    v->is_table = was_table;
    whole = in->arguments.n == 2 ? mem_format("%s%cfieldSelector=metadata.name%%3D%s", path,
                                              strchr(path, '?') ? '&' : '?', in->arguments.at[1])
                                 : mem_strdup(path);
    if (in->arguments.n > 2)
        return cli_usage(v->cli, "-w needs one name or none");
    o.path = whole;
    informer = informer_new(&o);
    e = session_run(v->session);
    informer_free(informer);
    return e ? e : TAKE(v->failure);
}

static struct err *get_with(struct view *v)
{
    const struct invocation *in = v->cli->in;

    TRY(resource_ask(v->cli, v->session, in->arguments.at[0], &v->resource));
    v->listing.kind = "List";
    v->listing.api_version = "v1";
    v->listing.prefix = v->resource.singular;
    v->has_namespace = flag_switch(in, "all-namespaces") && v->resource.is_namespaced;
    if (flag_switch(in, "watch"))
        return get_watch(v);
    if (in->arguments.n > 1 && flag_switch(in, "all-namespaces"))
        return cli_usage(v->cli, "an object's name belongs to one namespace: omit -A");
    return in->arguments.n > 1 ? get_named(v) : get_list(v);
}

static struct err *get_run(struct cli *c)
{
    AUTO(session_freep) struct session *s = NULL;
    struct view v = {.cli = c,
                     .format = output_format_of(c->in),
                     .has_headers = !flag_switch(c->in, "no-headers")};
    struct err *e;

    TRY(session_open(c, &s));
    v.session = s;
    v.is_table = is_rows(v.format);
    listing_init(&v.listing, "List");
    e = get_with(&v);
    if (e && err_code(e) == ERR_NOT_FOUND && v.resource.plural)
        cli_try(c, "mete get %s -A", v.resource.plural);
    listing_done(&v.listing);
    resource_done(&v.resource);
    err_free(v.failure);
    return e;
}

static const struct flag get_flags[] = {
    {.name = "watch", .letter = 'w', .type = FLAG_SWITCH, .doc = "then print each change"},
    {.name = "selector",
     .letter = 'l',
     .type = FLAG_TEXT,
     .value = "LABELS",
     .doc = "only objects with these labels: a=b,c!=d,e in (f,g)"},
    {.name = "field-selector",
     .type = FLAG_TEXT,
     .value = "FIELDS",
     .doc = "only objects with these fields: status.phase=Running"},
    {0},
};

const struct command command_get = {
    .name = "get",
    .arguments = "KIND [NAME...]",
    .summary = "show objects of any kind",
    .doc = "KIND is pods, nodes, events, configmaps, secrets, namespaces, workloads, gpus, or any "
           "other kind of the server;\nsingular and short names work, too.",
    .examples = {{"get pods -A -o wide", "lists the pods of all namespaces"},
                 {"get pod train -o yaml", "prints one whole object, as stored"},
                 {"get pods -l app=train -w", "lists the pods with a label, then each change"},
                 {0}},
    .flags = get_flags,
    .groups = FLAGS_SERVER | FLAGS_NAMESPACE | FLAGS_ALL | FLAGS_LIMIT | FLAGS_OUTPUT,
    .takes = TAKES_KINDS,
    .n_min = 1,
    .n_max = SIZE_MAX,
    .run = get_run,
};
