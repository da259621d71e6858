/* reach.h - can the server's user get to the program and to the data directory? (reach_linux.c) */
#pragma once

#include "cli/role/data_dir.h"

/*
 * ERR_INVALID where the user `d->uid` may not run this program, or may not enter a directory above
 * `d->path`: the message names the file, its mode and what to change. The directories above the
 * program do not matter: children run it by a descriptor.
 */
struct err *reach_check(const struct data_dir *d, const char *self_path) MUST_CHECK;
