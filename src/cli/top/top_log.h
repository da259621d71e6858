/* top_log.h - the last lines of a container's log, followed; a broken stream begins anew */
#pragma once

#include "cli/session.h"
#include "cli/top/top_lines.h"

struct top_log;

struct top_log_options {
    struct session *session;
    const char *ns;
    const char *pod;
    const char *container;
    void (*on_change)(void *arg);
    void *arg;
};

struct top_log *top_log_new(const struct top_log_options *o);
void top_log_free(struct top_log *l); /* accepts NULL */
const struct top_lines *top_log_lines(const struct top_log *l);
