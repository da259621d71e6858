#include "api/auth.h"

#include <stdio.h>

#include "api/users.h"
#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/stamp.h"

enum {
    USERS_FILE_MAX = 1 << 20,
    TOKEN_MAX = 512
};

static const int64_t look_again_ns = 2 * NS_PER_SEC;

struct auth {
    struct loop *loop;
    struct loop_timer *timer;
    char *path;
    struct buf text; /* of the file as it was last read */
    struct users *users;
    user_name_fn user_name;
    void *arg;
};

const char *request_header(const struct api_request *r, const char *name)
{
    for (size_t i = 0; i < r->n_headers; i++) {
        if (text_equal(r->headers[i].name, name))
            return r->headers[i].value;
    }
    return NULL;
}

void auth_take_users(struct auth *a, struct users *taken)
{
    users_free(a->users);
    a->users = taken;
}

/* A missing file is an empty one: whoever deletes it has taken all tokens away. */
static struct err *read_file(const char *path, struct buf *ret)
{
    struct err *e = file_read(path, USERS_FILE_MAX, ret);

    if (e && err_code(e) == ERR_NOT_FOUND) {
        err_free(e);
        return NULL;
    }
    return e;
}

static struct err *load(struct auth *a)
{
    AUTO(buf_done) struct buf text = {0};
    struct users *users = NULL;

    TRY(read_file(a->path, &text));
    if (a->users && text.size == a->text.size &&
        (text.size == 0 || memcmp(text.at, a->text.at, text.size) == 0))
        return NULL;
    buf_clear(&a->text);
    buf_add(&a->text, text.at, text.size);
    TRY(users_parse(a->path, (struct str){.at = text.at ? text.at : "", .size = text.size},
                    &users));
    auth_take_users(a, users);
    return NULL;
}

static void look_again(void *arg)
{
    struct auth *a = arg;
    AUTO(err_freep) struct err *e = load(a);

    if (e)
        LOG(ERROR, "users file not taken, the former users stay", E(e));
    loop_timer_set(a->timer, look_again_ns);
}

struct err *auth_new(const struct auth_options *o, struct auth **ret)
{
    struct auth *a = mem_alloc(sizeof(*a));
    struct err *e = NULL;

    a->loop = o->loop;
    a->user_name = o->user_name;
    a->arg = o->arg;
    if (o->users_file) {
        a->path = mem_strdup(o->users_file);
        e = load(a);
        a->timer = loop_timer_new(o->loop, look_again, a);
        loop_timer_set(a->timer, look_again_ns);
    } else {
        e = users_parse("users", STR(""), &a->users);
    }
    if (e) {
        auth_free(a);
        return e;
    }
    *ret = a;
    return NULL;
}

void auth_free(struct auth *a)
{
    if (!a)
        return;
    loop_timer_free(a->timer);
    users_free(a->users);
    buf_done(&a->text);
    free(a->path);
    free(a);
}

/* In a time that does not tell where they differ. */
static bool tokens_equal(const uint8_t *x, const uint8_t *y)
{
    volatile uint8_t differ = 0;

    for (size_t i = 0; i < SHA256_SIZE; i++)
        differ = (uint8_t)(differ | (x[i] ^ y[i]));
    return differ == 0;
}

static const struct user *find_token(const struct auth *a, const char *token)
{
    const struct user *found = NULL;
    uint8_t digest[SHA256_SIZE];

    digest_sha256(str_of(token), digest);
    for (size_t i = 0; i < a->users->n; i++) {
        const struct user *u = &a->users->at[i];

        if (u->has_token && tokens_equal(u->token, digest) &&
            (u->token_expires_ns == 0 || loop_wall_ns(a->loop) < u->token_expires_ns))
            found = u;
    }
    return found;
}

static const struct user *find_uid(const struct auth *a, uint32_t uid)
{
    for (size_t i = 0; i < a->users->n; i++) {
        if (a->users->at[i].uid == (int64_t)uid)
            return &a->users->at[i];
    }
    return NULL;
}

