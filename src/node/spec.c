#include "node/spec.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/mem.h"
#include "model/quantity.h"
#include "node/cdi.h"
#include "node/env.h"

static const char *const default_capabilities[] = {
    "CAP_CHOWN",      "CAP_DAC_OVERRIDE", "CAP_FSETID",      "CAP_FOWNER",           "CAP_MKNOD",
    "CAP_NET_RAW",    "CAP_SETGID",       "CAP_SETUID",      "CAP_SETFCAP",          "CAP_SETPCAP",
    "CAP_SYS_CHROOT", "CAP_KILL",         "CAP_AUDIT_WRITE", "CAP_NET_BIND_SERVICE", NULL};

/* ---- who ---- */

static const json_t *security(const json_t *pod, const json_t *container, const char *key)
{
    const json_t *own = json_at(container, "securityContext", key, NULL);

    return own && !json_is_null(own) ? own : json_at(pod, "spec", "securityContext", key, NULL);
}

struct err *spec_check_image(const json_t *container)
{
    const char *image = json_text(container, "image");

    if (text_equal(image, "host"))
        return NULL;
    return err_new(ERR_INVALID,
                   "container %s: image '%s' is not on this machine: only 'host' is there, the "
                   "machine's own root file system",
                   json_text(container, "name"), image ? image : "");
}

struct err *spec_uid(const json_t *pod, const json_t *container, uid_t *ret)
{
    const json_t *uid = security(pod, container, "runAsUser");

    if (!json_is_integer(uid))
        return err_new(ERR_FORBIDDEN, "image 'host' runs as a user of this machine, and "
                                      "securityContext.runAsUser names none");
    if (json_integer_value(uid) < 0 || json_integer_value(uid) >= UINT32_MAX)
        return err_new(ERR_INVALID, "runAsUser %" PRId64 " is not a uid",
                       (int64_t)json_integer_value(uid));
    *ret = (uid_t)json_integer_value(uid);
    return NULL;
}

static struct err *user_part(const struct spec_input *in, json_t *process)
{
    const json_t *asked = security(in->pod, in->container, "runAsGroup");
    json_t *user = json_object_at(process, "user");
    int64_t gid = json_is_integer(asked) ? json_integer_value(asked) : (int64_t)in->user->gid;
    bool is_member = in->user->uid == 0 || gid == (int64_t)in->user->gid;

    for (size_t i = 0; i < in->user->n_groups; i++)
        is_member = is_member || gid == (int64_t)in->user->groups[i];
    if (!is_member || gid < 0 || gid >= UINT32_MAX)
        return err_new(ERR_INVALID, "runAsGroup %" PRId64 ": user %s is not in that group", gid,
                       in->user->name);
    if (json_is_true(security(in->pod, in->container, "runAsNonRoot")) && in->user->uid == 0)
        return err_new(ERR_INVALID, "runAsNonRoot is set, but the container would run as root");
    json_put_int(user, "uid", in->user->uid);
    json_put_int(user, "gid", gid);
    for (size_t i = 0; i < in->user->n_groups; i++)
        (void)json_array_append_new(json_array_at(user, "additionalGids"),
                                    json_integer(in->user->groups[i]));
    return NULL;
}

static bool lists_capability(const json_t *list, const char *capability)
{
    const json_t *item = NULL;
    size_t i = 0;

    json_array_foreach (list, i, item) {
        const char *name = json_string_value(item);

        if (text_equal(name, "ALL") || text_equal(name, capability) ||
            text_equal(name, capability + strlen("CAP_")))
            return true;
    }
    return false;
}

/* Root gets Docker's default set less what it drops; others get none, and no way to any. */
static void capability_part(const struct spec_input *in, json_t *process)
{
    static const char *const sets[] = {"bounding", "effective", "permitted"};
    const json_t *drop = json_at(in->container, "securityContext", "capabilities", "drop", NULL);
    const json_t *escalation =
        json_at(in->container, "securityContext", "allowPrivilegeEscalation", NULL);
    json_t *capabilities = json_object_at(process, "capabilities");

    for (size_t k = 0; k < 3; k++) {
        json_t *set = json_array_at(capabilities, sets[k]);

        for (size_t i = 0; in->user->uid == 0 && default_capabilities[i]; i++)
            if (!lists_capability(drop, default_capabilities[i]))
                (void)json_array_append_new(set, json_string(default_capabilities[i]));
    }
    json_put_bool(process, "noNewPrivileges", in->user->uid != 0 || json_is_false(escalation));
}

