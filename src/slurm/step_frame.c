/* step_frame.c - the frames between srun and the manager of a step */

#include "slurm/step_frame.h"

static void frame_add_one(struct buf *out, char kind, uint32_t rank, struct str payload)
{
    buf_add_char(out, kind);
    buf_add_u32(out, rank);
    buf_add_u32(out, (uint32_t)payload.size);
    buf_add(out, payload.at, payload.size);
}

void step_frame_add(struct buf *out, char kind, uint32_t rank, struct str payload)
{
    while (payload.size > STEP_FRAME_MAX) {
        frame_add_one(out, kind, rank, (struct str){payload.at, STEP_FRAME_MAX});
        payload.at += STEP_FRAME_MAX;
        payload.size -= STEP_FRAME_MAX;
    }
    frame_add_one(out, kind, rank, payload);
}

static bool is_frame_kind(char kind)
{
    switch ((enum step_frame_kind)kind) {
    case STEP_INPUT:
    case STEP_SIGNAL:
    case STEP_SIZE:
    case STEP_OUTPUT:
    case STEP_ERRORS:
    case STEP_START:
    case STEP_EXIT:
    case STEP_FENCE:
    case STEP_PMIX:
    case STEP_ABORT:
    case STEP_WARNING:
    case STEP_FAILED:
        return true;
    }
    return false;
}

struct err *step_frame_read(struct str bytes, struct step_frame *ret, size_t *ret_size)
{
    uint32_t size;

    *ret_size = 0;
    if (bytes.size > 0 && !is_frame_kind(bytes.at[0]))
        return err_new(ERR_INVALID, "the stream of the step has an unknown frame");
    if (bytes.size < STEP_FRAME_HEAD)
        return NULL;
    size = str_u32(bytes.at + 5);
    if (size > STEP_FRAME_MAX)
        return err_new(ERR_INVALID, "the stream of the step has a frame of %u bytes", size);
    if (bytes.size - STEP_FRAME_HEAD < size)
        return NULL;
    *ret = (struct step_frame){.kind = bytes.at[0],
                               .rank = str_u32(bytes.at + 1),
                               .payload = {bytes.at + STEP_FRAME_HEAD, size}};
    *ret_size = STEP_FRAME_HEAD + size;
    return NULL;
}

struct err *step_frames_take(struct buf *received, step_frame_fn fn, void *arg)
{
    struct step_frame frame;
    size_t taken = 0;
    struct err *e = NULL;

    while (!e) {
        struct str rest = {received->at + taken, received->size - taken};
        size_t size = 0;

        e = step_frame_read(rest, &frame, &size);
        if (e || size == 0)
            break;
        e = fn(arg, &frame);
        taken += size;
    }
    buf_consume(received, taken);
    return e;
}
