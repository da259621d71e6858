/* dns_linux.c - dnsmasq as a child */

#include <signal.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/proc.h"
#include "base/retry.h"
#include "base/stamp.h"
#include "node/net/dns.h"
#include "node/net/names.h"
#include "node/net/net_config.h"

#define DNSMASQ "/usr/sbin/dnsmasq"

enum {
    PID_MAX = 64,
    COMMAND_MAX = 64 << 10
};

static const int64_t RETRY_NS = 100 * NS_PER_MS;
static const int64_t RETRY_MAX_NS = 30 * NS_PER_SEC;

struct dns {
    struct loop *loop;
    char *hosts;
    char *pid_file;
    char address[IP4_TEXT_SIZE];
    struct proc *proc; /* NULL: it does not run */
    struct loop_timer *timer;
    int64_t retry_ns;
};

static void on_dns_end(void *arg, const struct proc_end *end)
{
    struct dns *d = arg;
    AUTO_FREE char *how = proc_format_status(end->status);

    d->proc = NULL;
    LOG(ERROR, "the DNS server of the pods ended, starting it again", S("how", how));
    loop_timer_set(d->timer, retry_pause(&d->retry_ns, RETRY_NS, RETRY_MAX_NS));
}

static struct err *dns_start(struct dns *d)
{
    AUTO_FREE char *hosts = mem_format("--addn-hosts=%s", d->hosts);
    AUTO_FREE char *listen = mem_format("--listen-address=%s", d->address);
    AUTO_FREE char *pid = mem_format("--pid-file=%s", d->pid_file);
    const char *const argv[] = {DNSMASQ,
                                "--keep-in-foreground",
                                "--conf-file=/dev/null",
                                "--log-facility=-",
                                "--no-hosts",
                                hosts,
                                listen,
                                "--bind-interfaces",
                                "--local=/" CLUSTER_DOMAIN "/",
                                "--domain-needed",
                                "--bogus-priv",
                                "--local-ttl=5",
                                "--cache-size=1000",
                                "--dns-forward-max=1000",
                                "--user=nobody",
                                "--group=nogroup",
                                pid,
                                NULL};
    const struct proc_options o = {
        .argv = argv, .fds = {-1, STDERR_FILENO, STDERR_FILENO}, .n_fds = 3};

    return proc_start(d->loop, &o, on_dns_end, d, &d->proc);
}

static void on_dns_timer(void *arg)
{
    struct dns *d = arg;
    AUTO(err_freep) struct err *e = dns_start(d);

    if (!e)
        return;
    LOG(ERROR, "the DNS server of the pods cannot be started", E(e));
    loop_timer_set(d->timer, retry_pause(&d->retry_ns, RETRY_NS, RETRY_MAX_NS));
}

/* Ends the server of an earlier process of this node, by the pid that it noted, if it is ours. */
static void end_older(const struct dns *d)
{
    AUTO(buf_done) struct buf text = {0};
    AUTO(buf_done) struct buf command = {0};
    AUTO_FREE char *path = NULL;
    AUTO(err_freep) struct err *e = file_read(d->pid_file, PID_MAX, &text);
    AUTO(err_freep) struct err *bad = NULL;
    AUTO(err_freep) struct err *unread = NULL;
    int64_t pid = 0;

    if (e)
        return;
    bad = num_parse_int64((struct str){text.at, strcspn(text.at, "\n")}, 2, INT32_MAX, &pid);
    if (bad)
        return;
    path = mem_format("/proc/%d/cmdline", (int)pid);
    unread = file_read(path, COMMAND_MAX, &command);
    if (!unread && memmem(command.at, command.size, d->pid_file, strlen(d->pid_file)))
        (void)kill((pid_t)pid, SIGKILL); /* it may have ended */
}

struct err *dns_new(const struct dns_options *o, struct dns **ret)
{
    AUTO_FREE char *dir = mem_format("%s/net/dns", o->dir);
    struct dns *d = NULL;

    if (!file_exists(DNSMASQ))
        return err_new(ERR_NOT_FOUND,
                       "the names of Services need " DNSMASQ ": install the package dnsmasq-base");
    TRY(dir_make(dir, 0755));
    d = mem_alloc(sizeof(*d));
    *d = (struct dns){.loop = o->loop,
                      .hosts = mem_format("%s/hosts", dir),
                      .pid_file = mem_format("%s/pid", dir)};
    ip4_format(net_gateway(o->pods), d->address);
    end_older(d);
    d->timer = loop_timer_new(o->loop, on_dns_timer, d);
    loop_timer_set(d->timer, 0);
    *ret = d;
    return NULL;
}

void dns_free(struct dns *d)
{
    if (!d)
        return;
    if (d->proc) {
        proc_kill(d->proc, SIGTERM);
        proc_abandon(d->proc);
    }
    loop_timer_free(d->timer);
    free(d->hosts);
    free(d->pid_file);
    free(d);
}

const char *dns_hosts_path(const struct dns *d)
{
    return d->hosts;
}

void dns_read_again(struct dns *d)
{
    if (d->proc)
        proc_kill(d->proc, SIGHUP);
}
