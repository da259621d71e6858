/* rest.c - slurmrestd's paths: the table, and what shows the cluster */

#include "slurm/rest.h"

#include "base/mem.h"
#include "client/client.h"
#include "slurm/cluster_json.h"
#include "slurm/query.h"
#include "slurm/rest_call.h"
#include "slurm/sdiag.h"
#include "slurm/update.h"

/* ---- the cluster ---- */

/* The form of a report's rows in documents. */
struct rest_kind {
    const char *what; /* of the report, and the member of the document */
    json_t *(*json)(const json_t *rows, const struct slurm_view *v);
};

static const char *name_of(const json_t *row)
{
    const char *name = json_text(row, "name");

    return name ? name : json_text_at(row, "metadata", "name", NULL);
}

/* Answers with the row of the name in the path, or with all. */
static void rest_tell_rows(struct rest_call *c, const struct rest_kind *k, const json_t *rows)
{
    const struct slurm_view view = rest_view(c);
    AUTO(json_freep) json_t *chosen = json_array();
    const json_t *row = NULL;
    size_t i = 0;

    json_array_foreach (rows, i, row)
        if (!*c->id || text_equal(name_of(row), c->id))
            (void)json_array_append(chosen, (json_t *)(uintptr_t)row);
    if (*c->id && json_array_size(chosen) == 0)
        rest_fail(c, STATUS_ABSENT, "not found");
    else
        rest_end(c, STATUS_OK, slurm_cluster_document(k->what, k->json(chosen, &view), &view));
}

static const struct rest_kind kind_nodes = {"nodes", slurm_nodes_json};
static const struct rest_kind kind_partitions = {"partitions", slurm_partitions_json};
static const struct rest_kind kind_licenses = {"licenses", slurm_licenses_json};
static const struct rest_kind kind_reservations = {"reservations", slurm_reservations_json};

static void rest_tell_nodes(struct rest_call *c, const json_t *answer)
{
    rest_tell_rows(c, &kind_nodes, json_object_get(answer, "nodes"));
}

static void rest_tell_partitions(struct rest_call *c, const json_t *answer)
{
    rest_tell_rows(c, &kind_partitions, json_object_get(answer, "partitions"));
}

static void rest_tell_licenses(struct rest_call *c, const json_t *answer)
{
    rest_tell_rows(c, &kind_licenses, json_object_get(answer, "licenses"));
}

static void rest_tell_reservations(struct rest_call *c, const json_t *answer)
{
    rest_tell_rows(c, &kind_reservations, json_object_get(answer, "items"));
}

static void rest_nodes(struct rest_call *c)
{
    rest_ask_rows(c, "nodes", NULL, rest_tell_nodes);
}

static void rest_partitions(struct rest_call *c)
{
    rest_ask_rows(c, "partitions", NULL, rest_tell_partitions);
}

static void rest_licenses(struct rest_call *c)
{
    rest_ask_rows(c, "licenses", NULL, rest_tell_licenses);
}

static void rest_reservations(struct rest_call *c)
{
    c->then = rest_tell_reservations;
    rest_ask(c, "GET", NULL, mem_strdup("/apis/mete.dev/v1/reservations"), NULL);
}

static void rest_tell_ping(struct rest_call *c, const json_t *answer)
{
    (void)answer;
    rest_end(c, STATUS_OK,
             slurm_document_new("pings", json_pack("[{s:s,s:s,s:s,s:b,s:b,s:i}]", "hostname",
                                                   "mete", "pinged", "UP", "mode", "primary",
                                                   "primary", 1, "responding", 1, "latency", 0)));
}

static void rest_ping(struct rest_call *c)
{
    rest_ask_rows(c, "config", NULL, rest_tell_ping);
}

static void rest_tell_statistics(struct rest_call *c, const json_t *answer)
{
    rest_end(c, STATUS_OK,
             slurm_document_new("statistics", sdiag_statistics(json_object_get(answer, "diag"),
                                                               NULL, rest_view(c).now_s)));
}

