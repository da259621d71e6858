/* test_services.c - addresses and node ports of Services: given once, kept, checked */

#include "kinds/service/service.h"
#include "test.h"
#include "world.h"

#define SERVICES ((struct target){.kind = "services", .ns = "default"})

static json_t *add_service(struct world *w, const char *text)
{
    json_t *made = NULL;

    world_must(world_create(w, SERVICES, text, &made));
    return made;
}

static const char *address_of(const json_t *service)
{
    return json_text_at(service, "spec", "clusterIP", NULL);
}

static struct target named(const char *name)
{
    struct target t = SERVICES;

    t.name = name;
    return t;
}

static void an_address_is_given_once(void **state)
{
    struct world w;
    json_t *all[64];

    (void)state;
    world_init(&w, 7);
    for (size_t i = 0; i < COUNT(all); i++) {
        all[i] =
            add_service(&w, "{'metadata':{'generateName':'s'},'spec':{'ports':[{'port':80}]}}");
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(address_of(all[i]), address_of(all[k]));
    }
    for (size_t i = 0; i < COUNT(all); i++)
        json_decref(all[i]);
    world_done(&w);
}

static void defaults_are_those_of_kubernetes(void **state)
{
    struct world w;
    AUTO(json_freep) json_t *s = NULL;

    (void)state;
    world_init(&w, 7);
    s = add_service(&w, "{'metadata':{'name':'s'},'spec':{'ports':[{'port':80}],"
                        "'sessionAffinity':'ClientIP'}}");
    assert_string_equal(service_type(s), "ClusterIP");
    assert_string_equal(json_text_at(s, "spec", "internalTrafficPolicy", NULL), "Cluster");
    assert_int_equal(
        json_int_at(s, "spec", "sessionAffinityConfig", "clientIP", "timeoutSeconds", NULL), 10800);
    assert_int_equal(
        json_int(json_array_get(json_at(s, "spec", "ports", NULL), 0), "targetPort", 0), 80);
    world_done(&w);
}

static void types_take_and_give_back(void **state)
{
    struct world w;
    AUTO(json_freep) json_t *first = NULL;
    AUTO(json_freep) json_t *sticky = NULL;
    AUTO(json_freep) json_t *node = NULL;
    AUTO(json_freep) json_t *named_away = NULL;
    AUTO(json_freep) json_t *again = NULL;
    int64_t port;

    (void)state;
    world_init(&w, 7);
    first = add_service(&w, "{'metadata':{'name':'s'},'spec':{'ports':[{'port':80}]}}");
    world_must(world_patch(&w, named("s"), "{'spec':{'sessionAffinity':'ClientIP'}}", &sticky));
    assert_non_null(json_at(sticky, "spec", "sessionAffinityConfig", "clientIP", NULL));
    world_must(world_patch(&w, named("s"), "{'spec':{'sessionAffinity':'None','type':'NodePort'}}",
                           &node));
    assert_null(json_at(node, "spec", "sessionAffinityConfig", NULL));
    port = json_int(json_array_get(json_at(node, "spec", "ports", NULL), 0), "nodePort", 0);
    assert_in_range(port, NODE_PORT_MIN, NODE_PORT_MAX);
    assert_string_equal(address_of(node), address_of(first));
    world_must(world_patch(&w, named("s"),
                           "{'spec':{'type':'ExternalName','externalName':'a.example'}}",
                           &named_away));
    assert_null(address_of(named_away));
    assert_int_equal(
        json_int(json_array_get(json_at(named_away, "spec", "ports", NULL), 0), "nodePort", 0), 0);
    world_must(
        world_patch(&w, named("s"), "{'spec':{'type':'ClusterIP','externalName':null}}", &again));
    assert_non_null(address_of(again));
    world_done(&w);
}

