/*
 * last_words.h - the termination message of a container (terminationMessagePath)
 * (last_words_linux.c)
 *
 * The file is made on the host and bound into the container, where every user may write to it. The
 * node reads only a regular file, and of it a limited size.
 */
#pragma once

#include "base/err.h"
#include "base/str.h"

enum {
    LAST_WORDS_MAX = 4096,  /* bytes, as in the kubelet */
    LAST_LOG_MAX = 2048,    /* bytes of the log, if there is no message */
    LAST_LOG_LINES_MAX = 80 /* lines of the log */
};

struct err *last_words_make(const char *path) MUST_CHECK;
/* The message; "": none. The caller frees it. */
char *last_words_read(const char *path);
/* Cuts an overlong file, so that a container cannot fill the disk with it. */
struct err *last_words_trim(const char *path) MUST_CHECK;