static void rest_diag(struct rest_call *c)
{
    rest_ask_rows(c, "diag", NULL, rest_tell_statistics);
}

/* ---- a change of a node ---- */

static void rest_tell_node_done(struct rest_call *c, const json_t *answer)
{
    (void)answer;
    rest_end(c, STATUS_OK, rest_document());
}

/* {"state": ["DRAIN"], "reason": "..."} */
static void rest_update_node(struct rest_call *c)
{
    struct slurm_update updates[2];
    struct buf path = {0};
    size_t n = 0;
    const char *key = NULL;
    json_t *value = NULL;
    AUTO(json_freep) json_t *body = NULL;
    AUTO(json_freep) json_t *patch = NULL;
    AUTO(err_freep) struct err *e = json_parse(c->x->request.body, &body);

    json_object_foreach (body, key, value) {
        const json_t *word = json_is_array(value) ? json_array_get(value, 0) : value;
        bool is_state = text_equal(key, "state") && json_array_size(value) <= 1;

        if (e || !json_is_string(word) || n == COUNT(updates) ||
            !(is_state || text_equal(key, "reason"))) {
            AUTO_FREE char *message = mem_format("node.%.64s is not available yet", key);

            rest_fail(c, STATUS_WRONG, message);
            return;
        }
        updates[n++] =
            (struct slurm_update){is_state ? "State" : "Reason", json_string_value(word)};
    }
    if (!e)
        e = slurm_node_patch(updates, n, &patch);
    if (e) {
        rest_fail(c, STATUS_WRONG, err_message(e));
        return;
    }
    c->then = rest_tell_node_done;
    buf_add_text(&path, "/api/v1/nodes/");
    client_add_escaped(&path, str_of(c->id));
    rest_ask(c, "PATCH", "application/merge-patch+json", buf_steal(&path), json_format(patch));
}

/* ---- routes ---- */

#define ACCOUNT_JOBS                                                                       \
    "account,users,start_time,end_time,state,job_name,partition,qos,step,node,skip_steps," \
    "disable_truncate_usage_time,disable_wait_for_result,show_duplicates,show_batch_script"

/* The first that fits counts. */
static const struct rest_route rest_routes[] = {
    {"GET", "slurm/ping", rest_ping, NULL},
    {"GET", "slurm/diag", rest_diag, NULL},
    {"GET", "slurm/jobs", rest_jobs, "update_time,flags"},
    {"POST", "slurm/job/submit", rest_submit, NULL},
    {"GET", "slurm/job/ID", rest_job, "update_time,flags"},
    {"POST", "slurm/job/ID", rest_update_job, NULL},
    {"DELETE", "slurm/job/ID", rest_cancel, "signal,flags"},
    {"GET", "slurm/nodes", rest_nodes, "update_time,flags"},
    {"GET", "slurm/node/ID", rest_nodes, "update_time,flags"},
    {"POST", "slurm/node/ID", rest_update_node, NULL},
    {"GET", "slurm/partitions", rest_partitions, "update_time,flags"},
    {"GET", "slurm/partition/ID", rest_partitions, "update_time,flags"},
    {"GET", "slurm/reservations", rest_reservations, "update_time"},
    {"GET", "slurm/reservation/ID", rest_reservations, "update_time"},
    {"GET", "slurm/licenses", rest_licenses, NULL},
    {"GET", "slurmdb/ping", rest_ping, NULL},
    {"GET", "slurmdb/jobs", rest_account_jobs, ACCOUNT_JOBS},
    {"GET", "slurmdb/job/ID", rest_account_jobs, NULL},
    {"GET", "slurmdb/accounts", rest_books, "description,with_assocs,DELETED"},
    {"GET", "slurmdb/account/ID", rest_books, "with_assocs"},
    {"GET", "slurmdb/users", rest_books, "admin_level,default_account,with_assocs"},
    {"GET", "slurmdb/user/ID", rest_books, "with_assocs"},
    {"GET", "slurmdb/associations", rest_books, "account,cluster,partition,user,qos"},
    {"GET", "slurmdb/association", rest_books, "account,cluster,partition,user,qos"},
    {"GET", "slurmdb/qos", rest_books, "name"},
    {"GET", "slurmdb/qos/ID", rest_books, NULL},
    {"GET", "slurmdb/tres", rest_books, NULL},
    {"GET", "slurmdb/clusters", rest_books, NULL},
    {"GET", "slurmdb/cluster/ID", rest_books, NULL},
};

