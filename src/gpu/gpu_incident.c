/* gpu_incident.c - the causes of an incident, its remedy and its end */

#include "gpu/gpu_incident.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* NVML's recovery actions. */
enum {
    RECOVERY_NONE,
    RECOVERY_RESET,
    RECOVERY_REBOOT,
    RECOVERY_DRAIN_P2P,
    RECOVERY_DRAIN_AND_RESET,
    RECOVERY_IMEX
};

/* A cause of an incident. */
struct incident_cause {
    enum gpu_health health;
    enum gpu_remedy remedy;
    int64_t xid;
    int64_t recovery;
    const char *text;
};

static const char *const remedies[] = {"check", "reset", "reboot", "inspect"};

const char *gpu_remedy_advice(enum gpu_remedy r)
{
    switch (r) {
    case GPU_REMEDY_CHECK:
        return "it is checked, then it returns";
    case GPU_REMEDY_RESET:
        return "reset the GPU: it is checked then, and returns";
    case GPU_REMEDY_REBOOT:
        return "reboot the machine: the GPU is checked then, and returns";
    case GPU_REMEDY_INSPECT:
        return "inspect the GPU, then mete resume NODE/GPU: it is checked then, and returns";
    }
    return "";
}

static void incident_set(struct gpu_incident *i, const struct incident_cause *c, int64_t now_ns)
{
    if (i->health == GPU_HEALTHY || i->is_remedied) /* a new round has its own time */
        i->since_ns = now_ns;
    i->health = c->health > i->health ? c->health : i->health;
    i->remedy = c->remedy;
    i->xid = c->xid;
    i->recovery = c->recovery;
    i->is_remedied = false;
    (void)snprintf(i->cause, sizeof(i->cause), "%s", c->text);
}

/* Opens the incident, or makes it worse. After the remedy any cause begins a new round. */
static bool incident_worsen(struct gpu_incident *i, const struct incident_cause *c, int64_t now_ns)
{
    bool is_new = i->health == GPU_HEALTHY || i->is_remedied;
    bool is_worse = c->health > i->health;
    enum gpu_remedy remedy = is_new ? c->remedy : i->remedy; /* the stronger one counts */

    if (!is_new && i->recovery > 0 && c->recovery <= 0 && !is_worse)
        return false; /* the driver's word stands */
    if (!is_new && !is_worse && c->remedy <= i->remedy)
        return false;
    incident_set(i, c, now_ns);
    i->remedy = remedy > c->remedy ? remedy : c->remedy;
    return true;
}

static enum gpu_remedy remedy_of(enum xid_action a)
{
    switch (a) {
    case XID_DO_INSPECT:
    case XID_DO_UPDATE:
        return GPU_REMEDY_INSPECT;
    case XID_DO_REBOOT:
        return GPU_REMEDY_REBOOT;
    case XID_DO_RESET:
        return GPU_REMEDY_RESET;
    case XID_DO_NOTHING:
    case XID_DO_LOG:
    case XID_DO_RESTART_APP:
    case XID_DO_FOLLOW:
        break;
    }
    return GPU_REMEDY_CHECK;
}

/* XID 162 withdraws XID 163. */
static bool incident_withdraw(struct gpu_incident *i, int code)
{
    enum {
        POWER_SMOOTHING_BACK = 162,
        POWER_SMOOTHING_OFF = 163
    };

    if (code != POWER_SMOOTHING_BACK || i->xid != POWER_SMOOTHING_OFF)
        return false;
    i->is_remedied = true;
    return true;
}

bool gpu_incident_xid(struct gpu_incident *i, const struct xid_info *x, int64_t now_ns)
{
    static const enum gpu_health healths[] = {[XID_KEEP] = GPU_HEALTHY,
                                              [XID_SUSPECT] = GPU_SUSPECT,
                                              [XID_UNHEALTHY] = GPU_UNHEALTHY,
                                              [XID_LOST] = GPU_LOST};
    char text[GPU_REASON_SIZE];
    const struct incident_cause c = {
        .health = healths[x->state], .remedy = remedy_of(x->action), .xid = x->code, .text = text};

    if (incident_withdraw(i, x->code))
        return true;
    if (x->state == XID_KEEP)
        return false;
    (void)snprintf(text, sizeof(text), "XID %d: %s", x->code, x->meaning);
    return incident_worsen(i, &c, now_ns);
}

static const char *recovery_text(int64_t action)
{
    static const char *const texts[] = {
        [RECOVERY_NONE] = "",
        [RECOVERY_RESET] = "the driver asks for a reset of the GPU",
        [RECOVERY_REBOOT] = "the driver asks for a reboot of the machine",
        [RECOVERY_DRAIN_P2P] = "the driver asks to end jobs that use this GPU's peers",
        [RECOVERY_DRAIN_AND_RESET] = "the driver asks to end the GPU's jobs and reset it",
        [RECOVERY_IMEX] = "the driver asks to recover the IMEX domain"};

    return action >= 0 && action <= RECOVERY_IMEX ? texts[action]
                                                  : "the driver asks for an unknown action";
}

