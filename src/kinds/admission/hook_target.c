/* hook_target.c - from a client configuration to an address */

#include "kinds/admission/hook_target.h"

#include <inttypes.h>

#include "base/mem.h"
#include "kinds/kind/fields.h"
#include "kinds/kind/value.h"
#include "kinds/object/objects.h"
#include "kinds/service/service.h"
#include "model/names.h"

#define SERVICE_LABEL "kubernetes.io/service-name"

enum {
    PORT_DEFAULT = 443,
    PORT_MAX = 65535
};

static const struct field service_fields[] = {
    F_STRING("namespace", "The namespace of the Service.", .is_required = true, .size_max = 63),
    F_STRING("name", "The name of the Service.", .is_required = true, .size_max = 63),
    F_STRING("path", "The path of the URL.", .size_max = 4096),
    F_INT("port", "The port of the Service.", .min = 1, .max = PORT_MAX),
    F_END,
};

const struct field hook_client_fields[] = {
    F_STRING("url", "The webhook's address: https://host:port/path.", .size_max = 4096),
    F_OBJECT("service", service_fields, "The Service in front of the webhook."),
    F("caBundle", FIELD_BYTES, "PEM of the authorities that sign the webhook's certificate.",
      .size_max = 1 << 20),
    F_END,
};

void hook_client_set_defaults(json_t *client)
{
    json_t *service = json_object_get(client, "service");

    if (service && !json_object_get(service, "port"))
        json_put_int(service, "port", PORT_DEFAULT);
}

/* ---- checks ---- */

static void check_url(const char *url, const struct path *at, struct causes *causes)
{
    static const char form[] = "; desired format: https://host[/path]";
    AUTO_FREE char *detail = NULL;

    if (!text_starts_with(url, "https://"))
        detail = mem_format("'https' is the only allowed URL scheme%s", form);
    else if (url[8] == '\0' || url[8] == '/')
        detail = mem_format("host must be specified%s", form);
    else if (strchr(url, '#'))
        detail = mem_format("fragments are not permitted in the URL%s", form);
    else if (strchr(url, '?'))
        detail = mem_format("query parameters are not permitted in the URL%s", form);
    else if (memchr(url + 8, '@', strcspn(url + 8, "/")))
        detail = mem_format("user information is not permitted in the URL%s", form);
    else if (strpbrk(url, " \t\r\n"))
        detail = mem_format("url must be a valid URL%s", form);
    if (detail)
        cause_invalid(causes, at, url, detail);
}

static void check_service(const json_t *service, const struct path *at, struct causes *causes)
{
    const char *path = json_text_filled(service, "path");

    if (!json_text_filled(service, "name"))
        cause_required(causes, PATH(at, "name"), "service name is required");
    if (!json_text_filled(service, "namespace"))
        cause_required(causes, PATH(at, "namespace"), "service namespace is required");
    if (path && (*path != '/' || strpbrk(path, " \t\r\n?#")))
        cause_invalid(causes, PATH(at, "path"), path, "must start with a '/' and be a plain path");
}

void hook_client_check(const json_t *client, const struct path *at, struct causes *causes)
{
    const char *url = json_text_filled(client, "url");
    const json_t *service = json_object_get(client, "service");

    if (!url == !service)
        cause_required(causes, at, "exactly one of url or service is required");
    else if (url)
        check_url(url, PATH(at, "url"), causes);
    else
        check_service(service, PATH(at, "service"), causes);
}

/* ---- addresses ---- */

void hook_target_done(struct hook_target *t)
{
    free(t->url);
    free(t->connect);
    free(t->ca);
    *t = (struct hook_target){0};
}

void hook_target_set_ca(struct hook_target *t, const char *bundle)
{
    struct buf out = {0};

    if (!bundle || !*bundle)
        return;
    base64_decode(str_of(bundle), &out);
    t->ca = buf_steal(&out);
}

static struct err *read_object(const struct store *s, const char *resource, const char *ns,
                               const char *name, json_t **ret)
{
    const struct store_object *o =
        store_get(s, (struct store_key){.group = "", .resource = resource, .ns = ns, .name = name});

    if (!o)
        return err_new(ERR_UNAVAILABLE, "%s \"%s\" not found", resource, name);
    return json_parse(o->bytes, ret);
}

/* The name of the Service's port `number`. False: it has no such port. */
static bool find_port(const json_t *service, int64_t number, const char **ret)
{
    const json_t *ports = json_at(service, "spec", "ports", NULL);

    for (size_t i = 0; i < json_array_size(ports); i++) {
        const json_t *port = json_array_get(ports, i);

        if (json_int(port, "port", 0) != number)
            continue;
        *ret = text_or_empty(json_text(port, "name"));
        return true;
    }
    return false;
}