static const char *const rest_versions[] = {"v0.0.42", "v0.0.43", "v0.0.44"};

/* Does the path fit? Its second segment is the version. `*ret_id` is the part ID. */
static bool rest_fits(const struct request_target *t, const char *pattern, const char **ret_id)
{
    struct str want = str_of(pattern);
    const char *id = "";

    for (size_t i = 0; i < t->n; i += i == 0 ? 2 : 1) {
        struct str form = want.at ? str_cut(&want, '/') : (struct str){0};

        if (str_equal(form, STR("ID")))
            id = t->segments[i];
        else if (!form.at || !str_equal(form, str_of(t->segments[i])))
            return false;
    }
    *ret_id = id;
    return !want.at;
}

static bool rest_has_version(const struct request_target *t)
{
    for (size_t i = 0; t->n > 2 && i < COUNT(rest_versions); i++)
        if (text_equal(t->segments[1], rest_versions[i]))
            return true;
    return false;
}

static void rest_on_close(void *arg)
{
    struct rest_call *c = arg;

    ask_cancel(c->ask);
    rest_free(c);
}

static void rest_refuse(struct rest_call *c, bool is_other_method)
{
    AUTO_FREE char *message =
        mem_format("%s %s is not available yet: docs/slurm.md lists the paths",
                   c->x->request.method, c->x->request.path);

    if (is_other_method)
        rest_fail(c, STATUS_METHOD, message);
    else
        rest_fail(c, STATUS_ABSENT, message);
}

/* Parameters that are not read could restrict the answer: they are refused. */
static struct err *rest_check_query(const struct rest_call *c)
{
    for (size_t i = 0; i < c->query->n; i++)
        if (!slurm_list_has(text_or_empty(c->route->parameters), c->query->pairs[i].key))
            return err_new(ERR_BAD_REQUEST, "the parameter %.64s is not available yet",
                           c->query->pairs[i].key);
    return NULL;
}

static void rest_begin(struct rest_call *c)
{
    AUTO(err_freep) struct err *e = rest_check_query(c);

    if (e)
        rest_fail(c, STATUS_WRONG, err_message(e));
    else
        c->route->begin(c);
}

void slurm_rest_handle(void *arg, struct exchange *x)
{
    struct rest_call *c = mem_alloc(sizeof(*c));
    struct request_target path = {0};
    bool is_path = false;
    AUTO(err_freep) struct err *e = NULL;

    *c = (struct rest_call){.rest = arg, .x = x, .id = "", .arena = arena_new()};
    c->query = arena_alloc(c->arena, sizeof(*c->query));
    x->on_close = rest_on_close;
    x->arg = c;
    e = target_parse(c->arena, x->request.path, &path);
    if (!e)
        e = query_parse(c->arena, x->request.query, c->query);
    if (e) {
        rest_fail(c, STATUS_WRONG, err_message(e));
        return;
    }
    for (size_t i = 0; rest_has_version(&path) && i < COUNT(rest_routes); i++) {
        const struct rest_route *r = &rest_routes[i];

        if (!rest_fits(&path, r->path, &c->id))
            continue;
        is_path = true;
        if (!text_equal(r->method, x->request.method))
            continue;
        c->route = r;
        rest_begin(c);
        return;
    }
    c->id = "";
    rest_refuse(c, is_path);
}
