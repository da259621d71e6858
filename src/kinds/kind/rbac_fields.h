/* rbac_fields.h - names of rbac.authorization.k8s.io that several rooms use */
#pragma once

#define RBAC_GROUP   "rbac.authorization.k8s.io"
#define RBAC_VERSION RBAC_GROUP "/v1"
