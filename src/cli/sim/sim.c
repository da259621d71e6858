#include "cli/sim/sim.h"

#include "cli/commands.h"

struct word {
    const char *name;
    struct err *(*run)(struct cli *c);
    bool takes_file;
};

static const struct word words[] = {
    {"jobs", sim_jobs, false},   {"openb", sim_openb, false},  {"churn", sim_churn, false},
    {"learn", sim_learn, false}, {"record", sim_record, true}, {"replay", sim_replay, true},
};

static struct err *run_word(struct cli *c, const struct word *w)
{
    if (!w->takes_file && c->in->arguments.n > 1)
        return cli_usage(c, "sim %s takes no \"%s\"", w->name, c->in->arguments.at[1]);
    return w->run(c);
}

static struct err *sim_run(struct cli *c)
{
    const char *name = c->in->arguments.at[0];

    if (flag_text(c->in, "from") && !text_equal(name, "jobs"))
        return cli_usage(c, "--from is for sim jobs");
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (text_equal(words[i].name, name))
            return run_word(c, &words[i]);
    return cli_usage(c, "sim has no \"%s\": want jobs, openb, churn, learn, record or replay",
                     name);
}

static const char *const groups[] = {"size", "user", NULL};
static const char *const formats[] = {"table", "json", "csv", NULL};

static const struct flag sim_flags[] = {
    {.name = "trace", .type = FLAG_TEXT, .value = "FILE", .doc = "jobs: what was submitted when"},
    {.name = "vc",
     .type = FLAG_TEXT,
     .value = "NAME",
     .doc = "jobs: of a philly trace only this virtual cluster"},
    {.name = "nodes",
     .type = FLAG_TEXT,
     .value = "N|FILE",
     .doc = "jobs: how many nodes; openb, churn: the list of them"},
    {.name = "gpus-per-node", .type = FLAG_COUNT, .value = "G", .doc = "jobs: of each (8)"},
    {.name = "policies", .type = FLAG_TEXT, .value = "A,B", .doc = "which to compare"},
    {.name = "estimates",
     .type = FLAG_TEXT,
     .value = "sigma=S,seed=N",
     .doc = "jobs: what mete knows of a duration is wrong by a log-normal factor (the truth)"},
    {.name = "pods", .type = FLAG_TEXT, .value = "FILE", .doc = "openb, churn: the list of pods"},
    {.name = "values",
     .type = FLAG_TEXT,
     .value = "FILE",
     .doc = "the table of policy mete; learn: where it goes (stdout); openb: else it is learned"},
    {.name = "arrivals",
     .type = FLAG_TEXT,
     .value = "FILE|N",
     .doc = "openb: of each seed the order in which pods arrive; churn: how many do (5 of each)"},
    {.name = "load",
     .type = FLAG_COUNT,
     .value = "PCT",
     .doc = "churn: what pods ask for on average, in % of the gpus (95)"},
    {.name = "noderank",
     .type = FLAG_TEXT,
     .value = "FILE",
     .doc = "openb: of each seed the rank of each node, which breaks ties"},
    {.name = "seeds", .type = FLAG_TEXT, .value = "42-51", .doc = "openb, churn: which (42-51)"},
    {.name = "check",
     .type = FLAG_TEXT,
     .value = "FILE",
     .doc = "openb: compare with published curves; exit 1 where one is off"},
    {.name = "published",
     .type = FLAG_TEXT,
     .value = "DIR",
     .doc = "openb: every variant published there, in one table; exit 1 where one is off"},
    {.name = "threads",
     .type = FLAG_COUNT,
     .value = "N",
     .doc = "openb, churn: runs side by side (as many as processors)"},
    {.name = "what-if",
     .type = FLAG_TEXT,
     .value = "CHANGE",
     .doc = "jobs: also with 'add 8 x 8xH100', or 'remove 2' nodes"},
    {.name = "report",
     .type = FLAG_TEXT,
     .value = "FILE.html",
     .doc = "also write a page with plots that needs nothing else"},
    {.name = "cluster",
     .type = FLAG_TEXT,
     .value = "FILE",
     .doc = "jobs: on these nodes and queues, by the engine itself"},
    {.name = "from",
     .type = FLAG_TEXT,
     .value = "live",
     .doc = "jobs: the same on those of a running Mete"},
    {.name = "by",
     .type = FLAG_TEXT,
     .value = "GROUP",
     .values = groups,
     .doc = "jobs: a line for each size of job, or each user"},
    {.name = "price", .type = FLAG_TEXT, .value = "P", .doc = "jobs: what an hour of a gpu costs"},
    {.name = "prices",
     .type = FLAG_TEXT,
     .value = "FILE",
     .doc = "jobs: the same by model, in the form of docs/accounting.md"},
    {.name = "output",
     .letter = 'o',
     .type = FLAG_TEXT,
     .value = "FORMAT",
     .fallback = "table",
     .values = formats,
     .doc = "table, json or csv"},
    {.name = "no-headers", .type = FLAG_SWITCH, .doc = "tables and csv without their first line"},
    {0},
};

const struct command command_sim = {
    .name = "sim",
    .arguments = "jobs|openb|churn|learn|record FILE|replay FILE",
    .summary = "replay traces and compare policies, on paper",
    .doc =
        "jobs puts the jobs of a trace through a queue onto equal nodes of whole GPUs: fifo, sjf "
        "and srtf know the\n"
        "true durations, mete knows estimates. record writes what the scheduler of a running Mete "
        "was told and\n"
        "decided; replay tells whether it decides the same again. Files may be gzipped; "
        "docs/simulator.md has the\n"
        "formats.",
    .examples = {{"sim jobs --trace jobs.csv --nodes 13", "compares all queue policies"},
                 {"sim jobs --trace jobs.csv --nodes 13 --estimates sigma=1,seed=1 -o json",
                  "the same where durations are only guessed"},
                 {0}},
    .flags = sim_flags,
    .groups = FLAGS_SERVER,
    .takes = TAKES_FILES,
    .n_min = 1,
    .n_max = 2,
    .run = sim_run,
};
