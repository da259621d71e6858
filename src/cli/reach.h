/* reach.h - can the server's user reach the program and the data directory? (reach_linux.c) */
#pragma once

#include "cli/role/data_dir.h"

/*
 * ERR_INVALID: user `d->uid` may not execute this program, or may not enter a directory above
 * `d->path`; the message names the file, its mode and the remedy. Directories above the program do
 * not matter: children execute it by descriptor.
 */
struct err *reach_check(const struct data_dir *d, const char *self_path) MUST_CHECK;
