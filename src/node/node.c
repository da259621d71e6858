/* node.c - the node agent: reports of the Node object, and the parts that its pods need */

#include "node/node.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/retry.h"
#include "base/stamp.h"
#include "base/vec.h"
#include "base/version.h"
#include "client/informer.h"
#include "gpu/gpusim_machine.h"
#include "kinds/pod/pod_state.h"
#include "kinds/service/service.h"
#include "node/cdi_writer.h"
#include "node/gpu_incidents.h"
#include "node/gpu_modes.h"
#include "node/gpu_partitions.h"
#include "node/gpu_resets.h"
#include "node/gpu_samples.h"
#include "node/host_root.h"
#include "node/image/driver_tree.h"
#include "node/image/host_driver.h"
#include "node/image/root.h"
#include "node/lease.h"
#include "node/lease_file.h"
#include "node/log/logs.h"
#include "node/log/rotation.h"
#include "node/net/net_services.h"
#include "node/net/pod_nets.h"
#include "node/node_images.h"
#include "node/node_object.h"
#include "node/node_report.h"
#include "node/pod/pinger.h"
#include "node/pod/pod_fence.h"
#include "node/pod/pods.h"
#include "node/pod/prepare.h"
#include "node/runtime/last_words.h"
#include "node/session/sessions.h"
#include "node/session/uplink.h"
#include "node/spec/cdi_file.h"
#include "node/spec/share_files.h"
#include "node/stats.h"
#include "node/volume/own_volumes.h"
#include "node/volume/stage.h"

static const int64_t RETRY_NS = 200 * NS_PER_MS;
static const int64_t RETRY_MAX_NS = 5 * NS_PER_SEC;

struct node {
    struct node_options o;
    char *name;
    char *dir;
    char *rootfs;
    struct host_info host;
    char runtime_version[64];
    struct worker *worker;
    struct worker *disk_worker;
    struct worker *forward_worker;
    struct worker *log_worker;
    struct worker *net_worker;
    struct runtime *runtime;
    struct node_images *images;
    struct pinger *pinger;
    struct net_services *services; /* with `nets` */
    char dns_server[IP4_TEXT_SIZE];
    char api_host[IP4_TEXT_SIZE]; /* in the pod network */
    struct pod_nets *nets;        /* NULL: pods use the machine's network */
    struct rotation *rotation;
    struct cdi_writer *cdi; /* NULL: no file is asked for */
    struct pods *pods;
    struct informer *informer;
    struct informer *own; /* of the Node object */
    struct own_volumes *volumes;
    struct gpu_modes *modes;
    struct gpu_incidents *incidents;
    struct gpu_partitions *partitions; /* NULL: MIG instances stay as they are */
    struct gpu_resets *resets;         /* NULL: nobody resets gpus */
    VEC(struct gpu_holding) holdings;  /* of the last update of `modes` */
    bool are_pods_known;
    bool is_own_known;
    struct uplink *uplink;
    struct stats *stats;
    struct gpu_samples samples;
    struct lease *lease;
    struct logs *logs;
    struct sessions *sessions;

    struct node_report *report;
    int64_t began_ns;

    bool is_listed; /* the running containers are known */
    struct loop_timer *list_timer;
    int64_t list_retry_ns;
};

/* ---- gpus ---- */

static bool has_slice(const struct gpu *g, const char *uuid)
{
    for (size_t i = 0; i < g->n_slices; i++)
        if (text_equal(g->slices[i].uuid, uuid))
            return true;
    return false;
}

/* The gpu, or the gpu of a slice, with this uuid. */
static const struct gpu *find_gpu(void *arg, const char *uuid, bool *ret_known)
{
    struct node *n = arg;
    size_t count = 0;
    const struct gpu *list = NULL;

    *ret_known = !n->o.gpus || gpu_watch_is_ready(n->o.gpus);
    list = gpu_modes_list(n->modes, &count);
    for (size_t i = 0; i < count; i++)
        if (text_equal(list[i].uuid, uuid) || has_slice(&list[i], uuid))
            return &list[i];
    return NULL;
}

