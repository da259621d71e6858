"""More kubectl commands of a user's day: run, get all, edit, diff, explain, drain."""

import json
import subprocess

from harness import KUBECTL, Mete, check, equal, pod, wait
from test_exec import Terminal, websocket_kubectls


def test_words_of_kubectl():
    with Mete() as m:
        run_makes_a_pod_and_takes_it_away(m)
        get_knows_all_and_every_form(m)
        edit_diff_and_replace(m)
        waits_see_the_moment(m)
        explain_explains_every_field(m)
        rights_are_listed(m)
        what_is_not_there_is_refused_by_name(m)
        a_drain_waits_for_its_budget_and_goes_on(m)


def run_makes_a_pod_and_takes_it_away(m):
    m.ok("run", "once", "--image=host", "--restart=Never", "--env=WORD=said", "--", "sh", "-c", "echo $WORD")
    m.wait_phase("once", "Succeeded")
    equal(m.ok("logs", "once"), "said\n")
    m.ok("delete", "pod", "once", "--now")
    t = Terminal([websocket_kubectls()[-1], "run", "shell", "--rm", "-it", "--image=host", "--restart=Never", "--", "sh"], m.env)
    t.type("\n")
    t.expect("# ")
    t.type("exit 6\n")
    equal(t.end(), 6, t.text)
    wait(lambda: m.kubectl("get", "pod", "shell").code == 1, "it is taken away")
    t = Terminal([websocket_kubectls()[-1], "run", "stays", "-it", "--image=host", "--restart=Never", "--", "sh"], m.env)
    t.type("echo word-$((40 + 2))\n")
    t.expect("word-42")
    a = Terminal([websocket_kubectls()[-1], "attach", "-it", "stays"], m.env)
    a.type("echo word-$((40 + 3)); exit 0\n")
    a.expect("word-43")
    t.expect("word-43")  # both sessions get the output
    equal((t.end(), a.end()), (0, 0))
    m.wait_phase("stays", "Succeeded")


def get_knows_all_and_every_form(m):
    m.ok("create", "job", "sum", "--image=host", "--", "sh", "-c", "echo 42")
    m.ok("create", "cronjob", "nightly", "--image=host", "--schedule=0 3 * * *", "--", "true")
    m.ok("wait", "--for=condition=complete", "job/sum", "--timeout=600s")
    out = m.ok("get", "all")
    check("pod/stays" in out and "job.batch/sum" in out and "cronjob.batch/nightly" in out, out)
    equal(m.ok("logs", "job/sum", "--timestamps").split(" ")[1], "42\n")
    names = m.ok("get", "pods", "--sort-by=.metadata.creationTimestamp", "-o", "name").split()
    equal((names[0], len(names)), ("pod/stays", 2))
    equal(m.ok("get", "pod", "stays", "-o", "go-template={{.status.phase}}"), "Succeeded")
    equal(m.ok("get", "pods", "--field-selector=status.phase=Running", "-o", "name"), "")
    equal(m.ok("get", "pods", "--chunk-size=1", "-o", "name").split(), names if names == sorted(names) else sorted(names))
    check("Created pod: sum-" in m.ok("events", "--for=job/sum"), "events of a job")
    check("batch/v1" in m.ok("api-versions").split(), "api-versions")


def edit_diff_and_replace(m):
    manifest = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "edited"}, "data": {"a": "one"}}
    m.ok("create", "-f", "-", stdin=json.dumps(manifest))
    env = {**m.env, "KUBE_EDITOR": "sed -i s/one/two/"}
    subprocess.run([KUBECTL, "edit", "configmap", "edited"], env=env, check=True, stdout=subprocess.DEVNULL, timeout=60)
    equal(m.object("cm", "edited")["data"], {"a": "two"})
    r = m.kubectl("diff", "-f", "-", stdin=json.dumps(manifest))
    check(r.code == 1 and "-  a: two" in r.out and "+  a: one" in r.out, r)
    equal(m.object("cm", "edited")["data"], {"a": "two"})
    m.ok("replace", "-f", "-", stdin=json.dumps(manifest))
    equal(m.object("cm", "edited")["data"], {"a": "one"})
    uid = m.object("cm", "edited")["metadata"]["uid"]
    m.ok("replace", "--force", "-f", "-", stdin=json.dumps(manifest))
    check(m.object("cm", "edited")["metadata"]["uid"] != uid, "it is another one")
    m.ok("set", "env", "cronjob/nightly", "MODE=fast")
    made = m.object("cronjob", "nightly")["spec"]["jobTemplate"]["spec"]["template"]["spec"]["containers"][0]
    equal(made["env"], [{"name": "MODE", "value": "fast"}])
    m.ok("delete", "configmap,cronjob", "edited", "nightly", "--ignore-not-found")


