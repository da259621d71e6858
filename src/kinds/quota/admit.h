/*
 * admit.h - what Kubernetes' admission plugins do to a write: Priority, LimitRanger, ResourceQuota;
 * and what goes with queues
 *
 * In the order of objects_create: admit_priority before the defaults, admit_limits after them,
 * admit_check after the validation, admit_charge with the transaction. All read by what is applied.
 */
#pragma once

#include "kinds/object/objects_private.h"

/* Creation of a pod: spec.priority, priorityClassName and preemptionPolicy by its class. */
struct err *admit_priority(struct change *c) MUST_CHECK;
/* Update of a pod: what its class gave stays where the client left it out. */
void admit_keep_priority(struct change *c);

/*
 * Creation of a pod or Job: its queue by its namespace, where it says none. Of a Job in Kueue's
 * words: it is not suspended, as Kueue has it once it admits it; its pods wait instead.
 */
struct err *admit_queue(struct change *c) MUST_CHECK;
/* A queue is not below itself; a pod that has its place stays in its queue. */
struct err *admit_check_queue(const struct change *c) MUST_CHECK;
/* The queue of those that name none stays. */
struct err *admit_queue_removal(const struct change *c) MUST_CHECK;

/* What a PodGroup of Volcano says of tiers, as labels of nodes: network_tiers.h. */
struct err *admit_network_topology(struct change *c) MUST_CHECK;

/* Creation of a pod: requests and limits that the namespace's LimitRanges give by themselves. */
struct err *admit_limits(struct change *c) MUST_CHECK;

/* Creation and update: bounds of LimitRanges; one default among the PriorityClasses. */
struct err *admit_check(const struct change *c) MUST_CHECK;
/* Removal: the system's PriorityClasses stay. */
struct err *admit_removal(const struct change *c) MUST_CHECK;

/*
 * Counts the change in the quotas of its namespace, in its own transaction, and computes the status
 * of a quota that is written. ERR_FORBIDDEN `exceeded quota: ...` where there is no room.
 */
struct err *admit_charge(struct change *c) MUST_CHECK;
/* The transaction was accepted: the quotas' trees are kept for the next. */
void admit_charged(struct change *c);

/* admit_limits.c: the bounds themselves */
struct err *admit_check_limits(const struct change *c) MUST_CHECK;
