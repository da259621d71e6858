/* scontrol.c - scontrol: shows and changes jobs and nodes */

#include "cli/slurm/scontrol.h"

#include <strings.h>

#include "base/loop.h"
#include "base/mem.h"
#include "base/stamp.h"
#include "cli/commands.h"
#include "cli/term/output.h"
#include "kinds/slurm/slurm_rows.h"
#include "model/hostlist.h"
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
    {"json", NULL, 0, NO},
    {"local", NULL, 0, NO},
    {"oneliner", NULL, 'o', NO},
    {"quiet", NULL, 'Q', NO},
    {"usage", "help", 0, NO},
    {"verbose", NULL, 'v', NO},
    {"version", NULL, 'V', NO},
    {"yaml", NULL, 0, NO},
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
    "  delete PartitionName=NAME   reconfigure   ping   wait_job JOB   version\n";

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

typedef void (*show_fn)(const struct slurm_show *s, const json_t *row, struct buf *out);

/* Prints the rows, or those whose `name` is in the list. */
static struct err *show_rows(struct scontrol *x, const json_t *rows, const char *names,
                             const char *missing, show_fn fn)
{
    bool shows_all = slurm_words_has(&x->s.words, "all");
    const struct slurm_show show = {&x->s.view, x->is_one_line, x->is_detailed};
    AUTO(hostlist_done) struct hostlist wanted = {0};
    AUTO(buf_done) struct buf out = {0};
    const json_t *row;
    size_t i;

    if (names)
        TRY(hostlist_parse(str_of(names), HOSTLIST_MAX, &wanted));
    json_array_foreach (rows, i, row) {
        bool is_wanted = !names && (shows_all || !json_bool(row, "hidden", false));

        for (size_t k = 0; k < wanted.names.n; k++)
            is_wanted = is_wanted || text_equal(wanted.names.at[k], json_text(row, "name"));
        if (is_wanted)
            fn(&show, row, &out);
    }
    if (names && out.size == 0)
        return err_new(ERR_NOT_FOUND, missing, names);
    return output_write(x->s.cli, (struct str){out.at, out.size});
}

static struct err *show_jobs(struct scontrol *x, const char *name)
{
    const struct slurm_show show = {&x->s.view, x->is_one_line, x->is_detailed};
    AUTO(json_freep) json_t *rows = NULL;
    AUTO(json_freep) json_t *document = NULL;
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
    if (slurm_words_has(&x->s.words, "json") || slurm_words_has(&x->s.words, "yaml")) {
        document = slurm_jobs_document(rows, &x->s.view);
        slurm_document_add(document, slurm_words_has(&x->s.words, "yaml"), &out);
        return output_write(x->s.cli, (struct str){out.at, out.size});
    }
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

struct err *scontrol_show(struct scontrol *x, size_t n, const char *const *words)
{
    AUTO_FREE char *entity = NULL;
    AUTO(json_freep) json_t *rows = NULL;
    const char *name = NULL;

    if (n == 0)
        return err_new(ERR_INVALID, "too few arguments for keyword:show");
    name = show_split(words[0], &entity);
    if (!name && n > 1)
        name = words[1];
    if (text_starts_with(entity, "host"))
        return show_hosts(x, entity, name);
    if (strncasecmp(entity, "jobs", strlen(entity)) == 0 || strcasecmp(entity, "jobid") == 0)
        return show_jobs(x, name);
    if (strncasecmp(entity, "config", strlen(entity)) == 0)
        return show_config(x);
    if (strncasecmp(entity, "nodes", strlen(entity)) == 0) {
        TRY(slurm_rows(&x->s, SLURM_REPORT_PATH "?what=nodes", "nodes", &rows));
        return show_rows(x, rows, name, "Node %s not found", slurm_show_node);
    }
    if (strlen(entity) >= 3 && strncasecmp(entity, "reservations", strlen(entity)) == 0)
        return scontrol_show_reservations(x, name);
    if (strncasecmp(entity, "partitions", strlen(entity)) == 0) {
        TRY(slurm_rows(&x->s, SLURM_REPORT_PATH "?what=partitions", "partitions", &rows));
        return show_rows(x, rows, name, "Partition %s not found", slurm_show_partition);
    }
    if (strncasecmp(entity, "licenses", strlen(entity)) == 0) {
        TRY(slurm_rows(&x->s, SLURM_REPORT_PATH "?what=licenses", "licenses", &rows));
        if (json_array_size(rows) == 0 && !name)
            return output_write(x->s.cli, STR("No licenses configured in Slurm.\n"));
        return show_rows(x, rows, name, "License %s not found", slurm_show_license);
    }
    if (strncasecmp(entity, "topology", strlen(entity)) == 0) {
        TRY(slurm_rows(&x->s, SLURM_REPORT_PATH "?what=topology", "topology", &rows));
        if (json_array_size(rows) == 0)
            return output_write(x->s.cli, STR("No topology information available\n"));
        return show_rows(x, rows, name, "Topology information contains no switch %s",
                         slurm_show_switch);
    }
    if (strncasecmp(entity, "steps", strlen(entity)) == 0 || strcasecmp(entity, "stepid") == 0)
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
    if (text_equal(verb, "ping"))
        return scontrol_ping(x);
    if (text_equal(verb, "version"))
        return slurm_print_version(x->s.cli);
    if (text_equal(verb, "help"))
        return output_write(x->s.cli, str_of(scontrol_help));
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

    if (slurm_command_begin(&x.s, c, scontrol_options, true))
        e = scontrol_steps(&x);
    slurm_command_done(&x.s);
    return e;
}

const struct command command_scontrol = {
    .name = "scontrol",
    .arguments = "[OPTION...] VERB ...",
    .summary = "show and change jobs and nodes, with the verbs of Slurm's scontrol",
    .doc = "Verbs: show, hold, uhold, release, requeue, requeuehold, suspend, resume, create, "
           "update, delete, reconfigure, ping, wait_job. docs/slurm.md describes them.",
    .examples = {{"scontrol show job 12", "prints all facts of a job"},
                 {"scontrol show hostnames 'n[1-3]'", "expands a list of hosts"},
                 {"scontrol update jobid=12 TimeLimit=01:00:00", "sets the time limit of a job"},
                 {0}},
    .groups = FLAGS_SERVER,
    .n_max = SIZE_MAX,
    .reads_words = true,
    .run = scontrol_run,
};
