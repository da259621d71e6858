/* cni_linux.c - CNI plugins as child processes */

#include <errno.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/proc.h"
#include "base/stamp.h"
#include "node/net/cni.h"

enum {
    CNI_ANSWER_MAX = 1 << 20,
    CNI_VARIABLES = 7
};

static const int64_t CNI_NS = 60 * NS_PER_SEC;

struct cni {
    struct cni_options o;
    char *dir;
    char *container;
    char *netns;
    char *name;
    json_t *plugins;
    json_t *result;
    size_t n_done; /* plugins */
    struct loop_timer *timer;
    struct proc *proc;
    int answer_fd; /* of the running plugin; -1: none */
    struct err *failed;
};

static void cni_free(struct cni *c)
{
    loop_timer_free(c->timer);
    fd_close(c->answer_fd);
    json_decref(c->plugins);
    json_decref(c->result);
    err_free(c->failed);
    free(c->dir);
    free(c->container);
    free(c->netns);
    free(c->name);
    free(c);
}

static const char *command_name(enum cni_command command)
{
    switch (command) {
    case CNI_ADD:
        return "ADD";
    case CNI_DEL:
        return "DEL";
    case CNI_CHECK:
        break;
    }
    return "CHECK";
}

/* The plugin whose turn it is; NULL: all have had theirs. */
static const json_t *cni_plugin(const struct cni *c)
{
    size_t n = json_array_size(c->plugins);

    if (c->n_done == n)
        return NULL;
    return json_array_get(c->plugins, c->o.command == CNI_DEL ? n - 1 - c->n_done : c->n_done);
}

/* A file in memory with the plugin's configuration, from its start. */
static struct err *make_input(const struct cni *c, int *ret)
{
    AUTO(json_freep) json_t *config = json_copy((json_t *)(uintptr_t)cni_plugin(c));
    AUTO_FREE char *text = NULL;
    AUTO(fd_closep) int fd = memfd_create("cni-config", MFD_CLOEXEC);
    size_t size = 0;

    if (fd < 0)
        return err_errno(errno, "make a file in memory");
    json_put_text(config, "cniVersion", CNI_VERSION);
    json_put_text(config, "name", c->name);
    if (c->result)
        json_put(config, "prevResult", json_incref(c->result));
    text = json_format(config);
    size = strlen(text);
    if (write(fd, text, size) != (ssize_t)size || lseek(fd, 0, SEEK_SET) < 0)
        return err_errno(errno, "write the configuration of a CNI plugin");
    *ret = fd_take(&fd);
    return NULL;
}

static void on_plugin_end(void *arg, const struct proc_end *end);

static struct err *plugin_start(struct cni *c)
{
    const char *type = text_or_empty(json_text(cni_plugin(c), "type"));
    AUTO_FREE char *program = mem_format("%s/%s", c->dir, type);
    AUTO_FREE char *command = mem_format("CNI_COMMAND=%s", command_name(c->o.command));
    AUTO_FREE char *container = mem_format("CNI_CONTAINERID=%s", c->container);
    AUTO_FREE char *netns = mem_format("CNI_NETNS=%s", c->netns);
    AUTO_FREE char *path = mem_format("CNI_PATH=%s", c->dir);
    const char *const argv[] = {program, NULL};
    const char *const env[CNI_VARIABLES] = {command,
                                            container,
                                            netns,
                                            path,
                                            "CNI_IFNAME=" CNI_INTERFACE,
                                            "PATH=/usr/sbin:/usr/bin:/sbin:/bin",
                                            NULL};
    AUTO(fd_closep) int in = -1;
    struct proc_options o = {.argv = argv, .env = env, .n_fds = 3, .deadline_ns = CNI_NS};

