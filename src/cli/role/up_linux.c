/* up_linux.c - mete up: starts Mete on this machine and supervises it */

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/stamp.h"
#include "base/yaml.h"
#include "cli/commands.h"
#include "cli/job/summary.h"
#include "cli/reach.h"
#include "cli/role/data_dir.h"
#include "cli/role/gpu_config.h"
#include "cli/role/notify.h"
#include "cli/role/roles.h"
#include "cli/role/slurm_files.h"
#include "cli/role/start_room.h"
#include "cli/role/supervisor.h"
#include "cli/role/up.h"
#include "cli/session.h"
#include "client/informer.h"
#include "kinds/service/service.h"
#include "model/gpu_ask.h"
#include "node/net/net_config.h"

enum {
    CONFIG_MAX = 1 << 20,
    TRIES_BEFORE_READY = 5
};

static const char config_default[] = "/etc/mete/mete.yaml";

struct up {
    struct cli *cli;
    struct up_options options;
    struct data_dir dir;
    char *node_name;
    char *node_path;        /* API path of the Node object */
    char *gpus;             /* --gpus of the node: "auto", "none", "emulated" */
    VEC(char *) root_flags; /* values of --host-path-root for both children */
    unsigned port;
    int unix_fd;
    int tls_fd;
    unsigned metrics_port;
    int metrics_fd;  /* -1: off */
    int page_fd;     /* -1: no web page */
    int pods_fd;     /* of the API at the gateway of the pod network; -1: none */
    char *page_url;  /* "": no web page */
    int lifeline[2]; /* children hold the read end; it ends with this process */
    int ready[2];    /* each child writes its letter when it serves */
    struct session *session;
    struct supervisor *supervisor;
    struct informer *nodes;
    struct loop_io *ready_io;
    int64_t started_ns; /* real time; an earlier report is of a previous run */
    bool is_serving;
    bool is_node_ready; /* the node's first report was acknowledged */
    json_t *node;       /* as the server has it, or NULL */
    bool is_ready;
    bool is_stopping;
    bool is_port_taken; /* the port is in use by another program, as the following */
    bool is_metrics_port_taken;
    bool is_page_port_taken;
    struct err *failure;
};

static void up_done(struct up *u)
{
    informer_free(u->nodes);
    loop_io_free(u->ready_io);
    json_decref(u->node);
    supervisor_free(u->supervisor);
    session_free(u->session);
    for (size_t i = 0; i < 2; i++) {
        fd_close(u->lifeline[i]);
        fd_close(u->ready[i]);
    }
    fd_close(u->unix_fd);
    fd_close(u->tls_fd);
    fd_close(u->metrics_fd);
    fd_close(u->page_fd);
    fd_close(u->pods_fd);
    data_dir_done(&u->dir);
    up_options_done(&u->options);
    free(u->node_name);
    free(u->node_path);
    free(u->page_url);
    free(u->gpus);
    VEC_EACH (&u->root_flags, text)
        free(*text);
    vec_done(&u->root_flags);
}

static struct err *read_config(const char *path, bool is_given, json_t **ret)
{
    AUTO(json_freep) json_t *documents = NULL;
    struct buf b = {0};
    struct err *e = file_read(path, CONFIG_MAX, &b);

    if (!e)
        e = yaml_parse(path, (struct str){.at = b.at, .size = b.size}, &documents);
    buf_done(&b);
    if (e && err_code(e) == ERR_NOT_FOUND && !is_given) {
        err_free(e);
        return NULL;
    }
    if (e)
        return e;
    if (json_array_size(documents) != 1)
        return err_new(ERR_BAD_REQUEST, "%s: want one document", path);
    *ret = json_incref(json_array_get(documents, 0));
    return NULL;
}

static struct err *read_options(struct up *u)
{
    const struct invocation *in = u->cli->in;
    const char *config_path = flag_text(in, "config");
    const char *data = flag_text(in, "data");
    const char *roots[HOST_ROOTS_MAX + 2] = {NULL};
    AUTO(json_freep) json_t *config = NULL;
    struct up_given given = {
        .data = data ? data : getenv("METE_DATA")}; /* NOLINT(concurrency-mt-unsafe): one thread */
    struct err *e;

