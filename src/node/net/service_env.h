/* service_env.h - the variables of Services for containers, by the kubelet's rules */
#pragma once

#include "base/json.h"

/* Adds NAME_SERVICE_HOST, NAME_SERVICE_PORT and the others of one Service; none of a Service
 * without an address. */
void service_env_add(const json_t *service, json_t *env);

/* Adds KUBERNETES_SERVICE_HOST and the others, from which clients in a container find the API. */
void service_env_add_api(const char *host, int64_t port, json_t *env);