static int64_t number_of_port(const json_t *ports, const char *name)
{
    for (size_t i = 0; i < json_array_size(ports); i++)
        if (text_equal(text_or_empty(json_text(json_array_get(ports, i), "name")), name))
            return json_int(json_array_get(ports, i), "port", 0);
    return 0;
}

static char *join_address(const char *address, int64_t port)
{
    bool is_v6 = strchr(address, ':') != NULL;

    return mem_format("%s%s%s:%" PRId64, is_v6 ? "[" : "", address, is_v6 ? "]" : "", port);
}

/* The first ready endpoint of a slice; NULL: none. */
static char *slice_address(const json_t *slice, const char *port_name)
{
    const json_t *endpoints = json_object_get(slice, "endpoints");
    int64_t port = number_of_port(json_object_get(slice, "ports"), port_name);

    for (size_t i = 0; port > 0 && i < json_array_size(endpoints); i++) {
        const json_t *one = json_array_get(endpoints, i);
        const json_t *addresses = json_object_get(one, "addresses");

        if (json_bool(json_object_get(one, "conditions"), "ready", true) &&
            json_array_size(addresses) > 0)
            return join_address(json_string_value(json_array_get(addresses, 0)), port);
    }
    return NULL;
}

static char *find_slice_address(const struct store *s, const char *ns, const char *name,
                                const char *port_name)
{
    const struct store_range range = {
        .group = "discovery.k8s.io", .resource = "endpointslices", .ns = ns};
    const struct store_object *o = NULL;

    while ((o = store_next(s, &range, o ? &o->key : NULL))) {
        AUTO(json_freep) json_t *slice = NULL;
        AUTO(err_freep) struct err *e = NULL;
        char *address;

        if (!memmem(o->bytes.at, o->bytes.size, name, strlen(name)))
            continue;
        e = json_parse(o->bytes, &slice);
        if (e || !text_equal(json_text_at(slice, "metadata", "labels", SERVICE_LABEL, NULL), name))
            continue;
        address = slice_address(slice, port_name);
        if (address)
            return address;
    }
    return NULL;
}

/* Endpoints that a user wrote for a Service without a selector. */
static char *find_written_address(const struct store *s, const char *ns, const char *name,
                                  const char *port_name)
{
    AUTO(json_freep) json_t *object = NULL;
    AUTO(err_freep) struct err *e = read_object(s, "endpoints", ns, name, &object);
    const json_t *subsets = json_object_get(object, "subsets");

    for (size_t i = 0; i < json_array_size(subsets); i++) {
        const json_t *subset = json_array_get(subsets, i);
        const json_t *addresses = json_object_get(subset, "addresses");
        int64_t port = number_of_port(json_object_get(subset, "ports"), port_name);

        if (port > 0 && json_array_size(addresses) > 0)
            return join_address(json_text(json_array_get(addresses, 0), "ip"), port);
    }
    return NULL;
}

struct err *hook_target_of_service(const struct store *s, const json_t *ref,
                                   struct hook_target *ret)
{
    const char *ns = text_or_empty(json_text(ref, "namespace"));
    const char *name = text_or_empty(json_text(ref, "name"));
    int64_t port = json_int(ref, "port", PORT_DEFAULT);
    const char *port_name = "";
    AUTO(json_freep) json_t *service = NULL;
    AUTO_FREE char *address = NULL;

    TRY(read_object(s, "services", ns, name, &service));
    if (text_equal(service_type(service), "ExternalName")) {
        address =
            join_address(text_or_empty(json_text_at(service, "spec", "externalName", NULL)), port);
    } else {
        if (!find_port(service, port, &port_name))
            return err_new(ERR_UNAVAILABLE, "no service port %" PRId64 " found for service \"%s\"",
                           port, name);
        address = find_slice_address(s, ns, name, port_name);
        if (!address)
            address = find_written_address(s, ns, name, port_name);
    }
    if (!address)
        return err_new(ERR_UNAVAILABLE, "no endpoints available for service \"%s\"", name);
    ret->url = mem_format("https://%s.%s.svc:%" PRId64 "%s", name, ns, port,
                          text_or_empty(json_text(ref, "path")));
    ret->connect = mem_format("%s.%s.svc:%" PRId64 ":%s", name, ns, port, address);
    return NULL;
}

struct err *hook_target_find(const struct store *s, const json_t *client, struct hook_target *ret)
{
    const char *url = json_text_filled(client, "url");

    hook_target_set_ca(ret, json_text(client, "caBundle"));
    if (!url)
        return hook_target_of_service(s, json_object_get(client, "service"), ret);
    ret->url = mem_strdup(url);
    return NULL;
}
