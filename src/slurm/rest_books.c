/* rest_books.c - slurmdb's paths: jobs of the accounting, accounts, users, associations, QOS */

#include <string.h>

#include "base/mem.h"
#include "base/num.h"
#include "client/client.h"
#include "kinds/slurm/slurm_rows.h"
#include "model/slurm_time.h"
#include "slurm/document.h"
#include "slurm/rest_call.h"
#include "slurm/sacctmgr.h"

enum {
    ATTEMPTS_MAX = 5000 /* of an answer, which is made in one go */
};

/* ---- jobs ---- */

/* A parameter of the query as an option of sacct. */
static const struct {
    const char *parameter;
    const char *option;
} job_options[] = {
    {"account", "accounts"}, {"end_time", "endtime"},     {"job_name", "name"},
    {"node", "nodelist"},    {"partition", "partition"},  {"qos", "qos"},
    {"state", "state"},      {"start_time", "starttime"}, {"step", "jobs"},
    {"users", "user"},
};

static const char *find_nothing(const char *name)
{
    (void)name;
    return NULL;
}

/* Seconds since 1970 as a moment of Slurm's commands; other texts stay. */
static const char *moment_text(const struct rest_call *c, const char *value)
{
    char text[SLURM_TIME_TEXT_SIZE];
    int64_t at_s = 0;
    AUTO(err_freep) struct err *e = num_parse_int64(str_of(value), 0, INT32_MAX, &at_s);

    if (e)
        return value;
    slurm_stamp_format(at_s > 0 ? at_s : 1, c->rest->zone, "", text);
    return arena_strdup(c->arena, text);
}

static void add_option(struct rest_call *c, const char *name, const char *value)
{
    vec_add(&c->words.given, (struct slurm_given){.name = name, .value = value});
}

static void rest_tell_account_jobs(struct rest_call *c)
{
    const struct slurm_view view = rest_view(c);
    const struct sacct_rows from = {json_object_get(c->held, "jobs"),
                                    json_object_get(c->held, "steps"),
                                    json_object_get(c->held, "accounts")};
    json_t *document = sacct_document(&c->sacct, &from, &view);

    if (*c->id && json_array_size(json_object_get(document, "jobs")) == 0) {
        json_decref(document);
        rest_fail(c, STATUS_ABSENT, "Invalid job id specified");
        return;
    }
    rest_end(c, STATUS_OK, document);
}

/* Takes a page of the accounting, and asks for the next one. */
static void rest_take_page(struct rest_call *c, const json_t *answer)
{
    const char *more = json_text_at(answer, "metadata", "continue", NULL);
    json_t *all = json_array_at(c->held, "accounts");
    struct buf path = {0};

    (void)json_array_extend(all, json_object_get(answer, "items")); /* arrays: cannot fail */
    if (json_array_size(all) > ATTEMPTS_MAX) {
        rest_fail(c, STATUS_LARGE, "more than 5000 jobs: want start_time, end_time or users");
        return;
    }
    if (!more || !*more) {
        rest_tell_account_jobs(c);
        return;
    }
    buf_printf(&path, "%s&continue=", c->sacct.accounts_path);
    client_add_escaped(&path, str_of(more));
    rest_ask(c, "GET", NULL, buf_steal(&path), NULL);
}

static void rest_take_steps(struct rest_call *c, const json_t *answer)
{
    json_put(c->held, "steps", json_deep_copy(json_object_get(answer, "steps")));
    c->then = rest_take_page;
    rest_ask(c, "GET", NULL, mem_strdup(c->sacct.accounts_path), NULL);
}

static void rest_take_jobs(struct rest_call *c, const json_t *answer)
{
    json_put(c->held, "jobs", json_deep_copy(json_object_get(answer, "jobs")));
    if (c->sacct.has_steps) {
        rest_ask_rows(c, "steps", "&states=all", rest_take_steps);
        return;
    }
    c->then = rest_take_page;
    rest_ask(c, "GET", NULL, mem_strdup(c->sacct.accounts_path), NULL);
}

static void rest_read_options(struct rest_call *c)
{
    const char *skip = query_get(c->query, "skip_steps");

    add_option(c, "allusers", NULL);
    add_option(c, "duplicates", NULL);
    if (skip && !text_equal(skip, "0") && !text_equal(skip, "false"))
        add_option(c, "allocations", NULL);
    if (*c->id)
        add_option(c, "jobs", c->id);
    else if (!query_get(c->query, "start_time"))
        add_option(c, "starttime", moment_text(c, "0"));
    for (size_t i = 0; i < COUNT(job_options); i++) {
        const char *value = query_get(c->query, job_options[i].parameter);

        if (value && text_ends_with(job_options[i].parameter, "_time"))
            value = moment_text(c, value);
        if (value && *value)
            add_option(c, job_options[i].option, value);
    }
}

