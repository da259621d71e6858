/*
 * hook_target.h - where a webhook or an aggregated API server is: a URL, or a Service through its
 * ready endpoints
 */
#pragma once

#include "kinds/kind/cause.h"
#include "kinds/kind/kind.h"
#include "store/store.h"

/* WebhookClientConfig: url or service, and caBundle. */
extern const struct field hook_client_fields[];
void hook_client_set_defaults(json_t *client);
void hook_client_check(const json_t *client, const struct path *at, struct causes *causes);

/* Owns its texts; hook_target_done frees. */
struct hook_target {
    char *url; /* "https://name.ns.svc:443/path" */
    char
        *connect; /* libcurl's CONNECT_TO: "name.ns.svc:443:10.0.0.7:8443"; NULL: as the URL says */
    char *ca;     /* PEM; NULL: the system's authorities */
    bool is_unverified; /* any certificate will do */
};
void hook_target_done(struct hook_target *t);

/* ERR_UNAVAILABLE: the Service is missing, or has no ready endpoint. */
struct err *hook_target_find(const struct store *s, const json_t *client,
                             struct hook_target *ret) MUST_CHECK;
/* The same of a Service: `service` has namespace, name, port (or 443) and perhaps path. */
struct err *hook_target_of_service(const struct store *s, const json_t *service,
                                   struct hook_target *ret) MUST_CHECK;
/* Sets the authorities from a base64 text (NULL, "": the system's). */
void hook_target_set_ca(struct hook_target *t, const char *bundle);
