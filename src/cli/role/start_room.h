/*
 * start_room.h - disk space that `mete up` keeps for its own start (start_room_linux.c)
 *
 * A start replaces files, each by a new file. On a full disk the start would fail until an
 * administrator frees space. So a start first deletes DIR/room, a file of zeros, and creates it
 * again at the end.
 */
#pragma once

#include "base/err.h"

/* Frees the space. Does nothing if none is kept. */
void start_room_give(const char *dir);

/* Keeps the space again, or a part of it: ERR_NO_SPACE. */
struct err *start_room_keep(const char *dir) MUST_CHECK;
