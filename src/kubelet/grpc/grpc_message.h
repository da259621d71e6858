/* grpc_message.h - protobuf messages as answers of gRPC calls */
#pragma once

#include <protobuf-c/protobuf-c.h>

#include "kubelet/grpc/grpc_server.h"

/* The bytes of a message; the caller ends the buffer. */
struct buf grpc_message_pack(const ProtobufCMessage *m);

/* Sends the message, without an end of the call. */
void grpc_call_answer(struct grpc_call *call, const ProtobufCMessage *m);

static inline struct str buf_str(const struct buf *b)
{
    return (struct str){.at = text_or_empty(b->at), .size = b->size};
}
