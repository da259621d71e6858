/* boot_roles.h - the roles of users.yaml as ClusterRoles, which every cluster has */
#pragma once

#include "base/json.h"

/* The ClusterRole with this name, without its name: a new reference. */
json_t *boot_cluster_role(const char *name);
