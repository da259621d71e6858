/* node_role_linux.c - the role `mete node`: runs the containers of this machine, as root */

#include <unistd.h>

#include "access/node_ca.h"
#include "base/file.h"
#include "base/log.h"
#include "base/loop_linux.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/stamp.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/role/data_dir.h"
#include "cli/role/gpu_config.h"
#include "cli/role/installed.h"
#include "cli/role/join.h"
#include "cli/role/log_limits.h"
#include "cli/role/role_linux.h"
#include "cli/role/up.h"
#include "client/client.h"
#include "gpu/gpu_watch.h"
#include "kinds/service/service.h"
#include "node/node.h"
#include "node/session/door.h"

#ifndef METE_LIBRARIES
#define METE_LIBRARIES "/usr/lib/mete"
#endif

enum {
    TOKEN_MAX = 4096
};

/* A driver that hangs must not delay the start of the node. */
#define GPUS_PATIENCE_NS (5 * NS_PER_SEC)

struct hands {
    struct role role;
    const char *data;
    const char *name;
    const char *self_path;
    const char *runtime;
    bool is_fenced;
    struct log_limits log_limits;
    struct host_roots host_roots;
    struct sharing_config sharing;
    char *socket;
    char *dir;
    char *driver_root;
    struct ip4_net pod_network; /* {0}: off */
    struct ip4_net service_network;
    char *api_host; /* NULL: not known */
    unsigned api_port;
    int64_t cpus; /* 0: those of the machine */
    const char *cdi_file;
    char *machine; /* file of the emulated machine; NULL: the gpus are real */
    char *token;
    struct client *client;
    struct gpu_watch *gpus;
    struct gpu_tasks *gpu_tasks;
    char *xids_file;
    struct share_watch *shares;
    struct mps_watch *mps;
    struct partition_run *partition_run;
    json_t *parted;              /* mig-parted file; NULL: none */
    char *share_library_dir;     /* NULL: not installed */
    bool is_without_driver;      /* the missing driver was logged */
    struct loop_timer *patience; /* limits the wait for gpus that do not answer */
    struct loop_timer *renewal;  /* of a joined node's certificate */
    struct node *node;
    int door_fd; /* mete.sock of a node of another machine; -1: none */
    struct door *door;
};

static void hands_done(struct hands *h)
{
    door_free(h->door);
    fd_close(h->door_fd);
    node_free(h->node);
    loop_timer_free(h->patience);
    loop_timer_free(h->renewal);
    gpu_tasks_free(h->gpu_tasks);
    gpu_watch_free(h->gpus);
    share_watch_free(h->shares);
    mps_watch_free(h->mps);
    partition_run_free(h->partition_run);
    json_decref(h->parted);
    client_free(h->client);
    role_done(&h->role);
    host_roots_done(&h->host_roots);
    free(h->socket);
    free(h->dir);
    free(h->driver_root);
    free(h->xids_file);
    free(h->machine);
    free(h->share_library_dir);
    free(h->token);
    free(h->api_host);
}

static void on_node_ready(void *arg)
{
    struct hands *h = arg;
    struct err *e = role_ready(&h->role, ROLE_READY_NODE);

    if (e)
        role_fail(&h->role, e);
}

/* Starts the node. The first Node object that the server gets contains the gpus. */
static void begin_node(struct hands *h)
{
    const struct node_options o = {
        .loop = h->role.loop,
        .client = h->client,
        .gpus = h->gpus,
        .gpu_tasks = h->gpu_tasks,
        .xids_file = h->xids_file,
        .shares = h->shares,
        .mps = h->mps,
        .partition_run = h->partition_run,
        .parted = h->parted,
        .share_library_dir = h->share_library_dir,
        .name = h->name,
        .is_fenced = h->is_fenced,
        .dir = h->dir,
        .mask_dir = h->data,
        .runtime = h->runtime,
        .self_path = h->self_path,
        .has_emulated_gpus = h->machine != NULL,
        .cpus = h->cpus,
        .pod_network = h->pod_network,
        .service_network = h->service_network,
        .api_host = h->api_host,
        .api_port = h->api_port,
        .cdi_file = h->cdi_file[0] ? h->cdi_file : NULL,
        .log_max_bytes = h->log_limits.max_bytes,
        .log_max_files = (size_t)h->log_limits.max_files,
        .sharing = &h->sharing,
        .host_roots = &h->host_roots,
        .on_ready = on_node_ready,
        .arg = h,
    };
    struct err *e;

    loop_timer_stop(h->patience);
    e = node_new(&o, &h->node);
    if (e)
        role_fail(&h->role, e);
}