void rest_account_jobs(struct rest_call *c)
{
    const struct slurm_view view = rest_view(c);
    AUTO(err_freep) struct err *e = NULL;

    rest_read_options(c);
    e = sacct_read(&c->words, find_nothing, NULL, &view, &c->sacct);
    if (e) {
        rest_fail(c, STATUS_WRONG, err_message(e));
        return;
    }
    c->held = json_object();
    c->then = rest_take_jobs;
    rest_ask(c, "GET", NULL, mem_strdup(c->sacct.jobs_path), NULL);
}

/* ---- accounts, users, associations, QOS ---- */

static const struct {
    const char *path; /* behind "slurmdb/" */
    enum acct_entity entity;
} book_paths[] = {
    {"account", ACCT_ACCOUNT}, {"association", ACCT_ASSOCIATION},
    {"cluster", ACCT_CLUSTER}, {"qos", ACCT_QOS},
    {"tres", ACCT_TRES},       {"user", ACCT_USER},
};

/* Parameters of the query that are conditions of sacctmgr, by its words. */
static const struct {
    const char *parameter;
    const char *word;
} book_terms[] = {
    {"account", "accounts"},
    {"admin_level", "adminlevel"},
    {"cluster", "clusters"},
    {"default_account", "defaultaccount"},
    {"description", "descriptions"},
    {"name", "names"},
    {"partition", "partitions"},
    {"qos", "qoslevel"},
    {"user", "users"},
};

static void add_term(struct acct_request *r, const char *word, const char *value)
{
    vec_add(&r->where, (struct acct_term){mem_strdup(word), mem_strdup(value), '='});
}

static void request_read(const struct rest_call *c, struct acct_request *ret)
{
    const char *path = c->route->path + strlen("slurmdb/");
    const char *with = query_get(c->query, "with_assocs");

    *ret = (struct acct_request){.verb = ACCT_LIST};
    for (size_t i = 0; i < COUNT(book_paths); i++)
        if (text_starts_with(path, book_paths[i].path))
            ret->entity = book_paths[i].entity;
    ret->has_associations = *c->id || (with && !text_equal(with, "0"));
    if (*c->id)
        add_term(ret, "names", c->id);
    for (size_t i = 0; i < COUNT(book_terms); i++) {
        const char *value = query_get(c->query, book_terms[i].parameter);

        if (value && *value)
            add_term(ret, book_terms[i].word, value);
    }
}

static const char *list_of(const json_t *document)
{
    static const char *const names[] = {"accounts", "associations", "clusters",
                                        "qos",      "TRES",         "users"};

    for (size_t i = 0; i < COUNT(names); i++)
        if (json_is_array(json_object_get(document, names[i])))
            return names[i];
    return "";
}

static void rest_tell_books(struct rest_call *c)
{
    const struct acct_books books = {json_object_get(c->held, "queues"),
                                     json_object_get(c->held, "slurmusers"),
                                     json_object_get(c->held, "slurmqoses"), "mete"};
    struct acct_request request;
    json_t *document = NULL;
    AUTO(err_freep) struct err *e = NULL;

    request_read(c, &request);
    e = acct_document(&request, &books, &document);
    acct_request_done(&request);
    if (e) {
        rest_fail(c, STATUS_WRONG, err_message(e));
    } else if (*c->id && json_array_size(json_object_get(document, list_of(document))) == 0) {
        json_decref(document);
        rest_fail(c, STATUS_ABSENT, "not found");
    } else {
        rest_end(c, STATUS_OK, document);
    }
}

static const char *const book_plurals[] = {"queues", "slurmusers", "slurmqoses"};

static void rest_ask_book(struct rest_call *c);

static void rest_take_book(struct rest_call *c, const json_t *answer)
{
    json_put(c->held, book_plurals[json_object_size(c->held)],
             json_deep_copy(json_object_get(answer, "items")));
    if (json_object_size(c->held) < COUNT(book_plurals))
        rest_ask_book(c);
    else
        rest_tell_books(c);
}

/* Asks for the first list that is missing. */
static void rest_ask_book(struct rest_call *c)
{
    c->then = rest_take_book;
    rest_ask(c, "GET", NULL,
             mem_format("/apis/mete.dev/v1/%s", book_plurals[json_object_size(c->held)]), NULL);
}

void rest_books(struct rest_call *c)
{
    c->held = json_object();
    rest_ask_book(c);
}
