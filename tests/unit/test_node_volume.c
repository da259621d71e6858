#include "base/mem.h"
#include "node/volume.h"
#include "test.h"

static json_t *parse(const char *text)
{
    json_t *tree = NULL;
    struct err *e = json_parse(str_of(text), &tree);

    assert_null(e);
    return tree;
}

/* "name path [memory SIZE] mode: file=bytes(mode) ..." */
static char *describe(const struct volumes *v)
{
    struct buf out = {0};

    for (size_t i = 0; i < v->list.n; i++) {
        const struct volume *volume = &v->list.at[i];

        buf_printf(&out, "%s%s %s %o", i ? "; " : "", volume->name, volume->path, volume->mode);
        if (volume->is_memory)
            buf_printf(&out, " memory %lld", (long long)volume->size_bytes);
        for (size_t k = 0; k < volume->files.n; k++)
            buf_printf(&out, " %s=%.*s(%o)", volume->files.at[k].path,
                       (int)volume->files.at[k].size, volume->files.at[k].bytes,
                       volume->files.at[k].mode);
    }
    return buf_steal(&out);
}

static void plans_every_type(void **state)
{
    static const struct {
        const char *volumes;
        const char *want; /* or the error */
        int http;
    } cases[] = {
        {"[{\"name\":\"e\",\"emptyDir\":{}}]", "e /v/e 777", 0},
        {"[{\"name\":\"e\",\"emptyDir\":{\"medium\":\"Memory\",\"sizeLimit\":\"1Mi\"}}]",
         "e /v/e 777 memory 1048576", 0},
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
         "volume c: volume c: '../x' is not a path inside of it", 422},
        {"[{\"name\":\"c\",\"configMap\":{\"name\":\"c\",\"items\":[{\"key\":\"a\","
         "\"path\":\"/etc/x\"}]}}]",
         "volume c: volume c: '/etc/x' is not a path inside of it", 422},
        {"[{\"name\":\"h\",\"hostPath\":{\"path\":\"/\"}}]",
         "volume h: its type is not supported: emptyDir, configMap or secret", 422},
        {"[{\"name\":\"../h\",\"emptyDir\":{}}]", "volume name '../h' is not one", 422},
        {"[{\"name\":\"e\",\"emptyDir\":{\"sizeLimit\":\"-1\"}}]",
         "volume e: volume e: sizeLimit is negative", 422},
    };
    AUTO(json_freep)
    json_t *refs = parse("{\"configmaps/c\":{\"data\":{\"b\":\"2\",\"a\":\"1\"}},"
                         "\"secrets/s\":{\"data\":{\"k\":\"aGk=\"}}}");

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO_FREE char *text = mem_format("{\"spec\":{\"volumes\":%s}}", cases[i].volumes);
        AUTO(json_freep) json_t *pod = parse(text);
        AUTO(volumes_done) struct volumes v = {0};
        AUTO(err_freep) struct err *e = volume_plan(pod, refs, "/v", &v);
        AUTO_FREE char *got = e ? mem_strdup(err_message(e)) : describe(&v);

        assert_string_equal(got, cases[i].want);
        assert_int_equal(e ? err_http(e) : 0, cases[i].http);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plans_every_type),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
