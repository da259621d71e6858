/*
 * three_way.h - the patch of `mete apply`, from the last applied, the present and the wanted
 * object
 *
 * Members of the wanted object are set; members that were applied last and are not wanted are
 * removed; all other members (defaults, labels of other clients, status) stay. With a schema the
 * patch is a strategic merge patch (lists by their merge keys), else a JSON merge patch.
 */
#pragma once

#include "base/json.h"
#include "kinds/kind/kind.h"

/* Returns the patch; {}: nothing to do. `last` may be NULL. New reference. */
json_t *three_way(const struct kind *k, const json_t *last, const json_t *live, const json_t *want);
