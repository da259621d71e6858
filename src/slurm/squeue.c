/* squeue.c - options and output of squeue */

#include "slurm/squeue.h"

#include "base/mem.h"
#include "base/num.h"
#include "slurm/cancel.h"
#include "slurm/cluster_json.h"
#include "slurm/job_columns.h"
#include "slurm/job_json.h"
#include "slurm/query.h"
#include "slurm/states.h"
#include "slurm/steps.h"

#define NO  SLURM_TAKES_NOTHING
#define YES SLURM_TAKES_VALUE
#define MAY SLURM_TAKES_OPTIONAL

const struct slurm_option squeue_options[] = {
    {"account", NULL, 'A', YES},
    {"accounts", "account", 0, YES},
    {"all", NULL, 'a', NO},
    {"array", NULL, 'r', NO},
    {"array-unique", NULL, 0, NO},
    {"clusters", NULL, 'M', YES},
    {"cluster", "clusters", 0, YES},
    {"federation", NULL, 0, NO},
    {"format", NULL, 'o', YES},
    {"Format", NULL, 'O', YES},
    {"help", NULL, 0, NO},
    {"hide", NULL, 0, NO},
    {"iterate", NULL, 'i', YES},
    {"jobs", NULL, 'j', MAY},
    {"json", NULL, 0, MAY},
    {"licenses", NULL, 'L', YES},
    {"local", NULL, 0, NO},
    {"long", NULL, 'l', NO},
    {"me", NULL, 0, NO},
    {"name", NULL, 'n', YES},
    {"noconvert", NULL, 0, NO},
    {"node", "nodelist", 0, YES},
    {"nodes", "nodelist", 0, YES},
    {"nodelist", NULL, 'w', YES},
    {"noheader", NULL, 'h', NO},
    {"only-job-state", NULL, 0, NO},
    {"partition", NULL, 'p', YES},
    {"priority", NULL, 'P', NO},
    {"qos", NULL, 'q', YES},
    {"reservation", NULL, 'R', YES},
    {"sibling", NULL, 0, NO},
    {"sort", NULL, 'S', YES},
    {"start", NULL, 0, NO},
    {"states", NULL, 't', YES},
    {"steps", NULL, 's', MAY},
    {"usage", "help", 0, NO},
    {"user", NULL, 'u', YES},
    {"users", "user", 0, YES},
    {"verbose", NULL, 'v', NO},
    {"version", NULL, 'V', NO},
    {"yaml", NULL, 0, MAY},
    {0},
};

const char squeue_help[] =
    "Usage: squeue [-A accounts] [-j jobs] [-n names] [-o format | -O format] [-p partitions]\n"
    "              [-q qos] [-R reservation] [-S fields] [--start] [-t states] [-u users | --me]\n"
    "              [-w nodes] [-i seconds] [-ahlr] [--noconvert] [--json] [--yaml]\n";

static const char default_format[] = "%.18i %.9P %.8j %.8u %.2t %.10M %.6D %R";
static const char long_format[] = "%.18i %.9P %.8j %.8u %.8T %.10M %.9l %.6D %R";
static const char start_format[] = "%.18i %.9P %.8j %.8u %.2t %.19S %.6D %20Y %R";

/* ---- options ---- */

/* An option, else its variable. */
static const char *squeue_value(const struct slurm_words *w, const char *option,
                                const char *(*find)(const char *), const char *variable)
{
    const char *value = slurm_words_value(w, option);

    return value ? value : variable ? find(variable) : NULL;
}

static struct err *squeue_read_format(struct squeue *q, const char *(*find)(const char *))
{
    const char *names = slurm_words_value(q->words, "Format");
    const char *letters = slurm_words_value(q->words, "format");

    if (q->is_steps && names)
        return slurm_format_parse_names(names, slurm_step_columns, &q->format);
    if (q->is_steps)
        return slurm_format_parse_letters(letters ? letters : slurm_step_format, slurm_step_columns,
                                          &q->format);
    if (!letters && !names) {
        if (slurm_words_has(q->words, "long"))
            letters = long_format;
        else if (q->is_start)
            letters = start_format;
        else
            letters = find("SQUEUE_FORMAT");
        names = letters ? NULL : find("SQUEUE_FORMAT2");
    }
    if (names)
        return slurm_format_parse_names(names, slurm_job_columns, &q->format);
    return slurm_format_parse_letters(letters && *letters ? letters : default_format,
                                      slurm_job_columns, &q->format);
}

