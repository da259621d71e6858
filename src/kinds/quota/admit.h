/*
 * admit.h - admission, as Kubernetes' plugins Priority, LimitRanger and ResourceQuota do it, and
 * queues
 *
 * Order in objects_create: admit_priority before the defaults, admit_limits after them, admit_check
 * after the validation, admit_charge with the transaction. All read the applied state.
 */
#pragma once

#include "kinds/object/objects_private.h"

/* Creation of a pod: sets spec.priority, priorityClassName and preemptionPolicy by its class. */
struct err *admit_priority(struct change *c) MUST_CHECK;
/* Update of a pod: fields that its class set stay if the client left them out. */
void admit_keep_priority(struct change *c);

/* Creation of a pod or Job: a queue that it does not name comes from its namespace. A Job with
 * Kueue's label is unsuspended, as Kueue does on admission; its pods wait instead. */
struct err *admit_queue(struct change *c) MUST_CHECK;
/* Checks that a queue is not below itself, and that a placed pod keeps its queue. */
struct err *admit_check_queue(const struct change *c) MUST_CHECK;
/* Checks that the default queue is not removed. */
struct err *admit_queue_removal(const struct change *c) MUST_CHECK;

/* Turns the tiers of a Volcano PodGroup into node labels: network_tiers.h. */
struct err *admit_network_topology(struct change *c) MUST_CHECK;

/* Creation of a pod: sets the requests and limits that the namespace's LimitRanges default. */
struct err *admit_limits(struct change *c) MUST_CHECK;

/*
 * Creation and update: checks the bounds of LimitRanges, and that at most one PriorityClass is the
 * default.
 */
struct err *admit_check(const struct change *c) MUST_CHECK;
/* Removal: checks that the system's PriorityClasses stay. */
struct err *admit_removal(const struct change *c) MUST_CHECK;

/* Creation of a claim or a template with adminAccess: ERR_FORBIDDEN unless its namespace has
 * Kubernetes' label for it. */
struct err *admit_claim(const struct change *c) MUST_CHECK;

/* Charges the change to the quotas of its namespace, in its own transaction, and computes the
 * status of a quota that is written. ERR_FORBIDDEN `exceeded quota: ...`: no room. */
struct err *admit_charge(struct change *c) MUST_CHECK;
/* Call after the transaction was accepted: keeps the quotas' trees for the next write. */
void admit_charged(struct change *c);

/* admit_limits.c: the bounds of LimitRanges */
struct err *admit_check_limits(const struct change *c) MUST_CHECK;
