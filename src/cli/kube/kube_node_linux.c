/* kube_node_linux.c - the role `mete kube node`: device plugins or a driver of claims, and a CDI
 * file, for a kubelet */

#include <signal.h>

#include "base/file.h"
#include "base/log.h"
#include "base/loop_linux.h"
#include "base/mem.h"
#include "base/stamp.h"
#include "cli/kube/kube_config.h"
#include "cli/kube/kube_metrics.h"
#include "cli/kube/kube_mps.h"
#include "cli/kube/kube_node.h"
#include "cli/kube/kube_partitions.h"
#include "cli/role/data_dir.h"
#include "cli/role/gpu_config.h"
#include "cli/session.h"
#include "gpu/gpu_watch.h"
#include "kubelet/device_plugins.h"
#include "kubelet/dra/dra_driver.h"
#include "model/names.h"
#include "node/cdi_writer.h"
#include "node/gpu_incidents.h"
#include "node/gpu_modes.h"
#include "node/gpu_offer.h"
#include "node/kubelet_node.h"

#define LOOK_EVERY_NS (10 * NS_PER_SEC) /* at files of a mounted ConfigMap */

struct kube_node {
    struct loop *loop; /* of the session, if there is one */
    struct cli *cli;
    struct session *session;  /* with the API server; NULL: it is not needed */
    char *node;               /* name of this node */
    const char *data;         /* directory of what is kept over restarts */
    char *driver_root;        /* NULL: as the watch finds it */
    const char *machine_root; /* NULL: `/` */
    char *machine;            /* of emulated gpus; NULL: real ones */
    char *cdi_file;
    struct kubelet_taint taint; /* of the Node while a gpu is sick */
    struct sharing_config sharing;
    struct plugin_settings settings;
    struct gpu_watch *gpus;
    struct gpu_incidents *incidents;
    struct gpu_modes *modes;
    struct worker *worker;
    struct cdi_writer *cdi;
    struct device_plugins *plugins;     /* NULL: claims are served */
    struct dra_driver *driver;          /* NULL: resources are served */
    struct kube_mps *mps;               /* NULL: claims are served */
    struct kubelet_node *labels;        /* NULL: others set them */
    struct kube_pods *pods;             /* NULL: nobody wants to know */
    struct kube_metrics *metrics;       /* NULL: none */
    struct kube_config config;          /* that the Node's labels choose */
    json_t *known;                      /* the Node as the server has it; NULL: not known */
    struct loop_timer *look;            /* at the files of `config`; NULL: there are none */
    struct kube_partitions *partitions; /* NULL: MIG instances stay as they are */
    char *partitions_dir;
    bool is_without_driver; /* the missing driver was logged */
};

static void kube_node_done(struct kube_node *n)
{
    device_plugins_free(n->plugins);
    dra_driver_free(n->driver);
    kube_mps_free(n->mps);
    kubelet_node_free(n->labels);
    kube_metrics_free(n->metrics);
    kube_partitions_free(n->partitions);
    kube_pods_free(n->pods);
    loop_timer_free(n->look);
    json_decref(n->known);
    free(n->partitions_dir);
    worker_free(n->worker);
    cdi_writer_free(n->cdi);
    gpu_modes_free(n->modes);
    gpu_incidents_free(n->incidents);
    gpu_watch_free(n->gpus);
    if (n->session)
        session_free(n->session);
    else if (n->loop)
        loop_linux_free(n->loop);
    kubelet_taint_done(&n->taint);
    free(n->node);
    free(n->driver_root);
    free(n->machine);
    free(n->cdi_file);
}

