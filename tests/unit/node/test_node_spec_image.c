/* test_node_spec_image.c - tests of config.json for containers of images */

#include <signal.h>

#include "base/mem.h"
#include "node/runtime/userns.h"
#include "node/spec/spec.h"
#include "test.h"

static json_t *parse(const char *text)
{
    AUTO_FREE char *quoted = mem_strdup(text);
    json_t *tree = NULL;
    struct err *e = NULL;

    for (char *c = quoted; *c; c++)
        if (*c == '\'')
            *c = '"';
    e = json_parse(str_of(quoted), &tree);
    if (e)
        fail_msg("%s: %s", text, err_message(e));
    return tree;
}

struct asked {
    const char *of_pod;       /* members of its spec */
    const char *of_container; /* more members */
    const char *of_image;     /* {user, env, entrypoint, command, dir} */
    uid_t uid;                /* as found in the root */
    const char *edits;
    bool has_host_users;
};

struct made {
    json_t *spec;
    struct err *e;
};

static const char *or_text(const char *text, const char *other)
{
    return text ? text : other;
}

static struct made make(const struct asked *a)
{
    AUTO_FREE char *pod_text = mem_format(
        "{'metadata':{'name':'p','namespace':'ns','uid':'u'},'spec':{%s}}", or_text(a->of_pod, ""));
    AUTO_FREE char *container_text =
        mem_format("{'name':'m','image':'busybox'%s}", or_text(a->of_container, ""));
    AUTO(json_freep) json_t *pod = parse(pod_text);
    AUTO(json_freep) json_t *container = parse(container_text);
    AUTO(json_freep)
    json_t *facts = parse(or_text(a->of_image, "{'entrypoint':['/entry'],'command':['word']}"));
    AUTO(json_freep) json_t *edits = parse(or_text(a->edits, "{}"));
    AUTO(json_freep) json_t *own = parse("{'MINE':'1'}");
    const struct image image = {.user = json_text(facts, "user"),
                                .env = json_object_get(facts, "env"),
                                .entrypoint = json_object_get(facts, "entrypoint"),
                                .command = json_object_get(facts, "command"),
                                .working_dir = json_text(facts, "dir")};
    struct host_user user = {.uid = a->uid, .gid = a->uid, .groups = {27}, .n_groups = 1};
    AUTO(json_freep) json_t *env = NULL;
    struct spec_input in = {.pod = pod,
                            .container = container,
                            .image = &image,
                            .user = &user,
                            .own_env = own,
                            .rootfs = "/d/pods/u/roots/m-0/root",
                            .cgroup = "/mete/x",
                            .hostname = "box",
                            .edits = edits,
                            .has_userns = !a->has_host_users,
                            .uid_base = a->has_host_users ? 0 : USERNS_FIRST,
                            .sys_dir = "/d/sys",
                            .device_dir = "/d/devices"};
    struct made made = {0};

    (void)snprintf(user.home, sizeof(user.home), "/home/u");
    env = spec_image_env(&image, &user, "box");
    (void)json_object_update(env, own);
    in.env = env;
    made.e = spec_build(&in, &made.spec);
    return made;
}

static void made_done(struct made *m)
{
    json_decref(m->spec);
    err_free(m->e);
}

static const json_t *follow(const json_t *at, const char *path)
{
    struct str rest = str_of(path);

    while (rest.at) {
        struct str part = str_cut(&rest, '.');
        AUTO_FREE char *key = mem_strndup(part.at, part.size);

        at = json_object_get(at, key);
    }
    return at;
}

static void expect(const struct asked *a, const char *path, const char *want)
{
    AUTO(made_done) struct made m = make(a);
    AUTO_FREE char *got = NULL;
    const json_t *at = NULL;

    if (m.e) {
        assert_string_equal(err_message(m.e), want);
        return;
    }
    at = follow(m.spec, path);
    got = at ? json_format(at) : mem_strdup("absent");
    for (char *c = got; *c; c++)
        if (*c == '"')
            *c = '\'';
    assert_string_equal(got, want);
}