def waits_see_the_moment(m):
    w = m.spawn([KUBECTL, "wait", "--for=jsonpath={.status.phase}=Running", "pod/comes", "--timeout=600s"])
    m.ok("apply", "-f", "-", stdin=pod("comes", "exec sleep 1000"))
    if w.wait(60) != 0:  # kubectl looked before the pod existed
        m.ok("wait", "--for=jsonpath={.status.phase}=Running", "pod/comes", "--timeout=600s")
    w.communicate()
    w = m.spawn([KUBECTL, "wait", "--for=delete", "pod/comes", "--timeout=600s"])
    m.ok("delete", "pod", "comes", "--now", "--wait=false")
    equal(w.wait(60), 0)
    w.communicate()


def explain_explains_every_field(m):
    for kind in ("pod.spec", "job.spec", "cronjob.spec", "resourcequota.spec", "limitrange.spec", "priorityclass", "lease.spec",
                 "serviceaccount", "poddisruptionbudget.spec", "pod.spec.containers", "pod.spec.containers.securityContext",
                 "pod.spec.volumes", "job.spec.podFailurePolicy.rules"):
        out = m.ok("explain", kind)
        fields = out.split("FIELDS:\n", 1)[1]
        check("<no description>" not in fields, kind, out)
        lines = [line for line in fields.splitlines() if line.strip() and not line.startswith("  enum: ")]
        for line, following in zip(lines, lines[1:]):
            if line.startswith("  ") and not line.startswith("   ") and not line.strip().startswith(("apiVersion", "kind", "metadata")):
                check(following.startswith("    "), kind, line)  # its text
    out = m.ok("explain", "cronjob", "--recursive")
    check("successPolicy" in out and "onExitCodes" in out and "readOnlyRootFilesystem" in out, out)


def rights_are_listed(m):
    out = m.ok("auth", "can-i", "--list", "--as=nobody")
    check("selfsubjectaccessreviews.authorization.k8s.io" in out and "pods" not in out, out)
    out = m.ok("auth", "can-i", "--list")
    check("*.*" in out, out)
    check(m.kubectl("auth", "can-i", "create", "pods/exec", "--as=nobody").out.startswith("no"))
    check("system:masters" in m.ok("auth", "whoami"), "whoami")


def what_is_not_there_is_refused_by_name(m):
    m.ok("apply", "-f", "-", stdin=pod("box", "exec sleep 1000"))
    m.wait_phase("box", "Running")
    for words, want in ((("get", "--raw", "/api/v1/nodes/x/proxy"), "nodes/proxy is not implemented yet"),
                        (("get", "componentstatuses"), "doesn't have a resource type")):
        r = m.kubectl(*words)
        check(r.code != 0 and want in r.err, words, r)
    m.ok("delete", "pods", "--all", "--now")


def a_drain_waits_for_its_budget_and_goes_on(m):
    """Two pods, one of which must stay: the drain evicts one and asks again and again, until the budget lets the other go."""
    node = m.object("nodes")["items"][0]["metadata"]["name"]
    for i in range(2):
        manifest = json.loads(pod(f"web-{i}", "exec sleep 1000"))
        manifest["metadata"]["labels"] = {"app": "web"}
        m.ok("apply", "-f", "-", stdin=json.dumps(manifest))
    m.ok("wait", "--for=condition=Ready", "pod", "-l", "app=web", "--timeout=600s")
    m.ok("apply", "-f", "-", stdin=json.dumps(
        {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "web"},
         "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}}}))
    drain = m.spawn([KUBECTL, "drain", node, "--force", "--ignore-daemonsets", "--timeout=600s"])
    wait(lambda: len(m.object("pods", "-l", "app=web")["items"]) == 1, "one is evicted")
    r = m.kubectl("drain", node, "--force", "--timeout=1s")  # the other eviction is refused
    check(r.code != 0 and "disruption budget" in r.err, r)
    equal(drain.poll(), None, "it still waits")
    m.ok("patch", "pdb", "web", "-p", '{"spec":{"minAvailable":0}}')
    out, err = drain.communicate(timeout=600)
    equal(drain.returncode, 0, out, err)
    check("Cannot evict pod as it would violate the pod's disruption budget" in err and f"node/{node} drained" in out, out, err)
    equal(m.object("pods", "-l", "app=web")["items"], [])
    m.ok("uncordon", node)
