/* slurm_step.c - a step as a row of listings and of accounting */

#include "kinds/slurm/slurm_step.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/mem.h"
#include "base/stamp.h"
#include "model/hostlist.h"

static void step_put_nodes(json_t *row, const json_t *step)
{
    const json_t *nodes = json_at(step, "spec", "nodes", NULL);
    struct hostlist names = {0};
    AUTO_FREE char *text = NULL;
    int64_t cpus = 0;
    int64_t gpus = 0;

    for (size_t i = 0; i < json_array_size(nodes); i++) {
        const json_t *node = json_array_get(nodes, i);

        hostlist_add(&names, text_or_empty(json_text(node, "node")));
        cpus += json_int(node, "cpus", 0);
        gpus += json_int(node, "gpus", 0);
    }
    text = hostlist_format(&names);
    hostlist_done(&names);
    json_put_text(row, "nodes", text);
    json_put_int(row, "nodeCount", (int64_t)json_array_size(nodes));
    json_put_int(row, "cpus", cpus);
    json_put_int(row, "gpus", gpus);
}

static void step_put_seconds(json_t *row, const char *key, const char *stamp)
{
    int64_t ns = stamp_or(stamp, 0);

    if (ns > 0)
        json_put_int(row, key, ns / NS_PER_SEC);
}

json_t *slurm_step_row(const json_t *step)
{
    static const char *const copied[] = {"name", "tasks", "distribution", "usage"};
    const json_t *spec = json_object_get(step, "spec");
    const json_t *status = json_object_get(step, "status");
    json_t *row = json_object();

    for (size_t i = 0; i < COUNT(copied); i++)
        if (json_object_get(spec, copied[i]))
            json_put(row, copied[i], json_deep_copy(json_object_get(spec, copied[i])));
    json_put_int(row, "jobId", json_int(status, "jobId", 0));
    json_put_int(row, "step", json_int(status, "step", 0));
    json_put_text(row, "state", json_text_at(spec, "end", "state", NULL));
    json_put_int(row, "exitCode", json_int_at(spec, "end", "exitCode", NULL));
    json_put_int(row, "exitSignal", json_int_at(spec, "end", "exitSignal", NULL));
    step_put_seconds(row, "startTime", json_text(status, "startTime"));
    step_put_seconds(row, "endTime", json_text(status, "endTime"));
    step_put_nodes(row, step);
    return row;
}

void slurm_step_key(int64_t job_id, int64_t step, char ret[SLURM_STEP_KEY_SIZE])
{
    if (step < 0)
        (void)snprintf(ret, SLURM_STEP_KEY_SIZE, "%019" PRId64 ".", job_id);
    else
        (void)snprintf(ret, SLURM_STEP_KEY_SIZE, "%019" PRId64 ".%06" PRId64, job_id, step);
}