static void add_holding(void *arg, const char *pod, const char *device)
{
    struct node *n = arg;
    struct gpu_holding h = {0};
    AUTO(err_freep) struct err *e = device ? device_parse(device, &h.device) : NULL;

    if (!device || e)
        return; /* the pod does not start with it */
    h.pod = mem_strdup(pod);
    vec_add(&n->holdings, h);
}

static void drop_holdings(struct node *n)
{
    VEC_EACH (&n->holdings, h)
        free((char *)(uintptr_t)h->pod);
    n->holdings.n = 0;
}

/* Computes how each gpu is given. True: something has changed. */
static bool update_modes(struct node *n)
{
    size_t count = 0;
    const struct gpu *read = n->o.gpus ? gpu_watch_list(n->o.gpus, &count) : NULL;
    const struct gpu *list = gpu_incidents_update(n->incidents, read, count);
    bool has_changed;

    if (n->pods)
        pods_each_device(n->pods, add_holding, n);
    has_changed = gpu_modes_update(n->modes, list, count, n->holdings.at, n->holdings.n);
    drop_holdings(n);
    if (n->partitions)
        gpu_partitions_advance(n->partitions, gpu_modes_node(n->modes));
    if (n->resets)
        gpu_resets_advance(n->resets, gpu_modes_node(n->modes));
    return has_changed;
}

/* Was the gpu read since then? */
static bool is_gpu_read(void *arg, const char *uuid, int64_t since_ns)
{
    const struct node *n = arg;
    const struct gpu_sample *s = n->o.gpus ? gpu_watch_sample(n->o.gpus, uuid) : NULL;

    return s && s->at_ns > since_ns;
}

static void on_share_over(void *arg, const struct share_over *over)
{
    const struct node *n = arg;

    pods_end_over_share(n->pods, over);
}

static void on_mps(void *arg, const char *gpu, const char *ns, const char *problem)
{
    const struct node *n = arg;

    pods_mps_changed(n->pods, gpu, ns, problem);
}

static void on_shares(void *arg, json_t *list)
{
    const struct node *n = arg;

    if (n->o.shares)
        share_watch_set(n->o.shares, list);
    else
        json_decref(list);
}

static const struct driver_root *find_driver(void *arg)
{
    const struct node *n = arg;

    return n->o.gpus ? gpu_watch_root(n->o.gpus) : NULL;
}

char *node_slurm_of(const struct node *n, uint32_t uid)
{
    return n->pods ? pods_slurm_of(n->pods, uid) : NULL;
}

void node_gpus_sampled(struct node *n)
{
    const struct gpu_samples_of of = {.loop = n->o.loop,
                                      .gpus = n->o.gpus,
                                      .incidents = n->incidents,
                                      .pods = n->pods,
                                      .stats = n->stats};

    if (!n->pods)
        return;
    if (n->are_pods_known && gpu_samples_judge(&n->samples, &of))
        node_gpus_changed(n);
    gpu_samples_take(&n->samples, &of);
}

/* ---- reports ---- */

static struct node_facts node_get_facts(const struct node *n, const json_t *images)
{
    struct node_facts f = {.name = n->name,
                           .host = &n->host,
                           .images = images,
                           .runtime_version = n->runtime_version,
                           .version = METE_KUBERNETES_VERSION,
                           .gpus_known = !n->o.gpus || gpu_watch_is_ready(n->o.gpus),
                           .is_fenced = n->o.is_fenced,
                           .began_ns = n->began_ns,
                           .now_ns = loop_wall_ns(n->o.loop)};

    f.mig_strategy = gpu_modes_strategy(n->modes);
    f.mig_state = gpu_modes_mig_state(n->modes);
    f.node = gpu_modes_node(n->modes);
    if (n->o.gpus && f.gpus_known) {
        f.gpus = gpu_modes_list(n->modes, &f.n_gpus);
        f.driver = gpu_watch_info(n->o.gpus);
        f.driver_problem = gpu_watch_problem(n->o.gpus);
    }
    return f;
}

