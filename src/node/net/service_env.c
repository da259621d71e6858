/* service_env.c - variables of Services */

#include "node/net/service_env.h"

#include <inttypes.h>

#include "base/mem.h"
#include "kinds/service/service.h"

/* "my-svc" as "MY_SVC". The caller frees it. */
static char *variable_of(const char *name)
{
    char *copy = mem_strdup(name);

    for (char *at = copy; *at; at++)
        *at = *at == '-' ? '_' : (char)(*at >= 'a' && *at <= 'z' ? *at - 'a' + 'A' : *at);
    return copy;
}

static void put_variable(json_t *env, const char *prefix, const char *suffix, const char *value)
{
    AUTO_FREE char *name = mem_format("%s%s", prefix, suffix);

    json_put_text(env, name, value);
}

static void put_number(json_t *env, const char *prefix, const char *suffix, int64_t value)
{
    AUTO_FREE char *text = mem_format("%" PRId64, value);

    put_variable(env, prefix, suffix, text);
}

static char *url_of(const char *protocol, const char *address, int64_t port)
{
    bool is_v6 = strchr(address, ':') != NULL;

    return mem_format("%s://%s%s%s:%" PRId64, protocol, is_v6 ? "[" : "", address, is_v6 ? "]" : "",
                      port);
}

/* Docker's form: NAME_PORT_80_TCP and its parts. */
static void add_port(json_t *env, const char *prefix, const char *address, const json_t *port)
{
    const char *protocol = text_equal(json_text(port, "protocol"), "UDP") ? "udp" : "tcp";
    int64_t number = json_int(port, "port", 0);
    AUTO_FREE char *upper = variable_of(protocol);
    AUTO_FREE char *long_prefix = mem_format("%s_PORT_%" PRId64 "_%s", prefix, number, upper);
    AUTO_FREE char *url = url_of(protocol, address, number);

    put_variable(env, long_prefix, "", url);
    put_variable(env, long_prefix, "_PROTO", protocol);
    put_number(env, long_prefix, "_PORT", number);
    put_variable(env, long_prefix, "_ADDR", address);
}

void service_env_add(const json_t *service, json_t *env)
{
    const char *address = json_text_at(service, "spec", "clusterIP", NULL);
    const json_t *ports = json_at(service, "spec", "ports", NULL);
    AUTO_FREE char *prefix =
        variable_of(text_or_empty(json_text_at(service, "metadata", "name", NULL)));
    const json_t *first = json_array_get(ports, 0);
    AUTO_FREE char *url = NULL;
    const json_t *port = NULL;
    size_t i = 0;

    if (!service_has_address(service) || !first)
        return;
    url = url_of(text_equal(json_text(first, "protocol"), "UDP") ? "udp" : "tcp", address,
                 json_int(first, "port", 0));
    put_variable(env, prefix, "_SERVICE_HOST", address);
    put_number(env, prefix, "_SERVICE_PORT", json_int(first, "port", 0));
    put_variable(env, prefix, "_PORT", url);
    json_array_foreach (ports, i, port) {
        const char *name = json_text_filled(port, "name");
        AUTO_FREE char *upper = name ? variable_of(name) : NULL;
        AUTO_FREE char *suffix = name ? mem_format("_SERVICE_PORT_%s", upper) : NULL;

        if (suffix)
            put_number(env, prefix, suffix, json_int(port, "port", 0));
        add_port(env, prefix, address, port);
    }
}

void service_env_add_api(const char *host, int64_t port, json_t *env)
{
    AUTO(json_freep)
    json_t *service = json_pack("{s:{s:s}, s:{s:s, s:[{s:s, s:s, s:I}]}}", "metadata", "name",
                                "kubernetes", "spec", "clusterIP", host, "ports", "name", "https",
                                "protocol", "TCP", "port", (json_int_t)port);

    service_env_add(service, env);
}
