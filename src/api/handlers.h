/* handlers.h - the handlers of the routes in routes.c, by file */
#pragma once

#include "api/core.h"
#include "kinds/object/objects.h"

/* discovery.c */
struct err *handle_health(struct call *c);
struct err *handle_version(struct call *c);
struct err *handle_api(struct call *c);
struct err *handle_apis(struct call *c);
struct err *handle_group(struct call *c);
struct err *handle_openapi_v3(struct call *c);

/* apiservices.c: the view of APIServices, which the core has without being told */
extern const struct api_view apiservices_view;
bool apiservices_is(const struct kind *k);

/* openapi_v2.c */
struct err *handle_openapi_v2(struct call *c);

/* read.c, list.c, watch.c */
struct err *handle_get(struct call *c);
struct err *handle_list_or_watch(struct call *c);
struct err *handle_watch(struct call *c);

/* write.c */
struct err *handle_create(struct call *c);
struct err *handle_update(struct call *c);
struct err *handle_patch(struct call *c);
struct err *handle_delete(struct call *c);
struct err *handle_delete_collection(struct call *c);
/* Deletes the call's object and answers, with `status` for success. */
struct delete_options;
struct err *delete_with(struct call *c, const struct delete_options *o, int status) MUST_CHECK;

/* Reads the type of a patch. False: not supported, and the client was told which types are. */
bool parse_patch_type(const struct call *c, enum patch_type *ret);
/* Patches the call's object and answers with it, or with what `show` makes of it (a new reference;
 * NULL: the object). */
struct err *patch_with(struct call *c, enum patch_type type, const json_t *patch,
                       json_t *(*show)(const struct call *c, const json_t *made)) MUST_CHECK;

/* scale.c */
struct err *handle_get_scale(struct call *c);
struct err *handle_update_scale(struct call *c);
struct err *handle_patch_scale(struct call *c);

/* reviews.c: for kinds that are questions (reviews) */
struct err *handle_question(struct call *c);

/* token_request.c */
struct err *handle_token_request(struct call *c);

/* eviction.c */
struct err *handle_eviction(struct call *c);

/* pod_signal.c */
struct err *handle_pod_signal(struct call *c);

/* audit_read.c */
struct err *handle_audit(struct call *c);
/* node_join.c */
struct err *handle_ca(struct call *c);
struct err *handle_node_tokens(struct call *c);
struct err *handle_node_join(struct call *c);
struct err *handle_node_renewal(struct call *c);
/* node_door.c */
struct err *handle_node_door(struct call *c);
/* sign_in.c */
struct err *handle_sign_in(struct call *c);
struct err *handle_session(struct call *c);

/* rotate_key.c */
struct err *handle_secret_key(struct call *c);

/* slurm_token.c */
struct err *handle_slurm_token(struct call *c);

/* requests.c */
struct err *handle_requests(struct call *c);

/* report.c */
struct err *handle_report(struct call *c);
struct err *handle_ps(struct call *c);
/* Lists the namespaces whose jobs the caller may read; NULL: all. ERR_FORBIDDEN: none. */
struct err *call_find_namespaces(const struct call *c, json_t **ret) MUST_CHECK;

/* metrics.c */
struct err *handle_metrics(struct call *c);

/* nodestream.c, podlog.c */
struct err *handle_node_stream(struct call *c);
struct err *handle_pod_log(struct call *c);

/* images.c */
struct err *handle_node_images(struct call *c);

/* exec.c */
struct err *handle_pod_exec(struct call *c);
struct err *handle_pod_attach(struct call *c);

/* pod_user.c */
/* ERR_FORBIDDEN: the session would reach processes of another user of the machine. */
struct err *call_check_pod_user(const struct call *c, const json_t *pod) MUST_CHECK;
/* The same for an ephemeral container (NULL: passes), whose user may be another than the pod's. */
struct err *call_check_debug_user(const struct call *c, const json_t *container) MUST_CHECK;
/* Writes of pods/ephemeralcontainers. */
struct err *handle_ephemeral_containers(struct call *c);

/* portforward.c */
struct err *handle_pod_portforward(struct call *c);

/* proxy.c */
struct err *handle_pod_proxy(struct call *c);
struct err *handle_service_proxy(struct call *c);

/* routes.c */
struct err *handle_refused(struct call *c);