/* Gives the kubelet the gpus, once the CDI file has them. */
static void offer_gpus(struct kube_node *n)
{
    gpu_offer_list offered = {0};
    size_t count = 0;
    const struct gpu *list = gpu_modes_list(n->modes, &count);

    if (n->driver) {
        dra_driver_update(n->driver, list, count, gpu_watch_info(n->gpus));
        return;
    }
    if (!n->plugins)
        return; /* the role ends */
    gpu_offer_make(list, count, gpu_modes_strategy(n->modes), &offered);
    kube_mps_apply(n->mps, gpu_watch_root(n->gpus), offered.at, offered.n);
    device_plugins_update(n->plugins, offered.at, offered.n);
    vec_done(&offered);
}

/* Tells the API server of the gpus. */
static void report_gpus(struct kube_node *n)
{
    struct kubelet_node_gpus g = {.driver = gpu_watch_info(n->gpus),
                                  .driver_problem = gpu_watch_problem(n->gpus),
                                  .strategy = gpu_modes_strategy(n->modes),
                                  .mig_state = gpu_modes_mig_state(n->modes)};

    if (!n->labels)
        return;
    g.gpus = gpu_modes_list(n->modes, &g.n);
    kubelet_node_update(n->labels, &g);
}

static void on_cdi_written(void *arg, const struct err *e)
{
    struct kube_node *n = arg;

    if (!e)
        offer_gpus(n);
}

static void tell_modes(const struct gpu *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (list[i].mode_problem[0])
            LOG(WARN, "gpu is not given as configured", S("gpu", list[i].uuid),
                S("cause", list[i].mode_problem));
}

static void on_kube_gpus(void *arg)
{
    struct kube_node *n = arg;
    size_t count = 0;
    size_t n_holdings = 0;
    const struct gpu_holding *holdings = NULL;
    const struct gpu *read = gpu_watch_list(n->gpus, &count);
    AUTO(json_freep) json_t *edits = NULL;
    bool is_missing = gpu_watch_is_ready(n->gpus) && !gpu_watch_info(n->gpus);

    if (is_missing && !n->is_without_driver)
        LOG(WARN, "there are no gpus", S("cause", gpu_watch_problem(n->gpus)));
    n->is_without_driver = is_missing;
    if (!gpu_watch_is_ready(n->gpus) || !n->modes || (!n->plugins && !n->driver))
        return;
    gpu_incidents_take(n->incidents, n->gpus);
    read = gpu_incidents_update(n->incidents, read, count);
    if (n->partitions)
        holdings = kube_pods_holdings(n->pods, &n_holdings);
    if (gpu_modes_update(n->modes, read, count, holdings, n_holdings))
        tell_modes(gpu_modes_list(n->modes, &count), count);
    if (n->partitions)
        kube_partitions_advance(n->partitions);
    report_gpus(n);
    read = gpu_modes_list(n->modes, &count);
    if (n->mps)
        edits = kube_mps_edits(n->mps, read, count);
    if (!cdi_writer_update(n->cdi, read, count, gpu_watch_root(n->gpus), edits))
        offer_gpus(n);
}

static void on_daemons_ended(void *arg)
{
    struct kube_node *n = arg;

    loop_linux_stop(n->loop);
}

/* The kubelet gives no more devices once the plugins are gone; then MPS daemons end. A second
 * signal does not wait for them. */
static void on_stop(void *arg)
{
    struct kube_node *n = arg;

    if (!n->plugins) {
        loop_linux_stop(n->loop);
        return;
    }
    device_plugins_free(n->plugins);
    n->plugins = NULL;
    kube_mps_stop(n->mps, on_daemons_ended, n);
}

/* Tells the resource or the driver that a kubelet knows. */
static void on_kubelet_knows(void *arg, const char *what)
{
    struct kube_node *n = arg;

    (void)fprintf(n->cli->out, "%s\n", what);
    (void)fflush(n->cli->out);
}

/* Reads the flags that say where the files of machine and driver are. */
static struct err *choose_roots(struct kube_node *n)
{
    const char *machine_root = flag_text(n->cli->in, "machine-root");
    const char *driver_root = flag_text(n->cli->in, "driver-root");