    given.gpus = flag_text(in, "gpus");
    given.mig_config = flag_text(in, "mig-config");
    given.gpu_config = flag_text(in, "gpu-config");
    given.slurm_conf = flag_text(in, "slurm-conf");
    given.listen = flag_text(in, "listen");
    given.metrics = flag_text(in, "metrics");
    given.dashboard = flag_text(in, "dashboard");
    given.log_level = flag_text(in, "log-level");
    given.log_format = flag_text(in, "log-format");
    given.runtime = flag_text(in, "runtime");
    given.driver_root = flag_text(in, "driver-root");
    given.cpus = flag_text(in, "cpus");
    given.pod_network = flag_text(in, "pod-network");
    given.service_network = flag_text(in, "service-network");
    given.cdi_file = flag_text(in, "cdi-file");
    given.log_max_size = flag_text(in, "container-log-max-size");
    given.log_max_files = flag_text(in, "container-log-max-files");
    for (size_t i = 0; i < HOST_ROOTS_MAX + 1; i++)
        roots[i] = flag_repeated(in, "host-path-root", i);
    given.host_path_roots = roots;
    TRY(read_config(config_path ? config_path : config_default, config_path != NULL, &config));
    e = up_options_make(&given, config, &u->options);
    if (e && config)
        return err_wrap(e, "%s", config_path ? config_path : config_default);
    return e;
}

static struct err *make_pipe(int ret[2])
{
    if (pipe2(ret, O_CLOEXEC | O_NONBLOCK) < 0)
        return err_errno(errno, "create a pipe");
    return NULL;
}

/* Returns the profile of emulated gpus; NULL: not emulated. */
static const char *emulated_profile(const struct up *u)
{
    static const char prefix[] = "emulated:";

    return text_starts_with(u->options.gpus, prefix) ? u->options.gpus + strlen(prefix) : NULL;
}

/* Checks the options before anything is created. */
static struct err *check_options(struct up *u)
{
    struct err *e = read_options(u);

    if (!e && emulated_profile(u))
        e = emulate_check(emulated_profile(u));
    if (!e)
        e = gpu_config_check(u->options.gpu_config);
    if (!e)
        e = mig_config_check(u->options.mig_config);
    if (!e)
        e = slurm_files_check(u->options.slurm_conf);
    if (!e)
        return NULL;
    u->cli->exit_code = EXIT_USAGE;
    u->cli->has_code = true;
    return e;
}

static struct err *prepare_gpus(struct up *u)
{
    AUTO_FREE char *dir = mem_format("%s/gpusim", u->dir.node);
    AUTO_FREE char *seed = mem_format("%s:%s", u->node_name, u->dir.path);

    const char *profile = emulated_profile(u);

    u->gpus = mem_strdup(profile ? "emulated" : u->options.gpus);
    return profile ? emulate_make(dir, profile, u->cli->self_path, seed) : NULL;
}

static void keep_room(const struct up *u)
{
    AUTO(err_freep) struct err *e = start_room_keep(u->dir.path);

    if (e)
        LOG(WARN, "no disk space can be reserved for the next start", E(e));
}

static struct err *up_listen(struct up *u)
{
    struct err *e = listen_tcp(u->options.host, u->options.port, &u->tls_fd, &u->port);

    u->is_port_taken = e && err_code(e) == ERR_CONFLICT;
    if (e || !u->options.metrics_host)
        return e;
    e = listen_tcp(u->options.metrics_host, u->options.metrics_port, &u->metrics_fd,
                   &u->metrics_port);
    u->is_metrics_port_taken = e && err_code(e) == ERR_CONFLICT;
    return e ? err_wrap(e, "metrics") : NULL;
}

/* Other machines reach the page by TLS only. */
static bool is_of_this_machine(const char *host)
{
    return text_starts_with(host, "127.") || text_equal(host, "::1") ||
           text_equal(host, "localhost");
}

static struct err *page_listen(struct up *u)
{
    const char *host = u->options.page_host;
    bool is_any = text_equal(host, "0.0.0.0") || text_equal(host, "::");
    const char *name = is_any ? u->node_name : host;
    unsigned port = 0;
    struct err *e;

