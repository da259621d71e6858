/* test_node_stage.c - tests of the mounts of an attempt */

#include "base/mem.h"
#include "node/volume/stage.h"
#include "test.h"

#define T(text) ((char *)(uintptr_t)(text)) /* read-only use */

static json_t *parse(const char *text)
{
    json_t *tree = NULL;
    struct err *e = json_parse(str_of(text), &tree);

    assert_null(e);
    return tree;
}

static void add_mount(struct buf *out, const struct stage_mount *m)
{
    const struct bind *b = &m->bind;

    buf_printf(out, "%s%s at %s%s", out->size > 0 ? "; " : "", m->mount.source,
               m->mount.destination, m->mount.is_read_only ? " ro" : "");
    if (!b->target)
        return;
    buf_printf(out, " = %s|%s|%s|%s", b->base, b->root ? b->root : "", b->path, b->sub_path);
    buf_printf(out, "%s%s%s%s%s", b->has_links ? " links" : "", b->is_made ? " made" : "",
               b->is_ours ? " ours" : "", b->is_sub_path_made ? " sub-made" : "",
               b->is_read_only ? " ro" : "");
    if (b->has_user)
        buf_printf(out, " as %u:%u+%zu", b->user.uid, b->user.gid, b->user.n_groups);
    if (b->id_base)
        buf_printf(out, " shifted %u", b->id_base);
}

/* The mounts of a container as text, or the error. */
static char *plan(const char *mounts, const struct host_user *user, uint32_t uid_base)
{
    struct volume volumes[] = {
        {.name = T("e"), .path = T("/v/e"), .type = VOLUME_EMPTY},
        {.name = T("c"), .path = T("/v/c"), .type = VOLUME_FILES},
        {.name = T("h"),
         .path = T("/v/h"),
         .type = VOLUME_HOST,
         .host = {.path = T("/data/a"), .root = T("/data"), .type = BIND_DIR, .is_made = true}},
        {.name = T("r"),
         .path = T("/v/r"),
         .type = VOLUME_HOST,
         .host = {.path = T("/sets"), .root = T("/sets"), .is_read_only = true}},
        {.name = T("any"), .path = T("/v/any"), .type = VOLUME_HOST, .host = {.path = T("/etc")}},
    };
    const struct volumes all = {.list = {.at = volumes, .n = COUNT(volumes)}};
    AUTO_FREE char *text = mem_format("{\"volumeMounts\":%s}", mounts);
    AUTO(json_freep) json_t *container = parse(text);
    AUTO(json_freep) json_t *env = parse("{\"POD\":\"p\",\"UP\":\"../x\",\"ROOT\":\"/x\"}");
    const struct stage_input in = {.container = container,
                                   .volumes = &all,
                                   .env = env,
                                   .dir = "/b",
                                   .rootfs = "/host",
                                   .user = user,
                                   .is_host = user != NULL,
                                   .uid_base = uid_base};
    AUTO(stage_done) struct stage s = {0};
    AUTO(err_freep) struct err *e = stage_plan(&in, &s);
    struct buf out = {0};

    if (e)
        return mem_strdup(err_message(e));
    for (size_t i = 0; i < s.mounts.n; i++)
        add_mount(&out, &s.mounts.at[i]);
    return buf_steal(&out);
}

#define MOUNT(name, more) "[{\"name\":\"" name "\",\"mountPath\":\"/m\"" more "}]"

