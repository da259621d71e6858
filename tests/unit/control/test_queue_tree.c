/* test_queue_tree.c - Queue objects, and pods that wait in them, through all control loops */

#include "base/mem.h"
#include "base/stamp.h"
#include "control/control.h"
#include "kinds/ledger.h"
#include "kinds/pod/pod_state.h"
#include "kinds/queue.h"
#include "test.h"
#include "world.h"

static struct world w;
static struct control *control;

static void start(void)
{
    const struct control_options options = {
        .loop = w.loop, .store = w.store, .objects = w.objects, .node_grace_ns = 3600 * NS_PER_SEC};

    world_must(control_new(&options, &control));
    sim_loop_run(w.loop);
}

static void stop(void)
{
    control_free(control);
    control = NULL;
}

static int setup(void **state)
{
    (void)state;
    world_init(&w, 11);
    start();
    world_add_node(&w, "n", 4);
    world_must(world_patch(
        &w, (struct target){.kind = "nodes", .name = "n", .sub = "status", .who = &ours},
        "{'status':{'allocatable':{'cpu':'8','memory':'16Gi','pods':'20','nvidia.com/gpu':'4'},"
        "'conditions':[{'type':'Ready','status':'True','lastHeartbeatTime':'2026-01-01T00:00:01Z'}]"
        "}}",
        NULL));
    sim_loop_run(w.loop);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    stop();
    world_must(ledger_check(w.store));
    world_done(&w);
    return 0;
}

static struct target queue_target(const char *name)
{
    return (struct target){.group = "mete.dev", .kind = "queues", .name = name, .who = &root};
}

/* `spec` is JSON with ' for ". */
static struct err *put_queue(const char *name, const char *spec)
{
    AUTO_FREE char *text = mem_format("{'metadata':{'name':'%s'},'spec':%s}", name, spec);
    AUTO_FREE char *patch = mem_format("{'spec':%s}", spec);
    AUTO(json_freep) json_t *there = world_get(&w, queue_target(name));
    struct err *e = there ? world_patch(&w, queue_target(name), patch, NULL)
                          : world_create(&w, queue_target(name), text, NULL);

    sim_loop_run(w.loop);
    return e;
}

/* Status is written a second after a change. */
static void settle(void)
{
    sim_loop_run(w.loop);
    sim_loop_advance(w.loop, 3 * NS_PER_SEC);
}

static json_t *get_queue(const char *name)
{
    settle();
    return world_get(&w, queue_target(name));
}

static void assert_active(const char *name, const char *status, const char *reason,
                          const char *message)
{
    AUTO(json_freep) json_t *queue = get_queue(name);
    const json_t *condition = object_condition(queue, "Active");

    assert_string_equal(json_text(condition, "status"), status);
    assert_string_equal(json_text(condition, "reason"), reason);
    if (message)
        assert_string_equal(json_text(condition, "message"), message);
}

/* `metadata` is the rest of the metadata after the name. */
static void add_pod(const char *ns, const char *name, const char *metadata, int gpus)
{
    AUTO_FREE char *text = mem_format(
        "{'metadata':{'name':'%s'%s},'spec':{'containers':[{'name':'main','image':'host',"
        "'resources':{'limits':{'nvidia.com/gpu':%d}}}]}}",
        name, metadata, gpus);

    world_must(world_create(&w, (struct target){.kind = "pods", .ns = ns}, text, NULL));
    sim_loop_run(w.loop);
}

static json_t *get_pod(const char *ns, const char *name)
{
    return world_get(&w, (struct target){.kind = "pods", .ns = ns, .name = name});
}

static void assert_runs(const char *ns, const char *name)
{
    AUTO(json_freep) json_t *pod = get_pod(ns, name);

    assert_string_equal(pod_node(pod), "n");
}

