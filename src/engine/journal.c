/* journal.c - opening, keeping and undoing trials */

#include "engine/journal.h"

#include <assert.h>

size_t journal_open(struct journal *j)
{
    j->depth++;
    return j->notes.n;
}

void journal_keep(struct journal *j, size_t mark)
{
    assert(j->depth > 0 && mark <= j->notes.n);
    j->depth--;
    if (j->depth == 0)
        vec_clear(&j->notes);
}

/* A memcpy of a constant size compiles to one move. */
static void note_put_back(const struct journal *j, const struct journal_note *note)
{
    switch (note->size) {
    case 0:
        j->on_mark(j->arg, note->at);
        break;
    case 8:
        memcpy(note->at, &note->old, 8);
        break;
    case 4:
        memcpy(note->at, &note->old, 4);
        break;
    default:
        memcpy(note->at, &note->old, note->size);
        break;
    }
}

void journal_undo(struct journal *j, size_t mark)
{
    assert(j->depth > 0 && mark <= j->notes.n);
    while (j->notes.n > mark) {
        const struct journal_note note = j->notes.at[--j->notes.n];

        note_put_back(j, &note);
    }
    j->depth--;
}

void journal_done(struct journal *j)
{
    vec_done(&j->notes);
}

void journal_mark(struct journal *j, void *at)
{
    if (j->depth > 0)
        vec_add(&j->notes, (struct journal_note){.at = at});
}
