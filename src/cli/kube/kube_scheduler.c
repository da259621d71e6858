/* kube_scheduler.c - the role `mete kube scheduler`: the scheduler over a kube-apiserver */

#include "cli/kube/kube_scheduler.h"

#include <signal.h>

#include "base/log.h"
#include "base/stamp.h"
#include "cli/session.h"
#include "control/control_scheduler.h"
#include "control/kube/cluster_kube.h"

#define LOOK_NS (20 * NS_PER_MS)

/* A gang that is undone waits for the end of its pods (cluster_kube.h). */
#define ANSWER_NS (300 * NS_PER_SEC)

struct kube_scheduler {
    struct cli *cli;
    struct session *session;
    struct cluster *cluster;
    struct control_scheduler *control;
    struct loop_timer *timer; /* until the cluster has been read */
};

static void kube_scheduler_done(struct kube_scheduler *s)
{
    loop_timer_free(s->timer);
    control_scheduler_free(s->control);
    cluster_free(s->cluster);
    session_free(s->session);
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

static void on_scheduler_stop(void *arg)
{
    struct kube_scheduler *s = arg;

    session_stop(s->session);
}

static struct err *kube_scheduler_begin(struct kube_scheduler *s)
{
    struct loop *loop = NULL;

    TRY(session_open(s->cli, &s->session));
    loop = session_loop(s->session);
    s->cluster = cluster_kube_new(
        &(struct cluster_kube_options){.loop = loop, .client = session_client(s->session)});
    TRY(control_scheduler_new(&(struct control_scheduler_options){.loop = loop,
                                                                  .cluster = s->cluster,
                                                                  .scheduler_names = flag_text(
                                                                      s->cli->in, "scheduler-name"),
                                                                  .has_names_alone = true,
                                                                  .answer_ns = ANSWER_NS},
                              &s->control));
    s->timer = loop_timer_new(loop, on_look, s);
    loop_timer_set(s->timer, 0);
    session_on_signal(s->session, SIGTERM, on_scheduler_stop, s);
    session_on_signal(s->session, SIGINT, on_scheduler_stop, s);
    return session_run(s->session);
}

struct err *kube_scheduler_run(struct cli *c)
{
    struct kube_scheduler s = {.cli = c};
    struct err *e;

    log_setup("kube-scheduler", LOG_INFO, text_equal(flag_text(c->in, "log-format"), "json"));
    e = kube_scheduler_begin(&s);
    kube_scheduler_done(&s);
    return e;
}