    u->page_url = mem_strdup("");
    if (!host)
        return NULL;
    e = listen_tcp(host, u->options.page_port, &u->page_fd, &port);
    if (e && err_code(e) == ERR_CONFLICT && u->options.is_page_default) {
        LOG(WARN, "another program has the port of the web page, which gets a free one", E(e));
        err_free(e);
        e = listen_tcp(host, 0, &u->page_fd, &port);
    }
    u->is_page_port_taken = e && err_code(e) == ERR_CONFLICT;
    if (e)
        return err_wrap(e, "web page");
    free(u->page_url);
    u->page_url =
        mem_format("http%s://%s%s%s:%u", is_of_this_machine(host) ? "" : "s",
                   strchr(name, ':') ? "[" : "", name, strchr(name, ':') ? "]" : "", port);
    return NULL;
}

/* Pods reach the API at the gateway of their network, which the node makes later. */
static struct err *pods_listen(struct up *u, const char *gateway)
{
    bool is_any = text_equal(u->options.host, "0.0.0.0") || text_equal(u->options.host, "::");

    return is_any ? NULL : listen_tcp_ahead(gateway, u->port, &u->pods_fd);
}

static struct err *up_identities(struct up *u)
{
    char gateway[IP4_TEXT_SIZE] = "";
    char service[IP4_TEXT_SIZE] = "";
    const char *const others[] = {gateway,
                                  service,
                                  "kubernetes",
                                  "kubernetes.default",
                                  "kubernetes.default.svc",
                                  "kubernetes.default.svc.cluster.local",
                                  NULL};
    struct data_dir_address at = {.host = u->options.host, .port = u->port};
    struct ip4_net pods = {0};
    struct ip4_net services = {0};

    TRY(pod_network_parse(u->options.pod_network, &pods));
    TRY(service_network_parse(u->options.service_network, &services));
    if (pods.bits > 0) {
        ip4_format(net_gateway(pods), gateway);
        ip4_format(service_address_of_api(services), service);
        at.others = others;
        TRY(pods_listen(u, gateway));
    }
    return data_dir_identities(&u->dir, &at, u->node_name);
}

static struct err *up_prepare(struct up *u)
{
    AUTO_FREE char *door = NULL;

    (void)umask(022);
    TRY(data_dir_open(u->options.data, &u->dir));
    TRY(reach_check(&u->dir, u->cli->self_path));
    TRY(node_name_make(&u->node_name));
    u->node_path = path_format("/api/v1/nodes/%s", u->node_name);
    TRY(prepare_gpus(u));
    VEC_EACH (&u->options.host_roots.list, root)
        vec_add(&u->root_flags, mem_format("%s%s", root->path, root->is_read_only ? ":ro" : ""));
    TRY(up_listen(u));
    TRY(page_listen(u));
    door = mem_format("%s/door", u->dir.path);
    TRY(listen_unix(u->dir.socket, &u->unix_fd));
    TRY(listen_link(u->dir.socket, door));
    TRY(up_identities(u));
    TRY(make_pipe(u->lifeline));
    TRY(make_pipe(u->ready));
    keep_room(u);
    return session_open_data(u->cli, u->dir.path, &u->session);
}

static void add_roots(struct up *u, struct child_spec *spec)
{
    size_t n = 0;

    while (spec->argv[n])
        n++;
    VEC_EACH (&u->root_flags, text) {
        spec->argv[n++] = "--host-path-root";
        spec->argv[n++] = *text;
    }
}