static void assert_waits(const char *ns, const char *name, const char *message)
{
    AUTO(json_freep) json_t *pod = NULL;
    const json_t *condition;

    sim_loop_advance(w.loop, 15 * NS_PER_SEC);
    pod = get_pod(ns, name);
    condition = object_condition(pod, "PodScheduled");
    assert_string_equal(pod_node(pod), "");
    assert_string_equal(json_text(condition, "message"), message);
}

static void end_pod(const char *ns, const char *name)
{
    world_must(world_patch(
        &w, (struct target){.kind = "pods", .ns = ns, .name = name, .sub = "status", .who = &ours},
        "{'status':{'phase':'Succeeded'}}", NULL));
    sim_loop_run(w.loop);
}

static struct err *annotate(const struct kind_context *who, const char *name, const char *text)
{
    AUTO_FREE char *patch = mem_format("{'metadata':{'annotations':{%s}}}", text);
    struct err *e =
        world_patch(&w, (struct target){.kind = "pods", .name = name, .who = who}, patch, NULL);

    sim_loop_run(w.loop);
    return e;
}

static void the_tree_comes_in_any_order(void **state)
{
    (void)state;
    world_must(put_queue("leaf", "{'parent':'middle','weight':2}"));
    assert_active("leaf", "False", "ParentMissing", "there is no queue middle");
    world_must(put_queue("middle", "{'parent':'top'}"));
    assert_active("leaf", "False", "ParentMissing", "the parent queue middle is not active");
    world_must(put_queue("top", "{'quotas':[{'resource':'gpu','nominal':2,'borrowLimit':0}]}"));
    assert_active("leaf", "True", "Ready", NULL);
    add_pod("default", "a", ",'labels':{'mete.dev/queue':'leaf'}", 2);
    add_pod("default", "b", ",'labels':{'mete.dev/queue':'leaf'}", 1);
    assert_runs("default", "a");
    assert_waits("default", "b", "needs 1 gpu; queue top holds 2 of 2");
    world_refused(world_delete(&w, queue_target("default"), NULL, NULL), 403,
                  "queues.mete.dev \"default\" is forbidden: pods without a queue use this one; "
                  "change or stop it instead");
    world_must(world_delete(&w, queue_target("middle"), NULL, NULL));
    assert_active("leaf", "False", "ParentMissing", "there is no queue middle");
    assert_waits("default", "b", "there is no queue leaf");
    world_must(put_queue("leaf", "{'parent':'root'}"));
    assert_active("leaf", "True", "Ready", NULL);
    assert_runs("default", "b");
}

static void queues_change_places(void **state)
{
    (void)state;
    world_must(put_queue("a", "{}"));
    world_must(put_queue("b", "{'parent':'a'}"));
    world_refused(
        put_queue("a", "{'parent':'b'}"), 422,
        "Queue.mete.dev \"a\" is invalid: spec.parent: Invalid value: \"b\": the parent is below "
        "this queue");
    world_must(put_queue("b", "{'parent':'root'}"));
    world_must(put_queue("a", "{'parent':'b'}"));
    assert_active("a", "True", "Ready", NULL);
    add_pod("default", "p", ",'labels':{'mete.dev/queue':'a'}", 1);
    add_pod("default", "q", ",'labels':{'mete.dev/queue':'b'}", 1);
    assert_runs("default", "p");
    assert_waits("default", "q", "queue b has queues below it: jobs go into one of these");
}