static void tell_driver(struct hands *h)
{
    bool is_missing = gpu_watch_is_ready(h->gpus) && !gpu_watch_info(h->gpus);

    if (is_missing && !h->is_without_driver)
        LOG(WARN, "gpus are not managed", S("cause", gpu_watch_problem(h->gpus)));
    h->is_without_driver = is_missing;
}

static void on_gpus(void *arg)
{
    struct hands *h = arg;

    tell_driver(h);
    if (h->node)
        node_gpus_changed(h->node);
    else if (gpu_watch_is_ready(h->gpus))
        begin_node(h);
}

static void on_gpu_round(void *arg)
{
    struct hands *h = arg;

    if (h->node)
        node_gpus_sampled(h->node);
}

static void on_patience(void *arg)
{
    struct hands *h = arg;

    LOG(WARN, "gpus do not answer: starting without them");
    begin_node(h);
}

static struct err *read_token(struct hands *h)
{
    AUTO_FREE char *path = mem_format("%s/token", h->dir);
    struct buf b = {0};
    struct err *e = file_read(path, TOKEN_MAX, &b);

    if (!e)
        h->token = mem_strndup(b.at, strcspn(b.at, "\r\n"));
    buf_done(&b);
    return e;
}

/* A joined node: by TLS, with its certificate. */
static struct err *connect_joined(struct hands *h, const char *server)
{
    AUTO_FREE char *dir = join_dir(h->data);
    AUTO_FREE char *ca = mem_format("%s/ca.crt", dir);
    AUTO_FREE char *cert = mem_format("%s/node.crt", dir);
    AUTO_FREE char *key = mem_format("%s/node.key", dir);
    const struct client_options o = {
        .loop = h->role.loop, .url = server, .ca_file = ca, .cert_file = cert, .key_file = key};

    return client_new(&o, &h->client);
}

static struct err *connect_server(struct hands *h, const char *server)
{
    struct client_options o = {
        .loop = h->role.loop, .unix_socket = h->socket, .url = "http://mete"};

    if (server)
        return connect_joined(h, server);
    TRY(read_token(h));
    o.token = h->token;
    return client_new(&o, &h->client);
}

/* ---- the door of a joined node ---- */

static char *find_slurm(void *arg, uint32_t uid)
{
    const struct hands *h = arg;

    return h->node ? node_slurm_of(h->node, uid) : NULL;
}

/* Scripts of jobs find the server at the same place as on its own machine. The directory is what
 * the launcher shows to jobs. */
static struct err *open_door(struct hands *h)
{
    AUTO_FREE char *dir = mem_format("%s/door", h->data);
    struct door_options o = {
        .loop = h->role.loop, .client = h->client, .find = find_slurm, .arg = h};

    TRY(listen_unix(h->socket, &h->door_fd));
    TRY(listen_link(h->socket, dir));
    o.fd = h->door_fd;
    h->door = door_new(&o);
    return NULL;
}

static void begin_door(struct hands *h)
{
    AUTO(err_freep) struct err *e = open_door(h);

    if (e)
        LOG(WARN, "jobs on this node reach the server by METE_KUBECONFIG only", E(e));
}

/* ---- the certificate of a joined node ---- */

static void renew_soon(struct hands *h)
{
    loop_timer_set(h->renewal, JOIN_RENEW_CHECK_S * NS_PER_SEC);
}