/* The numbers of jobs, as the report reads them: without brackets' blanks and limits. */
static struct err *squeue_add_ids(struct squeue *q, const char *text, struct slurm_query *query)
{
    struct buf ids = {0};
    struct err *e = slurm_ids_parse(text, &ids);

    if (!e && ids.size > 0) {
        slurm_query_add(query, "ids", ids.at);
        q->asks_ids = true;
    }
    buf_done(&ids);
    return e;
}

static struct err *squeue_add_states(struct squeue *q, const char *(*find)(const char *),
                                     struct slurm_query *query)
{
    const char *text = squeue_value(q->words, "states", find, "SQUEUE_STATES");
    AUTO_FREE char *states = NULL;

    if (!text && q->is_start)
        text = "PENDING";
    if (!text && q->asks_ids)
        text = "all";
    if (!text || !*text)
        return NULL;
    TRY(slurm_states_parse(text, &states));
    slurm_query_add(query, "states", states);
    return NULL;
}

static struct err *squeue_make_query(struct squeue *q, const char *(*find)(const char *),
                                     const char *user, const char *ids)
{
    static const struct {
        const char *option;
        const char *variable;
        const char *parameter;
    } filters[] = {{"account", "SQUEUE_ACCOUNT", "account"},
                   {"name", "SQUEUE_NAMES", "name"},
                   {"partition", "SQUEUE_PARTITION", "partition"},
                   {"user", "SQUEUE_USERS", "user"}};
    struct slurm_query query = {0};
    struct err *e = NULL;

    slurm_query_begin(&query, q->is_steps ? "steps" : "jobs");
    if (q->is_steps && q->steps)
        ids = NULL;
    if (q->is_steps && q->steps && *q->steps) {
        struct buf jobs = {0};

        e = slurm_steps_jobs(q->steps, &jobs);
        if (!e)
            slurm_query_add(&query, "ids", jobs.at);
        buf_done(&jobs);
    }
    if (!e && ids && *ids)
        e = squeue_add_ids(q, ids, &query);
    for (size_t i = 0; i < COUNT(filters); i++) {
        const char *value = squeue_value(q->words, filters[i].option, find, filters[i].variable);

        if (value && *value && !(i == 3 && slurm_words_has(q->words, "me")))
            slurm_query_add(&query, filters[i].parameter, value);
    }
    if (slurm_words_has(q->words, "me"))
        slurm_query_add(&query, "user", user);
    if (!e)
        e = squeue_add_states(q, find, &query);
    if (!e && q->output != SLURM_TABLE)
        slurm_query_add(&query, "detail", "1");
    q->path = slurm_query_end(&query);
    return e;
}

/* Options that would restrict the output and are not read. */
static struct err *squeue_refuse(const struct slurm_words *w)
{
    static const char *const refused[] = {"licenses", "clusters"};

    for (size_t i = 0; i < COUNT(refused); i++)
        if (slurm_words_has(w, refused[i]))
            return err_new(ERR_INVALID, "--%s is not available yet", refused[i]);
    return NULL;
}

static struct err *squeue_read_options(struct squeue *q, const char *(*find)(const char *),
                                       const char *user)
{
    const char *every = slurm_words_value(q->words, "iterate");
    const char *ids = slurm_words_value(q->words, "jobs");
    const char *steps = slurm_words_value(q->words, "steps");
    bool takes_ids = ids && !*ids; /* "-j 12": the value is the first argument */
    bool takes_steps = steps && !*steps && !takes_ids;
    size_t n_taken = takes_ids || takes_steps ? 1 : 0;

    q->asks_version = slurm_words_has(q->words, "version");
    q->asks_help = slurm_words_has(q->words, "help");
    if (q->words->arguments.n > n_taken)
        return err_new(ERR_INVALID, "Unrecognized option: %s\n%s", q->words->arguments.at[n_taken],
                       squeue_help);
    if (takes_ids && q->words->arguments.n > 0)
        ids = q->words->arguments.at[0];
    if (takes_steps && q->words->arguments.n > 0)
        steps = q->words->arguments.at[0];
    TRY(squeue_refuse(q->words));
    q->steps = steps;
    q->is_steps = q->steps != NULL;
    q->has_header = !slurm_words_has(q->words, "noheader");
    q->is_start = slurm_words_has(q->words, "start");
    q->is_expanded = slurm_words_has(q->words, "array") ||
                     slurm_words_has(q->words, "array-unique") || find("SQUEUE_ARRAY");
    q->keeps_unit = slurm_words_has(q->words, "noconvert");
    if (slurm_words_has(q->words, "json"))
        q->output = SLURM_JSON;
    if (slurm_words_has(q->words, "yaml"))
        q->output = SLURM_YAML;
    q->sort = squeue_value(q->words, "sort", find, "SQUEUE_SORT");
    if (!q->sort)
        q->sort = q->is_start ? "S" : "P,t,-p";
    if (every)
        TRY(num_parse_int64(str_of(every), 1, INT32_MAX, &q->every_s));
    TRY(squeue_read_format(q, find));
    q->format.expanded = q->is_expanded ? "arrayTaskId" : NULL;
    return squeue_make_query(q, find, user, ids);
}