static void refuses_what_is_taken_and_what_cannot_be(void **state)
{
    static const struct {
        const char *spec;
        const char *message; /* after Service "x" is invalid */
    } cases[] = {
        {"'clusterIP':'10.96.0.77','ports':[{'port':80}]",
         "spec.clusterIPs: Invalid value: \"10.96.0.77\": failed to allocate IP 10.96.0.77: "
         "provided IP is already allocated"},
        {"'clusterIP':'10.97.0.1','ports':[{'port':80}]",
         "spec.clusterIPs: Invalid value: \"10.97.0.1\": failed to allocate IP 10.97.0.1: the "
         "provided IP (10.97.0.1) is not in the valid range. The range of valid IPs is "
         "10.96.0.0/16"},
        {"'type':'NodePort','ports':[{'port':80,'nodePort':31000}]",
         "spec.ports[0].nodePort: Invalid value: 31000: provided port is already allocated"},
        {"'type':'NodePort','clusterIP':'None','ports':[{'port':80}]",
         "spec.clusterIPs[0]: Invalid value: \"None\": may not be set to 'None' for NodePort "
         "services"},
        {"'ports':[{'port':80,'nodePort':31001}]",
         "spec.ports[0].nodePort: Forbidden: may not be used when `type` is 'ClusterIP'"},
        {"'ports':[{'name':'a','port':80},{'name':'a','port':81}]",
         "spec.ports[1].name: Duplicate value: \"a\""},
        {"'ports':[{'port':80,'targetPort':'UPPER'}]",
         "spec.ports[0].targetPort: Invalid value: \"UPPER\": must contain only alpha-numeric "
         "characters (a-z, 0-9), and hyphens (-)"},
        {"'type':'ExternalName'", "spec.externalName: Required value"},
        {"'ipFamilies':['IPv6'],'ports':[{'port':80}]",
         "spec.ipFamilies[0]: Forbidden: only IPv4 is implemented"},
        {"'ports':[{'port':80,'protocol':'SCTP'}]",
         "spec.ports[0].protocol: Forbidden: SCTP is not implemented yet"},
    };
    struct world w;
    AUTO(json_freep) json_t *taken = NULL;

    (void)state;
    world_init(&w, 7);
    taken = add_service(&w, "{'metadata':{'name':'taken'},'spec':{'clusterIP':'10.96.0.77','type':"
                            "'NodePort','ports':[{'port':80,'nodePort':31000}]}}");
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO_FREE char *text = mem_format("{'metadata':{'name':'x'},'spec':{%s}}", cases[i].spec);
        AUTO_FREE char *message = mem_format("Service \"x\" is invalid: %s", cases[i].message);

        world_refused(world_create(&w, SERVICES, text, NULL), 422, message);
    }
    world_done(&w);
}

static void an_update_that_leaves_the_address_out_keeps_it(void **state)
{
    struct world w;
    AUTO(json_freep) json_t *s = NULL;
    AUTO(json_freep) json_t *bare = NULL;
    AUTO(json_freep) json_t *after = NULL;

    (void)state;
    world_init(&w, 7);
    s = add_service(&w, "{'metadata':{'name':'s'},'spec':{'ports':[{'port':80}]}}");
    bare = manifest("{'apiVersion':'v1','kind':'Service','metadata':{'name':'s'},'spec':{'ports':"
                    "[{'port':81}]}}");
    world_must(world_update(&w, named("s"), bare, &after));
    assert_string_equal(address_of(after), address_of(s));
    world_refused(world_patch(&w, named("s"),
                              "{'spec':{'clusterIP':'10.96.9.9','clusterIPs':"
                              "['10.96.9.9']}}",
                              NULL),
                  422,
                  "Service \"s\" is invalid: spec.clusterIPs[0]: Invalid value: \"10.96.9.9\": may "
                  "not change once set");
    world_done(&w);
}

static void quotas_count_node_ports(void **state)
{
    static const struct target quotas = {.kind = "resourcequotas", .ns = "default", .who = &root};
    struct target quota = quotas;
    struct world w;
    AUTO(json_freep) json_t *s = NULL;
    AUTO(json_freep) json_t *counted = NULL;

    (void)state;
    world_init(&w, 7);
    s = add_service(&w, "{'metadata':{'name':'s'},'spec':{'ports':[{'port':80}]}}");
    world_must(world_create(&w, quotas,
                            "{'metadata':{'name':'q'},'spec':{'hard':{"
                            "'services':'2','services.nodeports':'0'}}}",
                            NULL));
    world_refused(world_patch(&w, named("s"), "{'spec':{'type':'NodePort'}}", NULL), 403,
                  "services \"s\" is forbidden: exceeded quota: q, requested: "
                  "services.nodeports=1, used: services.nodeports=0, limited: "
                  "services.nodeports=0");
    quota.name = "q";
    counted = world_get(&w, quota);
    assert_string_equal(json_text_at(counted, "status", "used", "services", NULL), "1");
    world_done(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_address_is_given_once),
        cmocka_unit_test(defaults_are_those_of_kubernetes),
        cmocka_unit_test(types_take_and_give_back),
        cmocka_unit_test(refuses_what_is_taken_and_what_cannot_be),
        cmocka_unit_test(quotas_count_node_ports),
        cmocka_unit_test(an_update_that_leaves_the_address_out_keeps_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
