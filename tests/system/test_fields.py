"""Every field of a manifest: refusals name the field, fields without effect give warnings, and the effects of others
show in the container. The lists come from the server's own description of its kinds."""

import contextlib
import http.client
import json
import os
import re
import ssl

import image_kit
from door import PODS, Door
from harness import ROOT, Mete, check, equal, pod, wait

REFUSED = "Not implemented by mete yet: refused."
IGNORED = "Not implemented by mete yet: kept, without an effect."
GROUPS = {"Pod": ("api/v1", PODS), "Job": ("apis/batch/v1", "/apis/batch/v1/namespaces/default/jobs"),
          "CronJob": ("apis/batch/v1", "/apis/batch/v1/namespaces/default/cronjobs")}


def test_what_has_no_effect_is_named():
    with Mete() as m:
        door = Door(m)
        for kind in GROUPS:
            every_refused_field_is_refused_and_every_ignored_one_warned_of(m, door, kind)


def schema_of(door, kind):
    status, found = door.ask("GET", "/openapi/v3/" + GROUPS[kind][0])
    equal(status, 200)
    return next(s for name, s in found["components"]["schemas"].items() if name.endswith("." + kind))


def fields_below(schema, path=()):
    """Each field whose description says that it has no effect, with its path: names, and 0 for an item of a list."""
    for name, child in schema.get("properties", {}).items():
        text = child.get("description", "")
        here = (*path, name)
        if name == "ephemeralContainers" or (name == "status" and not path):
            continue  # no manifest of a new pod has them
        if text.endswith(REFUSED) or text.endswith(IGNORED):
            yield here, child, text.endswith(REFUSED)
            continue
        yield from fields_below(child, here)
        if "items" in child:
            yield from fields_below(child["items"], (*here, 0))


def value_for(child):
    """A value other than the harmless ones."""
    if "enum" in child:
        return next(v for v in child["enum"] if v != child.get("default"))
    return {"string": "something", "integer": 7, "boolean": True, "array": [{"name": "x"}], "object": {"name": "x"}}[child["type"]]


def minimal(kind):
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "host", "command": ["true"]}]}}
    job = {"spec": {"template": template}}
    body = {"Pod": {"spec": template["spec"]}, "Job": job, "CronJob": {"spec": {"schedule": "* * * * *", "jobTemplate": job}}}[kind]
    return {"apiVersion": "v1" if kind == "Pod" else "batch/v1", "kind": kind, "metadata": {"name": "probe"}, **body}


def put(body, path, value):
    """The body with the value at the path; lists on the path get an item."""
    at = body
    for name, following in zip(path, path[1:]):
        if name == 0:
            if not at:
                at.append({"name": "x", "image": "host"})
            at = at[0]
        else:
            at = at.setdefault(name, [] if following == 0 else {})
    at[path[-1]] = value
    return body


def every_refused_field_is_refused_and_every_ignored_one_warned_of(m, door, kind):
    refused = ignored = 0
    for path, child, is_refused in fields_below(schema_of(door, kind)):
        body = put(minimal(kind), path, value_for(child))
        status, answer = door.ask("POST", f"{GROUPS[kind][1]}?dryRun=All", body)
        name = re.sub(r"\.0(?=\.|$)", "[0]", ".".join(map(str, path)))
        if is_refused:
            refused += 1
            check(status == 422 and name in answer["message"], name, status, answer)
        else:
            ignored += 1
            check(any(name in w for w in door.warnings), name, status, answer, door.warnings)
    check(refused > 60 and ignored > 4, kind, refused, ignored)


# ---- what there is, seen from inside ----

def test_what_there_is_can_be_seen_inside():
    with Mete() as m:
        archive = os.path.join(m.dir, "box.tar")
        image_kit.write(archive, image_kit.Image([image_kit.base_layer()]).layout())
        r = m.mete("image", "import", archive, "box:1")
        equal(r.code, 0, r)
        m.ok("create", "serviceaccount", "robot")
        m.ok("apply", "-f", "-", stdin=pod("all", "", containers=[container_of_all(m)], **spec_of_all()))
        m.wait_phase("all", "Succeeded")
        said = dict(line.split("=", 1) for line in m.ok("logs", "all").splitlines())
        of_all = m.object("pod", "all")
        equal(said["file"], "2000", "resourceFieldRef of a volume, in thousandths")
        equal(said["env"], "512", "resourceFieldRef of the environment, in Mi")
        equal(said["from"], "PRE_mode:fast", "envFrom with a prefix")
        equal(said["ns"], "default", "of the account's token")
        equal(said["dots"], "2", "a token has three parts")
        equal(said["cwd"], "/tmp")
        equal(said["args"], "one two")
        equal(said["hostip"], of_all["status"]["hostIP"])
        equal(said["node"], of_all["spec"]["nodeName"])
        equal(said["uid"], of_all["metadata"]["uid"])
        equal(said["account"], "robot")
        equal(said["alias"], "10.1.2.3")
        equal(said["mode"], "440", "of a file of a secret")
        equal(said["binary"], "000102", "binaryData")
        equal(said["optional"], "none", "what is optional may be missing")
        check(said["host"].startswith("https://"), said["host"])
        equal(of_all["status"]["qosClass"], "Burstable")
        check(of_all["status"]["startTime"] <= of_all["status"]["containerStatuses"][0]["state"]["terminated"]["finishedAt"])
        the_api_answers_its_token(m)