    if (machine_root[0] && (machine_root[0] != '/' || text_ends_with(machine_root, "/")))
        return cli_usage(n->cli,
                         "--machine-root wants an absolute path without a slash at its end, not "
                         "\"%s\"",
                         machine_root);
    n->machine_root = machine_root[0] ? machine_root : NULL;
    if (driver_root[0] || machine_root[0])
        n->driver_root = mem_strdup(driver_root[0] ? driver_root : machine_root);
    return NULL;
}

/* Emulated gpus get a driver of their own below the data directory. */
static struct err *choose_gpus(struct kube_node *n)
{
    static const char prefix[] = "emulated:";
    const char *which = flag_text(n->cli->in, "gpus");
    const char *given = flag_text(n->cli->in, "data");
    AUTO_FREE char *dir = NULL;

    n->data = given ? given : "/var/lib/mete";
    dir = mem_format("%s/gpusim", n->data);
    if (text_equal(which, "auto"))
        return NULL;
    if (!text_starts_with(which, prefix))
        return cli_usage(n->cli, "--gpus wants auto or emulated:PROFILE, not \"%s\"", which);
    TRY(emulate_check(which + strlen(prefix)));
    TRY(emulate_make(dir, which + strlen(prefix), n->cli->self_path, n->data));
    free(n->driver_root);
    n->driver_root = mem_format("%s/root", dir);
    n->machine = mem_format("%s/machine.bin", dir);
    return NULL;
}

static struct err *watch_gpus(struct kube_node *n)
{
    const struct gpu_watch_options o = {.loop = n->loop,
                                        .self_path = n->cli->self_path,
                                        .driver_root = n->driver_root,
                                        .machine = n->machine,
                                        .on_change = on_kube_gpus,
                                        .arg = n};

    return gpu_watch_new(&o, &n->gpus);
}

static const struct gpu *list_given(void *arg, size_t *ret_count)
{
    const struct kube_node *n = arg;

    return gpu_modes_list(n->modes, ret_count);
}

/* Asks the kubelet for the pods of gpus from now on. */
static void begin_pods(struct kube_node *n)
{
    if (!n->pods)
        n->pods = kube_pods_new(
            &(struct kube_pods_options){.loop = n->loop,
                                        .kubelet_dir = flag_text(n->cli->in, "kubelet-dir"),
                                        .list = list_given,
                                        .changed = on_kube_gpus,
                                        .arg = n});
}

static int64_t reading_of(void *arg, const char *uuid, enum gpu_field field)
{
    const struct kube_node *n = arg;
    const struct gpu_sample *sample = gpu_watch_sample(n->gpus, uuid);

    return sample ? sample->value[field] : GPU_VALUE_UNKNOWN;
}

/* The faults that XIDs told are kept in the data directory; a container may not be able to write
 * there, and then begins anew. */
static struct err *begin_incidents(struct kube_node *n)
{
    AUTO_FREE char *xids_file = mem_format("%s/xids.yaml", n->data);
    AUTO(err_freep) struct err *unwritable = dir_make(n->data, 0755);
    struct host_info host = {0};

    if (unwritable)
        LOG(WARN, "incidents of gpus are not kept over restarts", E(unwritable));
    TRY(host_info_read("/", &host));
    return gpu_incidents_new(&(struct gpu_incidents_options){.loop = n->loop,
                                                             .dir = n->data,
                                                             .boot_id = host.boot_id,
                                                             .xids_file = xids_file,
                                                             .reading = reading_of,
                                                             .changed = on_kube_gpus,
                                                             .arg = n},
                             &n->incidents);
}

