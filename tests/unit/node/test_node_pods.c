/* test_node_pods.c - tests of the pods of a node, over fakes */

#include "base/mem.h"
#include "base/stamp.h"
#include "node_world.h"
#include "test.h"

#define ONE(policy)                                                                           \
    "{\"restartPolicy\":\"" policy "\",\"terminationGracePeriodSeconds\":30,\"containers\":[" \
    "{\"name\":\"m\",\"image\":\"host\",\"command\":[\"true\"]}]}"
#define ONE_GPU                                                                        \
    "{\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"m\",\"image\":\"host\"," \
    "\"command\":[\"true\"],\"resources\":{\"limits\":{\"nvidia.com/gpu\":\"1\"}}}]}"
#define TWO_INIT                                                                    \
    "{\"restartPolicy\":\"Never\",\"initContainers\":["                             \
    "{\"name\":\"i1\",\"image\":\"host\",\"command\":[\"true\"]},"                  \
    "{\"name\":\"i2\",\"image\":\"host\",\"command\":[\"true\"]}],\"containers\":[" \
    "{\"name\":\"a\",\"image\":\"host\",\"command\":[\"true\"]},"                   \
    "{\"name\":\"b\",\"image\":\"host\",\"command\":[\"true\"]}]}"
#define INTENT(attempt)                                                            \
    "{\"uid\":\"u1\",\"namespace\":\"default\",\"pod\":\"p\",\"container\":\"m\"," \
    "\"attempt\":" #attempt "}"

static const char *phase(const struct node_world *w)
{
    return json_text(node_world_status(w), "phase");
}

static const json_t *state_of(const struct node_world *w, const char *part)
{
    const json_t *list = json_object_get(node_world_status(w), "containerStatuses");

    return json_at(json_array_get(list, 0), "state", part, NULL);
}

static int64_t restarts(const struct node_world *w)
{
    const json_t *list = json_object_get(node_world_status(w), "containerStatuses");

    return json_int(json_array_get(list, 0), "restartCount", -1);
}

static void put(struct node_world *w, const char *spec, const char *status)
{
    AUTO(json_freep) json_t *pod = node_world_pod(spec, status);

    node_world_put(w, pod);
}

static void put_deleted(struct node_world *w, const char *spec, int64_t grace_s)
{
    AUTO(json_freep) json_t *pod = node_world_pod(spec, "{}");
    json_t *meta = json_object_at(pod, "metadata");
    char stamp[STAMP_TEXT_SIZE];

    stamp_format(loop_wall_ns(w->loop) + grace_s * NS_PER_SEC, stamp);
    json_put_text(meta, "deletionTimestamp", stamp);
    json_put_int(meta, "deletionGracePeriodSeconds", grace_s);
    node_world_put(w, pod);
}

static void remove_pod(struct node_world *w)
{
    AUTO(json_freep) json_t *pod = node_world_pod(ONE("Never"), "{}");

    pods_removed(w->pods, pod);
    node_world_run(w);
}

static void runs_a_pod_to_its_end(void **state)
{
    struct node_world w;

    (void)state;
    node_world_init(&w);
    put(&w, ONE("Never"), "{}");
    assert_int_equal(node_world_container(&w, "u1-m-0")->n_starts, 1);
    assert_string_equal(phase(&w), "Running");
    assert_non_null(state_of(&w, "running"));
    node_world_end(&w, "u1-m-0", 0);
    assert_string_equal(phase(&w), "Succeeded");
    assert_string_equal(json_text(state_of(&w, "terminated"), "reason"), "Completed");
    assert_int_equal(node_world_container(&w, "u1-m-0")->n_starts, 1);
    node_world_done(&w);
}

