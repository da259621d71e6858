/* join.h - mete node --server: makes this machine a node of another machine's Mete (join_linux.c)
 */
#pragma once

#include "base/json.h"
#include "cli/cli.h"

/*
 * Joins by --token if this machine has no good certificate, then runs the role `mete node` as a
 * child, which it starts again when it ends, until a signal. Files in DATA/node/join: ca.crt,
 * node.key, node.crt, name.
 */
struct err *join_run(struct cli *c) MUST_CHECK;

/* The directory of these files. The caller frees it. */
char *join_dir(const char *data);

/* The body of POST /mete.dev/v1/node-renewals for the key in `dir`, which is made if it is missing;
 * node-join needs further members. New reference. */
struct err *join_request(const char *dir, json_t **ret) MUST_CHECK;

/* Writes the certificate in the server's answer to DIR/node.crt. */
struct err *join_take(const char *dir, const json_t *answer) MUST_CHECK;

enum {
    JOIN_RENEW_CHECK_S =
        3600 /* how often the node looks whether its certificate is to be renewed */
};
