/*
 * learn_values_linux.c - the role `mete learn-values DIR`
 *
 * Learns a table of placement values from the arrivals in DIR, and writes the table to DIR if it
 * allocates more than the present table on the latest arrivals. Runs with lowest priority and
 * bounded memory and time.
 */

#include <inttypes.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/role/learn_files.h"
#include "sim/learn_openb.h"
#include "sim/openb_run.h"

enum {
    ROUNDS = 4, /* arrival orders: the latest arrivals, from four different starting points */
    ASKED_PCT = 135,
    FILE_MAX = 16 << 20,
    FILE_MODE = 0600,
    NICE = 19,
    SEED = 1
};

#define MEMORY_MAX    ((rlim_t)1 << 30)
#define PROCESSOR_MAX ((rlim_t)900) /* seconds */

struct learner {
    const char *dir;
    struct openb *trace;
    struct value_table *was; /* the present table; NULL: none */
    struct value_table *is;
};

static void learn_confine(void)
{
    const struct rlimit memory = {MEMORY_MAX, MEMORY_MAX};
    const struct rlimit processor = {PROCESSOR_MAX, PROCESSOR_MAX};

    if (setpriority(PRIO_PROCESS, 0, NICE) < 0 || setrlimit(RLIMIT_CPU, &processor) < 0)
        LOG(WARN, "the resource limits of learning were not set");
#ifndef __SANITIZE_ADDRESS__
    if (setrlimit(RLIMIT_AS, &memory) < 0)
        LOG(WARN, "the resource limits of learning were not set");
#else
    (void)memory;
#endif
}

static struct err *read_part(const struct learner *l, const char *name,
                             struct err *(*read)(struct openb *o, const char *file,
                                                 struct str text))
{
    AUTO_FREE char *path = mem_format("%s/%s", l->dir, name);
    AUTO(buf_done) struct buf text = {0};

    TRY(file_read(path, FILE_MAX, &text));
    return read(l->trace, path, (struct str){text.at, text.size});
}

static struct err *read_values(struct learner *l)
{
    AUTO_FREE char *path = mem_format("%s/%s", l->dir, LEARN_VALUES);
    AUTO(buf_done) struct buf text = {0};
    struct err *e = file_read(path, FILE_MAX, &text);

    if (!e)
        return value_table_parse(path, (struct str){text.at, text.size}, &l->was);
    if (err_code(e) != ERR_NOT_FOUND)
        return e;
    err_free(e);
    return NULL;
}

/* Each order repeats the arrivals until they ask for more than the cluster has. */
static struct err *make_orders(const struct learner *l)
{
    const size_t n = openb_pod_count(l->trace);
    const int64_t enough = openb_capacity_milli(l->trace) * ASKED_PCT / 100;
    AUTO(buf_done) struct buf orders = {.cap = (size_t)256 << 20};
    AUTO(buf_done) struct buf ranks = {0};

    for (size_t round = 0; round < ROUNDS; round++) {
        int64_t asked = 0;

        buf_printf(&orders, "%zu", round + 1);
        for (size_t i = 0; asked < enough && i < OPENB_ARRIVALS_MAX / ROUNDS; i++) {
            const size_t row = (round * n / ROUNDS + i) % n;
            const struct openb_pod *pod = &openb_pods(l->trace)[row];

            buf_printf(&orders, " %zu", row);
            asked += (int64_t)pod->gpus * pod->gpu_milli;
        }
        buf_printf(&ranks, "%zu", round + 1);
        for (size_t i = 0; i < openb_node_count(l->trace); i++)
            buf_printf(&ranks, " %zu", i);
        buf_add_char(&orders, '\n');
        buf_add_char(&ranks, '\n');
    }
    TRY(openb_read_arrivals(l->trace, "orders", (struct str){orders.at, orders.size}));
    return openb_read_ranks(l->trace, "ranks", (struct str){ranks.at, ranks.size});
}

/* Sums the gpu compute allocated at the end of each order. */
static struct err *try_values(const struct learner *l, const struct value_table *t, int64_t *ret)
{
    const struct mete_values view = t ? value_table_view(t) : (struct mete_values){0};
    int64_t sum = 0;

    for (uint64_t seed = 1; seed <= ROUNDS; seed++) {
        const struct openb_run_options o = {
            .policy = "mete", .seed = seed, .values = t ? &view : NULL};
        AUTO_FREE struct openb_curves *curves = mem_alloc(sizeof(*curves));

        TRY(openb_run(l->trace, &o, curves));
        sum += curves->allocated_milli;
    }
    *ret = sum;
    return NULL;
}

static struct err *write_new(const struct learner *l)
{
    AUTO_FREE char *path = mem_format("%s/%s", l->dir, LEARN_NEW);
    AUTO(buf_done) struct buf text = {0};

    value_table_format(l->is, &text);
    return file_write(path, FILE_MODE, (struct str){text.at, text.size});
}

static struct err *values_learn(struct learner *l, bool *ret_is_better)
{
    int64_t was = 0;
    int64_t is = 0;

    TRY(read_part(l, LEARN_NODES, openb_read_nodes));
    TRY(read_part(l, LEARN_PODS, openb_read_pods));
    TRY(read_values(l));
    TRY(learn_openb(l->trace, SEED, &l->is));
    TRY(make_orders(l));
    TRY(try_values(l, l->was, &was));
    TRY(try_values(l, l->is, &is));
    LOG(INFO, "placement values learned", S("table", l->is->id),
        U("pods", openb_pod_count(l->trace)), U("allocated_milli", (uint64_t)(is / ROUNDS)),
        U("allocated_milli_before", (uint64_t)(was / ROUNDS)));
    *ret_is_better = l->was ? is > was : is >= was;
    return *ret_is_better ? write_new(l) : NULL;
}

static struct err *learn_values_run(struct cli *c)
{
    struct learner l = {.dir = c->in->arguments.at[0], .trace = openb_new()};
    bool is_better = false;
    struct err *e;

    learn_confine();
    e = values_learn(&l, &is_better);
    if (!e && !is_better)
        c->exit_code = LEARN_NOT_BETTER;
    value_table_free(l.was);
    value_table_free(l.is);
    openb_free(l.trace);
    return e;
}

const struct command command_learn_values = {
    .name = "learn-values",
    .arguments = "DIR",
    .summary = "learn placement values: started by the server",
    .examples = {{"up", "starts the server"}, {"down", "ends it"}, {0}},
    .is_hidden = true,
    .n_min = 1,
    .n_max = 1,
    .run = learn_values_run,
};
