/* roles.h - the interface between `mete up` and its children */
#pragma once

/* Descriptors that a child inherits. */
enum {
    ROLE_FD_LIFELINE = 3, /* end of file: `mete up` has ended, and the child ends */
    ROLE_FD_READY = 4,    /* the child writes one letter when it serves */
    ROLE_FD_CHILDREN = 5, /* an open lock: the next `mete up` waits until no process holds it */
    ROLE_FD_UNIX = 6,     /* server: listening sockets */
    ROLE_FD_TLS = 7,
    ROLE_FD_METRICS = 8, /* with --has-metrics only */
    ROLE_FD_PAGE = 9,    /* absent with --dashboard off */
    ROLE_FD_PODS = 10,   /* server: listening for pods; absent without --pod-network */
};

/* Shortest time and number of arrivals between two learnings. */
#define LEARN_EVERY "1h"
#define LEARN_AFTER "1000"

/* What the audit records of reads, and the age at which its lines are removed. */
#define AUDIT_READS "sensitive"
#define AUDIT_KEEP  "365d"

#define ROLE_READY_SERVER 's'
#define ROLE_READY_NODE   'n'
