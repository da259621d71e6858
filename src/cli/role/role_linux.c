/* role_linux.c - what the children of `mete up` share */

#include "cli/role/role_linux.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/loop_linux.h"
#include "cli/role/log_limits.h"
#include "kinds/scheduler_names.h"
#include "kinds/service/service.h"

const struct flag role_flags[] = {
    {.name = "data",
     .type = FLAG_TEXT,
     .value = "DIR",
     .doc = "data directory",
     .fallback = "/var/lib/mete"},
    {.name = "name", .type = FLAG_TEXT, .value = "NAME", .doc = "name of the node"},
    {.name = "host-path-root",
     .type = FLAG_TEXT,
     .value = "DIR[:ro]",
     .doc = "directory below which hostPath volumes are allowed",
     .is_repeated = true},
    {.name = "learn-every",
     .type = FLAG_TEXT,
     .value = "DURATION",
     .doc = "shortest time between two learning runs for placement values",
     .fallback = LEARN_EVERY},
    {.name = "learn-after",
     .type = FLAG_COUNT,
     .value = "COUNT",
     .doc = "pod arrivals between two learning runs",
     .fallback = LEARN_AFTER},
    {.name = "audit-reads",
     .type = FLAG_TEXT,
     .value = "WHICH",
     .doc = "reads that the audit records: sensitive or all",
     .fallback = AUDIT_READS},
    {.name = "audit-keep",
     .type = FLAG_TEXT,
     .value = "DURATION",
     .doc = "age at which lines of the audit are removed",
     .fallback = AUDIT_KEEP},
    {.name = "network-tiers",
     .type = FLAG_TEXT,
     .value = "KEY,...",
     .doc = "node labels of the network tiers, the nearest first",
     .fallback = ""},
    {.name = "page-url",
     .type = FLAG_TEXT,
     .value = "URL",
     .doc = "address of the web page; empty: none",
     .fallback = ""},
    {.name = "scheduler-names",
     .type = FLAG_TEXT,
     .value = "NAME,...",
     .doc = "schedulerNames that Mete places, besides default-scheduler and mete",
     .fallback = SCHEDULER_NAMES},
    {.name = "slurm-conf",
     .type = FLAG_TEXT,
     .value = "FILE",
     .doc = "configuration of Slurm; empty: none",
     .fallback = ""},
    {.name = "pod-network",
     .type = FLAG_TEXT,
     .value = "NETWORK",
     .doc = "network of pods; off: pods use the machine's network",
     .fallback = "off"},
    {.name = "service-network",
     .type = FLAG_TEXT,
     .value = "NETWORK",
     .doc = "network of the addresses of Services",
     .fallback = SERVICE_NETWORK},
    {.name = "metrics-tls",
     .type = FLAG_TEXT,
     .value = "HOW",
     .doc = "TLS of the metrics: off, own, or a directory with server.crt, server.key and ca.crt",
     .fallback = "off"},
    {.name = "has-metrics",
     .type = FLAG_SWITCH,
     .doc = "descriptor 8 is a listening socket for metrics"},
    {.name = "log-level",
     .type = FLAG_TEXT,
     .value = "LEVEL",
     .doc = "error, warn, info or debug",
     .fallback = "info"},
    {.name = "log-format",
     .type = FLAG_TEXT,
     .value = "FORMAT",
     .doc = "text or json",
     .fallback = "text"},
    {0},
};

struct err *role_host_roots(const struct cli *c, struct host_roots *ret)
{
    const char *text = NULL;

    for (size_t i = 0; (text = flag_repeated(c->in, "host-path-root", i)); i++)
        TRY(host_roots_add(ret, text));
    return NULL;
}

static enum log_level level_of(const char *word)
{
    static const char *const words[] = {
        [LOG_ERROR] = "error", [LOG_WARN] = "warn", [LOG_INFO] = "info", [LOG_DEBUG] = "debug"};

    for (size_t i = 0; i < COUNT(words); i++)
        if (text_equal(words[i], word))
            return (enum log_level)i;
    return LOG_INFO;
}

static void on_signal(void *arg)
{
    struct role *r = arg;

    loop_linux_stop(r->loop);
}

static void on_lifeline(void *arg, int fd, bool readable, bool writable)
{
    struct role *r = arg;
    char byte;

    (void)readable;
    (void)writable;
    if (read(fd, &byte, 1) != 0)
        return; /* no data: the lifeline has not ended */
    LOG(INFO, "mete up has ended");
    loop_linux_stop(r->loop);
}

static bool is_pipe(int fd)
{
    struct stat st;

    return fstat(fd, &st) == 0 && S_ISFIFO(st.st_mode);
}

/* Marks our descriptors close-on-exec: programs that we start must not inherit them. */
static struct err *keep_to_ourselves(void)
{
    for (int fd = ROLE_FD_LIFELINE; fd <= ROLE_FD_TLS; fd++)
        if (fcntl(fd, F_SETFD, FD_CLOEXEC) < 0 && errno != EBADF)
            return err_errno(errno, "set close-on-exec on descriptor %d", fd);
    return NULL;
}

struct err *role_init(struct role *r, struct cli *c, const char *name)
{
    log_setup(name, level_of(flag_text(c->in, "log-level")),
              text_equal(flag_text(c->in, "log-format"), "json"));
    r->loop = loop_linux_new();
    if (!is_pipe(ROLE_FD_LIFELINE) || !is_pipe(ROLE_FD_READY)) {
        cli_try(c, "sudo mete up");
        return err_new(ERR_INVALID, "%s is a part of mete up: only mete up starts it", name);
    }
    TRY(keep_to_ourselves());
    r->lifeline = loop_io_new(r->loop, ROLE_FD_LIFELINE, on_lifeline, r);
    loop_io_want(r->lifeline, true, false);
    loop_linux_on_signal(r->loop, SIGTERM, on_signal, r);
    loop_linux_on_signal(r->loop, SIGINT, on_signal, r);
    return NULL;
}

struct err *role_ready(struct role *r, char letter)
{
    (void)r;
    if (write(ROLE_FD_READY, &letter, 1) < 0 && errno != EAGAIN)
        return err_errno(errno, "report readiness");
    return NULL;
}

struct err *role_run(struct role *r)
{
    if (!r->failure)
        TRY(loop_linux_run(r->loop));
    if (r->failure) {
        struct err *e = r->failure;

        r->failure = NULL;
        return e;
    }
    return NULL;
}

void role_fail(struct role *r, struct err *e)
{
    if (r->failure)
        err_free(e);
    else
        r->failure = e;
    loop_linux_stop(r->loop);
}

void role_done(struct role *r)
{
    loop_io_free(r->lifeline);
    loop_linux_free(r->loop);
    err_free(r->failure);
    *r = (struct role){0};
}
