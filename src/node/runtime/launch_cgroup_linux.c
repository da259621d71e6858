/* launch_cgroup_linux.c - makes, joins, empties and removes the cgroup of a native attempt */

#include "node/runtime/launch_cgroup_linux.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/num.h"
#include "node/runtime/launch_devices_linux.h"
#include "node/session/exec_cgroup_linux.h"

enum {
    CGROUP_FILE_MAX = 4096,
    CFS_PERIOD_US = 100000, /* the kernel's default */
    RULE_SIZE = 80
};

/* The v1 hierarchies in use. `devices` and `pids` must exist: without them a process would reach
 * all devices, and no list of its processes would be complete. */
static const struct {
    const char *name;
    bool is_needed;
} hierarchies[] = {
    {"devices", true}, {"pids", true}, {"memory", false}, {"cpu", false}, {"cpuacct", false},
};

static const char PROCESSES[] = "pids"; /* the hierarchy that lists the processes */

/* ---- files ---- */

/* The directory in a v1 hierarchy, or of v2. The caller frees it. */
static char *cgroup_dir(const struct launch_cgroup *c, const char *hierarchy)
{
    return c->is_v2 ? mem_format("%s%s", c->root, c->path)
                    : mem_format("%s/%s%s", c->root, hierarchy, c->path);
}

static struct err *cgroup_put(const struct launch_cgroup *c, const char *hierarchy,
                              const char *name, const char *text)
{
    AUTO_FREE char *dir = cgroup_dir(c, hierarchy);
    AUTO_FREE char *path = mem_format("%s/%s", dir, name);
    AUTO(fd_closep) int fd = open(path, O_WRONLY | O_CLOEXEC);

    if (fd < 0 || write(fd, text, strlen(text)) < 0)
        return err_errno(errno, "write '%s' to %s", text, path);
    return NULL;
}

static struct err *cgroup_put_number(const struct launch_cgroup *c, const char *hierarchy,
                                     const char *name, int64_t number)
{
    char text[32];

    (void)snprintf(text, sizeof(text), "%" PRId64, number);
    return number > 0 ? cgroup_put(c, hierarchy, name, text) : NULL;
}

/* Makes the directory and its parents. */
static struct err *cgroup_dir_make(const char *dir)
{
    AUTO_FREE char *parent = mem_strndup(dir, (size_t)(strrchr(dir, '/') - dir));

    if (mkdir(dir, 0755) == 0 || errno == EEXIST)
        return NULL;
    if (errno == ENOENT && (mkdir(parent, 0755) == 0 || errno == EEXIST) &&
        (mkdir(dir, 0755) == 0 || errno == EEXIST))
        return NULL;
    return err_errno(errno, "make the cgroup %s", dir);
}

/* ---- v1 ---- */

/* "c 195:* rwm" of a rule, or "a" for all devices. */
static void rule_format(const json_t *rule, char ret[RULE_SIZE])
{
    const char *type = json_text(rule, "type");
    int64_t major = json_int(rule, "major", -1);
    int64_t minor = json_int(rule, "minor", -1);
    char numbers[2][24] = {"*", "*"};

    if (major >= 0)
        (void)snprintf(numbers[0], sizeof(numbers[0]), "%" PRId64, major);
    if (minor >= 0)
        (void)snprintf(numbers[1], sizeof(numbers[1]), "%" PRId64, minor);
    if (!type || text_equal(type, "a"))
        (void)snprintf(ret, RULE_SIZE, "a");
    else
        (void)snprintf(ret, RULE_SIZE, "%.8s %s:%s %.8s", type, numbers[0], numbers[1],
                       text_or_empty(json_text(rule, "access")));
}

/* One write a rule; a file stays open while the next rules go there, too. */
static struct err *devices_put(const struct launch_cgroup *c, const json_t *rules)
{
    AUTO_FREE char *dir = cgroup_dir(c, "devices");
    AUTO(fd_closep) int fd = -1;
    bool is_open_to_allow = false;
    const json_t *rule = NULL;
    size_t i = 0;

