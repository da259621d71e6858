/* test_api_authz.c - the rights of roles and nodes */

#include "access/authz.h"
#include "api/routes.h"
#include "api_world.h"
#include "base/mem.h"
#include "test.h"

static const struct grant edit_a[] = {{.role = ROLE_EDIT, .ns = "a"}};
static const struct grant view_a[] = {{.role = ROLE_VIEW, .ns = "a"}};
static const struct grant view_all[] = {{.role = ROLE_VIEW, .ns = "*"}};
static const struct identity admin = {.user = "root", .is_admin = true};
static const struct identity editor = {.user = "ed", .grants = edit_a, .n_grants = 1};
static const struct identity viewer = {.user = "vi", .grants = view_a, .n_grants = 1};
static const struct identity reader = {.user = "re", .grants = view_all, .n_grants = 1};
static const struct identity stranger = {.user = "st"};

static bool may(const struct identity *who, const char *verb, const char *resource, const char *ns)
{
    const char *slash = strchr(resource, '/');
    AUTO_FREE char *plural =
        mem_strndup(resource, slash ? (size_t)(slash - resource) : strlen(resource));
    static const char *const groups[] = {"", "mete.dev", "scheduling.k8s.io", "nvidia.com",
                                         "resource.k8s.io"};
    const struct kind *k = NULL;
    struct access a = {.verb = verb, .subresource = slash ? slash + 1 : NULL, .ns = ns};
    AUTO(err_freep) struct err *e = NULL;

    for (size_t i = 0; i < COUNT(groups) && !k; i++)
        k = kind_find(groups[i], plural);
    assert_non_null(k);
    a.kind = k;
    e = authz_check(NULL, who, &a);
    if (e)
        assert_int_equal(err_http(e), 403);
    return !e;
}

/* A letter for each user with the right: (v)iewer and (e)ditor of namespace a, (r)eader of all
 * namespaces. The admin has all rights. */
static void roles_hold_what_they_say(void **state)
{
    static const struct {
        const char *verbs;
        const char *resource;
        const char *ns;
        const char *who;
    } cases[] = {
        {"get list watch", "pods", "a", "ver"},
        {"get list watch", "pods", "b", "r"},
        {"get list watch", "resourceclaims", "a", "ver"},
        {"create update patch delete", "resourceclaims", "a", "e"},
        {"create delete", "resourceclaimtemplates", "b", ""},
        {"get list watch", "resourceslices", NULL, "ver"},
        {"create delete", "deviceclasses", NULL, ""},
        {"list watch", "pods", NULL, "r"},
        {"create update patch delete deletecollection", "pods", "a", "e"},
        {"create update patch delete deletecollection", "pods", "b", ""},
        {"get", "pods/log", "a", "ver"},
        {"get", "pods/status", "a", "ver"},
        {"update patch", "pods/status", "a", ""},
        {"create", "pods/binding", "a", ""},
        {"get create", "pods/exec", "a", "e"},
        {"create", "pods/eviction", "a", "e"},
        {"get list watch", "configmaps", "a", "ver"},
        {"create update patch delete deletecollection", "configmaps", "a", "e"},
        {"get list watch create update patch delete deletecollection", "secrets", "a", "e"},
        {"get list watch", "secrets", "b", ""},
        {"get list watch", "events", "a", "ver"},
        {"create update patch delete", "events", "a", ""},
        {"get list", "workloads", "a", "ver"},
        {"get list watch", "nodes", NULL, "ver"},
        {"create update patch delete deletecollection", "nodes", NULL, ""},
        {"update patch", "nodes/status", NULL, ""},
        {"get list watch", "namespaces", NULL, "ver"},
        {"create update patch delete deletecollection", "namespaces", NULL, ""},
        {"update", "namespaces/finalize", NULL, ""},
        {"get list", "gpus", NULL, "ver"},
        {"get list watch", "resourcequotas", "a", "ver"},
        {"get list watch", "limitranges", "a", "ver"},
        {"get list watch", "limitranges", "b", "r"},
        {"create update patch delete deletecollection", "resourcequotas", "a", ""},
        {"update patch", "resourcequotas/status", "a", ""},
        {"create update patch delete deletecollection", "limitranges", "a", ""},
        {"get list watch", "queues", NULL, "ver"},
        {"get list watch", "reservations", NULL, "ver"},
        {"get list watch", "clusterpolicies", NULL, "ver"},
        {"create update patch delete deletecollection", "clusterpolicies", NULL, ""},
        {"update patch", "clusterpolicies/status", NULL, ""},
        {"create update patch delete deletecollection", "queues", NULL, ""},
        {"create update patch delete deletecollection", "reservations", NULL, ""},
        {"update patch", "queues/status", NULL, ""},
        {"get list watch", "priorityclasses", NULL, "ver"},
        {"create update patch delete deletecollection", "priorityclasses", NULL, ""},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct str verbs = str_of(cases[i].verbs);

        while (verbs.at && verbs.size > 0) {
            struct str cut = str_cut(&verbs, ' ');
            AUTO_FREE char *verb = mem_strndup(cut.at, cut.size);
            const char *r = cases[i].resource;

            assert_true(may(&admin, verb, r, cases[i].ns));
            assert_false(may(&stranger, verb, r, cases[i].ns));
            if (may(&viewer, verb, r, cases[i].ns) != (strchr(cases[i].who, 'v') != NULL) ||
                may(&editor, verb, r, cases[i].ns) != (strchr(cases[i].who, 'e') != NULL) ||
                may(&reader, verb, r, cases[i].ns) != (strchr(cases[i].who, 'r') != NULL))
                fail_msg("%s %s in %s", verb, r, cases[i].ns ? cases[i].ns : "the cluster");
        }
    }
}

