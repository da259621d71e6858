/* server_linux.c - the role `mete server`: store, control loops and API, as a user without
 * privileges */

#include <arpa/inet.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "access/audit_files_linux.h"
#include "access/keyring.h"
#include "access/passwd_linux.h"
#include "api/api.h"
#include "api/hook_calls.h"
#include "base/file.h"
#include "base/log.h"
#include "base/loop_linux.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/vec.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/role/learning.h"
#include "cli/role/process_metrics.h"
#include "cli/role/role_linux.h"
#include "cli/role/slurm_files.h"
#include "cli/role/up.h"
#include "control/control.h"
#include "control/slurm/slurm_config.h"
#include "kinds/admission/admission.h"
#include "kinds/custom/custom_kinds.h"
#include "kinds/object/objects.h"
#include "kinds/service/service.h"
#include "kinds/slurm/slurm_rows.h"
#include "meter/exporter/exporter.h"
#include "meter/meter.h"
#include "meter/rollup.h"
#include "meter/wall.h"
#include "node/net/net_config.h"
#include "page/jobs_report.h"
#include "page/page.h"
#include "page/ps_report.h"
#include "slurm/rest.h"
#include "store/storage.h"
#include "store/store.h"

enum {
    CA_FILE_MAX = 64 << 10
};

struct server {
    struct role role; /* loop, lifeline, signals */
    struct slurm_rest rest;
    struct audit_files *audit;
    struct keyring *keyring;
    struct key_rotation rotation;
    struct storage *storage;
    struct store *store;
    struct custom_kinds *custom_kinds;
    struct admission *admission;
    struct hook_calls *hook_calls;
    struct objects *objects;
    struct control *control;
    struct slurm_config *slurm_config;
    struct learning *learning;
    struct api *api;
    struct meter *meter;
    struct exporter *exporter;
    struct metrics_maker metrics;
    bool has_metrics;  /* ROLE_FD_METRICS is a listening socket */
    struct page *page; /* NULL: off */
    struct jobs_index *jobs;
    struct api_view views[4];         /* borrowed by the api */
    VEC(struct report_maker) reports; /* borrowed by the api */
    const char *prices[3];            /* borrowed by the meter */
    char *own_prices;
    struct host_roots host_roots;
    struct network_tiers network_tiers;
    const char *scheduler_names; /* value of the flag */
    struct ip4_net pod_network;  /* {0}: off */
    struct ip4_net service_network;
    char gateway[IP4_TEXT_SIZE]; /* of the pod network */
    unsigned api_port;
    char *dir;
    char *pki;
    char *users;
    char *nodes_file;
    char *slurm_conf; /* path; "": none */
};

/* Frees from the API downwards: no request is answered from freed parts. */
static void server_done(struct server *s)
{
    api_free(s->api);
    page_free(s->page);
    jobs_index_free(s->jobs);
    meter_free(s->meter);
    learning_free(s->learning);
    slurm_config_free(s->slurm_config);
    control_free(s->control);
    exporter_free(s->exporter);
    s->exporter = NULL;
    admission_free(s->admission);
    custom_kinds_free(s->custom_kinds);
    store_free(s->store);
    objects_free(s->objects);
    hook_calls_free(s->hook_calls);
    storage_free(s->storage);
    keyring_free(s->keyring);
    audit_files_free(s->audit);
    role_done(&s->role);
    host_roots_done(&s->host_roots);
    network_tiers_done(&s->network_tiers);
    vec_done(&s->reports);
    free(s->dir);
    free(s->pki);
    free(s->users);
    free(s->nodes_file);
    free(s->own_prices);
    free(s->slurm_conf);
}

static void on_fatal(void *arg, const struct err *e)
{
    struct server *s = arg;

    role_fail(&s->role, err_wrap(err_new(err_code(e), "%s", err_message(e)),
                                 "the data directory's disk failed"));
}

static void make_random(void *arg, void *ret, size_t size)
{
    (void)arg;
    random_bytes(ret, size);
}

/* Raises the soft limit of descriptors to the hard limit, which the administrator sets: each
 * connection needs one. */
static void raise_descriptors(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur == limit.rlim_max)
        return;
    limit.rlim_cur = limit.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &limit) < 0)
        LOG(WARN, "the limit of open files was not raised");
}

static bool is_listening(int fd)
{
    int is = 0;
    socklen_t size = sizeof(is);

    return getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &is, &size) == 0 && is;
}

/* 0: not known. */
static unsigned port_of_tls(void)
{
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } address = {.v6 = {0}};
    socklen_t size = sizeof(address);

    if (getsockname(ROLE_FD_TLS, &address.any, &size) < 0)
        return 0;
    return ntohs(address.any.sa_family == AF_INET6 ? address.v6.sin6_port : address.v4.sin_port);
}

