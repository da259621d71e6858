/*
 * journal.h - undo for words of memory
 *
 * While a trial is open, each word that is about to change is noted with what it held; closing the
 * trial either forgets the notes or puts everything back, newest first, in time proportional to
 * what was touched. Trials nest. Memory with notes on it must not move before its trial is closed.
 */
#pragma once

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/vec.h"

struct journal_note {
    void *at;
    uint64_t old;
    uint32_t size; /* 0: a mark of the caller's: `at` is passed to `on_mark` when undone */
};

struct journal {
    VEC(struct journal_note) notes;
    unsigned depth; /* of open trials */
    void (*on_mark)(void *arg, void *at);
    void *arg;
};

/* Opens a trial; pass what it returns to the call that closes it. */
size_t journal_open(struct journal *j);
void journal_keep(struct journal *j, size_t mark);
void journal_undo(struct journal *j, size_t mark);
void journal_done(struct journal *j);

void journal_mark(struct journal *j, void *at);

/* Notes `size` (at most 8) bytes at `at`. Nothing where no trial is open. */
static inline void journal_note(struct journal *j, void *at, size_t size)
{
    struct journal_note note = {.at = at, .size = (uint32_t)size};

    if (j->depth == 0)
        return;
    assert(size <= sizeof(note.old));
    memcpy(&note.old, at, size);
    vec_add(&j->notes, note);
}

#define JOURNAL_SET(j, place, value)                \
    do {                                            \
        journal_note((j), &(place), sizeof(place)); \
        (place) = (value);                          \
    } while (0)
