/*
 * unix_linux.h - requests over a unix socket, without libcurl: what nearly every command and the
 * node of the machine use (docs/adr/0010-libraries-at-first-use.md)
 */
#pragma once

#include "client/client.h"

/* A client of `o->unix_socket`: a connection a request. */
struct client *unix_client_new(const struct client_options *o);

/*
 * Begins a connection to the socket at `path`; a descriptor that does not block. -1 without an
 * error: the server's backlog is full, again later. ERR_UNAVAILABLE names the path.
 */
struct err *unix_connect(const char *path, int *ret) MUST_CHECK;
