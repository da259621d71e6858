/* free.c - mete free: jobs that could start now, by gpu model and number of gpus on one node */

#include <inttypes.h>

#include "base/mem.h"
#include "base/stamp.h"
#include "cli/commands.h"
#include "cli/job/job_flags.h"
#include "cli/job/waiting.h"
#include "cli/session.h"
#include "cli/term/output.h"
#include "client/client.h"

struct free_asked {
    struct gpu_ask gpus; /* count 0: not given */
    char model[JOB_MODEL_SIZE];
};

static struct err *read_asked(struct cli *c, struct free_asked *ret)
{
    const char *text = flag_text(c->in, "gpus");
    struct err *e = NULL;

    if (text)
        e = job_ask_parse(text, &ret->gpus, ret->model);
    if (e || (text && ret->gpus.count == 0)) {
        err_free(e);
        return cli_usage(c,
                         "--gpus \"%s\": want a number of GPUs or a part of one, with or without a "
                         "model: 8, a100:2, 0.5, 20Gi, mig-1g.10gb",
                         text);
    }
    return NULL;
}

static struct err *get_report(struct cli *c, struct session *s, const struct free_asked *a,
                              json_t **ret)
{
    const char *queue = flag_text(c->in, "queue");
    int64_t limit_ns = flag_duration_ns(c->in, "time", 0);
    char asked[GPU_ASK_TEXT_SIZE];
    AUTO_FREE char *below = NULL;
    struct buf path = {0};
    struct err *e;

    if (queue)
        TRY(queue_must_exist(c, s, queue));
    buf_printf(&path, "/apis/mete.dev/v1/free?namespace=%s", session_namespace(s));
    if (queue) {
        buf_add_text(&path, "&queue=");
        client_add_escaped(&path, str_of(queue));
    }
    if (limit_ns > 0)
        buf_printf(&path, "&time=%" PRId64 "s", (limit_ns + NS_PER_SEC - 1) / NS_PER_SEC);
    if (a->gpus.count > 0) {
        gpu_ask_format(&a->gpus, asked);
        buf_add_text(&path, "&part=");
        client_add_escaped(&path, str_of(asked));
    }
    below = mem_format("namespaces/%s/%s", session_namespace(s),
                       path.at + strlen("/apis/mete.dev/v1/"));
    e = session_get_report(s, path.at, below, ret);
    buf_done(&path);
    return e;
}

/* "12", "256+". */
static json_t *jobs_cell(const json_t *starts)
{
    AUTO_FREE char *text = mem_format("%" PRId64 "%s", json_int(starts, "jobs", 0),
                                      json_bool(starts, "orMore", false) ? "+" : "");

    return json_string(text);
}

static void add_model(struct listing *l, json_t *model)
{
    AUTO_FREE char *gpus = mem_format("%" PRId64 " of %" PRId64, json_int(model, "free", 0),
                                      json_int(model, "gpus", 0));
    json_t *starts = json_object_get(model, "starts");
    json_t *row = json_array();
    json_t *one;
    size_t i;

    (void)json_array_append_new(row, json_string(json_text(model, "model")));
    (void)json_array_append_new(row, json_string(gpus));
    (void)json_array_append_new(row, json_integer(json_int(model, "largest", 0)));
    json_array_foreach (starts, i, one)
        (void)json_array_append_new(row, jobs_cell(one));
    listing_add(l, row, model);
}

static void free_columns(struct listing *l, const json_t *models)
{
    json_t *starts = json_object_get(json_array_get(models, 0), "starts");
    json_t *one;
    size_t i;

    listing_column(l, "MODEL");
    listing_column(l, "#FREE");
    listing_column(l, "#LARGEST");
    json_array_foreach (starts, i, one) {
        AUTO_FREE char *name = mem_format("#JOBS OF %s", text_or_empty(json_text(one, "devices")));

        listing_column(l, name);
    }
}

/* Could a job of the given size start now? */
static bool could_start(const json_t *models, const char *wanted)
{
    json_t *model;
    size_t i;

    json_array_foreach (models, i, model) {
        const json_t *starts = json_array_get(json_object_get(model, "starts"), 0);

        if ((!*wanted || text_equal(json_text(model, "model"), wanted)) &&
            json_int(starts, "jobs", 0) > 0)
            return true;
    }
    return false;
}

