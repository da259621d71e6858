/*
 * text_escape.h - makes untrusted text harmless for a terminal
 *
 * Removes whole escape sequences (CSI, OSC, DCS and the short ones of ECMA-48), other control
 * bytes of C0 and C1, and bidirectional overrides; invalid UTF-8 becomes U+FFFD. The remaining
 * text cannot move the cursor, set the title or hide text.
 */
#pragma once

#include <stdint.h>

#include "base/str.h"

enum text_escape_how {
    TEXT_ESCAPE_LINE,  /* one line: line ends and tabs become spaces */
    TEXT_ESCAPE_LINES, /* line ends and tabs stay */
    TEXT_ESCAPE_LOG, /* also a carriage return before a line end stays; alone it becomes a line end
                        (progress bars) */
};

/* The state between the pieces of a stream; initially {.how = ...}. A value. */
struct text_escaper {
    enum text_escape_how how;
    int state;
    uint32_t point; /* of an incomplete UTF-8 sequence */
    int missing;    /* missing bytes of the sequence */
    int length;
};

/* Adds the harmless part of `piece` to `ret`. */
void text_escape_piece(struct text_escaper *c, struct str piece, struct buf *ret);

/* Escapes a whole text. The caller frees the result. */
char *text_escape(struct str text, enum text_escape_how how);

/* Width of a text (escaped, UTF-8) in terminal columns. */
size_t text_escape_width(const char *text);

/* Number of bytes of `text` that fit into `columns`. */
size_t text_escape_fit(const char *text, size_t columns);
