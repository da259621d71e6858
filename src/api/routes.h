/* routes.h - the one table of what the API answers; authorization and handlers hang on its rows */
#pragma once

#include "api/core.h"

enum route_shape {
    ROUTE_PATH,       /* exactly `path` */
    ROUTE_PREFIX,     /* `path` and what follows it */
    ROUTE_COLLECTION, /* .../pods */
    ROUTE_OBJECT,     /* .../pods/NAME */
    ROUTE_SUB,        /* .../pods/NAME/SUBRESOURCE */
};

struct route {
    const char *method;
    const char *path;        /* ROUTE_PATH, ROUTE_PREFIX */
    const char *plural;      /* resources: this core kind only; NULL: every kind */
    const char *subresource; /* ROUTE_SUB */
    const char *verb;        /* for authorization; NULL: anybody who is somebody */
    handler_fn handle;
    enum route_shape shape;
    bool is_open;    /* no authentication */
    bool is_refused; /* known, and not implemented */
};

extern const struct route routes[];
extern const size_t routes_count;

/* What a path means. */
struct route_match {
    enum route_shape shape;
    const struct kind *kind;
    const char *ns;
    const char *name;
    const char *subresource;
};

/*
 * Finds the row of a request. ERR_NOT_FOUND: no such path or resource. `*ret_route` is NULL where
 * the path is known but not with this method; `*ret_allow` (of the arena) then lists those that
 * are.
 */
struct err *routes_find(struct arena *a, const char *method, const struct request_target *t,
                        struct route_match *ret_match, const struct route **ret_route,
                        const char **ret_allow) MUST_CHECK;
