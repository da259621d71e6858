/*
 * fuzz_sim_traces.c - fuzzes traces of all formats; the first byte picks the reader
 *
 * A reader returns an error, or numbers within their limits.
 */

#include <assert.h>
#include <stdint.h>

#include "sim/job_trace.h"
#include "sim/openb.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char nodes[] = "cpu_milli,memory_mib,gpu,model\n1,1,1,a\n1,1,2,b\n";
static const char pods[] = "cpu_milli,memory_mib,num_gpu,gpu_milli\n1,1,1,1000\n";

static void read_jobs(struct str text)
{
    const struct job_trace_options options = {0};
    AUTO(job_trace_freep) struct job_trace *t = NULL;
    AUTO(err_freep) struct err *e = job_trace_parse("f", text, &options, &t);

    assert((e == NULL) == (t != NULL));
    for (size_t i = 0; t && i < job_trace_count(t); i++) {
        const struct sim_job *j = &job_trace_jobs(t)[i];

        assert(j->duration_s >= 1 && j->gpus >= 1 && j->gpus <= JOB_GPUS_MAX);
        assert(j->user < job_trace_user_count(t));
        assert(i == 0 || j->submit_s >= job_trace_jobs(t)[i - 1].submit_s);
    }
}

static struct err *read_openb(struct openb *o, uint8_t which, struct str text)
{
    switch (which) {
    case 1:
        return openb_read_nodes(o, "f", text);
    case 2:
        return openb_read_pods(o, "f", text);
    case 3:
        return openb_read_published(o, "f", text);
    default:
        TRY(openb_read_nodes(o, "n", STR(nodes)));
        TRY(openb_read_pods(o, "p", STR(pods)));
        return which == 4 ? openb_read_arrivals(o, "f", text) : openb_read_ranks(o, "f", text);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO(openb_freep) struct openb *o = openb_new();
    AUTO(err_freep) struct err *e = NULL;
    struct str text;

    if (size == 0)
        return 0;
    text = (struct str){(const char *)data + 1, size - 1};
    if (data[0] % 6 == 0) {
        read_jobs(text);
        return 0;
    }
    e = read_openb(o, data[0] % 6, text);
    for (size_t i = 0; !e && i < openb_pod_count(o); i++)
        assert(openb_pods(o)[i].gpus <= OPENB_GPUS_MAX && openb_pods(o)[i].gpu_milli <= 1000);
    return 0;
}