/* Begins with MIG instances that the Node's label chooses, if it may. */
static struct err *begin_modes(struct kube_node *n)
{
    if (n->config.mig_file[0]) {
        begin_pods(n);
        n->partitions_dir = mem_format("%s/partitions", n->data);
        TRY(kube_partitions_new(&(struct kube_partitions_options){.loop = n->loop,
                                                                  .gpus = n->gpus,
                                                                  .pods = n->pods,
                                                                  .self_path = n->cli->self_path,
                                                                  .driver_root = n->driver_root,
                                                                  .machine = n->machine,
                                                                  .dir = n->partitions_dir,
                                                                  .changed = on_kube_gpus,
                                                                  .arg = n},
                                &n->partitions));
    }
    n->modes = gpu_modes_new(&(struct gpu_modes_options){
        .sharing = &n->sharing,
        .partitions = n->partitions ? kube_partitions_get(n->partitions) : NULL,
        .loop = n->partitions ? n->loop : NULL,
        .waited = on_kube_gpus,
        .arg = n});
    return NULL;
}

static struct err *begin_metrics(struct kube_node *n)
{
    const char *address = flag_text(n->cli->in, "metrics");
    struct kube_metrics_options o = {.loop = n->loop,
                                     .address = address,
                                     .node = n->node,
                                     .gpus = n->gpus,
                                     .list = list_given,
                                     .arg = n};
    unsigned port = 0;

    if (!address[0])
        return NULL;
    begin_pods(n);
    o.pods = n->pods;
    TRY(kube_metrics_new(&o, &n->metrics, &port));
    LOG(INFO, "metrics are served", U("port", port));
    return NULL;
}

static struct err *begin_cdi(struct kube_node *n)
{
    n->cdi_file = mem_format("%s/mete.dev-gpu.json", flag_text(n->cli->in, "cdi-dir"));
    TRY(cdi_path_check(n->cdi_file));
    TRY(worker_new(n->loop, &n->worker));
    return cdi_writer_new(&(struct cdi_writer_options){.loop = n->loop,
                                                       .worker = n->worker,
                                                       .path = n->cdi_file,
                                                       .kind = PLUGIN_CDI_KIND,
                                                       .machine_root = n->machine_root,
                                                       .on_written = on_cdi_written,
                                                       .arg = n},
                          &n->cdi);
}

/* Takes the configuration that the Node's labels choose, from its files. */
static void on_look(void *arg)
{
    struct kube_node *n = arg;
    AUTO(json_freep) json_t *node = kube_config_node(&n->config, n->known, &n->settings);

    loop_timer_set(n->look, LOOK_EVERY_NS);
    if (!gpu_modes_set_node(n->modes, node))
        return;
    if (n->plugins)
        device_plugins_set(n->plugins, &n->settings);
    on_kube_gpus(n);
}

static void on_known_node(void *arg, const json_t *node)
{
    struct kube_node *n = arg;

    json_decref(n->known);
    n->known = json_incref((json_t *)(uintptr_t)node);
    if (n->look)
        loop_timer_set(n->look, 0);
}

/* Begins to watch the Node, for its labels, conditions and taint and for the configuration that it
 * chooses. */
static struct err *begin_node(struct kube_node *n)
{
    const char *where = flag_text(n->cli->in, "labels");

    if (n->config.dir[0] || n->config.mig_file[0])
        n->look = loop_timer_new(n->loop, on_look, n);
    else if (text_equal(where, "off") && !n->taint.key)
        return NULL;
    return kubelet_node_new(&(struct kubelet_node_options){.loop = n->loop,
                                                           .client = session_client(n->session),
                                                           .node = n->node,
                                                           .has_labels = !text_equal(where, "off"),
                                                           .file = where[0] == '/' ? where : NULL,
                                                           .taint = n->taint.key ? &n->taint : NULL,
                                                           .on_node = on_known_node,
                                                           .arg = n},
                            &n->labels);
}

static struct err *begin_plugins(struct kube_node *n)
{
    AUTO_FREE char *dir = mem_format("%s/device-plugins", flag_text(n->cli->in, "kubelet-dir"));

    return device_plugins_new(&(struct device_plugins_options){.loop = n->loop,
                                                               .dir = dir,
                                                               .settings = n->settings,
                                                               .on_watched = on_kubelet_knows,
                                                               .arg = n},
                              &n->plugins);
}

