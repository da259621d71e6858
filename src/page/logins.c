/* logins.c - links and sessions, found by the digests of their secrets */

#include "page/logins.h"

#include <stdio.h>

#include "access/digest.h"
#include "base/mem.h"
#include "base/vec.h"

enum {
    SECRET_SIZE = 16
};

/* A link or a session. */
struct secret_slot {
    uint8_t digest[SHA256_SIZE];
    struct login session;
};

typedef VEC(struct secret_slot) secret_slots;

struct logins {
    logins_random_fn random;
    void *arg;
    uint64_t next_id;
    secret_slots links; /* both: the oldest first */
    secret_slots open;
};

/* ---- credentials ---- */

void credential_copy(struct credential *ret, const struct credential *from)
{
    struct credential c = {.is_unix = from->is_unix,
                           .uid = from->uid,
                           .cert_user = from->cert_user ? mem_strdup(from->cert_user) : NULL,
                           .n_cert_groups = from->n_cert_groups,
                           .authorization =
                               from->authorization ? mem_strdup(from->authorization) : NULL,
                           .user = mem_strdup(from->user)};

    c.cert_groups = mem_alloc((c.n_cert_groups + 1) * sizeof(*c.cert_groups));
    for (size_t i = 0; i < c.n_cert_groups; i++)
        c.cert_groups[i] = mem_strdup(from->cert_groups[i]);
    *ret = c;
}

void credential_done(struct credential *c)
{
    for (size_t i = 0; i < c->n_cert_groups; i++)
        free(c->cert_groups[i]);
    free(c->cert_groups);
    free(c->cert_user);
    free(c->authorization);
    free(c->user);
    *c = (struct credential){0};
}

static void credential_of(struct credential *ret, const struct api_request *r, const char *user)
{
    const struct credential borrowed = {
        .is_unix = r->peer.is_unix,
        .uid = r->peer.uid,
        .cert_user = (char *)(uintptr_t)r->peer.cert_user,
        .cert_groups = (char **)(uintptr_t)r->peer.cert_groups,
        .n_cert_groups = r->peer.n_cert_groups,
        .authorization = (char *)(uintptr_t)request_header(r, "authorization"),
        .user = (char *)(uintptr_t)user,
    };

    credential_copy(ret, &borrowed);
}

/* ---- slots ---- */

static void slots_drop(secret_slots *slots, size_t i)
{
    credential_done(&slots->at[i].session.who);
    vec_remove(slots, i);
}

static void slots_expire(secret_slots *slots, int64_t now_ns, size_t max)
{
    while (slots->n > 0 && (slots->at[0].session.until_ns <= now_ns || slots->n >= max))
        slots_drop(slots, 0);
}

/* Compares all bytes of all digests, so that the time tells nothing about them. */
static struct secret_slot *slots_find(const secret_slots *slots, struct str secret)
{
    uint8_t digest[SHA256_SIZE];
    struct secret_slot *found = NULL;

    digest_sha256(secret, digest);
    VEC_EACH (slots, slot) {
        volatile uint8_t differ = 0;

        for (size_t i = 0; i < SHA256_SIZE; i++)
            differ = (uint8_t)(differ | (slot->digest[i] ^ digest[i]));
        if (differ == 0)
            found = slot;
    }
    return found;
}

static void secret_make(struct logins *s, struct secret_slot *slot, char ret[LOGIN_KEY_SIZE])
{
    uint8_t bytes[SECRET_SIZE];

    s->random(s->arg, bytes, sizeof(bytes));
    for (size_t i = 0; i < SECRET_SIZE; i++)
        (void)snprintf(ret + 2 * i, 3, "%02x", bytes[i]);
    digest_sha256(str_of(ret), slot->digest);
}

/* ---- sessions ---- */

struct logins *logins_new(logins_random_fn random, void *arg)
{
    struct logins *s = mem_alloc(sizeof(*s));

    s->random = random;
    s->arg = arg;
    return s;
}

void logins_free(struct logins *s)
{
    if (!s)
        return;
    while (s->links.n > 0)
        slots_drop(&s->links, s->links.n - 1);
    while (s->open.n > 0)
        slots_drop(&s->open, s->open.n - 1);
    vec_done(&s->links);
    vec_done(&s->open);
    free(s);
}

void logins_make_link(struct logins *s, const struct api_request *r, const char *user,
                      int64_t now_ns, char ret_key[LOGIN_KEY_SIZE])
{
    struct secret_slot slot = {.session.until_ns = now_ns + LOGIN_LINK_NS};

    slots_expire(&s->links, now_ns, LOGIN_LINKS_MAX);
    secret_make(s, &slot, ret_key);
    credential_of(&slot.session.who, r, user);
    vec_add(&s->links, slot);
}

struct err *logins_open(struct logins *s, const char *key, int64_t now_ns,
                        char ret_cookie[LOGIN_KEY_SIZE])
{
    struct secret_slot *link = slots_find(&s->links, str_of(key));
    struct secret_slot made = {
        .session = {.id = s->next_id + 1, .until_ns = now_ns + LOGIN_LIFE_NS}};

    if (!link || link->session.until_ns <= now_ns)
        return err_new(ERR_FORBIDDEN, "this link was used, or is older than 10 minutes");
    s->next_id++;
    slots_expire(&s->open, now_ns, LOGINS_MAX);
    secret_make(s, &made, ret_cookie);
    credential_copy(&made.session.who, &link->session.who);
    slots_drop(&s->links, (size_t)(link - s->links.at));
    vec_add(&s->open, made);
    return NULL;
}

const struct login *logins_find(struct logins *s, struct str cookie, int64_t now_ns)
{
    const struct secret_slot *found;

    slots_expire(&s->open, now_ns, LOGINS_MAX + 1);
    found = slots_find(&s->open, cookie);
    return found ? &found->session : NULL;
}

const struct login *logins_find_id(struct logins *s, uint64_t id, int64_t now_ns)
{
    slots_expire(&s->open, now_ns, LOGINS_MAX + 1);
    VEC_EACH (&s->open, slot)
        if (slot->session.id == id)
            return &slot->session;
    return NULL;
}

void logins_close(struct logins *s, uint64_t id)
{
    for (size_t i = 0; i < s->open.n; i++) {
        if (s->open.at[i].session.id != id)
            continue;
        slots_drop(&s->open, i);
        return;
    }
}
