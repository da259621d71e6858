/* grpc_message.c - protobuf messages as answers of gRPC calls */

#include "kubelet/grpc/grpc_message.h"

#include "base/mem.h"

struct buf grpc_message_pack(const ProtobufCMessage *m)
{
    struct buf b = {.cap = (size_t)8 << 20};
    size_t size = protobuf_c_message_get_packed_size(m);
    AUTO_FREE uint8_t *bytes = mem_alloc(size + 1);

    buf_add(&b, bytes, protobuf_c_message_pack(m, bytes));
    return b;
}

void grpc_call_answer(struct grpc_call *call, const ProtobufCMessage *m)
{
    AUTO(buf_done) struct buf b = grpc_message_pack(m);

    grpc_call_send(call, buf_str(&b));
}
