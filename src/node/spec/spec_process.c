/* spec_process.c - `process` of config.json: user, args, variables, directory */

#include <inttypes.h>
#include <signal.h>

#include "base/mem.h"
#include "base/num.h"
#include "node/spec/cdi.h"
#include "node/spec/env.h"
#include "node/spec/spec_private.h"

#define DEFAULT_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

/* ---- user ---- */

static int64_t id_of(const json_t *pod, const json_t *container, const char *key)
{
    const json_t *asked = spec_security(pod, container, key);

    return json_is_integer(asked) ? json_integer_value(asked) : -1;
}

struct err *spec_uid(const json_t *pod, const json_t *container, uid_t *ret)
{
    const json_t *uid = spec_security(pod, container, "runAsUser");

    if (!json_is_integer(uid))
        return err_new(ERR_FORBIDDEN, "image 'host' runs as a user of this machine, and "
                                      "securityContext.runAsUser names none");
    if (json_integer_value(uid) < 0 || json_integer_value(uid) >= UINT32_MAX)
        return err_new(ERR_INVALID, "runAsUser %" PRId64 " is not a uid",
                       (int64_t)json_integer_value(uid));
    *ret = (uid_t)json_integer_value(uid);
    return NULL;
}

struct image_user spec_user_asked(const json_t *pod, const json_t *container, bool has_userns)
{
    const char *policy =
        json_text_at(pod, "spec", "securityContext", "supplementalGroupsPolicy", NULL);

    return (struct image_user){.uid = id_of(pod, container, "runAsUser"),
                               .gid = id_of(pod, container, "runAsGroup"),
                               .id_max = has_userns ? (int64_t)IMAGE_ID_MAX : IMAGE_ID_MAX_HOST,
                               .has_image_groups = !text_equal(policy, "Strict")};
}

static struct err *non_root_error(const json_t *pod, const json_t *container, const char *why)
{
    const json_t *meta = json_object_get(pod, "metadata");

    return err_new(ERR_FORBIDDEN, "%s (pod: \"%s_%s(%s)\", container: %s)", why,
                   json_text(meta, "name"), json_text(meta, "namespace"), json_text(meta, "uid"),
                   json_text(container, "name"));
}

struct err *spec_check_non_root(const json_t *pod, const json_t *container, const char *image_user)
{
    struct str rest = str_of(image_user ? image_user : "");
    struct str user = str_cut(&rest, ':');
    int64_t asked = id_of(pod, container, "runAsUser");
    int64_t uid = 0;
    AUTO(err_freep) struct err *e = NULL;
    AUTO_FREE char *why = NULL;

    if (!json_is_true(spec_security(pod, container, "runAsNonRoot")) || asked > 0)
        return NULL;
    if (asked == 0)
        return non_root_error(pod, container, "container's runAsUser breaks non-root policy");
    if (user.size > 0)
        e = num_parse_int64(user, 0, UINT32_MAX, &uid);
    if (!e && uid > 0)
        return NULL;
    if (!e)
        return non_root_error(pod, container,
                              "container has runAsNonRoot and image will run as root");
    why = mem_format("container has runAsNonRoot and image has non-numeric user (" STR_FMT
                     "), cannot verify user is non-root",
                     STR_ARG(user));
    return non_root_error(pod, container, why);
}

static void add_gid(json_t *gids, int64_t gid)
{
    const json_t *item = NULL;
    size_t i = 0;

    json_array_foreach (gids, i, item)
        if (json_integer_value(item) == gid)
            return;
    (void)json_array_append_new(gids, json_integer(gid));
}

static void add_groups(const struct spec_input *in, json_t *user)
{
    const json_t *context = json_at(in->pod, "spec", "securityContext", NULL);
    const json_t *asked = json_object_get(context, "supplementalGroups");
    json_t *gids = json_array_at(user, "additionalGids");
    const json_t *item = NULL;
    size_t i = 0;

    for (i = 0; i < in->user->n_groups; i++)
        add_gid(gids, in->user->groups[i]);
    json_array_foreach (asked, i, item)
        add_gid(gids, json_integer_value(item));
    if (json_is_integer(json_object_get(context, "fsGroup")))
        add_gid(gids, json_int(context, "fsGroup", 0));
}

/* A user of the host may only have the host's groups. A uid without an entry has none there: the
 * server lets administrators alone choose its group, which is not root's. */
static struct err *check_host_group(const struct spec_input *in, int64_t gid)
{
    bool is_member =
        in->user->uid == 0 || gid == (int64_t)in->user->gid || (!in->user->has_entry && gid > 0);

