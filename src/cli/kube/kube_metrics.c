/* kube_metrics.c - the page /metrics of `mete kube node` */

#include "cli/kube/kube_metrics.h"

#include "api/metrics.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/num.h"
#include "cli/role/data_dir.h"
#include "http/http.h"
#include "meter/exporter/exporter.h"

struct kube_metrics {
    struct kube_metrics_options o;
    char *node;
    struct exporter *exporter;
    struct metrics_maker maker;
    struct http_server *server;
};

/* ---- the table of gpus ---- */

static void each_gpu(void *arg, device_row_fn fn, void *fn_arg)
{
    const struct kube_metrics *m = arg;
    const struct gpu_driver_info *info = gpu_watch_info(m->o.gpus);
    const struct pod_resource_list *pods = kube_pods_list(m->o.pods);
    AUTO_FREE struct device_holder *holders = mem_alloc((pods->all.n + 1) * sizeof(*holders));
    AUTO_FREE struct device *devices = mem_alloc((pods->all.n + 1) * sizeof(*devices));
    size_t n = 0;
    const struct gpu *list = m->o.list(m->o.arg, &n);

    for (size_t i = 0; i < n; i++) {
        struct device_row row = {.node = m->node,
                                 .driver = info ? info->driver_version : "",
                                 .takes_pods = true,
                                 .gpu = &list[i],
                                 .holders = holders};

        VEC_EACH (&pods->all, r) {
            struct device *d = &devices[row.n_holders];

            if (kube_pods_device(&list[i], r->uuid, d))
                holders[row.n_holders++] = (struct device_holder){.ns = r->ns,
                                                                  .pod = r->pod,
                                                                  .container = r->container,
                                                                  .user = "",
                                                                  .queue = "",
                                                                  .device = d};
        }
        fn(fn_arg, &row);
    }
}

static const struct gpu_sample *sample_of(void *arg, const char *uuid)
{
    const struct kube_metrics *m = arg;
    size_t n = 0;
    const struct gpu *list = gpu_watch_list(m->o.gpus, &n);
    const struct gpu_sample *whole = gpu_watch_sample(m->o.gpus, uuid);

    for (size_t i = 0; i < n && !whole; i++) {
        size_t n_slices = 0;
        const struct gpu_sample *slices = gpu_watch_slices(m->o.gpus, i, &n_slices);

        for (size_t k = 0; k < n_slices; k++)
            if (list && text_equal(slices[k].uuid, uuid))
                return &slices[k];
    }
    return whole;
}

/* ---- outside ---- */

static struct err *address_read(const char *address, char **ret_host, unsigned *ret_port)
{
    const char *colon = strrchr(address, ':');
    int64_t port = 0;
    struct err *e = colon ? num_parse_int64(str_of(colon + 1), 0, UINT16_MAX, &port) : NULL;

    if (!colon || colon == address || e) {
        err_free(e);
        return err_new(ERR_INVALID, "--metrics wants HOST:PORT, not \"%s\"", address);
    }
    *ret_host = mem_strndup(address, (size_t)(colon - address));
    *ret_port = (unsigned)port;
    return NULL;
}

static struct err *metrics_listen(struct kube_metrics *m, unsigned *ret_port)
{
    AUTO_FREE char *host = NULL;
    AUTO(fd_closep) int fd = -1;
    unsigned port = 0;
    struct http_door door = {.handle = metrics_handle, .arg = &m->maker};
    struct http_options o = {
        .loop = m->o.loop, .unix_fd = -1, .tls_fd = -1, .doors = &door, .n_doors = 1};

    TRY(address_read(m->o.address, &host, &port));
    TRY(listen_tcp(host, port, &fd, ret_port));
    door.fd = fd_take(&fd);
    return http_server_new(&o, &m->server);
}

struct err *kube_metrics_new(const struct kube_metrics_options *o, struct kube_metrics **ret,
                             unsigned *ret_port)
{
    struct kube_metrics *m = mem_alloc(sizeof(*m));
    struct err *e = NULL;

    *m = (struct kube_metrics){.o = *o, .node = mem_strdup(o->node)};
    m->exporter = exporter_new_local(sample_of, m);
    exporter_set_devices(m->exporter, (struct device_table){.each = each_gpu, .arg = m});
    m->maker = (struct metrics_maker){.make = exporter_make, .arg = m->exporter};
    e = metrics_listen(m, ret_port);
    if (e) {
        kube_metrics_free(m);
        return e;
    }
    *ret = m;
    return NULL;
}

void kube_metrics_free(struct kube_metrics *m)
{
    if (!m)
        return;
    http_server_free(m->server);
    exporter_free(m->exporter);
    free(m->node);
    free(m);
}
