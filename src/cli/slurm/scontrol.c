/* scontrol.c - scontrol: shows and changes jobs and nodes */

#include "cli/slurm/scontrol.h"

#include <strings.h>

#include "base/loop.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/stamp.h"
#include "cli/commands.h"
#include "cli/term/output.h"
#include "kinds/slurm/slurm_rows.h"
#include "model/hostlist.h"
#include "slurm/cluster_json.h"
#include "slurm/job_json.h"
#include "slurm/query.h"
#include "slurm/show.h"
#include "slurm/states.h"
#include "slurm/steps.h"

#define NO SLURM_TAKES_NOTHING

static const struct slurm_option scontrol_options[] = {
    {"all", NULL, 'a', NO},
    {"details", NULL, 'd', NO},
    {"help", NULL, 'h', NO},
    {"hide", NULL, 0, NO},
    {"json", NULL, 0, SLURM_TAKES_OPTIONAL},
    {"local", NULL, 0, NO},
    {"oneliner", NULL, 'o', NO},
    {"quiet", NULL, 'Q', NO},
    {"usage", "help", 0, NO},
    {"verbose", NULL, 'v', NO},
    {"version", NULL, 'V', NO},
    {"yaml", NULL, 0, SLURM_TAKES_OPTIONAL},
    {0},
};

static const char scontrol_help[] =
    "Usage: scontrol [-adoQ] VERB ...\n"
    "  show job|node|partition|licenses|topology [NAMES]   show config   show "
    "hostnames|hostlist|hostlistsorted "
    "LIST\n"
    "  hold|uhold|release|requeue|requeuehold|suspend|resume JOB...\n"
    "  update JobId=JOB KEY=VALUE...   update NodeName=NODES State=DRAIN|RESUME [Reason=TEXT]\n"
    "  create PartitionName=NAME KEY=VALUE...   update PartitionName=NAME KEY=VALUE...\n"
    "  create|update|delete reservation KEY=VALUE...   show reservation [NAME]\n"
    "  delete PartitionName=NAME   reconfigure   ping   top JOBS   wait_job JOB   version\n"
    "  token [username=NAME] [lifespan=SECONDS]\n";

/* ---- show ---- */

static struct err *show_hosts(struct scontrol *x, const char *what, const char *text)
{
    AUTO(hostlist_done) struct hostlist hosts = {0};
    AUTO(buf_done) struct buf out = {0};
    AUTO_FREE char *line = NULL;

    if (!text)
        text = slurm_variable("SLURM_JOB_NODELIST");
    if (!text || !*text)
        return err_new(ERR_INVALID, "host list is empty");
    TRY(hostlist_parse(str_of(text), HOSTLIST_MAX, &hosts));
    if (text_equal(what, "hostnames")) {
        for (size_t i = 0; i < hosts.names.n; i++)
            buf_printf(&out, "%s\n", hosts.names.at[i]);
    } else {
        if (text_equal(what, "hostlistsorted"))
            hostlist_sort(&hosts);
        line = hostlist_format(&hosts);
        buf_printf(&out, "%s\n", line);
    }
    return output_write(x->s.cli, (struct str){out.at, out.size});
}

bool scontrol_wants_document(const struct scontrol *x)
{
    return slurm_words_has(&x->s.words, "json") || slurm_words_has(&x->s.words, "yaml");
}

struct err *scontrol_print_document(struct scontrol *x, json_t *document)
{
    AUTO(json_freep) json_t *taken = document;
    AUTO(buf_done) struct buf out = {0};

    slurm_document_add(taken, slurm_words_has(&x->s.words, "yaml"), &out);
    return output_write(x->s.cli, (struct str){out.at, out.size});
}

/* The kinds of rows that have names. */
struct show_kind {
    const char *what; /* of the report, and the member of the document */
    const char *missing;
    void (*add)(const struct slurm_show *s, const json_t *row, struct buf *out);
    json_t *(*json)(const json_t *rows, const struct slurm_view *v); /* NULL: no document */
};

static const struct show_kind show_nodes = {"nodes", "Node %s not found", slurm_show_node,
                                            slurm_nodes_json};
static const struct show_kind show_partitions = {"partitions", "Partition %s not found",
                                                 slurm_show_partition, slurm_partitions_json};
static const struct show_kind show_licenses = {"licenses", "License %s not found",
                                               slurm_show_license, slurm_licenses_json};
static const struct show_kind show_topology = {
    "topology", "Topology information contains no switch %s", slurm_show_switch, NULL};