    json_array_foreach (rules, i, rule) {
        bool is_allowed = json_bool(rule, "allow", false);
        AUTO_FREE char *path = mem_format("%s/devices.%s", dir, is_allowed ? "allow" : "deny");
        char text[RULE_SIZE];

        if (fd < 0 || is_allowed != is_open_to_allow) {
            fd_close(fd);
            fd = open(path, O_WRONLY | O_CLOEXEC);
            is_open_to_allow = is_allowed;
        }
        rule_format(rule, text);
        if (fd < 0 || write(fd, text, strlen(text)) < 0)
            return err_errno(errno, "write '%s' to %s", text, path);
    }
    return NULL;
}

static struct err *v1_limit(const struct launch_cgroup *c, const struct native_plan *p)
{
    TRY(devices_put(c, p->devices));
    TRY(cgroup_put_number(c, "pids", "pids.max", p->pids));
    TRY(cgroup_put_number(c, "memory", "memory.limit_in_bytes", p->memory_bytes));
    TRY(cgroup_put_number(c, "cpu", "cpu.shares", p->cpu_shares));
    if (p->cpu_period_us != CFS_PERIOD_US) /* which a new cgroup has */
        TRY(cgroup_put_number(c, "cpu", "cpu.cfs_period_us", p->cpu_period_us));
    return cgroup_put_number(c, "cpu", "cpu.cfs_quota_us", p->cpu_quota_us);
}

/*
 * Opens the file that a first process joins by. A single thread that moves itself through `tasks`
 * takes no lock of the whole machine; `cgroup.procs` would, and may wait there for an RCU grace
 * period.
 */
static struct err *v1_make(const char *name, bool is_needed, struct launch_cgroup *ret)
{
    AUTO_FREE char *hierarchy = mem_format("%s/%s", ret->root, name);
    AUTO_FREE char *dir = cgroup_dir(ret, name);
    AUTO_FREE char *tasks = mem_format("%s/tasks", dir);

    if (mkdir(dir, 0755) < 0 && errno != EEXIST) {
        if (!file_exists(hierarchy))
            return is_needed
                       ? err_new(ERR_UNAVAILABLE, "this machine has no cgroup hierarchy '%s'", name)
                       : NULL;
        TRY(cgroup_dir_make(dir));
    }
    ret->join_fds[ret->n_joins] = open(tasks, O_WRONLY | O_CLOEXEC);
    if (ret->join_fds[ret->n_joins] < 0)
        return err_errno(errno, "open %s", tasks);
    ret->joins[ret->n_joins++] = name;
    return NULL;
}

/* ---- v2 ---- */

/* Lets children of the directory have the controllers that this machine has. */
static void v2_delegate(const struct launch_cgroup *c, const char *path)
{
    static const char *const controllers[] = {"+cpu", "+memory", "+pids"};
    const struct launch_cgroup parent = {.root = c->root, .path = path, .is_v2 = true};

    for (size_t i = 0; i < COUNT(controllers); i++) /* a limit without its controller fails later */
        err_free(cgroup_put(&parent, "", "cgroup.subtree_control", controllers[i]));
}

/* As systemd and crun convert shares of v1, 2 to 262144, to a weight, 1 to 10000. */
static int64_t weight_of(int64_t shares)
{
    return shares <= 0 ? 0 : 1 + (shares - 2) * 9999 / 262142;
}

static struct err *v2_limit(const struct launch_cgroup *c, const struct native_plan *p)
{
    char text[64];

    TRY(cgroup_put_number(c, "", "pids.max", p->pids));
    TRY(cgroup_put_number(c, "", "memory.max", p->memory_bytes));
    TRY(cgroup_put_number(c, "", "cpu.weight", weight_of(p->cpu_shares)));
    (void)snprintf(text, sizeof(text), "%" PRId64 " %" PRId64, p->cpu_quota_us, p->cpu_period_us);
    return p->cpu_quota_us > 0 ? cgroup_put(c, "", "cpu.max", text) : NULL;
}

