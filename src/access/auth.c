/* auth.c - users files, and the ways to an identity */

#include "access/auth.h"

#include <assert.h>

#include "access/account_token.h"
#include "access/account_watch.h"
#include "access/jwt.h"
#include "access/node_ca.h"
#include "access/node_credentials.h"
#include "access/node_registry.h"
#include "access/rbac.h"
#include "access/user_token.h"
#include "access/users.h"
#include "base/file.h"
#include "base/fnv.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/stamp.h"

enum {
    USERS_FILE_MAX = 1 << 20,
    HEADER_MAX = JWT_MAX + 64,
    NAMES_KEPT = 256,
    NAME_MAX_BYTES = 256
};

static const int64_t look_again_ns = 2 * NS_PER_SEC;
/* A file changed within this time may change again without a new mark. */
static const int64_t settled_ns = NS_PER_SEC;
/* Lifetime of a cached user name: a lookup reads /etc/passwd, or asks a directory service. */
static const int64_t name_kept_ns = 60 * NS_PER_SEC;

typedef struct err *(*source_parse_fn)(const char *name, struct str text, struct users **ret);

/* A users file as last read. */
struct source {
    char *path; /* NULL: none */
    source_parse_fn parse;
    struct file_mark mark;
    bool is_settled; /* the file was unchanged for settled_ns when it was read */
    struct buf text;
    struct users *users; /* never NULL once loaded */
};

/* The cached name of a uid, or the fact that it has none. */
struct known_name {
    uint32_t uid;
    int64_t until_ns; /* 0: empty slot */
    bool is_named;
    char name[NAME_MAX_BYTES];
};

struct auth {
    struct loop *loop;
    struct known_name *names; /* NAMES_KEPT slots, by uid */
    struct loop_timer *timer;
    struct source people;
    struct source nodes;
    token_revoked_fn token_revoked;
    void *revoked_arg;
    struct account_watch *accounts;
    user_name_fn user_name;
    user_uid_fn user_uid;
    void *arg;
    const struct signing_key *signing_key;
    const struct store *store;
    struct rbac *rbac; /* NULL: no store */
};

/* A missing file counts as empty: deleting it revokes all tokens. */
static struct err *read_file(const char *path, struct buf *ret)
{
    struct err *e = file_read(path, USERS_FILE_MAX, ret);

    if (e && err_code(e) == ERR_NOT_FOUND) {
        err_free(e);
        return NULL;
    }
    return e;
}

static bool source_is_same(const struct source *f, const struct file_mark *mark)
{
    return f->users && f->is_settled && mark->inode == f->mark.inode &&
           mark->size == f->mark.size && mark->changed_ns == f->mark.changed_ns;
}

/* `*ret_former` are the users before a change, which the caller frees; NULL: no change. */
static struct err *source_load(struct source *f, int64_t wall_ns, struct users **ret_former)
{
    const struct file_mark mark = f->path ? file_mark_of(f->path) : (struct file_mark){0};
    AUTO(buf_done) struct buf text = {0};
    struct users *users = NULL;

    if (source_is_same(f, &mark))
        return NULL;
    if (f->path)
        TRY(read_file(f->path, &text));
    f->mark = mark;
    f->is_settled = wall_ns - mark.changed_ns > settled_ns;
    if (f->users && text.size == f->text.size &&
        (text.size == 0 || memcmp(text.at, f->text.at, text.size) == 0))
        return NULL;
    buf_clear(&f->text);
    buf_add(&f->text, text.at, text.size);
    TRY(f->parse(f->path ? f->path : "users",
                 (struct str){.at = text.at ? text.at : "", .size = text.size}, &users));
    *ret_former = f->users;
    f->users = users;
    return NULL;
}

/* Compares in constant time. */
static bool tokens_equal(const uint8_t *x, const uint8_t *y)
{
    volatile uint8_t differ = 0;

    for (size_t i = 0; i < SHA256_SIZE; i++)
        differ = (uint8_t)(differ | (x[i] ^ y[i]));
    return differ == 0;
}

