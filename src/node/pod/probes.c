/* probes.c - the probes of one container */

#include "node/pod/probes.h"

#include "base/mem.h"
#include "base/stamp.h"

enum {
    SECONDS_MAX = 86400 * 365
};

static const char *const keys[PROBE_KINDS] = {"startupProbe", "readinessProbe", "livenessProbe"};
static const char *const words[PROBE_KINDS] = {"Startup", "Readiness", "Liveness"};

struct probe {
    struct probes *set;
    enum probe_kind kind;
    json_t *spec; /* NULL: no such probe */
    struct loop_timer *timer;
    struct action *action;
    int64_t began_ns; /* monotonic, of the last run */
    bool last;        /* the last result, */
    int64_t run;      /* and its number of consecutive times; 0: none yet */
    bool is_good;     /* the verdict, by the thresholds */
    bool is_over;     /* no more runs needed */
    bool has_failed;  /* the container must be ended */
};

struct probes {
    struct action_place place;
    char *id;
    char *host;
    json_t *container;
    struct probe probes[PROBE_KINDS];
    int64_t first_ns; /* monotonic: the start of the container */
    void (*told)(void *arg, const char *message);
    void *arg;
};

/* ---- verdicts ---- */

bool probes_have_started(const struct probes *p)
{
    return !p || !p->probes[PROBE_STARTUP].spec || p->probes[PROBE_STARTUP].is_good;
}

bool probes_are_ready(const struct probes *p)
{
    return probes_have_started(p) &&
           (!p || !p->probes[PROBE_READINESS].spec || p->probes[PROBE_READINESS].is_good);
}

bool probes_have_failed(const struct probes *p, enum probe_kind *ret_kind, int64_t *ret_grace_s)
{
    static const enum probe_kind kinds[] = {PROBE_LIVENESS, PROBE_STARTUP};

    for (size_t i = 0; p && i < COUNT(kinds); i++) {
        const struct probe *probe = &p->probes[kinds[i]];

        if (!probe->has_failed)
            continue;
        *ret_kind = kinds[i];
        *ret_grace_s = json_int(probe->spec, "terminationGracePeriodSeconds", -1);
        return true;
    }
    return false;
}

/* ---- one probe ---- */

static int64_t probe_number(const struct probe *p, const char *key, int64_t min, int64_t fallback)
{
    int64_t value = json_int(p->spec, key, fallback);

    return value < min ? fallback : value > SECONDS_MAX ? SECONDS_MAX : value;
}

static int64_t now_ns(const struct probes *p)
{
    return loop_now_ns(p->place.loop);
}

static void probe_arm(struct probe *p, int64_t at_ns)
{
    int64_t now = now_ns(p->set);

    if (p->spec && !p->is_over && !p->action)
        loop_timer_set(p->timer, at_ns > now ? at_ns - now : 0);
}

static void arm_first(struct probe *p)
{
    probe_arm(p, p->set->first_ns + probe_number(p, "initialDelaySeconds", 0, 0) * NS_PER_SEC);
}

/* Counts a result. True: the verdict changed. */
static bool probe_count(struct probe *p, bool is_success)
{
    int64_t threshold = is_success ? probe_number(p, "successThreshold", 1, 1)
                                   : probe_number(p, "failureThreshold", 1, 3);
    bool was_good = p->is_good;

    p->run = p->run > 0 && p->last == is_success ? p->run + 1 : 1;
    p->last = is_success;
    if (p->run < threshold)
        return false;
    p->is_good = is_success;
    p->has_failed = p->kind != PROBE_READINESS && !is_success;
    p->is_over = p->kind == PROBE_STARTUP || p->has_failed;
    return p->is_good != was_good || p->has_failed;
}

/* The startup probe succeeded: begins the other probes. */
static void startup_over(struct probes *p)
{
    arm_first(&p->probes[PROBE_READINESS]);
    arm_first(&p->probes[PROBE_LIVENESS]);
}