static void server_on_sync(void *arg, int64_t ns)
{
    const struct server *s = arg;

    if (s->exporter)
        exporter_observe(s->exporter, OBSERVED_SYNC, NULL, ns, NULL);
}

static struct err *rotation_begin(void *self)
{
    struct server *s = self;

    TRY(keyring_ask(s->keyring));
    storage_reseal(s->storage);
    return NULL;
}

static struct keyring_state rotation_state(void *self)
{
    return keyring_state(((struct server *)self)->keyring);
}

/* Reads the store. Secrets that the key does not open end the start; a new key is in its file
 * before the first write. */
static struct err *read_store(struct server *s, struct storage_sqlite_options *storage,
                              struct store_options *store)
{
    AUTO_FREE char *key = mem_format("%s/secrets.key", s->dir);

    TRY(keyring_open(key, &s->keyring));
    storage->seal = keyring_seal(s->keyring);
    TRY(storage_sqlite_new(storage, &s->storage));
    store->storage = s->storage;
    TRY(store_open(store, &s->store));
    TRY(keyring_keep(s->keyring));
    if (keyring_is_stale(s->keyring))
        storage_reseal(s->storage);
    s->rotation =
        (struct key_rotation){.begin = rotation_begin, .state = rotation_state, .self = s};
    return NULL;
}

static struct err *open_store(struct server *s)
{
    AUTO_FREE char *audit_dir = mem_format("%s/audit", s->dir);
    const struct audit_files_options audit = {.dir = audit_dir};
    struct storage_sqlite_options storage = {
        .loop = s->role.loop, .dir = s->dir, .is_threaded = true};
    struct store_options store = {.loop = s->role.loop,
                                  .on_fatal = on_fatal,
                                  .arg = s,
                                  .on_sync = server_on_sync,
                                  .sync_arg = s};
    struct objects_options objects = {.loop = s->role.loop,
                                      .random = make_random,
                                      .host_roots = &s->host_roots,
                                      .find_user = passwd_find_user,
                                      .is_member = passwd_is_member,
                                      .network_tiers = &s->network_tiers};

    TRY(audit_files_open(&audit, &s->audit));
    storage.notes = audit_files_notes(s->audit);
    TRY(read_store(s, &storage, &store));
    objects.store = s->store;
    objects.service_network = s->service_network;
    if (s->pod_network.bits > 0)
        s->api_port = port_of_tls();
    s->objects = objects_new(&objects);
    TRY(custom_kinds_new(s->store, &s->custom_kinds));
    TRY(admission_new(s->store, &s->admission));
    s->hook_calls = hook_calls_new(s->role.loop);
    objects_set_admission(s->objects, s->admission, hook_calls_caller(s->hook_calls));
    return NULL;
}

/* Opens the meter: samples, usage and prices. */
static void open_meter(struct server *s)
{
    const struct meter_options o = {
        .loop = s->role.loop, .objects = s->objects, .prices_files = s->prices};

    s->prices[0] = s->own_prices;
    s->prices[1] = "/etc/mete/prices.yaml";
    s->meter = meter_new(&o);
    s->exporter = exporter_new(s->meter);
    s->metrics = (struct metrics_maker){.make = exporter_make, .arg = s->exporter};
    s->views[2] = (struct api_view){.kind = kind_find("metrics.k8s.io", "pods"),
                                    .list = meter_pods,
                                    .get = meter_pod,
                                    .arg = s->meter};
    s->views[3] = (struct api_view){.kind = kind_find("metrics.k8s.io", "nodes"),
                                    .list = meter_nodes,
                                    .get = meter_node,
                                    .arg = s->meter};
    vec_add(&s->reports, (struct report_maker){.path = "/apis/mete.dev/v1/usage",
                                               .begin = meter_usage,
                                               .cancel = meter_cancel,
                                               .arg = s->meter});
    vec_add(&s->reports, (struct report_maker){.path = "/apis/mete.dev/v1/accounting",
                                               .begin = meter_rows,
                                               .cancel = meter_cancel,
                                               .arg = s->meter});
    vec_add(&s->reports, (struct report_maker){.path = "/apis/mete.dev/v1/advice",
                                               .begin = meter_advice,
                                               .cancel = meter_cancel,
                                               .arg = s->meter});
    vec_add(&s->reports, (struct report_maker){.path = ROLLUP_REPORT_PATH,
                                               .begin = meter_rollup,
                                               .cancel = meter_cancel,
                                               .arg = s->meter});
}

