/*
 * proxy_target.c - which port of which pod a proxied request goes to
 *
 * The names are those of kube-apiserver: a pod without a port is asked at the first port of its
 * containers, a Service at one of its ready endpoints, chosen at random.
 */

#include "api/handlers.h"
#include "api/proxy_private.h"
#include "base/num.h"
#include "kinds/object/objects.h"

/* [SCHEME:]NAME[:PORT] in its parts; "" for those that are left out. */
struct proxy_address {
    const char *name;
    const char *port;
    bool is_tls;
};

static struct err *address_parse(const struct call *c, struct proxy_address *ret)
{
    struct str rest = str_of(c->name);
    struct str parts[3] = {{0}};
    struct proxy_address a = {.port = ""};
    size_t n = 0;

    while (rest.at && n < COUNT(parts))
        parts[n++] = str_cut(&rest, ':');
    a.is_tls = n == 3 && str_equal(parts[0], STR("https"));
    if (rest.at || (n == 3 && !a.is_tls && !str_equal(parts[0], STR("http")) && parts[0].size > 0))
        return err_new(ERR_BAD_REQUEST, "invalid %s request \"%s\": want [https:]NAME[:PORT]",
                       c->kind->singular, c->name);
    a.name = arena_strndup(c->arena, parts[n == 3].at, parts[n == 3].size);
    if (n > 1)
        a.port = arena_strndup(c->arena, parts[n - 1].at, parts[n - 1].size);
    *ret = a;
    return NULL;
}

static struct err *find_object(const struct call *c, const char *plural, const char *name,
                               json_t **ret)
{
    const struct kind *k = kind_find("", plural);
    const struct store_object *o = store_get(core_store(c->core), objects_key(k, c->ns, name));

    if (!o)
        return objects_not_found(k, name);
    *ret = core_tree(c->core, o);
    return NULL;
}

static struct err *check_pod(const json_t *pod, const char *name)
{
    const char *phase = json_text_at(pod, "status", "phase", NULL);

    if (!json_text_filled(json_object_get(pod, "spec"), "nodeName") ||
        !text_equal(phase, "Running"))
        return err_new(ERR_UNAVAILABLE, "pod \"%s\" is not running: its phase is %s", name,
                       phase ? phase : "Pending");
    return NULL;
}

/* The first port of the pod's containers; that of the scheme if they name none. */
static uint16_t first_port(const json_t *pod, bool is_tls)
{
    const json_t *container = NULL;
    size_t i = 0;

    json_array_foreach (json_at(pod, "spec", "containers", NULL), i, container) {
        const json_t *port = json_array_get(json_object_get(container, "ports"), 0);

        if (port)
            return (uint16_t)json_int(port, "containerPort", 0);
    }
    return is_tls ? 443 : 80;
}

struct err *proxy_find_pod(struct call *c, struct proxy_target *ret)
{
    struct proxy_address a = {.name = "", .port = ""};
    AUTO(json_freep) json_t *pod = NULL;
    int64_t port = 0;

    TRY(address_parse(c, &a));
    TRY(find_object(c, "pods", a.name, &pod));
    TRY(check_pod(pod, a.name));
    if (*a.port) {
        AUTO(err_freep) struct err *e = num_parse_int64(str_of(a.port), 1, UINT16_MAX, &port);

        if (e)
            return err_new(ERR_BAD_REQUEST,
                           "invalid pod request \"%s\": the port is not a number of 1 to 65535",
                           c->name);
    }
    *ret = (struct proxy_target){.pod = a.name,
                                 .object = TAKE(pod),
                                 .port = *a.port ? (uint16_t)port : 0,
                                 .is_tls = a.is_tls};
    if (ret->port == 0)
        ret->port = first_port(ret->object, a.is_tls);
    return NULL;
}

/* ---- Services ---- */