    TRY(make_input(c, &in));
    c->answer_fd = memfd_create("cni-answer", MFD_CLOEXEC);
    if (c->answer_fd < 0)
        return err_errno(errno, "make a file in memory");
    o.fds[0] = in;
    o.fds[1] = c->answer_fd;
    o.fds[2] = -1;
    return proc_start(c->o.loop, &o, on_plugin_end, c, &c->proc);
}

static void cni_end(struct cni *c)
{
    const struct cni_options o = c->o;
    AUTO(err_freep) struct err *e = TAKE(c->failed);
    AUTO(json_freep) json_t *result = json_incref(c->result);

    cni_free(c);
    o.done(o.arg, e, e ? NULL : result);
}

static void cni_next(struct cni *c)
{
    const json_t *plugin = cni_plugin(c);
    struct err *e = NULL;

    if (plugin)
        e = plugin_start(c);
    if (e)
        c->failed = err_wrap(e, "CNI plugin %s", text_or_empty(json_text(plugin, "type")));
    if (e || !plugin)
        cni_end(c);
}

/* The answer as JSON; NULL: the plugin wrote none. */
static json_t *read_answer(struct cni *c)
{
    AUTO(buf_done) struct buf text = {0};
    AUTO(err_freep) struct err *e = NULL;
    json_t *answer = NULL;

    if (lseek(c->answer_fd, 0, SEEK_SET) == 0)
        e = file_read_fd(c->answer_fd, "the answer of a CNI plugin", CNI_ANSWER_MAX, &text);
    if (!e && text.size > 0)
        e = json_parse((struct str){text.at, text.size}, &answer);
    return e ? NULL : answer;
}

static struct err *judge(const struct cni *c, const struct proc_end *end, const json_t *answer)
{
    const char *type = text_or_empty(json_text(cni_plugin(c), "type"));
    const char *message = json_text_filled(answer, "msg");
    const char *details = json_text_filled(answer, "details");
    AUTO_FREE char *status = NULL;

    if (end->timed_out)
        return err_new(ERR_TIMEOUT, "CNI plugin %s: no answer within a minute", type);
    if (WIFEXITED(end->status) && WEXITSTATUS(end->status) == 0) {
        if (c->o.command == CNI_ADD && !json_is_object(answer))
            return err_new(ERR_INTERNAL, "CNI plugin %s: no result", type);
        return NULL;
    }
    if (message)
        return err_new(ERR_INTERNAL, "CNI plugin %s: %s%s%s", type, message, details ? ": " : "",
                       details ? details : "");
    status = proc_format_status(end->status);
    return err_new(ERR_INTERNAL, "CNI plugin %s: %s", type, status);
}

static void on_plugin_end(void *arg, const struct proc_end *end)
{
    struct cni *c = arg;
    AUTO(json_freep) json_t *answer = read_answer(c);

    c->proc = NULL;
    c->failed = judge(c, end, answer);
    fd_close(c->answer_fd);
    c->answer_fd = -1;
    if (c->failed) {
        cni_end(c);
        return;
    }
    if (c->o.command == CNI_ADD) {
        json_decref(c->result);
        c->result = TAKE(answer);
    }
    c->n_done++;
    cni_next(c);
}

static void on_cni_begin(void *arg)
{
    cni_next(arg);
}

struct cni *cni_start(const struct cni_options *o)
{
    struct cni *c = mem_alloc(sizeof(*c));

    *c = (struct cni){.o = *o,
                      .dir = mem_strdup(o->dir),
                      .container = mem_strdup(o->container),
                      .netns = mem_strdup(o->netns),
                      .name = mem_strdup(o->name),
                      .plugins = json_incref((json_t *)(uintptr_t)o->plugins),
                      .result = o->result ? json_deep_copy(o->result) : NULL,
                      .answer_fd = -1};
    c->timer = loop_timer_new(o->loop, on_cni_begin, c);
    loop_timer_set(c->timer, 0);
    return c;
}

void cni_abandon(struct cni *c)
{
    if (!c)
        return;
    if (c->proc)
        proc_abandon(c->proc);
    cni_free(c);
}
