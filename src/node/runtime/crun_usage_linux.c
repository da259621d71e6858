/*
 * crun_usage_linux.c - the usage of attempts: sampled while they run, and a last time before their
 * cgroup is removed
 *
 * The sum is in the bundle's file `usage`, written at each sample of the cgroup and before `crun
 * delete`. What came from gpus since the last write is lost with a killed process, so that the time
 * of the last seconds becomes unknown; no number that left this process goes back. The file is not
 * synced: a power failure may lose the sum.
 */

#include "base/file.h"
#include "base/log.h"
#include "base/stamp.h"
#include "node/runtime/crun_attempt_linux.h"

enum {
    USAGE_FILE_MAX = 4096
};

static const int64_t SAVE_EVERY_NS = 10 * NS_PER_SEC; /* while only gpus are sampled */

static void attempt_load_usage(struct crun_attempt *b)
{
    AUTO_FREE char *path = attempt_path(b, "usage");
    AUTO(buf_done) struct buf text = {0};
    AUTO(err_freep) struct err *e = NULL;

    if (b->is_usage_read)
        return;
    b->is_usage_read = true;
    b->usage = USAGE_UNKNOWN;
    e = file_read(path, USAGE_FILE_MAX, &text);
    if (!e)
        usage_parse((struct str){text.at, text.size}, &b->usage);
}

static void attempt_save_usage(struct crun_attempt *b)
{
    AUTO_FREE char *path = attempt_path(b, "usage");
    AUTO_FREE char *text = usage_format(&b->usage);
    AUTO(err_freep) struct err *e = file_write(path, 0600, str_of(text));

    b->usage_saved_ns = loop_now_ns(b->r->o.loop);
    if (e)
        LOG(WARN, "usage of an attempt cannot be written", S("id", b->id), E(e));
}

/* The attempt's start, by the monotonic clock. */
static int64_t began_ns(const struct crun_attempt *b, int64_t now_ns)
{
    int64_t ago_ns = loop_wall_ns(b->r->o.loop) - b->exit.started_ns;

    return b->exit.started_ns <= 0 || ago_ns < 0 ? now_ns : now_ns - ago_ns;
}

/* Takes a sample. False: no cgroup. */
static bool attempt_sample_usage(struct crun_attempt *b,
                                 void (*take)(struct usage *u, const struct cgroup_stats *s,
                                              int64_t began_ns, int64_t now_ns))
{
    AUTO_FREE char *cgroup = mem_format("/mete/%s", b->id);
    int64_t now_ns = loop_now_ns(b->r->o.loop);
    struct cgroup_stats stats = {-1, -1, -1};
    AUTO(err_freep) struct err *e = NULL;

    attempt_load_usage(b);
    e = cgroup_stats_read(CGROUP_ROOT, cgroup, &stats);
    if (e)
        return false;
    take(&b->usage, &stats, began_ns(b, now_ns), now_ns);
    attempt_save_usage(b);
    return true;
}

bool crun_usage(void *self, const char *id, struct usage *ret)
{
    struct crun_attempt *b = crun_find(self, id);

    if (!b || b->state != RUNTIME_RUNNING || !attempt_sample_usage(b, usage_add))
        return false;
    *ret = b->usage;
    return true;
}

void crun_add_gpus(void *self, const char *id, const struct gpu_used *g)
{
    struct crun_attempt *b = crun_find(self, id);

    if (!b || b->state != RUNTIME_RUNNING)
        return;
    attempt_load_usage(b);
    usage_add_gpus(&b->usage, g);
    if (loop_now_ns(b->r->o.loop) - b->usage_saved_ns >= SAVE_EVERY_NS)
        attempt_save_usage(b);
}

void attempt_end_usage(struct crun_attempt *b)
{
    if (b->exit.was_started && !b->is_usage_final)
        b->is_usage_final = attempt_sample_usage(b, usage_end);
    attempt_load_usage(b);
    b->exit.has_usage = b->usage.is_known || b->usage.total.gpu_busy_ns >= 0;
    b->exit.usage = b->usage.total;
}