static bool has_token(const struct users *users, const struct user *u)
{
    for (size_t i = 0; i < users->n; i++)
        if (text_equal(users->at[i].name, u->name))
            return users->at[i].has_token && tokens_equal(users->at[i].token, u->token);
    return false;
}

/* The first bytes of the digest; never 0. */
static uint64_t credential_of(const struct user *u)
{
    uint64_t credential = 0;

    memcpy(&credential, u->token, sizeof(credential));
    return credential ? credential : 1;
}

/* Tells which users of `former` have lost their token. */
static void auth_tell_revoked(const struct auth *a, const struct users *former,
                              const struct users *users)
{
    for (size_t i = 0; i < former->n; i++) {
        const struct user *u = &former->at[i];

        if (!u->has_token || has_token(users, u))
            continue;
        LOG(INFO, "token was revoked", S("user", u->name));
        if (a->token_revoked)
            a->token_revoked(a->revoked_arg, credential_of(u));
    }
}

static void source_look(const struct auth *a, struct source *f)
{
    struct users *former = NULL;
    AUTO(err_freep)
    struct err *e = f->path ? source_load(f, loop_wall_ns(a->loop), &former) : NULL;

    if (e)
        LOG(ERROR, "users file not taken, the former users stay", S("file", f->path), E(e));
    if (former)
        auth_tell_revoked(a, former, f->users);
    users_free(former);
}

void auth_take_users(struct auth *a, struct users *taken)
{
    struct users *former = a->people.users;

    a->people.users = taken;
    auth_tell_revoked(a, former, taken);
    users_free(former);
}

static void look_again(void *arg)
{
    struct auth *a = arg;

    source_look(a, &a->nodes);
    source_look(a, &a->people);
    loop_timer_set(a->timer, look_again_ns);
}

static struct err *source_open(struct source *f, const char *path, int64_t wall_ns)
{
    struct users *former = NULL; /* none */

    f->path = path ? mem_strdup(path) : NULL;
    return source_load(f, wall_ns, &former);
}

static void source_done(struct source *f)
{
    users_free(f->users);
    buf_done(&f->text);
    free(f->path);
}

struct err *auth_new(const struct auth_options *o, struct auth **ret)
{
    struct auth *a = mem_alloc(sizeof(*a));
    struct err *e;

    a->loop = o->loop;
    a->user_name = o->user_name;
    a->user_uid = o->user_uid;
    a->arg = o->arg;
    a->signing_key = o->signing_key;
    a->store = o->store;
    a->people.parse = users_parse;
    a->nodes.parse = node_credentials_parse;
    a->token_revoked = o->token_revoked;
    a->revoked_arg = o->revoked_arg;
    a->names = mem_alloc(NAMES_KEPT * sizeof(*a->names));
    e = source_open(&a->people, o->users_file, loop_wall_ns(o->loop));
    if (!e)
        e = source_open(&a->nodes, o->nodes_file, loop_wall_ns(o->loop));
    if (!e && o->signing_key && o->token_revoked)
        e = account_watch_new(o->store, o->token_revoked, o->revoked_arg, &a->accounts);
    if (!e && o->store)
        e = rbac_new(o->store, &a->rbac);
    if (e) {
        auth_free(a);
        return e;
    }
    if (o->users_file || o->nodes_file) {
        a->timer = loop_timer_new(o->loop, look_again, a);
        loop_timer_set(a->timer, look_again_ns);
    }
    *ret = a;
    return NULL;
}

void auth_free(struct auth *a)
{
    if (!a)
        return;
    loop_timer_free(a->timer);
    account_watch_free(a->accounts);
    rbac_free(a->rbac);
    source_done(&a->people);
    source_done(&a->nodes);
    free(a->names);
    free(a);
}

static const struct user *find_digest(const struct auth *a, const struct users *users,
                                      const uint8_t digest[SHA256_SIZE])
{
    const struct user *found = NULL;

    for (size_t i = 0; i < users->n; i++) {
        const struct user *u = &users->at[i];

        if (u->has_token && tokens_equal(u->token, digest) &&
            (u->token_expires_ns == 0 || loop_wall_ns(a->loop) < u->token_expires_ns))
            found = u;
    }
    return found;
}

