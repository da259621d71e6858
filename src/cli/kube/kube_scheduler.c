/* kube_scheduler.c - the role `mete kube scheduler`: the scheduler over a kube-apiserver */

#include "cli/kube/kube_scheduler.h"

#include <signal.h>

#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/stamp.h"
#include "cli/kube/kube_serve.h"
#include "cli/role/data_dir.h"
#include "cli/session.h"
#include "control/control_scheduler.h"
#include "control/kube/cluster_kube.h"
#include "control/kube/kube_election.h"
#include "model/names.h"

#define LOOK_NS (20 * NS_PER_MS)

/* A gang that is undone waits for the end of its pods (cluster_kube.h). */
#define ANSWER_NS (300 * NS_PER_SEC)

struct kube_scheduler {
    struct cli *cli;
    struct session *session;
    struct kube_election *election; /* NULL: this instance is alone */
    struct cluster *cluster;        /* NULL: another instance leads */
    struct control_scheduler *control;
    struct kube_serve *serve; /* NULL: without reports */
    struct loop_timer *timer; /* until the cluster has been read */
    struct err *failure;
};

/* Ends all work on the cluster. */
static void kube_scheduler_rest(struct kube_scheduler *s)
{
    loop_timer_free(TAKE(s->timer));
    kube_serve_free(TAKE(s->serve));
    control_scheduler_free(TAKE(s->control));
    cluster_free(TAKE(s->cluster));
}

static void kube_scheduler_end(struct kube_scheduler *s, struct err *e)
{
    s->failure = e;
    session_stop(s->session);
}

static void on_look(void *arg)
{
    struct kube_scheduler *s = arg;

    if (scheduler_is_loading(s->control->scheduler)) {
        loop_timer_set(s->timer, LOOK_NS);
        return;
    }
    (void)fprintf(s->cli->out, "ready\n");
    (void)fflush(s->cli->out);
}

static struct err *kube_scheduler_report(struct kube_scheduler *s)
{
    const char *listen = flag_text(s->cli->in, "reports");

    if (!*listen)
        return NULL;
    return kube_serve_new(
        &(struct kube_serve_options){.loop = session_loop(s->session),
                                     .client = session_client(s->session),
                                     .cluster = s->cluster,
                                     .scheduler = s->control->scheduler,
                                     .listen = listen,
                                     .service = flag_text(s->cli->in, "reports-service")},
        &s->serve);
}

static struct err *kube_scheduler_work(struct kube_scheduler *s)
{
    struct loop *loop = session_loop(s->session);

    s->cluster = cluster_kube_new(
        &(struct cluster_kube_options){.loop = loop, .client = session_client(s->session)});
    TRY(control_scheduler_new(&(struct control_scheduler_options){.loop = loop,
                                                                  .cluster = s->cluster,
                                                                  .scheduler_names = flag_text(
                                                                      s->cli->in, "scheduler-name"),
                                                                  .has_names_alone = true,
                                                                  .answer_ns = ANSWER_NS},
                              &s->control));
    TRY(kube_scheduler_report(s));
    s->timer = loop_timer_new(loop, on_look, s);
    loop_timer_set(s->timer, 0);
    return NULL;
}

static void on_elected(void *arg)
{
    struct kube_scheduler *s = arg;
    struct err *e = kube_scheduler_work(s);

    if (e)
        kube_scheduler_end(s, e);
}

/* Another instance may begin soon: the program ends, so that nothing of it is under way. */
static void on_lost(void *arg, const struct err *why)
{
    struct kube_scheduler *s = arg;

    kube_scheduler_rest(s);
    kube_scheduler_end(
        s, err_new(err_code(why), "this instance no longer leads: %s", err_message(why)));
}

static void on_released(void *arg)
{
    struct kube_scheduler *s = arg;

    session_stop(s->session);
}

static void on_scheduler_stop(void *arg)
{
    struct kube_scheduler *s = arg;

    kube_scheduler_rest(s);
    if (s->election)
        kube_election_release(s->election, on_released, s);
    else
        session_stop(s->session);
}

/* "NAMESPACE/NAME" of the Lease; "": no election. */
static struct err *kube_scheduler_stand(struct kube_scheduler *s, const char *lease)
{
    const char *slash = strchr(lease, '/');
    AUTO_FREE char *ns = mem_strndup(lease, strcspn(lease, "/"));
    AUTO_FREE char *node = NULL;
    AUTO_FREE char *identity = NULL;
    char uuid[37];
    AUTO(err_freep) struct err *bad = slash ? name_check_label(ns) : NULL;

    if (!bad && slash)
        bad = name_check_subdomain(slash + 1);
    if (!slash || bad)
        return cli_usage(s->cli, "--lease wants NAMESPACE/NAME, not \"%s\"", lease);
    TRY(node_name_make(&node));
    uuid_make(uuid);
    identity = mem_format("%s_%s", node, uuid);
    s->election =
        kube_election_new(&(struct kube_election_options){.loop = session_loop(s->session),
                                                          .client = session_client(s->session),
                                                          .ns = ns,
                                                          .name = slash + 1,
                                                          .identity = identity,
                                                          .elected = on_elected,
                                                          .lost = on_lost,
                                                          .arg = s});
    return NULL;
}

static struct err *kube_scheduler_begin(struct kube_scheduler *s)
{
    const char *lease = flag_text(s->cli->in, "lease");

    TRY(session_open(s->cli, &s->session));
    TRY(*lease ? kube_scheduler_stand(s, lease) : kube_scheduler_work(s));
    session_on_signal(s->session, SIGTERM, on_scheduler_stop, s);
    session_on_signal(s->session, SIGINT, on_scheduler_stop, s);
    TRY(session_run(s->session));
    return TAKE(s->failure);
}

struct err *kube_scheduler_run(struct cli *c)
{
    struct kube_scheduler s = {.cli = c};
    struct err *e;

    log_setup("kube-scheduler", LOG_INFO, text_equal(flag_text(c->in, "log-format"), "json"));
    e = kube_scheduler_begin(&s);
    kube_scheduler_rest(&s);
    kube_election_free(s.election);
    session_free(s.session);
    return e;
}
