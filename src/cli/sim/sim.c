/* sim.c - mete sim: the subcommands and their flags */

#include "cli/sim/sim.h"

#include "cli/commands.h"

struct sim_word {
    const char *name;
    struct err *(*run)(struct cli *c);
    bool takes_file;
};

static const struct sim_word words[] = {
    {"jobs", sim_jobs, false},   {"openb", sim_openb, false},  {"churn", sim_churn, false},
    {"learn", sim_learn, false}, {"record", sim_record, true}, {"replay", sim_replay, true},
};

static struct err *run_word(struct cli *c, const struct sim_word *w)
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
    for (size_t i = 0; i < COUNT(words); i++)
        if (text_equal(words[i].name, name))
            return run_word(c, &words[i]);
    return cli_usage(c, "sim has no \"%s\": want jobs, openb, churn, learn, record or replay",
                     name);
}

static const char *const groups[] = {"size", "user", NULL};
static const char *const formats[] = {"table", "json", "csv", NULL};

static const struct flag sim_flags[] = {
    {.name = "trace", .type = FLAG_TEXT, .value = "FILE", .doc = "jobs: trace of submitted jobs"},
    {.name = "vc",
     .type = FLAG_TEXT,
     .value = "NAME",
     .doc = "jobs: only this virtual cluster of a philly trace"},
    {.name = "nodes",
     .type = FLAG_TEXT,
     .value = "N|FILE",
     .doc = "jobs: number of nodes; openb, churn: list of nodes"},
    {.name = "gpus-per-node",
     .type = FLAG_COUNT,
     .value = "G",
     .doc = "jobs: GPUs of each node. Default: 8"},
    {.name = "policies", .type = FLAG_TEXT, .value = "A,B", .doc = "policies to compare"},
    {.name = "estimates",
     .type = FLAG_TEXT,
     .value = "sigma=S,seed=N",
     .doc = "jobs: durations that policy mete sees are wrong by a log-normal factor. Default: true "
            "durations"},
    {.name = "pods", .type = FLAG_TEXT, .value = "FILE", .doc = "openb, churn: list of pods"},
    {.name = "values",
     .type = FLAG_TEXT,
     .value = "FILE",
     .doc = "table of policy mete. learn: file to write, default standard output. openb: default "
            "learned in the run"},
    {.name = "arrivals",
     .type = FLAG_TEXT,
     .value = "FILE|N",
     .doc = "openb: file with the arrival order of the pods for each seed. churn: number of "
            "arrivals. Default: 5 for each pod"},
    {.name = "load",
     .type = FLAG_COUNT,
     .value = "PCT",
     .doc = "churn: average demand of the pods, in % of the gpus. Default: 95"},
    {.name = "noderank",
     .type = FLAG_TEXT,
     .value = "FILE",
     .doc = "openb: file with the rank of each node for each seed; ranks break ties"},
    {.name = "seeds",
     .type = FLAG_TEXT,
     .value = "42-51",
     .doc = "openb, churn: seeds of the runs. Default: 42-51"},
    {.name = "check",
     .type = FLAG_TEXT,
     .value = "FILE",
     .doc = "openb: compare with published curves; exit 1 if a curve differs"},
    {.name = "published",
     .type = FLAG_TEXT,
     .value = "DIR",
     .doc = "openb: run every variant published in DIR, in one table; exit 1 if a variant differs"},
    {.name = "threads",
     .type = FLAG_COUNT,
     .value = "N",
     .doc = "openb, churn: parallel runs. Default: number of processors"},
    {.name = "what-if",
     .type = FLAG_TEXT,
     .value = "CHANGE",
     .doc = "jobs: compare with a changed cluster: 'add 8 x 8xH100', or 'remove 2' (nodes)"},
    {.name = "report",
     .type = FLAG_TEXT,
     .value = "FILE.html",
     .doc = "also write a self-contained page with plots"},
    {.name = "cluster",
     .type = FLAG_TEXT,
     .value = "FILE",
     .doc = "jobs: replay on these nodes and queues with the scheduling engine"},
    {.name = "from",
     .type = FLAG_TEXT,
     .value = "live",
     .doc = "jobs: like --cluster, with the nodes and queues of a running Mete"},
    {.name = "by",
     .type = FLAG_TEXT,
     .value = "GROUP",
     .values = groups,
     .doc = "jobs: one line for each size of job, or each user"},
    {.name = "price", .type = FLAG_TEXT, .value = "P", .doc = "jobs: price of a gpu hour"},
    {.name = "prices",
     .type = FLAG_TEXT,
     .value = "FILE",
     .doc = "jobs: prices by model, in the format of docs/accounting.md"},
    {.name = "output",
     .letter = 'o',
     .type = FLAG_TEXT,
     .value = "FORMAT",
     .fallback = "table",
     .values = formats,
     .doc = "output format: table, json or csv. Default: table"},
    {.name = "no-headers", .type = FLAG_SWITCH, .doc = "omit the header line of tables and csv"},
    {0},
};

const struct command command_sim = {
    .name = "sim",
    .arguments = "jobs|openb|churn|learn|record FILE|replay FILE",
    .summary = "simulate: replay traces and compare policies",
    .doc =
        "jobs replays the jobs of a trace through one queue on equal nodes with whole GPUs: fifo, "
        "sjf and srtf know the\ntrue durations, mete knows estimates. record writes the inputs and "
        "decisions of the scheduler of a running Mete;\nreplay checks that the scheduler decides "
        "the same again. Files may be gzipped; docs/simulator.md describes the\nformats.",
    .examples = {{"sim jobs --trace jobs.csv --nodes 13", "compares all queue policies"},
                 {"sim jobs --trace jobs.csv --nodes 13 --estimates sigma=1,seed=1 -o json",
                  "compares the policies with wrong estimates"},
                 {0}},
    .flags = sim_flags,
    .groups = FLAGS_SERVER,
    .takes = TAKES_FILES,
    .n_min = 1,
    .n_max = 2,
    .run = sim_run,
};