/* The name of the Service's port `asked`, a number or a name; "": the only port. */
static struct err *find_port_name(const json_t *service, const struct proxy_address *a,
                                  const char **ret)
{
    const json_t *ports = json_at(service, "spec", "ports", NULL);
    const json_t *port = NULL;
    size_t i = 0;
    int64_t number = 0;
    AUTO(err_freep)
    struct err *not_number = num_parse_int64(str_of(a->port), 1, UINT16_MAX, &number);

    *ret = a->port;
    if (!*a->port && json_array_size(ports) == 1)
        *ret = text_or_empty(json_text(json_array_get(ports, 0), "name"));
    if (not_number)
        return NULL;
    json_array_foreach (ports, i, port)
        if (json_int(port, "port", 0) == number) {
            *ret = text_or_empty(json_text(port, "name"));
            return NULL;
        }
    return err_new(ERR_UNAVAILABLE, "no service port %s found for service \"%s\"", a->port,
                   a->name);
}

/* The number of the subset's TCP port `name`; 0: none. */
static int64_t subset_port(const json_t *subset, const char *name)
{
    const json_t *port = NULL;
    size_t i = 0;

    json_array_foreach (json_object_get(subset, "ports"), i, port) {
        const char *protocol = json_text(port, "protocol");

        if (text_equal(text_or_empty(json_text(port, "name")), name) &&
            (!protocol || text_equal(protocol, "TCP")))
            return json_int(port, "port", 0);
    }
    return 0;
}

static bool is_pod(const json_t *address)
{
    return text_equal(json_text_at(address, "targetRef", "kind", NULL), "Pod");
}

/* A ready endpoint: the one with number `index` of those that are pods. */
struct endpoint_choice {
    size_t index;
    size_t n;        /* pods seen */
    size_t n_others; /* addresses seen that are no pods */
    const char *pod;
    int64_t port;
};

static void choose_endpoint(const json_t *endpoints, const char *port_name,
                            struct endpoint_choice *choice)
{
    const json_t *subset = NULL;
    size_t i = 0;

    choice->n = 0;
    choice->n_others = 0;
    json_array_foreach (json_object_get(endpoints, "subsets"), i, subset) {
        int64_t port = subset_port(subset, port_name);
        const json_t *address = NULL;
        size_t k = 0;

        json_array_foreach (json_object_get(subset, "addresses"), k, address) {
            if (port <= 0)
                continue;
            choice->n_others += is_pod(address) ? 0 : 1;
            if (is_pod(address) && choice->n++ == choice->index) {
                choice->pod = json_text_at(address, "targetRef", "name", NULL);
                choice->port = port;
            }
        }
    }
}

static size_t random_below(const struct call *c, size_t n)
{
    void (*random)(void *arg, void *ret, size_t size) = NULL;
    void *arg = NULL;
    uint32_t number = 0;

    objects_random(core_objects(c->core), &random, &arg);
    random(arg, &number, sizeof(number));
    return n > 0 ? number % n : 0;
}

struct err *proxy_find_service(struct call *c, struct proxy_target *ret)
{
    struct proxy_address a = {.name = "", .port = ""};
    struct endpoint_choice choice = {0};
    const char *port_name = NULL;
    AUTO(json_freep) json_t *service = NULL;
    AUTO(json_freep) json_t *endpoints = NULL;
    AUTO(json_freep) json_t *pod = NULL;

    TRY(address_parse(c, &a));
    TRY(find_object(c, "services", a.name, &service));
    TRY(find_port_name(service, &a, &port_name));
    err_free(find_object(c, "endpoints", a.name, &endpoints)); /* none yet: no endpoints */
    choose_endpoint(endpoints, port_name, &choice);
    choice.index = random_below(c, choice.n);
    choose_endpoint(endpoints, port_name, &choice);
    if (!choice.pod)
        return err_new(
            ERR_UNAVAILABLE, "no endpoints available for service \"%s\"%s", a.name,
            choice.n_others > 0 ? ": its addresses are no pods, and only pods are reached" : "");
    TRY(find_object(c, "pods", choice.pod, &pod));
    TRY(check_pod(pod, choice.pod));
    *ret = (struct proxy_target){.pod = arena_strdup(c->arena, choice.pod),
                                 .object = TAKE(pod),
                                 .port = (uint16_t)choice.port,
                                 .is_tls = a.is_tls};
    return NULL;
}