    for (size_t i = 0; i < in->user->n_groups; i++)
        is_member = is_member || gid == (int64_t)in->user->groups[i];
    if (!is_member || gid < 0 || gid >= UINT32_MAX)
        return err_new(ERR_INVALID, "runAsGroup %" PRId64 ": user %s is not in that group", gid,
                       in->user->name);
    return NULL;
}

static struct err *user_part(const struct spec_input *in, json_t *process)
{
    json_t *user = json_object_at(process, "user");
    int64_t asked = id_of(in->pod, in->container, "runAsGroup");
    int64_t gid = asked >= 0 && !in->image ? asked : (int64_t)in->user->gid;

    if (!in->image)
        TRY(check_host_group(in, gid));
    TRY(spec_check_non_root(in->pod, in->container, in->image ? in->image->user : NULL));
    if (in->image && in->user->uid == 0 &&
        json_is_true(spec_security(in->pod, in->container, "runAsNonRoot")))
        return non_root_error(in->pod, in->container,
                              "container has runAsNonRoot and image will run as root");
    json_put_int(user, "uid", in->user->uid);
    json_put_int(user, "gid", gid);
    add_groups(in, user);
    return NULL;
}

/* ---- args ---- */

static void add_words(const json_t *list, const json_t *env, json_t *args)
{
    const json_t *item = NULL;
    size_t i = 0;

    json_array_foreach (list, i, item)
        if (json_is_string(item)) {
            AUTO_FREE char *word = env ? env_expand(json_string_value(item), env)
                                       : mem_strdup(json_string_value(item));

            (void)json_array_append_new(args, json_string(word));
        }
}

/* `command` replaces the image's entrypoint and command, `args` only its command. */
static struct err *put_args(const struct spec_input *in, json_t *process)
{
    const json_t *env = in->own_env ? in->own_env : in->env;
    const json_t *command = json_object_get(in->container, "command");
    const json_t *own = json_object_get(in->container, "args");
    json_t *args = json_array_at(process, "args");

    if (in->image && json_array_size(command) == 0) {
        add_words(in->image->entrypoint, NULL, args);
        if (json_array_size(own) == 0)
            add_words(in->image->command, NULL, args);
    }
    add_words(command, in->is_script ? NULL : env, args);
    add_words(own, env, args);
    if (json_array_size(args) > 0 || in->is_script)
        return NULL;
    if (in->image)
        return err_new(ERR_INVALID, "no command specified: neither the image nor the manifest has "
                                    "one; set command");
    return err_new(ERR_INVALID, "image 'host' has no command of its own: set command or args");
}

static void put_cwd(const struct spec_input *in, json_t *process)
{
    const char *cwd = json_text(in->container, "workingDir");

    if (in->image && (!cwd || !cwd[0]))
        cwd = in->image->working_dir;
    json_put_text(process, "cwd", cwd && cwd[0] == '/' ? cwd : "/");
}

struct err *spec_process(const struct spec_input *in, json_t *spec)
{
    json_t *process = json_object_at(spec, "process");
    const char *name = NULL;
    json_t *value = NULL;

    json_put_bool(process, "terminal", json_bool(in->container, "tty", false));
    TRY(user_part(in, process));
    TRY(put_args(in, process));
    (void)json_array_at(process, "env");
    json_object_foreach ((json_t *)(uintptr_t)in->env, name, value) {
        AUTO_FREE char *variable = mem_format("%s=%s", name, json_string_value(value));

        cdi_put_env(json_object_get(process, "env"), variable);
    }
    put_cwd(in, process);
    spec_capabilities(in, process);
    return NULL;
}

/* ---- variables ---- */

json_t *spec_base_env(const struct host_user *user, const char *hostname)
{
    json_t *env = json_object();

    json_put_text(env, "PATH", DEFAULT_PATH);
    json_put_text(env, "HOME", user->home);
    json_put_text(env, "USER", user->name);
    json_put_text(env, "LOGNAME", user->name);
    json_put_text(env, "HOSTNAME", hostname);
    return env;
}

/* Is the image's variable dropped? An image must not choose the devices of its container, nor
 * libraries for programs that the node starts there. */
static bool is_stripped(const char *name)
{
    static const char *const names[] = {"LD_PRELOAD", "LD_AUDIT", "CUDA_VISIBLE_DEVICES"};

    for (size_t i = 0; i < COUNT(names); i++)
        if (text_equal(name, names[i]))
            return true;
    return text_starts_with(name, "NVIDIA_");
}

