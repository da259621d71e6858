/* test_node_volume.c - tests of volumes */

#include "base/mem.h"
#include "node/volume/volume.h"
#include "test.h"

static json_t *parse(const char *text)
{
    json_t *tree = NULL;
    struct err *e = json_parse(str_of(text), &tree);

    assert_null(e);
    return tree;
}

/* Formats volumes as "name path [memory SIZE] mode: file=bytes(mode) ...". */
static char *describe(const struct volumes *v)
{
    struct buf out = {0};

    for (size_t i = 0; i < v->list.n; i++) {
        const struct volume *volume = &v->list.at[i];

        buf_printf(&out, "%s%s %s %o", i ? "; " : "", volume->name, volume->path, volume->mode);
        if (volume->is_memory)
            buf_printf(&out, " memory %lld", (long long)volume->size_bytes);
        if (volume->limit_bytes > 0)
            buf_printf(&out, " limit %lld %s", (long long)volume->limit_bytes, volume->limit_text);
        if (volume->uid != 0 || volume->gid != 0)
            buf_printf(&out, " of %u:%u", volume->uid, volume->gid);
        if (volume->type == VOLUME_HOST)
            buf_printf(&out, " host %s in %s%s%s%d", volume->host.path,
                       volume->host.root ? volume->host.root : "any",
                       volume->host.is_read_only ? " ro " : " rw ",
                       volume->host.is_made ? "made " : "", (int)volume->host.type);
        for (size_t k = 0; k < volume->files.n; k++)
            buf_printf(&out, " %s=%.*s(%o)", volume->files.at[k].path,
                       (int)volume->files.at[k].size, volume->files.at[k].bytes,
                       volume->files.at[k].mode);
    }
    return buf_steal(&out);
}

/* The plan of a pod's volumes as text, or the error. */
static char *plan(const json_t *pod, const json_t *refs, uint32_t uid_base, int *ret_http)
{
    AUTO(host_roots_done) struct host_roots roots = {0};
    AUTO(volumes_done) struct volumes v = {0};
    const struct volume_input in = {.env = {.pod = pod,
                                            .refs = refs,
                                            .node = "n1",
                                            .host_ip = "192.0.2.1",
                                            .pod_ip = "192.0.2.1",
                                            .cpu_milli = 8000,
                                            .memory_bytes = 1 << 30},
                                    .dir = "/v",
                                    .roots = &roots,
                                    .mask_dir = "/var/lib/mete",
                                    .uid_base = uid_base};
    struct err *e = host_roots_add(&roots, "/data");

    assert_null(e);
    e = host_roots_add(&roots, "/data/sets:ro");
    assert_null(e);
    e = volume_plan(&in, &v);
    *ret_http = e ? err_http(e) : 0;
    char *text = e ? mem_strdup(err_message(e)) : describe(&v);

    err_free(e);
    return text;
}

struct plan_case {
    const char *volumes;
    const char *want; /* or the error */
    int http;
};

static void check_plans(const struct plan_case *cases, size_t n, const char *metadata,
                        const char *spec, uint32_t uid_base)
{
    AUTO(json_freep)
    json_t *refs = parse("{\"configmaps/c\":{\"data\":{\"b\":\"2\",\"a\":\"1\"}},"
                         "\"secrets/s\":{\"data\":{\"k\":\"aGk=\"}},"
                         "\"tokens/600/vault\":{\"status\":{\"token\":\"T\"}}}");

    for (size_t i = 0; i < n; i++) {
        AUTO_FREE char *text = mem_format("{\"metadata\":{%s},\"spec\":{%s\"volumes\":%s}}",
                                          metadata, spec, cases[i].volumes);
        AUTO(json_freep) json_t *pod = parse(text);
        int http = 0;
        AUTO_FREE char *got = plan(pod, refs, uid_base, &http);

        assert_string_equal(got, cases[i].want);
        assert_int_equal(http, cases[i].http);
    }
}