/* `url` "": no web page. */
static void open_page(struct server *s, const char *url, const char *host_name)
{
    const char *colon = strrchr(url, ':');
    struct page_options o = {.loop = s->role.loop,
                             .store = s->store,
                             .random = make_random,
                             .host_name = text_or_empty(host_name),
                             .url = url};
    int64_t port = 0;

    s->jobs = jobs_index_new(s->role.loop, s->objects);
    jobs_index_set_use(s->jobs, (struct jobs_use){.of = meter_pod_use, .arg = s->meter});
    vec_add(&s->reports, (struct report_maker){.path = JOBS_REPORT_PATH,
                                               .begin = jobs_report_begin,
                                               .cancel = jobs_report_cancel,
                                               .arg = s->jobs});
    vec_add(&s->reports, (struct report_maker){.path = PS_REPORT_PATH,
                                               .begin = ps_report_begin,
                                               .cancel = ps_report_cancel,
                                               .arg = s->jobs});
    if (!colon)
        return;
    err_free(num_parse_int64(str_of(colon + 1), 0, UINT16_MAX, &port)); /* of `mete up` */
    o.port = (unsigned)port;
    s->page = page_new(&o);
}

static char *make_link(void *arg, const struct api_request *r, const char *user)
{
    return page_make_link(arg, r, user);
}

/* Makes views, reports and metrics of what the control loops know. */
static void wire_control(struct server *s)
{
    exporter_add_source(s->exporter,
                        (struct metrics_source){.write = process_metrics_write, .arg = s->dir});
    exporter_add_source(s->exporter,
                        (struct metrics_source){.write = control_write_metrics, .arg = s->control});
    exporter_set_devices(s->exporter,
                         (struct device_table){.each = control_each_device, .arg = s->control});
    meter_set_devices(s->meter, (struct device_table){.each = control_each_device,
                                                      .each_node = control_each_node,
                                                      .arg = s->control});
    s->views[0] = (struct api_view){.kind = kind_find("mete.dev", "workloads"),
                                    .list = control_workloads,
                                    .get = control_workload,
                                    .arg = s->control};
    s->views[1] = (struct api_view){.kind = kind_find("mete.dev", "gpus"),
                                    .list = control_gpus,
                                    .get = control_gpu,
                                    .arg = s->control};
    vec_add(&s->reports, (struct report_maker){.path = "/apis/mete.dev/v1/history",
                                               .begin = meter_history,
                                               .cancel = meter_cancel,
                                               .arg = s->meter});
    vec_add(&s->reports, (struct report_maker){.path = WALL_REPORT_PATH,
                                               .begin = meter_wall,
                                               .cancel = meter_cancel,
                                               .arg = s->meter});
    vec_add(&s->reports, (struct report_maker){.path = "/apis/mete.dev/v1/waiting",
                                               .begin = control_waiting_begin,
                                               .cancel = control_waiting_cancel,
                                               .arg = s->control});
    vec_add(&s->reports, (struct report_maker){.path = SLURM_REPORT_PATH,
                                               .begin = control_slurm_begin,
                                               .stamp = control_slurm_stamp,
                                               .cancel = control_slurm_cancel,
                                               .arg = s->control});
    vec_add(&s->reports, (struct report_maker){.path = "/apis/mete.dev/v1/recording",
                                               .begin = control_recording,
                                               .cancel = control_cancel_recording,
                                               .arg = s->control});
    vec_add(&s->reports, (struct report_maker){.path = "/apis/mete.dev/v1/free",
                                               .begin = control_free_begin,
                                               .cancel = control_free_cancel,
                                               .arg = s->control});
    vec_add(&s->reports, (struct report_maker){.path = "/apis/mete.dev/v1/what-if",
                                               .begin = control_what_if_begin,
                                               .cancel = control_what_if_cancel,
                                               .arg = s->control});
}

static struct err *open_doors(struct server *s, const struct cli *c)
{
    AUTO_FREE char *ca_path = mem_format("%s/ca.crt", s->pki);
    AUTO(buf_done) struct buf ca = {0};
    struct control_options control = {
        .loop = s->role.loop, .store = s->store, .policy = "mete", .objects = s->objects};
    const char *metrics_tls = flag_text(c->in, "metrics-tls");
    const struct http_door page = {.fd = ROLE_FD_PAGE,
                                   .is_tls =
                                       text_starts_with(flag_text(c->in, "page-url"), "https:"),
                                   .handle = page_handle,
                                   .arg = s->page};
    struct api_options api = {
        .loop = s->role.loop,
        .store = s->store,
        .objects = s->objects,
        .unix_fd = ROLE_FD_UNIX,
        .tls_fd = ROLE_FD_TLS,
        .pods_fd = is_listening(ROLE_FD_PODS) ? ROLE_FD_PODS : 0,
        .pki_dir = s->pki,
        .users_file = s->users,
        .nodes_file = s->nodes_file,
        .views = s->views,
        .n_views = COUNT(s->views),
        .take_stats = meter_take_stats,
        .stats_arg = s->meter,
        .metrics = &s->metrics,
        .metrics_fd = s->has_metrics ? ROLE_FD_METRICS : -1,
        .has_metrics_tls = !text_equal(metrics_tls, "off"),
        .metrics_pki_dir = metrics_tls[0] == '/' ? metrics_tls : NULL,
        .hook_caller = hook_calls_caller(s->hook_calls),
        .audit = audit_files_log(s->audit),
        .rotation = &s->rotation,
        .audits_reads = text_equal(flag_text(c->in, "audit-reads"), "all"),
        .page = s->page ? &page : NULL,
        .make_link = s->page ? make_link : NULL,
        .link_arg = s->page,
        .rest = slurm_rest_handle,
        .rest_arg = &s->rest,
    };