static struct err *v2_make(const struct native_plan *p, struct launch_cgroup *ret)
{
    AUTO_FREE char *dir = cgroup_dir(ret, "");
    AUTO_FREE char *parent = mem_strndup(ret->path, (size_t)(strrchr(ret->path, '/') - ret->path));
    struct err *e = NULL;

    TRY(cgroup_dir_make(dir));
    ret->dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (ret->dir_fd < 0)
        return err_errno(errno, "open %s", dir);
    TRY(launch_devices_attach(ret->dir_fd, p->devices));
    e = v2_limit(ret, p);
    if (!e)
        return NULL;
    err_free(e); /* the first attempt since the boot: the files of the controllers are not there */
    v2_delegate(ret, "");
    v2_delegate(ret, parent);
    return v2_limit(ret, p);
}

/* ---- both ---- */

struct launch_cgroup launch_cgroup_of(const char *root, const char *path)
{
    AUTO_FREE char *controllers = mem_format("%s/cgroup.controllers", root);

    return (struct launch_cgroup){
        .root = root, .path = path, .is_v2 = file_exists(controllers), .dir_fd = -1};
}

struct err *launch_cgroup_make(const char *root, const struct native_plan *p,
                               struct launch_cgroup *ret)
{
    *ret = launch_cgroup_of(root, p->cgroup);
    if (ret->is_v2)
        return v2_make(p, ret);
    for (size_t i = 0; i < COUNT(hierarchies); i++)
        TRY(v1_make(hierarchies[i].name, hierarchies[i].is_needed, ret));
    return v1_limit(ret, p);
}

bool launch_cgroup_join(const struct launch_cgroup *c)
{
    for (size_t i = 0; i < c->n_joins; i++)
        if (write(c->join_fds[i], "0", 1) != 1)
            return false;
    return true;
}

static struct err *cgroup_enter(const struct launch_cgroup *c, const char *hierarchy,
                                const char *name)
{
    AUTO_FREE char *dir = cgroup_dir(c, hierarchy);
    AUTO_FREE char *path =
        mem_format("%s/%s%s%s", dir, name, *name ? "/" : "", c->is_v2 ? "cgroup.procs" : "tasks");
    AUTO(fd_closep) int fd = open(path, O_WRONLY | O_CLOEXEC);

    if (fd >= 0 && write(fd, "0", 1) == 1)
        return NULL;
    if (errno == ENOENT || errno == ENODEV)
        return err_new(ERR_NOT_FOUND, "the cgroup is gone");
    return err_errno(errno, "join %s", path);
}

/* First the hierarchy that lists the processes: from there on the attempt's end kills the caller.
 */
struct err *launch_cgroup_enter(const char *root, const char *path, const char *name)
{
    const struct launch_cgroup c = launch_cgroup_of(root, path);

    TRY(cgroup_enter(&c, PROCESSES, name));
    for (size_t i = 0; !c.is_v2 && i < COUNT(hierarchies); i++) {
        AUTO_FREE char *dir = cgroup_dir(&c, hierarchies[i].name);

        if (!text_equal(hierarchies[i].name, PROCESSES) &&
            (hierarchies[i].is_needed || file_exists(dir)))
            TRY(cgroup_enter(&c, hierarchies[i].name, ""));
    }
    return NULL;
}

size_t launch_cgroup_kill(const struct launch_cgroup *c)
{
    AUTO_FREE char *dir = cgroup_dir(c, PROCESSES);

    return exec_cgroup_kill(dir);
}

