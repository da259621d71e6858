/*
 * log.h - one line an event on stderr, key=value or JSON
 *
 * LOG(INFO, "pod bound", S("pod", key), U("gpus", n));  The message is constant: it names the event
 * and never contains values. Programs log; base, model, engine, gpu and store never do.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

enum log_level {
    LOG_ERROR,
    LOG_WARN,
    LOG_INFO,
    LOG_DEBUG
};

struct log_pair {
    const char *key; /* NULL ends the list */
    const char *text;
    int64_t number;
    bool is_number;
};

#define S(name, value) ((struct log_pair){.key = (name), .text = (value)})
#define U(name, value) \
    ((struct log_pair){.key = (name), .number = (int64_t)(value), .is_number = true})
#define E(error) ((struct log_pair){.key = "error", .text = err_message(error)})

#define LOG(level, ...) LOG_(LOG_##level, __VA_ARGS__, (struct log_pair){0})
#define LOG_(level, message, ...) \
    log_event((level), (message), (const struct log_pair[]){__VA_ARGS__})

void log_event(enum log_level level, const char *message, const struct log_pair *pairs);

/* One line of log_event, as a value. */
struct log_line {
    int64_t stamp_ns;
    const char *process; /* NULL: left out */
    enum log_level level;
    const char *message;
    const struct log_pair *pairs; /* ends with a pair whose key is NULL */
};

/* The line with its newline. A NULL text is written as null. The caller frees it. */
char *log_format(const struct log_line *line, bool is_json);

/* Called once in main. `process` names the role: "server", "node", ... */
void log_setup(const char *process, enum log_level least, bool is_json);