#define DEFAULT_SET                                                                          \
    "['CAP_CHOWN','CAP_DAC_OVERRIDE','CAP_FOWNER','CAP_FSETID','CAP_KILL','CAP_SETGID',"     \
    "'CAP_SETUID','CAP_SETPCAP','CAP_NET_BIND_SERVICE','CAP_NET_RAW','CAP_SYS_CHROOT','CAP_" \
    "MKNOD','CAP_AUDIT_WRITE','CAP_SETFCAP']"
#define SECURITY(members) ",'securityContext':{" members "}"

static const struct {
    struct asked asked;
    const char *path;
    const char *want;
} cases[] = {
    /* args: `command` replaces everything, `args` only the image's command */
    {{.uid = 0}, "process.args", "['/entry','word']"},
    {{.of_container = ",'args':['a','$(MINE)','$(PATH)','$$(MINE)']"},
     "process.args",
     "['/entry','a','1','$(PATH)','$(MINE)']"},
    {{.of_container = ",'command':['c']"}, "process.args", "['c']"},
    {{.of_container = ",'command':['c'],'args':['a']"}, "process.args", "['c','a']"},
    {{.of_container = ",'command':[],'args':[]"}, "process.args", "['/entry','word']"},
    {{.of_image = "{'command':['$(MINE)']}"}, "process.args", "['$(MINE)']"},
    {{.of_image = "{}"},
     "",
     "no command specified: neither the image nor the manifest has one; set command"},
    {{.of_image = "{'command':['c'],'dir':'/srv'}"}, "process.cwd", "'/srv'"},
    {{.of_image = "{'command':['c'],'dir':'/srv'}", .of_container = ",'workingDir':'/w'"},
     "process.cwd",
     "'/w'"},
    {{.of_image = "{'command':['c'],'dir':'srv'}"}, "process.cwd", "'/'"},
    /* variables */
    {{.of_image = "{'command':['c'],'env':['PATH=/bin','A=b=c','LD_PRELOAD=/x.so','NVIDIA_"
                  "VISIBLE_DEVICES=all','NVIDIA_REQUIRE_CUDA=x','CUDA_VISIBLE_DEVICES=0',"
                  "'LD_LIBRARY_PATH=/l','MINE=image','broken','=x']}"},
     "process.env",
     "['PATH=/bin','A=b=c','LD_LIBRARY_PATH=/l','MINE=1','HOME=/home/u','HOSTNAME=box']"},
    /* user */
    {{.uid = 0}, "process.user", "{'uid':0,'gid':0,'additionalGids':[27]}"},
    {{.of_pod = "'securityContext':{'supplementalGroups':[5,27],'fsGroup':7}", .uid = 9},
     "process.user",
     "{'uid':9,'gid':9,'additionalGids':[27,5,7]}"},
    {{.of_pod = "'securityContext':{'runAsNonRoot':true}"},
     "",
     "container has runAsNonRoot and image will run as root (pod: \"p_ns(u)\", container: m)"},
    {{.of_pod = "'securityContext':{'runAsNonRoot':true}",
      .of_image = "{'command':['c'],'user':'web:1'}",
      .uid = 9},
     "",
     "container has runAsNonRoot and image has non-numeric user (web), cannot verify user is "
     "non-root (pod: \"p_ns(u)\", container: m)"},
    {{.of_pod = "'securityContext':{'runAsNonRoot':true}",
      .of_image = "{'command':['c'],'user':'9:9'}",
      .uid = 9},
     "process.user.uid",
     "9"},
    {{.of_pod = "'securityContext':{'runAsNonRoot':true}",
      .of_container = SECURITY("'runAsNonRoot':false")},
     "process.user.uid",
     "0"},
    {{.of_pod = "'securityContext':{'runAsNonRoot':true,'runAsUser':0}"},
     "",
     "container's runAsUser breaks non-root policy (pod: \"p_ns(u)\", container: m)"},
    /* a number that is a name of root in the image's passwd */
    {{.of_pod = "'securityContext':{'runAsNonRoot':true}",
      .of_image = "{'command':['c'],'user':'1000'}",
      .uid = 0},
     "",
     "container has runAsNonRoot and image will run as root (pod: \"p_ns(u)\", container: m)"},
    /* capabilities */
    {{.uid = 0}, "process.capabilities.effective", DEFAULT_SET},
    {{.uid = 9}, "process.capabilities.effective", "[]"},
    {{.uid = 9}, "process.capabilities.bounding", DEFAULT_SET},
    {{.of_container = SECURITY("'capabilities':{'drop':['ALL']}")},
     "process.capabilities.bounding",
     "[]"},
    {{.of_container = SECURITY("'capabilities':{'drop':['ALL'],'add':['NET_RAW','CAP_KILL']}")},
     "process.capabilities.permitted",
     "['CAP_KILL','CAP_NET_RAW']"},
    {{.of_container = SECURITY("'capabilities':{'drop':['KILL'],'add':['ALL','SYS_ADMIN']}")},
     "process.noNewPrivileges",
     "false"},
    {{.uid = 0}, "process.noNewPrivileges", "true"},
    {{.of_container = SECURITY("'allowPrivilegeEscalation':true"), .uid = 9},
     "process.noNewPrivileges",
     "false"},
    {{.of_container = SECURITY("'allowPrivilegeEscalation':false"), .uid = 9},
     "process.noNewPrivileges",
     "true"},
    /* the user namespace */
    {{.uid = 0}, "linux.uidMappings", "[{'containerID':0,'hostID':1879113728,'size':65536}]"},
    {{.uid = 0}, "linux.gidMappings", "[{'containerID':0,'hostID':1879113728,'size':65536}]"},
    {{.has_host_users = true}, "linux.uidMappings", "absent"},
    {{.uid = 0},
     "linux.namespaces",
     "[{'type':'pid'},{'type':'ipc'},{'type':'mount'},{'type':'uts'},{'type':'cgroup'},"
     "{'type':'user'}]"},
    /* the rest */
    {{.uid = 0}, "root", "{'path':'/d/pods/u/roots/m-0/root','readonly':false}"},
    {{.of_container = SECURITY("'readOnlyRootFilesystem':true")}, "root.readonly", "true"},
    {{.of_pod = "'securityContext':{'sysctls':[{'name':'kernel.shm_rmid_forced','value':'1'}]"
                "}"},
     "linux.sysctl",
     "{'kernel.shm_rmid_forced':'1'}"},
    {{.uid = 0}, "linux.seccomp.defaultAction", "'SCMP_ACT_ERRNO'"},
    {{.of_pod = "'securityContext':{'seccompProfile':{'type':'Unconfined'}}"},
     "linux.seccomp",
     "absent"},
    {{.of_pod = "'securityContext':{'seccompProfile':{'type':'Unconfined'}}",
      .of_container = SECURITY("'seccompProfile':{'type':'RuntimeDefault'}")},
     "linux.seccomp.defaultErrnoRet",
     "38"},
    {{.of_container = SECURITY("'privileged':true")}, "linux.seccomp", "absent"},
    {{.of_container = SECURITY("'privileged':true")}, "linux.maskedPaths", "absent"},
    {{.of_container = SECURITY("'privileged':true")}, "linux.readonlyPaths", "absent"},
    {{.of_container = SECURITY("'privileged':true")},
     "linux.uidMappings",
     "[{'containerID':0,'hostID':1879113728,'size':65536}]"},
};

