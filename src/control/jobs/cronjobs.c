/* cronjobs.c - the set of CronJobs, their Jobs, and the turns of the controller */
#include "control/jobs/cronjobs_private.h"
#include "kinds/pod/pod_state.h"

enum {
    TURN_MAX = 32
};

static void cronjob_poke(struct cronjob *c)
{
    struct cronjobs *s = c->cronjobs;

    if (c->is_queued)
        return;
    c->is_queued = true;
    LIST_ADD(s->queue, c);
    loop_timer_set(s->work_timer, 0);
}

static void on_timer(void *arg)
{
    cronjob_poke(arg);
}

static void cron_job_free(struct cron_job *j)
{
    LIST_REMOVE(j->owner->jobs, j);
    map_remove(handle, j->owner->cronjobs->jobs, j);
    json_decref(j->object);
    free(j->key);
    free(j);
}

static void cronjob_free(struct cronjob *c)
{
    struct cronjobs *s = c->cronjobs;

    while (c->jobs)
        cron_job_free(c->jobs); /* NOLINT(clang-analyzer-unix.Malloc): it leaves the map */
    if (c->is_queued)
        LIST_REMOVE(s->queue, c);
    map_remove(by_uid, s->by_uid, c);
    loop_timer_free(c->timer);
    zone_free(c->zone);
    json_decref(c->object);
    free(c->ns);
    free(c->name);
    free(c->uid);
    free(c);
}

static struct cronjob *cronjob_find(const struct cronjobs *s, const char *uid)
{
    struct cronjob *c = NULL;

    if (uid)
        map_find_text(by_uid, s->by_uid, uid, c);
    return c;
}

static void cronjobs_on_written(void *owner, const char *uid, uint64_t number, const struct err *e)
{
    struct cronjobs *s = owner;
    struct cronjob *c = e ? cronjob_find(s, uid) : NULL;

    (void)number;
    if (!c)
        return;
    LOG(WARN, "write of a cron job was taken back, will be tried again", S("name", c->name), E(e));
    loop_timer_set(c->timer, retry_failed(&c->retry, loop_now_ns(s->options.loop)));
}

struct cluster_answer cronjob_answer(const struct cronjob *c)
{
    return writes_begin(c->cronjobs->writes, cronjobs_on_written, c->uid, 0);
}

static struct cronjob *cronjob_new(struct cronjobs *s, const json_t *object)
{
    const json_t *metadata = json_object_get(object, "metadata");
    struct cronjob *c = mem_alloc(sizeof(*c));

    c->cronjobs = s;
    c->ns = mem_strdup(json_text(metadata, "namespace"));
    c->name = mem_strdup(json_text(metadata, "name"));
    c->uid = mem_strdup(json_text(metadata, "uid"));
    c->timer = loop_timer_new(s->options.loop, on_timer, c);
    map_add(by_uid, s->by_uid, c->uid, strlen(c->uid), c);
    return c;
}

/* A zone that was valid when the CronJob was written may be unknown now. */
static void read_schedule(struct cronjob *c)
{
    const json_t *spec = json_object_get(c->object, "spec");
    const char *zone = json_text(spec, "timeZone");
    const char *schedule = json_text(spec, "schedule");
    struct err *e = NULL;

    zone_free(c->zone);
    c->zone = NULL;
    c->is_right = false;
    if (zone) {
        e = zone_load(zone, &c->zone);
        if (e)
            cronjob_event(c, true, "UnknownTimeZone", err_message(e));
    }
    if (!e) {
        e = cron_parse(str_of(schedule ? schedule : ""), &c->schedule);
        if (e)
            cronjob_event(c, true, "UnparseableSchedule", err_message(e));
    }
    c->is_right = !e;
    err_free(e); /* an event has reported it */
}

static void put_cronjob(void *arg, const char *ns, const char *name, const json_t *object)
{
    struct cronjobs *s = arg;
    const char *uid = json_text_at(object, "metadata", "uid", NULL);
    struct cronjob *c = cronjob_find(s, uid);
    bool is_new = !c;

    (void)ns;
    (void)name;
    if (!uid)
        return;
    if (!c)
        c = cronjob_new(s, object);
    is_new = is_new || json_int_at(c->object, "metadata", "generation", NULL) !=
                           json_int_at(object, "metadata", "generation", NULL);
    json_decref(c->object);
    c->object = json_incref((json_t *)(uintptr_t)object);
    if (is_new)
        read_schedule(c);
    cronjob_poke(c);
}

static void remove_cronjob(void *arg, const char *ns, const char *name, const json_t *last)
{
    struct cronjob *c = cronjob_find(arg, json_text_at(last, "metadata", "uid", NULL));

    (void)ns;
    (void)name;
    if (c)
        cronjob_free(c);
}