static void plans_what_is_mounted(void **state)
{
    static const struct host_user ann = {.uid = 1000, .gid = 100, .n_groups = 2};
    static const struct {
        const char *mounts;
        const struct host_user *user;
        uint32_t uid_base;
        const char *want;
    } cases[] = {
        {MOUNT("e", ""), &ann, 0, "/v/e at /m"},
        {MOUNT("e", ",\"readOnly\":true"), &ann, 0, "/v/e at /m ro"},
        {MOUNT("c", ""), &ann, 0, "/v/c at /m ro"},
        {MOUNT("e", ",\"subPath\":\"x/y\""), &ann, 0, "/b/0 at /m = /v/e|||x/y ours sub-made"},
        {MOUNT("c", ",\"subPath\":\"k\""), NULL, 70000, "/b/0 at /m ro = /v/c|||k ours ro"},
        {MOUNT("e", ",\"subPathExpr\":\"$(POD)/$$(POD)\""), &ann, 0,
         "/b/0 at /m = /v/e|||p/$(POD) ours sub-made"},
        {MOUNT("h", ""), &ann, 0, "/b/0 at /m = /host|/data|a| made sub-made as 1000:100+2"},
        {MOUNT("h", ",\"subPath\":\"x\""), NULL, 70000,
         "/b/0 at /m = /host|/data|a|x made sub-made as 70000:70000+0"},
        {MOUNT("r", ""), NULL, 70000, "/b/0 at /m ro = /host|/sets|| ro as 70000:70000+0"},
        {MOUNT("any", ""), &ann, 0, "/b/0 at /m = /host||etc| links sub-made as 1000:100+2"},
        {MOUNT("any", ""), NULL, 70000, "/b/0 at /m = /host||etc| links sub-made shifted 70000"},
        {"[{\"name\":\"e\",\"mountPath\":\"/a\"},{\"name\":\"any\",\"mountPath\":\"/b\"}]", NULL, 0,
         "/v/e at /a; /b/1 at /b = /host||etc| links sub-made"},
        {MOUNT("e", ",\"subPath\":\"../x\""), &ann, 0,
         "volumeMount 'e': subPath '../x' is not a relative path without '..'"},
        {MOUNT("e", ",\"subPath\":\"/x\""), &ann, 0,
         "volumeMount 'e': subPath '/x' is not a relative path without '..'"},
        {MOUNT("e", ",\"subPathExpr\":\"a/$(UP)\""), &ann, 0,
         "volumeMount 'e': subPath 'a/../x' is not a relative path without '..'"},
        {MOUNT("e", ",\"subPathExpr\":\"$(ROOT)\""), &ann, 0,
         "volumeMount 'e': subPath '/x' is not a relative path without '..'"},
        {MOUNT("e", ",\"subPathExpr\":\"$(NONE)\""), &ann, 0,
         "volumeMount 'e': subPathExpr '$(NONE)': there is no variable NONE"},
        {MOUNT("none", ""), &ann, 0, "volumeMount 'none': there is no such volume"},
        {"[{\"name\":\"e\",\"mountPath\":\"/proc/x\"}]", &ann, 0,
         "volumeMount 'e': mountPath '/proc/x' is in /proc, /sys or /dev"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO_FREE char *got = plan(cases[i].mounts, cases[i].user, cases[i].uid_base);

        assert_string_equal(got, cases[i].want);
    }
}

static void knows_which_containers_have_mounts_of_ours(void **state)
{
    static const struct {
        const char *mounts;
        bool has;
    } cases[] = {
        {"[]", false},
        {MOUNT("e", ""), false},
        {MOUNT("e", ",\"subPath\":\"x\""), true},
        {MOUNT("e", ",\"subPathExpr\":\"x\""), true},
        {MOUNT("h", ""), true},
        {"[{\"name\":\"e\",\"mountPath\":\"/m\"},{\"name\":\"h\",\"mountPath\":\"/n\"}]", true},
    };
    AUTO(json_freep)
    json_t *pod = parse("{\"spec\":{\"volumes\":[{\"name\":\"e\",\"emptyDir\":{}},"
                        "{\"name\":\"h\",\"hostPath\":{\"path\":\"/x\"}}]}}");

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO_FREE char *text = mem_format("{\"volumeMounts\":%s}", cases[i].mounts);
        AUTO(json_freep) json_t *container = parse(text);

        assert_int_equal(stage_has_binds(pod, container), cases[i].has);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plans_what_is_mounted),
        cmocka_unit_test(knows_which_containers_have_mounts_of_ours),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
