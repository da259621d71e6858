/* why.c - mete why: the reason of a workload, in fixed order: verdict, numbers, nodes, quotas,
 * estimate, what would help */

#include "cli/job/why.h"

#include <inttypes.h>

#include "base/mem.h"
#include "base/yaml.h"
#include "cli/commands.h"
#include "cli/job/batch.h"
#include "cli/job/jobs.h"
#include "cli/term/output.h"
#include "cli/term/text_escape.h"
#include "kinds/pod/pod_state.h"
#include "model/resource.h"

enum {
    NODES_SHOWN = 8
};

static int64_t age_of(const char *stamp, int64_t now_ns)
{
    int64_t at_ns = stamp_or(stamp, now_ns);

    return now_ns < at_ns ? 0 : now_ns - at_ns;
}

static const char *or_dash(const char *text)
{
    return text && text[0] ? text : "-";
}

static void add_verdict(struct buf *b, const json_t *workload, int64_t now_ns)
{
    const json_t *status = json_object_get(workload, "status");
    const json_t *reason = json_object_get(status, "reason");
    const char *queue = json_text_at(workload, "spec", "queue", NULL);
    int64_t position = json_int(reason, "position", 0);
    char age[STAMP_TEXT_SIZE];

    stamp_format_age(age_of(json_text(status, "submittedAt"), now_ns), age);
    buf_printf(b, "job %" PRId64 " %s   %s %s", json_int_at(workload, "spec", "jobId", NULL),
               or_dash(json_text_at(workload, "metadata", "name", NULL)),
               or_dash(json_text(status, "phase")), age);
    if (queue && queue[0])
        buf_printf(b, "   queue %s", queue);
    if (position > 0)
        buf_printf(b, "%s place %" PRId64 " of %" PRId64, queue && queue[0] ? "," : "  ", position,
                   json_int(reason, "queueLength", position));
    buf_add_text(b, "\n\n");
}

/* "5 of 8"; cpu in cores, memory as sizes; NULL: unknown. The caller frees it. */
static char *room_of(const json_t *node)
{
    const json_t *capacity = json_object_get(node, "capacity");
    const char *resource = json_text(node, "resource");
    int64_t unit = text_equal(resource, "cpu") ? 1000 : 1;
    char n_free[SIZE_TEXT_SIZE];
    char n_all[SIZE_TEXT_SIZE];

    if (!json_is_integer(capacity))
        return NULL;
    if (!text_equal(resource, "memory") && !text_equal(resource, "ephemeral-storage"))
        return mem_format("%" PRId64 " of %" PRId64, json_int(node, "free", 0) / unit,
                          (int64_t)json_integer_value(capacity) / unit);
    size_format(json_int(node, "free", 0), n_free);
    size_format(json_integer_value(capacity), n_all);
    return mem_format("%s of %s", n_free, n_all);
}

/* "3 short; job 4 holds 3; room by 2026-01-01T14:20:00Z". The caller frees it. */
static char *why_not_of(const json_t *node)
{
    const char *until = json_text(node, "until");

    return mem_format("%s%s%s", or_dash(json_text(node, "text")), until ? "; room by " : "",
                      until ? until : "");
}

static const char *resource_of(const json_t *node)
{
    const char *resource = json_text(node, "resource");

    return !resource || text_equal(resource, GPU_RESOURCE) ? "GPUs" : resource;
}

static void add_places(struct buf *b, const json_t *reason, bool is_all)
{
    const json_t *nodes = json_object_get(reason, "nodes");
    size_t n = json_array_size(nodes);
    int64_t left_out = json_int(reason, "nodesLeftOut", 0);
    struct listing l;
    json_t *node;
    size_t i;

    if (n == 0)
        return;
    listing_init(&l, "");
    listing_column(&l, "  node");
    listing_column(&l, "#free");
    listing_column(&l, "of");
    listing_column(&l, "why not");
    json_array_foreach (nodes, i, node) {
        AUTO_FREE char *name = mem_format("  %s", or_dash(json_text(node, "name")));
        AUTO_FREE char *room = room_of(node);
        AUTO_FREE char *text = why_not_of(node);

        if (i < NODES_SHOWN || is_all)
            listing_add(&l, json_pack("[s, s?, s, s]", name, room, resource_of(node), text), NULL);
    }
    listing_format(&l, OUTPUT_TABLE, true, 0, b);
    if (n > NODES_SHOWN && !is_all)
        buf_printf(b, "  %zu more, shown by --all", n - NODES_SHOWN);
    else if (left_out > 0)
        buf_printf(b, "  %" PRId64 " more that are no nearer", left_out);
    if ((n > NODES_SHOWN && !is_all) || left_out > 0)
        buf_add_char(b, '\n');
    buf_add_char(b, '\n');
    listing_done(&l);
}

