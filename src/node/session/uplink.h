/* uplink.h - the reverse stream: opened and kept open by the node; services answer its requests */
#pragma once

#include "client/client.h"
#include "node/session/streams.h"

struct uplink;

/* Connects in the next turn of the loop, and again after each loss. */
struct uplink *uplink_new(struct loop *l, struct client *c, const char *node);
void uplink_free(struct uplink *u); /* accepts NULL; calls cancel_all of the services */

/* For the services' answers; lives as long as the uplink. */
const struct stream_out *uplink_out(const struct uplink *u);

/* From now on, passes requests with `service->ops` to the service, which outlives the uplink. */
void uplink_serve(struct uplink *u, const struct stream_service *service);
