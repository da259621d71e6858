"""Hostile requests get clear 4xx errors, accepted requests do no harm, and the server keeps its process and memory."""

import contextlib
import json
import select
import time

from door import PODS, Door, memory_kib
from harness import Mete, check, children, equal, wait

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
MIB = 1 << 20

# The server's allowed growth over all these tests: the bodies that it takes at once (32 MiB in http.c), the largest
# document decoded, and what it keeps for 900 connections.
GROWTH_MAX_KIB = 160 << 10


def manifest(meta=None, spec=None, container=None, **top):
    c = {"name": "m", "image": "host", "command": ["true"], **(container or {})}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "h", **(meta or {})},
            "spec": {"restartPolicy": "Never", "containers": [c], **(spec or {})}, **top}


def asking(number, resource="nvidia.com/gpu"):
    """The body with `number` verbatim, valid JSON or not."""
    return json.dumps(manifest(container={"resources": {"limits": {resource: "@"}}})).replace('"@"', number)


def mounting(path, **mount):
    return manifest(spec={"volumes": [{"name": "v", "emptyDir": {}}]},
                    container={"volumeMounts": [{"name": "v", "mountPath": path, **mount}]})


def filling(source, **item):
    return manifest(spec={"volumes": [{"name": "v", source: {"name" if source == "configMap" else "secretName": "c",
                                                            "items": [{"key": "k", **item}]}}]})


def env(*variables):
    return manifest(container={"env": [{"name": n, "value": v} for n, v in variables]})


def nested(opening, closing):
    return '{"apiVersion":"v1","kind":"Pod","metadata":{"name":"h"},"spec":' + opening * 10000 + "1" + closing * 10000 + "}"


SIZES = [
    ("a body of 4 MiB", {"metadata": {"name": "h"}, "data": {"a": "x" * (4 * MIB)}}, 413, "RequestEntityTooLarge", "3145728"),
    ("2 MiB of env", env(*((f"E{i}", "x" * 102400) for i in range(20))), 413, "RequestEntityTooLarge", "at most 1572864"),
    ("an annotation of 300 KiB", manifest({"annotations": {"a": "x" * 300 * 1024}}), 422, "Invalid",
     'Pod "h" is invalid: metadata.annotations: Too long'),
    ("10,000 containers", manifest(spec={"containers": [{"name": f"c{i}", "image": "host"} for i in range(10000)]}), 422,
     "Invalid", "spec.containers: Too many: 10000: must have at most 64 items"),
    ("50,000 variables", env(*((f"E{i}", "") for i in range(50000))), 422, "Invalid", "spec.containers[0].env: Too many: 50000"),
    ("20,000 labels", manifest({"labels": {f"l{i}": "" for i in range(20000)}}), 422, "Invalid", "metadata.labels: Too many"),
    ("10,000 finalizers", manifest({"finalizers": [f"a.io/{i}" for i in range(10000)]}), 422, "Invalid",
     "metadata.finalizers: Too many"),
    ("1,000 tolerations", manifest(spec={"tolerations": [{"operator": "Exists"}] * 1000}), 422, "Invalid", "spec.tolerations"),
    ("10,000 lists in each other", nested("[", "]"), 400, "BadRequest", "nested deeper than 128"),
    ("10,000 maps in each other", nested('{"a":', "}"), 400, "BadRequest", "nested deeper than 128"),
]

NAMES = [(f"the name {name!a:.30}", manifest({"name": name}), 422, "Invalid", "metadata.name: ")
         for name in ("../x", "a" * 254, "p\u043ed", "\uff50od", "Pod", "a\nb", "a\u202eb", "", ".", "..", "a/b", "-a",
                      "a ", "a%2fb", "\x1b[2J")] + [
    ("a NUL in a name", manifest({"name": "a\0b"}), 400, "BadRequest", "\\u0000 is not allowed"),
    ("a generateName of 300 bytes", manifest({"name": "", "generateName": "a" * 300}), 422, "Invalid", "metadata.generateName"),
    ("a generateName that climbs", manifest({"name": "", "generateName": "../"}), 422, "Invalid", "metadata.name"),
    ("a label key with a space", manifest({"labels": {"a b": ""}}), 422, "Invalid", "metadata.labels"),
    ("another namespace than the path's", manifest({"namespace": "other"}), 400, "BadRequest", "namespace"),
]

