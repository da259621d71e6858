/* why_if.c - mete why --if: the jobs that would start after a change */

#include <inttypes.h>

#include "base/mem.h"
#include "cli/job/batch.h"
#include "cli/job/jobs.h"
#include "cli/job/why.h"
#include "cli/term/output.h"
#include "client/client.h"

static void add_end(struct buf *changes, const json_t *pod)
{
    const struct job job = job_of(pod);

    buf_printf(changes, "end:%s/%s;", job.ns, job.name);
}

/* Adds the end of a job by its number or name; a Job ends with all its pods. */
static struct err *add_job(struct session *s, const char *word, struct buf *changes)
{
    AUTO(json_freep) json_t *pod = NULL;
    AUTO(json_freep) json_t *pods = NULL;
    json_t *one;
    size_t i;

    TRY(job_find_whole(s, word, &pod));
    if (!batch_is(pod)) {
        add_end(changes, pod);
        return NULL;
    }
    TRY(batch_pods(s, pod, "status.phase%21%3DSucceeded%2Cstatus.phase%21%3DFailed", &pods));
    json_array_foreach (pods, i, one)
        add_end(changes, one);
    return NULL;
}

static struct err *read_changes(struct cli *c, struct session *s, struct buf *changes)
{
    const char *text;

    for (size_t i = 0; (text = flag_repeated(c->in, "if", i)) != NULL; i++) {
        if (strchr(text, ';'))
            return cli_usage(c, "--if \"%s\": want one change for each --if", text);
        if (strncmp(text, "end:", strlen("end:")) == 0)
            TRY(add_job(s, text + strlen("end:"), changes));
        else
            buf_printf(changes, "%s;", text);
    }
    return NULL;
}

static void add_rows(struct listing *l, json_t *jobs, const char *what)
{
    json_t *job;
    size_t i;

    json_array_foreach (jobs, i, job) {
        json_put_text(job, "becomes", what);
        listing_add(l,
                    json_pack("[I, s?, s?, s]", (json_int_t)json_int(job, "jobId", 0),
                              json_text(job, "namespace"), json_text(job, "name"), what),
                    job);
    }
}

static void say_others(struct cli *c, const json_t *report)
{
    int64_t n = json_int(report, "othersStarted", 0) + json_int(report, "othersMoved", 0) +
                json_int(report, "othersEnded", 0);

    if (n > 0)
        cli_say(c, "and %" PRId64 " of other namespaces", n);
}

static bool is_among(const json_t *jobs, const struct job *wanted)
{
    const json_t *job;
    size_t i;

    json_array_foreach (jobs, i, job)
        if (text_equal(json_text(job, "namespace"), wanted->ns) &&
            text_equal(json_text(job, "name"), wanted->name))
            return true;
    return false;
}

static struct err *what_if_print(struct cli *c, const json_t *report)
{
    struct listing l;
    struct err *e;

    listing_init(&l, "WhatIfList");
    l.api_version = "mete.dev/v1";
    listing_column(&l, "#JOB");
    listing_column(&l, "NAMESPACE");
    listing_column(&l, "NAME");
    listing_column(&l, "BECOMES");
    add_rows(&l, json_object_get(report, "started"), "started");
    add_rows(&l, json_object_get(report, "moved"), "moved");
    add_rows(&l, json_object_get(report, "ended"), "waiting");
    if (json_array_size(l.objects) == 0 && output_format_of(c->in) == OUTPUT_TABLE) {
        cli_say(c, "no job would start");
        e = NULL;
    } else {
        e = listing_print(c, &l);
    }
    listing_done(&l);
    return e;
}

struct err *why_if_changed(struct cli *c, struct session *s)
{
    AUTO(json_freep) json_t *report = NULL;
    AUTO(json_freep) json_t *pod = NULL;
    struct buf changes = {0};
    struct buf path = {0};
    AUTO_FREE char *below = NULL;
    struct job job;
    struct err *e = read_changes(c, s, &changes);

    buf_add_text(&path, "/apis/mete.dev/v1/what-if?changes=");
    client_add_escaped(&path, (struct str){changes.at, changes.size});
    below = mem_format("namespaces/%s/%s", session_namespace(s),
                       path.at + strlen("/apis/mete.dev/v1/"));
    if (!e)
        e = session_get_report(s, path.at, below, &report);
    buf_done(&changes);
    buf_done(&path);
    if (e)
        return e;
    TRY(what_if_print(c, report));
    say_others(c, report);
    if (c->in->arguments.n == 0)
        return NULL;
    TRY(job_find(s, c->in->arguments.at[0], &pod));
    job = job_of(pod);
    cli_say(c, "job %s %s", job.id,
            is_among(json_object_get(report, "started"), &job) ? "would start" : "would not start");
    return NULL;
}