SCRIPT = """
echo file=$(cat /info/cpu)
echo env=$MEM
echo from=PRE_mode:$PRE_mode
echo ns=$(cat /var/run/secrets/kubernetes.io/serviceaccount/namespace)
echo dots=$(tr -dc . </var/run/secrets/kubernetes.io/serviceaccount/token | wc -c)
echo cwd=$PWD
echo args=$1 $2
echo hostip=$HOST_IP
echo node=$NODE
echo uid=$POD_UID
echo account=$ACCOUNT
echo alias=$(grep somewhere.example /etc/hosts | cut -f1)
echo mode=$(stat -L -c %a /keys/key)
echo binary=$(od -An -tx1 /config/b | tr -d ' ')
echo optional=${MISSING:-none}
echo host=https://$KUBERNETES_SERVICE_HOST:$KUBERNETES_SERVICE_PORT
"""


def container_of_all(m):
    m.ok("create", "configmap", "settings", "--from-literal=mode=fast")
    m.ok("patch", "configmap", "settings", "-p", '{"binaryData":{"b":"AAEC"}}')
    m.ok("create", "secret", "generic", "keys", "--from-literal=key=s3cret")
    field = lambda name, path: {"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}}
    return {
        "name": "main", "image": "box:1", "command": ["sh", "-c", SCRIPT, "script"], "args": ["one", "two"], "workingDir": "/tmp",
        "imagePullPolicy": "Never",
        "resources": {"requests": {"cpu": "10m"}, "limits": {"cpu": "2", "memory": "512Mi"}},
        "envFrom": [{"prefix": "PRE_", "configMapRef": {"name": "settings"}}, {"secretRef": {"name": "absent", "optional": True}}],
        "env": [{"name": "MEM", "valueFrom": {"resourceFieldRef": {"containerName": "main", "resource": "limits.memory",
                                                                   "divisor": "1Mi"}}},
                {"name": "MISSING", "valueFrom": {"configMapKeyRef": {"name": "settings", "key": "absent", "optional": True}}},
                field("HOST_IP", "status.hostIP"), field("NODE", "spec.nodeName"), field("POD_UID", "metadata.uid"),
                field("ACCOUNT", "spec.serviceAccountName")],
        "volumeMounts": [{"name": n, "mountPath": "/" + n} for n in ("info", "keys", "config")]}


def spec_of_all():
    return {
        "serviceAccountName": "robot", "automountServiceAccountToken": True, "enableServiceLinks": False,
        "schedulerName": "default-scheduler", "hostNetwork": True, "os": {"name": "linux"}, "activeDeadlineSeconds": 60,
        "hostAliases": [{"ip": "10.1.2.3", "hostnames": ["somewhere.example"]}],
        "tolerations": [{"key": "k", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5}],
        "volumes": [
            {"name": "info", "downwardAPI": {"items": [{"path": "cpu", "resourceFieldRef": {
                "containerName": "main", "resource": "limits.cpu", "divisor": "1m"}}]}},
            {"name": "keys", "secret": {"secretName": "keys", "items": [{"key": "key", "path": "key", "mode": 0o440}]}},
            {"name": "config", "configMap": {"name": "settings"}}]}


def the_api_answers_its_token(m):
    """A program in a pod asks the API for its identity with its token, with curl, as a client library would."""
    where = "/mnt"
    volume = {"name": "t", "projected": {"sources": [
        {"serviceAccountToken": {"path": "token", "expirationSeconds": 600}},
        {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}}]}}
    url = re.search(r"server: (\S+)", m.ok("config", "view", "--raw"))[1]
    ask = (f"curl -s --cacert {where}/ca.crt -H \"Authorization: Bearer $(cat {where}/token)\" -H 'Content-Type: application/json' "
           "-d '{\"apiVersion\":\"authentication.k8s.io/v1\",\"kind\":\"SelfSubjectReview\"}' "
           f"{url}/apis/authentication.k8s.io/v1/selfsubjectreviews")
    c = {"name": "main", "image": "host", "command": ["sh", "-c", ask], "volumeMounts": [{"name": "t", "mountPath": where}]}
    m.ok("apply", "-f", "-", stdin=pod("asks", "", containers=[c], volumes=[volume], serviceAccountName="robot"))
    m.wait_phase("asks", "Succeeded")
    who = json.loads(m.ok("logs", "asks"))["status"]["userInfo"]
    equal(who["username"], "system:serviceaccount:default:robot")
    equal(who["extra"]["authentication.kubernetes.io/pod-name"], ["asks"])
    equal(who["uid"], m.object("serviceaccount", "robot")["metadata"]["uid"])


