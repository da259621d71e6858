/*
 * test_objects_volumes.c - rules of volumes: well-formed specs, and the directories of a node that
 * users may mount
 */

#include "base/mem.h"
#include "test.h"
#include "world.h"

#define POD(who_asks) ((struct target){.kind = "pods", .name = "p", .who = (who_asks)})

static void offer(struct world *w)
{
    world_must(host_roots_add(&w->host_roots, "/data"));
    world_must(host_roots_add(&w->host_roots, "/data/sets:ro"));
}

/* Creates a pod with this volume, mounted at /m with the members `mount`. */
static struct err *create(struct world *w, const struct kind_context *who, const char *volume,
                          const char *mount, const char *image)
{
    AUTO_FREE char *text =
        mem_format("{'metadata':{'name':'p'},'spec':{'volumes':[{'name':'v',%s}],'containers':[{"
                   "'name':'c','image':'%s','volumeMounts':[{'name':'v','mountPath':'/m'%s}]}]}}",
                   volume, image, mount);

    return world_create(w, POD(who), text, NULL);
}

static void check(struct world *w, const struct kind_context *who, const char *volume,
                  const char *mount, const char *image, const char *want)
{
    AUTO(err_freep) struct err *e = create(w, who, volume, mount, image);
    bool is_gone = false;

    if (!want) {
        if (e)
            fail_msg("%s: %s", volume, err_message(e));
        world_must(world_delete(w, POD(who), NULL, &is_gone));
        return;
    }
    if (!e)
        fail_msg("%s %s was accepted", volume, mount);
    if (!strstr(err_message(e), want))
        fail_msg("%s: %s", volume, err_message(e));
}

#define ROOTS                                                                                 \
    " is for administrators; users may mount paths in these directories of the node: /data, " \
    "/data/sets (read-only)"

static void people_mount_what_is_in_the_roots(void **state)
{
    static const struct {
        const char *volume;
        const char *mount;
        const char *image;
        const char *want; /* NULL: accepted */
    } cases[] = {
        {"'hostPath':{'path':'/data'}", "", "host", NULL},
        {"'hostPath':{'path':'/data/a/','type':'DirectoryOrCreate'}", "", "host", NULL},
        {"'hostPath':{'path':'/data/a','type':'Directory'}", "", "busybox", NULL},
        {"'hostPath':{'path':'/data/sets/x'}", ",'readOnly':true", "busybox", NULL},
        {"'hostPath':{'path':'/etc'}", "", "host", "volume v: hostPath '/etc'" ROOTS},
        {"'hostPath':{'path':'/database'}", "", "host", ROOTS},
        {"'hostPath':{'path':'/'}", "", "busybox", ROOTS},
        {"'hostPath':{'path':'/data/sets'}", "", "host",
         "read-only for all users: container c wants volumeMounts with readOnly: true"},
        {"'hostPath':{'path':'/data/sets/a','type':'DirectoryOrCreate'}", ",'readOnly':true",
         "host", "is read-only for all users: nothing can be created there"},
        {"'hostPath':{'path':'/data/a','type':'FileOrCreate'}", "", "busybox",
         "hostPath type FileOrCreate with an image is for administrators"},
    };
    struct world w;

    (void)state;
    world_init(&w, 1);
    offer(&w);
    for (size_t i = 0; i < COUNT(cases); i++)
        check(&w, &ann, cases[i].volume, cases[i].mount, cases[i].image, cases[i].want);
    world_done(&w);
}

static void nothing_is_offered_by_itself(void **state)
{
    struct world w;

    (void)state;
    world_init(&w, 1);
    check(&w, &ann, "'hostPath':{'path':'/data'}", "", "host",
          "in these directories of the node: none (mete up --host-path-root)");
    world_done(&w);
}

static const char *host_paths_of(const json_t *object)
{
    return json_text_at(object, "metadata", "annotations", "mete.dev/host-paths", NULL);
}