/* The API refuses these already; a node does not take its word for it. */
static struct err *check_security(const struct spec_input *in)
{
    const json_t *own = json_object_get(in->container, "securityContext");

    if (json_bool(own, "privileged", false))
        return err_new(ERR_INVALID, "securityContext.privileged is not supported");
    if (json_bool(own, "readOnlyRootFilesystem", false))
        return err_new(ERR_INVALID, "securityContext.readOnlyRootFilesystem is not supported with "
                                    "image 'host'");
    if (json_array_size(json_at(own, "capabilities", "add", NULL)) > 0)
        return err_new(ERR_INVALID, "securityContext.capabilities.add is not supported");
    return NULL;
}

/* ---- what it runs ---- */

static void add_words(const json_t *list, const json_t *env, json_t *args)
{
    const json_t *item = NULL;
    size_t i = 0;

    json_array_foreach (list, i, item)
        if (json_is_string(item)) {
            AUTO_FREE char *word = env_expand(json_string_value(item), env);

            (void)json_array_append_new(args, json_string(word));
        }
}

static struct err *process_part(const struct spec_input *in, json_t *spec)
{
    json_t *process = json_object_at(spec, "process");
    json_t *args = json_array_at(process, "args");
    const char *cwd = json_text(in->container, "workingDir");
    const char *name = NULL;
    json_t *value = NULL;

    json_put_bool(process, "terminal", false);
    TRY(user_part(in, process));
    add_words(json_object_get(in->container, "command"), in->env, args);
    add_words(json_object_get(in->container, "args"), in->env, args);
    if (json_array_size(args) == 0)
        return err_new(ERR_INVALID, "image 'host' has no command of its own: set command or args");
    (void)json_array_at(process, "env");
    json_object_foreach ((json_t *)(uintptr_t)in->env, name, value) {
        AUTO_FREE char *variable = mem_format("%s=%s", name, json_string_value(value));

        cdi_put_env(json_object_get(process, "env"), variable);
    }
    json_put_text(process, "cwd", cwd && cwd[0] == '/' ? cwd : "/");
    capability_part(in, process);
    return NULL;
}

