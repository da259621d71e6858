/* test_node_spec.c - tests of config.json for the image `host` */

#include "base/mem.h"
#include "node/spec/cdi.h"
#include "node/spec/spec.h"
#include "test.h"

struct made {
    json_t *spec;
    struct err *e;
};

static json_t *parse(const char *text)
{
    json_t *tree = NULL;
    struct err *e = json_parse(str_of(text), &tree);

    assert_null(e);
    return tree;
}

/* Builds the spec of a container with these members, for uid 1000 in groups 100 and 27, or for
 * root. */
static struct made make(const char *members, uid_t uid, const char *env_text)
{
    struct host_user user = {.uid = uid,
                             .gid = uid ? 100 : 0,
                             .groups = {100, 27},
                             .n_groups = uid == 4711 ? 0 : 2,
                             .has_entry = uid != 4711};
    AUTO_FREE char *text = mem_format("{\"name\":\"m\"%s%s%s}",
                                      strstr(members, "\"image\"") ? "" : ",\"image\":\"host\"",
                                      members[0] ? "," : "", members);
    AUTO(json_freep)
    json_t *pod =
        parse("{\"metadata\":{\"name\":\"p\",\"namespace\":\"ns\",\"uid\":\"u\"},\"spec\":{}}");
    AUTO(json_freep) json_t *container = parse(text);
    AUTO(json_freep) json_t *env = parse(env_text);
    AUTO(json_freep) json_t *edits = json_object();
    struct spec_mount mounts[] = {
        {.source = NULL, .destination = NULL, .is_read_only = true},
    };
    struct spec_input in = {.pod = pod,
                            .container = container,
                            .user = &user,
                            .env = env,
                            .rootfs = "/d/host",
                            .cgroup = "/mete/x",
                            .hostname = "box",
                            .mounts = mounts,
                            .n_mounts = 1,
                            .edits = edits};
    AUTO_FREE char *source = mem_strdup("/d/volumes/v");
    AUTO_FREE char *destination = mem_strdup("/dev/shm");
    struct made made = {0};

    mounts[0].source = source;
    mounts[0].destination = destination;
    (void)snprintf(user.name, sizeof(user.name), "ann");
    made.e = spec_build(&in, &made.spec);
    return made;
}

static void made_done(struct made *m)
{
    json_decref(m->spec);
    err_free(m->e);
}

static void expect(const char *members, uid_t uid, const char *path, const char *want)
{
    AUTO(made_done) struct made m = make(members, uid, "{}");
    AUTO_FREE char *got = NULL;
    const json_t *at = m.spec;
    struct str rest = str_of(path);

    if (m.e) {
        assert_string_equal(err_message(m.e), want);
        return;
    }
    while (rest.at) {
        struct str part = str_cut(&rest, '.');
        AUTO_FREE char *key = mem_strndup(part.at, part.size);

        at = json_object_get(at, key);
    }
    got = at ? json_format(at) : mem_strdup("absent");
    assert_string_equal(got, want);
}

