/* role_linux.h - what the children of `mete up` have in common: loop, log, lifeline, signals,
 * readiness */
#pragma once

#include "base/loop.h"
#include "cli/cli.h"
#include "cli/role/roles.h"
#include "model/host_roots.h"

struct role {
    struct loop *loop;
    struct loop_io *lifeline;
    struct err *failure;
};

/* --data, --name, --gpus, --host-path-root, --runtime, --log-level, --log-format */
extern const struct flag role_flags[];

/* What --host-path-root gives. */
struct err *role_host_roots(const struct cli *c, struct host_roots *ret) MUST_CHECK;

/* Fails with ERR_INVALID where it was not started by `mete up`: its descriptors are not there. */
struct err *role_init(struct role *r, struct cli *c, const char *name) MUST_CHECK;

/* Tells mete up that it serves. */
struct err *role_ready(struct role *r, char letter) MUST_CHECK;

/* Runs until the lifeline or a signal ends it, or role_fail. */
struct err *role_run(struct role *r) MUST_CHECK;

/* Ends role_run with `e`, which it takes. */
void role_fail(struct role *r, struct err *e);
void role_done(struct role *r);