static const struct user *find_token(const struct auth *a, const char *token)
{
    const struct user *found;
    uint8_t digest[SHA256_SIZE];

    digest_sha256(str_of(token), digest);
    found = find_digest(a, a->people.users, digest);
    return found ? found : find_digest(a, a->nodes.users, digest);
}

static const struct user *find_uid(const struct auth *a, uint32_t uid)
{
    for (size_t i = 0; i < a->people.users->n; i++) {
        if (a->people.users->at[i].uid == (int64_t)uid)
            return &a->people.users->at[i];
    }
    return NULL;
}

static const struct user *find_name(const struct auth *a, const char *name)
{
    for (size_t i = 0; i < a->people.users->n; i++) {
        if (text_equal(a->people.users->at[i].name, name))
            return &a->people.users->at[i];
    }
    return NULL;
}

static bool has_group(const struct identity *who, const char *group)
{
    for (size_t i = 0; i < who->n_groups; i++) {
        if (text_equal(who->groups[i], group))
            return true;
    }
    return false;
}

static void set_groups(struct arena *a, struct identity *who, const char *const *groups, size_t n)
{
    const char **copy = arena_alloc(a, (n + 1) * sizeof(*copy));

    for (size_t i = 0; i < n; i++)
        copy[i] = arena_strdup(a, groups[i]);
    copy[n] = "system:authenticated";
    who->groups = copy;
    who->n_groups = n + 1;
}

static void set_grants(struct arena *a, struct identity *who, const struct user *u)
{
    struct grant *copy = arena_alloc(a, u->n_grants * sizeof(*copy) + 1);

    for (size_t i = 0; i < u->n_grants; i++)
        copy[i] = (struct grant){.role = u->grants[i].role, .ns = arena_strdup(a, u->grants[i].ns)};
    who->grants = copy;
    who->n_grants = u->n_grants;
}

/* Sets the members that follow from groups and grants. */
static void identity_conclude(const struct auth *a, struct identity *who)
{
    static const char prefix[] = NODE_USER_PREFIX;

    who->rbac = a->rbac;
    who->is_admin = has_group(who, "system:masters");
    for (size_t i = 0; i < who->n_grants; i++)
        who->is_admin |= who->grants[i].role == ROLE_CLUSTER_ADMIN;
    assert(who->user);
    if (has_group(who, "system:nodes") && text_starts_with(who->user, prefix) &&
        strlen(who->user) > sizeof(prefix) - 1)
        who->node = who->user + sizeof(prefix) - 1;
}

static void from_user(struct arena *a, const struct user *u, struct identity *who)
{
    who->user = arena_strdup(a, u->name);
    who->host_uid = u->host_uid;
    set_groups(a, who, (const char *const *)u->groups, u->n_groups);
    set_grants(a, who, u);
}

static const struct known_name *name_of(const struct auth *a, uint32_t uid)
{
    struct known_name *n = &a->names[uid % NAMES_KEPT];
    int64_t now_ns = loop_now_ns(a->loop);

    if (n->until_ns > now_ns && n->uid == uid)
        return n;
    *n = (struct known_name){.uid = uid, .until_ns = now_ns + name_kept_ns};
    n->is_named = a->user_name && a->user_name(a->arg, uid, n->name, sizeof(n->name));
    return n;
}

/* A user of this machine: root, a user of users.yaml, or any other uid, which gets `edit` in
 * default. */
static void from_uid(const struct auth *a, struct arena *arena, uint32_t uid, struct identity *who)
{
    static const char *const masters[] = {"system:masters"};
    static const struct grant edit_default = {.role = ROLE_EDIT, .ns = "default"};
    const struct user *u = find_uid(a, uid);

    if (uid == 0) {
        who->user = "root";
        set_groups(arena, who, masters, 1);
    } else if (u) {
        from_user(arena, u, who);
    } else {
        const struct known_name *n = name_of(a, uid);

        who->user = n->is_named ? arena_strdup(arena, n->name)
                                : arena_format(arena, "uid:%u", (unsigned)uid);
        set_groups(arena, who, NULL, 0);
        who->grants = &edit_default;
        who->n_grants = 1;
    }
    who->host_uid = (int64_t)uid;
}