/* Adds the gpus that would offer slices or replicas, were they given as an administrator wants. */
static void add_gpu_modes(struct buf *b, const json_t *reason)
{
    const json_t *list = json_object_get(reason, "gpuModes");
    json_t *gpu;
    size_t i;

    json_array_foreach (list, i, gpu)
        buf_printf(b, "  GPU %s/%" PRId64 " is not in the wanted mode: %s\n",
                   or_dash(json_text(gpu, "node")), json_int(gpu, "index", -1),
                   or_dash(json_text(gpu, "problem")));
    if (json_array_size(list) > 0)
        buf_add_char(b, '\n');
}

/* Adds the quotas of the workload's queue and of the queues above: all users may see these numbers.
 */
static void add_quotas(struct buf *b, const json_t *reason)
{
    const char *class = json_text(reason, "class");
    const char *code = json_text(reason, "code");
    bool is_cause = text_equal(class, "quota") || text_equal(code, "OverMaxQuota");
    json_t *quota;
    size_t i;

    json_array_foreach (json_object_get(reason, "quotas"), i, quota) {
        const char *resource = json_text(quota, "resource");
        AUTO_FREE char *held = amount_format(resource, json_text(quota, "held"));
        AUTO_FREE char *nominal = amount_format(resource, json_text(quota, "nominal"));
        AUTO_FREE char *limit = amount_format(resource, json_text(quota, "borrowLimit"));

        buf_printf(b, "  Quota %s: holds %s %s, nominal %s", or_dash(json_text(quota, "queue")),
                   or_dash(held), text_equal(resource, "gpu") ? "GPUs" : or_dash(resource),
                   or_dash(nominal));
        buf_printf(b, ", may borrow %s.%s\n",
                   !limit                   ? "any unused quota"
                   : text_equal(limit, "0") ? "nothing"
                                            : limit,
                   is_cause ? "" : " Not the cause.");
    }
}

static void add_help(struct buf *b, const json_t *reason)
{
    const json_t *estimate = json_object_get(reason, "estimate");
    const char *from = json_text(estimate, "from");
    const char *to = json_text(estimate, "to");
    json_t *change;
    size_t i;

    if (from || to)
        buf_printf(b, "  Start estimate: %s to %s (%s; not a promise)\n", or_dash(from),
                   or_dash(to), or_dash(json_text(estimate, "basis")));
    if ((from || to || json_array_size(json_object_get(reason, "quotas")) > 0) &&
        json_array_size(json_object_get(reason, "wouldStartIf")) > 0)
        buf_add_char(b, '\n');
    json_array_foreach (json_object_get(reason, "wouldStartIf"), i, change)
        buf_printf(b, "  %s  %s\n", i == 0 ? "Would start now with:" : "                  or:",
                   or_dash(json_string_value(change)));
}

static void add_waiting(struct buf *b, const json_t *workload, bool is_all, int64_t now_ns)
{
    const json_t *reason = json_at(workload, "status", "reason", NULL);
    const char *evaluated = json_text(reason, "evaluatedAt");
    const char *values = json_text(reason, "values");
    const char *at = json_text(reason, "valuesAt");
    char age[STAMP_TEXT_SIZE];

    buf_printf(b, "  %s: %s\n\n", or_dash(json_text(reason, "code")),
               or_dash(json_text(reason, "message")));
    add_places(b, reason, is_all);
    add_gpu_modes(b, reason);
    add_quotas(b, reason);
    add_help(b, reason);
    stamp_format_age(age_of(evaluated, now_ns), age);
    if (evaluated)
        buf_printf(b, "  Evaluated %s ago.", age);
    if (values)
        buf_printf(b, "   Nodes are scored by learned values, table %s", values);
    if (values && at)
        buf_printf(b, " (from %" PRId64 " arrivals, %s)", json_int(reason, "valuesFrom", 0), at);
    if (values)
        buf_add_char(b, '.');
    if (evaluated || values)
        buf_add_char(b, '\n');
}

