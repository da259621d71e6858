/* test_service_rules.c - rules of nftables, names and resolv.conf from Services and slices */

#include "base/mem.h"
#include "node/net/names.h"
#include "node/net/net_config.h"
#include "node/net/service_rules.h"
#include "test.h"

static json_t *parse(const char *text)
{
    AUTO_FREE char *copy = mem_strdup(text);
    json_t *tree = NULL;

    for (char *at = copy; *at; at++)
        if (*at == '\'')
            *at = '"';
    assert_null(json_parse(str_of(copy), &tree));
    return tree;
}

static const char web[] =
    "{'metadata':{'namespace':'d','name':'web'},'spec':{'type':'NodePort','clusterIP':'10.96.0.20',"
    "'ports':[{'protocol':'TCP','port':80,'nodePort':30080}]}}";
static const char slice[] =
    "{'metadata':{'namespace':'d','name':'web-1','labels':{'kubernetes.io/service-name':'web'}},"
    "'ports':[{'name':'','protocol':'TCP','port':8080}],'endpoints':["
    "{'addresses':['10.244.0.9'],'conditions':{'ready':true},'nodeName':'far'},"
    "{'addresses':['10.244.0.2'],'conditions':{'ready':true},'nodeName':'here'},"
    "{'addresses':['10.244.0.3'],'conditions':{'ready':false,'serving':true,'terminating':true}}]}";

static json_t *takers; /* of the last text */

static char *rules_of(const char *service, const char *slices, const json_t *before,
                      json_t **ret_names)
{
    AUTO(json_freep) json_t *a = parse(service);
    AUTO(json_freep) json_t *b = parse(slices);
    const json_t *const services_at[] = {a};
    const json_t *const slices_at[] = {b};
    const struct rules_host_port port = {"TCP", 8443, "10.244.0.2", 443};
    struct rules_input in = {.node = "here",
                             .api_port = 7443,
                             .services_at = services_at,
                             .n_services = 1,
                             .slices_at = slices_at,
                             .n_slices = 1,
                             .ports_at = &port,
                             .n_ports = 1};
    struct rules_names names = {0};
    struct buf text = {0};

    assert_null(ip4_net_parse("10.244.0.0/16", &in.pods));
    assert_null(ip4_net_parse("10.96.0.0/16", &in.services));
    service_rules_format(&in, before, &text, &names);
    *ret_names = names.names;
    json_decref(takers);
    takers = names.takers;
    return buf_steal(&text);
}

static void ready_endpoints_share_the_connections(void **state)
{
    AUTO(json_freep) json_t *names = NULL;
    AUTO_FREE char *text = rules_of(web, slice, NULL, &names);

    (void)state;
    assert_non_null(strstr(text, "dnat ip to numgen random mod 2 map { 0 : 10.244.0.2 . 8080, 1 : "
                                 "10.244.0.9 . 8080 }\n"));
    assert_non_null(strstr(text, "addresses { 10.96.0.20 . tcp . 80 : goto service-"));
    assert_non_null(strstr(text, "node-ports { tcp . 30080 : goto service-"));
    assert_non_null(strstr(text, "host-ports { tcp . 8443 : 10.244.0.2 . 443 }\n"));
    assert_non_null(strstr(text, "tcp dport 7443 accept\n"));
    assert_null(strstr(text, "10.244.0.3"));
    assert_non_null(strstr(text, "delete table ip mete\n"));
    assert_non_null(json_object_get(takers, "10.244.0.2"));
    assert_non_null(json_object_get(takers, "10.244.0.9"));
}