static struct err *free_print(struct cli *c, const json_t *report, const struct free_asked *a)
{
    json_t *models = json_object_get(report, "models");
    struct listing l;
    struct err *e;
    json_t *model;
    size_t i;

    listing_init(&l, "FreeList");
    l.api_version = "mete.dev/v1";
    free_columns(&l, models);
    json_array_foreach (models, i, model) {
        json_put_text(model, "apiVersion", "mete.dev/v1");
        json_put_text(model, "kind", "Free");
        json_put_text(json_object_at(model, "metadata"), "name", json_text(model, "model"));
        json_put_text(model, "queue", json_text(report, "queue"));
        if (!a->model[0] || text_equal(json_text(model, "model"), a->model))
            add_model(&l, model);
    }
    e = listing_print(c, &l);
    listing_done(&l);
    return e;
}

/* Reports gpus that are free, but not for a job without a time limit. */
static void say_kept(struct cli *c, const json_t *models)
{
    json_t *model;
    size_t i;

    if (flag_duration_ns(c->in, "time", 0) > 0)
        return;
    json_array_foreach (models, i, model)
        if (json_int(model, "largest", 0) < json_int(model, "mostOnOneNode", 0)) {
            cli_say(c, "more GPUs are free than a job can get: quotas or reserved room. A job with "
                       "a time limit may fit around reserved room: mete free --time 30m");
            return;
        }
}

static struct err *free_run(struct cli *c)
{
    AUTO(session_freep) struct session *s = NULL;
    AUTO(json_freep) json_t *report = NULL;
    const json_t *models;
    struct free_asked a = {0};
    char asked[GPU_ASK_TEXT_SIZE];

    TRY(read_asked(c, &a));
    TRY(session_open(c, &s));
    TRY(get_report(c, s, &a, &report));
    models = json_object_get(report, "models");
    if (json_array_size(models) == 0) {
        cli_say(
            c, "there are no GPUs; for a trial with emulated GPUs: mete up --gpus emulated:8xH100");
        return NULL;
    }
    TRY(free_print(c, report, &a));
    if (a.gpus.count == 0) {
        say_kept(c, models);
        return NULL;
    }
    gpu_ask_format(&a.gpus, asked);
    cli_say(c, "a job of %s%s in queue %s %s", asked, a.gpus.kind == DEVICE_WHOLE ? " GPUs" : "",
            json_text(report, "queue"),
            could_start(models, a.model) ? "could start now" : "would wait");
    return NULL;
}

static const struct flag free_flags[] = {
    {.name = "gpus",
     .letter = 'g',
     .type = FLAG_TEXT,
     .value = "N|PART|MODEL:N",
     .doc = "only jobs with these GPUs or parts of GPUs on one node: 8, a100:2, 0.5, mig-1g.10gb"},
    {.name = "queue",
     .letter = 'q',
     .type = FLAG_TEXT,
     .value = "QUEUE",
     .doc = "apply the quotas of this queue. Default: the queue of the namespace"},
    {.name = "time",
     .letter = 't',
     .type = FLAG_DURATION,
     .value = "TIME",
     .doc = "assume this time limit: jobs that end in time may use reserved room"},
    {0},
};

const struct command command_free_gpus = {
    .name = "free",
    .summary = "show which jobs could start now, by GPU model and number of GPUs on one node",
    .doc = "The numbers come from a trial placement of such jobs, within your quotas and around "
           "reserved room. LARGEST: the most GPUs that one job could get on one node. JOBS OF N: "
           "the number of jobs with N GPUs that could start side by side.",
    .examples = {{"free", "counts jobs of 1, 2, 4 and 8 GPUs"},
                 {"free --gpus h100:4 --queue research",
                  "tells whether such a job would start now"},
                 {"free --time 30m", "counts jobs of at most half an hour"},
                 {0}},
    .flags = free_flags,
    .groups = FLAGS_SERVER | FLAGS_NAMESPACE | FLAGS_OUTPUT,
    .n_max = 0,
    .run = free_run,
};