static void says_it_in_kubernetes_words(void **state)
{
    static const struct {
        struct access access;
        const char *plural;
        const char *message;
    } cases[] = {
        {{.verb = "list", .ns = "x"},
         "pods",
         "pods is forbidden: User \"st\" cannot list resource \"pods\" in API group \"\" in the "
         "namespace \"x\""},
        {{.verb = "get", .subresource = "log", .ns = "x", .name = "p"},
         "pods",
         "pods \"p\" is forbidden: User \"st\" cannot get resource \"pods/log\" in API group \"\" "
         "in the namespace "
         "\"x\""},
        {{.verb = "delete", .name = "n"},
         "nodes",
         "nodes \"n\" is forbidden: User \"st\" cannot delete resource \"nodes\" in API group \"\" "
         "at the cluster "
         "scope"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct access a = cases[i].access;
        AUTO(err_freep) struct err *e = NULL;

        a.kind = kind_find("", cases[i].plural);
        e = authz_check(NULL, &stranger, &a);
        assert_non_null(e);
        assert_string_equal(err_message(e), cases[i].message);
    }
}

static const struct claim_asker node = {.cert_user = "system:node:n1",
                                        .cert_group = "system:nodes"};

#define SLURM_JOB(ns, name) "/apis/mete.dev/v1/namespaces/" ns "/slurmjobs/" name
#define LEASES(ns)          "/apis/coordination.k8s.io/v1/namespaces/" ns "/leases"

struct node_case {
    const char *method;
    const char *target;
    const char *body;
    int status;
};

static const struct node_case node_cases[] = {
    {"GET", "/api/v1/nodes/n1", NULL, 200},
    {"GET", "/api/v1/nodes/n2", NULL, 403},
    {"GET", "/api/v1/nodes", NULL, 403},
    {"GET", "/api/v1/nodes?fieldSelector=metadata.name%3Dn1", NULL, 200},
    {"GET", "/api/v1/nodes?fieldSelector=metadata.name%3D%3Dn1", NULL, 200},
    {"GET", "/api/v1/nodes?fieldSelector=metadata.name%21%3Dn1", NULL, 403},
    {"PATCH", "/api/v1/nodes/n1/status", "{}", 200},
    {"PATCH", "/api/v1/nodes/n1", "{'metadata':{'labels':{'x':'y'}}}", 200},
    {"PATCH", "/api/v1/nodes/n2/status", "{}", 403},
    {"DELETE", "/api/v1/nodes/n1", NULL, 403},
    {"POST", "/api/v1/nodes", "{'metadata':{'name':'n3'}}", 403},
    {"POST", "/api/v1/nodes", "{'metadata':{'name':'n1'}}", 409},
    {"GET", "/api/v1/pods", NULL, 403},
    {"GET", "/api/v1/pods?fieldSelector=spec.nodeName%3Dn1", NULL, 200},
    {"GET", "/api/v1/pods?fieldSelector=spec.nodeName%3Dn2", NULL, 403},
    {"GET", "/api/v1/pods?fieldSelector=spec.nodeName%3Dn11", NULL, 403},
    {"GET", "/api/v1/pods?watch=true", NULL, 403},
    {"GET", "/api/v1/namespaces/default/pods/mine", NULL, 200},
    {"GET", "/api/v1/namespaces/default/pods/theirs", NULL, 403},
    {"GET", "/api/v1/namespaces/default/pods/none", NULL, 403},
    {"GET", "/api/v1/namespaces/default/pods/mine/log", NULL, 403},
    {"PATCH", "/api/v1/namespaces/default/pods/mine/status", "{}", 200},
    {"PATCH", "/api/v1/namespaces/default/pods/theirs/status", "{}", 403},
    {"PATCH", "/api/v1/namespaces/default/pods/mine", "{}", 403},
    {"POST", "/api/v1/namespaces/default/pods", "{}", 403},
    {"POST", "/api/v1/namespaces/default/pods/mine/binding", "{}", 403},
    {"DELETE", "/api/v1/namespaces/default/pods/theirs", NULL, 403},
    {"DELETE", "/api/v1/namespaces/default/pods", NULL, 403},
    {"GET", "/api/v1/namespaces/default/secrets/named", NULL, 200},
    {"GET", "/api/v1/namespaces/default/secrets/other", NULL, 403},
    {"GET", "/api/v1/namespaces/kube-system/secrets/named", NULL, 403},
    {"GET", "/api/v1/namespaces/default/secrets", NULL, 403},
    {"GET", "/api/v1/namespaces/default/configmaps/mounted", NULL, 200},
    {"GET", "/api/v1/namespaces/default/configmaps/theirs", NULL, 403},
    {"GET", "/api/v1/namespaces/default/configmaps?fieldSelector=metadata.name%3Dmounted", NULL,
     200},
    {"GET", "/api/v1/namespaces/default/secrets?fieldSelector=metadata.name%3Dnamed", NULL, 200},
    {"GET", "/api/v1/namespaces/default/secrets?fieldSelector=metadata.name%3Dother", NULL, 403},
    {"GET", "/api/v1/namespaces/default/secrets?fieldSelector=metadata.name!%3Dnamed", NULL, 403},
    {"GET", "/api/v1/secrets?fieldSelector=metadata.name%3Dnamed", NULL, 403},
    {"GET", "/api/v1/namespaces/kube-system/secrets?fieldSelector=metadata.name%3Dnamed", NULL,
     403},
    {"PATCH", "/api/v1/namespaces/default/secrets/named", "{}", 403},
    {"GET", SLURM_JOB("default", "sweep"), NULL, 404}, /* allowed, though the job is gone */
    {"GET", SLURM_JOB("default", "swee"), NULL, 403},
    {"GET", SLURM_JOB("default", "other"), NULL, 403},
    {"GET", SLURM_JOB("default", "mine"), NULL, 403},
    {"GET", SLURM_JOB("kube-system", "sweep"), NULL, 403},
    {"GET", SLURM_JOB("default", ""), NULL, 403},
    {"PATCH", SLURM_JOB("default", "sweep"), "{}", 403},
    {"DELETE", SLURM_JOB("default", "sweep"), NULL, 403},
    {"GET", LEASES("kube-node-lease") "/n1", NULL, 404},
    {"PATCH", LEASES("kube-node-lease") "/n1", "{}", 404},
    {"PATCH", LEASES("kube-node-lease") "/n2", "{}", 403},
    {"PATCH", LEASES("default") "/n1", "{}", 403},
    {"POST", LEASES("kube-node-lease"), "{'metadata':{'name':'n2'}}", 403},
    {"POST", LEASES("default"), "{'metadata':{'name':'n1'}}", 403},
    {"DELETE", LEASES("kube-node-lease") "/n1", NULL, 403},
    {"GET", LEASES("kube-node-lease"), NULL, 403},
    {"GET", "/api/v1/namespaces", NULL, 200}, /* their labels, for policies */
    {"DELETE", "/api/v1/namespaces/default", NULL, 403},
    {"GET", "/apis/networking.k8s.io/v1/networkpolicies", NULL, 200},
    {"GET", "/api/v1/events", NULL, 403},
    {"GET", "/apis/mete.dev/v1/gpus", NULL, 403},
    {"DELETE", "/api/v1/namespaces/default/pods/mine?gracePeriodSeconds=0", NULL, 200},
};

static void a_node_touches_its_own_only(void **state)
{
    static const char mine[] =
        "{'metadata':{'name':'mine'},'spec':{'nodeName':'n1','containers':[{'name':'c','image':'"
        "host',"
        "'env':[{'name':'A','valueFrom':{'secretKeyRef':{'name':'named','key':'k'}}}]}],"
        "'volumes':[{'name':'v','configMap':{'name':'mounted'}}]}}";
    static const char theirs[] = "{'metadata':{'name':'theirs'},'spec':{'nodeName':'n2','"
                                 "containers':[{'name':'c','image':'host',"
                                 "'envFrom':[{'configMapRef':{'name':'theirs'}}]}]}}";
    static const char element[] =
        "{'metadata':{'name':'sweep-3','labels':{'mete.dev/slurm-job':'sweep'}},"
        "'spec':{'nodeName':'n1','containers':[{'name':'c','image':'x'}]}}";
    static const char other[] =
        "{'metadata':{'name':'other','labels':{'mete.dev/slurm-job':'other'}},"
        "'spec':{'nodeName':'n2','containers':[{'name':'c','image':'x'}]}}";
    const struct target system_pod = {.kind = "pods", .ns = "default", .who = &ours};
    struct api_world a;

    (void)state;
    api_world_init(&a, NULL);
    world_add_node(&a.w, "n1", 2);
    world_add_node(&a.w, "n2", 2);
    world_must(world_create(&a.w, (struct target){.kind = "pods", .ns = "default", .who = &root},
                            mine, NULL));
    world_must(world_create(&a.w, system_pod, element, NULL));
    world_must(world_create(&a.w, system_pod, other, NULL));
    world_must(world_create(&a.w, (struct target){.kind = "pods", .ns = "default", .who = &root},
                            theirs, NULL));
    world_must(world_create(&a.w, (struct target){.kind = "secrets", .ns = "default"},
                            "{'metadata':{'name':'named'}}", NULL));
    world_must(world_create(&a.w, (struct target){.kind = "configmaps", .ns = "default"},
                            "{'metadata':{'name':'mounted'}}", NULL));
    for (size_t i = 0; i < COUNT(node_cases); i++) {
        AUTO(asked_freep)
        struct asked *k =
            api_ask(&a, (struct question){.method = node_cases[i].method,
                                          .target = node_cases[i].target,
                                          .body = node_cases[i].body,
                                          .content_type = strcmp(node_cases[i].method, "PATCH") == 0
                                                              ? "application/merge-patch+json"
                                                              : NULL,
                                          .who = node});

        if (k->status != node_cases[i].status)
            fail_msg("%s %s: %d, not %d: %s", node_cases[i].method, node_cases[i].target, k->status,
                     node_cases[i].status, k->body.at);
    }
    api_world_done(&a);
}

/* Creates a pod of a Slurm job as the server does. */
static void make_job_pod(struct api_world *a, const char *name, const char *node_name, int uid,
                         const char *phase)
{
    const struct target system_pod = {.kind = "pods", .ns = "default", .who = &ours};
    AUTO_FREE char *pod =
        mem_format("{'metadata':{'name':'%s','annotations':{'mete.dev/slurm-environment':'[]'}},"
                   "'spec':{'nodeName':'%s','securityContext':{'runAsUser':%d},"
                   "'containers':[{'name':'c','image':'host'}]},'status':{'phase':'%s'}}",
                   name, node_name, uid, phase);

    world_must(world_create(&a->w, system_pod, pod, NULL));
}

static void a_node_speaks_for_the_users_of_its_jobs_only(void **state)
{
    static const struct {
        const char *query;
        int status;
    } cases[] = {
        {"uid=5&namespace=default&pod=mine", 101},
        {"uid=6&namespace=default&pod=mine", 403},
        {"uid=0&namespace=default&pod=mine", 403},
        {"uid=0&namespace=default&pod=of-root", 403},
        {"uid=7&namespace=default&pod=of-boss", 403},
        {"uid=5&namespace=default&pod=theirs", 403},
        {"uid=5&namespace=default&pod=plain", 403},
        {"uid=5&namespace=default&pod=none", 403},
        {"uid=5&namespace=kube-system&pod=mine", 403},
        {"uid=4294967295&namespace=default&pod=mine", 422},
        {"uid=-1&namespace=default&pod=mine", 422},
        {"uid=5&namespace=default", 400},
        {"namespace=default&pod=mine", 400},
    };
    static const char plain[] =
        "{'metadata':{'name':'plain'},'spec':{'nodeName':'n1','securityContext':{'runAsUser':5},"
        "'containers':[{'name':'c','image':'host'}]}}";
    static const struct claim_asker askers[] = {{.uid = 5}, {0}};
    struct api_world a;

    (void)state;
    api_world_init(&a, "users:\n- {name: boss, uid: 7, groups: [\"system:masters\"]}\n");
    world_add_node(&a.w, "n1", 2);
    world_add_node(&a.w, "n2", 2);
    make_job_pod(&a, "mine", "n1", 5, "Running");
    make_job_pod(&a, "of-root", "n1", 0, "Running");
    make_job_pod(&a, "of-boss", "n1", 7, "Running");
    make_job_pod(&a, "theirs", "n2", 5, "Running");
    world_must(world_create(&a.w, (struct target){.kind = "pods", .ns = "default", .who = &root},
                            plain, NULL));
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO_FREE char *target = mem_format("/mete.dev/v1/node-door?%s", cases[i].query);
        AUTO(asked_freep)
        struct asked *k =
            api_ask(&a, (struct question){.method = "POST", .target = target, .who = node});

        if (k->status != cases[i].status)
            fail_msg("%s: %d, not %d: %s", target, k->status, cases[i].status, k->body.at);
        if (k->status == 101)
            assert_int_equal(k->local_uid, 5);
    }
    for (size_t i = 0; i < COUNT(askers); i++) { /* users and administrators are no nodes */
        AUTO(asked_freep)
        struct asked *k = api_ask(
            &a,
            (struct question){.method = "POST",
                              .target = "/mete.dev/v1/node-door?uid=5&namespace=default&pod=mine",
                              .who = askers[i]});

        assert_int_equal(k->status, 403);
    }
    api_world_done(&a);
}

