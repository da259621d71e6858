/*
 * zone.h - time zones: the offset from UTC at a time
 *
 * Zones come from the system's zone files (TZif, RFC 8536): a table, and a rule for later times.
 */
#pragma once

#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

struct zone;

/*
 * Loads a zone such as "Europe/Berlin"; "UTC" always exists. ERR_INVALID "unknown time zone X": the
 * system has no such zone, or the name is a path.
 */
struct err *zone_load(const char *name, struct zone **ret) MUST_CHECK;

/* Reads the content of a zone file. ERR_INVALID: the file is damaged. */
struct err *zone_parse(struct str file, struct zone **ret) MUST_CHECK;

void zone_free(struct zone *z); /* accepts NULL */
static inline void zone_freep(struct zone **z)
{
    zone_free(*z);
}

/* The zone's offset at that time, in seconds east of Greenwich. NULL: UTC. */
int64_t zone_offset(const struct zone *z, int64_t at_s);