static void builds_what_manifest_and_image_say(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++)
        expect(&cases[i].asked, cases[i].path, cases[i].want);
}

static const json_t *find_mount(const json_t *spec, const char *destination)
{
    const json_t *list = json_object_get(spec, "mounts");
    const json_t *found = NULL;

    for (size_t i = 0; i < json_array_size(list); i++)
        if (text_equal(json_text(json_array_get(list, i), "destination"), destination)) {
            assert_null(found); /* once */
            found = json_array_get(list, i);
        }
    return found;
}

#define GPU_EDITS "{'deviceNodes':[{'path':'/dev/nvidia3','type':'c','major':195,'minor':3}]}"

/* mknod fails in a user namespace, even if the device cgroup allows the device. */
static void devices_are_bound_inside_a_user_namespace(void **state)
{
    const struct asked inside = {.edits = GPU_EDITS};
    const struct asked outside = {.edits = GPU_EDITS, .has_host_users = true};
    AUTO(made_done) struct made m = make(&inside);
    AUTO(made_done) struct made host = make(&outside);
    const json_t *rules = json_at(m.spec, "linux", "resources", "devices", NULL);
    const json_t *last = json_array_get(rules, json_array_size(rules) - 1);

    (void)state;
    assert_null(m.e);
    assert_null(json_at(m.spec, "linux", "devices", NULL));
    assert_string_equal(json_text(find_mount(m.spec, "/dev/nvidia3"), "source"),
                        "/d/devices/c-195-3");
    assert_true(json_is_false(json_object_get(json_array_get(rules, 0), "allow")));
    assert_int_equal(json_int(last, "major", -1), 195);
    assert_int_equal(json_int(last, "minor", -1), 3);
    assert_null(host.e);
    assert_null(find_mount(host.spec, "/dev/nvidia3"));
    assert_int_equal(json_array_size(json_at(host.spec, "linux", "devices", NULL)), 1);
}

