/* top_estimate.c - the estimate of one workload */

#include "cli/top/top_estimate.h"

#include "base/mem.h"
#include "base/stamp.h"

static const int64_t estimate_age_ns = 5 * NS_PER_SEC;

struct top_estimate {
    struct session *session;
    loop_fn on_change;
    void *arg;
    struct client_call *call;
    char *job;  /* "ns/name" that was asked about last; NULL: none */
    char *text; /* of that job; NULL: not known yet */
    int64_t asked_ns;
};

static char *job_of_row(const struct top_row *row)
{
    return row && row->name ? mem_format("%s/%s", row->ns, row->name) : NULL;
}

/* "14:20:00" of a stamp; "?": none. */
static void time_of(const char *stamp, char ret[STAMP_TEXT_SIZE])
{
    stamp_format(stamp_or(stamp, 0), ret);
    ret[19] = '\0';
    memmove(ret, ret + 11, 9);
    if (!stamp)
        memcpy(ret, "?", 2);
}

static char *estimate_text(const json_t *workload)
{
    const json_t *estimate = json_at(workload, "status", "reason", "estimate", NULL);
    AUTO_FREE char *basis = top_text(json_text(estimate, "basis"));
    char from[STAMP_TEXT_SIZE];
    char to[STAMP_TEXT_SIZE];

    if (!json_text(estimate, "from") && !json_text(estimate, "to"))
        return mem_strdup("start not known");
    time_of(json_text(estimate, "from"), from);
    time_of(json_text(estimate, "to"), to);
    return mem_format("start %s to %s (%s)", from, to, basis);
}

static void estimate_on_answer(void *arg, const struct err *failed,
                               const struct client_reply *reply)
{
    struct top_estimate *x = arg;
    AUTO(err_freep) struct err *e = client_error(failed, reply);
    AUTO(json_freep) json_t *workload = NULL;

    x->call = NULL;
    if (!e)
        e = json_parse(reply->body, &workload);
    if (e)
        return; /* the list itself tells of a server that is away */
    free(x->text);
    x->text = estimate_text(workload);
    x->on_change(x->arg);
}

struct top_estimate *top_estimate_new(struct session *s, loop_fn on_change, void *arg)
{
    struct top_estimate *x = mem_alloc(sizeof(*x));

    x->session = s;
    x->on_change = on_change;
    x->arg = arg;
    return x;
}

void top_estimate_free(struct top_estimate *x)
{
    if (!x)
        return;
    if (x->call)
        client_cancel(x->call);
    free(x->job);
    free(x->text);
    free(x);
}

void top_estimate_want(struct top_estimate *x, const struct top_row *row)
{
    int64_t now_ns = loop_now_ns(session_loop(x->session));
    AUTO_FREE char *job = job_of_row(row);
    struct client_request r = {.method = "GET"};
    AUTO(buf_done) struct buf path = {0};

    if (!job || x->call || (text_equal(job, x->job) && now_ns - x->asked_ns < estimate_age_ns))
        return;
    if (!text_equal(job, x->job)) {
        free(x->text);
        x->text = NULL;
        free(x->job);
        x->job = TAKE(job);
    }
    x->asked_ns = now_ns;
    buf_add_text(&path, "/apis/mete.dev/v1/namespaces/");
    client_add_escaped(&path, str_of(row->ns));
    buf_add_text(&path, "/workloads/");
    client_add_escaped(&path, str_of(row->name));
    r.path = path.at;
    client_send(session_client(x->session), &r, estimate_on_answer, x, &x->call);
}

const char *top_estimate_text(const struct top_estimate *x, const struct top_row *row)
{
    AUTO_FREE char *job = x && x->text ? job_of_row(row) : NULL;

    return job && text_equal(job, x->job) ? x->text : "";
}
