/*
 * sign_in.c - POST /mete.dev/v1/sign-in: a one-time link to the web page, for the caller; and
 * /mete.dev/v1/session, by which the page has the audit record its sessions
 */

#include "api/handlers.h"
#include "base/mem.h"

/* The link acts for the credential of the request. An impersonated user has none, and nodes and
 * pods have no people. */
static struct err *check_caller(const struct call *c)
{
    const struct api_request *r = &c->x->request;

    if (c->who.node || c->who.uid)
        return err_new(ERR_FORBIDDEN, "User \"%s\" cannot sign in to the web page", c->who.user);
    if (request_header(r, "impersonate-user") || request_header(r, "impersonate-group"))
        return err_new(ERR_FORBIDDEN, "a link to the web page cannot be made for another user");
    return NULL;
}

struct err *handle_sign_in(struct call *c)
{
    AUTO_FREE char *link = NULL;
    AUTO(json_freep) json_t *answer = json_object();

    TRY(check_caller(c));
    link = core_make_link(c->core, &c->x->request, c->who.user);
    if (!link)
        return err_new(ERR_NOT_FOUND, "the web page is off: mete up --dashboard 127.0.0.1:7480");
    json_put_text(answer, "url", link);
    reply_json(c->x, 201, answer, NULL);
    return NULL;
}

/* The page keeps the sessions: here a session is only recorded, and its user authenticated. */
struct err *handle_session(struct call *c)
{
    AUTO(json_freep) json_t *answer = json_object();

    if (!c->x->request.peer.page)
        return not_found_path();
    TRY(check_caller(c));
    json_put_text(answer, "user", c->who.user);
    reply_json(c->x, text_equal(c->x->request.method, "DELETE") ? 200 : 201, answer, NULL);
    return NULL;
}