static void an_administrators_pod_says_so_to_its_node_and_nobody_elses(void **state)
{
    struct world w;
    bool is_gone = false;

    (void)state;
    world_init(&w, 1);
    offer(&w);
    world_must(create(&w, &root, "'hostPath':{'path':'/etc'}", "", "host"));
    AUTO(json_freep) json_t *admins = world_get(&w, POD(&root));

    assert_string_equal(host_paths_of(admins), "any");
    world_must(world_delete(&w, POD(&root), NULL, &is_gone));
    world_must(create(&w, &ann, "'hostPath':{'path':'/data'}", "", "host"));
    AUTO(json_freep) json_t *anns = world_get(&w, POD(&ann));

    assert_null(host_paths_of(anns));
    world_must(world_delete(&w, POD(&ann), NULL, &is_gone));
    world_must(create(&w, &root, "'emptyDir':{}", "", "host"));
    AUTO(json_freep) json_t *plain = world_get(&w, POD(&root));

    assert_null(host_paths_of(plain));
    AUTO(err_freep)
    struct err *e = world_create(&w, (struct target){.kind = "pods", .name = "q"},
                                 "{'metadata':{'name':'q','annotations':{'mete.dev/host-paths':"
                                 "'any'}},'spec':{'containers':[{'name':'c','image':'host'}]}}",
                                 NULL);

    assert_int_equal(err_http(e), 422);
    world_done(&w);
}

/* The controller makes the pods as a system identity, so the template's writer is checked. */
static void a_jobs_template_is_judged_as_a_pod(void **state)
{
    static const char job[] =
        "{'metadata':{'name':'j'},'spec':{'template':{'metadata':{'annotations':{"
        "'mete.dev/host-paths':'any'}},'spec':{'restartPolicy':'Never','volumes':[{'name':'v',"
        "'hostPath':{'path':'%s'}}],'containers':[{'name':'c','image':'host','volumeMounts':[{"
        "'name':'v','mountPath':'/m'}]}]}}}}";
    struct target t = {.group = "batch", .kind = "jobs", .name = "j"};
    AUTO_FREE char *outside = mem_format(job, "/etc");
    AUTO_FREE char *inside = mem_format(job, "/data");
    struct world w;

    (void)state;
    world_init(&w, 1);
    offer(&w);
    AUTO(err_freep) struct err *e = world_create(&w, t, outside, NULL);

    assert_non_null(e);
    err_free(world_create(&w, t, inside,
                          NULL)); /* refused for the annotation, or the annotation is removed */
    AUTO(json_freep) json_t *anns = world_get(&w, t);

    assert_null(host_paths_of(json_at(anns, "spec", "template", NULL)));
    world_done(&w);
}

