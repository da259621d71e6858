/* partition_update.h - scontrol create and update of partitions */
#pragma once

#include "slurm/update.h"

/*
 * The members of a SlurmPartition's spec that the words set, null for those that they remove: a
 * merge patch {"spec":{...}}. ERR_INVALID: an unknown or malformed key, in the words of scontrol.
 * New reference.
 */
struct err *slurm_partition_patch(const struct slurm_update *updates, size_t n,
                                  json_t **ret) MUST_CHECK;