static void on_renewed(void *arg, const struct err *e, const struct client_reply *reply)
{
    struct hands *h = arg;
    AUTO_FREE char *dir = join_dir(h->data);
    AUTO(json_freep) json_t *answer = NULL;
    struct err *failed = client_error(e, reply);

    if (!failed)
        failed = json_parse(reply->body, &answer);
    if (!failed)
        failed = join_take(dir, answer);
    if (!failed) {
        LOG(INFO, "the certificate was renewed");
        loop_linux_stop(h->role.loop); /* the next process of the node uses it */
        return;
    }
    LOG(WARN, "the certificate was not renewed", E(failed));
    err_free(failed);
    renew_soon(h);
}

static struct err *begin_renewal(struct hands *h, const char *dir)
{
    AUTO(json_freep) json_t *body = NULL;
    AUTO_FREE char *text = NULL;
    struct client_request r = {.method = "POST", .path = "/mete.dev/v1/node-renewals"};

    TRY(join_request(dir, &body));
    text = json_format(body);
    r.body = str_of(text);
    client_send(h->client, &r, on_renewed, h, NULL);
    return NULL;
}

static void on_renewal(void *arg)
{
    struct hands *h = arg;
    AUTO_FREE char *dir = join_dir(h->data);
    int64_t left_s = 0;
    AUTO(err_freep) struct err *e = node_certificate_left(dir, &left_s);

    if (!e && left_s <= 0)
        e = begin_renewal(h, dir);
    else
        renew_soon(h);
    if (e)
        LOG(WARN, "the certificate cannot be renewed", E(e));
}

/* Without the library, the node starts no container with a capped share. */
static void begin_shares(struct hands *h, const struct cli *c)
{
    const struct share_watch_options o = {.loop = h->role.loop,
                                          .self_path = c->self_path,
                                          .driver_root = h->driver_root,
                                          .machine = h->machine};
    AUTO(err_freep)
    struct err *e = installed_find(c->self_path,
                                   &(struct installed){.what = "the share library",
                                                       .variable = "METE_SHARE_LIBRARY_DIR",
                                                       .built = "inject",
                                                       .installed = METE_LIBRARIES,
                                                       .probe = "libmete-share-cuda.so"},
                                   &h->share_library_dir);

    if (e)
        LOG(WARN, "no capped shares on this node", E(e));
    h->shares = share_watch_new(&o);
}

static void begin_mps(struct hands *h, const struct cli *c)
{
    AUTO_FREE char *dir = mem_format("%s/mps", h->dir);

    h->mps = mps_watch_new(
        &(struct mps_watch_options){.loop = h->role.loop, .self_path = c->self_path, .dir = dir});
}

static void begin_partitions(struct hands *h, const struct cli *c)
{
    const struct partition_run_options o = {.loop = h->role.loop,
                                            .watch = h->gpus,
                                            .shares = h->shares,
                                            .self_path = c->self_path,
                                            .driver_root = h->driver_root,
                                            .machine = h->machine};

    h->partition_run = partition_run_new(&o);
}

static struct err *watch_gpus(struct hands *h, const struct cli *c)
{
    const char *which = flag_text(c->in, "gpus");
    struct gpu_watch_options o = {.loop = h->role.loop,
                                  .self_path = c->self_path,
                                  .on_change = on_gpus,
                                  .on_round = on_gpu_round,
                                  .arg = h};

    if (text_equal(which, "none"))
        return NULL;
    if (text_equal(which, "emulated")) {
        h->driver_root = mem_format("%s/gpusim/root", h->dir);
        h->machine = mem_format("%s/gpusim/machine.bin", h->dir);
    } else if (flag_text(c->in, "driver-root")[0]) {
        h->driver_root = mem_strdup(flag_text(c->in, "driver-root"));
    }
    o.driver_root = h->driver_root;
    o.machine = h->machine;
    o.sys = getenv("METE_SYSFS"); /* NOLINT(concurrency-mt-unsafe): one thread */
    begin_shares(h, c);
    TRY(gpu_watch_new(&o, &h->gpus));
    begin_mps(h, c);
    begin_partitions(h, c);
    h->gpu_tasks = gpu_tasks_new(&(struct gpu_tasks_options){.loop = h->role.loop,
                                                             .self_path = c->self_path,
                                                             .driver_root = h->driver_root,
                                                             .machine = h->machine});
    return NULL;
}