static void tells_how_a_container_failed(void **state)
{
    const struct {
        int code;
        bool is_oom;
        int exit_code;
        const char *reason;
    } cases[] = {
        {3, false, 3, "Error"},
        {137, true, 137, "OOMKilled"},
        {0, true, 0, "Completed"},
        {RUNTIME_CODE_UNKNOWN, false, 137, "ContainerStatusUnknown"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct node_world w;

        node_world_init(&w);
        put(&w, ONE("Never"), "{}");
        node_world_container(&w, "u1-m-0")->exit.is_oom = cases[i].is_oom;
        node_world_end(&w, "u1-m-0", cases[i].code);
        assert_string_equal(phase(&w), cases[i].exit_code ? "Failed" : "Succeeded");
        assert_string_equal(json_text(state_of(&w, "terminated"), "reason"), cases[i].reason);
        assert_int_equal(json_int(state_of(&w, "terminated"), "exitCode", -1), cases[i].exit_code);
        node_world_done(&w);
    }
}

static void runs_init_containers_one_after_the_other(void **state)
{
    struct node_world w;

    (void)state;
    node_world_init(&w);
    put(&w, TWO_INIT, "{}");
    assert_non_null(node_world_container(&w, "u1-i1-0"));
    assert_null(node_world_container(&w, "u1-i2-0"));
    node_world_end(&w, "u1-i1-0", 0);
    assert_non_null(node_world_container(&w, "u1-i2-0"));
    assert_null(node_world_container(&w, "u1-a-0"));
    node_world_end(&w, "u1-i2-0", 0);
    assert_int_equal(node_world_container(&w, "u1-a-0")->n_starts, 1);
    assert_int_equal(node_world_container(&w, "u1-b-0")->n_starts, 1);
    node_world_end(&w, "u1-a-0", 0);
    assert_string_equal(phase(&w), "Running");
    node_world_end(&w, "u1-b-0", 4);
    assert_string_equal(phase(&w), "Failed");
    node_world_done(&w);
}

static void a_failed_init_container_fails_the_pod(void **state)
{
    struct node_world w;

    (void)state;
    node_world_init(&w);
    put(&w, TWO_INIT, "{}");
    node_world_end(&w, "u1-i1-0", 1);
    assert_string_equal(phase(&w), "Failed");
    assert_null(node_world_container(&w, "u1-i2-0"));
    node_world_done(&w);
}

/* 0 s, 10 s, 20 s, 40 s ... 300 s */
static void restarts_with_the_kubelets_back_off(void **state)
{
    static const int64_t waits_s[] = {0, 10, 20, 40, 80, 160, 300, 300};
    struct node_world w;

    (void)state;
    node_world_init(&w);
    put(&w, ONE("Always"), "{}");
    for (size_t i = 0; i < COUNT(waits_s); i++) {
        AUTO_FREE char *id = mem_format("u1-m-%zu", i);
        AUTO_FREE char *next = mem_format("u1-m-%zu", i + 1);

        node_world_end(&w, id, 1);
        if (waits_s[i] > 0) {
            assert_string_equal(json_text(state_of(&w, "waiting"), "reason"), "CrashLoopBackOff");
            assert_int_equal(restarts(&w), i);
            node_world_advance(&w, waits_s[i] * NS_PER_SEC - 1);
            assert_null(node_world_container(&w, next));
            node_world_advance(&w, 1);
        }
        assert_int_equal(node_world_container(&w, next)->n_starts, 1);
        assert_int_equal(restarts(&w), i + 1);
        assert_null(node_world_container(&w, id)); /* removed once the next exists */
    }
    assert_string_equal(phase(&w), "Running");
    node_world_done(&w);
}

static void forgets_crashes_after_ten_good_minutes(void **state)
{
    struct node_world w;

    (void)state;
    node_world_init(&w);
    put(&w, ONE("Always"), "{}");
    node_world_end(&w, "u1-m-0", 1);
    node_world_end(&w, "u1-m-1", 1);
    node_world_advance(&w, 10 * NS_PER_SEC);
    node_world_advance(&w, 601 * NS_PER_SEC);
    node_world_end(&w, "u1-m-2", 1);
    assert_int_equal(node_world_container(&w, "u1-m-3")->n_starts, 1);
    node_world_done(&w);
}

static void on_failure_restarts_only_failures(void **state)
{
    struct node_world w;

    (void)state;
    node_world_init(&w);
    put(&w, ONE("OnFailure"), "{}");
    node_world_end(&w, "u1-m-0", 1);
    node_world_end(&w, "u1-m-1", 0);
    assert_string_equal(phase(&w), "Succeeded");
    assert_int_equal(restarts(&w), 1);
    node_world_done(&w);
}

static void what_the_runtime_refuses_has_failed(void **state)
{
    struct node_world w;

    (void)state;
    node_world_init(&w);
    w.create_error = ERR_INVALID;
    w.create_message = "executable file `x` not found in $PATH";
    put(&w, ONE("Never"), "{}");
    assert_string_equal(phase(&w), "Failed");
    assert_string_equal(json_text(state_of(&w, "terminated"), "reason"), "StartError");
    assert_string_equal(json_text(state_of(&w, "terminated"), "message"), w.create_message);
    assert_int_equal(json_int(state_of(&w, "terminated"), "exitCode", -1), 128);
    node_world_done(&w);
}

static void what_the_machine_cannot_do_now_is_tried_again_as_the_same_attempt(void **state)
{
    struct node_world w;

    (void)state;
    node_world_init(&w);
    w.create_error = ERR_UNAVAILABLE;
    w.create_message = "conmon: no memory";
    put(&w, ONE("Never"), "{}");
    assert_string_equal(json_text(state_of(&w, "waiting"), "reason"), "CreateContainerError");
    w.create_message = NULL;
    node_world_advance(&w, NS_PER_SEC);
    assert_int_equal(node_world_container(&w, "u1-m-0")->n_creates, 2);
    assert_int_equal(node_world_container(&w, "u1-m-0")->n_starts, 1);
    assert_int_equal(restarts(&w), 0);
    node_world_done(&w);
}

static void waits_for_a_config_map_that_is_missing(void **state)
{
    const char *spec =
        "{\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"m\",\"image\":\"host\","
        "\"command\":[\"echo\",\"$(A)\"],\"env\":[{\"name\":\"A\",\"valueFrom\":{"
        "\"configMapKeyRef\":"
        "{\"name\":\"c\",\"key\":\"k\"}}}]}]}";
    struct node_world w;
    const json_t *args = NULL;

    (void)state;
    node_world_init(&w);
    put(&w, spec, "{}");
    assert_string_equal(json_text(state_of(&w, "waiting"), "reason"), "CreateContainerConfigError");
    assert_string_equal(json_text(state_of(&w, "waiting"), "message"),
                        "env A: ConfigMap 'c' not found");
    json_put(w.objects, "configmaps/c", json_pack("{s:{s:s}}", "data", "k", "v1"));
    node_world_advance(&w, 2 * NS_PER_SEC);
    args = json_at(node_world_container(&w, "u1-m-0")->config, "process", "args", NULL);
    assert_string_equal(json_string_value(json_array_get(args, 1)), "v1");
    assert_string_equal(phase(&w), "Running");
    node_world_done(&w);
}

static void deletion_asks_waits_and_kills(void **state)
{
    struct node_world w;
    struct fake_container *c = NULL;

    (void)state;
    node_world_init(&w);
    put(&w, ONE("Always"), "{}");
    c = node_world_container(&w, "u1-m-0");
    put_deleted(&w, ONE("Always"), 30);
    assert_int_equal(c->n_terms, 1);
    node_world_advance(&w, 29 * NS_PER_SEC);
    assert_int_equal(c->n_kills, 0);
    node_world_advance(&w, NS_PER_SEC);
    assert_int_equal(c->n_kills, 1);
    assert_int_equal(c->n_terms, 1);
    assert_string_equal(phase(&w), "Failed");
    assert_int_equal(node_world_count(&w, "DELETE", "/pods/p"), 1);
    remove_pod(&w);
    assert_int_equal(w.n_unprepared, 1);
    assert_int_equal(w.containers.n, 0);
    node_world_done(&w);
}

static void a_crash_loop_leaves_nothing_behind(void **state)
{
    static const char *const messages[] = {NULL, "no such program"};

    (void)state;
    for (size_t i = 0; i < COUNT(messages); i++) {
        struct node_world w;

        node_world_init(&w);
        w.create_error = ERR_INVALID;
        w.create_message = messages[i];
        put(&w, ONE("Always"), "{}");
        for (size_t k = 0; k < 3 && !messages[i]; k++) {
            AUTO_FREE char *id = mem_format("u1-m-%zu", k);

            node_world_end(&w, id, 1);
            node_world_advance(&w, k < 2 ? 30 * NS_PER_SEC : 0);
        }
        node_world_advance(&w, messages[i] ? 35 * NS_PER_SEC : 0);
        assert_string_equal(json_text(state_of(&w, "waiting"), "reason"), "CrashLoopBackOff");
        assert_int_equal(w.containers.n, 1);
        put_deleted(&w, ONE("Always"), 30);
        remove_pod(&w);
        assert_int_equal(w.containers.n, 0);
        assert_int_equal(w.n_unprepared, 1);
        node_world_done(&w);
    }
}

static void deletion_with_a_shorter_grace_hurries(void **state)
{
    struct node_world w;

    (void)state;
    node_world_init(&w);
    put(&w, ONE("Always"), "{}");
    put_deleted(&w, ONE("Always"), 30);
    put_deleted(&w, ONE("Always"), 1);
    node_world_advance(&w, NS_PER_SEC);
    assert_int_equal(node_world_container(&w, "u1-m-0")->n_kills, 1);
    node_world_done(&w);
}

/* The number of Events with this text in their message. */
static size_t count_events(const struct node_world *w, const char *text)
{
    size_t n = 0;

    for (size_t i = 0; i < w->requests.n; i++)
        n += strstr(text_or_empty(json_text(w->requests.at[i].body, "message")), text) != NULL;
    return n;
}

/* A pod has not ended, and its devices are not free, while a process of it lives. */
static void what_does_not_die_keeps_the_pod(void **state)
{
    struct node_world w;

    (void)state;
    node_world_init(&w);
    w.is_stuck = true;
    put(&w, ONE("Never"), "{}");
    put_deleted(&w, ONE("Never"), 0);
    node_world_advance(&w, 60 * NS_PER_SEC);
    assert_true(node_world_container(&w, "u1-m-0")->n_kills > 20);
    assert_string_equal(phase(&w), "Running");
    assert_int_equal(node_world_count(&w, "DELETE", "/pods/p"), 0);
    assert_int_equal(count_events(&w, "process 4711 (python) waits in the kernel"), 1);
    w.is_stuck = false;
    node_world_advance(&w, 2 * NS_PER_SEC);
    assert_int_equal(node_world_count(&w, "DELETE", "/pods/p"), 1);
    node_world_done(&w);
}

static void the_last_status_goes_before_the_deletion(void **state)
{
    struct node_world w;

    (void)state;
    node_world_init(&w);
    put(&w, ONE("Never"), "{}");
    w.patch_status = 500;
    put_deleted(&w, ONE("Never"), 0);
    node_world_advance(&w, 20 * NS_PER_SEC);
    assert_int_equal(node_world_count(&w, "DELETE", "/pods/p"), 0);
    w.patch_status = 0;
    node_world_advance(&w, 5 * NS_PER_SEC);
    assert_int_equal(node_world_count(&w, "DELETE", "/pods/p"), 1);
    node_world_done(&w);
}

static void a_signal_comes_once_before_the_deadline(void **state)
{
    AUTO(json_freep)
    json_t *pod = node_world_pod("{\"activeDeadlineSeconds\":60,\"containers\":[{\"name\":\"m\","
                                 "\"image\":\"host\",\"command\":[\"true\"]}]}",
                                 "{}");
    struct node_world w;

    (void)state;
    json_put_text(json_object_at(json_object_at(pod, "metadata"), "annotations"),
                  "mete.dev/slurm-signal", "15 20");
    node_world_init(&w);
    node_world_put(&w, pod);
    node_world_advance(&w, 40 * NS_PER_SEC - 1);
    assert_int_equal(node_world_container(&w, "u1-m-0")->n_terms, 0);
    node_world_advance(&w, 1);
    assert_int_equal(node_world_container(&w, "u1-m-0")->n_terms, 1);
    node_world_advance(&w, 20 * NS_PER_SEC - 1);
    assert_int_equal(node_world_container(&w, "u1-m-0")->n_terms, 1);
    node_world_done(&w);
}

/* The pod object with the annotation of a suspension. */
static void put_suspension(struct node_world *w, const char *text)
{
    AUTO(json_freep)
    json_t *pod = node_world_pod(
        "{\"terminationGracePeriodSeconds\":2,\"activeDeadlineSeconds\":60,"
        "\"containers\":[{\"name\":\"m\",\"image\":\"host\",\"command\":[\"true\"]}]}",
        "{}");

    json_put_text(json_object_at(json_object_at(pod, "metadata"), "annotations"),
                  "mete.dev/slurm-suspended", text);
    node_world_put(w, pod);
}

static void a_suspension_moves_the_deadline(void **state)
{
    struct node_world w;

    (void)state;
    node_world_init(&w);
    w.obeys_term = true;
    put_suspension(&w, "0");
    node_world_advance(&w, 50 * NS_PER_SEC);
    put_suspension(&w, "0 2026-11-23T00:00:00.000000Z");
    node_world_advance(&w, 1000 * NS_PER_SEC);
    assert_int_equal(node_world_container(&w, "u1-m-0")->n_terms, 0);
    put_suspension(&w, "1000");
    node_world_advance(&w, 10 * NS_PER_SEC - 1);
    assert_int_equal(node_world_container(&w, "u1-m-0")->n_terms, 0);
    node_world_advance(&w, 1);
    assert_string_equal(json_text(node_world_status(&w), "reason"), "DeadlineExceeded");
    node_world_done(&w);
}

/* The longest run of a pod with a limit of 60 s, with the annotation; 0: longer than a day. */
static int64_t seconds_with_over(const char *minutes)
{
    AUTO(json_freep)
    json_t *pod = node_world_pod("{\"activeDeadlineSeconds\":60,\"containers\":[{\"name\":\"m\","
                                 "\"image\":\"host\",\"command\":[\"true\"]}]}",
                                 "{}");
    int64_t seconds = 0;
    struct node_world w;

    json_put_text(json_object_at(json_object_at(pod, "metadata"), "annotations"),
                  "mete.dev/slurm-over-time", minutes);
    node_world_init(&w);
    w.obeys_term = true;
    node_world_put(&w, pod);
    while (seconds < 86400 && !json_text(node_world_status(&w), "reason")) {
        node_world_advance(&w, NS_PER_SEC);
        seconds++;
    }
    node_world_done(&w);
    return seconds < 86400 ? seconds : 0;
}

static void a_pod_may_exceed_its_limit(void **state)
{
    (void)state;
    assert_int_equal(seconds_with_over("0"), 60);
    assert_int_equal(seconds_with_over("2"), 180);
    assert_int_equal(seconds_with_over("65535"), 0);
}

static void a_deadline_ends_the_pod(void **state)
{
    const char *spec =
        "{\"restartPolicy\":\"Always\",\"terminationGracePeriodSeconds\":2,"
        "\"activeDeadlineSeconds\":60,"
        "\"containers\":[{\"name\":\"m\",\"image\":\"host\",\"command\":[\"true\"]}]}";
    struct node_world w;

    (void)state;
    node_world_init(&w);
    w.obeys_term = true;
    put(&w, spec, "{}");
    node_world_advance(&w, 60 * NS_PER_SEC - 1);
    assert_int_equal(node_world_container(&w, "u1-m-0")->n_terms, 0);
    node_world_advance(&w, 1);
    assert_string_equal(phase(&w), "Failed");
    assert_string_equal(json_text(node_world_status(&w), "reason"), "DeadlineExceeded");
    assert_null(node_world_container(&w, "u1-m-1"));
    node_world_done(&w);
}

static void tells_the_server_until_it_hears(void **state)
{
    struct node_world w;

    (void)state;
    node_world_init(&w);
    w.is_server_away = true;
    put(&w, ONE("Never"), "{}");
    node_world_end(&w, "u1-m-0", 0);
    node_world_advance(&w, 60 * NS_PER_SEC);
    assert_in_range(node_world_count(&w, "PATCH", "/status"), 5, 30);
    w.is_server_away = false;
    node_world_advance(&w, 5 * NS_PER_SEC);
    assert_string_equal(phase(&w), "Succeeded");
    size_t n = node_world_count(&w, "PATCH", "/status");

    node_world_advance(&w, 600 * NS_PER_SEC);
    assert_int_equal(node_world_count(&w, "PATCH", "/status"), n); /* no more patches */
    node_world_done(&w);
}

static void keeps_the_conditions_of_others(void **state)
{
    struct node_world w;
    const json_t *conditions = NULL;

    (void)state;
    node_world_init(&w);
    put(&w, ONE("Never"), "{\"conditions\":[{\"type\":\"PodScheduled\",\"status\":\"True\"}]}");
    conditions = json_object_get(node_world_status(&w), "conditions");
    assert_int_equal(json_array_size(conditions), 4);
    assert_string_equal(json_text(json_array_get(conditions, 0), "type"), "PodScheduled");
    node_world_done(&w);
}

/* ---- gpus ---- */

static void put_gpu_pod(struct node_world *w, const char *uid, const char *uuid)
{
    AUTO(json_freep) json_t *pod = node_world_pod(ONE_GPU, "{}");
    json_t *meta = json_object_at(pod, "metadata");
    AUTO_FREE char *devices = mem_format("{\"containers\":{\"m\":[\"%s\"]}}", uuid);

    json_put_text(meta, "uid", uid);
    json_put_text(meta, "name", uid);
    json_put_text(json_object_at(meta, "annotations"), "mete.dev/devices", devices);
    node_world_put(w, pod);
}

static void a_gpu_in_use_here_is_not_given_again(void **state)
{
    struct node_world w;

    (void)state;
    node_world_init(&w);
    put_gpu_pod(&w, "u1", "GPU-2");
    put_gpu_pod(&w, "u2", "GPU-2");
    assert_non_null(node_world_container(&w, "u1-m-0"));
    assert_null(node_world_container(&w, "u2-m-0"));
    assert_string_equal(json_text(state_of(&w, "waiting"), "message"),
                        "gpu GPU-2 is still in use by pod default/u1");
    node_world_end(&w, "u1-m-0", 0);
    assert_int_equal(node_world_container(&w, "u2-m-0")->n_starts, 1); /* at once */
    node_world_done(&w);
}

/* The path of the mount at `to`; NULL: none. */
static const char *mounted_at(struct node_world *w, const char *id, const char *to)
{
    const json_t *mounts = json_object_get(node_world_container(w, id)->config, "mounts");
    const json_t *mount = NULL;
    size_t i = 0;

    json_array_foreach (mounts, i, mount)
        if (text_equal(json_text(mount, "destination"), to))
            return json_text(mount, "source");
    return NULL;
}

static void shares_of_a_gpu_run_side_by_side(void **state)
{
    struct node_world w;

    (void)state;
    node_world_init(&w);
    put_gpu_pod(&w, "u1", "GPU-2/share:300,1073741824");
    put_gpu_pod(&w, "u2", "GPU-2/share:700,1073741824");
    put_gpu_pod(&w, "u3", "GPU-2");
    assert_non_null(node_world_container(&w, "u2-m-0"));
    assert_string_equal(mounted_at(&w, "u1-m-0", "/run/mete/share/limits"),
                        "/data/node/pods/u1/share/limits");
    assert_string_equal(mounted_at(&w, "u2-m-0", "/run/mete/share/state"),
                        "/data/node/pods/u2/share/state");
    assert_string_equal(mounted_at(&w, "u1-m-0", "/usr/lib/libcuda.so.570"),
                        "/lib/mete/libmete-share-cuda.so");
    assert_int_equal(json_array_size(w.shares), 2);
    assert_null(node_world_container(&w, "u3-m-0")); /* the whole gpu, beside shares of it */
    assert_string_equal(json_text(state_of(&w, "waiting"), "message"),
                        "gpu GPU-2 is still in use by pod default/u1");
    node_world_end(&w, "u1-m-0", 0);
    node_world_end(&w, "u2-m-0", 0);
    assert_int_equal(node_world_container(&w, "u3-m-0")->n_starts, 1);
    assert_null(mounted_at(&w, "u3-m-0", "/run/mete/share/limits"));
    node_world_done(&w);
}

#define DEBUGGER \
    "{\"name\":\"d\",\"image\":\"host\",\"command\":[\"true\"],\"targetContainerName\":\"m\"}"

static void put_debugged(struct node_world *w, const char *device)
{
    AUTO(json_freep) json_t *pod = node_world_pod(ONE_GPU, "{}");
    AUTO_FREE char *devices = mem_format("{\"containers\":{\"m\":[\"%s\"]}}", device);
    json_t *spec = json_object_at(pod, "spec");

    json_put_text(json_object_at(json_object_at(pod, "metadata"), "annotations"),
                  "mete.dev/devices", devices);
    (void)json_array_append_new(json_array_at(spec, "ephemeralContainers"),
                                json_loads(DEBUGGER, 0, NULL));
    node_world_put(w, pod);
}

static const json_t *debugger_state(const struct node_world *w, const char *part)
{
    const json_t *list = json_object_get(node_world_status(w), "ephemeralContainerStatuses");

    return json_at(json_array_get(list, 0), "state", part, NULL);
}

/* An ephemeral container that comes to a running pod has the share of its target, holds nothing of
 * its own, never restarts and ends with the pod. */
static void an_ephemeral_container_shares_what_its_target_has(void **state)
{
    struct node_world w;

    (void)state;
    node_world_init(&w);
    put_gpu_pod(&w, "u1", "GPU-2/share:600,1073741824");
    put_debugged(&w, "GPU-2/share:600,1073741824");
    assert_null(node_world_container(&w, "u1-d-1"));
    assert_int_equal(node_world_container(&w, "u1-d-0")->n_starts, 1);
    assert_string_equal(mounted_at(&w, "u1-d-0", "/run/mete/share/limits"),
                        "/data/node/pods/u1/share/limits");
    put_gpu_pod(&w, "u2", "GPU-2/share:400,1073741824"); /* the rest of the gpu */
    assert_int_equal(node_world_container(&w, "u2-m-0")->n_starts, 1);
    node_world_end(&w, "u1-d-0", 3);
    assert_int_equal(node_world_container(&w, "u1-d-0")->n_starts, 1);
    assert_null(node_world_container(&w, "u1-d-1"));
    node_world_end(&w, "u1-m-0", 0);
    node_world_end(&w, "u2-m-0", 0);
    node_world_done(&w);
}

static void an_ephemeral_container_ends_with_its_pod(void **state)
{
    struct node_world w;

    (void)state;
    node_world_init(&w);
    put_gpu_pod(&w, "u1", "GPU-2");
    put_debugged(&w, "GPU-2");
    assert_non_null(debugger_state(&w, "running"));
    node_world_end(&w, "u1-m-0", 0);
    assert_string_equal(phase(&w), "Running"); /* not before all its processes have ended */
    assert_int_equal(node_world_container(&w, "u1-d-0")->n_terms, 1);
    node_world_end(&w, "u1-d-0", 143);
    assert_string_equal(phase(&w), "Succeeded");
    assert_int_equal(json_int(debugger_state(&w, "terminated"), "exitCode", 0), 143);
    node_world_done(&w);
}

static void gives_exactly_the_gpus_of_the_ledger(void **state)
{
    struct node_world w;
    const json_t *devices = NULL;

    (void)state;
    node_world_init(&w);
    put_gpu_pod(&w, "u1", "GPU-3");
    devices = json_at(node_world_container(&w, "u1-m-0")->config, "linux", "devices", NULL);
    assert_int_equal(json_array_size(devices), 4); /* the gpu, ctl, uvm and uvm-tools */
    assert_string_equal(json_text(json_array_get(devices, 0), "path"), "/dev/nvidia3");
    node_world_done(&w);
}

static void without_its_gpus_a_container_does_not_start(void **state)
{
    struct node_world w;

    (void)state;
    node_world_init(&w);
    put(&w, ONE_GPU, "{}");
    assert_null(node_world_container(&w, "u1-m-0"));
    assert_string_equal(json_text(state_of(&w, "waiting"), "message"),
                        "container asks for 1 gpus and was given 0");
    put_gpu_pod(&w, "u2", "GPU-9");
    assert_string_equal(json_text(state_of(&w, "waiting"), "message"),
                        "gpu GPU-9 is not on this machine");
    node_world_done(&w);
}

static void waits_until_the_gpus_are_known(void **state)
{
    struct node_world w;

    (void)state;
    node_world_init(&w);
    w.gpus_known = false;
    w.n_gpus = 0;
    put_gpu_pod(&w, "u1", "GPU-0");
    assert_null(node_world_container(&w, "u1-m-0"));
    w.gpus_known = true;
    w.n_gpus = 4;
    pods_gpus_changed(w.pods);
    node_world_run(&w);
    assert_int_equal(node_world_container(&w, "u1-m-0")->n_starts, 1);
    node_world_done(&w);
}

/* Someone killed the runtime's processes before the program ran, at any moment of the start. */
static void an_attempt_whose_program_has_not_run_starts_again(void **state)
{
    static const enum container_state states[] = {CONTAINER_CREATING, CONTAINER_CREATED,
                                                  CONTAINER_STARTING, CONTAINER_RUNNING};

    (void)state;
    for (size_t i = 0; i < COUNT(states); i++) {
        struct node_world w;
        struct fake_container *f = NULL;
        struct container *c = NULL;

        node_world_init(&w);
        put(&w, ONE("Never"), "{}");
        node_world_run(&w);
        f = node_world_container(&w, "u1-m-0");
        c = pod_container(pods_find(w.pods, "u1"), "m");
        c->state = states[i];
        f->state = RUNTIME_INTENDED;
        w.runtime.on_change(
            w.runtime.arg,
            &(struct runtime_container){.id = f->id, .intent = f->intent, .state = f->state});
        node_world_run(&w);
        assert_int_equal(f->n_creates, 2);
        assert_int_equal(f->n_starts, 2);
        assert_string_equal(phase(&w), "Running");
        assert_int_equal(restarts(&w), 0);
        node_world_done(&w);
    }
}

/* ---- after a restart of the node process ---- */

static void adopts_what_it_finds(void **state)
{
    static const struct {
        enum runtime_state found;
        unsigned creates; /* more */
        unsigned starts;  /* more */
        const char *phase;
    } cases[] = {
        {RUNTIME_INTENDED, 1, 1, "Running"}, {RUNTIME_CREATING, 0, 0, NULL},
        {RUNTIME_CREATED, 0, 1, "Running"},  {RUNTIME_RUNNING, 0, 0, "Running"},
        {RUNTIME_ENDED, 0, 0, "Succeeded"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct node_world w;
        struct fake_container *c = NULL;

        node_world_init(&w);
        c = node_world_found(&w, INTENT(0), cases[i].found);
        node_world_adopt(&w);
        put(&w, ONE("Never"), "{}");
        pods_synced(w.pods);
        node_world_run(&w);
        assert_int_equal(c->n_creates, cases[i].creates);
        assert_int_equal(c->n_starts, cases[i].starts);
        assert_int_equal(w.containers.n, 1);
        if (cases[i].phase)
            assert_string_equal(phase(&w), cases[i].phase);
        node_world_done(&w);
    }
}

static void the_newest_attempt_counts(void **state)
{
    struct node_world w;

    (void)state;
    node_world_init(&w);
    node_world_found(&w, INTENT(1), RUNTIME_ENDED)->exit.code = 9;
    (void)node_world_found(&w, INTENT(2), RUNTIME_RUNNING);
    node_world_adopt(&w);
    put(&w, ONE("Always"), "{}");
    assert_int_equal(restarts(&w), 2);
    assert_null(node_world_container(&w, "u1-m-1"));
    node_world_end(&w, "u1-m-2", 1);
    assert_string_equal(json_text(state_of(&w, "waiting"), "reason"), "CrashLoopBackOff");
    node_world_done(&w);
}

/* The disk was lost, or another machine has the name: the attempt may have run. */
static void an_attempt_without_a_trace_is_not_started_again(void **state)
{
    const char *status =
        "{\"phase\":\"Running\",\"containerStatuses\":[{\"name\":\"m\",\"restartCount\":4,"
        "\"containerID\":\"crun://u1-m-4\",\"state\":{\"running\":{}}}]}";
    struct node_world w;

    (void)state;
    node_world_init(&w);
    put(&w, ONE("Never"), status);
    assert_int_equal(w.containers.n, 0);
    assert_string_equal(phase(&w), "Failed");
    assert_string_equal(json_text(state_of(&w, "terminated"), "reason"), "ContainerStatusUnknown");
    node_world_done(&w);

    node_world_init(&w);
    put(&w, ONE("Always"), status);
    node_world_advance(&w, 300 * NS_PER_SEC);
    assert_int_equal(node_world_container(&w, "u1-m-5")->n_starts, 1); /* as a new attempt */
    node_world_done(&w);
}

static void a_finished_pod_is_not_run_again(void **state)
{
    struct node_world w;

    (void)state;
    node_world_init(&w);
    put(&w, ONE("Always"), "{\"phase\":\"Succeeded\"}");
    node_world_advance(&w, 60 * NS_PER_SEC);
    assert_int_equal(w.containers.n, 0);
    node_world_done(&w);
}

static void ends_what_the_server_does_not_know(void **state)
{
    struct node_world w;

    (void)state;
    node_world_init(&w);
    (void)node_world_found(&w, INTENT(0), RUNTIME_RUNNING);
    node_world_adopt(&w);
    node_world_advance(&w, 60 * NS_PER_SEC);
    assert_int_equal(node_world_container(&w, "u1-m-0")->n_kills,
                     0); /* unknown from the server yet */
    pods_synced(w.pods);
    node_world_run(&w);
    assert_int_equal(w.containers.n, 0);
    assert_int_equal(w.n_unprepared, 1);
    assert_int_equal(node_world_count(&w, "PATCH", ""), 0);
    node_world_done(&w);
}

static void a_created_container_of_a_deleted_pod_never_starts(void **state)
{
    struct node_world w;
    struct fake_container *c = NULL;

    (void)state;
    node_world_init(&w);
    c = node_world_found(&w, INTENT(0), RUNTIME_CREATED);
    node_world_adopt(&w);
    put_deleted(&w, ONE("Never"), 30);
    assert_int_equal(c->n_starts, 0);
    assert_int_equal(c->n_kills, 1);
    assert_int_equal(node_world_count(&w, "DELETE", "/pods/p"), 1);
    node_world_done(&w);
}

static void refuses_names_that_are_paths(void **state)
{
    AUTO(json_freep) json_t *pod = node_world_pod(ONE("Never"), "{}");
    struct node_world w;

    (void)state;
    node_world_init(&w);
    json_put_text(json_object_at(pod, "metadata"), "uid", "../../etc");
    node_world_put(&w, pod);
    assert_int_equal(w.n_prepared, 0);
    assert_int_equal(w.requests.n, 0);
    node_world_done(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_a_pod_to_its_end),
        cmocka_unit_test(tells_how_a_container_failed),
        cmocka_unit_test(runs_init_containers_one_after_the_other),
        cmocka_unit_test(a_failed_init_container_fails_the_pod),
        cmocka_unit_test(restarts_with_the_kubelets_back_off),
        cmocka_unit_test(forgets_crashes_after_ten_good_minutes),
        cmocka_unit_test(on_failure_restarts_only_failures),
        cmocka_unit_test(what_the_runtime_refuses_has_failed),
        cmocka_unit_test(what_the_machine_cannot_do_now_is_tried_again_as_the_same_attempt),
        cmocka_unit_test(waits_for_a_config_map_that_is_missing),
        cmocka_unit_test(deletion_asks_waits_and_kills),
        cmocka_unit_test(a_crash_loop_leaves_nothing_behind),
        cmocka_unit_test(deletion_with_a_shorter_grace_hurries),
        cmocka_unit_test(what_does_not_die_keeps_the_pod),
        cmocka_unit_test(the_last_status_goes_before_the_deletion),
        cmocka_unit_test(a_suspension_moves_the_deadline),
        cmocka_unit_test(a_pod_may_exceed_its_limit),
        cmocka_unit_test(a_deadline_ends_the_pod),
        cmocka_unit_test(a_signal_comes_once_before_the_deadline),
        cmocka_unit_test(tells_the_server_until_it_hears),
        cmocka_unit_test(keeps_the_conditions_of_others),
        cmocka_unit_test(a_gpu_in_use_here_is_not_given_again),
        cmocka_unit_test(shares_of_a_gpu_run_side_by_side),
        cmocka_unit_test(an_ephemeral_container_shares_what_its_target_has),
        cmocka_unit_test(an_ephemeral_container_ends_with_its_pod),
        cmocka_unit_test(gives_exactly_the_gpus_of_the_ledger),
        cmocka_unit_test(without_its_gpus_a_container_does_not_start),
        cmocka_unit_test(waits_until_the_gpus_are_known),
        cmocka_unit_test(an_attempt_whose_program_has_not_run_starts_again),
        cmocka_unit_test(adopts_what_it_finds),
        cmocka_unit_test(the_newest_attempt_counts),
        cmocka_unit_test(an_attempt_without_a_trace_is_not_started_again),
        cmocka_unit_test(a_finished_pod_is_not_run_again),
        cmocka_unit_test(ends_what_the_server_does_not_know),
        cmocka_unit_test(a_created_container_of_a_deleted_pod_never_starts),
        cmocka_unit_test(refuses_names_that_are_paths),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
