/*
 * remote.h - the client's side of pods/exec and pods/attach: a command in a container, or the
 * container's own streams (v5.channel.k8s.io over a WebSocket)
 *
 * Callbacks come from the loop. on_end is the last callback and may free the remote; the others may
 * not.
 */
#pragma once

#include "client/client.h"

struct remote;

struct remote_options {
    const char *path;           /* encoded, with its query */
    void (*on_open)(void *arg); /* may be NULL */
    void (*on_output)(void *arg, int fd, struct str bytes);
    void (*on_drain)(void *arg); /* all sent bytes are with the kernel; may be NULL */
    /* The command's exit code, or in `e` why it has none. */
    void (*on_end)(void *arg, const struct err *e, int code);
    void *arg;
};

struct err *remote_open(struct client *c, const struct remote_options *o,
                        struct remote **ret) MUST_CHECK;
void remote_free(struct remote *r); /* accepts NULL; the server ends the command */

/* Sends to stdin; may be called before on_open. Check the backlog before sending much. */
void remote_send(struct remote *r, struct str bytes);
void remote_send_end(struct remote *r);
void remote_resize(struct remote *r, uint16_t columns, uint16_t rows);
size_t remote_backlog(const struct remote *r);
