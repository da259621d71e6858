/* gang_fields.h - parts of the schemas of native gangs that their versions share */
#pragma once

#include "kinds/kind/fields.h"

enum {
    GANG_TEMPLATES_MAX = 8,
    GANG_MEMBERS_MAX = 100000
};

extern const struct field gang_policy_fields[];
extern const struct field gang_constraints_fields[];
extern const struct field gang_controller_fields[];
extern const struct field gang_workload_fields[];
extern const struct field gang_podgroup_fields[];
extern const struct field gang_podgroup_status[];
