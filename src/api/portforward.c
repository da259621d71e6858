/*
 * portforward.c - pods/portforward: connections to ports of a pod
 *
 * The protocols are those of kube-apiserver and kubelet: pairs of SPDY streams for data and error,
 * plain or inside a WebSocket (kubectl since 1.30); or a WebSocket with two channels a port (kr8s,
 * the Python and JavaScript clients). The node connects to the port from inside the pod, as exec
 * runs its commands.
 */

#include "api/handlers.h"
#include "api/portforward_private.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/num.h"
#include "kinds/object/objects.h"

static struct err *check_pod(const struct call *c, const json_t *pod)
{
    const char *node = json_text_at(pod, "spec", "nodeName", NULL);
    const char *phase = json_text_at(pod, "status", "phase", NULL);

    if (!node || *node == '\0')
        return err_new(ERR_BAD_REQUEST, "pod %s does not have a host assigned", c->name);
    if (!text_equal(phase, "Running"))
        return err_new(ERR_BAD_REQUEST,
                       "unable to forward port because pod is not running. Current status=%s",
                       phase ? phase : "Pending");
    return NULL;
}

/* Reads "ports=80&ports=443" or "ports=80,443"; the kubelet calls the parameter "port". */
static struct err *add_ports(const char *list, uint16_t *ports, size_t *n)
{
    struct str rest = str_of(list);

    while (rest.at) {
        struct str word = str_cut(&rest, ',');
        int64_t port = 0;
        AUTO(err_freep) struct err *e = num_parse_int64(word, 1, UINT16_MAX, &port);

        if (e)
            return err_new(ERR_BAD_REQUEST, "ports: '%.*s' is not a port of 1 to 65535",
                           word.size < 64 ? (int)word.size : 64, word.at);
        if (*n == FORWARD_PORTS_MAX)
            return err_new(ERR_BAD_REQUEST, "more than %d ports", (int)FORWARD_PORTS_MAX);
        ports[(*n)++] = (uint16_t)port;
    }
    return NULL;
}

static struct err *read_ports(const struct call *c, uint16_t *ports, size_t *ret_n)
{
    for (size_t i = 0; i < c->query.n; i++)
        if (text_equal(c->query.pairs[i].key, "ports") || text_equal(c->query.pairs[i].key, "port"))
            TRY(add_ports(c->query.pairs[i].value, ports, ret_n));
    if (*ret_n == 0)
        return err_new(ERR_BAD_REQUEST, "query parameter \"ports\" is required");
    return NULL;
}

static struct err *portforward_begin(struct call *c, const json_t *pod)
{
    static const char *const channels[] = {"v4.channel.k8s.io", "v4.base64.channel.k8s.io", NULL};
    static const char *const spdy[] = {"portforward.k8s.io", NULL};
    static const struct session_protocols protocols = {.channels = channels,
                                                       .spdy = spdy,
                                                       .tunnel = "SPDY/3.1+portforward.k8s.io",
                                                       .is_unnamed_socket = true};
    struct handshake h = {0};
    struct forward_target *target = NULL;
    uint16_t ports[FORWARD_PORTS_MAX];
    size_t n = 0;

    TRY(check_pod(c, pod));
    TRY(session_read_handshake(c, &protocols, &h));
    if (!h.is_spdy)
        TRY(read_ports(c, ports, &n));
    target = forward_target_new(c, pod, c->name);
    LOG(INFO, "ports of a pod are forwarded", S("user", c->who.user), S("namespace", c->ns),
        S("pod", c->name));
    if (h.is_spdy)
        portforward_begin_spdy(c, &h, target);
    else
        portforward_begin_socket(c, &h, target, ports, n);
    return NULL;
}

struct err *handle_pod_portforward(struct call *c)
{
    const struct store_object *o =
        store_get(core_store(c->core), objects_key(c->kind, c->ns, c->name));
    AUTO(json_freep) json_t *pod = NULL;

    if (!o)
        return objects_not_found(c->kind, c->name);
    pod = core_tree(c->core, o);
    TRY(call_check_pod_user(c, pod));
    return portforward_begin(c, pod);
}