ACCOUNT = """
cd /var/run/secrets/kubernetes.io/serviceaccount 2>/dev/null || echo none
echo $(cat namespace 2>/dev/null) $(cat token 2>/dev/null)
grep -c BEGIN ca.crt 2>/dev/null
env | grep ^KUBERNETES_ | sort
echo end
[ ! -e token ] || exec sleep 1000
"""


def test_pods_of_images_have_their_accounts_token():
    """As in Kubernetes, the account default, too, which may ask for nothing but its own identity."""
    with Mete(gpus="none") as m:
        image_kit.write(archive := os.path.join(m.dir, "box.tar"), image_kit.Image([image_kit.base_layer()]).layout())
        equal(m.mete("image", "import", archive, "box:1").code, 0)
        m.ok("create", "serviceaccount", "quiet")
        m.ok("patch", "serviceaccount", "quiet", "-p", '{"automountServiceAccountToken":false}')
        host, port = re.search(r"server: https://([0-9.]+):([0-9]+)", m.ok("config", "view", "--raw")).groups()
        tcp = f"KUBERNETES_PORT_{port}_TCP"
        api = sorted([f"KUBERNETES_SERVICE_HOST={host}", f"KUBERNETES_SERVICE_PORT={port}", f"KUBERNETES_SERVICE_PORT_HTTPS={port}",
                      f"KUBERNETES_PORT=tcp://{host}:{port}", f"{tcp}=tcp://{host}:{port}", f"{tcp}_PROTO=tcp", f"{tcp}_PORT={port}",
                      f"{tcp}_ADDR={host}"])
        c = {"name": "main", "image": "box:1", "imagePullPolicy": "Never", "command": ["sh", "-c", ACCOUNT]}
        for name, spec, has_token in (("default", {}, True), ("no", {"automountServiceAccountToken": False}, False),
                                      ("quiet", {"serviceAccountName": "quiet"}, False)):
            m.ok("apply", "-f", "-", stdin=pod(name, "", containers=[c], **spec))
            wait(lambda: "end\n" in m.kubectl("logs", name).out, f"{name} has said all")
            said = m.ok("logs", name).splitlines()[:-1]
            if has_token:
                ns, token = said.pop(0).split()
                equal((ns, said.pop(0)), ("default", "1"))
            else:
                equal([said.pop(0), said.pop(0)], ["none", ""])
            equal(said, api, name)
        equal(m.object("pod", "default")["spec"]["containers"][0].get("env"), None)
        m.ok("apply", "-f", "-", stdin=pod("host", ACCOUNT))
        m.wait_phase("host", "Succeeded")
        equal(m.ok("logs", "host").split(), ["none", "end"])
        nothing_is_allowed_to_it(m, host, port, token)


def nothing_is_allowed_to_it(m, host, port, token):
    tls = ssl.create_default_context(cafile=os.path.join(m.data, "server/pki/ca.crt"))
    c = http.client.HTTPSConnection(host, int(port), context=tls, timeout=30)
    with contextlib.closing(c):
        for path in ("/api/v1/namespaces/default/pods", "/api/v1/namespaces/default/secrets"):
            c.request("GET", path, headers={"Authorization": f"Bearer {token}"})
            answer = c.getresponse()
            text = answer.read()
            equal((answer.status, b"system:serviceaccount:default:default" in text), (403, True), path, text)


# ---- Jobs ----

def job(name, script, **spec):
    return json.dumps({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": {
        **spec, "template": {**spec.pop("template", {}), "spec": json.loads(pod("x", script))["spec"]}}})


def ends_as(m, name, kind):
    def look():
        return [c for c in m.object("job", name)["status"].get("conditions", []) if c["type"] == kind and c["status"] == "True"]

    return wait(look, f"job {name} is {kind}")[0]