static struct err *begin_resources(struct kube_node *n)
{
    n->mps = kube_mps_new(&(struct kube_mps_options){.loop = n->loop,
                                                     .self_path = n->cli->self_path,
                                                     .data = n->data,
                                                     .machine_root = n->machine_root,
                                                     .is_emulated = n->machine != NULL,
                                                     .changed = on_kube_gpus,
                                                     .arg = n});
    return begin_plugins(n);
}

static struct err *begin_driver(struct kube_node *n)
{
    return dra_driver_new(
        &(struct dra_driver_options){.loop = n->loop,
                                     .client = session_client(n->session),
                                     .kubelet_dir = flag_text(n->cli->in, "kubelet-dir"),
                                     .node = n->node,
                                     .on_registered = on_kubelet_knows,
                                     .arg = n},
        &n->driver);
}

/* --node-name, $NODE_NAME, or the host name. */
static struct err *choose_name(struct kube_node *n)
{
    const char *given = flag_text(n->cli->in, "node-name");
    struct err *e = NULL;

    if (!given[0])
        given = getenv("NODE_NAME"); /* NOLINT(concurrency-mt-unsafe): one thread */
    if (!given || !given[0])
        return node_name_make(&n->node);
    e = name_check_subdomain(given);
    if (e)
        return err_wrap(e, "name of the node");
    n->node = mem_strdup(given);
    return NULL;
}

/* Opens the loop, with a session if the API server is needed. */
static struct err *open_loop(struct kube_node *n, bool needs_server)
{
    TRY(choose_name(n));
    if (needs_server) {
        TRY(session_open_cluster(n->cli, &n->session));
        n->loop = session_loop(n->session);
    } else {
        n->loop = loop_linux_new();
    }
    loop_linux_on_signal(n->loop, SIGTERM, on_stop, n);
    loop_linux_on_signal(n->loop, SIGINT, on_stop, n);
    return NULL;
}

static struct err *kube_node_begin(struct kube_node *n)
{
    const char *config = flag_text(n->cli->in, "config");
    const char *labels = flag_text(n->cli->in, "labels");
    bool is_claims = text_equal(flag_text(n->cli->in, "offer"), "claims");
    bool has_labels = !text_equal(labels, "off");
    struct err *e;

    TRY(plugin_config_read(config, &n->sharing, &n->settings));
    if (n->sharing.is_mps)
        TRY(kube_config_check_mps(config, is_claims, &n->settings));
    if (has_labels && !text_equal(labels, "node") && labels[0] != '/')
        return cli_usage(n->cli, "--labels wants off, node or an absolute path, not \"%s\"",
                         labels);
    e = kubelet_taint_parse(flag_text(n->cli->in, "taint"), &n->taint);
    if (e)
        return err_wrap(e, "--taint");
    n->config = (struct kube_config){.dir = flag_text(n->cli->in, "config-dir"),
                                     .fallback = flag_text(n->cli->in, "default-config"),
                                     .mig_file = flag_text(n->cli->in, "mig-config"),
                                     .is_claims = is_claims};
    TRY(choose_roots(n));
    TRY(choose_gpus(n));
    TRY(open_loop(n, is_claims || has_labels || n->taint.key || n->config.dir[0] ||
                         n->config.mig_file[0]));
    TRY(begin_cdi(n));
    TRY(watch_gpus(n));
    TRY(begin_incidents(n));
    TRY(begin_modes(n));
    TRY(begin_node(n));
    TRY(is_claims ? begin_driver(n) : begin_resources(n));
    TRY(begin_metrics(n));
    return loop_linux_run(n->loop);
}

struct err *kube_node_run(struct cli *c)
{
    struct kube_node n = {.cli = c};
    struct err *e;

    log_setup("kube-node", LOG_INFO, text_equal(flag_text(c->in, "log-format"), "json"));
    e = kube_node_begin(&n);
    kube_node_done(&n);
    return e;
}
