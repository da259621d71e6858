/* status.h - errors as Kubernetes Status objects, with the details that kubectl's words are made of
 */
#pragma once

#include "base/err.h"
#include "base/json.h"
#include "kinds/kind/kind.h"

/* What the error is about. All may be NULL. */
struct status_about {
    const struct kind *kind;
    const char *name;
    const char *uid;
    int retry_after_s; /* 0: none */
};

/* New references; nothing is taken. */
json_t *status_of_error(const struct err *e, const struct status_about *about);
json_t *status_new(int http, const char *reason, const char *message,
                   const struct status_about *about);
json_t *status_success(const struct status_about *about);

/* The same as text, about nothing. The caller frees it. */
char *status_format_plain(int http, const char *reason, const char *message);
