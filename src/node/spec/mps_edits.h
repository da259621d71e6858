/* mps_edits.h - what a container gets as the client of an MPS daemon */
#pragma once

#include "gpu/mps_watch.h"

/* Adds the mounts and variables of a client to the edits of a CDI device. `machine_root`: as in
 * struct cdi_target. */
void mps_edits_add(const struct mps_client *client, const char *machine_root, json_t *edits);
