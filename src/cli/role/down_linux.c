/* down_linux.c - mete down: stops the `mete up` of a data directory */

#include <errno.h>
#include <signal.h>
#include <sys/pidfd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/stamp.h"
#include "cli/commands.h"
#include "cli/job/jobs.h"
#include "cli/object/remove.h"
#include "cli/role/data_dir.h"
#include "cli/term/terminal.h"

#define DOWN_NS (60 * NS_PER_SEC)

struct down {
    struct session *session;
    bool is_over;
};

static struct err *end_jobs(struct cli *c, struct session *s)
{
    const struct list_query q = {.path = "/api/v1/pods"};
    struct resource pods = {0};
    struct removal r = {.cli = c,
                        .session = s,
                        .resource = &pods,
                        .grace_s = -1,
                        .waits = true,
                        .past = "cancelled"};
    AUTO_FREE char *question = NULL;
    struct list_result list = {0};
    struct err *e = NULL;
    json_t *pod;
    size_t i;

    TRY(session_list(s, &q, &list));
    json_array_foreach (json_object_get(list.first, "items"), i, pod) {
        struct job job = job_of(pod);

        if (!job.is_ended)
            removal_add_job(&r, pod);
    }
    json_decref(list.first);
    question = mem_format("cancel %zu jobs?", r.targets.n);
    if (r.targets.n > 0 && !flag_switch(c->in, "yes") && !terminal_confirm(c, question)) {
        cli_try(c, "mete down --jobs -y   or: mete down, which leaves the jobs running");
        e = err_new(ERR_BAD_REQUEST, "Mete was not stopped: confirm the cancellation of %zu jobs",
                    r.targets.n);
    }
    if (!e)
        e = resource_find(s, "pods", &pods);
    if (!e && r.targets.n > 0)
        e = removal_run(&r);
    removal_done(&r);
    resource_done(&pods);
    return e;
}

static void on_gone(void *arg, int fd, bool readable, bool writable)
{
    struct down *d = arg;

    (void)fd;
    (void)readable;
    (void)writable;
    d->is_over = true;
    session_stop(d->session);
}

static void on_deadline(void *arg)
{
    struct down *d = arg;

    session_stop(d->session);
}

static struct err *wait_gone(struct session *s, int pidfd)
{
    struct down d = {.session = s};
    struct loop_io *io = loop_io_new(session_loop(s), pidfd, on_gone, &d);
    struct loop_timer *deadline = loop_timer_new(session_loop(s), on_deadline, &d);
    struct err *e;

    loop_io_want(io, true, false);
    loop_timer_set(deadline, DOWN_NS);
    e = session_run(s);
    loop_timer_free(deadline);
    loop_io_free(io);
    if (!e && !d.is_over)
        return err_new(ERR_TIMEOUT, "mete up has not ended within %d s",
                       (int)(DOWN_NS / NS_PER_SEC));
    return e;
}

/* Checks the pid again after opening the pidfd: from then on the pid cannot become another process.
 */
static struct err *down_stop(struct cli *c, struct session *s, const char *dir, pid_t pid)
{
    AUTO(fd_closep) int pidfd = pidfd_open(pid, 0);
    pid_t again = 0;

    if (pidfd < 0 && errno == ESRCH)
        return NULL;
    if (pidfd < 0)
        return err_errno(errno, "watch process %d", (int)pid);
    TRY(data_dir_holder(dir, &again));
    if (again != pid)
        return again == 0
                   ? NULL
                   : err_new(ERR_CONFLICT, "another mete up has taken %s in the meantime: pid %d",
                             dir, (int)again);
    if (pidfd_send_signal(pidfd, SIGTERM, NULL, 0) < 0 && errno != ESRCH)
        return err_errno(errno, "end process %d", (int)pid);
    TRY(wait_gone(s, pidfd));
    cli_say(c, "mete has stopped.%s",
            flag_switch(c->in, "jobs")
                ? ""
                : " Containers that run go on; the next mete up finds them.");
    return NULL;
}

static struct err *down_run(struct cli *c)
{
    AUTO(session_freep) struct session *s = NULL;
    const char *data = flag_text(c->in, "data");
    pid_t pid = 0;
    struct err *e;

    if (!data)
        data = getenv("METE_DATA"); /* NOLINT(concurrency-mt-unsafe): one thread */
    if (!data || !data[0])
        data = "/var/lib/mete";
    e = data_dir_holder(data, &pid);
    if (e && err_code(e) == ERR_FORBIDDEN && geteuid() != 0)
        cli_try(c, "sudo mete down");
    if (e)
        return e;
    if (pid == 0) {
        cli_say(c, "no mete runs in %s", data);
        return NULL;
    }
    TRY(session_open_data(c, data, &s));
    if (flag_switch(c->in, "jobs"))
        TRY(end_jobs(c, s));
    return down_stop(c, s, data, pid);
}

static const struct flag down_flags[] = {
    {.name = "data",
     .type = FLAG_TEXT,
     .value = "DIR",
     .doc = "data directory of the Mete to stop. Default: $METE_DATA, else /var/lib/mete"},
    {.name = "jobs", .type = FLAG_SWITCH, .doc = "cancel all jobs first; asks before"},
    {.name = "yes", .letter = 'y', .type = FLAG_SWITCH, .doc = "do not ask for confirmation"},
    {0},
};

const struct command command_down = {
    .name = "down",
    .summary = "stop Mete on this machine; containers continue, unless --jobs",
    .examples = {{"down", "stops Mete; running containers continue, and mete up adopts them"},
                 {"down --jobs -y", "cancels all jobs, then stops Mete"},
                 {0}},
    .flags = down_flags,
    .n_max = 0,
    .run = down_run,
};
