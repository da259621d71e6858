/*
 * step_frame.h - the frames between srun and the manager of a step on a node
 * (cli/slurm/step_linux.c)
 *
 * A frame has a head of nine bytes: its kind, the rank of a task (four bytes, the most significant
 * first), and the size of its payload (likewise). srun sends one line of JSON (step_plan.h) before
 * its frames.
 */
#pragma once

#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

enum step_frame_kind {
    STEP_INPUT = 'i',  /* to the manager: bytes for the task's stdin; none: its end */
    STEP_SIGNAL = 's', /* to the manager: one byte, the number of a signal */
    STEP_SIZE = 'z',   /* to the manager: columns and rows of the terminal, two bytes each */
    STEP_OUTPUT = 'o', /* from the manager: bytes of stdout */
    STEP_ERRORS = 'e', /* from the manager: bytes of stderr */
    STEP_START =
        'b',         /* from the manager: all tasks were started; {"pids"}; to sattach: {"ranks"} */
    STEP_EXIT = 'x', /* from the manager: the end of a task; JSON (step_exit.h) */
    STEP_FENCE = 'f',   /* both ways: what the tasks of a node, then of all, have put for PMI; an
                           empty one is its end */
    STEP_PMIX = 'p',    /* both ways: bytes of messages of PMIx (pmix_message.h) */
    STEP_ABORT = 'a',   /* from the manager: a task asks by PMI to end the step; text */
    STEP_WARNING = 'w', /* from the manager: a text for the user */
    STEP_FAILED = 'm'   /* from the manager: the step cannot run; text */
};

enum {
    STEP_FRAME_HEAD = 9,
    STEP_FRAME_MAX = 64 << 10 /* bytes of a payload */
};

#define STEP_ALL_RANKS UINT32_MAX

/* The payload is borrowed from the buffer that it was read from. */
struct step_frame {
    char kind;
    uint32_t rank;
    struct str payload;
};

/* Adds one frame; a payload over STEP_FRAME_MAX becomes several frames of the same kind. */
void step_frame_add(struct buf *out, char kind, uint32_t rank, struct str payload);

/*
 * Reads the first frame of `bytes`. `*ret_size` is its size with its head; 0: the frame is not
 * whole yet. ERR_INVALID: an unknown kind, or a payload over STEP_FRAME_MAX; what follows cannot be
 * read.
 */
struct err *step_frame_read(struct str bytes, struct step_frame *ret, size_t *ret_size) MUST_CHECK;

typedef struct err *(*step_frame_fn)(void *arg, const struct step_frame *frame);

/* Takes the whole frames out of `received` and gives each to `fn`, which must leave the buffer
 * alone. Stops behind the first frame for which `fn` fails, with its error, and at bytes that are
 * no frame, as step_frame_read. */
struct err *step_frames_take(struct buf *received, step_frame_fn fn, void *arg) MUST_CHECK;