static struct err *start_server(struct up *u)
{
    struct child_spec spec = {
        .name = "server",
        .argv = {u->cli->self_path,
                 "server",
                 "--data",
                 u->dir.path,
                 "--log-level",
                 u->options.log_level,
                 "--log-format",
                 u->options.log_format,
                 "--learn-every",
                 u->options.learn_every,
                 "--learn-after",
                 u->options.learn_after,
                 "--network-tiers",
                 u->options.network_tiers,
                 "--scheduler-names",
                 u->options.scheduler_names,
                 "--audit-reads",
                 u->options.audit_reads,
                 "--audit-keep",
                 u->options.audit_keep,
                 "--name",
                 u->node_name,
                 "--page-url",
                 u->page_url,
                 "--metrics-tls",
                 u->options.metrics_tls,
                 "--slurm-conf",
                 u->options.slurm_conf,
                 "--pod-network",
                 u->options.pod_network,
                 "--service-network",
                 u->options.service_network,
                 u->metrics_fd >= 0 ? "--has-metrics" : NULL,
                 NULL},
        .fds = {-1, STDERR_FILENO,
                STDERR_FILENO, [ROLE_FD_LIFELINE] = u->lifeline[0], [ROLE_FD_READY] = u->ready[1],
                [ROLE_FD_CHILDREN] = u->dir.children_fd, [ROLE_FD_UNIX] = u->unix_fd,
                [ROLE_FD_TLS] = u->tls_fd, [ROLE_FD_METRICS] = u->metrics_fd,
                [ROLE_FD_PAGE] = u->page_fd, [ROLE_FD_PODS] = u->pods_fd},
        .n_fds = ROLE_FD_PODS + 1,
        .uid = u->dir.uid,
        .gid = u->dir.gid,
    };

    add_roots(u, &spec);
    return supervisor_add(u->supervisor, &spec);
}

/* Containers use the machine's network: an address of all interfaces becomes the loopback address.
 * The caller frees the result. */
static char *api_url(const struct up *u)
{
    const char *host = u->options.host;

    if (text_equal(host, "0.0.0.0"))
        host = "127.0.0.1";
    else if (text_equal(host, "::"))
        host = "::1";
    return mem_format(strchr(host, ':') ? "https://[%s]:%u" : "https://%s:%u", host, u->port);
}

static struct err *start_node(struct up *u)
{
    AUTO_FREE char *api = api_url(u);
    struct child_spec spec = {
        .name = "node",
        .argv = {u->cli->self_path,
                 "node",
                 "--data",
                 u->dir.path,
                 "--name",
                 u->node_name,
                 "--gpus",
                 u->gpus,
                 "--cpus",
                 u->options.cpus,
                 "--cdi-file",
                 u->options.cdi_file,
                 "--driver-root",
                 u->options.driver_root,
                 "--runtime",
                 u->options.runtime,
                 "--log-level",
                 u->options.log_level,
                 "--log-format",
                 u->options.log_format,
                 "--container-log-max-size",
                 u->options.log_max_size,
                 "--container-log-max-files",
                 u->options.log_max_files,
                 "--pod-network",
                 u->options.pod_network,
                 "--service-network",
                 u->options.service_network,
                 "--gpu-config",
                 u->options.gpu_config,
                 "--mig-config",
                 u->options.mig_config,
                 "--api",
                 api,
                 "--supervised",
                 NULL},
        .fds = {-1, STDERR_FILENO, STDERR_FILENO, [ROLE_FD_LIFELINE] = u->lifeline[0],
                [ROLE_FD_READY] = u->ready[1], [ROLE_FD_CHILDREN] = u->dir.children_fd},
        .n_fds = ROLE_FD_CHILDREN + 1,
    };

    add_roots(u, &spec);
    return supervisor_add(u->supervisor, &spec);
}

static void on_stopped(void *arg)
{
    struct up *u = arg;

    session_stop(u->session);
}

/* Stops Mete; takes `why`. NULL: stopped on request. */
static void up_stop(struct up *u, struct err *why)
{
    if (u->is_stopping) {
        err_free(why);
        return;
    }
    u->is_stopping = true;
    u->failure = why;
    supervisor_stop(u->supervisor, on_stopped, u);
}

static void on_signal(void *arg)
{
    up_stop(arg, NULL);
}

static void on_child_end(void *arg, const char *name, const char *how, unsigned quick)
{
    struct up *u = arg;

    LOG(WARN, "child ended, restarting it", S("child", name), S("how", how), U("in_a_row", quick));
    if (u->is_ready || quick < TRIES_BEFORE_READY)
        return;
    cli_try(u->cli, "read the messages above");
    up_stop(u, err_new(ERR_INTERNAL, "the %s ended %u times before it was ready: %s", name, quick,
                       how));
}

