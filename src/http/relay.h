/*
 * relay.h - an exchange before another: the logic answers the one, and the answer goes to the other
 *
 * For what looks at a reply, changes it, or gives up waiting for it. The owner has a struct relay
 * as its first member, and its table of functions is RELAY_OPS with functions of its own in the
 * places of some.
 */
#pragma once

#include "http/request.h"

struct relay {
    struct exchange own;           /* for the logic; the first member */
    struct exchange *x;            /* the client's */
    void (*free)(struct relay *r); /* frees the owner; called when the exchange is over */
};

/* Puts `r` before `x`: takes the request and the callbacks of `x`. */
void relay_init(struct relay *r, const struct exchange_ops *ops, struct exchange *x,
                void (*free_fn)(struct relay *r));

static inline struct relay *relay_of(struct exchange *own)
{
    return (struct relay *)(void *)own;
}

/* The functions of RELAY_OPS: each does the same to the client's exchange; those that end it free
 * the owner. */
void relay_reply(struct exchange *own, const struct api_reply *reply);
void relay_begin(struct exchange *own, const struct api_reply *reply);
void relay_piece(struct exchange *own, struct str piece);
void relay_end(struct exchange *own);
void relay_cut(struct exchange *own);
size_t relay_backlog(const struct exchange *own);
struct channel *relay_upgrade(struct exchange *own, const struct upgrade *u);

#define RELAY_OPS(reply_fn, begin_fn)                                                     \
    {                                                                                     \
        .reply = (reply_fn), .begin = (begin_fn), .piece = relay_piece, .end = relay_end, \
        .cut = relay_cut, .backlog = relay_backlog, .upgrade = relay_upgrade              \
    }

/* The callbacks that relay_init gives to the client's exchange; `arg` is the relay. relay_on_close
 * tells the logic, and frees the owner. */
void relay_on_close(void *arg);
void relay_on_drain(void *arg);
