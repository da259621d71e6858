/*
 * claim_disk.h - a persistent volume of the node's own: a file system in a file of its size
 * (claim_disk_linux.c, in the worker)
 *
 * DIR/disk is a file whose blocks are allocated when it is made, so that the volume can neither
 * outgrow its size nor find its space taken. The file has an ext4 file system, mounted through a
 * loop device at DIR/mount, in the node's mount namespace. DIR/mount/volume is what containers get.
 * The file system's own records take a part of the size.
 */
#pragma once

#include "base/err.h"
#include "node/host.h"

/* The directory of a volume, below DATA/node. The caller frees it. */
char *claim_disk_dir(const char *node_dir, const char *volume);
/* The directory for containers. The caller frees it. */
char *claim_disk_path(const char *dir);

/*
 * Makes the volume if it does not exist, and mounts it if it is not mounted. Repeatable, and safe
 * against a kill at any instruction: a loop device that still has the file is used again.
 * ERR_UNAVAILABLE: the disk has no room, or a program or device is missing.
 */
struct err *claim_disk_mount(const char *dir, int64_t bytes) MUST_CHECK;
/* Gives the top directory of a mounted volume to a group, which new files get. */
struct err *claim_disk_own(const char *dir, gid_t group) MUST_CHECK;
/* Unmounts the volume and erases it. ERR_UNAVAILABLE: it is in use. A volume that does not exist is
 * no error. */
struct err *claim_disk_erase(const char *dir) MUST_CHECK;
