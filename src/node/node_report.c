/* node_report.c - the reports of a node: their steps, their times, and tries after failures */

#include "node/node_report.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/retry.h"
#include "node/node_object.h"

static const int64_t LOOK_NS = 10 * NS_PER_SEC;
static const int64_t REPORT_NS = 300 * NS_PER_SEC; /* as the kubelet */
static const int64_t RETRY_NS = 200 * NS_PER_MS;
static const int64_t RETRY_MAX_NS = 5 * NS_PER_SEC;

struct node_report {
    struct node_report_options o;
    enum report_step step;
    bool is_wanted;      /* a change came during a report */
    bool is_told;        /* a report succeeded */
    int64_t reported_ns; /* monotonic: the last report */
    int64_t retry_ns;
    struct client_call *call;
    struct loop_timer *timer;
};

bool node_report_is_stored(const struct node_report *r, enum report_step step)
{
    AUTO(json_freep) json_t *patch = r->o.make(r->o.arg, step);
    const json_t *stored = r->o.stored(r->o.arg);

    return stored && node_object_has(stored, patch);
}

bool node_report_is_over(const struct node_report *r)
{
    return r->step == REPORT_IDLE && r->is_told;
}

static void report_over(struct node_report *r, int64_t next_ns)
{
    r->step = REPORT_IDLE;
    loop_timer_set(r->timer, r->is_wanted ? 0 : next_ns);
    r->is_wanted = false;
}

static void report_succeeded(struct node_report *r)
{
    bool is_first = !r->is_told;

    r->retry_ns = 0;
    r->reported_ns = loop_now_ns(r->o.loop);
    r->is_told = true;
    report_over(r, LOOK_NS);
    if (is_first)
        r->o.told(r->o.arg);
}

static void report_next(struct node_report *r, enum report_step step);

static void on_report(void *arg, const struct err *e, const struct client_reply *reply)
{
    struct node_report *r = arg;
    AUTO(err_freep) struct err *failed = client_error(e, reply);

    r->call = NULL;
    if (failed && err_code(failed) == ERR_NOT_FOUND && r->step != REPORT_CREATE) {
        report_next(r, REPORT_CREATE);
    } else if (failed) {
        if (r->retry_ns == 0) /* once, until a report succeeds */
            LOG(WARN, "report of this node failed", E(failed));
        report_over(r, retry_pause(&r->retry_ns, RETRY_NS, RETRY_MAX_NS));
    } else if (r->step == REPORT_STATUS) {
        report_succeeded(r);
    } else {
        report_next(r, REPORT_STATUS);
    }
}

static void report_next(struct node_report *r, enum report_step step)
{
    AUTO(json_freep) json_t *object = r->o.make(r->o.arg, step);
    AUTO_FREE char *body = json_format(object);
    AUTO_FREE char *path =
        step == REPORT_CREATE
            ? mem_strdup("/api/v1/nodes")
            : mem_format("/api/v1/nodes/%s%s", r->o.node, step == REPORT_STATUS ? "/status" : "");
    struct client_request request = {
        .method = step == REPORT_CREATE ? "POST" : "PATCH",
        .path = path,
        .content_type = step == REPORT_CREATE ? NULL : "application/merge-patch+json",
        .body = str_of(body)};

    r->step = step;
    client_send(r->o.client, &request, on_report, r, &r->call);
}

void node_report_look(struct node_report *r)
{
    bool is_old =
        !r->is_told || r->retry_ns > 0 || loop_now_ns(r->o.loop) - r->reported_ns >= REPORT_NS;

    if (r->step != REPORT_IDLE)
        r->is_wanted = true;
    else if (is_old || !node_report_is_stored(r, REPORT_OBJECT))
        report_next(r, REPORT_OBJECT);
    else if (!node_report_is_stored(r, REPORT_STATUS))
        report_next(r, REPORT_STATUS);
    else
        loop_timer_set(r->timer, LOOK_NS);
}

struct node_report *node_report_new(const struct node_report_options *o)
{
    struct node_report *r = mem_alloc(sizeof(*r));

    r->o = *o;
    r->timer = loop_timer_new(o->loop, o->look, o->arg);
    return r;
}

void node_report_stop(struct node_report *r)
{
    if (r->call)
        client_cancel(TAKE(r->call));
}

void node_report_free(struct node_report *r)
{
    if (!r)
        return;
    node_report_stop(r);
    loop_timer_free(r->timer);
    free(r);
}
