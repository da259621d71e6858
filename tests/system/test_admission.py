"""Admission: webhooks that allow, deny and change, that hang, lie and loop; policies in CEL."""

import json
import threading

from harness import Mete, check, equal, wait
from hook_kit import Certificates, Hook, own_address, patch, rule, webhook
from test_rbac import ask, make

ADMISSION = "/apis/admissionregistration.k8s.io/v1"
MAPS = "/api/v1/namespaces/default/configmaps"
MERGE = "application/merge-patch+json"


def configure(m, kind, name, *hooks):
    plural = {"Validating": "validatingwebhookconfigurations", "Mutating": "mutatingwebhookconfigurations"}[kind]
    return make(m, f"{ADMISSION}/{plural}", {"metadata": {"name": name}, "webhooks": list(hooks)})


def drop(m, kind, name):
    plural = {"Validating": "validatingwebhookconfigurations", "Mutating": "mutatingwebhookconfigurations"}[kind]
    equal(ask(m, "DELETE", f"{ADMISSION}/{plural}/{name}")[0], 200)


def config_map(name, data=None, **metadata):
    return {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": name, **metadata}, "data": data or {}}


def test_webhooks():
    certificates = Certificates("127.0.0.1", "hook.default.svc")
    with Mete() as m, Hook(certificates) as hook:
        a_webhook_denies_in_its_own_words(m, hook)
        webhooks_change_objects_in_their_order(m, hook)
        rules_selectors_and_conditions_choose(m, hook)
        a_deletion_is_asked_about(m, hook)
        failures_follow_their_policy(m, hook)
        a_change_meanwhile_is_asked_about_again(m, hook)
        a_service_leads_to_its_endpoints(m, hook)
        pods_of_controllers_are_asked_about(m, hook)
        faults_are_named(m)


def a_webhook_denies_in_its_own_words(m, hook):
    hook.answers["/deny"] = lambda r: {
        "allowed": r["object"]["data"].get("good") == "yes",
        "status": {"message": "not good", "code": 403, "reason": "Forbidden"}, "warnings": ["look here"],
        "auditAnnotations": {"seen": "true"}}
    configure(m, "Validating", "deny", webhook(hook, "/deny", rule("configmaps"), matchConditions=[
        {"name": "mine", "expression": "object.metadata.name.startsWith('d-')"}]))
    status, told = ask(m, "POST", MAPS, config_map("d-one"))
    equal((status, told["message"], told["reason"]),
          (403, 'admission webhook "deny.hooks.example.com" denied the request: not good', "Forbidden"))
    make(m, MAPS, config_map("d-one", {"good": "yes"}))
    make(m, MAPS, config_map("other"))
    status, told = ask(m, "PATCH", f"{MAPS}/d-one", {"data": {"good": "no"}}, kind=MERGE)
    equal(status, 403, told)
    request = hook.of("/deny")[-1]
    equal((request["operation"], request["oldObject"]["data"], request["object"]["data"]), ("UPDATE", {"good": "yes"}, {"good": "no"}))
    equal((request["name"], request["namespace"], request["dryRun"]), ("d-one", "default", False))
    equal(request["resource"], {"group": "", "version": "v1", "resource": "configmaps"})
    check("system:masters" in request["userInfo"]["groups"], request["userInfo"])
    out = m.kubectl("create", "configmap", "d-two", "--from-literal=good=no")
    equal(out.err.strip().splitlines()[-1],
          'error: failed to create configmap: admission webhook "deny.hooks.example.com" denied the request: not good')
    check("Warning: look here" in out.err, out.err)
    lines = m.mete("audit", "-o", "jsonl").out.splitlines()
    noted = [x for x in map(json.loads, lines) if x.get("annotations", {}).get("deny.hooks.example.com/seen") == "true"]
    check({201, 403} <= {x["code"] for x in noted}, noted)
    drop(m, "Validating", "deny")


def webhooks_change_objects_in_their_order(m, hook):
    add = lambda text: lambda r: patch({"op": "add", "path": "/data/seen", "value": r["object"]["data"].get("seen", "") + text})
    hook.answers["/a"] = add("a")
    hook.answers["/b"] = add("b")
    hook.answers["/see"] = lambda r: {"allowed": True}
    configure(m, "Mutating", "m-2", webhook(hook, "/b", rule("configmaps")))
    configure(m, "Mutating", "m-1", webhook(hook, "/a", rule("configmaps"), reinvocationPolicy="IfNeeded"))
    configure(m, "Validating", "see", webhook(hook, "/see", rule("configmaps")))
    made = make(m, MAPS, config_map("order"))
    equal(made["data"], {"seen": "aba"})
    seen = hook.of("/see")[-1]["object"]
    equal((seen["metadata"]["uid"], seen["data"]), (made["metadata"]["uid"], made["data"]))
    manager = [f for f in made["metadata"]["managedFields"] if "f:seen" in json.dumps(f)]
    equal(len(manager), 1, made)
    dry = make(m, f"{MAPS}?dryRun=All", config_map("dry"))
    equal((dry["data"]["seen"], hook.of("/see")[-1]["dryRun"]), ("aba", True))
    generated = make(m, MAPS, {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"generateName": "gen-"}, "data": {}})
    equal(hook.of("/see")[-1]["name"], generated["metadata"]["name"])
    for name in "m-1", "m-2":
        drop(m, "Mutating", name)
    drop(m, "Validating", "see")