static json_t *report_make(void *arg, enum report_step step)
{
    const struct node *n = arg;
    AUTO(json_freep) json_t *images = n->images ? node_images_format(n->images) : json_array();
    const struct node_facts f = node_get_facts(n, images);

    return step == REPORT_STATUS ? node_status_make(&f)
                                 : node_object_make(&f, step == REPORT_CREATE);
}

static const json_t *stored_node(void *arg)
{
    const struct node *n = arg;

    return gpu_modes_node(n->modes);
}

static bool is_health_told(void *arg)
{
    const struct node *n = arg;

    return node_report_is_stored(n->report, REPORT_OBJECT);
}

static void on_told(void *arg)
{
    const struct node *n = arg;

    if (n->o.on_ready)
        n->o.on_ready(n->o.arg);
}

/* Before the running containers, the pods and the Node are known, no pod may be placed here: the
 * modes of gpus follow from them. */
static void report_if_due(void *arg)
{
    struct node *n = arg;

    if (!n->is_listed || !n->are_pods_known || !n->is_own_known)
        return;
    (void)update_modes(n);
    node_report_look(n->report);
}

static void begin_report(struct node *n)
{
    n->report = node_report_new(&(struct node_report_options){.loop = n->o.loop,
                                                              .client = n->o.client,
                                                              .node = n->name,
                                                              .make = report_make,
                                                              .stored = stored_node,
                                                              .look = report_if_due,
                                                              .told = on_told,
                                                              .arg = n});
}

static void write_cdi(struct node *n)
{
    size_t count = 0;
    const struct gpu *list = NULL;

    if (!n->cdi || !n->o.gpus)
        return;
    list = gpu_watch_list(n->o.gpus, &count);
    (void)cdi_writer_update(n->cdi, list, count, gpu_watch_root(n->o.gpus), NULL);
}

void node_gpus_changed(struct node *n)
{
    if (n->o.gpus)
        gpu_incidents_take(n->incidents, n->o.gpus);
    (void)update_modes(n);
    if (n->pods)
        pods_gpus_changed(n->pods);
    write_cdi(n);
    report_if_due(n);
}

/* Pods or the Node have changed: reports modes of gpus that follow from it. */
static void tell_modes(struct node *n)
{
    if (!update_modes(n))
        return;
    pods_gpus_changed(n->pods);
    report_if_due(n);
}

/* ---- the Node object ---- */

static const char *offers_of(const json_t *node)
{
    return json_text_at(node, "metadata", "annotations", NODE_OFFERS, NULL);
}

static void on_own(void *arg, const json_t *object)
{
    struct node *n = arg;
    bool is_ready = text_equal(json_text(object_condition(object, "Ready"), "status"), "True");
    bool is_same_offer = text_equal(offers_of(gpu_modes_node(n->modes)), offers_of(object));

    if (gpu_incidents_set_node(n->incidents, object))
        node_gpus_changed(n);
    if (gpu_modes_set_node(n->modes, object))
        tell_modes(n);
    else if (n->partitions)
        gpu_partitions_advance(n->partitions, object);
    if (n->resets)
        gpu_resets_advance(n->resets, object);
    /* The server lost sight of this node, and now sees it again. */
    if (!is_same_offer || (node_report_is_over(n->report) && !is_ready && lease_is_held(n->lease)))
        report_if_due(n);
}

static void on_own_removed(void *arg, const json_t *object)
{
    struct node *n = arg;

    (void)object;
    (void)gpu_modes_set_node(n->modes, NULL);
    (void)gpu_incidents_set_node(n->incidents, NULL);
    report_if_due(n); /* creates the Node again */
}

static void on_own_synced(void *arg)
{
    struct node *n = arg;

    n->is_own_known = true;
    report_if_due(n);
}

