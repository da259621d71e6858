/* log_linux.c - log lines to stderr */

#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/stamp.h"

/* Set once in main, before the first line. */
static struct {
    const char *process;
    enum log_level least;
    bool is_json;
} setup = {.least = LOG_INFO};

void log_setup(const char *process, enum log_level least, bool is_json)
{
    setup.process = process;
    setup.least = least;
    setup.is_json = is_json;
}

void log_event(enum log_level level, const char *message, const struct log_pair *pairs)
{
    AUTO_FREE char *text = NULL;
    struct log_line line = {
        .process = setup.process, .level = level, .message = message, .pairs = pairs};
    struct timespec now = {0};

    if (level > setup.least)
        return;
    (void)clock_gettime(CLOCK_REALTIME, &now); /* cannot fail for this clock */
    line.stamp_ns = now.tv_sec * NS_PER_SEC + now.tv_nsec;
    text = log_format(&line, setup.is_json);
    /* One write a line, so that lines of several processes do not mix. A failed write is ignored:
     * stderr is the only place to report it. */
    if (write(STDERR_FILENO, text, strlen(text)) < 0)
        return;
}