static const struct user *find_name(const struct auth *a, const char *name)
{
    for (size_t i = 0; i < a->users->n; i++) {
        if (text_equal(a->users->at[i].name, name))
            return &a->users->at[i];
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

/* What follows from groups and grants. */
static void conclude(struct identity *who)
{
    static const char prefix[] = "system:node:";

    who->is_admin = has_group(who, "system:masters");
    for (size_t i = 0; i < who->n_grants; i++)
        who->is_admin |= who->grants[i].role == ROLE_CLUSTER_ADMIN;
    if (has_group(who, "system:nodes") && text_starts_with(who->user, prefix) &&
        who->user[sizeof(prefix) - 1])
        who->node = who->user + sizeof(prefix) - 1;
}

static void from_user(struct arena *a, const struct user *u, struct identity *who)
{
    who->user = arena_strdup(a, u->name);
    who->host_uid = u->host_uid;
    set_groups(a, who, (const char *const *)u->groups, u->n_groups);
    set_grants(a, who, u);
}

static struct err *from_token(const struct auth *a, struct arena *arena, const char *header,
                              struct identity *who)
{
    const struct user *u;

    if (strncasecmp(header, "bearer ", 7) != 0 || strlen(header) > TOKEN_MAX)
        return err_new(ERR_UNAUTHENTICATED, "Unauthorized: want 'Authorization: Bearer TOKEN'");
    u = find_token(a, header + 7 + strspn(header + 7, " "));
    if (!u)
        return err_new(ERR_UNAUTHENTICATED, "Unauthorized: the token is unknown or has expired");
    from_user(arena, u, who);
    return NULL;
}

/* Somebody on this machine: root, whom users.yaml names, or anybody else with edit in default. */
static void from_uid(const struct auth *a, struct arena *arena, uint32_t uid, struct identity *who)
{
    static const char *const masters[] = {"system:masters"};
    static const struct grant edit_default = {.role = ROLE_EDIT, .ns = "default"};
    const struct user *u = find_uid(a, uid);
    char name[256];

    if (uid == 0) {
        who->user = "root";
        set_groups(arena, who, masters, 1);
    } else if (u) {
        from_user(arena, u, who);
    } else {
        bool is_named = a->user_name && a->user_name(a->arg, uid, name, sizeof(name));

        who->user =
            is_named ? arena_strdup(arena, name) : arena_format(arena, "uid:%u", (unsigned)uid);
        set_groups(arena, who, NULL, 0);
        who->grants = &edit_default;
        who->n_grants = 1;
    }
    who->host_uid = (int64_t)uid;
}

static void from_certificate(const struct auth *a, struct arena *arena, const struct api_peer *p,
                             struct identity *who)
{
    const struct user *u = find_name(a, p->cert_user);

    who->user = arena_strdup(arena, p->cert_user);
    set_groups(arena, who, p->cert_groups, p->n_cert_groups);
    if (text_equal(p->cert_user, "admin") && has_group(who, "system:masters"))
        who->host_uid = 0;
    if (u)
        set_grants(arena, who, u);
    if (u && u->host_uid >= 0)
        who->host_uid = u->host_uid;
}

struct err *auth_identify(const struct auth *a, struct arena *arena, const struct api_request *r,
                          struct identity *ret)
{
    const char *header = request_header(r, "authorization");
    struct identity who = {.host_uid = -1};

    if (header)
        TRY(from_token(a, arena, header, &who));
    else if (r->peer.is_unix && r->peer.uid != UINT32_MAX)
        from_uid(a, arena, r->peer.uid, &who);
    else if (r->peer.cert_user)
        from_certificate(a, arena, &r->peer, &who);
    else
        return err_new(ERR_UNAUTHENTICATED,
                       "Unauthorized: want a client certificate or a bearer token");
    conclude(&who);
    *ret = who;
    return NULL;
}
