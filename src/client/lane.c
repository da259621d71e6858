/* lane.c - the output of one stream, within its credit */

#include "client/lane.h"

enum {
    CREDIT_MAX = 1 << 30
};

bool lane_flush(struct lane *l, uint32_t id, const struct lane_way *way)
{
    size_t sent = 0;

    while (sent < l->out.size && l->credit > 0 && !way->is_full(way->arg)) {
        size_t size = l->out.size - sent;

        if (size > l->credit)
            size = l->credit;
        if (size > FRAME_PAYLOAD_MAX)
            size = FRAME_PAYLOAD_MAX;
        way->data(way->arg, id, (struct str){l->out.at + sent, size});
        l->credit -= (uint32_t)size;
        sent += size;
    }
    buf_consume(&l->out, sent);
    return l->out.size == 0;
}

void lane_take_credit(struct lane *l, uint32_t bytes)
{
    l->credit = bytes > CREDIT_MAX - l->credit ? CREDIT_MAX : l->credit + bytes;
}
