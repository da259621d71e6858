/*
 * node_join.c - nodes of other machines: GET /mete.dev/v1/ca, POST /mete.dev/v1/node-tokens,
 * /mete.dev/v1/node-join and /mete.dev/v1/node-renewals
 *
 * An administrator makes a token, which names the installation by the digest of its authority. The
 * new machine fetches the authority, compares the digest, and sends the token with a certificate
 * request; it gets the certificate by which it proves itself from then on.
 */

#include <inttypes.h>

#include "access/node_ca.h"
#include "access/node_registry.h"
#include "api/body.h"
#include "api/handlers.h"
#include "base/mem.h"
#include "base/stamp.h"
#include "model/names.h"

enum {
    TOKEN_SECONDS = 600,
    TOKEN_SECONDS_MAX = 24 * 3600
};

/* An answer that waits until its transaction is durable. */
struct joining {
    struct core *core;
    struct exchange *x; /* NULL: the client went away */
    json_t *answer;
    char ended[NODE_REGISTRATION_SIZE]; /* a registration that ends; "": none */
};

static void join_on_close(void *arg)
{
    struct joining *j = arg;

    j->x = NULL;
}

static void join_on_durable(void *arg, const struct err *e, int64_t revision)
{
    const struct status_about about = {0};
    struct joining *j = arg;

    (void)revision;
    if (!e && *j->ended)
        auth_end_registration(core_auth(j->core), j->ended);
    if (j->x && e)
        reply_error(j->x, e, &about);
    else if (j->x)
        reply_json(j->x, 201, j->answer, NULL);
    json_decref(j->answer);
    free(j);
}

/* Commits `t`, and sends `answer`, which it takes, when the transaction is durable. The present
 * registration of `node` ends then; NULL: no registration does. */
static struct err *commit_and_answer(struct call *c, const struct txn *t, json_t *answer,
                                     const char *node)
{
    struct joining *j = mem_alloc(sizeof(*j));
    int64_t revision = 0;
    struct err *e;

    *j = (struct joining){.core = c->core, .x = c->x, .answer = answer};
    if (node)
        node_registration(core_store(c->core), node, j->ended);
    e = txn_commit(t, core_store(c->core), join_on_durable, j, &revision);
    if (e) {
        json_decref(answer);
        free(j);
        return e;
    }
    c->x->arg = j;
    c->x->on_close = join_on_close;
    return NULL;
}

static struct err *check_administrator(const struct call *c)
{
    if (c->who.is_admin)
        return NULL;
    return err_new(ERR_FORBIDDEN, "User \"%s\" cannot %s path \"%s\": nodes are for administrators",
                   c->who.user, c->x->request.method, c->x->request.path);
}

static const struct node_ca *authority(const struct call *c)
{
    return core_node_ca(c->core);
}

static struct err *no_authority(void)
{
    return err_new(ERR_UNAVAILABLE, "this server has no TLS, so no other machine can join");
}

struct err *handle_ca(struct call *c)
{
    AUTO(json_freep) json_t *answer = json_object();

    if (!core_ca_text(c->core))
        return no_authority();
    json_put_text(answer, "certificate", core_ca_text(c->core));
    reply_json(c->x, 200, answer, NULL);
    return NULL;
}

static struct err *take_node(const json_t *body, const char **ret)
{
    const char *node = json_text(body, "node");
    struct err *e = node ? name_check_subdomain(node) : NULL;

    *ret = node;
    return e ? err_wrap(e, "node") : NULL;
}

/* Ends the registration of a node. */
static struct err *revoke(struct call *c, const char *node)
{
    AUTO(txn_done) struct txn t = {0};
    json_t *answer;

    if (!node)
        return err_new(ERR_BAD_REQUEST, "want {\"node\": NAME}");
    TRY(node_revoke(&t, core_store(c->core), node));
    answer = json_object();
    json_put_text(answer, "node", node);
    return commit_and_answer(c, &t, answer, node);
}