/* The words that ask `mete run` for one of the node's gpus. */
static void first_ask(const json_t *node, char ret[GPU_ASK_TEXT_SIZE])
{
    struct gpu_ask ask = {.count = 1};

    for (size_t v = 0; v < GPU_VENDORS; v++) {
        const char *resource = gpu_vendor_resource((enum gpu_vendor)v);
        const char *n = json_text_at(node, "status", "capacity", resource, NULL);

        if (!n || text_equal(n, "0"))
            continue;
        ask.vendor = (enum gpu_vendor)v;
        break;
    }
    gpu_ask_format(&ask, ret);
}

static void say_page(struct up *u, const json_t *link)
{
    if (!*u->page_url)
        return;
    cli_say(u->cli, "  Web page: %s  (one-time link, valid for 10 minutes; mete login makes more)",
            u->page_url);
    if (link)
        cli_say(u->cli, "  %s", text_or_empty(json_text(link, "url")));
}

static void say_ready(struct up *u, const json_t *node, const json_t *link)
{
    AUTO_FREE char *gpus = summary_gpus(node);
    char ask[GPU_ASK_TEXT_SIZE];

    cli_say(u->cli, "  %s", gpus ? gpus : "Found no GPU");
    if (!gpus && text_equal(u->gpus, "auto"))
        cli_say(u->cli, "  For a trial with emulated GPUs:  mete up --gpus emulated:8xH100");
    cli_say(
        u->cli,
        "  mete is running. Kubernetes API: https://%s:%u  (kubectl --kubeconfig %s/kubeconfig)",
        u->options.host, u->port, u->dir.path);
    if (u->metrics_fd >= 0)
        cli_say(u->cli, "  Metrics: http%s://%s:%u/metrics",
                text_equal(u->options.metrics_tls, "off") ? "" : "s", u->options.metrics_host,
                u->metrics_port);
    say_page(u, link);
    first_ask(node, ask);
    cli_say(u->cli, "  Try:  mete run%s%s -- %s", gpus ? " --gpus " : "", gpus ? ask : "",
            !gpus                  ? "hostname"
            : text_equal(ask, "1") ? "nvidia-smi"
                                   : "ls /dev/dri");
    (void)fputs("ready\n", u->cli->out);
    (void)fflush(u->cli->out); /* the reader of stdout may be gone; jobs do not depend on it */
}

static void up_ready(struct up *u, const json_t *link)
{
    say_ready(u, u->node, link);
    notify_manager("READY=1");
}

/* Without a link Mete is ready, too: `mete login` makes one. */
static void on_link(void *arg, const struct err *e, const struct client_reply *reply)
{
    AUTO(json_freep) json_t *link = NULL;
    AUTO(err_freep) struct err *failed = client_error(e, reply);

    if (!failed)
        failed = json_parse(reply->body, &link);
    if (failed)
        LOG(WARN, "no link to the web page", E(failed));
    up_ready(arg, link);
}

/* The node's own word counts as well as its object: the object may still be the one of an earlier
 * node, whose last report was in this very second. */
static void check_ready(struct up *u)
{
    const struct client_request link = {.method = "POST", .path = "/mete.dev/v1/sign-in"};

    if (u->is_ready || u->is_stopping || !u->is_serving || !u->is_node_ready ||
        !summary_is_ready(u->node, u->started_ns))
        return;
    u->is_ready = true;
    if (*u->page_url)
        client_send(session_client(u->session), &link, on_link, u, NULL);
    else
        up_ready(u, NULL);
}

static void on_node(void *arg, const json_t *node)
{
    struct up *u = arg;

    json_decref(u->node);
    u->node = json_incref((json_t *)(uintptr_t)node); /* read only */
    check_ready(u);
}

static void on_node_removed(void *arg, const json_t *node)
{
    (void)arg;
    (void)node; /* the node registers itself again */
}

static void watch_nodes(struct up *u)
{
    AUTO_FREE char *path =
        path_format("/api/v1/nodes?fieldSelector=metadata.name%%3D%s", u->node_name);
    struct informer_options o = {
        .client = session_client(u->session),
        .loop = session_loop(u->session),
        .path = path,
        .put = on_node,
        .removed = on_node_removed,
        .arg = u,
    };

    u->nodes = informer_new(&o);
}