static void a_pod_has_its_queue_from_its_label_or_its_namespace(void **state)
{
    static const struct {
        const char *metadata;
        const char *queue; /* NULL: no label */
    } cases[] = {
        {"", "team"},
        {",'labels':{'mete.dev/queue':'own'}", "own"},
        {",'labels':{'kueue.x-k8s.io/queue-name':'theirs'}", "theirs"},
        {",'labels':{'kueue.x-k8s.io/queue-name':'theirs','mete.dev/queue':'own'}", "own"},
    };

    (void)state;
    world_must(world_create(&w, (struct target){.kind = "namespaces", .who = &root},
                            "{'metadata':{'name':'t','annotations':{'mete.dev/queue':'team'}}}",
                            NULL));
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO_FREE char *name = mem_format("p%zu", i);
        AUTO(json_freep) json_t *pod = NULL;

        add_pod("t", name, cases[i].metadata, 0);
        pod = get_pod("t", name);
        assert_string_equal(json_text_at(pod, "metadata", "labels", QUEUE_LABEL, NULL),
                            cases[i].queue);
    }
    assert_waits("t", "p0", "there is no queue team");
    world_must(put_queue("team", "{}"));
    assert_runs("t", "p0");
    world_refused(world_patch(&w, (struct target){.kind = "pods", .ns = "t", .name = "p0"},
                              "{'metadata':{'labels':{'mete.dev/queue':'own'}}}", NULL),
                  422,
                  "Pod \"p0\" is invalid: metadata.labels: Forbidden: a placed pod stays in its "
                  "queue; a waiting pod can move");
    world_must(put_queue("other", "{}"));
    world_must(world_patch(&w, (struct target){.kind = "pods", .ns = "t", .name = "p1"},
                           "{'metadata':{'labels':{'mete.dev/queue':'other'}}}", NULL));
    sim_loop_run(w.loop);
    assert_runs("t", "p1");
}

static void keeps_out_whom_a_queue_does_not_let_in(void **state)
{
    (void)state;
    world_must(put_queue("lab", "{'namespaceSelector':{'matchLabels':{'lab':'x'}}}"));
    add_pod("default", "a", ",'labels':{'mete.dev/queue':'lab'}", 1);
    assert_waits("default", "a", "namespace default may not use queue lab");
    world_must(world_patch(&w,
                           (struct target){.kind = "namespaces", .name = "default", .who = &root},
                           "{'metadata':{'labels':{'lab':'x'}}}", NULL));
    sim_loop_run(w.loop);
    assert_runs("default", "a");
    world_must(put_queue("lab", "{'namespaceSelector':null,'namespaces':['kube-system']}"));
    add_pod("default", "b", ",'labels':{'mete.dev/queue':'lab'}", 1);
    assert_waits("default", "b", "namespace default may not use queue lab");
    assert_runs("default", "a");
    world_must(put_queue("lab", "{'namespaces':['default']}"));
    assert_runs("default", "b");
}

static void a_priority_counts_at_once(void **state)
{
    struct target b = {.kind = "pods", .ns = "default", .name = "b"};

    (void)state;
    world_must(put_queue("default", "{'stopped':true}"));
    add_pod("default", "a", "", 4);
    add_pod("default", "b", "", 4);
    add_pod("default", "c", "", 4);
    world_refused(
        world_patch(&w, b, "{'metadata':{'annotations':{'mete.dev/priority':'1'}}}", NULL), 422,
        "Pod \"b\" is invalid: metadata.annotations[mete.dev/priority]: Forbidden: only "
        "administrators set more than the pod's spec.priority");
    b.who = &root;
    world_must(world_patch(&w, b, "{'metadata':{'annotations':{'mete.dev/priority':'1'}}}", NULL));
    world_must(world_patch(&w, (struct target){.kind = "pods", .ns = "default", .name = "a"},
                           "{'metadata':{'annotations':{'mete.dev/priority':'-1'}}}", NULL));
    world_must(put_queue("default", "{'stopped':false}"));
    assert_runs("default", "b");
    end_pod("default", "b");
    assert_runs("default", "c");
}

static void what_is_held_waits_until_it_is_released(void **state)
{
    AUTO(json_freep) json_t *queue = NULL;

    (void)state;
    add_pod("default", "a", ",'annotations':{'mete.dev/hold':'user'}", 1);
    assert_waits("default", "a", "put on hold by its user");
    queue = get_queue("default");
    assert_int_equal(json_int_at(queue, "status", "waiting", NULL), 1);
    assert_int_equal(json_int_at(queue, "status", "onHold", NULL), 1);
    world_must(annotate(&root, "a", "'mete.dev/hold':'admin'"));
    assert_waits("default", "a", "put on hold by an administrator");
    world_refused(annotate(&ann, "a", "'mete.dev/hold':null"), 422,
                  "Pod \"a\" is invalid: metadata.annotations[mete.dev/hold]: Forbidden: an "
                  "administrator put the object on hold: only administrators release it");
    stop();
    start();
    assert_waits("default", "a", "put on hold by an administrator");
    world_must(annotate(&root, "a", "'mete.dev/hold':null"));
    assert_runs("default", "a");
}

