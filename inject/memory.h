/* memory.h - what the hooks of memory share with each other */
#pragma once

#include "driver.h"
#include "table.h"

/* An allocation that is about to be made. */
struct memory_claim {
    int gpu; /* SHARE_NONE: not of a share */
    uint64_t bytes;
    bool is_refused; /* the share has too little left */
};

/* Takes memory of the share of a gpu, or of the current device's. */
struct memory_claim memory_claim(int gpu, uint64_t bytes);
struct memory_claim memory_claim_here(uint64_t bytes);
/*
 * Ends the claim by the driver's answer: notes the allocation under `key`, or gives the memory
 * back. Returns `result`.
 */
CUresult memory_settle(const struct memory_claim *c, CUresult result, enum table_kind kind,
                       uint64_t key);
/* Gives the memory of an entry back. */
void memory_release(const struct table_entry *e);

/* The allocations of a context that ended are gone. */
void memory_end_context(const void *context);