static void volumes_are_checked_in_kubernetes_words(void **state)
{
    static const struct {
        const char *volume;
        const char *mount;
        const char *want; /* NULL: accepted */
    } cases[] = {
        {"'hostPath':{'path':'/data/../etc'}", "",
         "spec.volumes[0].hostPath.path: Invalid value: \"/data/../etc\": must not contain '..'"},
        {"'hostPath':{'path':'data'}", "", "must be an absolute path"},
        {"'hostPath':{'path':'/proc/1/root'}", "", "every container has its own /proc"},
        {"'hostPath':{'path':'/dev'}", "", "every container has its own /proc"},
        {"'hostPath':{}", "", "spec.volumes[0].hostPath.path: Required value"},
        {"'hostPath':{'path':'/data','type':'BlockDevice'}", "",
         "spec.volumes[0].hostPath.type: Forbidden: a container gets devices from its resources"},
        {"'hostPath':{'path':'/data','type':'Dir'}", "", "Unsupported value: \"Dir\""},
        {"'persistentVolumeClaim':{}", "",
         "spec.volumes[0].persistentVolumeClaim.claimName: Required value"},
        {"'ephemeral':{}", "", "spec.volumes[0].ephemeral.volumeClaimTemplate: Required value"},
        {"'ephemeral':{'volumeClaimTemplate':{'spec':{}}}", "",
         "at least 1 access mode is required"},
        {"'nfs':{'server':'s','path':'/'}", "",
         "spec.volumes[0].nfs: Forbidden: is not implemented by mete yet"},
        {"'image':{'reference':'x'}", "", "spec.volumes[0].image: Forbidden"},
        {"'emptyDir':{'medium':'HugePages-2Mi'}", "",
         "spec.volumes[0].emptyDir.medium: Unsupported value: \"HugePages-2Mi\""},
        {"'emptyDir':{'sizeLimit':'-1'}", "", "must be greater than or equal to 0"},
        {"'downwardAPI':{'items':[{'path':'a','fieldRef':{'fieldPath':'metadata.labels'}}]}", "",
         NULL},
        {"'downwardAPI':{'items':[{'path':'a','fieldRef':{'fieldPath':'status.podIP'}}]}", "",
         "items[0].fieldRef.fieldPath: Unsupported value: \"status.podIP\""},
        {"'downwardAPI':{'items':[{'path':'a'}]}", "",
         "one of fieldRef and resourceFieldRef is required"},
        {"'downwardAPI':{'items':[{'path':'a','resourceFieldRef':{'resource':'limits.cpu'}}]}", "",
         "items[0].resourceFieldRef.containerName: Required value"},
        {"'downwardAPI':{'items':[{'path':'a','resourceFieldRef':{'resource':'limits.cpu',"
         "'containerName':'c'}}]}",
         "", NULL},
        {"'downwardAPI':{'items':[{'path':'../a','fieldRef':{'fieldPath':'metadata.name'}}]}", "",
         "items[0].path: Invalid value: \"../a\": must not contain '..'"},
        {"'configMap':{'name':'c','items':[{'key':'k','path':'..data'}]}", "",
         "items[0].path: Invalid value: \"..data\": must not start with '..'"},
        {"'projected':{'sources':[{'configMap':{'name':'c','items':[{'key':'k','path':'a'}]}},"
         "{'secret':{'name':'s','items':[{'key':'k','path':'a'}]}}]}",
         "", "sources[1].secret.items[0].path: Invalid value: \"a\": conflicting duplicate paths"},
        {"'projected':{'sources':[{'configMap':{'name':'c'},'secret':{'name':'s'}}]}", "",
         "sources[0]: Forbidden: may not specify more than 1 volume type"},
        {"'projected':{'sources':[{'serviceAccountToken':{'path':'t','expirationSeconds':599}}]}",
         "",
         "expirationSeconds: Invalid value: 599: may not specify a duration less than 10 minutes"},
        {"'projected':{'sources':[{'serviceAccountToken':{'path':'t'}}]}", "", NULL},
        {"'projected':{'sources':[{'clusterTrustBundle':{'path':'t'}}]}", "",
         "clusterTrustBundle: Forbidden: is not implemented by mete yet"},
        {"'emptyDir':{}", ",'subPath':'a/b'", NULL},
        {"'emptyDir':{}", ",'subPath':'/a'", "subPath: Invalid value: \"/a\": must be a relative"},
        {"'emptyDir':{}", ",'subPath':'a/../b'", "must not contain '..'"},
        {"'emptyDir':{}", ",'subPathExpr':'$(POD)'", NULL},
        {"'emptyDir':{}", ",'subPath':'a','subPathExpr':'b'",
         "subPathExpr and subPath are mutually exclusive"},
        {"'emptyDir':{}", ",'mountPropagation':'HostToContainer'",
         "mountPropagation: Forbidden: is not implemented by mete yet"},
        {"'emptyDir':{}", ",'recursiveReadOnly':'Enabled'", "recursiveReadOnly: Forbidden"},
    };
    struct world w;

    (void)state;
    world_init(&w, 1);
    for (size_t i = 0; i < COUNT(cases); i++)
        check(&w, &root, cases[i].volume, cases[i].mount, "host", cases[i].want);
    world_done(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(people_mount_what_is_in_the_roots),
        cmocka_unit_test(nothing_is_offered_by_itself),
        cmocka_unit_test(an_administrators_pod_says_so_to_its_node_and_nobody_elses),
        cmocka_unit_test(a_jobs_template_is_judged_as_a_pod),
        cmocka_unit_test(volumes_are_checked_in_kubernetes_words),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
