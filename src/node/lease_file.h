/*
 * lease_file.h - until when a fenced node holds its lease, kept over restarts of its process
 *
 * DATA/node/lease: the machine's boot id and a time of its monotonic clock. The file is not synced:
 * after a crash of the machine nothing runs.
 */
#pragma once

#include <stdint.h>

#include "base/err.h"

struct err *lease_file_write(const char *dir, const char *boot_id, int64_t held_to_ns) MUST_CHECK;

/* `fallback_ns` without a file of this boot: the node had no fence before. */
int64_t lease_file_read(const char *dir, const char *boot_id, int64_t fallback_ns);
