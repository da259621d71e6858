/* html.c - the pages Now, Jobs and Job, and the one to sign in, as plain HTML */

#include "page/html.h"

#include <inttypes.h>

#include "base/mem.h"
#include "client/client.h"
#include "kinds/job/job_facts.h"
#include "page/assets.h"

static const struct {
    const char *path;
    const char *name;
} html_views[] = {
    {"/", "Now"},          {"/jobs", "Jobs"},     {"/queue", "Queues"}, {"/gpus", "GPUs"},
    {"/nodes", "Nodes"},   {"/quota", "Quota"},   {"/usage", "Usage"},  {"/events", "Events"},
    {"/submit", "Submit"}, {"/system", "System"},
};

void html_text(struct buf *b, const char *text)
{
    for (const char *at = text_or_empty(text); *at; at++) {
        switch (*at) {
        case '&':
            buf_add_text(b, "&amp;");
            break;
        case '<':
            buf_add_text(b, "&lt;");
            break;
        case '>':
            buf_add_text(b, "&gt;");
            break;
        case '"':
            buf_add_text(b, "&quot;");
            break;
        case '\'':
            buf_add_text(b, "&#39;");
            break;
        default:
            if ((unsigned char)*at < 0x20 && *at != '\n' && *at != '\t')
                buf_add_char(b, ' ');
            else
                buf_add_char(b, *at);
            break;
        }
    }
}

static void add_nav(struct buf *b, const struct html_page *p)
{
    buf_add_text(b, "<nav aria-label=\"Views\"><ul>");
    for (size_t i = 0; i < COUNT(html_views); i++)
        buf_printf(b, "<li><a href=\"%s\"%s>%s</a></li>", html_views[i].path,
                   text_equal(html_views[i].path, p->here) ? " aria-current=\"page\"" : "",
                   html_views[i].name);
    buf_add_text(b, "</ul></nav><form class=\"who\" method=\"post\" action=\"/out\"><span>");
    html_text(b, p->user);
    buf_add_text(b, "</span> <button>Sign out</button></form>");
}

void html_begin(struct buf *b, const struct html_page *p)
{
    buf_add_text(b, "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>");
    html_text(b, p->title);
    buf_printf(b,
               " - Mete</title><meta name=\"viewport\" content=\"width=device-width, "
               "initial-scale=1\"><meta name=\"color-scheme\" content=\"light dark\"><link "
               "rel=\"icon\" href=\"%s\"><link rel=\"stylesheet\" href=\"%s\"><script "
               "type=\"module\" src=\"%s\"></script></head><body><a class=\"skip\" "
               "href=\"#main\">To the content</a><header><a class=\"brand\" href=\"/\">mete</a>",
               asset_icon, asset_style, p->script);
    if (p->user)
        add_nav(b, p);
    buf_add_text(b, "</header><main id=\"main\" tabindex=\"-1\">");
}

void html_end(struct buf *b)
{
    buf_add_text(b, "</main></body></html>\n");
}

static void add_scriptless(struct buf *b)
{
    buf_add_text(b, "<p class=\"quiet\">This is the page without scripts: it shows the moment of "
                    "its loading, and changes nothing.</p>");
}

/* "/jobs/pod/NS/NAME", escaped as a path. */
static void add_job_path(struct buf *b, const json_t *job)
{
    buf_printf(b, "/jobs/%s/", text_or_empty(json_text(job, "object")));
    client_add_escaped(b, str_of(text_or_empty(json_text(job, "namespace"))));
    buf_add_char(b, '/');
    client_add_escaped(b, str_of(text_or_empty(json_text(job, "name"))));
}

static void add_cell(struct buf *b, const json_t *value)
{
    buf_add_text(b, "<td>");
    if (json_is_integer(value))
        buf_printf(b, "%" PRId64, (int64_t)json_integer_value(value));
    else
        html_text(b, json_string_value(value));
    buf_add_text(b, "</td>");
}

static void add_job_rows(struct buf *b, const json_t *jobs)
{
    static const char *const columns[] = {"user", "queue", "state", "gpus", "node", "reason"};
    json_t *job;
    size_t i;

    buf_add_text(b, "<table><thead><tr><th scope=\"col\">Job</th><th scope=\"col\">Name</th><th "
                    "scope=\"col\">User</th><th scope=\"col\">Queue</th><th "
                    "scope=\"col\">State</th><th scope=\"col\">GPUs</th><th "
                    "scope=\"col\">Node</th><th scope=\"col\">Reason</th></tr></thead><tbody>");
    json_array_foreach (json_object_get(jobs, "items"), i, job) {
        buf_printf(b, "<tr><td>%" PRId64 "</td><td><a href=\"", json_int(job, "id", 0));
        add_job_path(b, job);
        buf_add_text(b, "\">");
        html_text(b, json_text(job, "name"));
        buf_add_text(b, "</a></td>");
        for (size_t k = 0; k < COUNT(columns); k++)
            add_cell(b, json_object_get(job, columns[k]));
        buf_add_text(b, "</tr>");
    }
    buf_add_text(b, "</tbody></table>");
}

static void add_counts(struct buf *b, const json_t *jobs)
{
    const char *state;
    json_t *n;

    buf_add_text(b, "<p>");
    json_object_foreach (json_object_get(jobs, "counts"), state, n) {
        buf_printf(b, "<a href=\"/jobs?state=%s\">%" PRId64 " %s</a> ", state,
                   (int64_t)json_integer_value(n), state);
    }
    buf_add_text(b, "<a href=\"/jobs\">all</a></p>");
}

