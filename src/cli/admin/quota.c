/* quota.c - mete quota: the table of quotas */

#include "base/mem.h"
#include "cli/admin/quota_queue.h"
#include "cli/commands.h"
#include "cli/session.h"
#include "cli/term/output.h"
#include "model/quantity.h"

static struct quantity amount_of(const json_t *map, const char *resource)
{
    const char *text = json_text(map, resource);
    struct quantity q = {0};
    AUTO(err_freep) struct err *e = text ? quantity_parse(str_of(text), &q) : NULL;

    return e ? (struct quantity){0} : q;
}

static json_t *amount_json(struct quantity q)
{
    char text[QUANTITY_TEXT_SIZE];

    quantity_format(q, text);
    return json_string(text);
}

/* One resource of a quota, also as the object for json and yaml. New reference. */
static json_t *quota_object(const json_t *quota, const char *resource)
{
    json_t *object = json_object();
    const char *name = json_text_at(quota, "metadata", "name", NULL);
    const char *ns = json_text_at(quota, "metadata", "namespace", NULL);
    struct quantity used = amount_of(json_at(quota, "status", "used", NULL), resource);
    struct quantity hard = amount_of(json_at(quota, "spec", "hard", NULL), resource);
    struct quantity left = {.milli = hard.milli > used.milli ? hard.milli - used.milli : 0,
                            .form = hard.form};

    json_put_text(object, "apiVersion", "mete.dev/v1");
    json_put_text(object, "kind", "QuotaUse");
    json_put_text(json_object_at(object, "metadata"), "name", name);
    json_put_text(json_object_at(object, "metadata"), "namespace", ns);
    json_put_text(object, "resource", resource);
    json_put(object, "used", amount_json(used));
    json_put(object, "hard", amount_json(hard));
    json_put(object, "free", amount_json(left));
    return object;
}

static json_t *cell(const json_t *value)
{
    return json_string(json_string_value(value)); /* all amounts are texts */
}

static void quota_add_row(struct listing *l, const json_t *quota, const char *resource)
{
    static const char *const amounts[] = {"used", "hard", "free"};
    AUTO(json_freep) json_t *object = quota_object(quota, resource);
    json_t *row = json_array();

    (void)json_array_append_new(row, cell(json_at(object, "metadata", "namespace", NULL)));
    (void)json_array_append_new(row, cell(json_at(object, "metadata", "name", NULL)));
    (void)json_array_append_new(row, json_string(resource));
    for (size_t i = 0; i < COUNT(amounts); i++)
        (void)json_array_append_new(row, cell(json_object_get(object, amounts[i])));
    listing_add(l, row, object);
}

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Adds the resources of a quota by name; the server sorts the quotas. `is_name_only`: one row for
 * each quota. */
static void add_quota(struct listing *l, const json_t *quota, bool is_name_only)
{
    VEC(const char *) names = {0};
    const char *name;
    json_t *value;

    json_object_foreach (json_at(quota, "spec", "hard", NULL), name, value)
        vec_add(&names, name);
    if (names.n > 1)
        qsort(names.at, names.n, sizeof(names.at[0]), compare_texts);
    for (size_t i = 0; i < names.n && !(is_name_only && i > 0); i++)
        quota_add_row(l, quota, names.at[i]);
    vec_done(&names);
}

static void quota_columns(struct listing *l)
{
    static const char *const names[] = {"NAMESPACE", "QUOTA", "RESOURCE",
                                        "#USED",     "#HARD", "#FREE"};

    for (size_t i = 0; i < COUNT(names); i++)
        listing_column(l, names[i]);
}

static const char *prefix_of(const json_t *object)
{
    return json_text(object, "queue") ? "queue" : "resourcequota";
}

static const char *wanted_name(const struct cli *c)
{
    return c->in->arguments.n > 0 ? c->in->arguments.at[0] : NULL;
}

static struct err *quota_print(struct cli *c, struct session *s, const json_t *quotas,
                               const char *where)
{
    const char *wanted = wanted_name(c);
    struct listing l;
    struct err *e = NULL;
    bool is_found = false;
    json_t *quota;
    size_t i;

    listing_init(&l, "QuotaUseList");
    l.api_version = "mete.dev/v1";
    l.prefix_of = prefix_of;
    quota_columns(&l);
    json_array_foreach (quotas, i, quota) {
        if (wanted && !text_equal(json_text_at(quota, "metadata", "name", NULL), wanted))
            continue;
        is_found = true;
        add_quota(&l, quota, output_format_of(c->in) == OUTPUT_NAME);
    }
    if (!wanted && !flag_switch(c->in, "all-namespaces"))
        e = quota_add_queues(s, session_namespace(s), output_format_of(c->in) == OUTPUT_NAME, &l);
    is_found = is_found || json_array_size(l.objects) > 0;
    if (e) {
        listing_done(&l);
        return e;
    }
    if (wanted && !is_found) {
        cli_try(c, "mete quota -A   lists the quotas");
        e = err_new(ERR_NOT_FOUND, "no quota \"%s\" %s", wanted, where);
    } else {
        e = listing_print(c, &l);
    }
    listing_done(&l);
    if (!e && !is_found && output_format_of(c->in) == OUTPUT_TABLE)
        cli_say(c, "there are no quotas %s", where);
    return e;
}

static struct err *quota_run(struct cli *c)
{
    AUTO(session_freep) struct session *s = NULL;
    AUTO_FREE char *path = NULL;
    AUTO_FREE char *where = NULL;
    struct list_query q = {0};
    struct list_result list = {0};
    struct err *e;

    TRY(session_open(c, &s));
    if (flag_switch(c->in, "all-namespaces")) {
        path = mem_strdup("/api/v1/resourcequotas");
        where = mem_strdup("in any namespace");
    } else {
        path = path_format("/api/v1/namespaces/%s/resourcequotas", session_namespace(s));
        where = mem_format("in namespace %s", session_namespace(s));
    }
    q.path = path;
    TRY(session_list(s, &q, &list));
    e = quota_print(c, s, json_object_get(list.first, "items"), where);
    json_decref(list.first);
    return e;
}

const struct command command_quota = {
    .name = "quota",
    .arguments = "[QUOTA]",
    .summary = "show quotas of namespaces: limit, use and what is free",
    .doc = "For one namespace the list includes the quotas of its queue and of the queues above.",
    .examples = {{"quota", "shows the quotas of your namespace"},
                 {"quota -A -o json", "prints the quotas of every namespace, for programs"},
                 {0}},
    .groups = FLAGS_SERVER | FLAGS_NAMESPACE | FLAGS_ALL | FLAGS_OUTPUT,
    .n_max = 1,
    .run = quota_run,
};
