/*
 * native_exec_linux.c - commands in native attempts: the node's side
 *
 * A command is a child of the node in the role LAUNCH_EXEC_ROLE (launch_exec_linux.c), which enters
 * the attempt and becomes the command. Its cgroup below the attempt's contains all that it starts.
 */

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "base/num.h"
#include "base/stamp.h"
#include "node/runtime/launch_helper.h"
#include "node/runtime/native_linux.h"
#include "node/session/exec_cgroup_linux.h"
#include "node/session/exec_private_linux.h"

enum {
    WORDS_MAX = 1024, /* of a command */
    WORDS_OF_ROLE = 7,
    FAILURE_MAX = 1024
};

static const int64_t BEGIN_AGAIN_NS = 2 * NS_PER_MS;
static const int64_t BEGIN_DEADLINE_NS = 600 * NS_PER_SEC;

/* ---- start ---- */

static bool is_step(const struct exec_child *c)
{
    return text_equal(json_string_value(json_array_get(c->args, 0)), LAUNCH_STEP_WORD);
}

/* "exec-"; "step-" or "step-NUMBER-". The caller frees it. */
static char *command_prefix(const struct exec_child *c)
{
    const char *number = json_string_value(json_array_get(c->args, 1));

    if (!is_step(c))
        return mem_strdup(EXEC_CGROUP_COMMAND);
    return number ? mem_format(EXEC_CGROUP_STEP "%s-", number) : mem_strdup(EXEC_CGROUP_STEP);
}

static struct err *command_cgroup_make(struct exec_child *c, const struct native *n)
{
    AUTO_FREE char *path = mem_format("/mete/%s", c->id);
    AUTO_FREE char *prefix = command_prefix(c);
    AUTO_FREE char *word = NULL;
    const struct exec_cgroup_options o = {.root = n->cgroup_root,
                                          .path = path,
                                          .prefix = prefix,
                                          .number = c->number,
                                          .is_used = exec_has_cgroup,
                                          .arg = c->set};

    return exec_cgroup_make(&o, &c->cgroup, &word);
}

static struct err *command_run(struct exec_child *c, const int fds[3])
{
    const struct native *n = c->runtime;
    const struct native_attempt *a = native_find(c->runtime, c->id);
    AUTO_FREE char *path = native_attempt_path(a);
    const char *argv[WORDS_OF_ROLE + WORDS_MAX + 1] = {"mete",
                                                       LAUNCH_EXEC_ROLE,
                                                       path,
                                                       n->cgroup_root,
                                                       strrchr(c->cgroup, '/') + 1,
                                                       c->o.has_terminal ? "tty" : "pipes",
                                                       "--"};
    const char *env[] = {NULL};
    struct proc_options o = {
        .argv = argv, .is_self = true, .env = env, .cwd = "/", .n_fds = 4, .is_session = true};
    AUTO(fd_closep) int failure = -1;
    int pair[2] = {-1, -1};
    const json_t *word = NULL;
    size_t i = 0;

    json_array_foreach (c->args, i, word)
        argv[WORDS_OF_ROLE + i] = json_string_value(word);
    if (pipe2(pair, O_CLOEXEC) < 0)
        return err_errno(errno, "make a pipe");
    c->failure_fd = pair[0];
    failure = pair[1];
    (void)fcntl(c->failure_fd, F_SETFL, O_NONBLOCK); /* a new pipe: cannot fail */
    memcpy(o.fds, (const int[4]){fds[0], fds[1], fds[2], failure}, 4 * sizeof(o.fds[0]));
    return proc_start(c->set->loop, &o, exec_on_end, c, &c->proc);
}

/* The user may open the terminal by its name, too. */
static struct err *command_run_terminal(struct exec_child *c)
{
    AUTO(fd_closep) int master = -1;
    AUTO(fd_closep) int slave = -1;

    TRY(pty_open_cooked(c->o.columns, c->o.rows, &master, &slave));
    TRY(command_run(c, (const int[3]){slave, slave, slave}));
    return exec_take_terminal(c, fd_take(&master));
}

static struct err *command_start(struct exec_child *c)
{
    TRY(command_cgroup_make(c, c->runtime));
    return c->o.has_terminal ? command_run_terminal(c) : exec_start_with_pipes(c, command_run);
}

/* ---- backend ---- */

