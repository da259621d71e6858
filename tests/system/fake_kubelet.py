#!/usr/bin/python3
"""A kubelet's half of the device plugin API v1beta1, by the official gRPC library: for tests of device plugins.

    fake_kubelet.py DIR PROTO

Runs with Debian's Python, which has the library. Serves DIR/kubelet.sock; as a kubelet does, it first removes the sockets of
plugins in DIR. Prints a JSON line for each registration ({"registered": RESOURCE, "endpoint", "version", "options"}) and for
each list of devices ({"resource", "devices": [{"id", "health", "numa"}]}; "devices": null when the plugin ends the stream).
Serves the API of PodResources beside DIR, too: {"pods": [PodResources]} sets its answer.
Reads JSON lines {"call": METHOD, "resource", "request"} and prints {"answer"} or {"error", "code"}.
"""

import json
import os
import re
import sys
import threading
from concurrent import futures

import grpc
from google.protobuf import descriptor_pb2, descriptor_pool, json_format, message_factory

TYPES = {"string": 9, "bool": 8, "int32": 5, "int64": 3}
out = threading.Lock()


def say(**line):
    with out:
        print(json.dumps(line), flush=True)


def messages_of(path):
    """The message classes of a .proto file of plain messages, by name."""
    text = re.sub(r"//.*", "", open(path, encoding="utf-8").read())
    package = re.search(r"package (\w+);", text)[1]
    file = descriptor_pb2.FileDescriptorProto(name=path, package=package, syntax="proto3")
    for name, body in re.findall(r"message (\w+) \{(.*?)\}", text, re.S):
        message = file.message_type.add(name=name)
        for label, kind, field, number in re.findall(r"(repeated )?(\w+) (\w+) = (\d+);", body):
            f = message.field.add(name=field, json_name=field, number=int(number), label=3 if label else 1)
            if kind in TYPES:
                f.type = TYPES[kind]
            else:
                f.type, f.type_name = 11, f".{package}.{kind}"
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    factory = message_factory.MessageFactory(pool)
    return package, {m.name: factory.GetPrototype(pool.FindMessageTypeByName(f"{package}.{m.name}"))
                     for m in file.message_type}


class Kubelet:
    METHODS = {"GetDevicePluginOptions": ("Empty", "DevicePluginOptions"), "Allocate": ("AllocateRequest", "AllocateResponse"),
               "GetPreferredAllocation": ("PreferredAllocationRequest", "PreferredAllocationResponse"),
               "PreStartContainer": ("Empty", "Empty"), "Unknown": ("Empty", "Empty")}

    def __init__(self, directory, proto):
        self.dir = directory
        self.proto = proto
        self.package, self.messages = messages_of(proto)
        self.channels = {}
        for name in os.listdir(directory):
            if name != "kubelet_internal_checkpoint":
                os.remove(os.path.join(directory, name))

    def text(self, message):
        return json_format.MessageToDict(message, preserving_proto_field_name=True)

    def register(self, request, context):
        if request.version != "v1beta1":
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, f"version {request.version} 100 % unknown")
        say(registered=request.resource_name, endpoint=request.endpoint, version=request.version, options=self.text(request.options))
        threading.Thread(target=self.watch, args=(request.resource_name, request.endpoint), daemon=True).start()
        return self.messages["Empty"]()

    def watch(self, resource, endpoint):
        channel = grpc.insecure_channel(f"unix://{os.path.join(self.dir, endpoint)}")
        self.channels[resource] = channel
        stream = channel.unary_stream(f"/{self.package}.DevicePlugin/ListAndWatch", self.messages["Empty"].SerializeToString,
                                      self.messages["ListAndWatchResponse"].FromString)
        try:
            for answer in stream(self.messages["Empty"]()):
                say(resource=resource, devices=[
                    {"id": d.ID, "health": d.health, "numa": [n.ID for n in d.topology.nodes]} for d in answer.devices])
        except grpc.RpcError:
            pass
        say(resource=resource, devices=None)

    def call(self, order):
        ask, answer = self.METHODS[order["call"]]
        method = self.channels[order["resource"]].unary_unary(f"/{self.package}.DevicePlugin/{order['call']}",
                                                              self.messages[ask].SerializeToString, self.messages[answer].FromString)
        request = json_format.ParseDict(order.get("request", {}), self.messages[ask]())
        try:
            say(answer=self.text(method(request, timeout=60)))
        except grpc.RpcError as e:
            say(error=e.details(), code=e.code().name)

    def serve(self):
        server = grpc.server(futures.ThreadPoolExecutor(8))
        handler = grpc.unary_unary_rpc_method_handler(self.register, self.messages["RegisterRequest"].FromString,
                                                      self.messages["Empty"].SerializeToString)
        server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(f"{self.package}.Registration", {"Register": handler}),))
        server.add_insecure_port(f"unix://{os.path.join(self.dir, 'kubelet.sock')}")
        server.start()
        pods = self.serve_pods()
        for line in sys.stdin:
            order = json.loads(line)
            if "pods" in order:
                self.pods = order["pods"]
            else:
                self.call(order)
        pods.stop(0)

    def serve_pods(self):
        package, messages = messages_of(self.proto.replace("deviceplugin", "podresources"))
        self.pods = []

        def answer(request, context):
            return json_format.ParseDict({"pod_resources": self.pods}, messages["ListPodResourcesResponse"]())
        handler = grpc.unary_unary_rpc_method_handler(answer, messages["ListPodResourcesRequest"].FromString,
                                                      messages["ListPodResourcesResponse"].SerializeToString)
        server = grpc.server(futures.ThreadPoolExecutor(1))
        server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("v1.PodResourcesLister", {"List": handler}),))
        directory = os.path.join(os.path.dirname(self.dir), "pod-resources")
        os.makedirs(directory, exist_ok=True)
        server.add_insecure_port(f"unix://{os.path.join(directory, 'kubelet.sock')}")
        server.start()
        return server


if __name__ == "__main__":
    Kubelet(*sys.argv[1:]).serve()
