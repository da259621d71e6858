/* native_plan.c - reads the plan of a native attempt from its document */

#include "node/runtime/native_plan.h"

#include "base/mem.h"
#include "model/capability.h"

enum {
    UMASK_DEFAULT = 022,
    UMASK_MAX = 0777
};

/* ---- refusals ---- */

/* A mount of the fixed set, as /proc, has a type; a volume and a file of a driver are bound. */
static struct err *refuse_mounts(const json_t *config)
{
    const json_t *mount = NULL;
    size_t i = 0;

    json_array_foreach (json_object_get(config, "mounts"), i, mount) {
        const char *type = json_text(mount, "type");

        if (!type || text_equal(type, "bind"))
            return err_new(ERR_INVALID,
                           "a host process sees the files of the machine: nothing can be mounted "
                           "at '%s'",
                           text_or_empty(json_text(mount, "destination")));
    }
    return NULL;
}

static struct err *refuse_others(const json_t *config)
{
    const struct {
        const json_t *part;
        const char *name;
    } unknown[] = {
        {json_at(config, "linux", "seccomp", NULL), "seccompProfile"},
        {json_at(config, "linux", "sysctl", NULL), "sysctls"},
        {json_at(config, "linux", "uidMappings", NULL), "a user namespace"},
        {json_object_get(config, "hooks"), "hooks of the driver"},
        {json_at(config, "process", "rlimits", NULL), "rlimits"},
    };

    if (json_bool_at(config, "process", "terminal", NULL))
        return err_new(ERR_INVALID, "a host process has no terminal of its own: tty");
    for (size_t i = 0; i < COUNT(unknown); i++)
        if (unknown[i].part)
            return err_new(ERR_INVALID, "a host process cannot have %s", unknown[i].name);
    return NULL;
}

/* ---- parts ---- */

static const char **texts_of(const json_t *list)
{
    const char **texts = mem_alloc((json_array_size(list) + 1) * sizeof(*texts));
    const json_t *item = NULL;
    size_t n = 0;
    size_t i = 0;

    json_array_foreach (list, i, item)
        if (json_is_string(item))
            texts[n++] = json_string_value(item);
    return texts;
}

static uint64_t capabilities_of(const json_t *list)
{
    uint64_t set = 0;
    const json_t *item = NULL;
    size_t i = 0;

    json_array_foreach (list, i, item) {
        size_t number = capability_number(json_string_value(item));

        if (number < CAPABILITY_COUNT)
            set |= UINT64_C(1) << number;
    }
    return set;
}

static struct err *plan_read_id(const json_t *user, const char *key, uint32_t *ret)
{
    int64_t id = json_int(user, key, -1);

    if (id < 0 || id >= UINT32_MAX)
        return err_new(ERR_INVALID, "the config has no %s", key);
    *ret = (uint32_t)id;
    return NULL;
}

static struct err *plan_read_user(const json_t *user, struct native_plan *ret)
{
    const json_t *gids = json_object_get(user, "additionalGids");
    const json_t *item = NULL;
    size_t i = 0;

    TRY(plan_read_id(user, "uid", &ret->uid));
    TRY(plan_read_id(user, "gid", &ret->gid));
    ret->groups = mem_alloc((json_array_size(gids) + 1) * sizeof(*ret->groups));
    json_array_foreach (gids, i, item)
        ret->groups[ret->n_groups++] = (gid_t)json_integer_value(item);
    return NULL;
}

static struct err *plan_read_path(const json_t *host, const char *key, const char **ret)
{
    const char *path = json_text(host, key);

    if (path && path[0] != '/')
        return err_new(ERR_INVALID, "%s '%s' is not an absolute path", key, path);
    *ret = path;
    return NULL;
}

static struct err *plan_read_host(const json_t *host, struct native_plan *ret)
{
    const char *mode = json_text(host, "openMode");
    int64_t mask = json_int(host, "umask", UMASK_DEFAULT);

    if (mask < 0 || mask > UMASK_MAX)
        return err_new(ERR_INVALID, "umask %lld is not one of 0 to 0777", (long long)mask);
    if (mode && !text_equal(mode, "append") && !text_equal(mode, "truncate"))
        return err_new(ERR_INVALID, "openMode '%s' is not one of append, truncate", mode);
    ret->umask = (mode_t)mask;
    ret->is_append = text_equal(mode, "append");
    ret->is_hold = json_bool(host, "hold", false);
    ret->script = json_text(host, "script");
    if (ret->is_hold && ret->script)
        return err_new(ERR_INVALID, "hold and script exclude each other");
    ret->program_timeout_s = json_int(host, "programTimeout", 0);
    ret->variables = json_object_get(host, "variables");
    ret->has_gpus = json_bool(host, "hasGpus", false);
    TRY(plan_read_path(host, "prolog", &ret->prolog));
    TRY(plan_read_path(host, "epilog", &ret->epilog));
    TRY(plan_read_path(host, "stdin", &ret->input));
    TRY(plan_read_path(host, "stdout", &ret->output));
    return plan_read_path(host, "stderr", &ret->errors);
}

static void plan_read_limits(const json_t *resources, struct native_plan *ret)
{
    const json_t *cpu = json_object_get(resources, "cpu");

    ret->cpu_shares = json_int(cpu, "shares", 0);
    ret->cpu_quota_us = json_int(cpu, "quota", 0);
    ret->cpu_period_us = json_int(cpu, "period", 0);
    ret->memory_bytes = json_int_at(resources, "memory", "limit", NULL);
    ret->pids = json_int_at(resources, "pids", "limit", NULL);
    ret->devices = json_object_get(resources, "devices");
}

static struct err *plan_read_all(const json_t *document, struct native_plan *ret)
{
    const json_t *config = json_object_get(document, "config");
    const json_t *process = json_object_get(config, "process");
    const json_t *capabilities = json_object_get(process, "capabilities");

    TRY(refuse_mounts(config));
    TRY(refuse_others(config));
    TRY(plan_read_user(json_object_get(process, "user"), ret));
    TRY(plan_read_host(json_object_get(document, "host"), ret));
    plan_read_limits(json_at(config, "linux", "resources", NULL), ret);
    ret->cgroup = json_text_at(config, "linux", "cgroupsPath", NULL);
    ret->args = texts_of(json_object_get(process, "args"));
    ret->env = texts_of(json_object_get(process, "env"));
    ret->cwd = json_text(process, "cwd");
    ret->bounding = capabilities_of(json_object_get(capabilities, "bounding"));
    ret->permitted = capabilities_of(json_object_get(capabilities, "permitted"));
    ret->has_no_new_privileges = json_bool(process, "noNewPrivileges", false);
    if (!ret->cgroup || ret->cgroup[0] != '/')
        return err_new(ERR_INVALID, "the config has no cgroupsPath");
    if (!ret->cwd || ret->cwd[0] != '/')
        return err_new(ERR_INVALID, "the working directory '%s' is not an absolute path",
                       text_or_empty(ret->cwd));
    if (!ret->args[0] && !ret->script && !ret->is_hold)
        return err_new(ERR_INVALID, "a host process has no command of its own: set command");
    return NULL;
}

struct err *native_plan_read(const json_t *document, struct native_plan *ret)
{
    struct native_plan plan = {0};
    struct err *e = plan_read_all(document, &plan);

    if (e) {
        native_plan_done(&plan);
        return e;
    }
    *ret = plan;
    return NULL;
}

void native_plan_done(struct native_plan *p)
{
    free(p->args);
    free(p->env);
    free(p->groups);
    *p = (struct native_plan){0};
}
