/* terminal.h - the terminal, path and working directory of this process (terminal_linux.c) */
#pragma once

#include "cli/cli.h"

struct terminal terminal_look(void);

/* Does the terminal show UTF-8? Reads the locale, which takes its time. */
bool terminal_is_utf8(void);

/* Finds the path of this binary. The caller frees it. */
struct err *self_path_find(char **ret) MUST_CHECK;

/* Asks on the terminal and reads a line: true for "y" or "yes". False where stdin is no terminal.
 */
bool terminal_confirm(struct cli *c, const char *question);

/* Finds the working directory. The caller frees it. */
struct err *working_directory(char **ret) MUST_CHECK;

/* Reads stdin to its end, at most `cap` bytes. */
struct err *stdin_read(size_t cap, struct buf *ret) MUST_CHECK;
