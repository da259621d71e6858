/*
 * lane.h - the output of one stream of frames (client/frames.h): bytes wait here for the other
 * side's credit, and for a connection that is full
 */
#pragma once

#include <stdbool.h>

#include "base/str.h"
#include "client/frames.h"

struct lane {
    struct buf out;  /* bytes that wait; the owner adds to it, and calls buf_done */
    uint32_t credit; /* bytes that the other side still takes */
};

/* The connection of a lane. */
struct lane_way {
    void (*data)(void *arg, uint32_t id, struct str bytes); /* at most FRAME_PAYLOAD_MAX */
    bool (*is_full)(void *arg);
    void *arg;
};

static inline struct lane lane_new(void)
{
    return (struct lane){.credit = FRAME_CREDIT_FIRST};
}

/* Sends waiting bytes of stream `id`, as credit and connection allow. True: none are left. */
bool lane_flush(struct lane *l, uint32_t id, const struct lane_way *way);

/* Takes more credit. The credit stays within 1 GiB. */
void lane_take_credit(struct lane *l, uint32_t bytes);