/* "8 x H100 on one node: 2 jobs" */
static void add_free(struct buf *b, const json_t *free)
{
    json_t *model;
    size_t i;

    buf_add_text(b, "<h2>You can start now</h2><ul>");
    json_array_foreach (json_object_get(free, "models"), i, model) {
        buf_add_text(b, "<li>");
        html_text(b, json_text(model, "model"));
        buf_printf(b, ": %" PRId64 " of %" PRId64 " free; the most on one node is %" PRId64 "</li>",
                   json_int(model, "free", 0), json_int(model, "gpus", 0),
                   json_int(model, "mostOnOneNode", 0));
    }
    buf_add_text(b, "</ul>");
}

void html_now(struct buf *b, const json_t *free, const json_t *jobs)
{
    buf_add_text(b, "<h1>Now</h1>");
    add_scriptless(b);
    if (free)
        add_free(b, free);
    buf_add_text(b, "<h2>Jobs</h2>");
    add_counts(b, jobs);
    add_job_rows(b, jobs);
}

void html_jobs(struct buf *b, const json_t *jobs, const json_t *query)
{
    int64_t offset = json_int(jobs, "offset", 0);
    int64_t shown = offset + (int64_t)json_array_size(json_object_get(jobs, "items"));
    const char *key;
    json_t *value;

    buf_add_text(b, "<h1>Jobs</h1>");
    add_scriptless(b);
    add_counts(b, jobs);
    add_job_rows(b, jobs);
    buf_printf(b, "<p>%" PRId64 " of %" PRId64 "</p>", shown, json_int(jobs, "total", 0));
    if (shown >= json_int(jobs, "total", 0))
        return;
    buf_add_text(b, "<p><a href=\"/jobs?");
    json_object_foreach ((json_t *)(uintptr_t)query, key, value) {
        if (text_equal(key, "offset"))
            continue;
        html_text(b, key);
        buf_add_char(b, '=');
        html_text(b, json_string_value(value)); /* still escaped as a query */
        buf_add_text(b, "&amp;");
    }
    buf_printf(b, "offset=%" PRId64 "\">More</a></p>", shown);
}

static void add_fact(struct buf *b, const char *name, const char *value)
{
    if (!value || !*value)
        return;
    buf_printf(b, "<dt>%s</dt><dd>", name);
    html_text(b, value);
    buf_add_text(b, "</dd>");
}

static void add_time(struct buf *b, const char *name, int64_t ns)
{
    char text[STAMP_TEXT_SIZE];

    if (ns == 0)
        return;
    stamp_format(ns, text);
    add_fact(b, name, text);
}

/* Why the job waits comes first. */
static void add_why(struct buf *b, const struct job *job, const json_t *workload)
{
    const json_t *reason = json_at(workload, "status", "reason", NULL);
    const char *message = json_text(reason, "message");
    json_t *advice;
    size_t i;

    if (!message && !*job->reason)
        return;
    buf_add_text(b, "<h2>Why</h2><p>");
    html_text(b, message ? message : job->reason);
    buf_add_text(b, "</p><ul>");
    json_array_foreach (json_object_get(reason, "wouldStartIf"), i, advice) {
        buf_add_text(b, "<li>Would start now if: ");
        html_text(b,
                  json_is_string(advice) ? json_string_value(advice) : json_text(advice, "text"));
        buf_add_text(b, "</li>");
    }
    buf_add_text(b, "</ul>");
}

void html_job(struct buf *b, const json_t *object, const json_t *workload, struct str log)
{
    struct job job = job_of(object);
    AUTO_FREE char *asks = gpu_asks_format(&job.asks);
    AUTO_FREE char *text = mem_strndup(log.at ? log.at : "", log.size);

    buf_add_text(b, "<h1>Job ");
    html_text(b, job.id);
    buf_add_char(b, ' ');
    html_text(b, job.name);
    buf_add_text(b, "</h1>");
    add_scriptless(b);
    buf_add_text(b, "<p class=\"state\">");
    html_text(b, job.state);
    buf_add_text(b, "</p>");
    add_why(b, &job, workload);
    buf_add_text(b, "<dl>");
    add_fact(b, "Namespace", job.ns);
    add_fact(b, "User", job.user);
    add_fact(b, "Node", job.node);
    add_fact(b, "GPUs", asks);
    add_fact(b, "Progress", job.progress);
    add_time(b, "Submitted", job.created_ns);
    add_time(b, "Started", job.started_ns);
    add_time(b, "Ended", job.ended_ns);
    buf_add_text(b, "</dl>");
    if (log.size == 0)
        return;
    buf_add_text(b, "<h2>Log</h2><pre tabindex=\"0\" aria-label=\"Log\">");
    html_text(b, text);
    buf_add_text(b, "</pre>");
}

void html_sign_in(struct buf *b, const char *message)
{
    buf_add_text(b, "<h1>Sign in</h1>");
    if (message) {
        buf_add_text(b, "<p role=\"alert\" class=\"problem\">");
        html_text(b, message);
        buf_add_text(b, "</p>");
    }
    buf_add_text(b, "<p>Make a link on the machine, with <code>mete login</code>, and open it "
                    "here. A link works once, for 10 minutes.</p><form id=\"in\" method=\"post\" "
                    "action=\"/in\"><p><label for=\"k\">Code: the part of the link after "
                    "<code>#k=</code></label> <input id=\"k\" name=\"k\" required "
                    "autocomplete=\"off\" maxlength=\"64\"></p><p><button>Sign "
                    "in</button></p></form>");
}