/* A service account gets its rights from users.yaml, by the name
 * system:serviceaccount:NAMESPACE:NAME. */
static struct err *from_account(const struct auth *a, struct arena *arena, const json_t *claims,
                                const char *audience, struct identity *who)
{
    const struct account_question question = {
        .store = a->store, .audience = audience, .now_ns = loop_wall_ns(a->loop)};
    struct account_claims c = {0};
    const char *groups[2] = {"system:serviceaccounts", NULL};
    const struct user *u = NULL;

    TRY(account_token_check(&question, arena, claims, &c));
    groups[1] = arena_format(arena, "system:serviceaccounts:%s", c.ns);
    who->user = arena_format(arena, ACCOUNT_PREFIX "%s:%s", c.ns, c.name);
    who->uid = c.uid;
    who->pod = c.pod;
    who->pod_uid = c.pod_uid;
    who->credential = c.pod_uid ? account_credential(c.pod_uid) : 0;
    who->account_credential = account_credential(c.uid);
    set_groups(arena, who, groups, 2);
    u = find_name(a, who->user);
    if (u)
        set_grants(arena, who, u);
    return NULL;
}

/* The user of this machine with that uid; -1: of users.yaml with that name. False: there is none.
 */
static bool from_named(const struct auth *a, struct arena *arena, const char *name, int64_t uid,
                       struct identity *who)
{
    const struct user *u = uid < 0 ? find_name(a, name) : NULL;

    if (u)
        from_user(arena, u, who);
    else if (uid >= 0)
        from_uid(a, arena, (uint32_t)uid, who);
    return u || uid >= 0;
}

/* A token of scontrol token: the user has the present rights. */
static struct err *from_user_claims(const struct auth *a, struct arena *arena, const json_t *claims,
                                    struct identity *who)
{
    struct user_claims c = {0};

    TRY(user_token_check(claims, loop_wall_ns(a->loop), &c));
    if (!from_named(a, arena, c.user, c.uid, who))
        return err_new(ERR_UNAUTHENTICATED, "Unauthorized: the token is of a user who is gone");
    return NULL;
}

static struct err *from_signed(const struct auth *a, struct arena *arena, const char *token,
                               const char *audience, struct identity *who)
{
    AUTO(json_freep) json_t *claims = NULL;

    if (!a->signing_key)
        return err_new(ERR_UNAUTHENTICATED, "Unauthorized: this server has no service accounts");
    TRY(jwt_open(a->signing_key, token, &claims));
    if (!user_token_is(claims))
        return from_account(a, arena, claims, audience, who);
    if (!text_equal(audience, ACCOUNT_AUDIENCE))
        return err_new(ERR_UNAUTHENTICATED, "Unauthorized: the token is for another audience");
    return from_user_claims(a, arena, claims, who);
}

/* Tokens of users.yaml and of nodes are only for our API. */
static struct err *from_token(const struct auth *a, struct arena *arena, const char *token,
                              const char *audience, struct identity *who)
{
    const struct user *u = NULL;

    if (jwt_is(token))
        return from_signed(a, arena, token, audience, who);
    u = text_equal(audience, ACCOUNT_AUDIENCE) ? find_token(a, token) : NULL;
    if (!u)
        return err_new(ERR_UNAUTHENTICATED, "Unauthorized: the token is unknown or has expired");
    from_user(arena, u, who);
    who->credential = credential_of(u);
    return NULL;
}

static struct err *from_header(const struct auth *a, struct arena *arena, const char *header,
                               struct identity *who)
{
    if (strncasecmp(header, "bearer ", 7) != 0 || strlen(header) > HEADER_MAX)
        return err_new(ERR_UNAUTHENTICATED, "Unauthorized: want 'Authorization: Bearer TOKEN'");
    return from_token(a, arena, header + 7 + strspn(header + 7, " "), ACCOUNT_AUDIENCE, who);
}