static void probes_on_done(void *arg, enum action_result result, const char *message)
{
    struct probe *p = arg;
    struct probes *set = p->set;
    AUTO_FREE char *text = NULL;
    bool is_news = false;

    p->action = NULL;
    if (result == ACTION_ERROR)
        text = mem_format("%s probe errored and resulted in unknown state: %s", words[p->kind],
                          message);
    else
        is_news = probe_count(p, result == ACTION_SUCCESS);
    if (result == ACTION_FAILURE)
        text = mem_format("%s probe failed: %s", words[p->kind], message);
    probe_arm(p, p->began_ns + probe_number(p, "periodSeconds", 1, 10) * NS_PER_SEC);
    if (is_news && p->kind == PROBE_STARTUP && p->is_good)
        startup_over(set);
    if (text || is_news)
        set->told(set->arg, text); /* last, as it may free the set */
}

static void on_probe_timer(void *arg)
{
    struct probe *p = arg;

    p->began_ns = now_ns(p->set);
    p->action = action_new(&p->set->place, p->spec,
                           probe_number(p, "timeoutSeconds", 1, 1) * NS_PER_SEC, probes_on_done, p);
}

/* ---- all probes ---- */

void probes_end_liveness(struct probes *p)
{
    static const enum probe_kind kinds[] = {PROBE_STARTUP, PROBE_LIVENESS};

    for (size_t i = 0; p && i < COUNT(kinds); i++) {
        struct probe *probe = &p->probes[kinds[i]];

        probe->is_over = true;
        loop_timer_stop(probe->timer);
        action_cancel(TAKE(probe->action));
    }
}

static bool has_any(const json_t *container)
{
    for (size_t i = 0; i < PROBE_KINDS; i++)
        if (json_is_object(json_object_get(container, keys[i])))
            return true;
    return false;
}

/* The monotonic time of the start, from the wall clock, which may have been set since. */
static int64_t first_ns(const struct probes_options *o)
{
    int64_t ago_ns = o->started_ns > 0 ? loop_wall_ns(o->place.loop) - o->started_ns : 0;

    return loop_now_ns(o->place.loop) - (ago_ns > 0 ? ago_ns : 0);
}

struct probes *probes_new(const struct probes_options *o)
{
    struct probes *p = NULL;

    if (!has_any(o->place.container))
        return NULL;
    p = mem_alloc(sizeof(*p));
    *p = (struct probes){.place = o->place,
                         .id = mem_strdup(o->place.id),
                         .host = mem_strdup(o->place.host),
                         .container = json_deep_copy(o->place.container),
                         .first_ns = first_ns(o),
                         .told = o->told,
                         .arg = o->arg};
    p->place.id = p->id;
    p->place.host = p->host;
    p->place.container = p->container;
    for (size_t i = 0; i < PROBE_KINDS; i++) {
        json_t *spec = json_object_get(p->container, keys[i]);
        struct probe *probe = &p->probes[i];

        *probe = (struct probe){.set = p,
                                .kind = (enum probe_kind)i,
                                .spec = json_is_object(spec) ? spec : NULL,
                                .is_good = i == PROBE_LIVENESS ||
                                           (i == PROBE_STARTUP && o->was_started) ||
                                           (i == PROBE_READINESS && o->was_ready)};
        probe->is_over = i == PROBE_STARTUP && o->was_started;
        probe->timer = loop_timer_new(o->place.loop, on_probe_timer, probe);
    }
    if (probes_have_started(p))
        startup_over(p);
    else
        arm_first(&p->probes[PROBE_STARTUP]);
    return p;
}

void probes_free(struct probes *p)
{
    if (!p)
        return;
    for (size_t i = 0; i < PROBE_KINDS; i++) {
        action_cancel(p->probes[i].action);
        loop_timer_free(p->probes[i].timer);
    }
    json_decref(p->container);
    free(p->id);
    free(p->host);
    free(p);
}
