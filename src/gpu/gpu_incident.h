/*
 * gpu_incident.h - why a gpu is out of service, and what brings it back
 *
 * A gpu has one incident at most. XIDs, the driver's recovery action and readings that fail open it
 * or make it worse: of several causes the strongest counts. An incident ends by proof, never by
 * time: first its remedy (a reset, a reboot, an inspection), then a check that computes on the gpu.
 *
 *   remedy   seen as done when
 *   check    the gpu answers again
 *   reset    an administrator or Mete reset the gpu, the driver withdraws its recovery action, a
 *            lost gpu answers again, or the machine was rebooted
 *   reboot   the machine was rebooted, or a lost gpu answers again
 *   inspect  an administrator says so
 *
 * The driver's recovery action takes the place of a remedy by the XID table.
 */
#pragma once

#include "base/json.h"
#include "gpu/gpu_xid.h"
#include "model/gpu.h"

enum gpu_remedy {
    GPU_REMEDY_CHECK,
    GPU_REMEDY_RESET,
    GPU_REMEDY_REBOOT,
    GPU_REMEDY_INSPECT
};

/* A value; {0} is a gpu in service. */
struct gpu_incident {
    char uuid[GPU_TEXT_SIZE];
    enum gpu_health health; /* GPU_HEALTHY: no incident */
    enum gpu_remedy remedy;
    bool is_live;     /* the driver's readings show the fault now */
    bool is_remedied; /* the check is due */
    int64_t xid;      /* that decided; 0: another cause */
    int64_t recovery; /* the driver's recovery action that decided; 0: none */
    int64_t since_ns; /* realtime */
    char cause[GPU_REASON_SIZE];
};

/* Notes an XID. True: the incident began or became worse. */
bool gpu_incident_xid(struct gpu_incident *i, const struct xid_info *x, int64_t now_ns);

/* Notes the driver's recovery action (field 230 of NVML); -1: unknown, ignored. True: the incident
 * has changed. */
bool gpu_incident_recovery(struct gpu_incident *i, int64_t action, int64_t now_ns);

/* Notes the gpu as the driver lists it. True: the incident has changed. */
bool gpu_incident_seen(struct gpu_incident *i, const struct gpu *listed, int64_t now_ns);

/* The remedy was applied: up to and with `remedy`. True: the check is due now. */
bool gpu_incident_remedied(struct gpu_incident *i, enum gpu_remedy remedy);

/* The gpu was reset, or could not be (`problem`): without an incident, one begins. True: the check
 * is due now. */
bool gpu_incident_reset(struct gpu_incident *i, const char *problem, int64_t now_ns);

/* The result of the check; `problem` NULL: passed, the incident is over. */
void gpu_incident_checked(struct gpu_incident *i, const char *problem, int64_t now_ns);

/* Must the gpu be checked now? */
bool gpu_incident_is_check_due(const struct gpu_incident *i);

/* Sets health and reason of the gpu, unless those of the driver's list are worse. */
void gpu_incident_apply(const struct gpu_incident *i, struct gpu *g);

/* "reset the GPU, then it is checked and returns" */
const char *gpu_remedy_advice(enum gpu_remedy r);

json_t *gpu_incident_format(const struct gpu_incident *i);
/* False: damaged. */
bool gpu_incident_parse(const json_t *j, struct gpu_incident *ret);
