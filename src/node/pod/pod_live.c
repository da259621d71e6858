/* pod_live.c - running containers: postStart, probes, termination messages */

#include <inttypes.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/stamp.h"
#include "node/log/log_reader.h"
#include "node/pod/pod.h"
#include "node/runtime/last_words.h"

static struct action_place place_of(const struct pod *p, const struct container *c, const char *id)
{
    const struct pods_options *o = &p->set->o;

    return (struct action_place){.loop = o->loop,
                                 .runtime = o->runtime,
                                 .pinger = o->pinger,
                                 .id = id,
                                 .container = pod_container_spec(p, c),
                                 .host = pod_address(p) ? pod_address(p) : o->host->address};
}

/* ---- hooks ---- */

static const json_t *hook_of(const struct pod *p, const struct container *c, const char *name)
{
    const json_t *hook = json_at(pod_container_spec(p, c), "lifecycle", name, NULL);

    return json_object_size(hook) > 0 ? hook : NULL;
}

bool container_hook_begin(struct pod *p, struct container *c, const char *name, int64_t timeout_ns,
                          action_done_fn done)
{
    const json_t *hook = hook_of(p, c, name);
    AUTO_FREE char *id = container_id(p, c, c->attempt);
    struct action_place place = place_of(p, c, id);

    if (!hook)
        return false;
    c->pod = p;
    place.hides_output = true; /* the output may contain secrets, and Events have many readers */
    c->hook = action_new(&place, hook, timeout_ns, done, c);
    return true;
}

void container_hook_failed(struct pod *p, const struct container *c, const char *name,
                           const char *cause)
{
    bool is_start = text_equal(name, "postStart");
    AUTO_FREE char *text =
        mem_format("%s failed: %s", is_start ? "PostStartHook" : "PreStopHook", cause);

    LOG(WARN, "hook failed", S("hook", name), S("pod", p->name), S("container", c->name),
        S("cause", cause));
    pod_events_add(p->set->events, p->object, c->name, "Warning",
                   is_start ? "FailedPostStartHook" : "FailedPreStopHook", text);
}

void container_hook_cancel(struct container *c)
{
    action_cancel(TAKE(c->hook));
}

static void on_post_start(void *arg, enum action_result result, const char *message)
{
    struct container *c = arg;
    struct pod *p = c->pod;

    c->hook = NULL;
    container_start_move(c, START_BEGUN);
    if (result != ACTION_SUCCESS) {
        container_hook_failed(p, c, "postStart", message);
        container_end_alone(p, c, -1, "FailedPostStartHook");
    }
    pod_step(p);
}

bool container_holds_others(const struct pod *p, const struct container *c)
{
    return container_is_live(c) && c->start == START_NEW && hook_of(p, c, "postStart");
}

/* ---- probes ---- */

static void on_told(void *arg, const char *message)
{
    struct container *c = arg;
    struct pod *p = c->pod;

    if (message)
        pod_events_add(p->set->events, p->object, c->name, "Warning", "Unhealthy", message);
    pod_step(p);
}

static void begin_probes(struct pod *p, struct container *c)
{
    AUTO_FREE char *id = container_id(p, c, c->attempt);
    const struct probes_options o = {.place = place_of(p, c, id),
                                     .started_ns = c->started_ns,
                                     .was_started = c->was_started,
                                     .was_ready = c->was_ready,
                                     .told = on_told,
                                     .arg = c};

    c->pod = p;
    container_start_move(c, START_PROBED);
    if (o.place.container)
        c->probes = probes_new(&o);
}

static void see_failure(struct pod *p, struct container *c)
{
    const char *policy = json_text_at(p->object, "spec", "restartPolicy", NULL);
    enum probe_kind kind = PROBE_LIVENESS;
    int64_t grace_s = -1;
    AUTO_FREE char *text = NULL;

    if (c->is_to_end || !probes_have_failed(c->probes, &kind, &grace_s))
        return;
    text = mem_format("Container %s failed %s probe%s", c->name,
                      kind == PROBE_STARTUP ? "startup" : "liveness",
                      text_equal(policy, "Never") ? "" : ", will be restarted");
    container_end_alone(p, c, grace_s, text);
}

void container_step_live(struct pod *p, struct container *c)
{
    if (c->state != CONTAINER_RUNNING || !p->object)
        return;
    if (c->start == START_NEW && !c->hook &&
        (p->life == POD_STOPPING || !container_hook_begin(p, c, "postStart", 0, on_post_start)))
        container_start_move(c, START_BEGUN);
    if (c->start == START_BEGUN && p->life != POD_STOPPING && !c->is_to_end)
        begin_probes(p, c);
    see_failure(p, c);
    if (c->is_to_end)
        container_step_stop(p, c);
}

/* ---- the end ---- */

void container_read_words(struct pod *p, struct container *c)
{
    const json_t *spec = pod_container_spec(p, c);
    AUTO_FREE char *path = container_words_path(p, c);
    AUTO_FREE char *words = NULL;

    if (!spec || !c->end.is_set || c->end.message)
        return;
    words = p->set->o.read_words(path);
    if (words[0] == '\0' && c->end.code != 0 &&
        text_equal(json_text(spec, "terminationMessagePolicy"), "FallbackToLogsOnError")) {
        AUTO_FREE char *log = container_log_path(p, c, c->attempt);

        free(words);
        words = log_reader_tail(log, LAST_LOG_LINES_MAX, LAST_LOG_MAX);
    }
    if (words[0] != '\0')
        c->end.message = TAKE(words);
}

/* Ends hooks and probes of an ended attempt. */
void container_calm(struct container *c)
{
    container_hook_cancel(c);
    probes_free(TAKE(c->probes));
    free(TAKE(c->end_text));
    container_begin_anew(c);
    c->was_started = false;
    c->was_ready = false;
    c->is_killing = false;
    c->kill_again_ns = 0;
    c->term_until_ns = 0;
}

/* Takes over the state that the server knew before a restart of the node process. */
void container_remember(struct pod *p, struct container *c, const json_t *status)
{
    const char *known = json_text(status, "containerID");
    AUTO_FREE char *id = container_id(p, c, c->attempt);

    if (c->state != CONTAINER_RUNNING || !known || !text_ends_with(known, id) ||
        !json_at(status, "state", "running", NULL))
        return;
    container_start_move(c, START_BEGUN);
    c->was_started = json_bool(status, "started", false);
    c->was_ready = json_bool(status, "ready", false);
}
