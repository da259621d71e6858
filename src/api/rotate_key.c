/*
 * rotate_key.c - /mete.dev/v1/secret-key: GET tells which key seals Secrets on disk; POST makes a
 * new one, and answers once no Secret needs an earlier key
 */

#include "access/keyring.h"
#include "api/handlers.h"
#include "base/mem.h"
#include "base/stamp.h"

static const int64_t LOOK_NS = 20 * NS_PER_MS;

static const char *const phases[] = {
    [KEYRING_IDLE] = "Idle", [KEYRING_ROTATING] = "Rotating", [KEYRING_FAILED] = "Failed"};

/* A client that waits for the end of its rotation. */
struct rotating {
    const struct key_rotation *rotation;
    struct exchange *x;
    struct loop_timer *timer;
};

static void answer_state(struct exchange *x, const struct keyring_state *state)
{
    AUTO(json_freep) json_t *answer = json_object();

    json_put_text(answer, "phase", phases[state->phase]);
    if (*state->id)
        json_put_text(answer, "key", state->id);
    if (*state->why)
        json_put_text(answer, "message", state->why);
    reply_json(x, 200, answer, NULL);
}

static void rotating_free(struct rotating *r)
{
    loop_timer_free(r->timer);
    free(r);
}

static void rotating_on_close(void *arg)
{
    rotating_free(arg);
}

static void rotating_on_time(void *arg)
{
    struct rotating *r = arg;
    const struct keyring_state state = r->rotation->state(r->rotation->self);
    struct exchange *x = r->x;

    if (state.phase == KEYRING_ROTATING) {
        loop_timer_set(r->timer, LOOK_NS);
        return;
    }
    x->on_close = NULL;
    rotating_free(r);
    answer_state(x, &state);
}

static struct err *rotate(const struct call *c, const struct key_rotation *rotation)
{
    struct rotating *r;

    TRY(rotation->begin(rotation->self));
    r = mem_alloc(sizeof(*r));
    *r = (struct rotating){.rotation = rotation, .x = c->x};
    r->timer = loop_timer_new(core_loop(c->core), rotating_on_time, r);
    loop_timer_set(r->timer, LOOK_NS);
    c->x->arg = r;
    c->x->on_close = rotating_on_close;
    return NULL;
}

struct err *handle_secret_key(struct call *c)
{
    const struct key_rotation *rotation = core_rotation(c->core);
    struct keyring_state state;

    if (!c->who.is_admin)
        return err_new(
            ERR_FORBIDDEN,
            "User \"%s\" cannot %s path \"%s\": the key of Secrets is for administrators",
            c->who.user, c->x->request.method, c->x->request.path);
    if (!rotation)
        return err_new(ERR_UNAVAILABLE, "this server has no key of Secrets");
    if (text_equal(c->x->request.method, "POST"))
        return rotate(c, rotation);
    state = rotation->state(rotation->self);
    answer_state(c->x, &state);
    return NULL;
}