json_t *spec_image_env(const struct image *image, const struct host_user *user,
                       const char *hostname)
{
    json_t *env = json_object();
    const json_t *item = NULL;
    size_t i = 0;

    json_array_foreach (image->env, i, item) {
        struct str rest = str_of(json_string_value(item));
        struct str part = str_cut(&rest, '=');
        AUTO_FREE char *name = mem_strndup(part.at, part.size);

        if (rest.at && part.size > 0 && !is_stripped(name))
            json_put_text(env, name, rest.at);
    }
    if (!json_object_get(env, "PATH"))
        json_put_text(env, "PATH", DEFAULT_PATH);
    if (!json_object_get(env, "HOME"))
        json_put_text(env, "HOME", user->home);
    json_put_text(env, "HOSTNAME", hostname);
    return env;
}

/* ---- signals, directory ---- */

static const struct {
    const char *name;
    int number;
} signals[] = {
    {"HUP", SIGHUP},   {"INT", SIGINT},       {"QUIT", SIGQUIT}, {"ILL", SIGILL},
    {"TRAP", SIGTRAP}, {"ABRT", SIGABRT},     {"BUS", SIGBUS},   {"FPE", SIGFPE},
    {"KILL", SIGKILL}, {"USR1", SIGUSR1},     {"SEGV", SIGSEGV}, {"USR2", SIGUSR2},
    {"PIPE", SIGPIPE}, {"ALRM", SIGALRM},     {"TERM", SIGTERM}, {"STKFLT", SIGSTKFLT},
    {"CHLD", SIGCHLD}, {"CONT", SIGCONT},     {"STOP", SIGSTOP}, {"TSTP", SIGTSTP},
    {"TTIN", SIGTTIN}, {"TTOU", SIGTTOU},     {"URG", SIGURG},   {"XCPU", SIGXCPU},
    {"XFSZ", SIGXFSZ}, {"VTALRM", SIGVTALRM}, {"PROF", SIGPROF}, {"WINCH", SIGWINCH},
    {"IO", SIGIO},     {"PWR", SIGPWR},       {"SYS", SIGSYS},
};

int spec_stop_signal(const char *text)
{
    enum {
        REAL_TIME_FIRST = 34, /* as in Docker: the C library keeps 32 and 33 */
        REAL_TIME_LAST = 64
    };
    AUTO(err_freep) struct err *e = NULL;
    int64_t number = 0;
    const char *name = text ? text : "";

    if (text_starts_with(name, "SIG"))
        name += strlen("SIG");
    for (size_t i = 0; i < COUNT(signals); i++)
        if (text_equal(signals[i].name, name))
            return signals[i].number;
    if (text_equal(name, "RTMIN"))
        return REAL_TIME_FIRST;
    if (text_equal(name, "RTMAX"))
        return REAL_TIME_LAST;
    if (text_starts_with(name, "RTMIN+")) {
        e = num_parse_int64(str_of(name + strlen("RTMIN+")), 0, REAL_TIME_LAST - REAL_TIME_FIRST,
                            &number);
        return e ? SIGTERM : REAL_TIME_FIRST + (int)number;
    }
    if (text_starts_with(name, "RTMAX-")) {
        e = num_parse_int64(str_of(name + strlen("RTMAX-")), 0, REAL_TIME_LAST - REAL_TIME_FIRST,
                            &number);
        return e ? SIGTERM : REAL_TIME_LAST - (int)number;
    }
    e = num_parse_int64(str_of(name), 1, REAL_TIME_LAST, &number);
    return e ? SIGTERM : (int)number;
}

char *spec_hosts(const json_t *pod)
{
    const json_t *list = json_at(pod, "spec", "hostAliases", NULL);
    AUTO(buf_done) struct buf out = {.cap = 1 << 20};
    const json_t *item = NULL;
    size_t i = 0;

    if (json_array_size(list) > 0)
        buf_add_text(&out, "\n# Entries added by HostAliases.\n");
    json_array_foreach (list, i, item) {
        const json_t *name = NULL;
        size_t k = 0;

        buf_add_text(&out, json_text(item, "ip") ? json_text(item, "ip") : "");
        json_array_foreach (json_object_get(item, "hostnames"), k, name)
            buf_printf(&out, "\t%s", json_string_value(name) ? json_string_value(name) : "");
        buf_add_char(&out, '\n');
    }
    return buf_steal(&out);
}
