/* status.h - errors as Kubernetes Status objects, with details for kubectl's messages */
#pragma once

#include "base/err.h"
#include "base/json.h"
#include "kinds/kind/kind.h"

/* The object that a Status is about. All members may be NULL. */
struct status_about {
    const struct kind *kind;
    const char *name;
    const char *uid;
    int retry_after_s; /* 0: none */
};

/*
 * The HTTP status of an error: that of its code, or the one that a webhook or policy chose: their
 * errors have details {"code", "reason", "details" or "causes"}.
 */
int status_code(const struct err *e);

/* New references; arguments are not taken. */
json_t *status_of_error(const struct err *e, const struct status_about *about);
json_t *status_new(int http, const char *reason, const char *message,
                   const struct status_about *about);
json_t *status_success(const struct status_about *about);

/* A Status without details, as text. The caller frees it. */
char *status_format_plain(int http, const char *reason, const char *message);
