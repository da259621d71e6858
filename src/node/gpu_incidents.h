/*
 * gpu_incidents.h - which gpus of this node are out of service, and why
 *
 * Adds to the driver's list what XIDs and readings have said so far (gpu/gpu_incident.h), checks
 * gpus whose remedy is done, and tells Events. A driver reports an XID only once: incidents are
 * kept in DIR/gpu-health.json, over restarts of this process and of the machine.
 */
#pragma once

#include "base/json.h"
#include "base/loop.h"
#include "gpu/gpu_condition.h"
#include "gpu/gpu_incident.h"

struct gpu_incidents;

/* An Event about a gpu. The texts are borrowed. */
struct gpu_news {
    const char *uuid;
    bool is_warning;
    const char *reason;  /* "GpuXid" */
    const char *message; /* sentences for people */
};

struct gpu_incidents_options {
    struct loop *loop;
    const char *dir;       /* DATA/node */
    const char *boot_id;   /* of the machine */
    const char *xids_file; /* an administrator's changes of the XID table; need not exist */
    /* Checks a gpu, as gpu_task_check; NULL: gpus return without a check. */
    struct err *(*check)(void *arg, const char *uuid,
                         void (*done)(void *arg, const char *uuid, const struct err *e),
                         void *done_arg);
    /* A present reading of a gpu; -1: unknown. NULL: none is ever known. */
    int64_t (*reading)(void *arg, const char *uuid, enum gpu_field field);
    /* Does the scheduler create and remove the gpu's slices? NULL: of no gpu. */
    bool (*is_flexible)(void *arg, const char *uuid);
    void (*changed)(void *arg);                           /* the health of a gpu, later */
    void (*tell)(void *arg, const struct gpu_news *news); /* NULL: no Events */
    void *arg;
};

/* The texts are borrowed. */
struct err *gpu_incidents_new(const struct gpu_incidents_options *o,
                              struct gpu_incidents **ret) MUST_CHECK;
void gpu_incidents_free(struct gpu_incidents *h); /* accepts NULL */

/* Takes the Node as the server has it, with its annotation mete.dev/gpu-care. True: the care of its
 * gpus has changed. */
bool gpu_incidents_set_node(struct gpu_incidents *h, const json_t *node);

/* The XIDs that a gpu has reported: ever, over restarts; and the last one, 0: none since the
 * machine was booted. */
int64_t gpu_incidents_xids(const struct gpu_incidents *h, const char *uuid, int64_t *ret_last);

/*
 * Notes an XID. False: it was counted before, since the kernel's log and the driver's events tell
 * the same. An XID that names a MIG instance is about that slice.
 */
bool gpu_incidents_xid(struct gpu_incidents *h, const struct gpu_xid *x);

/* Takes the XIDs that the watch has not told yet, and logs them. */
struct gpu_watch;
void gpu_incidents_take(struct gpu_incidents *h, struct gpu_watch *w);

/*
 * Notes a sample of a gpu. Memory that is in use for 10 s while nobody uses the gpu, no pod and no
 * process, puts the gpu into quarantine until the memory is back. True: call gpu_incidents_update.
 */
bool gpu_incidents_sampled(struct gpu_incidents *h, const struct gpu_sample *s, bool is_used);

/*
 * Notes the gpus as the driver lists them, and returns the same gpus with their health. The result
 * is valid until the next call.
 */
const struct gpu *gpu_incidents_update(struct gpu_incidents *h, const struct gpu *list, size_t n);

/* The reason that the list gives for a gpu with a reset under way. */
extern const char gpu_is_reset[];

/* The gpu that an administrator wants to be reset (annotation mete.dev/gpu-care, member "reset": a
 * time), of the last update; NULL: none. It is out of service until gpu_incidents_reset_over. */
const char *gpu_incidents_reset_due(const struct gpu_incidents *h);

/* The request for the reset is answered: `e` NULL: the gpu was reset, and its check is due;
 * `was_tried`: the driver was asked. */
void gpu_incidents_reset_over(struct gpu_incidents *h, const char *uuid, const struct err *e,
                              bool was_tried);