/* ---- pods ---- */

static void on_pod(void *arg, const json_t *object)
{
    struct node *n = arg;

    pods_put(n->pods, object);
    tell_modes(n);
}

static void on_pod_removed(void *arg, const json_t *object)
{
    struct node *n = arg;

    pods_removed(n->pods, object);
    tell_modes(n);
}

static void on_synced(void *arg)
{
    struct node *n = arg;

    pods_synced(n->pods);
    node_images_settled(n->images);
    if (n->are_pods_known)
        return;
    n->are_pods_known = true;
    report_if_due(n);
}

static void on_images(void *arg)
{
    struct node *n = arg;

    if (n->pods)
        pods_images_changed(n->pods);
    report_if_due(n);
}

static void on_network(void *arg, const char *uid)
{
    struct node *n = arg;

    if (n->services)
        net_services_pods_changed(n->services);
    if (n->pods)
        pods_network_changed(n->pods, uid);
}

static void on_rules(void *arg)
{
    struct node *n = arg;

    if (n->pods)
        pods_rules_changed(n->pods);
}

static struct err *begin_services(struct node *n)
{
    const struct net_services_options o = {.loop = n->o.loop,
                                           .client = n->o.client,
                                           .worker = n->net_worker,
                                           .nets = n->nets,
                                           .dir = n->dir,
                                           .node = n->name,
                                           .pods = n->o.pod_network,
                                           .services = n->o.service_network,
                                           .applied = on_rules,
                                           .arg = n};

    return net_services_new(&o, &n->services);
}

/* A worker of its own: a disk that is slow delays no network. */
static struct err *begin_nets(struct node *n, struct pods_options *po)
{
    const struct pod_nets_options o = {.loop = n->o.loop,
                                       .worker = n->net_worker,
                                       .dir = n->dir,
                                       .boot_id = n->host.boot_id,
                                       .network = n->o.pod_network,
                                       .changed = on_network,
                                       .arg = n};

    if (n->o.pod_network.bits == 0)
        return NULL;
    TRY(pod_nets_new(&o, &n->nets));
    po->nets = n->nets;
    ip4_format(service_address_of_dns(n->o.service_network), n->dns_server);
    po->dns_server = n->dns_server;
    ip4_format(service_address_of_api(n->o.service_network), n->api_host);
    po->api_host = n->api_host;
    po->api_port = API_SERVICE_PORT;
    TRY(begin_services(n));
    po->services = n->services;
    return NULL;
}

static struct err *begin_images(struct node *n, struct pods_options *o)
{
    const struct node_images_options io = {.loop = n->o.loop,
                                           .dir = n->dir,
                                           .self_path = n->o.self_path,
                                           .architecture = n->host.arch,
                                           .changed = on_images,
                                           .arg = n};

    TRY(node_images_new(&io, &n->images));
    o->images = node_images_source(n->images);
    o->is_shift_missing = node_images_is_shift_missing(n->images);
    o->make_root = root_make;
    o->remove_root = image_root_remove;
    return NULL;
}

static struct err *read_load(struct machine_load *ret)
{
    return machine_load_read("/proc", ret);
}

static void begin_rotation(struct node *n)
{
    const struct rotation_options o = {.loop = n->o.loop,
                                       .pods = n->pods,
                                       .worker = n->log_worker,
                                       .max_files = n->o.log_max_files};

    n->rotation = rotation_new(&o);
}

/* A renewal that is not on disk counts for less after a restart of this process. */
static void on_renewed(void *arg)
{
    struct node *n = arg;
    int64_t held_to_ns = lease_held_to_ns(n->lease);
    AUTO(err_freep) struct err *e = NULL;

    if (!n->o.is_fenced)
        return;
    e = lease_file_write(n->dir, n->host.boot_id, held_to_ns);
    if (e)
        LOG(WARN, "lease was not noted", E(e));
    pods_lease(n->pods, held_to_ns);
}

