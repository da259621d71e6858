/*
 * image_sandbox_linux.h - sandboxes for untrusted work on images
 *
 * A fresh process of root's with one thread enters a sandbox, and never leaves it. Inside, the
 * process has no privileges on the machine, and dies with its parent.
 */
#pragma once

#include "base/err.h"

/*
 * The sandbox for unpacking: a user namespace in which the uids 0 .. IMAGE_UID_COUNT-1 are
 * IMAGE_UID_BASE and up on this machine; `dir` as the whole file system; no network, no other
 * processes, only the system calls that unpacking needs, and at most IMAGE_MEMORY_MAX of memory.
 * Descriptors 0, 1 and 2 stay open.
 */
struct err *image_sandbox_enter(const char *dir) MUST_CHECK;

/*
 * The sandbox for fetching: the user IMAGE_FETCH_UID, without capabilities, with `dir` as /tmp and
 * as current directory. The rest of the file system and the network stay visible.
 */
struct err *image_sandbox_fetch(const char *dir) MUST_CHECK;
