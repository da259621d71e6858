#!/usr/bin/python3
"""A gRPC client of one unix socket, by the official library, as a kubelet is one: for tests of drivers of claims.

    fake_grpc_client.py SOCKET PROTO

Runs with Debian's Python, which has the library. Reads JSON lines {"path", "ask", "answer", "request"}: a method, the names of its
messages, and the request. Prints {"answer"} or {"error", "code"} for each; with "stream": true, it prints {"event"} for each
message of the answer, beside the others.
"""

import json
import sys
import threading

import grpc
from fake_kubelet import messages_of, say
from google.protobuf import json_format


def text(message):
    return json_format.MessageToDict(message, preserving_proto_field_name=True)


def follow(stream, request):
    try:
        for answer in stream(request):
            say(event=text(answer))
    except grpc.RpcError:
        say(event=None)


def main(socket, proto):
    _, messages = messages_of(proto)
    channel = grpc.insecure_channel(f"unix://{socket}")
    for line in sys.stdin:
        order = json.loads(line)
        ask, answer = messages[order["ask"]], messages[order["answer"]]
        request = json_format.ParseDict(order.get("request", {}), ask())
        if order.get("stream"):
            stream = channel.unary_stream(order["path"], ask.SerializeToString, answer.FromString)
            threading.Thread(target=follow, args=(stream, request), daemon=True).start()
            continue
        try:
            say(answer=text(channel.unary_unary(order["path"], ask.SerializeToString, answer.FromString)(request, timeout=60)))
        except grpc.RpcError as e:
            say(error=e.details(), code=e.code().name)


if __name__ == "__main__":
    main(*sys.argv[1:])