static void builds_what_a_container_asks_for(void **state)
{
    static const struct {
        const char *members;
        uid_t uid;
        const char *path;
        const char *want;
    } cases[] = {
#define RUN "\"command\":[\"sh\"]"
        {"\"command\":[\"sh\",\"-c\"],\"args\":[\"x\"]", 1000, "process.args",
         "[\"sh\",\"-c\",\"x\"]"},
        {"\"args\":[\"x\"]", 1000, "process.args", "[\"x\"]"},
        {RUN ",\"image\":\"busybox\"", 0, "",
         "container m: image 'busybox' is not on this machine"},
        {"", 1000, "", "image 'host' has no command of its own: set command or args"},
        {RUN, 1000, "process.cwd", "\"/\""},
        {RUN ",\"workingDir\":\"/home/ann\"", 1000, "process.cwd", "\"/home/ann\""},
        {RUN, 1000, "process.user", "{\"uid\":1000,\"gid\":100,\"additionalGids\":[100,27]}"},
        {RUN ",\"securityContext\":{\"runAsGroup\":27}", 1000, "process.user.gid", "27"},
        {RUN ",\"securityContext\":{\"runAsGroup\":0}", 1000, "",
         "runAsGroup 0: user ann is not in that group"},
        {RUN ",\"securityContext\":{\"runAsGroup\":4711}", 4711, "process.user",
         "{\"uid\":4711,\"gid\":4711,\"additionalGids\":[]}"},
        {RUN ",\"securityContext\":{\"runAsGroup\":0}", 4711, "",
         "runAsGroup 0: user ann is not in that group"},
        {RUN ",\"securityContext\":{\"runAsNonRoot\":true}", 0, "",
         "container has runAsNonRoot and image will run as root (pod: \"p_ns(u)\", container: m)"},
        {RUN ",\"securityContext\":{\"runAsNonRoot\":true,\"runAsUser\":0}", 0, "",
         "container's runAsUser breaks non-root policy (pod: \"p_ns(u)\", container: m)"},
        {RUN, 1000, "process.capabilities", "{\"bounding\":[],\"effective\":[],\"permitted\":[]}"},
        {RUN, 1000, "process.noNewPrivileges", "true"},
        {RUN, 0, "process.noNewPrivileges", "false"},
        {RUN ",\"securityContext\":{\"allowPrivilegeEscalation\":false}", 0,
         "process.noNewPrivileges", "true"},
        {RUN ",\"securityContext\":{\"capabilities\":{\"drop\":[\"ALL\"]}}", 0,
         "process.capabilities.bounding", "[]"},
        {RUN ",\"securityContext\":{\"privileged\":true}", 0, "",
         "securityContext.privileged is not supported with image 'host'"},
        {RUN ",\"securityContext\":{\"readOnlyRootFilesystem\":true}", 0, "",
         "securityContext.readOnlyRootFilesystem is not supported with image 'host'"},
        {RUN ",\"securityContext\":{\"capabilities\":{\"drop\":[\"ALL\"],\"add\":[\"SYS_NICE\"]}}",
         0, "process.capabilities.bounding", "[\"CAP_SYS_NICE\"]"},
        {RUN ",\"securityContext\":{\"capabilities\":{\"add\":[\"SYS_ADMIN\"]}}", 1000, "",
         "securityContext.capabilities.add with image 'host' is for root, and this container runs "
         "as uid 1000"},
        {RUN, 1000, "linux.seccomp", "absent"},
        {RUN, 1000, "process.rlimits", "absent"},
        {RUN, 1000, "linux.resources.cpu", "{\"shares\":2}"},
        {RUN ",\"resources\":{\"requests\":{\"cpu\":\"500m\"}}", 1000, "linux.resources.cpu",
         "{\"shares\":512}"},
        {RUN ",\"resources\":{\"limits\":{\"cpu\":\"1500m\"}}", 1000, "linux.resources.cpu",
         "{\"shares\":1536,\"period\":100000,\"quota\":150000}"},
        {RUN ",\"resources\":{\"limits\":{\"cpu\":\"1m\"}}", 1000, "linux.resources.cpu",
         "{\"shares\":2,\"period\":100000,\"quota\":1000}"},
        {RUN ",\"resources\":{\"limits\":{\"memory\":\"64Mi\"}}", 1000, "linux.resources.memory",
         "{\"limit\":67108864}"},
        {RUN ",\"resources\":{\"limits\":{\"memory\":\"-1\"}}", 1000, "",
         "resources.limits.memory is negative"},
        {RUN, 1000, "linux.resources.pids", "{\"limit\":4096}"},
        {RUN, 1000, "linux.cgroupsPath", "\"/mete/x\""},
        {RUN, 1000, "linux.namespaces",
         "[{\"type\":\"pid\"},{\"type\":\"ipc\"},{\"type\":\"mount\"},{\"type\":\"uts\"},"
         "{\"type\":\"cgroup\"}]"},
        {RUN, 1000, "linux.devices", "absent"},
        {RUN, 1000, "root", "{\"path\":\"/d/host\",\"readonly\":false}"},
        {RUN, 1000, "hooks", "absent"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++)
        expect(cases[i].members, cases[i].uid, cases[i].path, cases[i].want);
}

static void denies_all_devices_first(void **state)
{
    AUTO(made_done) struct made m = make("\"command\":[\"x\"]", 0, "{}");
    const json_t *rules = json_at(m.spec, "linux", "resources", "devices", NULL);
    AUTO_FREE char *first = json_format(json_array_get(rules, 0));

    (void)state;
    assert_string_equal(first, "{\"allow\":false,\"access\":\"rwm\"}");
    for (size_t i = 1; i < json_array_size(rules); i++)
        assert_in_set((unsigned long)json_int(json_array_get(rules, i), "major", -1),
                      ((const unsigned long[]){1, 5, 136}), 3);
}

static void a_volume_takes_the_place_of_a_mount(void **state)
{
    AUTO(made_done) struct made m = make("\"command\":[\"x\"]", 0, "{}");
    const json_t *mounts = json_object_get(m.spec, "mounts");
    const json_t *item = NULL;
    size_t i = 0;
    size_t n = 0;

    (void)state;
    json_array_foreach (mounts, i, item) {
        if (!text_equal(json_text(item, "destination"), "/dev/shm"))
            continue;
        assert_string_equal(json_text(item, "source"), "/d/volumes/v");
        assert_string_equal(json_string_value(json_array_get(json_object_get(item, "options"), 4)),
                            "ro");
        n++;
    }
    assert_int_equal(n, 1);
    assert_string_equal(json_text(json_array_get(mounts, 0), "destination"), "/proc");
}

/* Neither directly nor through an older hook on the host. */
static void never_asks_for_devices_by_a_variable(void **state)
{
    AUTO(made_done)
    struct made m =
        make("\"command\":[\"x\"]", 1000, "{\"NVIDIA_VISIBLE_DEVICES\":\"all\",\"A\":\"$(x)\"}");
    AUTO_FREE char *env = json_format(json_at(m.spec, "process", "env", NULL));

    (void)state;
    assert_string_equal(env, "[\"NVIDIA_VISIBLE_DEVICES=void\",\"A=$(x)\"]");
}

static void checks_where_volumes_go(void **state)
{
    static const struct {
        const char *path;
        bool is_right;
    } cases[] = {
        {"/data", true},      {"/a/b", true},     {"/dev/shm", true}, {"/procx", true},
        {"/a/", true},        {"", false},        {"/", false},       {"a", false},
        {"/a/../b", false},   {"/..", false},     {"/a/./b", false},  {"//a", false},
        {"/proc", false},     {"/proc/1", false}, {"/sys/fs", false}, {"/dev", false},
        {"/dev/null", false}, {"/a//b", false},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO(err_freep) struct err *e = spec_check_mount(cases[i].path);

        if ((e == NULL) != cases[i].is_right)
            fail_msg("%s: %s", cases[i].path, e ? err_message(e) : "taken");
    }
}

static void wants_a_user(void **state)
{
    AUTO(json_freep) json_t *pod = parse("{\"spec\":{\"securityContext\":{\"runAsUser\":7}}}");
    AUTO(json_freep) json_t *none = parse("{\"spec\":{}}");
    AUTO(json_freep) json_t *own = parse("{\"securityContext\":{\"runAsUser\":8}}");
    AUTO(json_freep) json_t *huge = parse("{\"securityContext\":{\"runAsUser\":4294967295}}");
    uid_t uid = 0;
    AUTO(err_freep) struct err *missing = spec_uid(none, none, &uid);
    AUTO(err_freep) struct err *wrong = spec_uid(none, huge, &uid);

    (void)state;
    assert_null(spec_uid(pod, none, &uid));
    assert_int_equal(uid, 7);
    assert_null(spec_uid(pod, own, &uid));
    assert_int_equal(uid, 8);
    assert_int_equal(err_http(missing), 403);
    assert_string_equal(err_message(wrong), "runAsUser 4294967295 is not a uid");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(builds_what_a_container_asks_for),
        cmocka_unit_test(denies_all_devices_first),
        cmocka_unit_test(a_volume_takes_the_place_of_a_mount),
        cmocka_unit_test(never_asks_for_devices_by_a_variable),
        cmocka_unit_test(checks_where_volumes_go),
        cmocka_unit_test(wants_a_user),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
