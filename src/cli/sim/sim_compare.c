/* sim_compare.c - runs of several policies and seeds in parallel */

#include "cli/sim/sim_compare.h"

#include "base/mem.h"
#include "base/num.h"
#include "sim/parallel.h"
#include "sim/trace_file.h"

enum {
    THREADS_MAX = 256
};

/* Reads "42-51", "42,44", "1,5-7". */
static struct err *read_seeds(struct cli *c, struct sim_compare *p)
{
    const char *list = flag_text(c->in, "seeds");
    struct str word;

    for (size_t i = 0; sim_list_at(list ? list : "42-51", i, &word); i++) {
        struct str to = word;
        struct str from = str_cut(&to, '-');
        uint64_t first = 0;
        uint64_t last = 0;
        AUTO(err_freep) struct err *e = num_parse_uint64(from, UINT32_MAX, &first);

        last = first;
        if (!e && to.at)
            e = num_parse_uint64(to, UINT32_MAX, &last);
        if (e || last < first)
            return cli_usage(c, "--seeds: \"%s\" is not known: want 42-51 or 42,44", list);
        for (uint64_t seed = first; seed <= last; seed++) {
            if (p->n_seeds == SIM_SEEDS_MAX)
                return cli_usage(c, "--seeds: over %d", SIM_SEEDS_MAX);
            p->seeds[p->n_seeds++] = seed;
        }
    }
    return NULL;
}

struct err *sim_compare_read(struct cli *c, struct sim_compare *p, const char *fallback)
{
    const char *list = flag_text(c->in, "policies");
    struct str word;

    p->trace = openb_new();
    TRY(read_seeds(c, p));
    for (size_t i = 0; sim_list_at(list ? list : fallback, i, &word); i++) {
        if (p->n_policies == SIM_POLICIES_MAX)
            return cli_usage(c, "--policies: over %d", SIM_POLICIES_MAX);
        p->policies[p->n_policies++] = mem_strndup(word.at, word.size);
    }
    p->n_runs = p->n_policies * p->n_seeds;
    return NULL;
}

void sim_compare_done(struct sim_compare *p)
{
    for (size_t i = 0; i < p->n_policies; i++)
        free(p->policies[i]);
    openb_free(p->trace);
    value_table_free(p->values);
}

struct err *sim_compare_file(struct cli *c, struct sim_compare *p, const char *flag,
                             sim_read_fn read)
{
    const char *path = flag_text(c->in, flag);
    AUTO(buf_done) struct buf text = {0};

    if (!path)
        return cli_usage(c, "sim %s needs --%s FILE", c->in->arguments.at[0], flag);
    TRY(trace_file_read(path, &text));
    return read(p->trace, path, (struct str){text.at, text.size});
}

struct err *sim_compare_values(struct cli *c, struct sim_compare *p)
{
    const char *path = flag_text(c->in, "values");
    bool wants = false;

    for (size_t i = 0; i < p->n_policies; i++)
        wants |= text_equal(p->policies[i], "mete");
    if (!wants)
        return path ? cli_usage(c, "--values needs policy mete in --policies") : NULL;
    if (path)
        TRY(sim_values_read(path, &p->values));
    else
        TRY(sim_values_learn(c, p->trace, &p->values));
    p->view = value_table_view(p->values);
    return NULL;
}

static void on_done(void *arg, size_t done)
{
    struct sim_compare *p = arg;

    sim_progress_show(&p->progress, done);
}

struct err *sim_compare_run(struct cli *c, void (*run)(void *arg, size_t i), void *arg)
{
    struct sim_compare *p = arg;
    int64_t width = flag_count(c->in, "threads", (int64_t)parallel_width());

    if (width < 1 || width > THREADS_MAX)
        return cli_usage(c, "--threads: want 1 to %d", THREADS_MAX);
    sim_progress_begin(&p->progress, c, "runs", p->n_runs);
    parallel_run(p->n_runs, (size_t)width, run, on_done, arg);
    sim_progress_end(&p->progress);
    return NULL;
}
