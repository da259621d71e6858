/* spec.c - config.json without `process`: mounts, resources, devices, namespaces */

#include <inttypes.h>
#include <stdio.h>

#include "base/mem.h"
#include "model/quantity.h"
#include "node/image/root.h"
#include "node/runtime/userns.h"
#include "node/spec/cdi.h"
#include "node/spec/spec_private.h"

/* ---- mounts ---- */

struct fixed_mount {
    const char *destination;
    const char *type;
    const char *options;
};

/*
 * /dev/shm has the kernel's default size, half of the memory, charged to the container's limit:
 * Docker's 64 MiB break collective libraries.
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

static json_t *spec_split(const char *text)
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
    json_put(mount, "options", spec_split(options));
    (void)json_array_append_new(mounts, mount);
}

bool spec_is_below(const char *path, const char *dir)
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
    if (spec_is_below(destination, "/proc") || spec_is_below(destination, "/sys") ||
        (spec_is_below(destination, "/dev") && !spec_is_below(destination, "/dev/shm")))
        return err_new(ERR_INVALID, "mountPath '%s' is in /proc, /sys or /dev", destination);
    return NULL;
}

static struct err *mount_part(const struct spec_input *in, json_t *spec)
{
    const size_t n = COUNT(fixed_mounts);

    for (size_t i = 0; i < n; i++)
        add_mount(spec, fixed_mounts[i].destination, fixed_mounts[i].type, fixed_mounts[i].type,
                  fixed_mounts[i].options);
    /* Only the owner of the network namespace, here the host, may mount a sysfs: so bind one. */
    if (in->image)
        add_mount(spec, "/sys", "bind", in->sys_dir, "bind,rprivate,nosuid,noexec,nodev,ro");
    for (size_t i = 0; i < in->n_mounts; i++) {
        if (!in->mounts[i].is_ours)
            TRY(spec_check_mount(in->mounts[i].destination));
        add_mount(spec, in->mounts[i].destination, "bind", in->mounts[i].source,
                  in->mounts[i].is_read_only ? "rbind,rprivate,nosuid,nodev,ro"
                                             : "rbind,rprivate,nosuid,nodev,rw");
    }
    cdi_sort_mounts(spec);
    return NULL;
}

/* ---- resources ---- */

static struct err *spec_resource(const struct spec_input *in, const char *list, const char *name,
                                 int64_t *ret_milli)
{
    const json_t *value =
        json_at(in->sizes ? in->sizes : in->container, "resources", list, name, NULL);
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

    TRY(spec_resource(in, "requests", "cpu", &request_milli));
    TRY(spec_resource(in, "limits", "cpu", &limit_milli));
    TRY(spec_resource(in, "limits", "memory", &memory_milli));
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

/* ---- devices ---- */

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

/* Denies all devices but harmless ones; CDI edits later add the container's own. */
static void device_part(json_t *spec)
{
    static const int64_t allowed[][2] = {{1, 3}, {1, 5}, {1, 7}, {1, 8},
                                         {1, 9}, {5, 0}, {5, 2}, {136, -1}};
    json_t *rules =
        json_array_at(json_object_at(json_object_at(spec, "linux"), "resources"), "devices");

    device_rule(rules, false, -1, -1);
    for (size_t i = 0; i < COUNT(allowed); i++)
        device_rule(rules, true, allowed[i][0], allowed[i][1]);
}

static void add_texts(json_t *object, const char *key, const char *const *texts)
{
    json_t *list = json_array_at(object, key);

    for (; *texts; texts++)
        (void)json_array_append_new(list, json_string(*texts));
}

static void add_namespace(json_t *part, const char *type)
{
    json_t *ns = json_object();

    json_put_text(ns, "type", type);
    (void)json_array_append_new(json_array_at(part, "namespaces"), ns);
}

static void userns_part(const struct spec_input *in, json_t *part)
{
    static const char *const maps[] = {"uidMappings", "gidMappings"};

    add_namespace(part, "user");
    for (size_t i = 0; i < 2; i++) {
        json_t *map = json_object();

        json_put_int(map, "containerID", 0);
        json_put_int(map, "hostID", in->uid_base);
        json_put_int(map, "size", USERNS_SIZE);
        (void)json_array_append_new(json_array_at(part, maps[i]), map);
    }
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
    for (size_t i = 0; i < COUNT(namespaces); i++)
        add_namespace(part, namespaces[i]);
    if (in->netns)
        (void)json_array_append_new(json_array_at(part, "namespaces"),
                                    json_pack("{s:s, s:s}", "type", "network", "path", in->netns));
    if (in->has_userns)
        userns_part(in, part);
    if (spec_is_privileged(in->container))
        return;
    add_texts(part, "maskedPaths", masked);
    add_texts(part, "readonlyPaths", read_only);
}

/*
 * Device nodes cannot be made inside a user namespace: the nodes of the edits are made on the host
 * (root.h), by their numbers, and bound. The device cgroup still decides about access.
 */
static void bind_devices(const struct spec_input *in, json_t *spec)
{
    json_t *part = json_object_at(spec, "linux");
    const json_t *device = NULL;
    size_t i = 0;

    json_array_foreach (json_object_get(part, "devices"), i, device) {
        AUTO_FREE char *source = root_device_path(in->device_dir, json_int(device, "major", 0),
                                                  json_int(device, "minor", 0));

        add_mount(spec, json_text(device, "path"), "bind", source,
                  "bind,rprivate,nosuid,noexec,rw");
    }
    (void)json_object_del(part, "devices");
    cdi_sort_mounts(spec);
}

struct err *spec_build(const struct spec_input *in, json_t **ret)
{
    AUTO(json_freep) json_t *spec = json_object();
    json_t *root = json_object_at(spec, "root");

    TRY(spec_check_security(in));
    json_put_text(spec, "ociVersion", "1.0.2");
    TRY(spec_process(in, spec));
    json_put_text(root, "path", in->rootfs);
    json_put_bool(root, "readonly", spec_is_root_read_only(in));
    json_put_text(spec, "hostname", in->hostname);
    linux_part(in, spec);
    TRY(resource_part(in, spec));
    device_part(spec);
    TRY(mount_part(in, spec));
    /* A variable of the image or user must not ask for devices, neither here nor through an older
     * hook on this host. Edits for gpus then set it to their UUIDs. */
    if (json_object_get(in->env, CDI_VISIBLE))
        cdi_put_env(json_object_get(json_object_get(spec, "process"), "env"), CDI_VISIBLE "=void");
    TRY(cdi_apply(in->edits, spec));
    if (in->has_userns)
        bind_devices(in, spec);
    spec_seccomp(in, json_at(spec, "process", "capabilities", "bounding", NULL),
                 json_object_at(spec, "linux"));
    spec_sysctls(in, json_object_at(spec, "linux"));
    *ret = TAKE(spec);
    return NULL;
}
