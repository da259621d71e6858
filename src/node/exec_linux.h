/*
 * exec_linux.h - commands in running containers (exec_linux.c), and who is joined to a container's
 * own input and output (attach_linux.c): for runtime_crun_linux.c
 *
 * A command is a `crun exec` that stays until it has ended; its descriptors are our pipes, or for a
 * terminal the master side that crun sends us. What it needs lies in DATA/node/exec/<n>/ meanwhile.
 * runc takes the same words.
 */
#pragma once

#include "node/runtime.h"

struct crun;

struct exec *crun_exec(void *self, const struct runtime_exec *e);
struct exec *crun_attach(void *self, const struct runtime_exec *e);

/* Ends all of them; no callback comes after it. */
void crun_end_execs(struct crun *r);
void crun_end_guests(struct crun *r);

/* At the start: ends what a former life of ours left in containers, and its files. */
void crun_sweep_execs(struct crun *r);
