/* jobs_world.c - the world of jobs_world.h */

#include "jobs_world.h"

#include "base/mem.h"
#include "base/stamp.h"
#include "kinds/pod/pod_state.h"
#include "kinds/pod/pod_view.h"
#include "sim_loop.h"
#include "test.h"

#define JOB(n) ((struct target){.group = "batch", .kind = "jobs", .name = (n), .who = &root})
#define CRONJOB(n) \
    ((struct target){.group = "batch", .kind = "cronjobs", .name = (n), .who = &root})

static void start(struct jobs_world *jw)
{
    struct jobs_options jobs = {.loop = jw->w.loop};
    struct cronjobs_options cronjobs = {.loop = jw->w.loop};
    struct slurm_jobs_options slurm = {.loop = jw->w.loop, .objects = jw->w.objects};
    struct podsets_options podsets = {.loop = jw->w.loop};
    struct deployments_options deployments = {.loop = jw->w.loop};
    const struct gc_options gc = {.loop = jw->w.loop, .objects = jw->w.objects};

    jw->cluster = cluster_store_new(jw->w.store, jw->w.objects);
    jw->events = events_new(jw->w.loop, jw->cluster);
    jobs.cluster = jw->cluster;
    jobs.events = jw->events;
    cronjobs.cluster = jw->cluster;
    cronjobs.events = jw->events;
    world_must(jobs_new(&jobs, &jw->jobs));
    slurm.cluster = jw->cluster;
    podsets.cluster = jw->cluster;
    podsets.events = jw->events;
    deployments.cluster = jw->cluster;
    deployments.events = jw->events;
    slurm.events = jw->events;
    world_must(cronjobs_new(&cronjobs, &jw->cronjobs));
    world_must(slurm_jobs_new(&slurm, &jw->slurm));
    world_must(podsets_new(&podsets, &jw->podsets));
    world_must(deployments_new(&deployments, &jw->deployments));
    world_must(gc_new(&gc, &jw->gc));
}

static void stop(struct jobs_world *jw)
{
    gc_free(jw->gc);
    deployments_free(jw->deployments);
    podsets_free(jw->podsets);
    slurm_jobs_free(jw->slurm);
    cronjobs_free(jw->cronjobs);
    jobs_free(jw->jobs);
    events_free(jw->events);
    cluster_free(jw->cluster);
}

void jobs_world_init(struct jobs_world *jw, uint64_t seed)
{
    *jw = (struct jobs_world){0};
    world_init(&jw->w, seed);
    world_add_node(&jw->w, "n1", 0);
    start(jw);
    sim_loop_run(jw->w.loop);
}

void jobs_world_done(struct jobs_world *jw)
{
    stop(jw);
    world_done(&jw->w);
}

void jobs_world_restart(struct jobs_world *jw, bool is_store_too)
{
    stop(jw);
    if (is_store_too)
        world_restart(&jw->w);
    start(jw);
}

void jobs_world_run(struct jobs_world *jw, int seconds)
{
    sim_loop_advance(jw->w.loop, seconds * NS_PER_SEC);
}

void add_job(struct jobs_world *jw, const char *text)
{
    world_must(world_create(&jw->w, JOB(NULL), text, NULL));
    jobs_world_run(jw, 1);
}

void add_cronjob(struct jobs_world *jw, const char *text)
{
    world_must(world_create(&jw->w, CRONJOB(NULL), text, NULL));
    jobs_world_run(jw, 1);
}

void add_plain_job(struct jobs_world *jw, const char *spec)
{
    AUTO_FREE char *text =
        mem_format("{'metadata':{'name':'j'},'spec':{%s%s'template':{'spec':{'restartPolicy':"
                   "'Never','containers':[{'name':'main','image':'host'}]}}}}",
                   spec, *spec ? "," : "");

    add_job(jw, text);
}

json_t *get_job(struct jobs_world *jw, const char *name)
{
    return world_get(&jw->w, JOB(name));
}

json_t *get_cronjob(struct jobs_world *jw, const char *name)
{
    return world_get(&jw->w, CRONJOB(name));
}