static void starts_when_its_time_comes(void **state)
{
    (void)state;
    add_pod("default", "a", ",'annotations':{'mete.dev/not-before':'2026-01-01T00:05:00Z'}", 1);
    assert_waits("default", "a", "does not start before 2026-01-01T00:05:00Z");
    sim_loop_advance(w.loop, 200 * NS_PER_SEC);
    assert_waits("default", "a", "does not start before 2026-01-01T00:05:00Z");
    sim_loop_advance(w.loop, 100 * NS_PER_SEC);
    assert_runs("default", "a");
}

static void gates_hold_until_the_last_is_gone(void **state)
{
    const struct target t = {.kind = "pods", .name = "a"};
    AUTO(json_freep) json_t *pod = NULL;

    (void)state;
    world_must(world_create(&w, (struct target){.kind = "pods"},
                            "{'metadata':{'name':'a'},'spec':{'schedulingGates':[{'name':'x.io/g'},"
                            "{'name':'y'}],'containers':[{'name':'main','image':'host'}]}}",
                            NULL));
    assert_waits("default", "a", "waits until its scheduling gates go: x.io/g, y");
    pod = get_pod("default", "a");
    assert_string_equal(json_text(object_condition(pod, "PodScheduled"), "reason"),
                        "SchedulingGated");
    world_refused(world_bind(&w, "default", "a", "n"), 409,
                  "Operation cannot be fulfilled on pods \"a\": pod a has non-empty "
                  ".spec.schedulingGates");
    world_refused(
        world_patch(&w, t, "{'spec':{'schedulingGates':[{'name':'z'}]}}", NULL), 422,
        "Pod \"a\" is invalid: spec.schedulingGates[0]: Forbidden: only deletion is allowed, but "
        "found new scheduling gate 'z'");
    world_must(world_patch(&w, t, "{'spec':{'schedulingGates':[{'name':'y'}]}}", NULL));
    assert_waits("default", "a", "waits until its scheduling gates go: y");
    world_must(world_patch(&w, t, "{'spec':{'schedulingGates':null}}", NULL));
    sim_loop_run(w.loop);
    assert_runs("default", "a");
}

static void shares_by_weight_and_tells_what_is_held(void **state)
{
    AUTO(json_freep) json_t *queue = NULL;
    const json_t *quota;

    (void)state;
    world_must(put_queue("root", "{'fairness':{'order':'Shares','halfLife':'1h'}}"));
    world_must(put_queue("a", "{'weight':3,'quotas':[{'resource':'gpu','nominal':1}]}"));
    world_must(put_queue("b", "{}"));
    add_pod("default", "all", "", 4);
    for (int i = 0; i < 8; i++) {
        AUTO_FREE char *name = mem_format("p%d", i);

        add_pod("default", name,
                i % 2 ? ",'labels':{'mete.dev/queue':'a'}" : ",'labels':{'mete.dev/queue':'b'}", 1);
    }
    end_pod("default", "all");
    queue = get_queue("a");
    assert_int_equal(json_int_at(queue, "status", "running", NULL), 3);
    assert_int_equal(json_int_at(queue, "status", "waiting", NULL), 1);
    assert_int_equal(json_int_at(queue, "status", "sharePpm", NULL), 750000);
    assert_string_equal(json_text_at(queue, "status", "waitingSince", NULL),
                        "2026-01-01T00:00:01Z");
    quota = json_array_get(json_at(queue, "status", "quotas", NULL), 0);
    assert_string_equal(json_text(quota, "resource"), "gpu");
    assert_string_equal(json_text(quota, "nominal"), "1");
    assert_string_equal(json_text(quota, "held"), "3");
    assert_string_equal(json_text(quota, "borrowed"), "2");
}

