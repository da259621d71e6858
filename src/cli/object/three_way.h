/*
 * three_way.h - what `apply` sends: from what was applied last, what is there, and what is wanted,
 * a patch
 *
 * Members that are wanted are set; members that were applied last and are not wanted are removed;
 * everything else (defaults, other people's labels, status) stays. With a schema the patch is a
 * strategic merge patch (lists by their merge keys), without one a JSON merge patch.
 */
#pragma once

#include "base/json.h"
#include "kinds/kind/kind.h"

/* `last` may be NULL. New reference; {} when nothing is to be done. */
json_t *three_way(const struct kind *k, const json_t *last, const json_t *live, const json_t *want);
