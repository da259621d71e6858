/* unix_linux.h - requests over a unix socket, without libcurl, for most commands and for the node
 * on the server's machine (docs/adr/0010-libraries-at-first-use.md) */
#pragma once

#include "client/client.h"

/* Makes a client of `o->unix_socket`, with a connection for each request. */
struct client *unix_client_new(const struct client_options *o);

/* Connects to the socket at `path`, non-blocking. -1 without an error: the server's backlog is
 * full; try again later. ERR_UNAVAILABLE names the path. */
struct err *unix_connect(const char *path, int *ret) MUST_CHECK;
