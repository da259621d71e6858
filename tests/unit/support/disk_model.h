/*
 * disk_model.h - a disk in memory, as a VFS for SQLite: unsynced writes may be lost, in part
 *
 * Files are bytes in sectors of 512. A write is seen at once and durable after a sync of its file.
 * A power cut keeps of the unsynced writes a part chosen by the seed, sector by sector, the last
 * one torn in the middle, with or without changes of size; a file made or deleted whose directory
 * was not synced may be as before. A failed sync drops its writes: reads still see them, and no
 * later sync makes them durable. A full disk writes the bytes that fit and reports SQLITE_FULL.
 *
 * As in SQLite's own VFS, the first sync of a log since its opening also syncs its directory, and
 * so does a deletion with `syncDir`. Only one model exists at a time, registered as DISK_MODEL_VFS.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define DISK_MODEL_VFS "diskmodel"

struct disk_model;

struct disk_model *disk_model_new(uint64_t seed);
void disk_model_free(struct disk_model *m); /* with all its files closed: asserted */

/* Stops the machine in the middle of its n-th operation from now (1: the next): that operation and
 * all later ones fail. */
void disk_model_stop_in(struct disk_model *m, uint64_t operations);
bool disk_model_is_stopped(const struct disk_model *m);

/* Kills the process, so that all its operations fail; unsynced writes stay. Restart after a kill or
 * stop, with all files closed. */
void disk_model_kill(struct disk_model *m);
void disk_model_restart(struct disk_model *m);

/* Restarts, and loses a part of the unsynced writes. */
void disk_model_power_cut(struct disk_model *m);

/* Fails `count` syncs (negative: all) from the n-th from now on (1: the next). 0, 0: none. */
void disk_model_fail_syncs(struct disk_model *m, uint64_t nth, int count);
uint64_t disk_model_syncs_failed(const struct disk_model *m);

/* Sets the disk's size in bytes; negative: unlimited. If the files are already larger, no file can
 * grow. */
void disk_model_set_room(struct disk_model *m, int64_t bytes);
int64_t disk_model_used(const struct disk_model *m);

/* Flips one bit, both of the durable bytes and of the seen ones. False: the file has no such byte.
 */
bool disk_model_flip(struct disk_model *m, const char *name, int64_t byte, unsigned bit);

/* Cuts a file to `size`, for tests of every prefix. False: no such file. */
bool disk_model_cut(struct disk_model *m, const char *name, int64_t size);

/* The size of a file; -1: no such file. */
int64_t disk_model_size(const struct disk_model *m, const char *name);
