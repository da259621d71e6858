/* test_gpu_config.c - how the gpus of nodes are configured, from the operator's objects */

#include "base/mem.h"
#include "control/gpu_config.h"
#include "kinds/pod/pod_state.h"
#include "sched_world.h"
#include "test.h"

static struct sched_world s;

#define NODE   ((struct target){.kind = "nodes", .name = "a", .who = &root})
#define POLICY ((struct target){.group = "nvidia.com", .kind = "clusterpolicies", .name = "p"})

static int setup(void **state)
{
    (void)state;
    sched_world_init(&s, 37);
    sched_world_add_node(&s, "a", 2);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    sched_world_done(&s);
    return 0;
}

static void make(const char *group, const char *kind, const char *ns, const char *text)
{
    sched_world_create(&s, (struct target){.group = group, .kind = kind, .ns = ns, .who = &root},
                       text);
}

static void make_namespace(const char *name)
{
    AUTO_FREE char *text = mem_format("{'metadata':{'name':'%s'}}", name);

    make(NULL, "namespaces", NULL, text);
}

static void make_policy(void)
{
    make("nvidia.com", "clusterpolicies", NULL,
         "{'metadata':{'name':'p'},'spec':{'mig':{'strategy':'mixed'},'devicePlugin':{'config':"
         "{'name':'plugin','default':'two'}},'migManager':{'config':{'name':'parted'}}}}");
}

static void make_plugin(const char *ns)
{
    make(
        NULL, "configmaps", ns,
        "{'metadata':{'name':'plugin'},'data':{"
        "'two':'{version: v1, sharing: {timeSlicing: {resources: [{name: gpu, replicas: 2}]}}}',"
        "'four':'{version: v1, sharing: {timeSlicing: {resources: [{name: gpu, replicas: 4}]}}}',"
        "'bad':'{version: v1, sharing: {timeSlicing: {resources: [{name: gpu, replicas: 1}]}}}'}}");
}

static void set_label(const char *key, const char *value)
{
    AUTO_FREE char *text = mem_format("{'metadata':{'labels':{'%s':'%s'}}}", key, value);

    world_must(world_patch(&s.w, NODE, text, NULL));
    sim_loop_run(s.w.loop);
}

/* The annotation; "" without. The caller frees it. */
static char *config_of(void)
{
    AUTO(json_freep) json_t *node = world_get(&s.w, NODE);
    const char *text = json_text_at(node, "metadata", "annotations", NODE_GPU_CONFIG, NULL);

    return mem_strdup(text ? text : "");
}

static void assert_config(const char *want)
{
    AUTO_FREE char *text = NULL;
    AUTO_FREE char *quoted = mem_strdup(want);

    for (char *at = quoted; *at; at++)
        if (*at == '\'')
            *at = '"';
    sim_loop_run(s.w.loop);
    text = config_of();
    assert_string_equal(text, quoted);
}

static void assert_state(const char *state, const char *message)
{
    AUTO(json_freep) json_t *policy = world_get(&s.w, POLICY);
    const json_t *ready = object_condition(policy, "Ready");

    assert_string_equal(json_text_at(policy, "status", "state", NULL), state);
    if (message)
        assert_string_equal(json_text(ready, "message"), message);
}

#define REPLICAS(n)                                                                             \
    "{'plugin':{'version':'v1','sharing':{'timeSlicing':{'resources':[{'name':'gpu','replicas'" \
    ":" #n "}]}},'flags':{'migStrategy':'mixed'}}"

static void a_node_gets_the_default_or_the_key_of_its_label(void **state)
{
    (void)state;
    assert_config("");
    make_namespace("gpu-operator");
    make_plugin("gpu-operator");
    make_policy();
    assert_config(REPLICAS(2) "}");
    assert_state("ready", NULL);
    set_label("nvidia.com/device-plugin.config", "four");
    assert_config(REPLICAS(4) "}");
    world_must(world_delete(
        &s.w,
        (struct target){
            .group = "nvidia.com", .kind = "clusterpolicies", .name = "p", .who = &root},
        NULL, NULL));
    set_label("nvidia.com/device-plugin.config", "");
    assert_config("");
}

