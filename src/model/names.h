/* names.h - Kubernetes' checks of names; each returns NULL or ERR_INVALID with Kubernetes' own
 * words */
#pragma once

#include "base/err.h"

struct err *name_check_label(const char *name) MUST_CHECK;     /* RFC 1123 label, 63 */
struct err *name_check_service(const char *name) MUST_CHECK;   /* RFC 1035 label, 63 */
struct err *name_check_port(const char *name) MUST_CHECK;      /* IANA service name, 15 */
struct err *name_check_subdomain(const char *name) MUST_CHECK; /* RFC 1123 subdomain, 253 */
struct err *name_check_qualified(const char *name)
    MUST_CHECK; /* [prefix/]name: label keys, taints, resources */
struct err *name_check_label_value(const char *value) MUST_CHECK; /* "" or 63 of [A-Za-z0-9._-] */
struct err *name_check_env(const char *name) MUST_CHECK;          /* printable ASCII, no = */
struct err *name_check_config_key(const char *name) MUST_CHECK;   /* keys of ConfigMap and Secret */
