/* role_linux.h - what the children of `mete up` share: loop, log, lifeline, signals, readiness */
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

/* Reads the values of --host-path-root. */
struct err *role_host_roots(const struct cli *c, struct host_roots *ret) MUST_CHECK;

/* ERR_INVALID: the process was not started by `mete up` and lacks its descriptors. */
struct err *role_init(struct role *r, struct cli *c, const char *name) MUST_CHECK;

/* Reports to `mete up` that the role serves. */
struct err *role_ready(struct role *r, char letter) MUST_CHECK;

/* Runs until the lifeline, a signal or role_fail ends the role. */
struct err *role_run(struct role *r) MUST_CHECK;

/* Ends role_run with `e`; takes `e`. */
void role_fail(struct role *r, struct err *e);
void role_done(struct role *r);
