/* core.h - the API without sockets: requests and replies over http/request.h. Private to api/ and
 * its tests. */
#pragma once

#include "access/auth.h"
#include "access/authz.h"
#include "api/api.h"
#include "http/request.h"
#include "http/target.h"
#include "kinds/wire/status.h"

struct audit_log;
struct key_rotation;
struct audited;
struct hook_caller;
struct core;
struct metrics_maker;
struct node_links;

struct core_options {
    struct loop *loop;
    struct objects *objects;
    const char *users_file;
    const char *nodes_file;
    user_name_fn user_name;
    user_uid_fn user_uid;
    const struct api_view *views;
    size_t n_views;
    const struct report_maker *reports;
    size_t n_reports;
    const struct metrics_maker *metrics; /* NULL: none */
    void (*take_stats)(void *arg, const char *node, struct node_stats *taken);
    void *stats_arg;
    char *(*make_link)(void *arg, const struct api_request *r, const char *user); /* or NULL */
    void *link_arg;
    request_fn rest; /* answers paths below /slurm/ and /slurmdb/; NULL: nobody */
    void *rest_arg;
    const char *signing_key_file;   /* signs service accounts' tokens; NULL: refuse them */
    const char *join_dir;           /* ca.crt, nodes.crt, nodes.key; NULL: no machine can join */
    token_revoked_fn token_revoked; /* NULL: not called */
    void *revoked_arg;
    const struct hook_caller *hook_caller; /* calls webhooks; borrowed; NULL: nobody is asked */
    const struct audit_log *audit;         /* borrowed; NULL: requests are not recorded */
    const struct key_rotation *rotation;   /* access/keyring.h; borrowed; NULL: none */
    bool audits_reads;                     /* record all reads, too */
    int64_t node_wait_ns;                  /* of nodestream.h */
    int64_t audit_keep_ns; /* age at which lines of the audit are removed; 0: never */
};

struct err *core_new(const struct core_options *o, struct core **ret) MUST_CHECK;
void core_free(struct core *c); /* accepts NULL; all exchanges have ended */

/* Replaces the users, as if the users file had changed. */
void core_take_users(struct core *c, struct users *taken);

/* A request_fn: `arg` is the core. */
void core_handle(void *arg, struct exchange *x);

/* Handles the request of an audited exchange again, after its first line has become durable. */
void core_handle_begun(struct core *core, struct exchange *x, struct audited *a);

/* The form of objects that the client accepts. */
enum wants_as {
    AS_OBJECT,
    AS_TABLE,
    AS_METADATA
};

struct route;

/* A request in its handler. The call dies when the handler returns; later work copies what it
 * needs. */
struct call {
    struct core *core;
    struct exchange *x;
    struct arena *arena;
    const struct route *route;
    struct request_target target;
    struct query query;
    struct identity who;
    const struct kind *kind; /* NULL: no resource */
    const char *ns;          /* NULL: all namespaces, or none */
    const char *name;
    const char *subresource;
    const char *rest; /* of a proxy: target_proxy_rest; valid as long as the request; else NULL */
    enum wants_as as;
    struct audited *audited; /* NULL: the call is not recorded */
    struct admission_context
        *admission; /* answers of webhooks about a write; NULL: nobody is asked */
};

/* Answers, or keeps the exchange to answer later. If a handler returns an error, the caller answers
 * with a Status about the call's kind and name. */
typedef struct err *(*handler_fn)(struct call *c);

struct admission_context;
/* An admission context for a write of this caller (UserInfo), or NULL while nobody is asked about
 * writes. */
struct admission_context *core_admission_of(struct core *core, json_t *user);

struct requests;
struct requests *core_requests(const struct core *c);
struct loop *core_loop(const struct core *c);
struct store *core_store(const struct core *c);
struct objects *core_objects(const struct core *c);
struct node_links *core_links(const struct core *c);
const struct auth *core_auth(const struct core *c);
struct signing_key;
const struct signing_key *core_signing_key(const struct core *c); /* NULL: none */
struct node_ca;
const struct node_ca *core_node_ca(const struct core *c); /* NULL: no machine can join */
const char *core_ca_text(const struct core *c);           /* PEM; NULL: as core_node_ca */
const struct report_maker *core_report(const struct core *c, const char *path); /* NULL: none */
/* The reports that are being made or wait, a list of report.c. */
struct report_share;
struct report_share **core_report_shares(struct core *c);
/* The last answers, REPORTS_KEPT of them, for report.c. */
enum {
    REPORTS_KEPT = 4
};
struct kept_report {
    char *key;
    char *text;
    uint64_t stamp; /* report.h */
};
struct kept_report *core_kept_reports(struct core *c);
/* The last JSON of /openapi/v2, for openapi_v2.c: it takes a tenth of a second to make. */
struct kept_openapi {
    char *text;          /* NULL: none */
    uint64_t generation; /* kinds_generation of the text */
};
struct kept_openapi *core_kept_openapi(struct core *c);
const struct metrics_maker *core_metrics(const struct core *c); /* NULL: none */
const struct key_rotation *core_rotation(const struct core *c); /* NULL: none */
const struct audit_log *core_audit_log(const struct core *c);   /* NULL: none */
bool core_wants_stats(const struct core *c);
/* For a core that wants samples: takes one, and ends it. */
void core_take_stats(const struct core *c, const char *node, struct node_stats *taken);
/* NULL: there is no web page. The caller frees the link. */
char *core_make_link(const struct core *c, const struct api_request *r, const char *user);
const struct api_view *core_view(const struct core *c, const struct kind *k); /* NULL: none */

/* The tree of an object, as a new reference, or NULL. The last trees are cached: many watches need
 * the same ones. */
json_t *core_tree(struct core *c, const struct store_object *o);

/* Send a whole reply, which ends the exchange. The caller keeps `json`. */
void reply_json(struct exchange *x, int status, const json_t *json, const json_t *warnings);
void reply_bytes(struct exchange *x, struct str bytes);
void reply_error(struct exchange *x, const struct err *e, const struct status_about *about);
/* The same with warnings (NULL: none). */
void reply_error_warned(struct exchange *x, const struct err *e, const struct status_about *about,
                        const json_t *warnings);

struct kind_context call_context(const struct call *c);

/* The error for unknown paths, in the words that client libraries know. */
struct err *not_found_path(void) MUST_CHECK;
