/* handshake.h - the opening of a WebSocket by a request (RFC 6455, 4.2) */
#pragma once

#include "base/err.h"
#include "client/websocket.h"
#include "http/request.h"

/* Does a header's list of words have `word`, whatever their case? */
bool handshake_lists(const struct api_request *r, const char *header, const char *word);

/* Does the client ask for a WebSocket? */
bool handshake_is_websocket(const struct api_request *r);

/* The value of Sec-WebSocket-Accept. ERR_BAD_REQUEST for another version than 13 and for a
 * malformed key. */
struct err *handshake_accept(const struct api_request *r,
                             char ret[WEBSOCKET_ACCEPT_SIZE]) MUST_CHECK;
