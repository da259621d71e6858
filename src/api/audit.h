/*
 * audit.h - the audit of requests: an exchange that notes what was asked, and how it ended
 *
 * Three ways lead to a line of the audit (docs/audit.md):
 * - A write that changes objects: the line and the change become durable together (store_note).
 * - An action beyond the store (exec, attach, port-forward, images, deletecollection) and a read
 *   that is recorded: a line with "stage":"begun" is durable before the handler runs; a second
 *   line follows if it fails, and in any case for deletecollection.
 * - All else that is recorded, such as a refusal: the answer waits until its line is durable.
 */
#pragma once

#include "api/core.h"

struct audit;
struct audited;

struct audit_options {
    struct core *core;
    const struct audit_log *log;
    bool has_reads;  /* record all reads */
    int64_t keep_ns; /* age at which files are removed; 0: never */
};

struct audit *audit_new(const struct audit_options *o);
void audit_free(struct audit *a); /* accepts NULL; all exchanges have ended */
const struct audit_log *audit_log_of(const struct audit *a);

/* Puts an audited exchange in the place of `c->x`, if the audit records this call. */
void audit_begin(struct audit *a, struct call *c);

/* The call fails with `e`: as audit_begin if the caller may not do this. */
void audit_failure(struct audit *a, struct call *c, const struct err *e);

/* Must the call wait for its line? Then the audit calls core_handle_begun later. */
bool audit_waits(struct call *c);

/* The call changes an object, and will answer `status`: notes it with the change. `name` is the
 * name that the object got. For write.c. */
void audit_decided(const struct call *c, int status, const char *name);

/* The members that the call changes: of a patch, or by comparison of two objects. */
enum patch_type;
void audit_changed_by_patch(const struct call *c, const json_t *patch);
void audit_changed_between(const struct call *c, const json_t *before, const json_t *after);