json_t *list_all(struct jobs_world *jw, const char *group, const char *resource)
{
    const struct store_range range = {.group = group, .resource = resource, .ns = "default"};
    struct store_list list = {0};
    json_t *all = json_array();

    world_must(store_list(jw->w.store, &range, NULL, NULL, 0, 0, &list));
    for (size_t i = 0; i < list.n; i++) {
        json_t *object = NULL;

        world_must(objects_decode(list.at[i], &object));
        (void)json_array_append_new(all, object);
    }
    store_list_done(&list);
    return all;
}

static bool is_active(const json_t *pod)
{
    return !pod_is_terminal(pod) && !pod_is_deleting(pod);
}

size_t count_active(struct jobs_world *jw)
{
    AUTO(json_freep) json_t *pods = list_all(jw, "", "pods");
    size_t n = 0;

    for (size_t i = 0; i < json_array_size(pods); i++)
        n += is_active(json_array_get(pods, i));
    return n;
}

struct err *begin_tell_pod(struct jobs_world *jw, const char *name, const struct told *t)
{
    const char *phase = t->phase;
    struct objects_request r = {.kind = kind_find("", "pods"),
                                .ns = "default",
                                .name = name,
                                .subresource = "status",
                                .who = ours};
    AUTO(json_freep) json_t *patch = NULL;
    AUTO(json_freep) json_t *made = NULL;
    bool is_running = text_equal(phase, "Running");
    char now[STAMP_TEXT_SIZE];
    AUTO_FREE char *text = NULL;

    stamp_format(loop_wall_ns(jw->w.loop), now);
    text = mem_format(
        is_running ? "{'status':{'phase':'%s','conditions':[{'type':'Ready','status':'True'}]}}"
                   : "{'status':{'phase':'%s','conditions':[{'type':'Ready','status':'False'}],"
                     "'containerStatuses':[{'name':'main','image':'host','imageID':'','ready':"
                     "false,'restartCount':0,'state':{'terminated':{'exitCode':%d,'finishedAt':"
                     "'%s'}}}]}}",
        phase, t->exit_code, now);
    patch = manifest(text);
    json_put_text(json_object_at(patch, "status"), "reason", t->reason);
    json_put_text(json_object_at(patch, "status"), "message", t->message);
    return objects_patch(jw->w.objects, &r, PATCH_MERGE, patch, t->done, t->arg, &made);
}

void tell_pod(struct jobs_world *jw, const char *name, const char *phase, int exit_code)
{
    world_must(begin_tell_pod(jw, name, &(struct told){.phase = phase, .exit_code = exit_code}));
    sim_loop_run(jw->w.loop);
}

void tell_first(struct jobs_world *jw, const char *phase, int exit_code)
{
    AUTO(json_freep) json_t *pods = list_all(jw, "", "pods");

    for (size_t i = 0; i < json_array_size(pods); i++) {
        const json_t *pod = json_array_get(pods, i);

        if (is_active(pod)) {
            tell_pod(jw, json_text_at(pod, "metadata", "name", NULL), phase, exit_code);
            jobs_world_run(jw, 1);
            return;
        }
    }
    fail_msg("no pod is active");
}

void place_pod(struct jobs_world *jw, const char *name)
{
    world_must(world_bind(&jw->w, "default", name, "n1"));
}

void finish_deletion(struct jobs_world *jw, const char *name)
{
    world_must(world_delete(&jw->w, (struct target){.kind = "pods", .name = name, .who = &ours},
                            &(struct delete_options){.grace_seconds = 0}, NULL));
}

void assert_condition(struct jobs_world *jw, const char *job, const char *type, const char *reason)
{
    AUTO(json_freep) json_t *object = get_job(jw, job);
    const json_t *condition = object_condition(object, type);

    assert_non_null(condition);
    assert_string_equal(json_text(condition, "status"), "True");
    assert_string_equal(json_text(condition, "reason"), reason);
}

int64_t job_number(struct jobs_world *jw, const char *job, const char *key)
{
    AUTO(json_freep) json_t *object = get_job(jw, job);

    assert_non_null(object);
    return json_int_at(object, "status", key, NULL);
}

int64_t count_events(struct jobs_world *jw, const char *reason)
{
    AUTO(json_freep) json_t *events = list_all(jw, "", "events");
    int64_t n = 0;

    for (size_t i = 0; i < json_array_size(events); i++)
        if (text_equal(json_text(json_array_get(events, i), "reason"), reason))
            n += json_int(json_array_get(events, i), "count", 0);
    return n;
}