static void begin_lease(struct node *n)
{
    const struct lease_options o = {.loop = n->o.loop,
                                    .client = n->o.client,
                                    .node = n->name,
                                    .held = report_if_due,
                                    .renewed = on_renewed,
                                    .no_node = report_if_due,
                                    .arg = n};

    n->lease = lease_new(&o);
}

/* Opens the reverse stream for the server's requests: logs, sessions, samples, images. */
static void open_uplink(struct node *n)
{
    struct logs_options lo = {.loop = n->o.loop, .pods = n->pods};
    struct sessions_options so = {.pods = n->pods, .runtime = n->runtime};
    struct stats_options to = {.loop = n->o.loop, .pods = n->pods, .load = read_load};
    struct stream_service service = {0};

    n->uplink = uplink_new(n->o.loop, n->o.client, n->name);
    lo.out = uplink_out(n->uplink);
    n->logs = logs_new(&lo);
    service = logs_service(n->logs);
    uplink_serve(n->uplink, &service);
    so.out = lo.out;
    n->sessions = sessions_new(&so);
    service = sessions_service(n->sessions);
    uplink_serve(n->uplink, &service);
    to.out = lo.out;
    n->stats = stats_new(&to);
    service = stats_service(n->stats);
    uplink_serve(n->uplink, &service);
    node_images_serve(n->images, n->uplink);
}

/* The running containers are known: starts the connections to the server. */
static void open_node(struct node *n)
{
    AUTO_FREE char *path = mem_format("/api/v1/pods?fieldSelector=spec.nodeName%%3D%s", n->name);
    struct informer_options o = {.client = n->o.client,
                                 .loop = n->o.loop,
                                 .path = path,
                                 .put = on_pod,
                                 .removed = on_pod_removed,
                                 .synced = on_synced,
                                 .arg = n,
                                 .is_pooled = true};

    AUTO_FREE char *own_path =
        mem_format("/api/v1/nodes?fieldSelector=metadata.name%%3D%s", n->name);
    const struct informer_options own = {.client = n->o.client,
                                         .loop = n->o.loop,
                                         .path = own_path,
                                         .put = on_own,
                                         .removed = on_own_removed,
                                         .synced = on_own_synced,
                                         .arg = n};

    n->is_listed = true;
    n->informer = informer_new(&o);
    n->own = informer_new(&own);
    open_uplink(n);
    begin_lease(n);
    begin_rotation(n);
}

struct roots_strike {
    char *dir;
    char *keep;
};

static struct err *roots_strike_work(void *message)
{
    const struct roots_strike *m = message;

    return host_root_strike_others(m->dir, m->keep);
}

static void on_roots_struck(void *message, const struct err *e)
{
    struct roots_strike *m = message;

    if (e)
        LOG(WARN, "root of an earlier node process stays until the next start", E(e));
    free(m->dir);
    free(m->keep);
    free(m);
}

/* Unmounts the roots of earlier node processes, unless the runtime still creates a container that
 * an earlier process began: the next node process does it then. */
static void strike_roots(struct node *n, const struct runtime_container *found, size_t n_found)
{
    struct roots_strike *m = NULL;

    for (size_t i = 0; i < n_found; i++)
        if (found[i].state == RUNTIME_CREATING)
            return;
    m = mem_alloc(sizeof(*m));
    *m = (struct roots_strike){.dir = mem_strdup(n->dir), .keep = mem_strdup(n->rootfs)};
    worker_give(n->worker, roots_strike_work, on_roots_struck, m);
}

/* The node waits for the list: without it, running containers would lose their gpus to others. */
static void on_list(void *arg, const struct err *e, const struct runtime_container *found,
                    size_t n_found)
{
    struct node *n = arg;

    if (e) {
        LOG(ERROR, "containers of this machine cannot be read: no pod starts before", E(e));
        loop_timer_set(n->list_timer, retry_pause(&n->list_retry_ns, RETRY_NS, RETRY_MAX_NS));
        return;
    }
    if (n->o.is_fenced)
        pods_fence(n->pods, lease_file_read(n->dir, n->host.boot_id, loop_now_ns(n->o.loop)));
    strike_roots(n, found, n_found);
    pods_adopt(n->pods, found, n_found);
    open_node(n);
}