static struct err *make_token(struct call *c, const json_t *body, const char *node)
{
    int64_t seconds = json_int(body, "seconds", TOKEN_SECONDS);
    struct node_token o = {
        .node = node, .by = c->who.user, .now_ns = loop_wall_ns(core_loop(c->core))};
    AUTO(txn_done) struct txn t = {0};
    char secret[NODE_SECRET_SIZE];
    char digest[CA_DIGEST_SIZE];
    AUTO_FREE char *token = NULL;
    json_t *answer;

    if (seconds < 1 || seconds > TOKEN_SECONDS_MAX)
        return err_new(ERR_INVALID, "seconds: a token lives 1 s to %d h", TOKEN_SECONDS_MAX / 3600);
    o.until_ns = o.now_ns + seconds * NS_PER_SEC;
    TRY(ca_digest(core_ca_text(c->core), digest));
    TRY(node_token_make(&t, core_store(c->core), &o, secret));
    token = mem_format("mete1.%s.%s", secret, digest);
    answer = json_object();
    json_put_text(answer, "token", token);
    json_put_int(answer, "seconds", seconds);
    return commit_and_answer(c, &t, answer, NULL);
}

struct err *handle_node_tokens(struct call *c)
{
    AUTO(json_freep) json_t *body = NULL;
    const char *node = NULL;
    bool is_known = false;

    TRY(check_administrator(c));
    if (!authority(c))
        return no_authority();
    TRY(body_parse(c, &body, &is_known));
    if (!is_known)
        return NULL;
    TRY(take_node(body, &node));
    return json_bool(body, "revoke", false) ? revoke(c, node) : make_token(c, body, node);
}

static json_t *certificate_answer(const char *certificate)
{
    json_t *answer = json_object();

    json_put_text(answer, "certificate", certificate);
    return answer;
}

struct err *handle_node_join(struct call *c)
{
    AUTO(json_freep) json_t *body = NULL;
    AUTO(txn_done) struct txn t = {0};
    AUTO_FREE char *certificate = NULL;
    char id[NODE_REGISTRATION_SIZE];
    const char *node = NULL;
    const char *secret = NULL;
    const char *request = NULL;
    bool is_known = false;

    if (!authority(c))
        return no_authority();
    TRY(body_parse(c, &body, &is_known));
    if (!is_known)
        return NULL;
    TRY(take_node(body, &node));
    secret = json_text(body, "secret");
    request = json_text(body, "request");
    if (!node || !secret || !request)
        return err_new(ERR_BAD_REQUEST,
                       "want {\"node\": NAME, \"secret\": TEXT, \"request\": PEM}");
    TRY(node_join(&t, core_store(c->core), secret, node, loop_wall_ns(core_loop(c->core)), id));
    TRY(node_ca_sign(authority(c), request, node, id, &certificate));
    return commit_and_answer(c, &t, certificate_answer(certificate), node);
}

/* A node renews its certificate by the present one, under the same registration. */
struct err *handle_node_renewal(struct call *c)
{
    static const char prefix[] = NODE_REGISTRATION;
    const struct api_peer *p = &c->x->request.peer;
    AUTO(json_freep) json_t *answer = NULL;
    AUTO(json_freep) json_t *body = NULL;
    AUTO_FREE char *certificate = NULL;
    const char *request = NULL;
    bool is_known = false;

    if (!authority(c))
        return no_authority();
    if (!c->who.node || !text_equal(p->cert_issuer, NODE_CA_NAME) || p->n_cert_groups != 2)
        return err_new(ERR_FORBIDDEN, "User \"%s\" is no node that joined by a token", c->who.user);
    TRY(body_parse(c, &body, &is_known));
    if (!is_known)
        return NULL;
    request = json_text(body, "request");
    if (!request)
        return err_new(ERR_BAD_REQUEST, "want {\"request\": PEM}");
    TRY(node_ca_sign(authority(c), request, c->who.node, p->cert_groups[1] + sizeof(prefix) - 1,
                     &certificate));
    answer = certificate_answer(certificate);
    reply_json(c->x, 201, answer, NULL);
    return NULL;
}