/* Each route that needs a right names its verb, and the tables have each role's answer. */
static void every_route_is_open_or_asks_for_a_right(void **state)
{
    (void)state;
    for (size_t i = 0; i < routes_count; i++) {
        const struct route *r = &routes[i];
        bool is_resource = r->shape != ROUTE_PATH && r->shape != ROUTE_PREFIX;

        assert_non_null(r->handle);
        assert_int_equal(is_resource, r->verb != NULL);
        assert_int_equal(is_resource, r->path == NULL);
        if (r->is_open && !text_equal(r->path, "/mete.dev/v1/node-join")) /* asks for a token */
            assert_string_equal(r->method, "GET");
        if (is_resource)
            assert_false(r->is_open);
    }
}

/* A user without roles gets 403 on each route of a resource, with any method; an unknown caller
 * gets 401. */
static void no_route_forgets_to_ask(void **state)
{
    static const char *const kinds_asked[] = {"pods", "nodes", "namespaces", "secrets",
                                              "deployments"};
    struct api_world a;

    (void)state;
    api_world_init(&a, NULL);
    for (size_t i = 0; i < routes_count; i++) {
        const struct route *r = &routes[i];

        for (size_t j = 0; r->verb && j < COUNT(kinds_asked); j++) {
            const char *plural = r->plural ? r->plural : kinds_asked[j];
            const struct kind *k =
                kind_find(text_equal(plural, "deployments") ? "apps" : "", plural);
            AUTO_FREE char *target =
                mem_format("%s/v1/%s%s%s%s%s", *k->group ? "/apis/apps" : "/api",
                           k->is_namespaced ? "namespaces/default/" : "", plural,
                           r->shape == ROUTE_COLLECTION ? "" : "/x", r->subresource ? "/" : "",
                           r->subresource ? r->subresource : "");
            AUTO(asked_freep)
            struct asked *known =
                api_ask(&a, (struct question){
                                .method = r->method, .target = target, .who = {.cert_user = "st"}});
            AUTO(asked_freep)
            struct asked *unknown =
                api_ask(&a, (struct question){
                                .method = r->method, .target = target, .who = {.uid = UINT32_MAX}});
            bool is_there = !r->subresource || r->plural ||
                            (text_equal(r->subresource, "scale") ? k->has_scale : k->has_status);

            if (known->status != (is_there ? 403 : 404) || unknown->status != 401)
                fail_msg("%s %s: %d, %d", r->method, target, known->status, unknown->status);
        }
    }
    api_world_done(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(roles_hold_what_they_say),
        cmocka_unit_test(says_it_in_kubernetes_words),
        cmocka_unit_test(a_node_touches_its_own_only),
        cmocka_unit_test(a_node_speaks_for_the_users_of_its_jobs_only),
        cmocka_unit_test(every_route_is_open_or_asks_for_a_right),
        cmocka_unit_test(no_route_forgets_to_ask),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
