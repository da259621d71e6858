"""Queues and Reservations that are valid or not: for Mete's own server, and for a kube-apiserver with the definitions of `mete kube crds`."""
import json


def read_objects(text):
    """The objects of a stream of JSON documents, as `kubectl -o json` prints those of a manifest."""
    decode, objects = json.JSONDecoder().raw_decode, []
    while text := text.lstrip():
        o, size = decode(text)
        text = text[size:]
        objects.append(o)
    return objects


def queue(name="q", **spec):
    return {"apiVersion": "mete.dev/v1", "kind": "Queue", "metadata": {"name": name}, "spec": spec}


def reservation(**spec):
    times = {"startTime": "2030-01-01T10:00:00Z", "endTime": "2030-01-01T11:00:00Z"}
    return {"apiVersion": "mete.dev/v1", "kind": "Reservation", "metadata": {"name": "r"}, "spec": {**times, **spec}}


def quota(resource, **amounts):
    return [{"resource": resource, "nominal": 1, **amounts}]


VALID = [
    queue(),
    queue(parent="labs", weight=3, quotas=quota("gpu", borrowLimit="2", lendLimit=0)),
    queue(quotas=[*quota("gpu:h100"), *quota("cpu", nominal="1500m"), *quota("memory", nominal="1.5Gi"), *quota("example.com/nic")]),
    queue(limits={"gpus": 4, "running": 2}, userLimits={"gpus": "1"}),
    queue(timeLimit="1h30m", minRunTime="1.5h", stopped=True, reserveDepth=3),
    queue(preemption={"reclaim": "Any", "within": "Later"}),
    queue(namespaces=["a", "b"], namespaceSelector={"matchLabels": {"team": "x"}, "matchExpressions": [
        {"key": "example.com/tier", "operator": "In", "values": ["gold"]}, {"key": "old", "operator": "DoesNotExist"}]}),
    queue("root", fairness={"order": "Priority", "halfLife": "7d", "factors": {"age": 1000}}, moves={"horizon": "2h"}),
    reservation(nodes=["n1"], maintenance=True),
    reservation(gpus=4, gpuModels=["h100"], queues=["research"], users=["ann"]),
]

INVALID = [
    queue(weight=0),
    queue(weight="heavy"),
    queue(parent="q"),
    queue(parent="Labs!"),
    queue("a" * 64),
    queue(quotas=[{"resource": "gpu"}]),
    queue(quotas=quota("gpu", nominal=-1)),
    queue(quotas=quota("gpu", nominal="-1")),
    queue(quotas=quota("gpu", nominal="four")),
    queue(quotas=quota("gpu:")),
    queue(quotas=quota("nvidia.com/gpu")),
    queue(quotas=quota("nvidia.com/mig-1g.10gb")),
    queue(quotas=quota("a b")),
    queue(quotas=quota("gpu") + quota("gpu")),
    queue(limits={"running": 0}),
    queue(timeLimit="an hour"),
    queue(timeLimit="1.h"),
    queue(preemption={"reclaim": "Sometimes"}),
    queue(fairness={"order": "Shares"}),
    queue(moves={"max": 1}),
    queue("root", quotas=quota("gpu")),
    queue("root", weight=2),
    queue(namespaceSelector={"matchExpressions": [{"key": "a", "operator": "In"}]}),
    queue(namespaceSelector={"matchExpressions": [{"key": "a", "operator": "Exists", "values": ["b"]}]}),
    reservation(nodes=["n1"]),
    reservation(maintenance=True),
    reservation(nodes=["n1"], gpus=1, maintenance=True),
    reservation(nodes=["n1"], maintenance=True, users=["ann"]),
    reservation(nodes=["n1"], gpuModels=["h100"], maintenance=True),
    reservation(gpus=0, users=["ann"]),
    reservation(gpus=1, users=["ann"], endTime="2030-01-01T09:00:00Z"),
    reservation(gpus=1, users=["ann"], startTime="soon"),
]


def check_objects(create):
    """`create` sends one object, with dryRun, and says whether the server takes it: the list of wrong answers is empty."""
    return [("refused", o) for o in VALID if not create(o)] + [("taken", o) for o in INVALID if create(o)]