static void on_ready_io(void *arg, int fd, bool readable, bool writable)
{
    struct up *u = arg;
    char letters[16];
    ssize_t n = read(fd, letters, sizeof(letters));

    (void)readable;
    (void)writable;
    if (n <= 0)
        return;
    if (memchr(letters, ROLE_READY_NODE, (size_t)n))
        u->is_node_ready = true;
    if (memchr(letters, ROLE_READY_SERVER, (size_t)n) && !u->is_serving) {
        u->is_serving = true;
        watch_nodes(u);
    }
    check_ready(u);
}

static struct err *up_start(struct up *u)
{
    struct loop *l = session_loop(u->session);
    const struct supervisor_options o = {.loop = l, .on_end = on_child_end, .arg = u};

    u->started_ns = loop_wall_ns(l);
    u->supervisor = supervisor_new(&o);
    u->ready_io = loop_io_new(l, u->ready[0], on_ready_io, u);
    loop_io_want(u->ready_io, true, false);
    session_on_signal(u->session, SIGTERM, on_signal, u);
    session_on_signal(u->session, SIGINT, on_signal, u);
    TRY(start_server(u));
    return start_node(u);
}

static void remove_pid(const struct up *u)
{
    AUTO_FREE char *path = mem_format("%s/up.pid", u->dir.path);

    (void)unlink(path); /* the lock decides who runs; the file only names the pid */
}

static struct err *run_up(struct up *u)
{
    TRY(check_options(u));
    log_setup("up", LOG_INFO, text_equal(u->options.log_format, "json"));
    TRY(up_prepare(u));
    TRY(up_start(u));
    TRY(session_run(u->session));
    remove_pid(u);
    if (u->failure)
        return TAKE(u->failure);
    cli_say(u->cli,
            "  mete has stopped. Running containers continue; the next mete up adopts them.");
    return NULL;
}

static struct err *up_run(struct cli *c)
{
    struct up u = {.cli = c,
                   .unix_fd = -1,
                   .tls_fd = -1,
                   .metrics_fd = -1,
                   .page_fd = -1,
                   .pods_fd = -1,
                   .lifeline = {-1, -1},
                   .ready = {-1, -1},
                   .dir.lock_fd = -1,
                   .dir.children_fd = -1};
    struct err *e = run_up(&u);

    if (e && err_code(e) == ERR_FORBIDDEN && geteuid() != 0)
        cli_try(c, "sudo mete up");
    else if (e && err_code(e) == ERR_CONFLICT)
        cli_try(c, u.is_port_taken           ? "mete up --listen 127.0.0.1:0   (a free port)"
                   : u.is_metrics_port_taken ? "mete up --metrics 127.0.0.1:0   (a free port), or "
                                               "--metrics off"
                   : u.is_page_port_taken
                       ? "mete up --dashboard 127.0.0.1:0   (a free port), or --dashboard off"
                       : "mete down   or another --data DIR");
    up_done(&u);
    return e;
}

static const char *const log_levels[] = {"error", "warn", "info", "debug", NULL};
static const char *const log_formats[] = {"text", "json", NULL};

static const char *const runtimes[] = {"auto", "crun", "runc", NULL};

