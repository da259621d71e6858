/* loop_linux.h - the real loop, on libevent */
#pragma once

#include "base/loop.h"

struct event_base;

/* Also ignores SIGPIPE in the process: a write to a closed peer fails instead. */
struct loop *loop_linux_new(void);
void loop_linux_free(struct loop *l);

/* Runs until loop_linux_stop. Fails if the loop cannot wait. */
struct err *loop_linux_run(struct loop *l) MUST_CHECK;
void loop_linux_stop(struct loop *l);

/* Calls `fn` in the loop when the process gets `signal`. The handler lives as long as the loop. */
void loop_linux_on_signal(struct loop *l, int signal, loop_fn fn, void *arg);

/* For http/ and client/, which add libevent sockets to the loop. */
struct event_base *loop_linux_base(struct loop *l);
