/*
 * text_escape.h - text of others made harmless for a terminal
 *
 * Taken out: escape sequences whole (CSI, OSC, DCS and the short ones of ECMA-48), other control
 * bytes of C0 and C1, and the bidirectional overrides; what is no UTF-8 becomes U+FFFD. What is
 * left moves no cursor, sets no title, hides nothing.
 */
#pragma once

#include <stdint.h>

#include "base/str.h"

enum text_escape_how {
    TEXT_ESCAPE_LINE,  /* one line: line ends and tabs become spaces */
    TEXT_ESCAPE_LINES, /* line ends and tabs stay */
    TEXT_ESCAPE_LOG,   /* so does a carriage return before a line end; alone it becomes a line end
                    (progress   bars) */
};

/* The state between pieces of one stream. {.how = ...} to begin. A value. */
struct text_escaper {
    enum text_escape_how how;
    int state;
    uint32_t point; /* of an unfinished UTF-8 sequence */
    int missing;    /* its bytes to come */
    int length;
};

/* Adds what is harmless of `piece` to `ret`. */
void text_escape_piece(struct text_escaper *c, struct str piece, struct buf *ret);

/* The whole of a text. The caller frees it. */
char *text_escape(struct str text, enum text_escape_how how);

/* Columns that a text (clean, UTF-8) takes on a terminal. */
size_t text_escape_width(const char *text);

/* How many bytes of `text` fit into `columns`. */
size_t text_escape_fit(const char *text, size_t columns);
