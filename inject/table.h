/*
 * table.h - the allocations of this process, by their address or handle
 *
 * All functions are safe from several threads.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum table_kind {
    TABLE_FREE, /* no entry */
    TABLE_MEMORY,
    TABLE_ARRAY,
    TABLE_HANDLE,  /* physical memory: cuMemCreate */
    TABLE_MAPPING, /* of a handle at an address */
    TABLE_POOLED,  /* memory of a pool */
    TABLE_POOL,
    TABLE_GRAPH /* ready to be launched; `bytes`: the threads of its kernels */
};

struct table_entry {
    enum table_kind kind;
    int gpu;
    uint64_t key;
    uint64_t bytes;
    void *context; /* memory and arrays end with it */
    uint64_t of;   /* of a mapping: its handle; of pooled memory: its pool */
    uint32_t refs; /* of a handle: references and mappings */
};

/* Copies the entry. False: no memory. */
bool table_put(const struct table_entry *e);
bool table_get(enum table_kind kind, uint64_t key, struct table_entry *ret);
/* Removes the entry and returns it. */
bool table_take(enum table_kind kind, uint64_t key, struct table_entry *ret);
/* Adds to an entry's references. `*ret`: the entry afterwards; removed if none is left. */
bool table_refer(enum table_kind kind, uint64_t key, int more, struct table_entry *ret);
/* Takes all entries that `matches`, and gives each to `taken`, which may not use the table. */
struct table_filter {
    bool (*matches)(const struct table_entry *e, const void *arg);
    void (*taken)(const struct table_entry *e);
    const void *arg;
};
void table_take_all(const struct table_filter *f);
/* Forgets everything. */
void table_clear(void);