struct err *squeue_read(const struct slurm_words *words, const char *(*find)(const char *name),
                        const char *user, struct squeue *ret)
{
    struct squeue q = {.words = words};
    struct err *e = squeue_read_options(&q, find, user);

    if (e) {
        squeue_done(&q);
        return e;
    }
    *ret = q;
    return NULL;
}

void squeue_done(struct squeue *q)
{
    slurm_format_done(&q->format);
    free(q->path);
    *q = (struct squeue){0};
}

/* ---- output ---- */

static bool squeue_wants(const struct squeue *q, const json_t *row)
{
    const char *qos = slurm_words_value(q->words, "qos");
    const char *reservation = slurm_words_value(q->words, "reservation");
    const char *nodes = slurm_words_value(q->words, "nodelist");
    const char *has_qos = json_text(row, "qos");

    if (nodes && !slurm_hosts_meet(nodes, json_text(row, "nodes")))
        return false;
    if (qos && !slurm_list_has(qos, has_qos ? has_qos : "normal"))
        return false;
    return !reservation || text_equal(json_text(row, "reservation"), reservation);
}

/* Elements of an array are equal but for their index: a table takes them from one row. */
static bool squeue_copies_elements(const struct squeue *q)
{
    return q->is_expanded && (q->output != SLURM_TABLE || strchr(q->sort, 'K'));
}

/* The rows that the options want, in order. */
static struct err *squeue_choose(const struct squeue *q, const json_t *rows,
                                 const struct slurm_view *v, json_t **ret)
{
    AUTO(json_freep)
    json_t *all = squeue_copies_elements(q) ? slurm_job_rows_expand(rows)
                                            : json_copy((json_t *)(uintptr_t)rows);
    AUTO(json_freep) json_t *chosen = json_array();

    for (size_t i = 0; i < json_array_size(all); i++)
        if (squeue_wants(q, json_array_get(all, i)))
            json_array_append(chosen, json_array_get(all, i));
    TRY(slurm_rows_sort(chosen, q->sort, slurm_job_columns, v, slurm_job_rank));
    *ret = TAKE(chosen);
    return NULL;
}

struct err *squeue_print(const struct squeue *q, const json_t *rows, const struct slurm_view *v,
                         struct buf *out)
{
    AUTO(json_freep) json_t *chosen = NULL;
    AUTO(json_freep) json_t *document = NULL;
    struct slurm_view view = *v;

    view.keeps_unit = q->keeps_unit;
    if (q->is_steps) {
        TRY(slurm_steps_choose(rows, *q->steps ? q->steps : NULL, &chosen));
        if (q->output != SLURM_TABLE) {
            document = slurm_document_new("steps", slurm_steps_json(chosen, &view));
            slurm_document_add(document, q->output == SLURM_YAML, out);
            return NULL;
        }
        slurm_format_print(&q->format, chosen, &view, q->has_header, out);
        return NULL;
    }
    if (q->asks_ids && json_array_size(rows) == 0)
        return err_new(ERR_NOT_FOUND, "Invalid job id specified");
    TRY(squeue_choose(q, rows, &view, &chosen));
    if (q->output == SLURM_TABLE) {
        slurm_format_print(&q->format, chosen, &view, q->has_header, out);
        return NULL;
    }
    document = slurm_jobs_document(chosen, &view);
    slurm_document_add(document, q->output == SLURM_YAML, out);
    return NULL;
}
