/*
 * last_words.h - the file in which a container may say why it ends (terminationMessagePath)
 * (last_words_linux.c)
 *
 * Made on the host and bound into the container, whose users may all write to it; what they wrote
 * is read as a plain file of limited size, whatever they made of it.
 */
#pragma once

#include "base/err.h"
#include "base/str.h"

enum {
    LAST_WORDS_MAX = 4096,  /* bytes, as the kubelet reads */
    LAST_LOG_MAX = 2048,    /* of the log instead, */
    LAST_LOG_LINES_MAX = 80 /* and lines */
};

struct err *last_words_make(const char *path) MUST_CHECK;
/* "" where there are none. The caller frees it. */
char *last_words_read(const char *path);
/* A file that somebody fills is cut. */
struct err *last_words_trim(const char *path) MUST_CHECK;
