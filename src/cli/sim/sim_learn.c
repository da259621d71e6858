/* sim_learn.c - mete sim learn: learns the table of policy mete from a trace */

#include <inttypes.h>

#include "base/file.h"
#include "base/stamp.h"
#include "cli/sim/sim.h"
#include "cli/sim/stopwatch.h"
#include "cli/term/output.h"
#include "sim/learn_openb.h"
#include "sim/trace_file.h"

enum {
    SEED = 1,
    FILE_MODE = 0644
};

struct err *sim_values_read(const char *path, struct value_table **ret)
{
    AUTO(buf_done) struct buf text = {0};

    TRY(trace_file_read(path, &text));
    return value_table_parse(path, (struct str){text.at, text.size}, ret);
}

struct err *sim_values_learn(struct cli *c, const struct openb *o, struct value_table **ret)
{
    const int64_t began = stopwatch_ns();
    struct err *e = learn_openb(o, SEED, ret);

    if (e)
        return err_wrap(e, "learn values");
    cli_say(c, "learned values %s from %" PRIu64 " pods in %.1f s", (*ret)->id, (*ret)->pods,
            (double)(stopwatch_ns() - began) / (double)NS_PER_SEC);
    return NULL;
}

struct err *sim_learn(struct cli *c)
{
    const char *nodes = flag_text(c->in, "nodes");
    const char *pods = flag_text(c->in, "pods");
    const char *path = flag_text(c->in, "values");
    AUTO(openb_freep) struct openb *o = openb_new();
    AUTO(value_table_freep) struct value_table *t = NULL;
    AUTO(buf_done) struct buf text = {0};
    AUTO(buf_done) struct buf table = {0};

    if (!nodes || !pods)
        return cli_usage(c, "sim learn needs --nodes and --pods FILE");
    TRY(trace_file_read(nodes, &text));
    TRY(openb_read_nodes(o, nodes, (struct str){text.at, text.size}));
    buf_done(&text);
    text = (struct buf){0};
    TRY(trace_file_read(pods, &text));
    TRY(openb_read_pods(o, pods, (struct str){text.at, text.size}));
    TRY(sim_values_learn(c, o, &t));
    value_table_format(t, &table);
    if (!path)
        return output_write(c, (struct str){table.at, table.size});
    return file_write(path, FILE_MODE, (struct str){table.at, table.size});
}
