/* uplink.h - the reverse stream: opened by the node, kept open, its questions given to services */
#pragma once

#include "client/client.h"
#include "node/session/streams.h"

struct uplink;

/* Connects in the next turn of the loop, then again and again. */
struct uplink *uplink_new(struct loop *l, struct client *c, const char *node);
void uplink_free(struct uplink *u); /* accepts NULL; the services are told by cancel_all */

/* How its services answer; lives as long as the uplink. */
const struct stream_out *uplink_out(const struct uplink *u);

/* Gives the questions with `service->ops` to it, from now on. It lives longer than the uplink. */
void uplink_serve(struct uplink *u, const struct stream_service *service);