/* Adds the start of a pod that is bound and does not run yet. */
static void add_start(struct buf *b, const json_t *reason)
{
    buf_printf(b, "  %s: %s\n\n", or_dash(json_text(reason, "code")),
               or_dash(json_text(reason, "message")));
    buf_printf(b, "  Image: %s, on node %s\n", or_dash(json_text(reason, "image")),
               or_dash(json_text(reason, "node")));
    buf_printf(b, "  To do: %s\n", or_dash(json_text(reason, "advice")));
}

static void add_other(struct buf *b, const json_t *workload)
{
    const json_t *status = json_object_get(workload, "status");
    const json_t *pods = json_at(status, "placement", "pods", NULL);
    const json_t *code = json_object_get(status, "exitCode");
    json_t *pod;
    size_t i;

    buf_printf(b, "  The job is not waiting: its state is %s", or_dash(json_text(status, "phase")));
    json_array_foreach (pods, i, pod)
        buf_printf(b, "%s%s", i == 0 ? " on " : ", ", or_dash(json_text(pod, "node")));
    if (json_is_integer(code))
        buf_printf(b, ", exit code %" PRId64, (int64_t)json_integer_value(code));
    buf_add_text(b, ".\n");
}

char *why_format(const json_t *workload, bool is_all, int64_t now_ns)
{
    struct buf b = {0};
    char *clean;

    add_verdict(&b, workload, now_ns);
    if (text_equal(json_text_at(workload, "status", "phase", NULL), "waiting"))
        add_waiting(&b, workload, is_all, now_ns);
    else if (json_text_at(workload, "status", "reason", "code", NULL))
        add_start(&b, json_at(workload, "status", "reason", NULL));
    else
        add_other(&b, workload);
    clean = text_escape((struct str){.at = b.at, .size = b.size}, TEXT_ESCAPE_LINES);
    buf_done(&b);
    return clean;
}

/* Replaces a Job by its first waiting pod, else by a pod that has not ended. */
static struct err *choose_pod(struct session *s, json_t **pod)
{
    AUTO(json_freep) json_t *pods = NULL;
    AUTO_FREE char *says = NULL;
    struct job job = job_of(*pod);
    json_t *chosen = NULL;
    json_t *other;
    size_t i;

    says = mem_format("job %s %s has no pod that waits or runs: it is %s, %s", job.id, job.name,
                      job.state, *job.reason ? job.reason : job.progress);
    TRY(batch_pods(s, *pod, "status.phase%21%3DSucceeded%2Cstatus.phase%21%3DFailed", &pods));
    json_array_foreach (pods, i, other)
        if (!chosen || (pod_node(chosen)[0] && !pod_node(other)[0]))
            chosen = other;
    if (!chosen)
        return err_new(ERR_NOT_FOUND, "%s", says);
    json_decref(*pod);
    *pod = json_incref(chosen);
    return NULL;
}

static struct err *get_workload(struct session *s, const char *word, json_t **ret)
{
    AUTO(json_freep) json_t *pod = NULL;
    AUTO_FREE char *path = NULL;
    struct job job;
    struct err *e = job_find_whole(s, word, &pod);

    if (e && err_code(e) == ERR_NOT_FOUND) {
        AUTO(err_freep) struct err *other = why_slurm(s, word, ret);

        if (!other && *ret) {
            err_free(e);
            return NULL;
        }
    }
    TRY(e);
    if (batch_is(pod))
        TRY(choose_pod(s, &pod));
    job = job_of(pod);
    path = path_format("/apis/mete.dev/v1/namespaces/%s/workloads/%s", job.ns, job.name);
    return session_get_report(s, path, path + strlen("/apis/mete.dev/v1/"), ret);
}

