/* uplink.h - the reverse stream: opened by the node, kept open, served with logs */
#pragma once

#include "client/client.h"
#include "node/pods.h"

struct uplink;

struct uplink *uplink_new(struct loop *l, struct client *c, const char *node, struct pods *pods);
void uplink_free(struct uplink *u); /* accepts NULL */
