/* show_batch.c - mete show: a batch/v1 Job */

#include <inttypes.h>

#include "base/mem.h"
#include "cli/job/batch.h"
#include "cli/job/show.h"
#include "cli/term/output.h"
#include "cli/term/text_escape.h"
#include "kinds/job/job.h"
#include "kinds/pod/pod_state.h"

enum {
    PODS_SHOWN = 20
};

static void add_fact(struct buf *b, const char *name, const char *text)
{
    if (text && text[0])
        buf_printf(b, "  %-10s %s\n", name, text);
}

static void add_facts(struct buf *b, const json_t *job)
{
    struct job facts = job_of(job);
    const json_t *spec = json_object_get(job, "spec");
    const json_t *status = json_object_get(job, "status");
    AUTO_FREE char *at_once = mem_format("%" PRId64 " at a time", json_int(spec, "parallelism", 0));
    char took[STAMP_TEXT_SIZE] = "";

    if (facts.started_ns > 0 && facts.ended_ns >= facts.started_ns)
        elapsed_format(facts.ended_ns - facts.started_ns, took);
    buf_printf(b, "job %s %s   %s\n\n", facts.id, facts.name, facts.state);
    add_fact(b, "namespace", facts.ns);
    add_fact(b, "user", facts.user);
    add_fact(b, "pods", facts.progress);
    add_fact(b, "", at_once);
    add_fact(b, "done", json_text(status, "completedIndexes"));
    add_fact(b, "given up", json_text(status, "failedIndexes"));
    add_fact(b, "reason", facts.reason);
    add_fact(b, "took", took);
    add_fact(b, "uid", json_text_at(job, "metadata", "uid", NULL));
}

static void add_pods(struct buf *b, const json_t *pods)
{
    size_t n = json_array_size(pods);
    struct listing l;
    json_t *pod;
    size_t i;

    if (n == 0)
        return;
    listing_init(&l, "");
    listing_column(&l, "  pod");
    listing_column(&l, "#index");
    listing_column(&l, "state");
    listing_column(&l, "#gpus");
    listing_column(&l, "node");
    listing_column(&l, "#exit");
    listing_column(&l, "reason");
    json_array_foreach (pods, i, pod) {
        struct job job = job_of(pod);
        AUTO_FREE char *name = mem_format("  %s", job.name);
        json_t *exit_code =
            job.is_ended && job.exit_code >= 0 ? json_integer(job.exit_code) : json_null();

        if (i >= PODS_SHOWN) {
            json_decref(exit_code);
            break;
        }
        listing_add(&l,
                    json_pack("[s, s?, s, o, s?, o, s?]", name,
                              json_text_at(pod, "metadata", "annotations", JOB_INDEX, NULL),
                              job.state, job_gpus_cell(&job), job.node[0] ? job.node : NULL,
                              exit_code, job.reason[0] ? job.reason : NULL),
                    NULL);
    }
    buf_add_char(b, '\n');
    listing_format(&l, OUTPUT_TABLE, true, 0, b);
    listing_done(&l);
    if (n > PODS_SHOWN)
        buf_printf(
            b, "  %zu more; mete get pods -l job-name=%s lists all\n", n - PODS_SHOWN,
            json_text_at(json_array_get(pods, 0), "metadata", "labels", JOB_NAME_LABEL_OLD, NULL));
}

struct err *show_batch(struct cli *c, struct session *s, const json_t *job)
{
    struct job facts = job_of(job);
    AUTO_FREE char *events_path =
        path_format("/api/v1/namespaces/%s/events?fieldSelector=involvedObject.uid%%3D%s&limit=100",
                    facts.ns, json_text_at(job, "metadata", "uid", NULL));
    AUTO(json_freep) json_t *pods = NULL;
    AUTO(json_freep) json_t *events = NULL;
    AUTO(buf_done) struct buf b = {0};
    AUTO_FREE char *clean = NULL;

    TRY(batch_pods(s, job, NULL, &pods));
    TRY(session_get(s, events_path, &events));
    add_facts(&b, job);
    add_pods(&b, pods);
    show_events(&b, events);
    if (text_equal(facts.state, "waiting"))
        buf_printf(&b, "\nmete why %s   explains why the first pod waits\n", facts.id);
    clean = text_escape((struct str){.at = b.at, .size = b.size}, TEXT_ESCAPE_LINES);
    return output_write(c, str_of(clean));
}