NUMBERS = [(f"gpus: {n}", asking(n), 422, "Invalid", "spec.containers[0].resources.limits[nvidia.com/gpu]: Invalid value")
           for n in ("-1", '"-1"', "0.5", '"0.5"', "1.5", '"500m"')] + [
    (f"gpus: {n}", asking(n), 400, "BadRequest", what)
    for n, what in (("18446744073709551615", "too big integer"), ('"18446744073709551615"', "want at most"),
                    ('"1e400"', "want at most"), ("1e400", "overflow"), ("NaN", "invalid token"), ('"NaN"', "want a number"),
                    ('"0x10"', "want a number"), ('" 1"', "want a number"), ('""', "want a number"),
                    ("true", "cannot unmarshal bool"), ("[]", "cannot unmarshal array"), ("{}", "cannot unmarshal object"))] + [
    ("memory: -1", asking('"-1"', "memory"), 422, "Invalid", "limits[memory]: Invalid value"),
    ("memory: 9e999999999", asking('"9e999999999"', "memory"), 400, "BadRequest", "limits[memory]"),
    ("hostPort 70000", manifest(container={"ports": [{"containerPort": 80, "hostPort": 70000}]}), 422, "Invalid", "hostPort"),
    ("containerPort 0", manifest(container={"ports": [{"containerPort": 0}]}), 422, "Invalid", "containerPort"),
    ("priority 2^31", manifest(spec={"priority": 1 << 31}), 403, "Forbidden", "priority"),
    ("runAsUser -1", manifest(spec={"securityContext": {"runAsUser": -1}}), 422, "Invalid", "spec.securityContext.runAsUser"),
    ("runAsUser 2^32", manifest(spec={"securityContext": {"runAsUser": 1 << 32}}), 422, "Invalid", "runAsUser"),
    ("a size limit of -5", manifest(spec={"volumes": [{"name": "v", "emptyDir": {"sizeLimit": "-5"}}]}), 422, "Invalid",
     "sizeLimit"),
]