static struct err *native_exec_prepare(struct exec_child *c, const struct runtime_exec *e)
{
    const json_t *args = json_object_get(e->process, "args");
    const json_t *word = NULL;
    const char *number = NULL;
    int64_t step = 0;
    size_t i = 0;

    if (json_array_size(args) == 0)
        return err_new(ERR_INVALID, "no command is given");
    if (json_array_size(args) > WORDS_MAX)
        return err_new(ERR_INVALID, "the command has more than %d words", WORDS_MAX);
    json_array_foreach (args, i, word)
        if (!json_is_string(word))
            return err_new(ERR_INVALID, "the command is not a list of words");
    number = json_string_value(json_array_get(args, 1));
    if (text_equal(json_string_value(json_array_get(args, 0)), LAUNCH_STEP_WORD) && number)
        TRY(num_parse_int64(str_of(number), 0, INT32_MAX, &step));
    c->args = json_deep_copy(args);
    c->is_ended_all = is_step(c);
    return NULL;
}

/* Waits until the job's processes are limited: a command would reach all devices before. */
static struct err *native_exec_enter(struct exec_child *c)
{
    const struct native_attempt *a = native_find(c->runtime, c->id);
    AUTO_FREE char *path = a ? native_attempt_path(a) : NULL;
    struct native_record r = {0};
    bool has_begun;
    bool has_ended;

    if (!a || a->state != RUNTIME_RUNNING)
        return err_new(ERR_NOT_FOUND, "the container is not running");
    if (a->is_suspended)
        return err_new(ERR_CONFLICT, "the job is suspended");
    TRY(native_file_read(path, false, &r));
    has_begun = r.has_begun;
    has_ended = r.end != NULL;
    native_record_done(&r);
    if (has_ended)
        return err_new(ERR_NOT_FOUND, "the container is not running");
    c->is_waiting = !has_begun;
    if (has_begun)
        return command_start(c);
    if (loop_now_ns(c->set->loop) - c->begun_ns > BEGIN_DEADLINE_NS)
        return err_new(ERR_UNAVAILABLE, "the job did not begin within 10 minutes: its prolog runs");
    loop_timer_set(c->timer, BEGIN_AGAIN_NS);
    return NULL;
}

/* "404 text", written before the command ran; nothing: it ran. */
static struct err *native_exec_failure(const struct exec_child *c, int code)
{
    char text[FAILURE_MAX];
    ssize_t n = c->failure_fd < 0 ? -1 : read(c->failure_fd, text, sizeof(text));
    struct str rest = {text, n > 0 ? (size_t)n : 0};
    struct str http = str_cut(&rest, ' ');
    const struct native_attempt *a = native_find(c->runtime, c->id);

    (void)code;
    if (n <= 0)
        return NULL;
    if (str_equal(http, STR(LAUNCH_EXEC_GONE)) || !a || a->state != RUNTIME_RUNNING)
        return err_new(ERR_NOT_FOUND, "the container is not running");
    return err_new(ERR_INVALID, "%.*s", (int)rest.size, rest.at);
}

struct exec *native_exec(void *self, const struct runtime_exec *e)
{
    static const struct exec_backend backend = {.prepare = native_exec_prepare,
                                                .enter = native_exec_enter,
                                                .failure = native_exec_failure,
                                                .is_direct = true};
    struct native *n = self;

    return exec_new(&n->execs, &backend, n, e);
}

/* ---- commands of an earlier node ---- */

void native_sweep_execs(const struct native_attempt *a)
{
    AUTO_FREE char *controllers = mem_format("%s/cgroup.controllers", a->n->cgroup_root);
    AUTO_FREE char *parent = mem_format("%s%s/mete/%s", a->n->cgroup_root,
                                        file_exists(controllers) ? "" : "/pids", a->id);
    char **names = NULL;
    size_t n = 0;
    AUTO(err_freep) struct err *e = dir_list(parent, &names, &n);

    for (size_t i = 0; i < n; i++) {
        AUTO_FREE char *dir = mem_format("%s/%s", parent, names[i]);

        if (!exec_cgroup_is_name(names[i]))
            continue;
        if (exec_cgroup_kill(dir) > 0)
            LOG(INFO, "commands of an earlier node ended", S("id", a->id));
        exec_cgroup_remove(dir);
    }
    names_free(names, n);
}
