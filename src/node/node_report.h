/*
 * node_report.h - the reports of a node about itself
 *
 * A report is two patches: the Node object (labels, gpus), created if it is missing, then its
 * status. A node reports if the server's object differs, after a failure, or if the last report is
 * old.
 */
#pragma once

#include "base/loop.h"
#include "client/client.h"

enum report_step {
    REPORT_IDLE,
    REPORT_OBJECT,
    REPORT_CREATE,
    REPORT_STATUS
};

struct node_report;

struct node_report_options {
    struct loop *loop;
    struct client *client;
    const char *node;
    json_t *(*make)(void *arg, enum report_step step); /* the body of a step's request */
    const json_t *(*stored)(void *arg); /* the Node as the server has it; NULL: unknown */
    void (*look)(void *arg); /* it is time: is to call node_report_look once the node is ready */
    void (*told)(void *arg); /* the first report succeeded */
    void *arg;
};

/* `node` is borrowed. */
struct node_report *node_report_new(const struct node_report_options *o);
/* Accepts NULL. */
void node_report_free(struct node_report *r);
/* Takes back a request that is under way. */
void node_report_stop(struct node_report *r);
/* Begins a report if one is due; during a report notes that another is wanted. */
void node_report_look(struct node_report *r);
/* Has the server all that the step's request would write? */
bool node_report_is_stored(const struct node_report *r, enum report_step step);
/* Did a report succeed, and is none under way? */
bool node_report_is_over(const struct node_report *r);