static void plans_every_type(void **state)
{
    static const struct plan_case cases[] = {
        {"[{\"name\":\"e\",\"emptyDir\":{}}]", "e /v/e 777", 0},
        {"[{\"name\":\"e\",\"emptyDir\":{\"sizeLimit\":\"1Mi\"}}]", "e /v/e 777 limit 1048576 1Mi",
         0},
        {"[{\"name\":\"e\",\"emptyDir\":{\"medium\":\"Memory\",\"sizeLimit\":\"1Mi\"}}]",
         "e /v/e 777 memory 1048576", 0},
        {"[{\"name\":\"e\",\"emptyDir\":{\"medium\":\"HugePages\"}}]",
         "volume e: medium 'HugePages' is not supported: '' or Memory", 422},
        {"[{\"name\":\"c\",\"configMap\":{\"name\":\"c\"}}]", "c /v/c 755 a=1(644) b=2(644)", 0},
        {"[{\"name\":\"c\",\"configMap\":{\"name\":\"c\",\"defaultMode\":256,\"items\":["
         "{\"key\":\"b\",\"path\":\"d/x\"},{\"key\":\"a\",\"path\":\"y\",\"mode\":511}]}}]",
         "c /v/c 755 d/x=2(400) y=1(777)", 0},
        {"[{\"name\":\"s\",\"secret\":{\"secretName\":\"s\"}}]", "s /v/s 755 memory 0 k=hi(644)",
         0},
        {"[{\"name\":\"c\",\"configMap\":{\"name\":\"no\",\"optional\":true}}]", "c /v/c 755", 0},
        {"[{\"name\":\"c\",\"configMap\":{\"name\":\"c\",\"optional\":true,\"items\":["
         "{\"key\":\"no\",\"path\":\"x\"}]}}]",
         "c /v/c 755", 0},
        {"[{\"name\":\"c\",\"configMap\":{\"name\":\"no\"}}]", "volume c: ConfigMap 'no' not found",
         404},
        {"[{\"name\":\"c\",\"configMap\":{\"name\":\"c\",\"items\":[{\"key\":\"no\",\"path\":\"x\"}"
         "]}}]",
         "volume c: ConfigMap 'c': has no key 'no'", 404},
        {"[{\"name\":\"c\",\"configMap\":{\"name\":\"c\",\"items\":[{\"key\":\"a\","
         "\"path\":\"../x\"}]}}]",
         "volume c: '../x' is not a path inside the volume", 422},
        {"[{\"name\":\"c\",\"configMap\":{\"name\":\"c\",\"items\":[{\"key\":\"a\","
         "\"path\":\"..data\"}]}}]",
         "volume c: '..data' is not a path inside the volume", 422},
        {"[{\"name\":\"c\",\"configMap\":{\"name\":\"c\",\"items\":[{\"key\":\"a\","
         "\"path\":\"/etc/x\"}]}}]",
         "volume c: '/etc/x' is not a path inside the volume", 422},
        {"[{\"name\":\"n\",\"nfs\":{\"server\":\"x\"}}]",
         "volume n: unsupported type: want emptyDir, configMap, secret, downwardAPI, projected, "
         "hostPath, persistentVolumeClaim or ephemeral",
         422},
        {"[{\"name\":\"../h\",\"emptyDir\":{}}]", "volume name '../h' is invalid", 422},
        {"[{\"name\":\"e\",\"emptyDir\":{\"sizeLimit\":\"-1\"}}]",
         "volume e: sizeLimit: is negative", 422},
    };

    (void)state;
    check_plans(cases, COUNT(cases), "", "", 0);
}

static void plans_fields_and_projections(void **state)
{
    static const struct plan_case cases[] = {
        {"[{\"name\":\"d\",\"downwardAPI\":{\"items\":["
         "{\"path\":\"n\",\"fieldRef\":{\"fieldPath\":\"metadata.name\"}},"
         "{\"path\":\"l\",\"fieldRef\":{\"fieldPath\":\"metadata.labels\"}},"
         "{\"path\":\"a\",\"mode\":256,\"fieldRef\":{\"fieldPath\":\"metadata.annotations['x']\"}},"
         "{\"path\":\"c\",\"resourceFieldRef\":{\"containerName\":\"m\",\"resource\":"
         "\"limits.cpu\",\"divisor\":\"1m\"}}]}}]",
         "d /v/d 755 a=q\"\n(400) c=1500(644) l=a=\"1\"\nb/c=\"t\\tq\\\"\"(644) n=p(644)", 0},
        {"[{\"name\":\"d\",\"downwardAPI\":{\"items\":[{\"path\":\"n\",\"fieldRef\":{"
         "\"fieldPath\":\"spec.x\"}}]}}]",
         "volume d: fieldPath 'spec.x' is not supported", 422},
        {"[{\"name\":\"p\",\"projected\":{\"defaultMode\":288,\"sources\":["
         "{\"configMap\":{\"name\":\"c\",\"items\":[{\"key\":\"a\",\"path\":\"m/a\"}]}},"
         "{\"downwardAPI\":{\"items\":[{\"path\":\"u\",\"fieldRef\":{\"fieldPath\":"
         "\"metadata.uid\"}}]}}]}}]",
         "p /v/p 755 m/a=1(440) u=u1(440)", 0},
        {"[{\"name\":\"p\",\"projected\":{\"sources\":["
         "{\"secret\":{\"name\":\"s\"}},"
         "{\"serviceAccountToken\":{\"path\":\"t\",\"audience\":\"vault\","
         "\"expirationSeconds\":600}}]}}]",
         "p /v/p 755 memory 0 k=hi(644) t=T(644)", 0},
        {"[{\"name\":\"p\",\"projected\":{\"sources\":[{\"serviceAccountToken\":{\"path\":\"t\"}}]}"
         "}]",
         "volume p: no token for ServiceAccount 'default'", 404},
        {"[{\"name\":\"p\",\"projected\":{\"sources\":[{\"clusterTrustBundle\":{}}]}}]",
         "volume p: a projected source is not supported: configMap, secret, downwardAPI or "
         "serviceAccountToken",
         422},
    };

    (void)state;
    check_plans(cases, COUNT(cases),
                "\"name\":\"p\",\"uid\":\"u1\",\"labels\":{\"b/c\":\"t\\tq\\\"\",\"a\":\"1\"},"
                "\"annotations\":{\"x\":\"q\\\"\\n\"}",
                "\"containers\":[{\"name\":\"m\",\"resources\":{\"limits\":{\"cpu\":\"1500m\"}}}],",
                0);
}

