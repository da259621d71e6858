/*
 * journal.h - undo for words of memory
 *
 * While a trial is open, the journal notes the old value of each word before it changes. Closing
 * the trial forgets the notes, or restores the values, newest first, in time proportional to the
 * number of notes. Trials nest. Memory with notes on it must not move before its trial closes.
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
    uint32_t size; /* 0: a mark: the undo passes `at` to `on_mark` */
};

struct journal {
    VEC(struct journal_note) notes;
    unsigned depth; /* number of open trials */
    void (*on_mark)(void *arg, void *at);
    void *arg;
};

/* Opens a trial. The result is the mark for the call that closes the trial. */
size_t journal_open(struct journal *j);
void journal_keep(struct journal *j, size_t mark);
void journal_undo(struct journal *j, size_t mark);
void journal_done(struct journal *j);

void journal_mark(struct journal *j, void *at);

/* Notes `size` (at most 8) bytes at `at`. Does nothing when no trial is open. */
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
