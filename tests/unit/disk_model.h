/*
 * disk_model.h - a disk in memory, as a VFS for SQLite: what is not synced may be lost, in part
 *
 * Files are bytes in sectors of 512. A write is seen at once and durable after a sync of its file.
 * A power cut keeps of the unsynced writes a part chosen by the seed, sector by sector, the last
 * one torn in the middle, with or without changes of size; a file made or deleted whose directory
 * was not synced may be as before. A sync that fails drops what it was to write: it stays in sight,
 * and no later sync will write it. A full disk writes what fits and says so.
 *
 * As SQLite's own VFS does, the first sync of a log since it was opened syncs its directory, and so
 * does a deletion that is asked to. One model at a time: it is registered under DISK_MODEL_VFS.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define DISK_MODEL_VFS "diskmodel"

struct disk_model;

struct disk_model *disk_model_new(uint64_t seed);
void disk_model_free(struct disk_model *m); /* with all its files closed: asserted */

/* The machine stops in the middle of its n-th operation from now (1: the next): all of them fail
 * then. */
void disk_model_stop_in(struct disk_model *m, uint64_t operations);
bool disk_model_is_stopped(const struct disk_model *m);

/* After a stop (by kill: at once), with all files closed: the process is new, the machine is not.
 */
void disk_model_kill(struct disk_model *m);
void disk_model_restart(struct disk_model *m);

/* The same, and what was not synced is lost in part. */
void disk_model_power_cut(struct disk_model *m);

/* Of the syncs from the n-th from now (1: the next) so many fail; negative: all. 0, 0: none. */
void disk_model_fail_syncs(struct disk_model *m, uint64_t nth, int count);
uint64_t disk_model_syncs_failed(const struct disk_model *m);

/* How many bytes all files together may have; below what they have nothing can grow. Negative: no
 * end. */
void disk_model_set_room(struct disk_model *m, int64_t bytes);
int64_t disk_model_used(const struct disk_model *m);

/* Flips one bit of what is durable and seen. False where the file has no such byte. */
bool disk_model_flip(struct disk_model *m, const char *name, int64_t byte, unsigned bit);

/* Cuts a file to `size`; for "every prefix". False where there is no such file. */
bool disk_model_cut(struct disk_model *m, const char *name, int64_t size);

/* The size of a file; -1: there is none. */
int64_t disk_model_size(const struct disk_model *m, const char *name);