/* The number in the file, or after `key` in lines "key number"; -1: none. */
static int64_t cgroup_number(const struct launch_cgroup *c, const char *hierarchy, const char *name,
                             const char *key)
{
    AUTO_FREE char *dir = cgroup_dir(c, hierarchy);
    AUTO_FREE char *path = mem_format("%s/%s", dir, name);
    AUTO(fd_closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
    char text[CGROUP_FILE_MAX + 1];
    ssize_t n = fd < 0 ? -1 : read(fd, text, CGROUP_FILE_MAX);
    struct str rest = {text, n > 0 ? (size_t)n : 0};

    while (rest.at && rest.size > 0) {
        struct str line = str_cut(&rest, '\n');
        int64_t number = -1;
        AUTO(err_freep) struct err *e = NULL;

        if (key && !str_equal(str_cut(&line, ' '), str_of(key)))
            continue;
        e = line.at ? num_parse_int64(line, 0, INT64_MAX, &number) : NULL;
        return number;
    }
    return -1;
}

void launch_cgroup_sample(const struct launch_cgroup *c, struct cgroup_stats *ret)
{
    ret->memory_bytes = -1;
    if (c->is_v2) {
        int64_t us = cgroup_number(c, "", "cpu.stat", "usage_usec");

        ret->cpu_ns = us < 0 || us > INT64_MAX / 1000 ? -1 : us * 1000;
        ret->memory_peak_bytes = cgroup_number(c, "", "memory.peak", NULL);
        return;
    }
    ret->cpu_ns = cgroup_number(c, "cpuacct", "cpuacct.usage", NULL);
    ret->memory_peak_bytes = cgroup_number(c, "memory", "memory.max_usage_in_bytes", NULL);
}

bool launch_cgroup_had_oom(const struct launch_cgroup *c)
{
    return c->is_v2 ? cgroup_number(c, "", "memory.events", "oom_kill") > 0
                    : cgroup_number(c, "memory", "memory.oom_control", "oom_kill") > 0;
}

static bool cgroup_dir_remove(const struct launch_cgroup *c, const char *hierarchy)
{
    AUTO_FREE char *dir = cgroup_dir(c, hierarchy);

    return rmdir(dir) == 0 || errno == ENOENT;
}

/* Commands in the attempt have cgroups below its own. */
static size_t commands_each(const struct launch_cgroup *c, const char *prefix,
                            size_t (*fn)(const char *dir, int signal), int signal)
{
    AUTO_FREE char *dir = cgroup_dir(c, PROCESSES);
    char **names = NULL;
    size_t n = 0;
    size_t n_found = 0;
    AUTO(err_freep) struct err *e = dir_list(dir, &names, &n);

    for (size_t i = 0; i < n; i++) {
        AUTO_FREE char *below = mem_format("%s/%s", dir, names[i]);

        if (exec_cgroup_is_name(names[i]) && text_starts_with(names[i], prefix))
            n_found += fn(below, signal);
    }
    names_free(names, n);
    return n_found;
}

static size_t command_end(const char *dir, int signal)
{
    size_t n = exec_cgroup_kill(dir);

    (void)signal;
    (void)rmdir(dir); /* fails while a process is left: again in the next round */
    return n;
}

size_t launch_cgroup_signal_steps(const struct launch_cgroup *c, const char *step, int signal)
{
    AUTO_FREE char *prefix =
        step ? mem_format(EXEC_CGROUP_STEP "%s-", step) : mem_strdup(EXEC_CGROUP_STEP);

    return commands_each(c, prefix, exec_cgroup_signal, signal);
}

bool launch_cgroup_remove(const struct launch_cgroup *c)
{
    bool is_gone = !c->is_v2 || cgroup_dir_remove(c, "");

    for (size_t i = 0; i < c->n_joins; i++)
        if (!cgroup_dir_remove(c, c->joins[i]))
            is_gone = false;
    if (is_gone && !c->is_v2)
        (void)cgroup_dir_remove(c, "freezer"); /* is there if the job was suspended */
    if (!is_gone)
        (void)commands_each(c, "", command_end, SIGKILL);
    return is_gone;
}