static const struct flag up_flags[] = {
    {.name = "data",
     .type = FLAG_TEXT,
     .value = "DIR",
     .doc = "data directory. Default: $METE_DATA, else /var/lib/mete"},
    {.name = "gpus",
     .type = FLAG_TEXT,
     .value = "WHICH",
     .doc = "auto (the GPUs of this machine), none, or emulated:PROFILE: emulated:8xH100, "
            "emulated:4xT4 or a file. Default: auto"},
    {.name = "gpu-config",
     .type = FLAG_TEXT,
     .value = "FILE",
     .doc = "configuration of NVIDIA's device plugin: replicas of GPUs (time-slicing)"},
    {.name = "mig-config",
     .type = FLAG_TEXT,
     .value = "FILE",
     .doc = "mig-parted file: the node label nvidia.com/mig.config names a configuration in it"},
    {.name = "slurm-conf",
     .type = FLAG_TEXT,
     .value = "FILE",
     .doc = "slurm.conf: partitions, nodes and settings of the Slurm commands. Default: "
            "/etc/mete/slurm.conf, if it exists"},
    {.name = "listen",
     .type = FLAG_TEXT,
     .value = "HOST:PORT",
     .doc = "address of the Kubernetes API; port 0: any free port. Default: 127.0.0.1:7443"},
    {.name = "metrics",
     .type = FLAG_TEXT,
     .value = "HOST:PORT",
     .doc = "address of the metrics for Prometheus, which everyone who reaches it may read; port "
            "0: any free port; off: no metrics. Default: 127.0.0.1:9400"},
    {.name = "dashboard",
     .type = FLAG_TEXT,
     .value = "HOST:PORT",
     .doc =
         "address of the web page, or off; port 0: any free port; with TLS if other machines can "
         "reach it. Default: 127.0.0.1:7480"},
    {.name = "host-path-root",
     .type = FLAG_TEXT,
     .value = "DIR[:ro]",
     .doc = "allow hostPath volumes below DIR for all users (:ro: read-only). Repeatable. Default: "
            "none; administrators may use any path",
     .is_repeated = true},
    {.name = "container-log-max-size",
     .type = FLAG_TEXT,
     .value = "SIZE",
     .doc = "size at which a container's log is rotated. Default: 10Mi"},
    {.name = "container-log-max-files",
     .type = FLAG_TEXT,
     .value = "COUNT",
     .doc = "number of log files kept for a container. Default: 5"},
    {.name = "runtime",
     .type = FLAG_TEXT,
     .value = "WHICH",
     .values = runtimes,
     .doc = "container runtime: auto (crun, else runc), crun or runc. Default: auto"},
    {.name = "driver-root",
     .type = FLAG_TEXT,
     .value = "DIR",
     .doc = "directory below which the GPU driver is installed. Default: /, else "
            "/run/nvidia/driver"},
    {.name = "cpus",
     .type = FLAG_TEXT,
     .value = "COUNT",
     .doc =
         "CPUs that jobs may ask for on this machine, more or fewer than it has. Default: all of "
         "the machine"},
    {.name = "pod-network",
     .type = FLAG_TEXT,
     .value = "NETWORK",
     .doc = "network of pods, as 10.244.0.0/16: each pod gets an address of its own; off: pods use "
            "the machine's network. Default: off"},
    {.name = "service-network",
     .type = FLAG_TEXT,
     .value = "NETWORK",
     .doc = "network of the addresses of Services. Default: 10.96.0.0/16"},
    {.name = "cdi-file",
     .type = FLAG_TEXT,
     .value = "FILE",
     .doc = "CDI file of the GPUs for other container engines, kept up to date, such as "
            "/var/run/cdi/nvidia.com-gpu.json. Default: none"},
    {.name = "config",
     .type = FLAG_TEXT,
     .value = "FILE",
     .doc = "configuration file; flags override it. Default: /etc/mete/mete.yaml, if it exists"},
    {.name = "log-level",
     .type = FLAG_TEXT,
     .value = "LEVEL",
     .values = log_levels,
     .doc = "lowest level that is logged: error, warn, info or debug. Default: info"},
    {.name = "log-format",
     .type = FLAG_TEXT,
     .value = "FORMAT",
     .values = log_formats,
     .doc = "log format: text or json. Default: text"},
    {0},
};

const struct command command_up = {
    .name = "up",
    .summary = "start Mete on this machine and stay in the foreground",
    .doc =
        "Prints \"ready\" on standard output once jobs can be submitted. SIGTERM, Ctrl-C or `mete "
        "down` end Mete; running\ncontainers continue, and the next `mete up` adopts them.",
    .examples = {{"up", "starts with the GPUs of this machine, as root"},
                 {"up --gpus emulated:8xH100 --data /tmp/try --listen 127.0.0.1:0 --metrics off",
                  "starts with eight emulated GPUs, for a trial"},
                 {0}},
    .flags = up_flags,
    .run = up_run,
};
