/* openapi_v2.h - the forms of /openapi/v2, for openapi_v2.c */
#pragma once

#include "base/json.h"

/* The document in JSON, with the schemas of all served kinds. A new reference. */
json_t *openapi_v2_json(void);

enum openapi_form {
    OPENAPI_JSON,
    OPENAPI_PROTOBUF,
    OPENAPI_NEITHER
};

/* The form that a client prefers, by the value of its Accept (NULL: none): the highest quality
 * (RFC 9110, 12.5.1), of equals the first. */
enum openapi_form openapi_v2_form(const char *accept);
