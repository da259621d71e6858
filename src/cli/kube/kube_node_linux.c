/* kube_node_linux.c - the role `mete kube node`: device plugins and a CDI file for a kubelet */

#include <signal.h>

#include "base/log.h"
#include "base/loop_linux.h"
#include "base/mem.h"
#include "base/stamp.h"
#include "cli/kube/kube_node.h"
#include "cli/role/data_dir.h"
#include "cli/role/gpu_config.h"
#include "gpu/gpu_watch.h"
#include "kubelet/device_plugins.h"
#include "node/cdi_writer.h"
#include "node/gpu_modes.h"
#include "node/gpu_offer.h"

struct kube_node {
    struct loop *loop;
    struct cli *cli;
    char *driver_root;        /* NULL: as the watch finds it */
    const char *machine_root; /* NULL: `/` */
    char *machine;            /* of emulated gpus; NULL: real ones */
    char *cdi_file;
    struct sharing_config sharing;
    struct plugin_settings settings;
    struct gpu_watch *gpus;
    struct gpu_modes *modes;
    struct worker *worker;
    struct cdi_writer *cdi;
    struct device_plugins *plugins;
    bool is_without_driver; /* the missing driver was logged */
};

static void kube_node_done(struct kube_node *n)
{
    device_plugins_free(n->plugins);
    worker_free(n->worker);
    cdi_writer_free(n->cdi);
    gpu_modes_free(n->modes);
    gpu_watch_free(n->gpus);
    if (n->loop)
        loop_linux_free(n->loop);
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

    gpu_offer_make(list, count, gpu_modes_strategy(n->modes), &offered);
    device_plugins_update(n->plugins, offered.at, offered.n);
    vec_done(&offered);
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
    const struct gpu *read = gpu_watch_list(n->gpus, &count);
    bool is_missing = gpu_watch_is_ready(n->gpus) && !gpu_watch_info(n->gpus);

    if (is_missing && !n->is_without_driver)
        LOG(WARN, "there are no gpus", S("cause", gpu_watch_problem(n->gpus)));
    n->is_without_driver = is_missing;
    if (!gpu_watch_is_ready(n->gpus) || !n->plugins)
        return;
    if (gpu_modes_update(n->modes, read, count, NULL, 0))
        tell_modes(gpu_modes_list(n->modes, &count), count);
    read = gpu_modes_list(n->modes, &count);
    if (!cdi_writer_update(n->cdi, read, count, gpu_watch_root(n->gpus)))
        offer_gpus(n);
}

static void on_stop(void *arg)
{
    struct kube_node *n = arg;

    loop_linux_stop(n->loop);
}

static void on_plugin_watched(void *arg, const char *resource)
{
    struct kube_node *n = arg;

    (void)fprintf(n->cli->out, "%s\n", resource);
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
    const char *data = given ? given : "/var/lib/mete";
    AUTO_FREE char *dir = mem_format("%s/gpusim", data);

    if (text_equal(which, "auto"))
        return NULL;
    if (!text_starts_with(which, prefix))
        return cli_usage(n->cli, "--gpus wants auto or emulated:PROFILE, not \"%s\"", which);
    TRY(emulate_check(which + strlen(prefix)));
    TRY(emulate_make(dir, which + strlen(prefix), n->cli->self_path, data));
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

static struct err *begin_plugins(struct kube_node *n)
{
    AUTO_FREE char *dir = mem_format("%s/device-plugins", flag_text(n->cli->in, "kubelet-dir"));

    return device_plugins_new(&(struct device_plugins_options){.loop = n->loop,
                                                               .dir = dir,
                                                               .settings = n->settings,
                                                               .on_watched = on_plugin_watched,
                                                               .arg = n},
                              &n->plugins);
}

static struct err *kube_node_begin(struct kube_node *n)
{
    const char *config = flag_text(n->cli->in, "config");

    TRY(plugin_config_read(config, &n->sharing, &n->settings));
    if (n->sharing.is_mps)
        return err_new(ERR_INVALID,
                       "%s: sharing.mps: mete kube node has no MPS daemons yet: want "
                       "sharing.timeSlicing",
                       config);
    TRY(choose_roots(n));
    TRY(choose_gpus(n));
    n->loop = loop_linux_new();
    loop_linux_on_signal(n->loop, SIGTERM, on_stop, n);
    loop_linux_on_signal(n->loop, SIGINT, on_stop, n);
    n->modes = gpu_modes_new(&(struct gpu_modes_options){.sharing = &n->sharing});
    TRY(begin_cdi(n));
    TRY(begin_plugins(n));
    TRY(watch_gpus(n));
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