static void a_stopped_queue_starts_nothing(void **state)
{
    (void)state;
    world_must(put_queue("q", "{'stopped':true}"));
    assert_active("q", "False", "Stopped", "the queue is stopped, its workloads do not start");
    add_pod("default", "a", ",'labels':{'mete.dev/queue':'q'}", 1);
    assert_waits("default", "a", "queue q is stopped");
    world_must(put_queue("q", "{'stopped':false}"));
    assert_runs("default", "a");
    assert_active("q", "True", "Ready", NULL);
}

/* Kueue resumes a Job when it admits it; here the Job is not suspended, and its pods wait. */
static void a_job_of_kueue_is_not_suspended_and_its_pods_wait_in_its_queue(void **state)
{
    static const char form[] =
        "{'metadata':{'name':'%s','labels':{'%s':'q'}},'spec':{'suspend':true,'template':{'spec':{"
        "'restartPolicy':'Never','containers':[{'name':'main','image':'host'}]}}}}";
    AUTO_FREE char *kueue = mem_format(form, "k", "kueue.x-k8s.io/queue-name");
    AUTO_FREE char *own = mem_format(form, "o", "mete.dev/queue");
    const struct target jobs = {.group = "batch", .kind = "jobs"};
    AUTO(json_freep) json_t *job = NULL;
    AUTO(json_freep) json_t *other = NULL;
    AUTO(json_freep) json_t *queue = NULL;

    (void)state;
    world_must(put_queue("q", "{'stopped':true}"));
    world_must(world_create(&w, jobs, kueue, NULL));
    world_must(world_create(&w, jobs, own, NULL));
    settle();
    job = world_get(&w, (struct target){.group = "batch", .kind = "jobs", .name = "k"});
    other = world_get(&w, (struct target){.group = "batch", .kind = "jobs", .name = "o"});
    assert_false(json_bool_at(job, "spec", "suspend", NULL));
    assert_true(json_bool_at(other, "spec", "suspend", NULL));
    queue = get_queue("q");
    assert_int_equal(json_int_at(queue, "status", "waiting", NULL), 1);
}

/* New settings of the object `root` apply from the next cycle on. */
static void fairness_is_set_at_run_time(void **state)
{
    static const char high[] =
        "{'metadata':{'name':'high'},'value':1000,'preemptionPolicy':'Never'}";

    (void)state;
    world_must(world_create(
        &w, (struct target){.group = "scheduling.k8s.io", .kind = "priorityclasses", .who = &root},
        high, NULL));
    world_must(put_queue("a", "{'weight':1000}"));
    world_must(put_queue("b", "{}"));
    add_pod("default", "all", "", 4);
    add_pod("default", "low", ",'labels':{'mete.dev/queue':'a'}", 4);
    world_must(world_create(&w, (struct target){.kind = "pods"},
                            "{'metadata':{'name':'first','labels':{'mete.dev/queue':'b'}},'spec':{"
                            "'priorityClassName':'high','containers':[{'name':'main','image':"
                            "'host','resources':{'limits':{'nvidia.com/gpu':4}}}]}}",
                            NULL));
    world_must(put_queue("root", "{'fairness':{'order':'Priority'}}"));
    end_pod("default", "all");
    assert_runs("default", "first"); /* shares would choose the other job */
    end_pod("default", "first");
    assert_runs("default", "low");
    add_pod("default", "one", ",'labels':{'mete.dev/queue':'a'}", 4);
    add_pod("default", "two", ",'labels':{'mete.dev/queue':'b'}", 4);
    world_must(world_delete(&w, queue_target("root"), NULL, NULL));
    sim_loop_run(w.loop);
    end_pod("default", "low");
    assert_runs("default", "one"); /* by weight again */
}

