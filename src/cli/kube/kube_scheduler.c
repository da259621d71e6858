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
#include "control/kube/kube_instance.h"
#include "model/names.h"

#define LOOK_NS (20 * NS_PER_MS)

struct kube_scheduler {
    struct cli *cli;
    struct session *session;
    struct kube_instance *instance;
    struct control_scheduler *control; /* NULL: another instance leads */
    struct kube_serve *serve;          /* NULL: without reports */
    struct loop_timer *timer;          /* until the cluster has been read */
    struct err *failure;
};

enum kube_foreign_how kube_foreign_how_of(const struct cli *c)
{
    return text_equal(flag_text(c->in, "foreign-queues"), "ignore") ? KUBE_FOREIGN_IGNORE
                                                                    : KUBE_FOREIGN_READ;
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

static struct err *on_works(void *arg, struct cluster *cluster, struct control_scheduler *control)
{
    struct kube_scheduler *s = arg;
    const char *listen = flag_text(s->cli->in, "reports");

    s->control = control;
    s->timer = loop_timer_new(session_loop(s->session), on_look, s);
    loop_timer_set(s->timer, 0);
    if (!*listen)
        return NULL;
    return kube_serve_new(
        &(struct kube_serve_options){.loop = session_loop(s->session),
                                     .client = session_client(s->session),
                                     .cluster = cluster,
                                     .scheduler = control->scheduler,
                                     .listen = listen,
                                     .service = flag_text(s->cli->in, "reports-service")},
        &s->serve);
}

static void on_rests(void *arg)
{
    struct kube_scheduler *s = arg;

    loop_timer_free(TAKE(s->timer));
    kube_serve_free(TAKE(s->serve));
    s->control = NULL;
}

static void on_failed(void *arg, struct err *e)
{
    struct kube_scheduler *s = arg;

    err_free(s->failure);
    s->failure = e;
    session_stop(s->session);
}

static void on_stopped(void *arg)
{
    struct kube_scheduler *s = arg;

    session_stop(s->session);
}

static void on_scheduler_stop(void *arg)
{
    struct kube_scheduler *s = arg;

    kube_instance_stop(s->instance, on_stopped, s);
}

/* `lease`: "NAMESPACE/NAME"; "": no election. */
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
    if (*lease && (!slash || bad))
        return cli_usage(s->cli, "--lease wants NAMESPACE/NAME, not \"%s\"", lease);
    TRY(node_name_make(&node));
    uuid_make(uuid);
    identity = mem_format("%s_%s", node, uuid);
    s->instance = kube_instance_new(
        &(struct kube_instance_options){.loop = session_loop(s->session),
                                        .client = session_client(s->session),
                                        .ns = slash ? ns : NULL,
                                        .name = slash ? slash + 1 : NULL,
                                        .identity = identity,
                                        .scheduler_names = flag_text(s->cli->in, "scheduler-name"),
                                        .foreign = kube_foreign_how_of(s->cli),
                                        .works = on_works,
                                        .rests = on_rests,
                                        .failed = on_failed,
                                        .arg = s});
    return NULL;
}

static struct err *kube_scheduler_begin(struct kube_scheduler *s)
{
    TRY(session_open(s->cli, &s->session));
    TRY(kube_scheduler_stand(s, flag_text(s->cli->in, "lease")));
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
    kube_instance_free(s.instance);
    session_free(s.session);
    return e;
}
