/*
 * start_room.h - space that `mete up` keeps for its own start (start_room_linux.c)
 *
 * A start replaces files, each by one written beside it. On a full disk it could not, and only a
 * person would get Mete up again: so a file of zeros, DIR/room, goes first and is made again last.
 */
#pragma once

#include "base/err.h"

/* Gives the space free; none kept is fine. */
void start_room_give(const char *dir);

/* Keeps it again, or as much of it as there is: ERR_NO_SPACE. */
struct err *start_room_keep(const char *dir) MUST_CHECK;
