/*
 * task_lines.h - the output of tasks as srun and sattach write it: with labels, and harmless at a
 * terminal
 */
#pragma once

#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

struct task_lines;

struct task_lines_options {
    int64_t tasks;
    bool has_labels;     /* each line begins with the number of its task */
    bool has_terminal;   /* the tasks have a terminal: their bytes stay as they are */
    bool is_terminal[2]; /* stdout and stderr of this command */
    /* The descriptor of a task's stdout (`stream` 0) or stderr (1). NULL: 1 and 2. */
    int (*fd)(void *arg, size_t stream, uint32_t rank);
    void *arg;
};

struct task_lines *task_lines_new(const struct task_lines_options *o);
/* `rank` is below `tasks`. */
struct err *task_lines_write(struct task_lines *l, size_t stream, uint32_t rank,
                             struct str bytes) MUST_CHECK;
/* Writes lines without an end, and frees; accepts NULL. */
void task_lines_free(struct task_lines *l);