/* The rows of those names; without names those that are not hidden. New reference. */
static struct err *rows_choose(struct scontrol *x, const json_t *rows, const char *names,
                               json_t **ret)
{
    bool shows_all = slurm_words_has(&x->s.words, "all");
    AUTO(hostlist_done) struct hostlist wanted = {0};
    json_t *chosen;
    const json_t *row;
    size_t i;

    if (names)
        TRY(hostlist_parse(str_of(names), HOSTLIST_MAX, &wanted));
    chosen = json_array();
    json_array_foreach (rows, i, row) {
        bool is_wanted = !names && (shows_all || !json_bool(row, "hidden", false));

        for (size_t k = 0; k < wanted.names.n; k++)
            is_wanted = is_wanted || text_equal(wanted.names.at[k], json_text(row, "name"));
        if (is_wanted)
            (void)json_array_append(chosen, (json_t *)(uintptr_t)row);
    }
    *ret = chosen;
    return NULL;
}

/* Prints the rows, or those of the names. `empty`: the text where there are none; NULL: none. */
static struct err *show_rows(struct scontrol *x, const struct show_kind *k, const char *names,
                             const char *empty)
{
    const struct slurm_show show = {&x->s.view, x->is_one_line, x->is_detailed};
    AUTO_FREE char *path = mem_format(SLURM_REPORT_PATH "?what=%s", k->what);
    AUTO(json_freep) json_t *rows = NULL;
    AUTO(json_freep) json_t *chosen = NULL;
    AUTO(buf_done) struct buf out = {0};

    TRY(slurm_rows(&x->s, path, k->what, &rows));
    if (empty && json_array_size(rows) == 0 && !scontrol_wants_document(x))
        return output_write(x->s.cli, str_of(empty));
    TRY(rows_choose(x, rows, names, &chosen));
    if (names && json_array_size(chosen) == 0)
        return err_new(ERR_NOT_FOUND, k->missing, names);
    if (scontrol_wants_document(x))
        return scontrol_print_document(
            x, slurm_cluster_document(k->what, k->json(chosen, &x->s.view), &x->s.view));
    for (size_t i = 0; i < json_array_size(chosen); i++)
        k->add(&show, json_array_get(chosen, i), &out);
    return output_write(x->s.cli, (struct str){text_or_empty(out.at), out.size});
}

static struct err *show_jobs(struct scontrol *x, const char *name)
{
    const struct slurm_show show = {&x->s.view, x->is_one_line, x->is_detailed};
    AUTO(json_freep) json_t *rows = NULL;
    AUTO(buf_done) struct buf out = {0};
    AUTO(buf_done) struct buf ids = {0};
    AUTO_FREE char *path = NULL;
    struct slurm_query query = {0};
    const json_t *row;
    size_t i;

    if (name && slurm_ids_parse(name, &ids))
        return err_new(ERR_INVALID, "Invalid job id specified");
    slurm_query_begin(&query, "jobs");
    slurm_query_add(&query, "states", "all");
    slurm_query_add(&query, "detail", "1");
    if (name)
        slurm_query_add(&query, "ids", ids.at);
    path = slurm_query_end(&query);
    TRY(slurm_rows(&x->s, path, "jobs", &rows));
    if (name && json_array_size(rows) == 0)
        return err_new(ERR_INVALID, "Invalid job id specified");
    if (scontrol_wants_document(x))
        return scontrol_print_document(x, slurm_jobs_document(rows, &x->s.view));
    json_array_foreach (rows, i, row)
        slurm_show_job(&show, row, &out);
    if (json_array_size(rows) == 0)
        buf_add_text(&out, "No jobs in the system\n");
    return output_write(x->s.cli, (struct str){out.at, out.size});
}

static struct err *show_steps(struct scontrol *x, const char *list)
{
    const struct slurm_show show = {&x->s.view, x->is_one_line, x->is_detailed};
    AUTO(json_freep) json_t *rows = NULL;
    AUTO(json_freep) json_t *chosen = NULL;
    AUTO(buf_done) struct buf out = {0};

    TRY(slurm_rows(&x->s, SLURM_REPORT_PATH "?what=steps", "steps", &rows));
    TRY(slurm_steps_choose(rows, list, &chosen));
    if (list && json_array_size(chosen) == 0)
        return err_new(ERR_INVALID, "Job step %s not found", list);
    if (scontrol_wants_document(x))
        return scontrol_print_document(
            x, slurm_cluster_document("steps", slurm_steps_json(chosen, &x->s.view), &x->s.view));
    for (size_t i = 0; i < json_array_size(chosen); i++)
        slurm_show_step(&show, json_array_get(chosen, i), &out);
    if (json_array_size(chosen) == 0)
        buf_add_text(&out, "No job steps in the system\n");
    return output_write(x->s.cli, (struct str){out.at, out.size});
}

static struct err *show_config(struct scontrol *x)
{
    const struct slurm_show show = {&x->s.view, x->is_one_line, x->is_detailed};
    AUTO(json_freep) json_t *config = NULL;
    AUTO(buf_done) struct buf out = {0};