def rules_selectors_and_conditions_choose(m, hook):
    hook.answers["/choose"] = lambda r: {"allowed": False}
    make(m, "/api/v1/namespaces", {"metadata": {"name": "guarded", "labels": {"guard": "on"}}})
    configure(m, "Validating", "choose", webhook(
        hook, "/choose", rule("configmaps", "deployments/scale", operations=["*"]), rule("namespaces", scope="Cluster"),
        namespaceSelector={"matchLabels": {"guard": "on"}}, objectSelector={"matchExpressions": [{"key": "free", "operator": "DoesNotExist"}]}))
    make(m, MAPS, config_map("outside"))
    equal(ask(m, "POST", "/api/v1/namespaces/guarded/configmaps", config_map("inside"))[1]["message"],
          'admission webhook "choose.hooks.example.com" denied the request without explanation')
    make(m, "/api/v1/namespaces/guarded/configmaps", config_map("free", labels={"free": "1"}))
    make(m, "/api/v1/namespaces/guarded/secrets", {"metadata": {"name": "s"}})
    equal(ask(m, "POST", "/api/v1/namespaces", {"metadata": {"name": "other", "labels": {"guard": "on"}}})[0], 400)
    drop(m, "Validating", "choose")


def a_deletion_is_asked_about(m, hook):
    hook.answers["/keep"] = lambda r: {"allowed": r["oldObject"]["data"].get("keep") != "yes", "status": {"message": "it is kept"}}
    configure(m, "Validating", "keep", webhook(hook, "/keep", rule("configmaps", operations=["DELETE"])))
    make(m, MAPS, config_map("kept", {"keep": "yes"}, labels={"app": "keep"}))
    make(m, MAPS, config_map("gone", labels={"app": "keep"}))
    equal(ask(m, "DELETE", f"{MAPS}/kept")[0], 400)
    equal(ask(m, "DELETE", f"{MAPS}/gone")[0], 200)
    make(m, MAPS, config_map("gone", labels={"app": "keep"}))
    status, told = ask(m, "DELETE", f"{MAPS}?labelSelector=app%3Dkeep")
    check(status == 400 and "it is kept" in told["message"], told)
    equal(ask(m, "GET", f"{MAPS}/gone")[0], 404)
    drop(m, "Validating", "keep")


