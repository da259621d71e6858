/* status.c - Status objects with the details that kubectl prints */

#include "kinds/wire/status.h"

#include "base/mem.h"
#include "kinds/kind/cause.h"

static json_t *details_of(const struct status_about *about, const char *reason)
{
    json_t *details = json_object();

    if (!about)
        return details;
    if (about->name)
        json_put_text(details, "name", about->name);
    if (about->kind) {
        if (*about->kind->group)
            json_put_text(details, "group", about->kind->group);
        /* As in Kubernetes: the kind of an invalid object, the resource of others. */
        json_put_text(details, "kind",
                      text_equal(reason, "Invalid") ? about->kind->kind : about->kind->plural);
    }
    if (about->uid)
        json_put_text(details, "uid", about->uid);
    if (about->retry_after_s > 0)
        json_put_int(details, "retryAfterSeconds", about->retry_after_s);
    return details;
}

static json_t *status_begin(const char *outcome)
{
    json_t *status = json_object();

    json_put_text(status, "kind", "Status");
    json_put_text(status, "apiVersion", "v1");
    json_put(status, "metadata", json_object());
    json_put_text(status, "status", outcome);
    return status;
}

json_t *status_new(int http, const char *reason, const char *message,
                   const struct status_about *about)
{
    json_t *status = status_begin("Failure");

    json_put_text(status, "message", message);
    json_put_text(status, "reason", reason);
    json_put(status, "details", details_of(about, reason));
    json_put_int(status, "code", http);
    return status;
}

/* The Status that a webhook or policy chose for an error; NULL: none. New reference. */
static json_t *status_told(const struct err *e)
{
    const char *text = err_details(e);
    json_t *told = text && *text == '{' ? json_loads(text, 0, NULL) : NULL;

    return told;
}

int status_code(const struct err *e)
{
    AUTO(json_freep) json_t *told = status_told(e);

    return told ? (int)json_int(told, "code", err_http(e)) : err_http(e);
}

/* The Status of a denial by a webhook or a policy. */
static json_t *status_of_told(const struct err *e, const json_t *told,
                              const struct status_about *about)
{
    const char *reason = text_or_empty(json_text(told, "reason"));
    json_t *status = status_new((int)json_int(told, "code", err_http(e)), *reason ? reason : NULL,
                                err_message(e), *reason ? about : NULL);

    if (json_object_get(told, "details"))
        json_put(status, "details", json_incref(json_object_get(told, "details")));
    if (json_object_get(told, "causes"))
        json_put(json_object_at(status, "details"), "causes",
                 json_incref(json_object_get(told, "causes")));
    return status;
}

json_t *status_of_error(const struct err *e, const struct status_about *about)
{
    AUTO(json_freep) json_t *told = status_told(e);

    AUTO(json_freep) json_t *causes = NULL;
    json_t *status;

    if (told)
        return status_of_told(e, told, about);
    status = status_new(err_http(e), err_reason(e), err_message(e), about);
    causes = cause_list(e);
    if (json_array_size(causes) > 0)
        json_put(json_object_get(status, "details"), "causes", TAKE(causes));
    return status;
}

json_t *status_success(const struct status_about *about)
{
    json_t *status = status_begin("Success");

    json_put(status, "details", details_of(about, ""));
    return status;
}

char *status_format_plain(int http, const char *reason, const char *message)
{
    AUTO(json_freep) json_t *status = status_new(http, reason, message, NULL);

    return json_format(status);
}
