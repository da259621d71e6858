/* node_role_linux.c - the role `mete node`: runs the containers of this machine, as root */

#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/stamp.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/role/gpu_config.h"
#include "cli/role/installed.h"
#include "cli/role/log_limits.h"
#include "cli/role/role_linux.h"
#include "client/client.h"
#include "gpu/gpu_watch.h"
#include "node/node.h"

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
    struct node *node;
};

static void hands_done(struct hands *h)
{
    node_free(h->node);
    loop_timer_free(h->patience);
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

static struct err *connect_server(struct hands *h)
{
    struct client_options o = {
        .loop = h->role.loop, .unix_socket = h->socket, .url = "http://mete"};

    TRY(read_token(h));
    o.token = h->token;
    return client_new(&o, &h->client);
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

static struct err *node_begin(struct hands *h, struct cli *c)
{
    h->name = flag_text(c->in, "name");
    h->self_path = c->self_path;
    h->runtime = flag_text(c->in, "runtime");
    h->is_fenced = flag_switch(c->in, "fenced");
    h->cdi_file = flag_text(c->in, "cdi-file");
    if (!h->name)
        return cli_usage(c, "node needs --name");
    TRY(role_init(&h->role, c, "node"));
    TRY(role_host_roots(c, &h->host_roots));
    TRY(gpu_config_read(flag_text(c->in, "gpu-config"), &h->sharing));
    TRY(mig_config_read(flag_text(c->in, "mig-config"), &h->parted));
    TRY(log_limits_parse(flag_text(c->in, "container-log-max-size"),
                         flag_text(c->in, "container-log-max-files"), &h->log_limits));
    TRY(connect_server(h));
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
    struct hands h = {.data = flag_text(c->in, "data")};
    struct err *e;

    h.socket = mem_format("%s/mete.sock", h.data);
    h.dir = mem_format("%s/node", h.data);
    h.xids_file = mem_format("%s/xids.yaml", h.data);
    e = node_begin(&h, c);
    hands_done(&h);
    return e;
}

const struct command command_node = {
    .name = "node",
    .summary = "the containers of one machine: started by mete up",
    .examples = {{"up", "starts it"}, {"down", "ends it"}, {0}},
    .flags = role_flags,
    .is_hidden = true,
    .run = node_run,
};
