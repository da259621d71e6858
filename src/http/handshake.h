/* handshake.h - the opening of a WebSocket by a request (RFC 6455, 4.2) */
#pragma once

#include "base/err.h"
#include "client/websocket.h"
#include "http/request.h"

/* Does a header's list of words have `word`, in any case? */
bool handshake_lists(const struct api_request *r, const char *header, const char *word);

/* Does the client ask for a WebSocket? */
bool handshake_is_websocket(const struct api_request *r);

/* Makes the value of Sec-WebSocket-Accept. ERR_BAD_REQUEST: a version other than 13, or a malformed
 * key. */
struct err *handshake_accept(const struct api_request *r,
                             char ret[WEBSOCKET_ACCEPT_SIZE]) MUST_CHECK;
