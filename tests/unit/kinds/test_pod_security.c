/*
 * test_pod_security.c - validation of securityContext, and the settings that only administrators
 * may use
 */

#include "base/mem.h"
#include "test.h"
#include "world.h"

struct rights {
    const struct kind_context *who;
    const char *spec;      /* members of the pod's spec */
    const char *container; /* more members of its container */
    int http;              /* 0: created */
    const char *part;      /* of the message */
};

static struct err *create(struct world *w, const struct rights *c, const char *image)
{
    AUTO_FREE char *text =
        mem_format("{'metadata':{'name':'p'},'spec':{%s%s'containers':[{'name':'c','image':'%s'%s}]"
                   "}}",
                   c->spec, c->spec[0] ? "," : "", image, c->container);

    return world_create(w, (struct target){.kind = "pods", .who = c->who}, text, NULL);
}

static void check_all(const struct rights *cases, size_t n, const char *image)
{
    for (size_t i = 0; i < n; i++) {
        struct world w;
        AUTO(err_freep) struct err *e = NULL;

        world_init(&w, 1);
        e = create(&w, &cases[i], image);
        if (!e != (cases[i].http == 0))
            fail_msg("%s %s: %s", cases[i].spec, cases[i].container,
                     e ? err_message(e) : "created");
        if (e) {
            assert_int_equal(err_http(e), cases[i].http);
            if (cases[i].part && !strstr(err_message(e), cases[i].part))
                fail_msg("%s", err_message(e));
        }
        world_done(&w);
    }
}

#define SECURITY(members) ",'securityContext':{" members "}"
#define OF_POD(members)   "'securityContext':{" members "}"

static void walls_are_weakened_by_administrators_only(void **state)
{
    static const struct {
        const char *spec;
        const char *container;
    } asked[] = {
        {"'hostUsers':true", ""},
        {OF_POD("'seccompProfile':{'type':'Unconfined'}"), ""},
        {"", SECURITY("'privileged':true")},
        {"", SECURITY("'seccompProfile':{'type':'Unconfined'}")},
        {"", SECURITY("'capabilities':{'add':['SYS_ADMIN']}")},
        {"", SECURITY("'capabilities':{'add':['KILL','CAP_SYS_PTRACE']}")},
        {"", SECURITY("'capabilities':{'add':['ALL']}")},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(asked); i++) {
        const struct rights cases[] = {
            {&ann, asked[i].spec, asked[i].container, 403, "for administrators"},
            {&nobody, asked[i].spec, asked[i].container, 403, "for administrators"},
            {&root, asked[i].spec, asked[i].container, 0, NULL},
            {&ours, asked[i].spec, asked[i].container, 0, NULL},
        };

        check_all(cases, COUNT(cases), "busybox");
    }
}

static void others_ask_within_the_default_set(void **state)
{
    static const struct rights cases[] = {
        {&ann, "", SECURITY("'capabilities':{'drop':['ALL'],'add':['NET_BIND_SERVICE']}"), 0, NULL},
        {&ann, "", SECURITY("'allowPrivilegeEscalation':true"), 0, NULL},
        {&ann, "", SECURITY("'readOnlyRootFilesystem':true,'runAsUser':0"), 0, NULL},
        {&ann, OF_POD("'seccompProfile':{'type':'RuntimeDefault'}"), "", 0, NULL},
        {&ann, OF_POD("'runAsUser':65535,'runAsGroup':0,'fsGroup':7,'supplementalGroups':[0]"), "",
         0, NULL},
        {&ann, OF_POD("'sysctls':[{'name':'kernel.shm_rmid_forced','value':'1'}]"), "", 0, NULL},
        {&ann, "'hostUsers':false", "", 0, NULL},
    };

    (void)state;
    check_all(cases, COUNT(cases), "busybox");
}