json_t *spec_base_env(const struct host_user *user, const char *hostname)
{
    json_t *env = json_object();

    json_put_text(env, "PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
    json_put_text(env, "HOME", user->home);
    json_put_text(env, "USER", user->name);
    json_put_text(env, "LOGNAME", user->name);
    json_put_text(env, "HOSTNAME", hostname);
    return env;
}

/* ---- where ---- */

struct fixed_mount {
    const char *destination;
    const char *type;
    const char *options;
};

/*
 * /dev/shm has no size of its own: the kernel's half of the memory, charged to the container's
 * limit; Docker's 64 MiB break collective libraries.
 */
static const struct fixed_mount fixed_mounts[] = {
    {"/proc", "proc", "nosuid,noexec,nodev"},
    {"/dev", "tmpfs", "nosuid,noexec,strictatime,mode=755,size=64k,nr_inodes=1k"},
    {"/dev/pts", "devpts", "nosuid,noexec,newinstance,ptmxmode=0666,mode=0620"},
    {"/dev/shm", "tmpfs", "nosuid,noexec,nodev,mode=1777"},
    {"/dev/mqueue", "mqueue", "nosuid,noexec,nodev"},
    {"/sys", "sysfs", "nosuid,noexec,nodev,ro"},
    {"/sys/fs/cgroup", "cgroup", "nosuid,noexec,nodev,relatime,ro"},
};

static json_t *split(const char *text)
{
    json_t *list = json_array();
    struct str rest = str_of(text);

    while (rest.at) {
        struct str word = str_cut(&rest, ',');

        (void)json_array_append_new(list, json_stringn(word.at, word.size));
    }
    return list;
}

static void add_mount(json_t *spec, const char *destination, const char *type, const char *source,
                      const char *options)
{
    json_t *mounts = json_array_at(spec, "mounts");
    json_t *mount = json_object();

    for (size_t i = json_array_size(mounts); i > 0; i--)
        if (text_equal(json_text(json_array_get(mounts, i - 1), "destination"), destination))
            (void)json_array_remove(mounts, i - 1);
    json_put_text(mount, "destination", destination);
    json_put_text(mount, "type", type);
    json_put_text(mount, "source", source);
    json_put(mount, "options", split(options));
    (void)json_array_append_new(mounts, mount);
}

static bool is_below(const char *path, const char *dir)
{
    size_t size = strlen(dir);

    return strncmp(path, dir, size) == 0 && (path[size] == '/' || path[size] == '\0');
}

struct err *spec_check_mount(const char *destination)
{
    struct str rest = str_of(destination);

    if (!destination || destination[0] != '/' || destination[1] == '\0')
        return err_new(ERR_INVALID, "mountPath '%s' is not an absolute path below /",
                       destination ? destination : "");
    while (rest.at) {
        struct str part = str_cut(&rest, '/');

        if (str_equal(part, STR("..")) || str_equal(part, STR(".")) ||
            (part.size == 0 && rest.at && part.at != destination))
            return err_new(ERR_INVALID, "mountPath '%s' is not a plain path", destination);
    }
    if (is_below(destination, "/proc") || is_below(destination, "/sys") ||
        (is_below(destination, "/dev") && !is_below(destination, "/dev/shm")))
        return err_new(ERR_INVALID, "mountPath '%s': nothing is mounted over /proc, /sys and /dev",
                       destination);
    return NULL;
}

static struct err *mount_part(const struct spec_input *in, json_t *spec)
{
    const size_t n = sizeof(fixed_mounts) / sizeof(fixed_mounts[0]);

    for (size_t i = 0; i < n; i++)
        add_mount(spec, fixed_mounts[i].destination, fixed_mounts[i].type, fixed_mounts[i].type,
                  fixed_mounts[i].options);
    for (size_t i = 0; i < in->n_mounts; i++) {
        TRY(spec_check_mount(in->mounts[i].destination));
        add_mount(spec, in->mounts[i].destination, "bind", in->mounts[i].source,
                  in->mounts[i].is_read_only ? "rbind,rprivate,nosuid,nodev,ro"
                                             : "rbind,rprivate,nosuid,nodev,rw");
    }
    cdi_sort_mounts(spec);
    return NULL;
}

/* ---- how much ---- */

static struct err *resource(const struct spec_input *in, const char *list, const char *name,
                            int64_t *ret_milli)
{
    const json_t *value = json_at(in->container, "resources", list, name, NULL);
    char number[32];
    const char *text = json_string_value(value);
    struct quantity q = {0};
    struct err *e = NULL;

    *ret_milli = -1;
    if (json_is_integer(value)) {
        (void)snprintf(number, sizeof(number), "%" PRId64, (int64_t)json_integer_value(value));
        text = number;
    }
    if (!text)
        return NULL;
    e = quantity_parse(str_of(text), &q);
    if (e || q.milli < 0)
        return e ? err_wrap(e, "resources.%s.%s", list, name)
                 : err_new(ERR_INVALID, "resources.%s.%s is negative", list, name);
    *ret_milli = q.milli;
    return NULL;
}

static int64_t clamp(int64_t value, int64_t min, int64_t max)
{
    return value < min ? min : value > max ? max : value;
}

/* cpu.shares and the CFS quota by the kubelet's formulas: 1024 shares and 100 ms in 100 ms a cpu.
 */
static struct err *resource_part(const struct spec_input *in, json_t *spec)
{
    enum {
        PERIOD_US = 100000
    };
    json_t *resources = json_object_at(json_object_at(spec, "linux"), "resources");
    int64_t request_milli = -1;
    int64_t limit_milli = -1;
    int64_t memory_milli = -1;

    TRY(resource(in, "requests", "cpu", &request_milli));
    TRY(resource(in, "limits", "cpu", &limit_milli));
    TRY(resource(in, "limits", "memory", &memory_milli));
    if (request_milli < 0)
        request_milli = limit_milli < 0 ? 0 : limit_milli;
    json_put_int(json_object_at(resources, "cpu"), "shares",
                 clamp(clamp(request_milli, 0, 256000) * 1024 / 1000, 2, 262144));
    if (limit_milli > 0) {
        json_put_int(json_object_at(resources, "cpu"), "period", PERIOD_US);
        json_put_int(
            json_object_at(resources, "cpu"), "quota",
            clamp(clamp(limit_milli, 0, 1000000000) * (PERIOD_US / 1000), 1000, INT64_MAX));
    }
    if (memory_milli > 0)
        json_put_int(json_object_at(resources, "memory"), "limit",
                     memory_milli / 1000 + (memory_milli % 1000 > 0));
    json_put_int(json_object_at(resources, "pids"), "limit", SPEC_PIDS_DEFAULT);
    return NULL;
}

/* ---- what it may touch ---- */

static void device_rule(json_t *rules, bool is_allowed, int64_t major, int64_t minor)
{
    json_t *rule = json_object();

    json_put_bool(rule, "allow", is_allowed);
    if (major >= 0) {
        json_put_text(rule, "type", "c");
        json_put_int(rule, "major", major);
        if (minor >= 0)
            json_put_int(rule, "minor", minor);
    }
    json_put_text(rule, "access", "rwm");
    (void)json_array_append_new(rules, rule);
}

/* Denies all devices but the harmless ones; CDI edits add the container's own after this. */
static void device_part(json_t *spec)
{
    static const int64_t allowed[][2] = {{1, 3}, {1, 5}, {1, 7}, {1, 8},
                                         {1, 9}, {5, 0}, {5, 2}, {136, -1}};
    json_t *rules =
        json_array_at(json_object_at(json_object_at(spec, "linux"), "resources"), "devices");

    device_rule(rules, false, -1, -1);
    for (size_t i = 0; i < sizeof(allowed) / sizeof(allowed[0]); i++)
        device_rule(rules, true, allowed[i][0], allowed[i][1]);
}

static void add_texts(json_t *object, const char *key, const char *const *texts)
{
    json_t *list = json_array_at(object, key);

    for (; *texts; texts++)
        (void)json_array_append_new(list, json_string(*texts));
}

static void linux_part(const struct spec_input *in, json_t *spec)
{
    static const char *const namespaces[] = {"pid", "ipc", "mount", "uts", "cgroup"};
    static const char *const masked[] = {"/proc/acpi",
                                         "/proc/asound",
                                         "/proc/interrupts",
                                         "/proc/kcore",
                                         "/proc/keys",
                                         "/proc/latency_stats",
                                         "/proc/sched_debug",
                                         "/proc/scsi",
                                         "/proc/timer_list",
                                         "/proc/timer_stats",
                                         "/sys/devices/virtual/powercap",
                                         "/sys/firmware",
                                         NULL};
    static const char *const read_only[] = {
        "/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger", NULL};
    json_t *part = json_object_at(spec, "linux");

    json_put_text(part, "cgroupsPath", in->cgroup);
    for (size_t i = 0; i < sizeof(namespaces) / sizeof(namespaces[0]); i++) {
        json_t *ns = json_object();

        json_put_text(ns, "type", namespaces[i]);
        (void)json_array_append_new(json_array_at(part, "namespaces"), ns);
    }
    add_texts(part, "maskedPaths", masked);
    add_texts(part, "readonlyPaths", read_only);
}

struct err *spec_build(const struct spec_input *in, json_t **ret)
{
    AUTO(json_freep) json_t *spec = json_object();
    json_t *root = json_object_at(spec, "root");

    TRY(spec_check_image(in->container));
    TRY(check_security(in));
    json_put_text(spec, "ociVersion", "1.0.2");
    TRY(process_part(in, spec));
    json_put_text(root, "path", in->rootfs);
    json_put_bool(root, "readonly", false);
    json_put_text(spec, "hostname", in->hostname);
    linux_part(in, spec);
    TRY(resource_part(in, spec));
    device_part(spec);
    TRY(mount_part(in, spec));
    TRY(cdi_apply(in->edits, spec));
    /* A variable of the image or the user never asks for devices: neither here nor from an older
     * hook that this host may have. */
    if (json_object_get(in->env, "NVIDIA_VISIBLE_DEVICES"))
        cdi_put_env(json_object_get(json_object_get(spec, "process"), "env"),
                    "NVIDIA_VISIBLE_DEVICES=void");
    *ret = TAKE(spec);
    return NULL;
}