/*
 * A certificate of the nodes' authority gives the rights of the node that it names, while the node
 * has the registration that it names, and no others.
 */
static struct err *check_node_certificate(const struct auth *a, const struct api_peer *p)
{
    static const char prefix[] = NODE_USER_PREFIX;
    static const char registration[] = NODE_REGISTRATION;
    const char *node = p->cert_user + sizeof(prefix) - 1;

    if (!text_equal(p->cert_issuer, NODE_CA_NAME))
        return NULL;
    if (!text_starts_with(p->cert_user, prefix) || p->n_cert_groups != 2 ||
        !text_equal(p->cert_groups[0], NODE_GROUP) ||
        !text_starts_with(p->cert_groups[1], registration) || !a->store ||
        !node_is_registered(a->store, node, p->cert_groups[1] + sizeof(registration) - 1))
        return err_new(ERR_UNAUTHENTICATED,
                       "Unauthorized: the certificate's registration has ended: join again with a "
                       "token of mete token node --name NAME");
    return NULL;
}

static uint64_t registration_credential(const char *id)
{
    uint64_t credential = fnv_text(FNV_START, id);

    return credential ? credential : 1;
}

void auth_end_registration(const struct auth *a, const char *id)
{
    if (a->token_revoked)
        a->token_revoked(a->revoked_arg, registration_credential(id));
}

static struct err *from_certificate(const struct auth *a, struct arena *arena,
                                    const struct api_peer *p, struct identity *who)
{
    const struct user *u = find_name(a, p->cert_user);

    TRY(check_node_certificate(a, p));
    if (text_equal(p->cert_issuer, NODE_CA_NAME))
        who->credential = registration_credential(p->cert_groups[1] + strlen(NODE_REGISTRATION));
    who->user = arena_strdup(arena, p->cert_user);
    set_groups(arena, who, p->cert_groups, p->n_cert_groups);
    if (text_equal(p->cert_user, "admin") && has_group(who, "system:masters"))
        who->host_uid = 0;
    if (u)
        set_grants(arena, who, u);
    if (u && u->host_uid >= 0)
        who->host_uid = u->host_uid;
    return NULL;
}

void auth_describe(const struct auth *a, struct arena *arena, const char *user,
                   const char *const *groups, size_t n_groups, struct identity *ret)
{
    const struct user *u = find_name(a, user);
    struct identity who = {.user = arena_strdup(arena, user), .host_uid = -1};

    if (u)
        from_user(arena, u, &who);
    else
        set_groups(arena, &who, groups, n_groups);
    identity_conclude(a, &who);
    *ret = who;
}

static struct err *cannot_impersonate(const struct identity *who, const struct rbac_ask *ask)
{
    AUTO_FREE char *where = ask->ns ? mem_format("in the namespace \"%s\"", ask->ns)
                                    : mem_strdup("at the cluster scope");

    return err_new(ERR_FORBIDDEN,
                   "%s \"%.253s\" is forbidden: User \"%s\" cannot impersonate resource \"%s\" in "
                   "API group \"\" %s",
                   ask->resource, ask->name, who->user, ask->resource, where);
}

/* Administrators may impersonate everybody, others whom their roles name. */
static struct err *check_impersonation(struct arena *arena, const struct identity *who,
                                       const char *user, const char *const *groups, size_t n)
{
    static const char account[] = "system:serviceaccount:";
    struct rbac_ask ask = {.verb = "impersonate", .group = "", .resource = "users", .name = user};
    const char *colon = NULL;

    if (who->is_admin)
        return NULL;
    if (text_starts_with(user, account))
        colon = strchr(user + sizeof(account) - 1, ':');
    if (colon) {
        const char *ns = user + sizeof(account) - 1;

        ask.resource = "serviceaccounts";
        ask.ns = arena_strndup(arena, ns, (size_t)(colon - ns));
        ask.name = colon + 1;
    }
    if (!rbac_allows(who->rbac, who, &ask))
        return cannot_impersonate(who, &ask);
    ask = (struct rbac_ask){.verb = "impersonate", .group = "", .resource = "groups"};
    for (size_t i = 0; i < n; i++) {
        ask.name = groups[i];
        if (!rbac_allows(who->rbac, who, &ask))
            return cannot_impersonate(who, &ask);
    }
    return NULL;
}

