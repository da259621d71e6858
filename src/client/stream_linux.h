/* stream_linux.h - struct stream over a unix socket, or libcurl's connection */
#pragma once

#include "client/client.h"
#include "client/stream.h"

struct err *stream_linux_new(const struct client_options *server, const struct stream_options *o,
                             struct stream **ret) MUST_CHECK;
