/*
 * image_sandbox_linux.h - the places in which what is not trusted is done with images
 *
 * Both are entered by a fresh process of root's with one thread, which is another after it: no
 * privilege in the machine, nothing of its files, dead with its parent.
 */
#pragma once

#include "base/err.h"

/*
 * For unpacking. A user namespace in which uid 0 .. IMAGE_UID_COUNT-1 are IMAGE_UID_BASE and up on
 * this machine; `dir` is all there is of the file system; no network, no other process, only the
 * system calls that unpacking needs, no more memory than IMAGE_MEMORY_MAX. Descriptors 0, 1 and 2
 * stay open.
 */
struct err *image_sandbox_enter(const char *dir) MUST_CHECK;

/*
 * For fetching: as user IMAGE_FETCH_UID, without capabilities, with `dir` as /tmp and as current
 * directory; the rest of the file system and the network are as they are.
 */
struct err *image_sandbox_fetch(const char *dir) MUST_CHECK;
