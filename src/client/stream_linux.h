/* stream_linux.h - struct stream over libcurl's connection */
#pragma once

#include "client/client.h"
#include "client/stream.h"

struct err *stream_linux_new(const struct client_options *server, const struct stream_options *o,
                             struct stream **ret) MUST_CHECK;