/* kubectl --as and --as-group */
static struct err *auth_impersonate(const struct auth *a, struct arena *arena,
                                    const struct api_request *r, struct identity *who)
{
    const char *user = request_header(r, "impersonate-user");
    const char **groups = arena_alloc(arena, (r->n_headers + 1) * sizeof(*groups));
    const struct identity proof = *who;
    const char *impersonator = NULL;
    size_t n = 0;

    for (size_t i = 0; i < r->n_headers; i++)
        if (text_equal(r->headers[i].name, "impersonate-group"))
            groups[n++] = r->headers[i].value;
    if (!user && n == 0)
        return NULL;
    if (!user)
        return err_new(ERR_BAD_REQUEST, "impersonation of a group wants a user too");
    TRY(check_impersonation(arena, who, user, groups, n));
    impersonator = who->user;
    auth_describe(a, arena, user, groups, n, who);
    who->credential = proof.credential;
    who->account_credential = proof.account_credential;
    who->impersonator = impersonator;
    return NULL;
}

bool auth_find_user(const struct auth *a, const char *name, int64_t *ret_uid)
{
    const struct user *u = find_name(a, name);
    uint32_t uid = 0;

    if (u) {
        *ret_uid = u->uid;
        return true;
    }
    if (!a->user_uid || !a->user_uid(a->arg, name, &uid))
        return false;
    *ret_uid = (int64_t)uid;
    return true;
}

/* Slurmrestd's X-SLURM-USER-NAME: the caller's own name, or the user as whom an administrator
 * asks. */
static struct err *auth_take_slurm_user(const struct auth *a, struct arena *arena,
                                        const struct api_request *r, struct identity *who)
{
    const char *name = request_header(r, "x-slurm-user-name");
    const struct identity proof = *who;
    int64_t uid = -1;

    if (!name || text_equal(name, who->user))
        return NULL;
    if (!who->is_admin || !auth_find_user(a, name, &uid))
        return err_new(ERR_UNAUTHENTICATED,
                       "Unauthorized: the token is of User \"%s\", X-SLURM-USER-NAME is \"%.253s\"",
                       who->user, name);
    *who = (struct identity){.host_uid = -1,
                             .credential = proof.credential,
                             .account_credential = proof.account_credential,
                             .impersonator = proof.user};
    (void)from_named(a, arena, name, uid, who); /* was found above */
    identity_conclude(a, who);
    return NULL;
}

struct err *auth_identify(const struct auth *a, struct arena *arena, const struct api_request *r,
                          struct identity *ret)
{
    const char *header = request_header(r, "authorization");
    struct identity who = {.host_uid = -1};

    if (header)
        TRY(from_header(a, arena, header, &who));
    else if (r->peer.is_unix && r->peer.uid != UINT32_MAX)
        from_uid(a, arena, r->peer.uid, &who);
    else if (r->peer.cert_user)
        TRY(from_certificate(a, arena, &r->peer, &who));
    else
        return err_new(ERR_UNAUTHENTICATED,
                       "Unauthorized: want a client certificate or a bearer token");
    identity_conclude(a, &who);
    TRY(auth_impersonate(a, arena, r, &who));
    TRY(auth_take_slurm_user(a, arena, r, &who));
    *ret = who;
    return NULL;
}

bool auth_uid_is_admin(const struct auth *a, struct arena *arena, uint32_t uid)
{
    struct identity who = {.host_uid = -1};

    from_uid(a, arena, uid, &who);
    identity_conclude(a, &who);
    return who.is_admin;
}

struct err *auth_identify_token(const struct auth *a, struct arena *arena, const char *token,
                                const char *audience, struct identity *ret)
{
    struct identity who = {.host_uid = -1};

    TRY(from_token(a, arena, token, audience, &who));
    identity_conclude(a, &who);
    *ret = who;
    return NULL;
}