/* "https://HOST", with a port or without, HOST perhaps in brackets. */
static struct err *read_api(struct hands *h, const char *url)
{
    const char *at = url ? strstr(url, "://") : NULL;
    const char *end = NULL;
    int64_t port = 443;

    if (!at)
        return NULL;
    at += 3;
    if (*at == '[') {
        end = strchr(++at, ']');
        if (!end)
            return err_new(ERR_INVALID, "'%s': want ']' behind the address", url);
    }
    h->api_host = mem_strndup(at, end ? (size_t)(end - at) : strcspn(at, ":/"));
    at = end ? end + 1 : at + strlen(h->api_host);
    if (*at == ':')
        TRY(num_parse_int64((struct str){at + 1, strcspn(at + 1, "/")}, 1, UINT16_MAX, &port));
    h->api_port = (unsigned)port;
    return NULL;
}

static struct err *node_begin(struct hands *h, struct cli *c)
{
    const char *server = flag_text(c->in, "server");

    h->name = flag_text(c->in, "name");
    h->self_path = c->self_path;
    h->runtime = flag_text(c->in, "runtime");
    h->is_fenced = flag_switch(c->in, "fenced");
    h->cdi_file = flag_text(c->in, "cdi-file");
    if (!h->name)
        return cli_usage(c, "node needs --name");
    TRY(cpus_parse(flag_text(c->in, "cpus"), &h->cpus));
    TRY(pod_network_parse(flag_text(c->in, "pod-network"), &h->pod_network));
    TRY(service_network_parse(flag_text(c->in, "service-network"), &h->service_network));
    if (h->pod_network.bits > 0 && server)
        return cli_usage(c, "--pod-network: a network between pods of several machines is not "
                            "implemented yet: pods of a joined node use its network");
    TRY(role_init(&h->role, c, "node"));
    TRY(role_host_roots(c, &h->host_roots));
    TRY(gpu_config_read(flag_text(c->in, "gpu-config"), &h->sharing));
    TRY(mig_config_read(flag_text(c->in, "mig-config"), &h->parted));
    TRY(log_limits_parse(flag_text(c->in, "container-log-max-size"),
                         flag_text(c->in, "container-log-max-files"), &h->log_limits));
    TRY(read_api(h, server ? server : flag_text(c->in, "api")));
    TRY(connect_server(h, server));
    h->renewal = loop_timer_new(h->role.loop, on_renewal, h);
    if (server) {
        renew_soon(h);
        begin_door(h);
    }
    h->patience = loop_timer_new(h->role.loop, on_patience, h);
    TRY(watch_gpus(h, c));
    if (h->gpus)
        loop_timer_set(h->patience, GPUS_PATIENCE_NS);
    else
        begin_node(h);
    return role_run(&h->role);
}

static struct err *node_run(struct cli *c)
{
    struct hands h = {.data = flag_text(c->in, "data"), .door_fd = -1};
    struct err *e;

    if (!flag_switch(c->in, "supervised"))
        return flag_text(c->in, "server")
                   ? join_run(c)
                   : cli_usage(c, "node wants --server URL: mete up runs its own machine's node");

    h.socket = mem_format("%s/mete.sock", h.data);
    h.dir = mem_format("%s/node", h.data);
    h.xids_file = mem_format("%s/xids.yaml", h.data);
    e = node_begin(&h, c);
    hands_done(&h);
    return e;
}

static const char *const log_levels[] = {"error", "warn", "info", "debug", NULL};
static const char *const log_formats[] = {"text", "json", NULL};
static const char *const runtimes[] = {"auto", "crun", "runc", NULL};

