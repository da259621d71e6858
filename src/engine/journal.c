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

void journal_undo(struct journal *j, size_t mark)
{
    assert(j->depth > 0 && mark <= j->notes.n);
    while (j->notes.n > mark) {
        const struct journal_note note = j->notes.at[--j->notes.n];

        if (note.size == 0)
            j->on_mark(j->arg, note.at);
        else
            memcpy(note.at, &note.old, note.size);
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
