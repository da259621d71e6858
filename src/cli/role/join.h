/* join.h - mete node --server: makes this machine a node of another machine's Mete (join_linux.c)
 */
#pragma once

#include "cli/cli.h"

/*
 * Joins by --token if this machine has no good certificate, then runs the role `mete node` as a
 * child, which it starts again when it ends, until a signal. Files in DATA/node/join: ca.crt,
 * node.key, node.crt, name.
 */
struct err *join_run(struct cli *c) MUST_CHECK;

/* The directory of these files. The caller frees it. */
char *join_dir(const char *data);

enum {
    JOIN_RENEW_CHECK_S =
        3600 /* how often the node looks whether its certificate is to be renewed */
};