    TRY(num_parse_duration(str_of(flag_text(c->in, "audit-keep")), &api.audit_keep_ns));
    TRY(file_read(ca_path, CA_FILE_MAX, &ca));
    control.ca = ca.at;
    control.scheduler_names = s->scheduler_names;
    control.service_network = s->service_network;
    control.gateway = s->pod_network.bits > 0 ? s->gateway : NULL;
    control.api_port = s->api_port;
    control.gpu_sample = meter_gpu_sample;
    control.container_gpu = meter_container_gpu;
    control.container_load = meter_container_load;
    control.gpu_sample_arg = s->meter;
    control.observer = (struct observer){.took = exporter_observe, .arg = s->exporter};
    TRY(control_new(&control, &s->control));
    wire_control(s);
    api.reports = s->reports.at; /* the list is complete */
    api.n_reports = s->reports.n;
    TRY(api_new(&api, &s->api));
    s->rest = (struct slurm_rest){.api = {api_handle, s->api}, .loop = s->role.loop};
    if (s->page)
        page_serve(s->page, api_handle, s->api);
    return NULL;
}

/* Before the server serves: no job is submitted to a partition that is not there yet. */
static struct err *open_slurm_config(struct server *s)
{
    const struct slurm_config_options o = {.loop = s->role.loop,
                                           .objects = s->objects,
                                           .read = slurm_files_read,
                                           .arg = s->slurm_conf};

    return slurm_config_new(&o, &s->slurm_config);
}

static struct err *open_learning(struct server *s, const struct cli *c)
{
    AUTO_FREE char *dir = mem_format("%s/learned", s->dir);
    struct learning_options o = {.loop = s->role.loop,
                                 .control = s->control,
                                 .dir = dir,
                                 .self_path = c->self_path,
                                 .after = flag_count(c->in, "learn-after", 0)};

    TRY(num_parse_duration(str_of(flag_text(c->in, "learn-every")), &o.every_ns));
    s->learning = learning_new(&o);
    return NULL;
}

static struct err *server_run(struct cli *c)
{
    struct server s = {0};
    const char *data = flag_text(c->in, "data");
    struct err *e;

    s.dir = mem_format("%s/server", data);
    s.pki = mem_format("%s/pki", s.dir);
    s.users = mem_format("%s/users.yaml", s.dir);
    s.nodes_file = mem_format("%s/nodes.yaml", data);
    s.own_prices = mem_format("%s/prices.yaml", data);
    e = role_init(&s.role, c, "server");
    if (!e)
        e = role_host_roots(c, &s.host_roots);
    if (!e)
        e = network_tiers_parse(flag_text(c->in, "network-tiers"), &s.network_tiers);
    if (!e)
        e = pod_network_parse(flag_text(c->in, "pod-network"), &s.pod_network);
    if (!e)
        e = service_network_parse(flag_text(c->in, "service-network"), &s.service_network);
    ip4_format(net_gateway(s.pod_network), s.gateway);
    s.has_metrics = flag_switch(c->in, "has-metrics");
    s.scheduler_names = flag_text(c->in, "scheduler-names");
    s.slurm_conf = mem_strdup(flag_text(c->in, "slurm-conf"));
    raise_descriptors();
    if (!e)
        e = open_store(&s);
    if (!e) {
        open_meter(&s);
        open_page(&s, flag_text(c->in, "page-url"), flag_text(c->in, "name"));
        e = open_doors(&s, c);
    }
    if (!e)
        e = open_slurm_config(&s);
    if (!e)
        e = open_learning(&s, c);
    if (!e)
        e = role_ready(&s.role, ROLE_READY_SERVER);
    if (!e)
        e = role_run(&s.role);
    server_done(&s);
    return e;
}

const struct command command_server = {
    .name = "server",
    .summary = "the API, the store and the scheduler: started by mete up",
    .examples = {{"up", "starts it"}, {"down", "ends it"}, {0}},
    .flags = role_flags,
    .is_hidden = true,
    .run = server_run,
};