static void what_makes_no_sense_is_refused_from_everybody(void **state)
{
    static const struct rights cases[] = {
        {&root, "", SECURITY("'capabilities':{'add':['net_raw']}"), 422,
         "capabilities.add[0]: Invalid value: \"net_raw\": must be the name of a Linux capability"},
        {&root, "", SECURITY("'capabilities':{'drop':['KILL','X']}"), 422,
         "capabilities.drop[1]: Invalid value: \"X\""},
        {&root, OF_POD("'runAsUser':65536"), "", 422,
         "spec.securityContext.runAsUser: Invalid value: 65536: must be between 0 and 65535"},
        {&root, OF_POD("'supplementalGroups':[5,70000]"), "", 422,
         "spec.securityContext.supplementalGroups[1]: Invalid value: 70000"},
        {&root, "'hostUsers':true," OF_POD("'runAsUser':65536"), "", 0, NULL},
        {&root, "", SECURITY("'privileged':true,'allowPrivilegeEscalation':false"), 422,
         "cannot set `allowPrivilegeEscalation` to false and `privileged` to true"},
        {&root, "",
         SECURITY("'allowPrivilegeEscalation':false,'capabilities':{'add':['SYS_ADMIN']}"), 422,
         "`capabilities.Add` CAP_SYS_ADMIN"},
        {&root, OF_POD("'seccompProfile':{'type':'Localhost'}"), "", 422,
         "spec.securityContext.seccompProfile.type: Unsupported value: \"Localhost\""},
        {&root, OF_POD("'sysctls':[{'name':'net.core.somaxconn','value':'1'}]"), "", 422,
         "pods share the node's network"},
        {&root,
         OF_POD("'sysctls':[{'name':'vm.swappiness','value':'1'},{'name':'foo-','value':'1'},"
                "{'name':'bar..','value':'1'}]"),
         "", 422, "spec.securityContext.sysctls[1].name: Invalid value: \"foo-\""},
        {&root, OF_POD("'sysctls':[{'name':'vm.swappiness','value':'1'}]"), "", 422,
         "only kernel.shm_rmid_forced is allowed"},
        {&root, "'hostAliases':[{'ip':'10.0.0.300','hostnames':['a']}]", "", 422,
         "spec.hostAliases[0].ip: Invalid value: \"10.0.0.300\": must be a valid IP address"},
        {&root, "'hostAliases':[{'ip':'::1','hostnames':['a\\nb']}]", "", 422,
         "spec.hostAliases[0].hostnames[0]: Invalid value"},
        {&ann, "'hostAliases':[{'ip':'::1','hostnames':['a.b']},{'ip':'10.0.0.1'}]", "", 0, NULL},
    };

    (void)state;
    check_all(cases, COUNT(cases), "busybox");
}

static void the_image_host_is_the_machine_itself(void **state)
{
    static const struct rights cases[] = {
        {&root, "", SECURITY("'privileged':true"), 422, "privileged: Forbidden"},
        {&root, "", SECURITY("'readOnlyRootFilesystem':true"), 422,
         "readOnlyRootFilesystem: Forbidden"},
        {&root, "'hostUsers':false", "", 422, "spec.hostUsers: Forbidden"},
        {&root, "'hostUsers':true", "", 0, NULL},
        {&root, OF_POD("'runAsUser':70000"), "", 0, NULL},
        {&ann, "", SECURITY("'capabilities':{'add':['KILL']}"), 403, "for administrators"},
        {&ann, "", SECURITY("'capabilities':{'drop':['ALL']}"), 0, NULL},
        {&ann, "", SECURITY("'seccompProfile':{'type':'RuntimeDefault'}"), 0, NULL},
        {&ann, OF_POD("'fsGroup':5"), "", 403, "fsGroup"},
    };

    (void)state;
    check_all(cases, COUNT(cases), "host");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(walls_are_weakened_by_administrators_only),
        cmocka_unit_test(others_ask_within_the_default_set),
        cmocka_unit_test(what_makes_no_sense_is_refused_from_everybody),
        cmocka_unit_test(the_image_host_is_the_machine_itself),
    };

    return cmocka_run_group_tests_name("pod_security", tests, NULL, NULL);
}
