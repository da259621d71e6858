/* names.c - names of Services, and resolv.conf */

#include "node/net/names.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/vec.h"
#include "kinds/service/service.h"
#include "model/ip4.h"

#define SERVICE_LABEL "kubernetes.io/service-name"

enum {
    NAMESERVERS_MAX = 3,
    RESOLV_CAP = 64 << 10
};

typedef VEC(char *) lines;

static void add_line(lines *list, const char *address, const char *prefix, const json_t *service)
{
    const json_t *metadata = json_object_get(service, "metadata");
    uint32_t value = 0;
    AUTO(err_freep) struct err *e = ip4_parse(text_or_empty(address), &value);

    if (!e)
        vec_add(list, mem_format("%s %s%s%s.%s.svc." CLUSTER_DOMAIN "\n", address, prefix,
                                 *prefix ? "." : "", text_or_empty(json_text(metadata, "name")),
                                 text_or_empty(json_text(metadata, "namespace"))));
}

/* "10-244-0-2" for an endpoint without a host name. The caller frees it. */
static char *dashed(const char *address)
{
    char *copy = mem_strdup(address);

    for (char *at = copy; *at; at++)
        if (*at == '.')
            *at = '-';
    return copy;
}

static void add_endpoints(lines *list, const json_t *service, const json_t *slice)
{
    const json_t *endpoint = NULL;
    size_t i = 0;

    json_array_foreach (json_object_get(slice, "endpoints"), i, endpoint) {
        const json_t *ready = json_at(endpoint, "conditions", "ready", NULL);
        const char *address =
            json_string_value(json_array_get(json_object_get(endpoint, "addresses"), 0));
        const char *hostname = json_text_filled(endpoint, "hostname");
        AUTO_FREE char *other = NULL;

        if (!address || json_is_false(ready))
            continue;
        other = hostname ? NULL : dashed(address);
        add_line(list, address, "", service);
        add_line(list, address, hostname ? hostname : other, service);
    }
}

static bool is_of(const json_t *slice, const json_t *service)
{
    const json_t *metadata = json_object_get(service, "metadata");

    return text_equal(json_text_at(slice, "metadata", "labels", SERVICE_LABEL, NULL),
                      json_text(metadata, "name")) &&
           text_equal(json_text_at(slice, "metadata", "namespace", NULL),
                      json_text(metadata, "namespace"));
}

static int by_text(const void *a, const void *b)
{
    const char *const *x = a;
    const char *const *y = b;

    return strcmp(*x, *y);
}

void names_format(const struct names_input *in, struct buf *out)
{
    lines list = {0};

    for (size_t i = 0; i < in->n_services; i++) {
        const json_t *service = in->services_at[i];

        if (service_has_address(service))
            add_line(&list, json_text_at(service, "spec", "clusterIP", NULL), "", service);
        for (size_t k = 0; service_is_headless(service) && k < in->n_slices; k++)
            if (is_of(in->slices_at[k], service))
                add_endpoints(&list, service, in->slices_at[k]);
    }
    if (list.n > 1)
        qsort(list.at, list.n, sizeof(*list.at), by_text);
    for (size_t i = 0; i < list.n; i++)
        if (i == 0 || !text_equal(list.at[i - 1], list.at[i]))
            buf_add_text(out, list.at[i]);
    VEC_EACH (&list, line)
        free(*line);
    vec_done(&list);
}

/* ---- resolv.conf ---- */

static void add_servers(const json_t *config, const char *server, struct buf *out)
{
    const json_t *item = NULL;
    size_t n = server ? 1 : 0;
    size_t i = 0;

    if (server)
        buf_printf(out, "nameserver %s\n", server);
    json_array_foreach (json_object_get(config, "nameservers"), i, item)
        if (n++ < NAMESERVERS_MAX)
            buf_printf(out, "nameserver %s\n", text_or_empty(json_string_value(item)));
}

static void add_searches(const json_t *pod, const json_t *config, bool is_cluster, struct buf *out)
{
    const char *ns = text_or_empty(json_text_at(pod, "metadata", "namespace", NULL));
    const json_t *list = json_object_get(config, "searches");
    const json_t *item = NULL;
    size_t i = 0;

    if (!is_cluster && json_array_size(list) == 0)
        return;
    buf_add_text(out, "search");
    if (is_cluster)
        buf_printf(out, " %s.svc." CLUSTER_DOMAIN " svc." CLUSTER_DOMAIN " " CLUSTER_DOMAIN, ns);
    json_array_foreach (list, i, item)
        buf_printf(out, " %s", text_or_empty(json_string_value(item)));
    buf_add_char(out, '\n');
}

static void add_options(const json_t *config, bool is_cluster, struct buf *out)
{
    const json_t *list = json_object_get(config, "options");
    bool has_ndots = false;
    const json_t *item = NULL;
    size_t i = 0;

    json_array_foreach (list, i, item)
        has_ndots = has_ndots || text_equal(json_text(item, "name"), "ndots");
    if (json_array_size(list) == 0 && !is_cluster)
        return;
    buf_add_text(out, "options");
    if (is_cluster && !has_ndots)
        buf_add_text(out, " ndots:5");
    json_array_foreach (list, i, item) {
        const char *value = json_text_filled(item, "value");

        buf_printf(out, " %s%s%s", text_or_empty(json_text(item, "name")), value ? ":" : "",
                   text_or_empty(value));
    }
    buf_add_char(out, '\n');
}

char *names_resolv(const json_t *pod, const char *server, bool *ret_is_more)
{
    const json_t *spec = json_object_get(pod, "spec");
    const json_t *config = json_object_get(spec, "dnsConfig");
    const char *policy = json_text(spec, "dnsPolicy");
    bool is_host = json_bool(spec, "hostNetwork", false);
    bool is_cluster = server && (text_equal(policy, "ClusterFirstWithHostNet") ||
                                 (!is_host && (!policy || text_equal(policy, "ClusterFirst"))));
    struct buf out = {.cap = RESOLV_CAP};

    *ret_is_more = !is_cluster && !text_equal(policy, "None");
    add_servers(config, is_cluster ? server : NULL, &out);
    add_searches(pod, config, is_cluster, &out);
    add_options(config, is_cluster, &out);
    return buf_steal(&out);
}