bool gpu_incident_recovery(struct gpu_incident *i, int64_t action, int64_t now_ns)
{
    char text[GPU_REASON_SIZE];
    struct incident_cause c = {
        .health = action == RECOVERY_DRAIN_AND_RESET ? GPU_SUSPECT : GPU_UNHEALTHY,
        .remedy = action == RECOVERY_RESET || action == RECOVERY_DRAIN_AND_RESET ? GPU_REMEDY_RESET
                  : action == RECOVERY_REBOOT                                    ? GPU_REMEDY_REBOOT
                                              : GPU_REMEDY_INSPECT,
        .xid = i->xid,
        .recovery = action,
        .text = text};

    if (action < 0 || (action == i->recovery && !(action > 0 && i->health == GPU_HEALTHY)))
        return false;
    if (action == RECOVERY_NONE) {
        i->recovery = 0;
        i->is_remedied = i->health != GPU_HEALTHY; /* the driver saw the action */
        return i->is_remedied;
    }
    if (i->xid > 0 && i->health != GPU_HEALTHY)
        (void)snprintf(text, sizeof(text), "%.120s; %s", i->cause, recovery_text(action));
    else
        (void)snprintf(text, sizeof(text), "%s", recovery_text(action));
    incident_set(i, &c, now_ns);
    return true;
}

static bool incident_back(struct gpu_incident *i)
{
    bool was_lost = i->health == GPU_LOST;

    i->is_live = false;
    if (i->remedy > (was_lost ? GPU_REMEDY_REBOOT : GPU_REMEDY_CHECK))
        return true;
    i->is_remedied = true;
    return true;
}

bool gpu_incident_seen(struct gpu_incident *i, const struct gpu *listed, int64_t now_ns)
{
    const struct incident_cause c = {.health = listed->health,
                                     .remedy = listed->health == GPU_LOST ? GPU_REMEDY_REBOOT
                                                                          : GPU_REMEDY_CHECK,
                                     .text = listed->health_reason};
    bool was_live = i->is_live;

    if (listed->health == GPU_HEALTHY)
        return was_live && incident_back(i);
    i->is_live = true;
    return incident_worsen(i, &c, now_ns) || !was_live;
}

bool gpu_incident_remedied(struct gpu_incident *i, enum gpu_remedy remedy)
{
    if (i->health == GPU_HEALTHY || i->remedy > remedy)
        return false;
    i->is_remedied = true;
    return !i->is_live;
}

bool gpu_incident_reset(struct gpu_incident *i, const char *problem, int64_t now_ns)
{
    char text[GPU_REASON_SIZE] = "the GPU was reset";
    const struct incident_cause c = {
        .health = GPU_UNHEALTHY, .remedy = GPU_REMEDY_RESET, .text = text};

    if (problem)
        (void)snprintf(text, sizeof(text), "the reset of the GPU failed: %.100s", problem);
    if (i->health == GPU_HEALTHY)
        incident_set(i, &c, now_ns);
    return !problem && gpu_incident_remedied(i, GPU_REMEDY_RESET);
}

bool gpu_incident_is_check_due(const struct gpu_incident *i)
{
    if (i->health == GPU_HEALTHY || i->is_live)
        return false;
    return i->is_remedied || i->remedy == GPU_REMEDY_CHECK;
}

void gpu_incident_checked(struct gpu_incident *i, const char *problem, int64_t now_ns)
{
    char text[GPU_REASON_SIZE];
    const struct incident_cause c = {
        .health = GPU_UNHEALTHY, .remedy = GPU_REMEDY_INSPECT, .text = text};

    if (!problem) {
        i->health = GPU_HEALTHY;
        i->remedy = GPU_REMEDY_CHECK;
        i->is_remedied = false;
        i->xid = 0;
        i->recovery = 0;
        i->since_ns = 0;
        i->cause[0] = '\0';
        return;
    }
    (void)snprintf(text, sizeof(text), "the check of the GPU failed: %.100s", problem);
    i->health = GPU_HEALTHY;
    incident_set(i, &c, now_ns);
}

void gpu_incident_apply(const struct gpu_incident *i, struct gpu *g)
{
    if (i->health == GPU_HEALTHY || g->health > i->health)
        return;
    g->health = i->health;
    g->health_since_ns = i->since_ns;
    g->health_advice = gpu_remedy_advice(i->is_remedied ? GPU_REMEDY_CHECK : i->remedy);
    if (i->cause[0])
        (void)snprintf(g->health_reason, sizeof(g->health_reason), "%s", i->cause);
}

json_t *gpu_incident_format(const struct gpu_incident *i)
{
    json_t *j = json_object();

    json_put_text(j, "uuid", i->uuid);
    json_put_text(j, "health", gpu_health_text(i->health));
    json_put_text(j, "remedy", remedies[i->remedy]);
    json_put_bool(j, "remedied", i->is_remedied);
    json_put_int(j, "xid", i->xid);
    json_put_int(j, "recovery", i->recovery);
    json_put_int(j, "sinceNs", i->since_ns);
    json_put_text(j, "cause", i->cause);
    return j;
}

bool gpu_incident_parse(const json_t *j, struct gpu_incident *ret)
{
    struct gpu_incident i = {.is_remedied = json_bool(j, "remedied", false),
                             .xid = json_int(j, "xid", 0),
                             .recovery = json_int(j, "recovery", 0),
                             .since_ns = json_int(j, "sinceNs", 0)};
    const char *uuid = json_text(j, "uuid");
    const char *remedy = json_text(j, "remedy");
    const char *cause = json_text(j, "cause");

    if (!uuid || !*uuid || strlen(uuid) >= sizeof(i.uuid) || !remedy ||
        !gpu_health_parse(json_text(j, "health"), &i.health))
        return false;
    while (strcmp(remedies[i.remedy], remedy) != 0)
        if (i.remedy++ == GPU_REMEDY_INSPECT)
            return false;
    (void)snprintf(i.uuid, sizeof(i.uuid), "%s", uuid);
    (void)snprintf(i.cause, sizeof(i.cause), "%s", cause ? cause : "");
    *ret = i;
    return true;
}