static void list_containers(void *arg)
{
    struct node *n = arg;

    n->runtime->ops->list(n->runtime->self, on_list, n);
}

/* ---- start and end ---- */

static void on_partitions(void *arg)
{
    struct node *n = arg;

    tell_modes(n);
}

static struct err *start_partition(void *self, const char *uuid, const struct partition_plan *plan,
                                   void (*done)(void *arg, const struct err *e), void *arg)
{
    const struct node *n = self;

    return partition_run_start(n->o.partition_run, uuid, plan, done, arg);
}

static uint64_t list_number(void *self)
{
    const struct node *n = self;

    return gpu_watch_list_number(n->o.gpus);
}

static struct err *begin_modes(struct node *n)
{
    AUTO_FREE char *dir = mem_format("%s/partitions", n->dir);
    const struct gpu_partitions_options po = {.loop = n->o.loop,
                                              .client = n->o.client,
                                              .node = n->name,
                                              .dir = dir,
                                              .driver = {start_partition, list_number, n},
                                              .changed = on_partitions,
                                              .arg = n};
    struct gpu_modes_options mo = {.sharing = n->o.sharing,
                                   .parted = n->o.parted,
                                   .loop = n->o.loop,
                                   .waited = on_partitions,
                                   .arg = n};

    if (n->o.gpus && n->o.partition_run)
        TRY(gpu_partitions_new(&po, &n->partitions));
    mo.partitions = n->partitions;
    n->modes = gpu_modes_new(&mo);
    return NULL;
}

static struct err *start_check(void *arg, const char *uuid,
                               void (*done)(void *arg, const char *uuid, const struct err *e),
                               void *done_arg)
{
    const struct node *n = arg;

    return gpu_task_check(n->o.gpu_tasks, uuid, done, done_arg);
}

static int64_t gpu_reading_of(void *arg, const char *uuid, enum gpu_field field)
{
    const struct node *n = arg;
    const struct gpu_sample *s = n->o.gpus ? gpu_watch_sample(n->o.gpus, uuid) : NULL;

    return s ? s->value[field] : GPU_VALUE_UNKNOWN;
}

static bool is_gpu_flexible(void *arg, const char *uuid)
{
    const struct node *n = arg;
    size_t count = 0;
    const struct gpu *list = gpu_modes_list(n->modes, &count);

    for (size_t i = 0; i < count; i++)
        if (text_equal(list[i].uuid, uuid))
            return list[i].is_flexible;
    return false;
}

/* The health of a gpu has changed by itself: a check ended. */
static void on_incidents(void *arg)
{
    struct node *n = arg;

    node_gpus_changed(n);
}

static void on_gpu_news(void *arg, const struct gpu_news *news)
{
    const struct node *n = arg;

    if (n->pods)
        pods_tell_gpu(n->pods, news);
}

static struct err *start_reset(void *arg, const char *uuid,
                               void (*done)(void *arg, const struct err *e), void *done_arg)
{
    const struct node *n = arg;

    return partition_run_reset(n->o.partition_run, uuid, done, done_arg);
}

static void begin_resets(struct node *n)
{
    const struct gpu_resets_options o = {.loop = n->o.loop,
                                         .client = n->o.client,
                                         .incidents = n->incidents,
                                         .node = n->name,
                                         .start = start_reset,
                                         .arg = n};

    if (n->o.gpus && n->o.partition_run)
        n->resets = gpu_resets_new(&o);
}