def test_a_program_on_the_machines_files_finds_its_host_name():
    """Spark names its executors' hosts, and its JVM ends where that name has no address."""
    with Mete(gpus="none") as m:
        m.ok("apply", "-f", "-", stdin=pod("named", "hostname; echo $HOSTNAME; getent hosts $(hostname) > /dev/null && echo found",
                                           hostname="other"))
        equal(m.wait_phase("named", ("Succeeded", "Failed")), "Succeeded")
        equal(m.ok("logs", "named").split(), [os.uname().nodename] * 2 + ["found"])


def test_jobs_end_as_their_fields_say():
    with Mete(gpus="none") as m:
        # The leader's success is the job's: the others, which would not end, are ended.
        m.ok("apply", "-f", "-", stdin=job(
            "led", "[ $JOB_COMPLETION_INDEX = 0 ] || exec sleep 600", completions=3, parallelism=3, completionMode="Indexed",
            successPolicy={"rules": [{"succeededIndexes": "0", "succeededCount": 1}]}))
        equal(ends_as(m, "led", "SuccessCriteriaMet")["reason"], "SuccessPolicy")
        ends_as(m, "led", "Complete")
        equal(m.object("job", "led")["status"]["completedIndexes"], "0")
        # A second failed index is one too many.
        m.ok("apply", "-f", "-", stdin=job(
            "strict", "exit 1", completions=4, parallelism=1, completionMode="Indexed", backoffLimitPerIndex=0, maxFailedIndexes=1))
        equal(ends_as(m, "strict", "Failed")["reason"], "MaxFailedIndexesExceeded")
        equal(m.object("job", "strict")["status"]["failedIndexes"], "0,1")
        # A pod that is being deleted is not replaced before it has ended.
        m.ok("apply", "-f", "-", stdin=job(
            "patient", "trap 'sleep 2; exit 1' TERM; while :; do sleep 0.1; done", podReplacementPolicy="Failed"))
        first = wait(lambda: [p for p in pods_of(m, "patient") if p["status"].get("phase") == "Running"], "it runs")[0]
        m.ok("delete", "pod", first["metadata"]["name"], "--wait=false")
        wait(lambda: m.object("job", "patient")["status"].get("terminating") == 1, "it is told to end")
        equal(len(pods_of(m, "patient")), 1)
        m.ok("delete", "job", "patient", "--cascade=background")
        # A selector by hand.
        labels = {"sweep": "a"}
        m.ok("apply", "-f", "-", stdin=job(
            "own", "true", manualSelector=True, template={"metadata": {"labels": labels}},
            selector={"matchExpressions": [{"key": "sweep", "operator": "In", "values": ["a", "b"]}]}))
        ends_as(m, "own", "Complete")
        equal(len(m.object("pods", "-l", "sweep=a")["items"]), 1)


def pods_of(m, name):
    return m.object("pods", "-l", f"job-name={name}")["items"]


def test_a_probe_speaks_https_and_the_old_name_of_an_account_counts():
    with Mete(gpus="none") as m:
        port = Door(m).address[1]
        m.ok("create", "serviceaccount", "robot")
        probe = {"httpGet": {"scheme": "HTTPS", "host": "127.0.0.1", "port": port, "path": "/livez"}, "periodSeconds": 1,
                 "initialDelaySeconds": 1}
        c = {"name": "main", "image": "host", "command": ["sleep", "600"], "readinessProbe": probe}
        m.ok("apply", "-f", "-", stdin=pod("asked", "", containers=[c], serviceAccount="robot"))
        m.ok("wait", "--for=condition=Ready", "pod/asked", "--timeout=600s")
        equal(m.object("pod", "asked")["spec"]["serviceAccountName"], "robot")


# ---- every field of the kinds is looked at by some test ----

def words_of_tests():
    found = set()
    for directory in ("tests/system", "tests/interop", "tests/interop/js", "tests/interop/manifests"):
        for name in os.listdir(os.path.join(ROOT, directory)):
            if name.endswith((".py", ".js", ".yaml")):
                with open(os.path.join(ROOT, directory, name)) as f:
                    found.update(re.findall(r"\w+", f.read()))
    return found


def has_effect(child):
    """It has one itself, or something below it."""
    below = child.get("properties") or child.get("items", {}).get("properties")
    return not child.get("description", "").endswith((REFUSED, IGNORED)) and (not below or any(map(has_effect, below.values())))


def supported(schema):
    for name, child in schema.get("properties", {}).items():
        if name in ("status", "metadata", "apiVersion", "kind"):
            continue
        if has_effect(child):
            yield name
            yield from supported(child)
            yield from supported(child.get("items", {}))


def test_no_field_is_without_a_test():
    words = words_of_tests()
    with Mete(gpus="none") as m:
        door = Door(m)
        missing = {name for kind in GROUPS for name in supported(schema_of(door, kind)) if name not in words}
    equal(sorted(missing), [])