    TRY(slurm_rows(&x->s, SLURM_REPORT_PATH "?what=config", "config", &config));
    slurm_show_config(&show, config, &out);
    return output_write(x->s.cli, (struct str){out.at, out.size});
}

/* "job=12" and "job 12". */
static const char *show_split(const char *word, char **ret_entity)
{
    const char *equals = strchr(word, '=');

    *ret_entity = mem_strndup(word, equals ? (size_t)(equals - word) : strlen(word));
    return equals ? equals + 1 : NULL;
}

/* Only what is one of these has no document. */
static struct err *check_document(struct scontrol *x, const char *entity)
{
    static const char *const without[] = {"config", "topology", "hostnames", "hostlist",
                                          "hostlistsorted"};

    for (size_t i = 0; i < COUNT(without) && scontrol_wants_document(x); i++)
        if (strncasecmp(entity, without[i], strlen(entity)) == 0)
            return err_new(ERR_INVALID, "show %s has no --json and --yaml", without[i]);
    return NULL;
}

static bool is_entity(const char *word, const char *name)
{
    return strncasecmp(word, name, strlen(word)) == 0;
}

struct err *scontrol_show(struct scontrol *x, size_t n, const char *const *words)
{
    AUTO_FREE char *entity = NULL;
    const char *name = NULL;

    if (n == 0)
        return err_new(ERR_INVALID, "too few arguments for keyword:show");
    name = show_split(words[0], &entity);
    if (!name && n > 1)
        name = words[1];
    TRY(check_document(x, entity));
    if (text_starts_with(entity, "host"))
        return show_hosts(x, entity, name);
    if (is_entity(entity, "jobs") || strcasecmp(entity, "jobid") == 0)
        return show_jobs(x, name);
    if (is_entity(entity, "config"))
        return show_config(x);
    if (is_entity(entity, "nodes"))
        return show_rows(x, &show_nodes, name, NULL);
    if (strlen(entity) >= 3 && is_entity(entity, "reservations"))
        return scontrol_show_reservations(x, name);
    if (is_entity(entity, "partitions"))
        return show_rows(x, &show_partitions, name, NULL);
    if (is_entity(entity, "licenses"))
        return show_rows(x, &show_licenses, name,
                         name ? NULL : "No licenses configured in Slurm.\n");
    if (is_entity(entity, "topology"))
        return show_rows(x, &show_topology, name, "No topology information available\n");
    if (is_entity(entity, "steps") || strcasecmp(entity, "stepid") == 0)
        return show_steps(x, name);
    return err_new(ERR_INVALID, "invalid entity:%s for keyword:show ", entity);
}

/* ---- other verbs ---- */

static struct err *scontrol_ping(struct scontrol *x)
{
    AUTO(json_freep) json_t *config = NULL;
    AUTO(err_freep)
    struct err *e = slurm_rows(&x->s, SLURM_REPORT_PATH "?what=config", "config", &config);

    if (e)
        x->s.cli->exit_code = EXIT_FAILED;
    return output_write(x->s.cli, e ? STR("Slurmctld(primary) at mete is DOWN\n")
                                    : STR("Slurmctld(primary) at mete is UP\n"));
}

static void scontrol_on_time(void *arg)
{
    session_stop(arg);
}

/* token [username=NAME] [lifespan=SECONDS] */
static struct err *scontrol_token(struct scontrol *x, size_t n, const char *const *words)
{
    AUTO(json_freep) json_t *body = json_object();
    AUTO(json_freep) json_t *answer = NULL;
    AUTO_FREE char *line = NULL;
    const struct call call = {.method = "POST", .path = "/mete.dev/v1/slurm-tokens", .body = body};

    for (size_t i = 0; i < n; i++) {
        const char *value = strchr(words[i], '=');
        int64_t seconds = 0;

        if (value && strncasecmp(words[i], "username=", 9) == 0) {
            json_put_text(body, "user", value + 1);
        } else if (value && strncasecmp(words[i], "lifespan=", 9) == 0) {
            TRY(num_parse_int64(str_of(value + 1), 1, INT32_MAX, &seconds));
            json_put_int(body, "seconds", seconds);
        } else {
            return err_new(ERR_INVALID, "invalid option:%s for keyword:token", words[i]);
        }
    }
    TRY(slurm_call(&x->s, &call, &answer));
    line = mem_format("SLURM_JWT=%s\n", text_or_empty(json_text(answer, "token")));
    return output_write(x->s.cli, str_of(line));
}

