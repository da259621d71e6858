/*
 * records.h - the content of a stream of op "exec", "attach" or "portforward" (client/frames.h)
 *
 * Both sides send records of u8 channel, u32 size (big endian, at most RECORD_MAX), bytes.
 *
 *   to the node    RECORD_STDIN       bytes
 *                  RECORD_STDIN_END   empty
 *                  RECORD_RESIZE      u16 columns, u16 rows
 *   to the server  RECORD_STDOUT, RECORD_STDERR  bytes
 *                  RECORD_STDOUT_END  empty
 *                  RECORD_EXIT        u32 exit code: the last record
 *
 * OPEN carries {"op","podUid","container","command":[...],"stdin","stdout","stderr","tty"}, for a
 * port {"op","podUid","port","stdout"}; a port uses RECORD_STDIN, RECORD_STDOUT and their ends. If
 * the command could not run, the stream ends with an HTTP status and without RECORD_EXIT.
 */
#pragma once

#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

enum record_channel {
    RECORD_STDIN = 0,
    RECORD_STDOUT = 1,
    RECORD_STDERR = 2,
    RECORD_EXIT = 3,
    RECORD_RESIZE = 4,
    RECORD_STDIN_END = 5,
    RECORD_STDOUT_END = 6,
};

enum {
    RECORD_MAX = 32768,
    RECORD_HEAD_SIZE = 5,
};

void record_format(struct buf *b, enum record_channel channel, struct str bytes);
void record_format_resize(struct buf *b, uint16_t columns, uint16_t rows);
void record_format_exit(struct buf *b, int code);

struct record {
    enum record_channel channel;
    struct str bytes; /* of the input */
    uint16_t columns; /* RECORD_RESIZE */
    uint16_t rows;
    int code; /* RECORD_EXIT */
};

/* Like frame_parse: `*ret_size` is 0 while the first record is incomplete. ERR_BAD_REQUEST:
 * malformed record. */
struct err *record_parse(struct str bytes, struct record *ret, size_t *ret_size) MUST_CHECK;

/* Gives each complete record of `in` to `take`, then drops them from `in`. Ends at the first error.
 */
typedef void (*record_fn)(void *arg, const struct record *r);
struct err *records_each(struct buf *in, record_fn take, void *arg) MUST_CHECK;