static void addresses_of_balancers_lead_to_their_service(void **state)
{
    static const char balanced[] =
        "{'metadata':{'namespace':'d','name':'web'},'spec':{'type':'LoadBalancer','clusterIP':"
        "'10.96.0.20','ports':[{'protocol':'TCP','port':80}]},'status':{'loadBalancer':{'ingress':["
        "{'ip':'192.0.2.10'},{'ip':'192.0.2.10'},{'ip':'192.0.2.11','ipMode':'Proxy'},{'hostname':'"
        "x.example'}]}}}";
    AUTO(json_freep) json_t *names = NULL;
    AUTO_FREE char *text = rules_of(balanced, slice, NULL, &names);
    const char *found;

    (void)state;
    found = strstr(text, " balancers { 192.0.2.10 . tcp . 80 : goto service-");
    assert_non_null(found);
    assert_null(strstr(found + 1, " balancers { ")); /* once */
    assert_null(strstr(text, "192.0.2.11"));
    assert_null(strstr(text, "element ip mete node-ports"));
}

static void local_policies_choose_the_nodes_own(void **state)
{
    static const char local[] =
        "{'metadata':{'namespace':'d','name':'web'},'spec':{'clusterIP':'10.96.0.20',"
        "'internalTrafficPolicy':'Local','ports':[{'protocol':'TCP','port':80}]}}";
    AUTO(json_freep) json_t *names = NULL;
    AUTO_FREE char *text = rules_of(local, slice, NULL, &names);

    (void)state;
    assert_non_null(strstr(text, "meta l4proto tcp dnat ip to 10.244.0.2:8080\n"));
    assert_null(strstr(text, "10.244.0.9"));
}

static void endpoints_that_end_are_the_last_resort(void **state)
{
    static const char ending[] =
        "{'metadata':{'namespace':'d','name':'web-1','labels':{'kubernetes.io/service-name':"
        "'web'}},'ports':[{'name':'','protocol':'TCP','port':8080}],'endpoints':["
        "{'addresses':['10.244.0.3'],'conditions':{'ready':false,'serving':true,"
        "'terminating':true}},"
        "{'addresses':['10.244.0.4'],'conditions':{'ready':false,'serving':false}}]}";
    AUTO(json_freep) json_t *names = NULL;
    AUTO_FREE char *text = rules_of(web, ending, NULL, &names);

    (void)state;
    assert_non_null(strstr(text, "dnat ip to 10.244.0.3:8080\n"));
    assert_null(strstr(text, "10.244.0.4"));
    assert_int_equal(json_object_size(takers), 0); /* they may end */
}

static void clients_are_remembered_until_their_endpoint_goes(void **state)
{
    static const char sticky[] =
        "{'metadata':{'namespace':'d','name':'web'},'spec':{'clusterIP':'10.96.0.20',"
        "'sessionAffinity':'ClientIP','sessionAffinityConfig':{'clientIP':{'timeoutSeconds':60}},"
        "'ports':[{'protocol':'TCP','port':80}]}}";
    static const char none[] = "{'metadata':{'namespace':'d','name':'x'}}";
    AUTO(json_freep) json_t *names = NULL;
    AUTO(json_freep) json_t *later = NULL;
    AUTO_FREE char *text = rules_of(sticky, slice, NULL, &names);
    AUTO_FREE char *same = NULL;
    AUTO_FREE char *gone = NULL;

    (void)state;
    assert_non_null(strstr(text, "flags dynamic,timeout ; timeout 60s"));
    same = rules_of(sticky, slice, names, &later);
    assert_null(strstr(same, "delete "));
    assert_true(json_equal(names, later));
    json_decref(later);
    later = NULL;
    gone = rules_of(sticky, none, names, &later);
    assert_non_null(strstr(gone, "delete set ip mete clients-"));
    assert_non_null(strstr(gone, "delete chain ip mete service-"));
    assert_true(strstr(gone, "delete chain") < strstr(gone, "delete set"));
}

