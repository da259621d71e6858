/* show.c - mete show: one job in detail */

#include "cli/job/show.h"

#include <inttypes.h>

#include "base/mem.h"
#include "base/vec.h"
#include "cli/commands.h"
#include "cli/job/batch.h"
#include "cli/job/jobs.h"
#include "cli/term/output.h"
#include "cli/term/text_escape.h"
#include "kinds/pod/pod_state.h"
#include "kinds/queue.h"

struct moment {
    int64_t at_ns;
    const char *text; /* "%s" is the container */
    const char *container;
};

struct moments {
    VEC(struct moment) list;
};

static void add_moment(struct moments *m, const char *stamp, const char *text,
                       const char *container)
{
    int64_t at_ns = stamp_or(stamp, 0);

    if (at_ns)
        vec_add(&m->list, (struct moment){.at_ns = at_ns, .text = text, .container = container});
}

static void add_container_moments(struct moments *m, const json_t *statuses)
{
    json_t *status;
    size_t i;

    json_array_foreach (statuses, i, status) {
        const char *name = json_text(status, "name");
        const json_t *ended = json_at(status, "state", "terminated", NULL);

        add_moment(m, json_text_at(status, "state", "running", "startedAt", NULL), "started", name);
        add_moment(m, json_text(ended, "startedAt"), "started", name);
        add_moment(m, json_text(ended, "finishedAt"), "ended", name);
    }
}

static int compare_moments(const void *a, const void *b)
{
    const struct moment *x = a;
    const struct moment *y = b;

    if (x->at_ns != y->at_ns)
        return x->at_ns < y->at_ns ? -1 : 1;
    return strcmp(x->text, y->text) > 0
               ? -1
               : strcmp(x->container ? x->container : "", y->container ? y->container : "");
}

static void add_timeline(struct buf *b, const json_t *pod)
{
    struct moments m = {0};
    const json_t *bound = object_condition(pod, "PodScheduled");
    int64_t first_ns;

    add_moment(&m, json_text_at(pod, "metadata", "creationTimestamp", NULL), "accepted", NULL);
    if (text_equal(json_text(bound, "status"), "True"))
        add_moment(&m, json_text(bound, "lastTransitionTime"), "placed", NULL);
    add_container_moments(&m, json_at(pod, "status", "initContainerStatuses", NULL));
    add_container_moments(&m, json_at(pod, "status", "containerStatuses", NULL));
    add_moment(&m, json_text_at(pod, "metadata", "deletionTimestamp", NULL), "to be gone by", NULL);
    if (m.list.n > 1)
        qsort(m.list.at, m.list.n, sizeof(*m.list.at), compare_moments);
    first_ns = m.list.n > 0 ? m.list.at[0].at_ns : 0;
    buf_add_text(b, "\ntimeline\n");
    VEC_EACH (&m.list, moment) {
        char stamp[STAMP_TEXT_SIZE];
        char after[STAMP_TEXT_SIZE];

        stamp_format(moment->at_ns, stamp);
        stamp_format_age(moment->at_ns - first_ns, after);
        buf_printf(b, "  %s  +%-7s %s%s%s\n", stamp, after,
                   moment->container ? moment->container : "", moment->container ? " " : "",
                   moment->text);
    }
    vec_done(&m.list);
}

static void add_fact(struct buf *b, const char *name, const char *text)
{
    if (text && text[0])
        buf_printf(b, "  %-10s %s\n", name, text);
}

static void add_facts(struct buf *b, const json_t *pod, const json_t *gpus)
{
    struct job job = job_of(pod);
    const char *queue = queue_of(pod);
    AUTO_FREE char *indices = job_gpu_indices(pod, gpus);
    AUTO_FREE char *asked = gpu_asks_format(&job.asks);
    AUTO_FREE char *wanted =
        mem_format("%s%s%s", asked, indices ? ": GPU " : "", indices ? indices : "");
    AUTO_FREE char *code =
        job.is_ended && job.exit_code >= 0 ? mem_format("%" PRId64, job.exit_code) : NULL;

    buf_printf(b, "job %s %s   %s\n\n", job.id, job.name, job.state);
    add_fact(b, "namespace", job.ns);
    add_fact(b, "user", job.user);
    add_fact(b, "queue", queue ? queue : QUEUE_DEFAULT);
    add_fact(b, "node", job.node);
    add_fact(b, "gpus", wanted);
    add_fact(b, "exit code", code);
    add_fact(b, "reason", job.reason);
    add_fact(b, "uid", json_text_at(pod, "metadata", "uid", NULL));
}

struct uuids {
    struct buf *b;
    const char *container;
};

static bool add_device(void *arg, const char *container, const struct device *d)
{
    const struct uuids *u = arg;
    char text[DEVICE_TEXT_SIZE];

    device_format(d, text);
    if (text_equal(container, u->container))
        buf_printf(u->b, "    %s\n", text);
    return true;
}

static const json_t *status_named(const json_t *pod, const char *name)
{
    json_t *status;
    size_t i;

    json_array_foreach (json_at(pod, "status", "containerStatuses", NULL), i, status)
        if (text_equal(json_text(status, "name"), name))
            return status;
    return NULL;
}