/* Without a job: one line for each waiting job. */
static struct err *why_all(struct cli *c, struct session *s)
{
    AUTO_FREE char *path = path_format(
        "/apis/mete.dev/v1/namespaces/%s/workloads?fieldSelector=status.phase%%3Dwaiting",
        session_namespace(s));
    AUTO(json_freep) json_t *list = NULL;
    struct listing l;
    struct err *e;
    json_t *workload;
    size_t i;

    TRY(session_get_report(s, path, path + strlen("/apis/mete.dev/v1/"), &list));
    listing_init(&l, "WorkloadList");
    l.prefix = "workload";
    listing_column(&l, "#JOB");
    listing_column(&l, "NAME");
    listing_column(&l, "#PLACE");
    listing_column(&l, "CAUSE");
    listing_column(&l, "REASON");
    json_array_foreach (json_object_get(list, "items"), i, workload) {
        const json_t *reason = json_at(workload, "status", "reason", NULL);
        json_int_t place = json_int(reason, "position", 0);

        listing_add(&l,
                    json_pack("[I, s?, o, s?, s?]",
                              (json_int_t)json_int_at(workload, "spec", "jobId", NULL),
                              json_text_at(workload, "metadata", "name", NULL),
                              place > 0 ? json_integer(place) : json_null(),
                              json_text(reason, "code"), json_text(reason, "message")),
                    workload);
    }
    if (json_array_size(l.objects) == 0 && output_format_of(c->in) == OUTPUT_TABLE) {
        cli_say(c, "no job waits in namespace %s", session_namespace(s));
        e = NULL;
    } else {
        e = listing_print(c, &l);
    }
    listing_done(&l);
    return e;
}

static struct err *why_run(struct cli *c)
{
    AUTO(session_freep) struct session *s = NULL;
    AUTO(json_freep) json_t *workload = NULL;
    AUTO_FREE char *text = NULL;
    enum output_format format = output_format_of(c->in);
    struct listing l;
    struct err *e;

    TRY(session_open(c, &s));
    if (flag_repeated(c->in, "if", 0))
        return why_if_changed(c, s);
    if (c->in->arguments.n == 0)
        return why_all(c, s);
    TRY(get_workload(s, c->in->arguments.at[0], &workload));
    if (format == OUTPUT_TABLE || format == OUTPUT_WIDE || format == OUTPUT_CSV) {
        text = why_format(workload, flag_switch(c->in, "all"), loop_wall_ns(session_loop(s)));
        return output_write(c, str_of(text));
    }
    listing_init(&l, "WorkloadList");
    l.is_single = true;
    l.prefix = "workload";
    listing_add(&l, json_array(), workload);
    e = listing_print(c, &l);
    listing_done(&l);
    return e;
}

static const struct flag why_flags[] = {
    {.name = "all",
     .type = FLAG_SWITCH,
     .doc = "list every node, not only the eight that are closest to having room"},
    {.name = "if",
     .type = FLAG_TEXT,
     .value = "CHANGE",
     .is_repeated = true,
     .doc = "list the jobs that would start after a change: end:JOB, add:2:NODE (two more nodes "
            "like NODE), drain:NODE or resume:NODE. Repeatable"},
    {0},
};

const struct command command_why = {
    .name = "why",
    .arguments = "[JOB]",
    .summary = "explain why a job waits, and what would let it start",
    .doc = "JOB is a job's number, that of an array's element (12_3), its name, pod/NAME or "
           "job/NAME. Without JOB: one line for each "
           "waiting job. With --if: the jobs that would start in the next scheduling cycle if all "
           "changes happened at once, found by a trial. The list ends with the first job that "
           "would get a backfill reservation.",
    .examples = {{"why 12", "shows the reason with its numbers, the nodes, and what would help"},
                 {"why train -o json", "the same for programs"},
                 {"why --if end:7 --if resume:gpu-02",
                  "lists the jobs that would start after both changes"},
                 {0}},
    .flags = why_flags,
    .groups = FLAGS_SERVER | FLAGS_NAMESPACE | FLAGS_OUTPUT,
    .takes = TAKES_JOBS,
    .n_max = 1,
    .run = why_run,
};