/* Waits until the job has started. */
static struct err *scontrol_wait_job(struct scontrol *x, const char *name)
{
    for (;;) {
        AUTO(json_freep) json_t *row = NULL;
        AUTO_FREE char *elements = NULL;
        struct loop_timer *timer;
        struct err *e;

        TRY(scontrol_find_job(x, name, &row, &elements));
        if (!text_equal(json_text(row, "state"), "PENDING")) {
            AUTO_FREE char *line = mem_format("Job %s is ready for execution\n", name);

            return output_write(x->s.cli, str_of(line));
        }
        timer = loop_timer_new(session_loop(x->s.session), scontrol_on_time, x->s.session);
        loop_timer_set(timer, NS_PER_SEC);
        e = session_run(x->s.session);
        loop_timer_free(timer);
        TRY(e);
    }
}

static struct err *scontrol_do(struct scontrol *x, size_t n, const char *const *words)
{
    static const char *const changes[] = {"hold",        "uhold",   "release", "requeue",
                                          "requeuehold", "suspend", "resume"};
    const char *verb = words[0];

    if (text_equal(verb, "show"))
        return scontrol_show(x, n - 1, words + 1);
    if (text_equal(verb, "update"))
        return scontrol_update(x, n - 1, words + 1);
    if (text_equal(verb, "create"))
        return scontrol_create(x, n - 1, words + 1);
    if (text_equal(verb, "delete"))
        return scontrol_delete(x, n - 1, words + 1);
    if (text_starts_with(verb, "reconfig"))
        return scontrol_reconfigure(x);
    if (text_equal(verb, "token"))
        return scontrol_token(x, n - 1, words + 1);
    if (text_equal(verb, "ping"))
        return scontrol_ping(x);
    if (text_equal(verb, "version"))
        return slurm_print_version(x->s.cli);
    if (text_equal(verb, "help"))
        return output_write(x->s.cli, str_of(scontrol_help));
    if (text_equal(verb, "top"))
        return scontrol_top(x, n > 1 ? words[1] : NULL);
    if (text_equal(verb, "wait_job") && n > 1)
        return scontrol_wait_job(x, words[1]);
    for (size_t i = 0; i < COUNT(changes); i++)
        if (text_equal(verb, changes[i]))
            return scontrol_change(x, verb, n - 1, words + 1);
    return err_new(ERR_INVALID, "invalid keyword: %s", verb);
}

/* Verbs whose errors come without "scontrol: error: ". */
static bool scontrol_is_plain(const char *verb)
{
    static const char *const plain[] = {"show", "update", "create", "delete"};

    for (size_t i = 0; i < COUNT(plain); i++)
        if (text_equal(verb, plain[i]))
            return true;
    return false;
}

static const char *scontrol_prefix(const char *verb, const struct err *e)
{
    if (text_equal(err_message(e), "Invalid job id specified"))
        return "slurm_load_jobs error: ";
    if (text_equal(verb, "update") &&
        text_equal(err_message(e), "Invalid partition name specified"))
        return "slurm_update error: ";
    return "";
}

static struct err *scontrol_steps(struct scontrol *x)
{
    const struct slurm_words *w = &x->s.words;
    struct err *e;

    if (slurm_words_has(w, "version"))
        return slurm_print_version(x->s.cli);
    if (slurm_words_has(w, "help") || w->arguments.n == 0)
        return output_write(x->s.cli, str_of(scontrol_help));
    x->is_one_line = slurm_words_has(w, "oneliner");
    x->is_detailed = slurm_words_has(w, "details");
    e = scontrol_do(x, w->arguments.n, w->arguments.at);
    if (!e)
        return NULL;
    if (scontrol_is_plain(w->arguments.at[0])) {
        (void)fprintf(x->s.cli->err, "%s%s\n", scontrol_prefix(w->arguments.at[0], e),
                      err_message(e));
        x->s.cli->exit_code = EXIT_FAILED;
        err_free(e);
        return NULL;
    }
    return slurm_fail(&x->s, EXIT_FAILED, e);
}

static struct err *scontrol_run(struct cli *c)
{
    struct scontrol x = {0};
    struct err *e = NULL;

    if (slurm_command_begin(&x.s, c, scontrol_options, false))
        e = scontrol_steps(&x);
    slurm_command_done(&x.s);
    return e;
}

const struct command command_scontrol = {
    .name = "scontrol",
    .arguments = "[OPTION...] VERB ...",
    .summary = "show and change jobs and nodes, with the verbs of Slurm's scontrol",
    .doc = "Verbs: show, hold, uhold, release, requeue, requeuehold, suspend, resume, create, "
           "update, delete, reconfigure, ping, token, top, wait_job. docs/slurm.md describes them.",
    .examples = {{"scontrol show job 12", "prints all facts of a job"},
                 {"scontrol show hostnames 'n[1-3]'", "expands a list of hosts"},
                 {"scontrol update jobid=12 TimeLimit=01:00:00", "sets the time limit of a job"},
                 {0}},
    .groups = FLAGS_SERVER,
    .n_max = SIZE_MAX,
    .reads_words = true,
    .run = scontrol_run,
};
