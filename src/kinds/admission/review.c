/* review.c - AdmissionReviews as trees and texts */

#include "kinds/admission/review.h"

#include "base/mem.h"
#include "kinds/admission/admission_fields.h"
#include "kinds/kind/value.h"

enum {
    SHOWN_MAX = 256,
    OK_FIRST = 200,
    OK_LAST = 299,
    FAILURE_FIRST = 400
};

static json_t *format_kind(const struct kind *k)
{
    return json_pack("{s:s, s:s, s:s}", "group", k->group, "version", k->version, "kind", k->kind);
}

static json_t *format_resource(const struct kind *k)
{
    return json_pack("{s:s, s:s, s:s}", "group", k->group, "version", k->version, "resource",
                     k->plural);
}

/* The object in the version of `k`; null for NULL. New reference. */
static json_t *in_version(const struct admission_ask *ask, const struct kind *k,
                          const json_t *object)
{
    json_t *own;

    if (!object)
        return json_null();
    if (k == ask->kind)
        return json_incref((json_t *)(uintptr_t)object);
    own = json_deep_copy(object);
    kind_from_kept(k, own);
    return own;
}

static json_t *format_options(const struct admission_ask *ask)
{
    json_t *options = json_object();
    const char *kind = text_equal(ask->operation, "CREATE")   ? "CreateOptions"
                       : text_equal(ask->operation, "UPDATE") ? "UpdateOptions"
                                                              : "DeleteOptions";

    json_put_text(options, "kind", kind);
    json_put_text(options, "apiVersion", "meta.k8s.io/v1");
    if (ask->manager && ask->object)
        json_put_text(options, "fieldManager", ask->manager);
    if (ask->is_dry_run)
        json_put(options, "dryRun", json_pack("[s]", "All"));
    return options;
}

json_t *review_request(const struct admission_ask *ask, const struct kind *k)
{
    json_t *r = json_object();

    json_put(r, "kind", format_kind(k));
    json_put(r, "resource", format_resource(k));
    json_put_text(r, "subResource", ask->subresource);
    json_put(r, "requestKind", format_kind(ask->asked));
    json_put(r, "requestResource", format_resource(ask->asked));
    json_put_text(r, "requestSubResource", ask->subresource);
    if (*ask->name)
        json_put_text(r, "name", ask->name);
    if (*ask->ns)
        json_put_text(r, "namespace", ask->ns);
    json_put_text(r, "operation", ask->operation);
    json_put(r, "userInfo", json_incref((json_t *)(uintptr_t)ask->user));
    json_put(r, "object", in_version(ask, k, ask->object));
    json_put(r, "oldObject", in_version(ask, k, ask->before));
    json_put_bool(r, "dryRun", ask->is_dry_run);
    json_put(r, "options", format_options(ask));
    return r;
}

char *review_format(const json_t *request, const char *uid)
{
    AUTO(json_freep) json_t *review = json_object();
    json_t *whole = json_object();

    json_put_text(review, "kind", "AdmissionReview");
    json_put_text(review, "apiVersion", "admission.k8s.io/v1");
    json_put_text(whole, "uid", uid);
    (void)json_object_update(whole, (json_t *)(uintptr_t)request); /* both are objects */
    json_put(review, "request", whole);
    return json_format(review);
}

/* ---- answers ---- */

static struct err *check_patch_type(const json_t *response)
{
    const char *patch = json_text_filled(response, "patch");
    const char *type = json_text(response, "patchType");

    if (patch && !type)
        return err_new(ERR_INVALID, "webhook returned response.patch but not response.patchType");
    if (type && !patch)
        return err_new(ERR_INVALID, "webhook returned response.patchType but not response.patch");
    if (type && !text_equal(type, "JSONPatch"))
        return err_new(ERR_INVALID,
                       "webhook returned invalid response.patchType of \"%.64s\", expected "
                       "JSONPatch",
                       type);
    return NULL;
}

static struct err *check_review(const json_t *review, const char *uid)
{
    const json_t *response = json_object_get(review, "response");
    const char *given = text_or_empty(json_text(response, "uid"));

    if (!text_equal(json_text(review, "apiVersion"), "admission.k8s.io/v1") ||
        !text_equal(json_text(review, "kind"), "AdmissionReview"))
        return err_new(ERR_INVALID,
                       "expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, "
                       "got %.64s, Kind=%.64s",
                       text_or_empty(json_text(review, "apiVersion")),
                       text_or_empty(json_text(review, "kind")));
    if (!json_is_object(response))
        return err_new(ERR_INVALID, "webhook response was absent");
    if (!text_equal(given, uid))
        return err_new(ERR_INVALID, "expected response.uid=\"%s\", got \"%.64s\"", uid, given);
    return check_patch_type(response);
}

struct err *review_read(int status, struct str body, const char *uid, json_t **ret)
{
    AUTO(json_freep) json_t *review = NULL;
    AUTO(err_freep) struct err *e = NULL;

    if (status < OK_FIRST || status > OK_LAST)
        return err_new(ERR_UNAVAILABLE, "the server answered with status %d: want 200", status);
    e = json_parse(body, &review);
    if (e)
        return err_new(ERR_INVALID, "the answer is no JSON: %s", err_message(e));
    TRY(check_review(review, uid));
    *ret = json_incref(json_object_get(review, "response"));
    return NULL;
}

struct err *review_denial(const char *hook, const json_t *response)
{
    const json_t *status = json_object_get(response, "status");
    const char *message = json_text_filled(status, "message");
    const char *reason = json_text_filled(status, "reason");
    int64_t code = json_int(status, "code", 0);
    json_t *told = json_object();
    struct err *e;

    json_put_int(told, "code", code < FAILURE_FIRST || code > 599 ? FAILURE_FIRST : code);
    json_put_text(told, "reason", text_or_empty(reason));
    if (json_is_object(json_object_get(status, "details")))
        json_put(told, "details", json_incref(json_object_get(status, "details")));
    e = err_new(ERR_FORBIDDEN, "admission webhook \"%s\" denied the request%s%s", hook,
                message || reason ? ": " : " ",
                message  ? message
                : reason ? reason
                         : "without explanation");
    e = err_with_details(e, json_format(told));
    json_decref(told);
    return e;
}

struct err *review_patch(const json_t *response, const json_t *object, json_t **ret)
{
    const char *text = json_text_filled(response, "patch");
    AUTO(buf_done) struct buf decoded = {0};
    AUTO(json_freep) json_t *patch = NULL;
    AUTO(json_freep) json_t *patched = NULL;
    size_t bad = 0;

    *ret = NULL;
    if (!text)
        return NULL;
    if (!base64_check(str_of(text), &bad))
        return err_new(ERR_INVALID, "the patch is no base64: byte %zu", bad);
    base64_decode(str_of(text), &decoded);
    TRY(json_parse((struct str){decoded.at, decoded.size}, &patch));
    TRY(patch_json(object, patch, &patched));
    if (!json_is_object(patched))
        return err_new(ERR_INVALID, "the patch leaves no object");
    *ret = json_twin(patched);
    return NULL;
}
