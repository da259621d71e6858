/* routes.h - the table of routes: shape, authorization and handler of each request */
#pragma once

#include "api/core.h"

#define SIGN_IN_PATH "/mete.dev/v1/sign-in" /* makes a link to the web page */
#define SESSION_PATH "/mete.dev/v1/session" /* the web page opens (POST) or ends (DELETE) one */

enum route_shape {
    ROUTE_PATH,       /* exactly `path` */
    ROUTE_PREFIX,     /* `path` and paths below it */
    ROUTE_COLLECTION, /* .../pods */
    ROUTE_OBJECT,     /* .../pods/NAME */
    ROUTE_SUB,        /* .../pods/NAME/SUBRESOURCE */
};

struct route {
    const char *method;
    const char *path;        /* ROUTE_PATH, ROUTE_PREFIX */
    const char *plural;      /* resources: only this core kind; NULL: all kinds */
    const char *subresource; /* ROUTE_SUB */
    const char *verb;        /* for authorization; NULL: all authenticated callers */
    handler_fn handle;
    enum route_shape shape;
    bool is_open;    /* no authentication */
    bool is_refused; /* known, but not implemented */
};

extern const struct route routes[];
extern const size_t routes_count;

/* The meaning of a path. */
struct route_match {
    enum route_shape shape;
    const struct kind *kind;
    const char *ns;
    const char *name;
    const char *subresource;
};

/*
 * Finds the row of a request. ERR_NOT_FOUND: no such path or resource. `*ret_route` is NULL if the
 * path exists, but not with this method; `*ret_allow` (of the arena) then lists the allowed
 * methods.
 */
struct err *routes_find(struct arena *a, const char *method, const struct request_target *t,
                        struct route_match *ret_match, const struct route **ret_route,
                        const char **ret_allow) MUST_CHECK;