static void a_bad_configuration_changes_nothing_and_is_named(void **state)
{
    (void)state;
    make_plugin("kube-system");
    make_policy();
    assert_config(REPLICAS(2) "}");
    set_label("nvidia.com/device-plugin.config", "bad");
    assert_config("{'problem':'ConfigMap plugin, key \\'bad\\': "
                  "sharing.timeSlicing.resources[0].replicas: 1: want a number from 2 to 256',"
                  "'plugin':{'version':'v1','sharing':{'timeSlicing':{'resources':[{'name':'gpu',"
                  "'replicas':2}]}},'flags':{'migStrategy':'mixed'}}}");
    assert_state("notReady",
                 "node a: ConfigMap plugin, key \"bad\": "
                 "sharing.timeSlicing.resources[0].replicas: 1: want a number from 2 to 256");
    set_label("nvidia.com/device-plugin.config", "none");
    assert_state("notReady", "node a: ConfigMap kube-system/plugin has no key \"none\"");
}

/* The owner of a namespace must not divide the gpus of others. */
static void config_maps_of_other_namespaces_do_not_count(void **state)
{
    (void)state;
    make_plugin("default");
    make_policy();
    assert_state("notReady", "node a: there is no ConfigMap plugin in gpu-operator or kube-system");
}

static void a_label_alone_names_the_config_map(void **state)
{
    (void)state;
    make(NULL, "configmaps", "kube-system",
         "{'metadata':{'name':'shared'},'data':{'config.yaml':'{version: v1, flags: {migStrategy: "
         "none}}'}}");
    set_label("nvidia.com/device-plugin.config", "shared");
    assert_config("{'plugin':{'version':'v1','flags':{'migStrategy':'none'}}}");
}

static void the_label_of_mig_chooses_from_the_parted_file(void **state)
{
    (void)state;
    make(NULL, "configmaps", "kube-system",
         "{'metadata':{'name':'parted'},'data':{'config.yaml':'{version: v1, mig-configs: {plain: "
         "[{devices: all, mig-enabled: false}], split: [{devices: [0], mig-enabled: true, "
         "mig-devices: {1g.10gb: 7}}]}}'}}");
    make("nvidia.com", "clusterpolicies", NULL,
         "{'metadata':{'name':'p'},'spec':{'migManager':{'config':{'name':'parted'}}}}");
    set_label("nvidia.com/mig.config", "split");
    assert_config("{'mig':{'name':'split','document':{'version':'v1','mig-configs':{'split':[{"
                  "'devices':[0],'mig-enabled':true,'mig-devices':{'1g.10gb':7}}]}}}}");
    set_label("nvidia.com/mig.config", "over");
    assert_state("notReady", "node a: ConfigMap parted: there is no mig-config 'over': there are "
                             "plain, split");
}

#define SPLIT                                                                                   \
    "{'mig':{'name':'split','document':{'version':'v1','mig-configs':{'split':[{'devices':[0]," \
    "'mig-enabled':true,'mig-devices':{'1g.10gb':7}}]}}}}"

static void the_policys_mig_config_is_for_nodes_without_a_label(void **state)
{
    (void)state;
    make(NULL, "configmaps", "kube-system",
         "{'metadata':{'name':'parted'},'data':{'config.yaml':'{version: v1, mig-configs: {plain: "
         "[{devices: all, mig-enabled: false}], split: [{devices: [0], mig-enabled: true, "
         "mig-devices: {1g.10gb: 7}}]}}'}}");
    make("nvidia.com", "clusterpolicies", NULL,
         "{'metadata':{'name':'p'},'spec':{'migManager':{'config':{'name':'parted','default':"
         "'split'}}}}");
    assert_config(SPLIT);
    set_label("nvidia.com/mig.config", "plain");
    assert_config("{'mig':{'name':'plain','document':{'version':'v1','mig-configs':{'plain':[{"
                  "'devices':'all','mig-enabled':false}]}}}}");
    world_must(world_patch(
        &s.w,
        (struct target){
            .group = "nvidia.com", .kind = "clusterpolicies", .name = "p", .who = &root},
        "{'spec':{'migManager':{'enabled':false}}}", NULL));
    assert_config("");
    assert_state("ready", NULL);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_node_gets_the_default_or_the_key_of_its_label),
        CASE(a_bad_configuration_changes_nothing_and_is_named),
        CASE(config_maps_of_other_namespaces_do_not_count),
        CASE(a_label_alone_names_the_config_map),
        CASE(the_label_of_mig_chooses_from_the_parted_file),
        CASE(the_policys_mig_config_is_for_nodes_without_a_label),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