def failures_follow_their_policy(m, hook):
    """A hook that hangs, lies, answers too much or is not there costs its own request only."""
    uid = lambda r: {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": {"uid": r["uid"], "allowed": True}}
    bad = {
        "hang": (lambda r: hook.stop.wait() and None, "?timeout=1s\": context deadline exceeded"),
        "text": (lambda r: b"hello", "received invalid webhook response: the answer is no JSON"),
        "uid": (lambda r: json.dumps({**uid(r), "response": {"uid": "x", "allowed": True}}).encode(), "expected response.uid="),
        "version": (lambda r: json.dumps({**uid(r), "apiVersion": "admission.k8s.io/v1beta1"}).encode(), "expected webhook response of"),
        "patch": (lambda r: patch({"op": "test", "path": "/nothing", "value": 1}), "received invalid webhook response"),
        "large": (lambda r: b" " * (10 << 20), "the answer has more than 3145728 bytes"),
        "kind": (lambda r: patch({"op": "replace", "path": "/data", "value": 7}), "data"),
    }
    for path, (answer, _) in bad.items():
        hook.answers["/" + path] = answer
    configure(m, "Mutating", "bad", *(webhook(hook, "/" + path, rule("configmaps"), timeoutSeconds=1,
                                              matchConditions=[{"name": "me", "expression": f"object.metadata.name == 'bad-{path}'"}])
                                      for path in bad))
    results = {}
    threads = [threading.Thread(target=lambda p=p: results.update({p: ask(m, "POST", MAPS, config_map(f"bad-{p}"))})) for p in bad]
    for t in threads:
        t.start()
    make(m, MAPS, config_map("meanwhile"))  # nobody else waits
    for t in threads:
        t.join()
    for path, (_, want) in bad.items():
        status, told = results[path]
        check(status >= 400 and want in told["message"], path, status, told)
        if path != "kind":
            check(told["message"].startswith(f'Internal error occurred: failed calling webhook "{path}.hooks.example.com": '), told)
    drop(m, "Mutating", "bad")
    gone = webhook(hook, "/gone", rule("configmaps"), failurePolicy="Ignore", timeoutSeconds=1)
    gone["clientConfig"]["url"] = "https://127.0.0.1:1/gone"
    configure(m, "Validating", "gone", gone)
    make(m, MAPS, config_map("ignored"))
    drop(m, "Validating", "gone")


def a_change_meanwhile_is_asked_about_again(m, hook):
    """Each question shows the object of now: what was allowed is what is written."""
    made = make(m, MAPS, config_map("race", {"n": "0"}))
    begun, go = threading.Event(), threading.Event()

    def answer(r):
        begun.set()
        go.wait(60)
        return {"allowed": True}

    hook.answers["/race"] = answer
    configure(m, "Validating", "race", webhook(hook, "/race", rule("configmaps"), timeoutSeconds=30, matchConditions=[
        {"name": "mine", "expression": "has(object.data.slow)"}]))
    result = {}
    t = threading.Thread(target=lambda: result.update(r=ask(m, "PATCH", f"{MAPS}/race", {"data": {"slow": "1"}}, kind=MERGE)))
    t.start()
    check(begun.wait(60), "the webhook is asked")
    equal(ask(m, "PATCH", f"{MAPS}/race", {"data": {"n": "1"}}, kind=MERGE)[0], 200)
    go.set()
    t.join()
    equal((result["r"][0], result["r"][1]["data"]), (200, {"n": "1", "slow": "1"}))
    equal([r["object"]["data"] for r in hook.of("/race")], [{"n": "0", "slow": "1"}, {"n": "1", "slow": "1"}])
    check(made["metadata"]["uid"], made)
    drop(m, "Validating", "race")


def a_service_leads_to_its_endpoints(m, hook):
    hook.answers["/served"] = lambda r: {"allowed": False, "status": {"message": "reached"}}
    by_service = webhook(hook, "/served", rule("configmaps"))
    by_service["clientConfig"] = {"service": {"namespace": "default", "name": "hook", "path": "/served", "port": hook.port},
                                  "caBundle": hook.certificates.bundle}
    configure(m, "Validating", "served", by_service)
    services = "/api/v1/namespaces/default/services"
    make(m, services, {"metadata": {"name": "hook"}, "spec": {"clusterIP": "None", "ports": [{"port": hook.port}]}})
    status, told = ask(m, "POST", MAPS, config_map("served"))
    check(status == 500 and 'no endpoints available for service "hook"' in told["message"], told)
    if own_address():
        make(m, "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices", {
            "metadata": {"name": "hook-1", "labels": {"kubernetes.io/service-name": "hook"}}, "addressType": "IPv4",
            "endpoints": [{"addresses": [own_address()], "conditions": {"ready": True}}], "ports": [{"port": hook.port}]})
        status, told = ask(m, "POST", MAPS, config_map("served"))
        check(status == 400 and told["message"].endswith("denied the request: reached"), told)
    equal(ask(m, "DELETE", f"{services}/hook")[0], 200)
    make(m, services, {"metadata": {"name": "hook"}, "spec": {"type": "ExternalName", "externalName": "localhost"}})
    status, told = ask(m, "POST", MAPS, config_map("served"))
    check(status == 400 and told["message"].endswith("denied the request: reached"), told)
    drop(m, "Validating", "served")


def pods_of_controllers_are_asked_about(m, hook):
    hook.answers["/pods"] = lambda r: patch({"op": "add", "path": "/metadata/labels/injected", "value": "yes"})
    hook.answers["/check"] = lambda r: {"allowed": r["object"]["metadata"]["labels"].get("injected") == "yes"}
    configure(m, "Mutating", "pods", webhook(hook, "/pods", rule("pods", operations=["CREATE"])))
    configure(m, "Validating", "pods", webhook(hook, "/check", rule("pods", operations=["CREATE"])))
    template = {"metadata": {"labels": {"app": "made"}}, "spec": {"containers": [{"name": "c", "image": "host", "command": ["sleep", "1000"]}],
                                                                  "terminationGracePeriodSeconds": 0}}
    make(m, "/apis/apps/v1/namespaces/default/deployments", {"metadata": {"name": "made"}, "spec": {
        "replicas": 3, "selector": {"matchLabels": {"app": "made"}}, "template": template}})
    pods = lambda: ask(m, "GET", "/api/v1/namespaces/default/pods?labelSelector=app%3Dmade")[1]["items"]
    wait(lambda: len(pods()) == 3, "three pods")
    equal({p["metadata"]["labels"].get("injected") for p in pods()}, {"yes"})
    asked = hook.of("/check")
    equal({r["name"] for r in asked} >= {p["metadata"]["name"] for p in pods()}, True, [r["name"] for r in asked])
    equal(asked[-1]["userInfo"]["username"], "system:mete:control")
    for kind in "Mutating", "Validating":
        drop(m, kind, "pods")
    equal(ask(m, "DELETE", "/apis/apps/v1/namespaces/default/deployments/made")[0], 200)


def faults_are_named(m):
    status, told = ask(m, "POST", f"{ADMISSION}/validatingwebhookconfigurations", {
        "metadata": {"name": "faulty"},
        "webhooks": [{"name": "short", "clientConfig": {"url": "http://x"}, "sideEffects": "Some", "timeoutSeconds": 40,
                      "rules": [{"operations": ["CREATE"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["pods"]}],
                      "matchConditions": [{"name": "a", "expression": "nothing.here"}, {"name": "b", "expression": "authorizer == 1"}]}]})
    equal(status, 422, told)
    equal(sorted(c["field"] for c in told["details"]["causes"]),
          ["webhooks[0].admissionReviewVersions", "webhooks[0].clientConfig.url", "webhooks[0].matchConditions[0].expression",
           "webhooks[0].matchConditions[1].expression", "webhooks[0].name", "webhooks[0].sideEffects", "webhooks[0].timeoutSeconds"])
    check("undeclared reference to 'authorizer'" in told["message"], told)


def test_policies():
    with Mete() as m:
        a_policy_denies_warns_and_audits(m)
        parameters_are_objects(m)
        variables_are_evaluated_once_and_only_when_used(m)
        a_costly_policy_costs_its_request(m)
        faulty_policies_are_refused(m)


def policy(name, *validations, **spec):
    return {"metadata": {"name": name}, "spec": {"matchConstraints": {"resourceRules": [rule("configmaps")]},
                                                 "validations": list(validations), **spec}}


def bind(name, *actions, **spec):
    return {"metadata": {"name": name}, "spec": {"policyName": name, "validationActions": list(actions), **spec}}


def put_policy(m, made, *actions, **spec):
    make(m, f"{ADMISSION}/validatingadmissionpolicies", made)
    make(m, f"{ADMISSION}/validatingadmissionpolicybindings", bind(made["metadata"]["name"], *actions, **spec))


def drop_policy(m, name):
    equal(ask(m, "DELETE", f"{ADMISSION}/validatingadmissionpolicybindings/{name}")[0], 200)
    equal(ask(m, "DELETE", f"{ADMISSION}/validatingadmissionpolicies/{name}")[0], 200)


def a_policy_denies_warns_and_audits(m):
    put_policy(m, policy("small", {"expression": "size(object.data) <= 1", "messageExpression":
                                   "'at most 1 key, not ' + string(size(object.data)) + ' for ' + request.userInfo.username"},
                         matchConditions=[{"name": "mine", "expression": "has(object.data) && !has(object.data.free)"}],
                         auditAnnotations=[{"key": "keys", "valueExpression": "string(size(object.data))"}]), "Deny", "Audit")
    status, told = ask(m, "POST", MAPS, config_map("two", {"a": "1", "b": "2"}))
    equal((status, told["reason"], told["message"]), (422, "Invalid", (
        'configmaps "two" is forbidden: ValidatingAdmissionPolicy \'small\' with binding \'small\' denied request: '
        "at most 1 key, not 2 for root")))
    make(m, MAPS, config_map("one", {"a": "1"}))
    make(m, MAPS, config_map("free", {"a": "1", "free": "2"}))
    noted = [json.loads(x).get("annotations", {}) for x in m.mete("audit", "-o", "jsonl").out.splitlines()]
    check(any(x.get("small/keys") == "1" for x in noted), noted)
    failures = [json.loads(x["validation.policy.admission.k8s.io/validation_failure"]) for x in noted
                if "validation.policy.admission.k8s.io/validation_failure" in x]
    equal((failures[0][0]["policy"], failures[0][0]["validationActions"]), ("small", ["Deny", "Audit"]))
    equal(ask(m, "PATCH", f"{ADMISSION}/validatingadmissionpolicybindings/small", {"spec": {"validationActions": ["Warn"]}}, kind=MERGE)[0], 200)
    out = m.kubectl("create", "configmap", "warned", "--from-literal=a=1", "--from-literal=b=2")
    check(out.code == 0 and "Warning: Validation failed for ValidatingAdmissionPolicy 'small' with binding 'small': at most 1 key" in out.err, out)
    drop_policy(m, "small")


def parameters_are_objects(m):
    make(m, MAPS, config_map("limits", {"most": "1"}))
    put_policy(m, policy("limit", {"expression": "size(object.data) <= int(params.data.most)", "reason": "Forbidden"},
                         paramKind={"apiVersion": "v1", "kind": "ConfigMap"},
                         matchConditions=[{"name": "mine", "expression": "object.metadata.name.startsWith('p-')"}]), "Deny",
               paramRef={"name": "limits", "parameterNotFoundAction": "Deny"})
    make(m, MAPS, config_map("p-one", {"a": "1"}))
    status, told = ask(m, "POST", MAPS, config_map("p-two", {"a": "1", "b": "2"}))
    check(status == 403 and told["message"].endswith("failed expression: size(object.data) <= int(params.data.most)"), told)
    equal(ask(m, "DELETE", f"{MAPS}/limits")[0], 200)
    status, told = ask(m, "POST", MAPS, config_map("p-two", {"a": "1"}))
    check(status == 422 and "no params found for policy binding" in told["message"], told)
    drop_policy(m, "limit")


def variables_are_evaluated_once_and_only_when_used(m):
    put_policy(m, policy("vars", {"expression": "!variables.isMine || variables.words.all(w, w != 'bad')", "message": "no bad words"},
                         variables=[{"name": "isMine", "expression": "object.metadata.name.startsWith('v-')"},
                                    {"name": "words", "expression": "variables.isMine ? object.data.text.split(' ') : object.data.nothing"}]),
               "Deny")
    make(m, MAPS, config_map("other"))
    make(m, MAPS, config_map("v-good", {"text": "a good one"}))
    status, told = ask(m, "POST", MAPS, config_map("v-bad", {"text": "a bad one"}))
    check(status == 422 and told["message"].endswith("denied request: no bad words"), told)
    status, told = ask(m, "POST", MAPS, config_map("v-none", {"x": "y"}))
    check(status == 422 and "no such key: text" in told["message"], told)
    drop_policy(m, "vars")


def a_costly_policy_costs_its_request(m):
    put_policy(m, policy("costly", {"expression": "object.data.all(a, object.data.all(b, object.data.all(c, a != b + c)))"},
                         matchConditions=[{"name": "mine", "expression": "object.metadata.name == 'costly'"}]), "Deny")
    status, told = ask(m, "POST", MAPS, config_map("costly", {f"k{i}": "x" for i in range(1000)}))
    check(status == 422 and "cost limit exceeded" in told["message"], told)
    make(m, MAPS, config_map("cheap"))
    drop_policy(m, "costly")


def faulty_policies_are_refused(m):
    made = policy("faulty", {"expression": "variables.later == 1"}, {"expression": "authorizer.group('') == 1"},
                  variables=[{"name": "first", "expression": "variables.second"}, {"name": "second", "expression": "1"}])
    status, told = ask(m, "POST", f"{ADMISSION}/validatingadmissionpolicies", made)
    equal((status, sorted(c["field"] for c in told["details"]["causes"])),
          (422, ["spec.validations[0].expression", "spec.validations[1].expression", "spec.variables[0].expression"]))
    check("undefined field 'later'" in told["message"] and "undeclared reference to 'authorizer'" in told["message"], told)
    status, told = ask(m, "POST", f"{ADMISSION}/validatingadmissionpolicybindings", bind("faulty", "Deny", "Warn"))
    check(status == 422 and "must not contain both Deny and Warn" in told["message"], told)
