/*
 * kube_extend.c - the role `mete kube extender`: an HTTP extender of a kube-scheduler
 *
 * The role runs the scheduler of `mete kube scheduler` for pods of a name that nobody has: it
 * reads the cluster, and places nothing.
 */

#include "cli/kube/kube_extend.h"

#include <signal.h>

#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/stamp.h"
#include "cli/kube/kube_scheduler.h"
#include "cli/role/data_dir.h"
#include "cli/role/up.h"
#include "cli/session.h"
#include "control/control_scheduler.h"
#include "control/kube/cluster_kube.h"
#include "control/kube/kube_extender.h"
#include "http/http.h"

#define LOOK_NS   (20 * NS_PER_MS)
#define NO_PODS   "mete-extender"
#define ANSWER_NS (300 * NS_PER_SEC)

struct kube_extend {
    struct cli *cli;
    struct session *session;
    struct cluster *cluster;
    struct control_scheduler *control;
    struct kube_extender *extender;
    struct http_server *server;
    struct loop_timer *timer; /* until the cluster has been read */
    char *host;
    int fd;
    struct tls_files files;
    bool is_tls;
};

static void on_extend_look(void *arg)
{
    struct kube_extend *x = arg;

    if (scheduler_is_loading(x->control->scheduler)) {
        loop_timer_set(x->timer, LOOK_NS);
        return;
    }
    (void)fprintf(x->cli->out, "ready\n");
    (void)fflush(x->cli->out);
}

static void on_extend_stop(void *arg)
{
    struct kube_extend *x = arg;

    session_stop(x->session);
}

static struct err *kube_extend_serve(struct kube_extend *x)
{
    struct loop *loop = session_loop(x->session);
    struct http_door door = {.fd = x->fd, .handle = kube_extender_handle};

    x->cluster =
        cluster_kube_new(&(struct cluster_kube_options){.loop = loop,
                                                        .client = session_client(x->session),
                                                        .foreign = kube_foreign_how_of(x->cli)});
    TRY(control_scheduler_new(&(struct control_scheduler_options){.loop = loop,
                                                                  .cluster = x->cluster,
                                                                  .scheduler_names = NO_PODS,
                                                                  .has_names_alone = true,
                                                                  .answer_ns = ANSWER_NS},
                              &x->control));
    x->extender = kube_extender_new(&(struct kube_extender_options){
        .client = session_client(x->session), .scheduler = x->control->scheduler});
    door.arg = x->extender;
    door.files = x->is_tls ? &x->files : NULL;
    return http_server_new(
        &(struct http_options){
            .loop = loop, .unix_fd = -1, .tls_fd = -1, .doors = &door, .n_doors = 1},
        &x->server);
}

static struct err *extend_choose_tls(struct kube_extend *x)
{
    const char *cert = flag_text(x->cli->in, "tls-cert");
    const char *key = flag_text(x->cli->in, "tls-key");
    const char *ca = flag_text(x->cli->in, "client-ca");

    if (!cert[0] != !key[0])
        return cli_usage(x->cli, "--tls-cert and --tls-key need each other");
    if (ca[0] && !cert[0])
        return cli_usage(x->cli, "--client-ca needs --tls-cert and --tls-key");
    x->is_tls = cert[0] != '\0';
    x->files = (struct tls_files){.cert = cert, .key = key, .client_ca = ca[0] ? ca : NULL};
    return NULL;
}

static struct err *kube_extend_begin(struct kube_extend *x)
{
    unsigned port = 0;

    TRY(extend_choose_tls(x));
    TRY(listen_parse("--listen", flag_text(x->cli->in, "listen"), &x->host, &port));
    TRY(listen_tcp(x->host, port, &x->fd, &port));
    TRY(session_open(x->cli, &x->session));
    TRY(kube_extend_serve(x));
    x->timer = loop_timer_new(session_loop(x->session), on_extend_look, x);
    loop_timer_set(x->timer, 0);
    session_on_signal(x->session, SIGTERM, on_extend_stop, x);
    session_on_signal(x->session, SIGINT, on_extend_stop, x);
    return session_run(x->session);
}

struct err *kube_extend_run(struct cli *c)
{
    struct kube_extend x = {.cli = c, .fd = -1};
    struct err *e;

    log_setup("kube-extender", LOG_INFO, text_equal(flag_text(c->in, "log-format"), "json"));
    e = kube_extend_begin(&x);
    loop_timer_free(x.timer);
    http_server_free(x.server);
    kube_extender_free(x.extender);
    control_scheduler_free(x.control);
    cluster_free(x.cluster);
    session_free(x.session);
    fd_closep(&x.fd);
    free(x.host);
    return e;
}