static void names_lead_to_services_and_headless_endpoints(void **state)
{
    static const char heads[] =
        "{'metadata':{'namespace':'d','name':'heads'},'spec':{'clusterIP':'None'}}";
    static const char of_heads[] =
        "{'metadata':{'namespace':'d','labels':{'kubernetes.io/service-name':'heads'}},"
        "'endpoints':[{'addresses':['10.244.0.2'],'hostname':'h-0','conditions':{'ready':true}},"
        "{'addresses':['10.244.0.3'],'conditions':{'ready':true}},"
        "{'addresses':['10.244.0.4'],'conditions':{'ready':false}}]}";
    AUTO(json_freep) json_t *a = parse(web);
    AUTO(json_freep) json_t *b = parse(heads);
    AUTO(json_freep) json_t *c = parse(of_heads);
    const json_t *const services_at[] = {a, b};
    const json_t *const slices_at[] = {c};
    AUTO(buf_done) struct buf text = {0};

    (void)state;
    names_format(&(struct names_input){services_at, 2, slices_at, 1}, &text);
    assert_string_equal(text.at, "10.244.0.2 h-0.heads.d.svc.cluster.local\n"
                                 "10.244.0.2 heads.d.svc.cluster.local\n"
                                 "10.244.0.3 10-244-0-3.heads.d.svc.cluster.local\n"
                                 "10.244.0.3 heads.d.svc.cluster.local\n"
                                 "10.96.0.20 web.d.svc.cluster.local\n");
}

static void resolv_conf_follows_the_policy(void **state)
{
    static const struct {
        const char *spec;
        const char *want;
        bool is_more;
    } cases[] = {
        {"{}",
         "nameserver 10.96.0.10\nsearch d.svc.cluster.local svc.cluster.local cluster.local\n"
         "options ndots:5\n",
         false},
        {"{'dnsPolicy':'Default'}", "", true},
        {"{'dnsPolicy':'Default','dnsConfig':{'searches':['x.y']}}", "search x.y\n", true},
        {"{'dnsPolicy':'ClusterFirst','hostNetwork':true}", "", true},
        {"{'dnsPolicy':'None','dnsConfig':{'nameservers':['1.1.1.1'],'searches':['x.y'],"
         "'options':[{'name':'ndots','value':'2'},{'name':'edns0'}]}}",
         "nameserver 1.1.1.1\nsearch x.y\noptions ndots:2 edns0\n", false},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO_FREE char *text =
            mem_format("{'metadata':{'namespace':'d'},'spec':%s}", cases[i].spec);
        AUTO(json_freep) json_t *pod = parse(text);
        bool is_more = !cases[i].is_more;
        AUTO_FREE char *found = names_resolv(pod, "10.96.0.10", &is_more);

        assert_string_equal(found, cases[i].want);
        assert_int_equal(is_more, cases[i].is_more);
    }
}

static void only_pods_of_images_have_networks(void **state)
{
    static const struct {
        const char *spec;
        bool want;
    } cases[] = {
        {"{'containers':[{'image':'a'}]}", true},
        {"{'containers':[{'image':'a'}],'hostNetwork':true}", false},
        {"{'containers':[{'image':'a'},{'image':'host'}]}", false},
        {"{'containers':[{'image':'a'}],'initContainers':[{'image':'host'}]}", false},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO_FREE char *text = mem_format("{'spec':%s}", cases[i].spec);
        AUTO(json_freep) json_t *pod = parse(text);

        assert_int_equal(net_is_wanted(pod), cases[i].want);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ready_endpoints_share_the_connections),
        cmocka_unit_test(addresses_of_balancers_lead_to_their_service),
        cmocka_unit_test(local_policies_choose_the_nodes_own),
        cmocka_unit_test(endpoints_that_end_are_the_last_resort),
        cmocka_unit_test(clients_are_remembered_until_their_endpoint_goes),
        cmocka_unit_test(names_lead_to_services_and_headless_endpoints),
        cmocka_unit_test(resolv_conf_follows_the_policy),
        cmocka_unit_test(only_pods_of_images_have_networks),
    };

    int failed = cmocka_run_group_tests(tests, NULL, NULL);

    json_decref(takers);
    return failed;
}
