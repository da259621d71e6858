/* pmix_message.c - messages between the PMIx servers of a step, its managers and srun */

#include "slurm/pmix_message.h"

enum {
    RANK_SIZE = 4
};

static bool is_message_kind(char kind)
{
    switch ((enum pmix_message_kind)kind) {
    case PMIX_MESSAGE_SETUP:
    case PMIX_MESSAGE_VARIABLE:
    case PMIX_MESSAGE_READY:
    case PMIX_MESSAGE_CONNECTED:
    case PMIX_MESSAGE_FINALIZED:
    case PMIX_MESSAGE_ABORT:
    case PMIX_MESSAGE_FAILED:
    case PMIX_MESSAGE_FENCE:
    case PMIX_MESSAGE_ASK:
    case PMIX_MESSAGE_TELL:
    case PMIX_MESSAGE_OVER:
        return true;
    }
    return false;
}

void pmix_message_add(struct buf *out, const struct pmix_message *m)
{
    buf_add_char(out, m->kind);
    buf_add_u32(out, m->rank);
    buf_add_u32(out, m->number);
    buf_add_u32(out, (uint32_t)m->status);
    buf_add_u32(out, (uint32_t)m->payload.size);
    buf_add(out, m->payload.at, m->payload.size);
}

struct err *pmix_message_read(struct str bytes, struct pmix_message *ret, size_t *ret_size)
{
    uint32_t size;

    *ret_size = 0;
    if (bytes.size > 0 && !is_message_kind(bytes.at[0]))
        return err_new(ERR_INVALID, "PMIx of the step has an unknown message");
    if (bytes.size < PMIX_MESSAGE_HEAD_SIZE)
        return NULL;
    size = str_u32(bytes.at + 13);
    if (size > PMIX_MESSAGE_MAX)
        return err_new(ERR_INVALID, "PMIx of the step has a message of %u bytes", size);
    if (bytes.size - PMIX_MESSAGE_HEAD_SIZE < size)
        return NULL;
    *ret = (struct pmix_message){.kind = bytes.at[0],
                                 .rank = str_u32(bytes.at + 1),
                                 .number = str_u32(bytes.at + 5),
                                 .status = (int32_t)str_u32(bytes.at + 9),
                                 .payload = {bytes.at + PMIX_MESSAGE_HEAD_SIZE, size}};
    *ret_size = PMIX_MESSAGE_HEAD_SIZE + size;
    return NULL;
}

struct err *pmix_messages_take(struct buf *received, pmix_message_fn fn, void *arg)
{
    struct pmix_message m;
    size_t taken = 0;
    struct err *e = NULL;

    while (!e) {
        struct str rest = {received->at + taken, received->size - taken};
        size_t size = 0;

        e = pmix_message_read(rest, &m, &size);
        if (e || size == 0)
            break;
        e = fn(arg, &m);
        taken += size;
    }
    buf_consume(received, taken);
    return e;
}

struct err *pmix_fence_read(const struct pmix_message *m, struct str *ret_ranks,
                            struct str *ret_data)
{
    size_t size = (size_t)m->number * RANK_SIZE;

    if (m->payload.size < size)
        return err_new(ERR_INVALID, "a fence of %u ranks has %zu bytes", m->number,
                       m->payload.size);
    *ret_ranks = (struct str){m->payload.at, size};
    *ret_data = (struct str){m->payload.at + size, m->payload.size - size};
    return NULL;
}

uint32_t pmix_fence_rank(struct str ranks, size_t i)
{
    return str_u32(ranks.at + i * RANK_SIZE);
}

void pmix_fence_rank_add(struct buf *ranks, uint32_t rank)
{
    buf_add_u32(ranks, rank);
}