static int64_t share_of(const char *name)
{
    AUTO(json_freep) json_t *queue = get_queue(name);

    return json_int_at(queue, "status", "sharePpm", NULL);
}

/* Of ended and of running pods. */
static void what_was_used_lately_outlives_the_server(void **state)
{
    int64_t before;
    int64_t after;

    (void)state;
    world_must(put_queue("root", "{'fairness':{'halfLife':'100s'}}"));
    world_must(put_queue("x", "{}"));
    world_must(put_queue("y", "{}"));
    add_pod("default", "ends", ",'labels':{'mete.dev/queue':'x'}", 2);
    add_pod("default", "stays", ",'labels':{'mete.dev/queue':'y'}", 1);
    sim_loop_advance(w.loop, 100 * NS_PER_SEC);
    end_pod("default", "ends");
    sim_loop_advance(w.loop, NS_PER_SEC);
    before = share_of("x");
    assert_in_range(before, 220000, 260000); /* half of two gpus of four */
    stop();
    start();
    add_pod("default", "poke", "", 0); /* a cycle updates the shares */
    after = share_of("x");
    assert_in_range(after, before - 20000, before + 5000); /* some seconds older */
    assert_in_range(share_of("y"), 360000, 400000);        /* a quarter held, half of it used */
}

static struct target reservation_target(const char *name)
{
    return (struct target){.group = "mete.dev", .kind = "reservations", .name = name, .who = &root};
}

/* Times are minutes after the clock's start. */
static struct err *put_reservation(const char *name, int from, int to, const char *rest)
{
    AUTO_FREE char *text = mem_format(
        "{'metadata':{'name':'%s'},'spec':{'startTime':'2026-01-01T00:%02d:00Z','endTime':"
        "'2026-01-01T00:%02d:00Z',%s}}",
        name, from, to, rest);
    struct err *e = world_create(&w, reservation_target(name), text, NULL);

    sim_loop_run(w.loop);
    return e;
}

static void assert_phase(const char *name, const char *phase, const char *message)
{
    AUTO(json_freep) json_t *r = NULL;

    settle();
    r = world_get(&w, reservation_target(name));
    assert_string_equal(json_text_at(r, "status", "phase", NULL), phase);
    if (message)
        assert_string_equal(json_text_at(r, "status", "message", NULL), message);
}

static void a_reservation_keeps_its_room_and_its_gpus(void **state)
{
    AUTO(json_freep) json_t *before = NULL;
    AUTO(json_freep) json_t *after = NULL;

    (void)state;
    world_must(put_reservation("r", 10, 20, "'gpus':3,'queues':['lab']"));
    assert_phase("r", "pending", NULL);
    before = world_get(&w, reservation_target("r"));
    assert_int_equal(json_int_at(before, "status", "gpus", NULL), 3);
    assert_int_equal(json_array_size(json_at(before, "status", "gpuUuids", NULL)), 3);
    add_pod("default", "small", "", 1);
    assert_runs("default", "small"); /* on the remaining gpu */
    add_pod("default", "long", "", 1);
    assert_waits(
        "default", "long",
        "needs 1 gpu; n is reserved from 2026-01-01T00:10:00Z to 2026-01-01T00:20:00Z (r); "
        "the job might still run then");
    stop();
    start();
    assert_phase("r", "pending", NULL);
    after = world_get(&w, reservation_target("r"));
    assert_true(json_equal(json_at(before, "status", "gpuUuids", NULL),
                           json_at(after, "status", "gpuUuids", NULL)));
    world_must(put_queue("lab", "{}"));
    add_pod("default", "theirs",
            ",'labels':{'mete.dev/queue':'lab'},'annotations':{'mete.dev/reservation':'r'}", 2);
    sim_loop_advance(w.loop, 60 * NS_PER_SEC);
    {
        AUTO(json_freep) json_t *pod = get_pod("default", "theirs");

        assert_string_equal(pod_node(pod), ""); /* the reservation has not begun */
    }
    sim_loop_advance(w.loop, 600 * NS_PER_SEC);
    assert_runs("default", "theirs");
    assert_phase("r", "active", NULL);
    end_pod("default", "theirs");
    sim_loop_advance(w.loop, 600 * NS_PER_SEC);
    assert_phase("r", "ended", NULL);
    assert_runs("default", "long"); /* the reservation is gone */
    sim_loop_advance(w.loop, 86400 * NS_PER_SEC);
    settle();
    assert_null(world_get(&w, reservation_target("r")));
}