static struct err *begin_incidents(struct node *n)
{
    const struct gpu_incidents_options o = {.loop = n->o.loop,
                                            .dir = n->dir,
                                            .boot_id = n->host.boot_id,
                                            .xids_file = n->o.xids_file,
                                            .check = n->o.gpu_tasks ? start_check : NULL,
                                            .reading = gpu_reading_of,
                                            .is_flexible = is_gpu_flexible,
                                            .changed = on_incidents,
                                            .tell = on_gpu_news,
                                            .arg = n};

    return gpu_incidents_new(&o, &n->incidents);
}

/* In containers of the image `host`; the runtime would make them on the host, too. */
static const char *const mount_targets[] = {GPUSIM_MACHINE_PATH,
                                            SHARE_DIR "/limits",
                                            SHARE_DIR "/state",
                                            SHARE_DIR "/libcuda.so",
                                            SHARE_DIR "/libnvidia-ml.so",
                                            MPS_PIPE_DIR "/",
                                            NULL};

static struct err *begin_cdi(struct node *n)
{
    if (!n->o.cdi_file)
        return NULL;
    TRY(cdi_writer_new(
        &(struct cdi_writer_options){.loop = n->o.loop, .worker = n->worker, .path = n->o.cdi_file},
        &n->cdi));
    write_cdi(n);
    return NULL;
}

/* Containers under the OCI runtime, processes of the host without. */
static struct err *begin_runtime(struct node *n)
{
    AUTO_FREE char *quick = mem_format("%s-slurm", text_or_empty(n->o.self_path));
    const struct runtime_crun_options ro = {.loop = n->o.loop,
                                            .dir = n->dir,
                                            .worker = n->worker,
                                            .forward_worker = n->forward_worker,
                                            .boot_id = n->host.boot_id,
                                            .log_max_bytes = n->o.log_max_bytes,
                                            .program = n->o.runtime};
    const struct runtime_native_options no = {.loop = n->o.loop,
                                              .dir = n->dir,
                                              .mask_dir = n->o.mask_dir ? n->o.mask_dir : n->dir,
                                              .boot_id = n->host.boot_id,
                                              .launcher = file_exists(quick) ? quick : NULL};
    struct runtime *oci = NULL;
    struct runtime *native = NULL;
    struct err *e = NULL;

    TRY(runtime_crun_new(&ro, &oci));
    e = runtime_native_new(&no, &native);
    if (e) {
        runtime_free(oci);
        return e;
    }
    n->runtime = runtime_router_new(oci, native);
    (void)snprintf(n->runtime_version, sizeof(n->runtime_version), "%s://%s", n->runtime->name,
                   n->runtime->version);
    return NULL;
}

static const json_t *find_labels(void *arg)
{
    return json_at(stored_node(arg), "metadata", "labels", NULL);
}

static struct err *node_begin(struct node *n)
{
    struct pods_options po = {.loop = n->o.loop,
                              .client = n->o.client,
                              .api_host = n->o.api_host,
                              .api_port = n->o.api_port,
                              .node = n->name,
                              .dir = n->dir,
                              .host = &n->host,
                              .make_points = host_driver_make,
                              .read_cdi = cdi_request_work,
                              .prepare = prepare_pod,
                              .unprepare = unprepare_pod,
                              .make_stage = stage_make,
                              .strike_stage = stage_strike,
                              .strike_driver = driver_tree_strike,
                              .make_words = last_words_make,
                              .read_words = last_words_read,
                              .find_labels = find_labels,
                              .update_volumes = volume_update,
                              .host_roots = n->o.host_roots,
                              .mask_dir = n->o.mask_dir,
                              .find_gpu = find_gpu,
                              .is_gpu_read = is_gpu_read,
                              .is_health_told = is_health_told,
                              .find_driver = find_driver,
                              .mps = n->o.mps,
                              .share_library_dir = n->o.share_library_dir,
                              .make_share = share_files_make,
                              .on_shares = on_shares,
                              .arg = n};
    struct own_volumes_options volumes = {
        .loop = n->o.loop, .client = n->o.client, .node = n->name, .dir = n->dir};
    const struct host_mounts mounts = {.dir = n->dir,
                                       .mask_dir = n->o.mask_dir ? n->o.mask_dir : n->dir,
                                       .targets = mount_targets};