TYPES = [
    ("a string for a number", manifest(spec={"terminationGracePeriodSeconds": "30"}), 400, "BadRequest",
     "spec.terminationGracePeriodSeconds: json: cannot unmarshal string"),
    ("a list for a map", manifest({"labels": ["a"]}), 400, "BadRequest", "metadata.labels: json: cannot unmarshal array"),
    ("a map for a list", manifest(spec={"containers": {"a": 1}}), 400, "BadRequest", "spec.containers"),
    ("null for a container", manifest(spec={"containers": [None]}), 422, "Invalid", "spec.containers[0].name: Required value"),
    ("a key twice", '{"kind":"Pod","metadata":{"name":"a","name":"b"}}', 400, "BadRequest", "duplicate object key"),
    ("invalid UTF-8", b'{"metadata":{"name":"\xff\xfe"}}', 400, "BadRequest", "unable to decode byte 0xff"),
    ("half a surrogate", '{"metadata":{"name":"\\ud800"}}', 400, "BadRequest", "invalid Unicode"),
    ("no JSON", "a: b", 400, "BadRequest", "line 1"),
    ("two documents", "{}{}", 400, "BadRequest", "end of file expected"),
    ("a list", "[]", 400, "BadRequest", "want a JSON object"),
    ("nothing", "", 400, "BadRequest", "body is empty"),
    ("another kind", manifest(kind="Secret"), 400, "BadRequest", "v1 Secret: want v1 Pod"),
    ("another version", manifest(apiVersion="v2"), 400, "BadRequest", "v2 Pod: want v1 Pod"),
    ("a status that is a list", manifest(status=[]), 400, "BadRequest", "status"),
    ("finalizers that are no names", manifest({"finalizers": ["not one!"]}), 422, "Invalid", "metadata.finalizers[0]"),
    ("an owner without a uid", manifest({"ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "x", "uid": ""}]}), 422,
     "Invalid", "metadata.ownerReferences[0].uid: Required value"),
    ("a deletion at no time", manifest({"deletionTimestamp": "yesterday"}), 400, "BadRequest", "metadata.deletionTimestamp"),
    ("a resourceVersion at creation", manifest({"resourceVersion": "5"}), 400, "BadRequest", "resourceVersion"),
]

PATHS = [(f"mountPath {p!r}", mounting(p), 422, "Invalid", "volumeMounts[0].mountPath: ")
         for p in ("rel", "/a/../../etc", "/..", "/", "", "/proc", "/proc/self", "/dev", "/sys/fs/cgroup", "/proc/../etc")] + [
    (f"{source} as {p!r}", filling(source, path=p), 422, "Invalid", f"spec.volumes[0].{source}.items[0].path: ")
    for source in ("configMap", "secret") for p in ("../../etc/passwd", "/etc/passwd", "a/../../b", "")] + [
    ("a subPath that climbs", mounting("/m", subPath="../.."), 422, "Invalid",
     "volumeMounts[0].subPath: Invalid value"),
    ("a volume's name that climbs", manifest(spec={"volumes": [{"name": "../v", "emptyDir": {}}]}), 422, "Invalid",
     "spec.volumes[0].name"),
    ("a volume twice", manifest(spec={"volumes": [{"name": "v", "emptyDir": {}}] * 2}), 422, "Invalid",
     'spec.volumes[1].name: Duplicate value: "v"'),
    ("a secret's name that climbs", manifest(container={"envFrom": [{"secretRef": {"name": "../../secrets/x"}}]}), 422, "Invalid",
     "envFrom[0].secretRef.name"),
    ("a relative workingDir", manifest(container={"workingDir": "../x"}), 422, "Invalid", "workingDir"),
]

RIGHTS = [
    ("no image", manifest(container={"image": ""}), 422, "Invalid", "spec.containers[0].image: Required value"),
    ("an image with a space before it", manifest(container={"image": " busybox"}), 422, "Invalid",
     "spec.containers[0].image: Invalid value"),
    ("an image with a line feed after it, to begin with",
     manifest(spec={"initContainers": [{"name": "i", "image": "busybox\n"}]}), 422, "Invalid",
     "spec.initContainers[0].image: Invalid value"),
] + [(f"hostPath {path}", manifest(spec={"volumes": [{"name": "v", "hostPath": {"path": path, **more}}]}), 422, "Invalid",
      "spec.volumes[0].hostPath.") for path, more in (
          ("/dev", {}), ("/dev/mem", {}), ("/proc/1/root", {}), ("/sys/fs/cgroup", {}), ("/srv/../dev", {}), ("srv", {}), ("", {}),
          ("/srv/x", {"type": "CharDevice"}), ("/srv/x", {"type": "nonsense"}))] + [
    ("privileged", manifest(container={"securityContext": {"privileged": True}}), 422, "Invalid", "privileged: Forbidden"),
    ("a capability that is none", manifest(container={"securityContext": {"capabilities": {"add": ["SYS_ALL"]}}}), 422, "Invalid",
     "capabilities.add[0]: Invalid value"),
    ("hostPID", manifest(spec={"hostPID": True}), 422, "Invalid", "spec.hostPID: Forbidden"),
    ("sysctls", manifest(spec={"securityContext": {"sysctls": [{"name": "kernel.core_pattern", "value": "|/x"}]}}), 422,
     "Invalid", "sysctls[0].name: Invalid value"),
    ("an unknown field", manifest(spec={"privileged": True}), 400, "BadRequest", 'unknown field "spec.privileged"'),
    ("a node that is not there", manifest(spec={"nodeName": "elsewhere"}), 404, "NotFound", 'nodes "elsewhere" not found'),
    ("a node for gpus, past the scheduler", manifest(spec={"nodeName": "elsewhere"},
                                                     container={"resources": {"limits": {"nvidia.com/gpu": 1}}}), 422, "Invalid",
     "spec.nodeName: Forbidden"),
    ("devices of one's own choice", manifest({"annotations": {"mete.dev/devices": '{"containers":{"m":["GPU-0"]}}'}}), 422,
     "Invalid", "metadata.annotations[mete.dev/devices]: Forbidden"),
    ("a job id of one's own choice", manifest({"labels": {"mete.dev/job-id": "1"}}), 422, "Invalid",
     "metadata.labels[mete.dev/job-id]: Forbidden"),
] + [(f"the variable {n!a}", env((n, "x")), 422, "Invalid", "spec.containers[0].env[0].name: ")
     for n in ("A=B", "", "\u00c4", "A\n")] + [
    ("a NUL in a variable", env(("A", "a\0b")), 400, "BadRequest", "\\u0000 is not allowed"),
]

ADDRESSES = [
    ("GET", "/api/v1/namespaces/../../etc/passwd", 400, "path segment '..'"),
    ("GET", PODS + "/%2e%2e%2fx", 400, "byte 0x2f in a path segment"),
    ("GET", PODS + "/a%00b", 400, "NUL"),
    ("GET", PODS + "/%zz", 400, "percent-escape"),
    ("GET", PODS + "/" + "a" * 70000, 431, "head is larger"),
    ("GET", PODS + "?limit=-1", 400, "'limit'"),
    ("GET", PODS + "?continue=x&limit=1", 400, "continue"),
    ("GET", PODS + "?labelSelector=((", 400, "label key"),
    ("GET", PODS + "?labelSelector=" + "a," * 20000, 400, "more than 256"),
    ("GET", PODS + "?watch=1&resourceVersion=99999999999999999999", 400, "resourceVersion"),
    ("BREW", PODS, 405, "method"),
]


def test_hostile_requests_are_refused_and_the_server_stays():
    with Mete() as m, m.unharmed():
        door = Door(m)
        processes = children(m.up.pid)
        server = m.child("server")
        before = memory_kib(server)
        refuses_each(door)
        refuses_addresses(door)
        refuses_yaml(m)
        refuses_smuggling(door)
        equal(m.object("pods")["items"], [], "nothing of it is there")
        bears_what_it_accepts(m, door)
        with contextlib.ExitStack() as held:
            holds_idle_connections(door, held)
            holds_watches_that_never_read(door, held)
            takes_huge_and_slow_bodies(door, held)
            equal(door.ask("GET", "/readyz")[0], 200)
            equal(door.ask("POST", PODS, manifest({"name": "meanwhile"}))[0], 201)
            m.wait_phase("meanwhile", "Succeeded")
        equal(children(m.up.pid), processes, "no process was started again")
        grown = memory_kib(server) - before
        check(grown < GROWTH_MAX_KIB or is_sanitized(server), f"the server grew by {grown} KiB, at most {GROWTH_MAX_KIB}")
        m.ok("apply", "-f", "-", stdin=json.dumps(manifest({"name": "after"})))
        m.wait_phase("after", "Succeeded")


YAML_BOMB = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{b}: &{b} [{','.join(['*' + a] * 9)}]\n" for a, b in zip("abcdefghijkl", "bcdefghijklm"))
YAML_HEAD = "apiVersion: v1\nkind: Pod\nmetadata: "
HOSTILE_YAML = ((YAML_BOMB, "expanded aliases are too large"), (YAML_HEAD + "{a: " * 5000 + "}" * 5000, "nested deeper than 128"),
                (YAML_HEAD + "{name: a, name: b}", "duplicate key 'name'"), (YAML_HEAD + "&a {a: *a}", "unknown anchor 'a'"))


def is_sanitized(pid):
    """Is it an AddressSanitizer build? Its memory measures nothing: freed memory stays, with a shadow of terabytes."""
    with open(f"/proc/{pid}/statm") as f:
        return int(f.read().split()[0]) * 4096 > 1 << 40


def check_refused(what, status, answer, code, reason, message):
    check(isinstance(answer, dict) and answer.get("kind") == "Status", what, status, str(answer)[:500])
    equal((status, answer["code"], answer["status"]), (code, code, "Failure"), what, str(answer)[:500])
    check(not reason or answer["reason"] == reason, what, answer["reason"])
    check(message in answer["message"], what, answer["message"][:500], "want: " + message)


def refuses_each(door):
    for what, body, code, reason, message in SIZES + NAMES + NUMBERS + TYPES + PATHS + RIGHTS:
        path = CONFIG_MAPS if "MiB" in what and code == 413 and "body" in what else PODS
        status, answer = door.ask("POST", path + "?fieldValidation=Strict", body)
        check_refused(what, status, answer, code, reason, message)
    status, answer = door.ask("POST", PODS, "a: 1\n", "text/yaml")
    check_refused("an unknown type", status, answer, 415, "UnsupportedMediaType", "application/json")
    for text, message in HOSTILE_YAML:
        status, answer = door.ask("POST", PODS, text, "application/yaml")
        check_refused("YAML over HTTP", status, answer, 400, "BadRequest", message)
    status, answer = door.ask("POST", PODS, b"k8s\0" + b"\xff" * 100, "application/vnd.kubernetes.protobuf")
    check_refused("no protobuf", status, answer, 400, "BadRequest", "protobuf")


def refuses_addresses(door):
    for method, path, code, message in ADDRESSES:
        status, answer = door.ask(method, path)
        check_refused(path[:60], status, answer, code, None, message)


def refuses_yaml(m):
    for text, message in HOSTILE_YAML:
        r = m.mete("apply", "-f", "-", stdin=text)
        check(r.code == 1 and message in r.err, r)


def refuses_smuggling(door):
    """Requests that two readers could understand differently: one answer, an error, and the end of the connection."""
    get = b"GET /version HTTP/1.1\r\nHost: m\r\n\r\n"
    host = b" /version HTTP/1.1\r\nHost: m\r\n"
    chunked = b"POST" + host + b"Transfer-Encoding: chunked\r\n\r\n"
    for what, octets in (
            ("two lengths", b"POST" + host + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\nabcde"),
            ("length and chunks", b"POST" + host + b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
            ("a list of lengths", b"POST" + host + b"Content-Length: 5, 5\r\n\r\nabcde"),
            ("a signed length", b"POST" + host + b"Content-Length: +5\r\n\r\nabcde"),
            ("a length past 2^64", b"POST" + host + b"Content-Length: 18446744073709551617\r\n\r\n"),
            ("an unknown encoding", b"POST" + host + b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n"),
            ("a chunk past 2^64", chunked + b"10000000000000001\r\na"),
            ("a chunk's size with a sign", chunked + b"-1\r\n\r\n"),
            ("a space before the colon", b"POST" + host + b"Content-Length : 5\r\n\r\nabcde"),
            ("a folded header", b"GET" + host + b"A: b\r\n Content-Length: 5\r\n\r\n"),
            ("a NUL in a header", b"GET" + host + b"A: b\0c\r\n\r\n"),
            ("a bare carriage return", b"GET" + host + b"A: b\rContent-Length: 5\r\n\r\n"),
            ("a line feed in the target", b"GET /ver\nsion HTTP/1.1\r\nHost: m\r\n\r\n"),
            ("1,000 headers", b"GET" + host + b"A: b\r\n" * 1000 + b"\r\n"),
            ("no HTTP", b"\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03" * 10 + b"\r\n\r\n")):
        got = door.raw(octets + get)
        check(got.startswith((b"HTTP/1.1 4", b"HTTP/1.1 501 ")), what, got[:300])
        equal(got.count(b"HTTP/1.1 "), 1, what, got[:600])


def bears_what_it_accepts(m, door):
    """Kubernetes accepts these pods too: they wait with a reason, or run and end, and no other pod stops."""
    for resource, unit in (("nvidia.com/gpu", "gpus"), ("cpu", "cpu"), ("memory", "memory")):
        c = [{"name": f"c{i}", "image": "host", "command": ["true"],
              "resources": {"limits": {resource: "9223372036854775"}}} for i in range(60)]
        body = manifest({"name": "sum-" + unit}, {"containers": c})
        equal(door.ask("POST", PODS, body)[0], 201, resource)
        wait(lambda: unit in m.ok("get", "pod", "sum-" + unit, "-o", "jsonpath={.status.conditions[*].message}"),
             f"the reason names {unit}")
    status, pod = door.ask("POST", PODS, manifest({"name": "liar", "uid": "mine", "deletionTimestamp": "2020-01-01T00:00:00Z"},
                                                  status={"phase": "Failed", "podIP": "1.2.3.4"}))
    equal(status, 201, pod)
    equal((pod["status"]["phase"], pod["metadata"].get("deletionTimestamp")), ("Pending", None), pod)
    check(pod["metadata"]["uid"] != "mine" and "podIP" not in pod["status"], pod)
    m.wait_phase("liar", "Succeeded")
    large = env(*((f"E{i}", "x" * 102400) for i in range(10)))
    large["metadata"]["name"] = "large"
    equal(door.ask("POST", PODS, large)[0], 201)
    m.wait_phase("large", ("Succeeded", "Failed"))
    equal(door.ask("DELETE", PODS + "?gracePeriodSeconds=0")[0], 200)
    wait(lambda: not m.object("pods")["items"], "all of them go")


def holds_idle_connections(door, held):
    for i in range(500):
        s = held.enter_context(door.connect_unix() if i % 2 else door.connect_tls())
        if i % 5 == 0:
            s.sendall(b"GET /version HTTP/1.1\r\nHo")


def holds_watches_that_never_read(door, held):
    for i in range(200):
        s = held.enter_context(door.connect_unix() if i % 2 else door.connect_tls())
        s.sendall(b"GET /api/v1/configmaps?watch=1 HTTP/1.1\r\nHost: m\r\n\r\n")
    for i in range(20):
        status, answer = door.ask("POST", CONFIG_MAPS, {"metadata": {"name": f"m{i}"}, "data": {"a": "x" * 100000}})
        equal(status, 201, answer)


def takes_huge_and_slow_bodies(door, held):
    """200 incomplete bodies of 2.9 MiB at once: the server keeps at most 32 MiB, and tells other clients to retry."""
    size = 2900 << 10
    head = f"POST {PODS} HTTP/1.1\r\nHost: m\r\nContent-Type: application/json\r\nContent-Length: {size}\r\n\r\n".encode()
    left = {}
    for _ in range(200):
        s = held.enter_context(door.connect_unix())
        s.setblocking(False)
        left[s] = memoryview(head + b" " * (size - 1))
    refused = 0
    end = time.monotonic() + 30
    while left and time.monotonic() < end:
        readable, writable, _ = select.select(left, left, [], 1)
        for s in writable:
            with contextlib.suppress(BlockingIOError):
                try:
                    left[s] = left[s][s.send(left[s][:262144]):]
                except (BrokenPipeError, ConnectionResetError):
                    left[s] = left[s][:0]
        for s in [s for s in readable if s in left]:
            with contextlib.suppress(BlockingIOError, ConnectionResetError):
                refused += b" 503 " in s.recv(4096)
            del left[s]
        for s in [s for s in left if not left[s]]:
            del left[s]
    check(not left, f"{len(left)} bodies were neither taken nor refused")
    check(refused > 0, "all of 580 MiB were taken")