static void gives_volumes_to_the_root_and_group_of_the_pod(void **state)
{
    static const struct plan_case cases[] = {
        {"[{\"name\":\"e\",\"emptyDir\":{}}]", "e /v/e 2777 of 70000:72000", 0},
        {"[{\"name\":\"c\",\"configMap\":{\"name\":\"c\",\"defaultMode\":256}}]",
         "c /v/c 2755 of 70000:72000 a=1(440) b=2(440)", 0},
        {"[{\"name\":\"p\",\"projected\":{\"sources\":[{\"serviceAccountToken\":{\"path\":\"t\","
         "\"audience\":\"vault\",\"expirationSeconds\":600}}]}}]",
         "p /v/p 2755 memory 0 of 70000:72000 t=T(640)", 0},
    };

    (void)state;
    check_plans(cases, COUNT(cases), "", "\"securityContext\":{\"fsGroup\":2000},", 70000);
}

static void bounds_memory_by_the_containers_limits(void **state)
{
    static const struct plan_case cases[] = {
        {"[{\"name\":\"e\",\"emptyDir\":{\"medium\":\"Memory\"}}]", "e /v/e 777 memory 3145728", 0},
        {"[{\"name\":\"e\",\"emptyDir\":{\"medium\":\"Memory\",\"sizeLimit\":\"1Gi\"}}]",
         "e /v/e 777 memory 3145728", 0},
        {"[{\"name\":\"e\",\"emptyDir\":{\"medium\":\"Memory\",\"sizeLimit\":\"1Mi\"}}]",
         "e /v/e 777 memory 1048576", 0},
    };

    (void)state;
    check_plans(cases, COUNT(cases), "",
                "\"containers\":[{\"resources\":{\"limits\":{\"memory\":\"1Mi\"}}},"
                "{\"resources\":{\"limits\":{\"memory\":\"2Mi\"}}}],",
                0);
}

static void keeps_host_paths_in_their_roots(void **state)
{
    static const struct plan_case cases[] = {
        {"[{\"name\":\"h\",\"hostPath\":{\"path\":\"/data\"}}]",
         "h /v/h 755 host /data in /data rw 0", 0},
        {"[{\"name\":\"h\",\"hostPath\":{\"path\":\"/data//a/\",\"type\":\"DirectoryOrCreate\"}}]",
         "h /v/h 755 host /data/a in /data rw made 1", 0},
        {"[{\"name\":\"h\",\"hostPath\":{\"path\":\"/data/sets/x\",\"type\":\"FileOrCreate\"}}]",
         "h /v/h 755 host /data/sets/x in /data/sets ro 2", 0},
        {"[{\"name\":\"h\",\"hostPath\":{\"path\":\"/database\"}}]",
         "volume h: hostPath '/database' is in none of this node's host path roots: /data, "
         "/data/sets (read-only)",
         403},
        {"[{\"name\":\"h\",\"hostPath\":{\"path\":\"/data/../etc\"}}]",
         "volume h: hostPath '/data/../etc' cannot be mounted", 422},
        {"[{\"name\":\"h\",\"hostPath\":{\"path\":\"data\"}}]",
         "volume h: hostPath 'data' cannot be mounted", 422},
        {"[{\"name\":\"h\",\"hostPath\":{\"path\":\"/data\",\"type\":\"CharDevice\"}}]",
         "volume h: hostPath type 'CharDevice' is not supported", 422},
    };
    static const struct plan_case admin[] = {
        {"[{\"name\":\"h\",\"hostPath\":{\"path\":\"/etc\",\"type\":\"Directory\"}}]",
         "h /v/h 755 host /etc in any rw 1", 0},
        {"[{\"name\":\"h\",\"hostPath\":{\"path\":\"/data/sets\"}}]",
         "h /v/h 755 host /data/sets in any rw 0", 0},
        {"[{\"name\":\"h\",\"hostPath\":{\"path\":\"/var/lib/mete/server\"}}]",
         "volume h: hostPath '/var/lib/mete/server' is hidden from containers", 403},
        {"[{\"name\":\"h\",\"hostPath\":{\"path\":\"/proc/1\"}}]",
         "volume h: hostPath '/proc/1' cannot be mounted", 422},
    };

    (void)state;
    check_plans(cases, COUNT(cases), "", "", 0);
    check_plans(admin, COUNT(admin), "\"annotations\":{\"mete.dev/host-paths\":\"any\"}", "", 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plans_every_type),
        cmocka_unit_test(plans_fields_and_projections),
        cmocka_unit_test(gives_volumes_to_the_root_and_group_of_the_pod),
        cmocka_unit_test(bounds_memory_by_the_containers_limits),
        cmocka_unit_test(keeps_host_paths_in_their_roots),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