    TRY(dir_make(n->dir, 0711));
    TRY(begin_modes(n));
    TRY(host_info_read(n->dir, &n->host));
    if (n->o.cpus > 0)
        n->host.cpus = n->o.cpus;
    TRY(begin_incidents(n));
    begin_resets(n);
    TRY(host_enter(&mounts, &n->rootfs));
    po.rootfs = n->rootfs;
    TRY(worker_new(n->o.loop, &n->worker));
    TRY(worker_new(n->o.loop, &n->disk_worker));
    TRY(worker_new(n->o.loop, &n->forward_worker));
    TRY(worker_new(n->o.loop, &n->log_worker));
    TRY(worker_new(n->o.loop, &n->net_worker));
    TRY(begin_nets(n, &po));
    po.disk_worker = n->disk_worker;
    po.measure = disk_usage_measure;
    TRY(begin_runtime(n));
    TRY(pinger_new(n->o.loop, &n->pinger));
    TRY(begin_images(n, &po));
    po.worker = n->worker;
    volumes.worker = n->worker;
    po.pinger = n->pinger;
    po.runtime = n->runtime;
    TRY(begin_cdi(n));
    n->pods = pods_new(&po);
    n->volumes = own_volumes_new(&volumes);
    if (n->o.mps)
        mps_watch_listen(n->o.mps, on_mps, n);
    if (n->o.shares)
        share_watch_listen(n->o.shares, on_share_over, n);
    list_containers(n);
    return NULL;
}

struct err *node_new(const struct node_options *o, struct node **ret)
{
    struct node *n = mem_alloc(sizeof(*n));
    struct err *e = NULL;

    n->o = *o;
    if (n->o.log_max_bytes == 0)
        n->o.log_max_bytes = LOG_BYTES_DEFAULT;
    if (n->o.log_max_files == 0)
        n->o.log_max_files = LOG_FILES_DEFAULT;
    n->name = mem_strdup(o->name);
    n->dir = mem_strdup(o->dir);
    n->began_ns = loop_wall_ns(o->loop);
    begin_report(n);
    n->list_timer = loop_timer_new(o->loop, list_containers, n);
    e = node_begin(n);
    if (e) {
        node_free(n);
        return err_wrap(e, "start the node");
    }
    *ret = n;
    return NULL;
}

void node_free(struct node *n)
{
    if (!n)
        return;
    informer_free(n->informer);
    informer_free(n->own);
    lease_free(n->lease);
    uplink_free(n->uplink);
    stats_free(n->stats);
    logs_free(n->logs);
    sessions_free(n->sessions);
    node_report_stop(n->report);
    pods_end_disk(n->pods);
    worker_free(n->log_worker);
    rotation_free(n->rotation);
    worker_free(n->disk_worker);
    worker_free(n->forward_worker);
    worker_free(n->net_worker); /* finishes its jobs, and tells the networks */
    worker_free(n->worker);     /* finishes its jobs, and tells the pods */
    own_volumes_free(n->volumes);
    node_images_stop(n->images);
    pods_free(n->pods);
    net_services_free(n->services);
    pod_nets_free(n->nets);
    node_images_free(n->images);
    pinger_free(n->pinger);
    cdi_writer_free(n->cdi);
    runtime_free(n->runtime);
    gpu_modes_free(n->modes);
    gpu_resets_free(n->resets);
    gpu_incidents_free(n->incidents);
    gpu_partitions_free(n->partitions);
    drop_holdings(n);
    vec_done(&n->holdings);
    gpu_samples_done(&n->samples);
    node_report_free(n->report);
    loop_timer_free(n->list_timer);
    free(n->rootfs);
    free(n->dir);
    free(n->name);
    free(n);
}