static const char *owner_of(const json_t *job)
{
    const json_t *owners = json_at(job, "metadata", "ownerReferences", NULL);

    for (size_t i = 0; i < json_array_size(owners); i++) {
        const json_t *owner = json_array_get(owners, i);

        if (json_bool(owner, "controller", false) &&
            text_equal(json_text(owner, "kind"), "CronJob") &&
            text_equal(json_text(owner, "apiVersion"), "batch/v1"))
            return json_text(owner, "uid");
    }
    return NULL;
}

static void put_job(void *arg, const char *ns, const char *name, const json_t *job)
{
    struct cronjobs *s = arg;
    AUTO_FREE char *key = mem_format("%s/%s", ns, name);
    struct cronjob *owner = cronjob_find(s, owner_of(job));
    struct cron_job *j = NULL;

    map_find_text(handle, s->jobs, key, j);
    if (j && j->owner != owner) {
        cronjob_poke(j->owner);
        cron_job_free(j);
        j = NULL;
    }
    if (!owner || !text_equal(owner->ns, ns))
        return;
    if (!j) {
        j = mem_alloc(sizeof(*j));
        j->key = TAKE(key);
        j->owner = owner;
        map_add(handle, s->jobs, j->key, strlen(j->key), j);
        LIST_ADD(owner->jobs, j);
    }
    json_decref(j->object);
    j->object = json_incref((json_t *)(uintptr_t)job);
    cronjob_poke(owner);
}

static void remove_job(void *arg, const char *ns, const char *name, const json_t *last)
{
    struct cronjobs *s = arg;
    AUTO_FREE char *key = mem_format("%s/%s", ns, name);
    struct cron_job *j = NULL;

    (void)last;
    map_find_text(handle, s->jobs, key, j);
    if (!j)
        return;
    cronjob_poke(j->owner);
    cron_job_free(j);
}

static void cronjobs_on_work(void *arg)
{
    struct cronjobs *s = arg;

    if (s->is_loading)
        return;
    for (int i = 0; i < TURN_MAX && s->queue; i++) {
        struct cronjob *c = s->queue;

        LIST_REMOVE(s->queue, c);
        c->is_queued = false;
        cronjob_sync(c);
    }
    if (s->queue)
        loop_timer_set(s->work_timer, 0);
}

void cronjob_event(const struct cronjob *c, bool is_warning, const char *reason,
                   const char *message)
{
    events_record(c->cronjobs->options.events, &(struct event){.kind = "CronJob",
                                                               .api_version = "batch/v1",
                                                               .ns = c->ns,
                                                               .name = c->name,
                                                               .uid = c->uid,
                                                               .is_warning = is_warning,
                                                               .reason = reason,
                                                               .message = message,
                                                               .component = "cronjob-controller"});
}

static void jobs_synced(void *arg)
{
    struct cronjobs *s = arg;

    s->is_loading = false;
    loop_timer_set(s->work_timer, 0);
}

/* CronJobs before their Jobs: a Job without a known CronJob is not kept. */
static void cronjobs_on_load(void *arg)
{
    struct cronjobs *s = arg;
    const struct cluster_listener of_jobs = {put_job, remove_job, s, jobs_synced};
    AUTO(err_freep)
    struct err *e = cluster_watch(s->options.cluster, "batch", "jobs", &of_jobs, &s->jobs_watch);

    if (!e)
        return;
    LOG(WARN, "jobs of cron jobs cannot be read, will be tried again", E(e));
    loop_timer_set(s->load_timer, NS_PER_SEC);
}

static struct err *cronjobs_watch_all(struct cronjobs *s)
{
    const struct cluster_listener of_cronjobs = {put_cronjob, remove_cronjob, s, cronjobs_on_load};

    s->is_loading = true;
    return cluster_watch(s->options.cluster, "batch", "cronjobs", &of_cronjobs, &s->watch);
}

struct err *cronjobs_new(const struct cronjobs_options *o, struct cronjobs **ret)
{
    struct cronjobs *s = mem_alloc(sizeof(*s));
    struct err *e;

    s->options = *o;
    s->work_timer = loop_timer_new(o->loop, cronjobs_on_work, s);
    s->load_timer = loop_timer_new(o->loop, cronjobs_on_load, s);
    s->writes = writes_new(s);
    e = cronjobs_watch_all(s);
    if (e) {
        cronjobs_free(s);
        return err_wrap(e, "cronjobs");
    }
    *ret = s;
    return NULL;
}

void cronjobs_free(struct cronjobs *s)
{
    if (!s)
        return;
    cluster_unwatch(s->options.cluster, s->watch);
    cluster_unwatch(s->options.cluster, s->jobs_watch);
    while (s->by_uid)
        cronjob_free(s->by_uid); /* NOLINT(clang-analyzer-unix.Malloc): it leaves the map */
    loop_timer_free(s->work_timer);
    loop_timer_free(s->load_timer);
    writes_free(s->writes);
    free(s);
}