static void add_container_state(struct buf *b, const json_t *status)
{
    const json_t *ended = json_at(status, "state", "terminated", NULL);
    const char *waiting = json_text_at(status, "state", "waiting", "reason", NULL);
    int64_t restarts = json_int(status, "restartCount", 0);

    if (ended)
        buf_printf(b, "ended, exit code %" PRId64 " %s", json_int(ended, "exitCode", -1),
                   json_text(ended, "reason") ? json_text(ended, "reason") : "");
    else if (json_at(status, "state", "running", NULL))
        buf_add_text(b, "running");
    else
        buf_printf(b, "waiting%s%s", waiting ? " " : "", waiting ? waiting : "");
    if (restarts > 0)
        buf_printf(b, ", restarted %" PRId64 " times", restarts);
    buf_add_char(b, '\n');
}

static void add_containers(struct buf *b, const json_t *pod)
{
    json_t *container;
    size_t i;

    buf_add_text(b, "\ncontainers\n");
    json_array_foreach (json_at(pod, "spec", "containers", NULL), i, container) {
        const char *name = json_text(container, "name");
        const char *image = json_text(container, "image");
        struct uuids uuids = {.b = b, .container = name};
        json_t *word;
        size_t n;

        buf_printf(b, "  %s (%s): ", name ? name : "", image ? image : "");
        add_container_state(b, status_named(pod, name));
        buf_add_text(b, "    $");
        json_array_foreach (json_object_get(container, "command"), n, word)
            buf_printf(b, " %s", json_is_string(word) ? json_string_value(word) : "");
        json_array_foreach (json_object_get(container, "args"), n, word)
            buf_printf(b, " %s", json_is_string(word) ? json_string_value(word) : "");
        buf_add_char(b, '\n');
        pod_each_device(pod, add_device, &uuids);
    }
}

void show_events(struct buf *b, const json_t *events)
{
    json_t *event;
    size_t i;

    if (json_array_size(json_object_get(events, "items")) > 0)
        buf_add_text(b, "\nevents\n");
    json_array_foreach (json_object_get(events, "items"), i, event) {
        const char *stamp = json_text(event, "lastTimestamp");
        const char *reason = json_text(event, "reason");
        const char *message = json_text(event, "message");

        buf_printf(b, "  %s  %s: %s\n", stamp ? stamp : "-", reason ? reason : "",
                   message ? message : "");
    }
}

static struct err *show_text(struct cli *c, struct session *s, const json_t *pod)
{
    struct job job = job_of(pod);
    AUTO_FREE char *events_path =
        path_format("/api/v1/namespaces/%s/events?fieldSelector=involvedObject.uid%%3D%s&limit=100",
                    job.ns, json_text_at(pod, "metadata", "uid", NULL));
    AUTO(json_freep) json_t *gpus = NULL;
    AUTO(json_freep) json_t *events = NULL;
    AUTO_FREE char *clean = NULL;
    struct buf b = {0};

    TRY(session_get_gpus(s, &gpus));
    TRY(session_get(s, events_path, &events));
    add_facts(&b, pod, gpus);
    add_containers(&b, pod);
    add_timeline(&b, pod);
    show_events(&b, events);
    if (text_equal(job.state, "waiting"))
        buf_printf(&b, "\nmete why %s   explains why the job waits\n", job.id);
    clean = text_escape((struct str){.at = b.at, .size = b.size}, TEXT_ESCAPE_LINES);
    buf_done(&b);
    return output_write(c, str_of(clean));
}

static struct err *show_run(struct cli *c)
{
    AUTO(session_freep) struct session *s = NULL;
    AUTO(json_freep) json_t *pod = NULL;
    enum output_format format = output_format_of(c->in);
    struct listing l;
    struct err *e;

    TRY(session_open(c, &s));
    TRY(job_find_whole(s, c->in->arguments.at[0], &pod));
    if (format == OUTPUT_TABLE || format == OUTPUT_WIDE || format == OUTPUT_CSV)
        return batch_is(pod) ? show_batch(c, s, pod) : show_text(c, s, pod);
    listing_init(&l, "List");
    l.is_single = true;
    l.prefix = batch_is(pod) ? "job" : "pod";
    listing_add(&l, json_array(), pod);
    e = listing_print(c, &l);
    listing_done(&l);
    return e;
}

const struct command command_show = {
    .name = "show",
    .arguments = "JOB",
    .summary = "show everything about one job: state, GPUs, containers, timeline, events",
    .doc = "JOB is a job's number, its name, pod/NAME or job/NAME.",
    .examples = {{"show 12", "shows the state of job 12 and its history"},
                 {"show train -o yaml", "prints the whole pod object"},
                 {0}},
    .groups = FLAGS_SERVER | FLAGS_NAMESPACE | FLAGS_OUTPUT,
    .takes = TAKES_JOBS,
    .n_min = 1,
    .n_max = 1,
    .run = show_run,
};