static void sys_is_bound_alone_and_read_only(void **state)
{
    const struct asked any = {0};
    AUTO(made_done) struct made m = make(&any);
    const json_t *sys = find_mount(m.spec, "/sys");
    AUTO_FREE char *options = NULL;

    (void)state;
    assert_null(m.e);
    options = json_format(json_object_get(sys, "options"));
    assert_string_equal(json_text(sys, "source"), "/d/sys");
    assert_string_equal(options, "[\"bind\",\"rprivate\",\"nosuid\",\"noexec\",\"nodev\",\"ro\"]");
}

static void reads_stop_signals_as_docker_writes_them(void **state)
{
    static const struct {
        const char *text;
        int number;
    } signals[] = {
        {NULL, SIGTERM},      {"", SIGTERM},
        {"SIGQUIT", SIGQUIT}, {"QUIT", SIGQUIT},
        {"9", SIGKILL},       {"SIGRTMIN+3", 37},
        {"RTMIN", 34},        {"SIGRTMAX-1", 63},
        {"RTMAX", 64},        {"SIGRTMIN+31", SIGTERM},
        {"0", SIGTERM},       {"65", SIGTERM},
        {"sigquit", SIGTERM}, {"SIGWINCH", SIGWINCH},
        {"-1", SIGTERM},      {"SIG", SIGTERM},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(signals); i++)
        assert_int_equal(spec_stop_signal(signals[i].text), signals[i].number);
}

static void host_aliases_are_lines_of_hosts(void **state)
{
    AUTO(json_freep)
    json_t *pod = parse("{'spec':{'hostAliases':[{'ip':'10.0.0.1','hostnames':['a','b']}]}}");
    AUTO(json_freep) json_t *none = parse("{'spec':{}}");
    AUTO_FREE char *lines = spec_hosts(pod);
    AUTO_FREE char *empty = spec_hosts(none);

    (void)state;
    assert_string_equal(lines, "\n# Entries added by HostAliases.\n10.0.0.1\ta\tb\n");
    assert_string_equal(empty, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(builds_what_manifest_and_image_say),
        cmocka_unit_test(devices_are_bound_inside_a_user_namespace),
        cmocka_unit_test(sys_is_bound_alone_and_read_only),
        cmocka_unit_test(reads_stop_signals_as_docker_writes_them),
        cmocka_unit_test(host_aliases_are_lines_of_hosts),
    };

    return cmocka_run_group_tests_name("node_spec_image", tests, NULL, NULL);
}