static void what_is_in_the_way_of_a_reservation_is_told(void **state)
{
    (void)state;
    world_must(put_reservation("a", 10, 20, "'nodes':['n'],'users':['ann']"));
    world_must(put_reservation("b", 15, 25, "'nodes':['n'],'users':['bob']"));
    assert_phase("b", "refused", "reservation 'b': node 'n' is in reservation 'a' at that time");
    world_must(world_delete(&w, reservation_target("a"), NULL, NULL));
    sim_loop_run(w.loop);
    assert_phase("b", "pending", NULL);
    world_must(put_reservation("m", 15, 25, "'nodes':['n'],'maintenance':true"));
    assert_phase("m", "pending", NULL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static void on_free_report(void *arg, const struct err *e, const json_t *report)
{
    const char **queue = arg;

    assert_null(e);
    *queue = text_equal(json_text(report, "queue"), "lab") ? "lab" : "";
}

/* `namespaces` NULL: an administrator asks. */
static struct err *ask_free(const char *namespaces, const char *queue, const char **ret)
{
    AUTO(json_freep)
    json_t *parameters = json_pack("{s:s, s:s}", "namespace", "default", "queue", queue);
    AUTO(json_freep) json_t *visible = namespaces ? json_pack("[s]", namespaces) : NULL;
    const struct report_question q = {
        .parameters = parameters, .namespaces = visible, .user = "ann"};
    struct report *report = NULL;
    struct err *e = control_free_begin(control, &q, on_free_report, ret, &report);

    sim_loop_run(w.loop);
    return e;
}

static void free_capacity_is_told_of_queues_that_the_namespace_may_use(void **state)
{
    const char *told = NULL;

    (void)state;
    world_must(put_queue("lab", "{'namespaces':['team-a']}"));
    sim_loop_run(w.loop);
    world_refused(ask_free("default", "lab", &told), 403,
                  "free capacity of queue \"lab\" is forbidden for user \"ann\": namespace default "
                  "may not use queue lab");
    assert_null(told);
    world_must(ask_free(NULL, "lab", &told));
    assert_string_equal(told, "lab");
    told = NULL;
    world_must(put_queue("lab", "{'namespaces':['default']}"));
    sim_loop_run(w.loop);
    world_must(ask_free("default", "lab", &told));
    assert_string_equal(told, "lab");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_tree_comes_in_any_order),
        TEST(queues_change_places),
        TEST(a_pod_has_its_queue_from_its_label_or_its_namespace),
        TEST(keeps_out_whom_a_queue_does_not_let_in),
        TEST(a_priority_counts_at_once),
        TEST(what_is_held_waits_until_it_is_released),
        TEST(starts_when_its_time_comes),
        TEST(gates_hold_until_the_last_is_gone),
        TEST(shares_by_weight_and_tells_what_is_held),
        TEST(a_stopped_queue_starts_nothing),
        TEST(fairness_is_set_at_run_time),
        TEST(what_was_used_lately_outlives_the_server),
        TEST(a_reservation_keeps_its_room_and_its_gpus),
        TEST(what_is_in_the_way_of_a_reservation_is_told),
        TEST(a_job_of_kueue_is_not_suspended_and_its_pods_wait_in_its_queue),
        TEST(free_capacity_is_told_of_queues_that_the_namespace_may_use),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