static const struct flag node_flags[] = {
    {.name = "server",
     .type = FLAG_TEXT,
     .value = "URL",
     .doc = "address of the API of the machine with mete up, https://HOST:PORT"},
    {.name = "token",
     .type = FLAG_TEXT,
     .value = "TOKEN",
     .doc = "one-time token of mete token node; needed the first time"},
    {.name = "name",
     .type = FLAG_TEXT,
     .value = "NAME",
     .doc = "name of the node. Default: the name of this machine"},
    {.name = "data",
     .type = FLAG_TEXT,
     .value = "DIR",
     .doc = "data directory",
     .fallback = "/var/lib/mete"},
    {.name = "gpus",
     .type = FLAG_TEXT,
     .value = "WHICH",
     .doc = "auto (the GPUs of this machine), none, or emulated:PROFILE",
     .fallback = "auto"},
    {.name = "gpu-config",
     .type = FLAG_TEXT,
     .value = "FILE",
     .doc = "configuration of NVIDIA's device plugin: replicas of GPUs (time-slicing)",
     .fallback = ""},
    {.name = "mig-config",
     .type = FLAG_TEXT,
     .value = "FILE",
     .doc = "mig-parted file: the node label nvidia.com/mig.config names a configuration in it",
     .fallback = ""},
    {.name = "host-path-root",
     .type = FLAG_TEXT,
     .value = "DIR[:ro]",
     .doc = "allow hostPath volumes below DIR for all users (:ro: read-only). Repeatable",
     .is_repeated = true},
    {.name = "container-log-max-size",
     .type = FLAG_TEXT,
     .value = "SIZE",
     .doc = "size at which a container's log is rotated",
     .fallback = LOG_LIMIT_SIZE},
    {.name = "container-log-max-files",
     .type = FLAG_TEXT,
     .value = "COUNT",
     .doc = "number of log files kept for a container",
     .fallback = LOG_LIMIT_FILES},
    {.name = "runtime",
     .type = FLAG_TEXT,
     .value = "WHICH",
     .values = runtimes,
     .doc = "container runtime: auto (crun, else runc), crun or runc",
     .fallback = "auto"},
    {.name = "driver-root",
     .type = FLAG_TEXT,
     .value = "DIR",
     .doc = "directory below which the GPU driver is installed; empty: / or /run/nvidia/driver",
     .fallback = ""},
    {.name = "cpus",
     .type = FLAG_TEXT,
     .value = "COUNT",
     .doc = "CPUs that jobs may ask for on this machine; empty: all of the machine",
     .fallback = ""},
    {.name = "pod-network",
     .type = FLAG_TEXT,
     .value = "NETWORK",
     .doc = "network of pods; off: pods use the machine's network",
     .fallback = "off"},
    {.name = "service-network",
     .type = FLAG_TEXT,
     .value = "NETWORK",
     .doc = "network of the addresses of Services",
     .fallback = SERVICE_NETWORK},
    {.name = "cdi-file",
     .type = FLAG_TEXT,
     .value = "FILE",
     .doc = "CDI file of the GPUs for other container engines; empty: none",
     .fallback = ""},
    {.name = "log-level",
     .type = FLAG_TEXT,
     .value = "LEVEL",
     .values = log_levels,
     .doc = "lowest level that is logged",
     .fallback = "info"},
    {.name = "log-format",
     .type = FLAG_TEXT,
     .value = "FORMAT",
     .values = log_formats,
     .doc = "log format: text or json",
     .fallback = "text"},
    {.name = "fenced",
     .type = FLAG_SWITCH,
     .doc = "end the pods of this node when it loses its lease",
     .is_hidden = true},
    {.name = "api",
     .type = FLAG_TEXT,
     .value = "URL",
     .doc = "address of the API for containers, of the node of mete up",
     .is_hidden = true},
    {.name = "supervised",
     .type = FLAG_SWITCH,
     .doc = "this process is a child of mete up or mete node",
     .is_hidden = true},
    {0},
};

const struct command command_node = {
    .name = "node",
    .summary = "make this machine a node of a Mete on another machine, and stay in the foreground",
    .doc = "Joins by a token of `mete token node` and keeps the certificate that it gets; later "
           "starts need no token.\nPrints \"ready\" on standard output once the node takes jobs. "
           "When the node loses the server for\nlonger than its pods tolerate, it ends them: they "
           "may start elsewhere.",
    .examples = {{"node --server https://10.0.0.1:7443 --token mete1.3f...", "joins, as root"},
                 {"node --server https://10.0.0.1:7443", "starts the node again"},
                 {0}},
    .flags = node_flags,
    .run = node_run,
};
