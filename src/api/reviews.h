/* reviews.h - the UserInfo of a caller, as reviews tell it */
#pragma once

#include "api/core.h"

/* Puts username, uid, groups and extra. */
void user_info_put(json_t *into, const struct identity *who);
