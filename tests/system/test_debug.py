"""Ephemeral containers: `kubectl debug` of running pods (docs/manifests.md)."""

import json

import image_kit
from door import PODS, Door
from harness import KUBECTL, Mete, check, equal, pod, wait
from image_kit import Image, base_layer
from test_exec import Terminal
from test_host_process import Home, pod_of, submit
from test_images import import_ok, run_pod

IMAGE = "test/box:1"


def import_box(m):
    import_ok(m, image_kit.archive(Image([base_layer()]).files(IMAGE)))


def status(m, pod_name, name):
    found = m.object("pod", pod_name)["status"].get("ephemeralContainerStatuses", [])
    return {s["name"]: s for s in found}.get(name, {"state": {}})


def wait_state(m, pod_name, name, state):
    return wait(lambda: status(m, pod_name, name)["state"].get(state), f"{name} is {state}")


def debug(m, pod_name, name, script, image=IMAGE, *words):
    """The arguments before the command are kubectl's."""
    return m.kubectl("debug", pod_name, f"--container={name}", f"--image={image}", "--image-pull-policy=IfNotPresent", "--profile=general", *words,
                     "--", "sh", "-c", script)


def test_a_debug_container_sees_the_processes_and_gpus_of_its_target():
    with Mete("emulated:2xH100") as m, m.unharmed():
        import_box(m)
        run_pod(m, "box", IMAGE, "trap 'exit 0' TERM; while :; do sleep 0.1; done", policy="IfNotPresent",
                fields={"resources": {"limits": {"nvidia.com/gpu": 1, "memory": "256Mi"}}})
        m.wait_phase("box", "Running")
        sees_its_target(m)
        sees_it_from_the_machine(m)
        a_terminal_is_attached(m)
        only_additions_pass(m)
        users_act_as_themselves(m)
        # The debug containers keep no pod: it ends with its main container, and they end with it.
        debug(m, "box", "stays", "sleep 1000")
        wait_state(m, "box", "stays", "running")
        m.ok("exec", "box", "-c", "main", "--", "sh", "-c", "kill -TERM 1")
        m.wait_phase("box", "Succeeded")
        check(status(m, "box", "stays")["state"]["terminated"], "it ended with the pod")


def sees_its_target(m):
    r = debug(m, "box", "one", "cat /proc/1/cmdline; ls /dev; cat /sys/fs/cgroup/memory.max; echo $NVIDIA_VISIBLE_DEVICES; sleep 1000", IMAGE, "--target=main")
    check(r.code == 0, r)
    wait_state(m, "box", "one", "running")
    said = wait(lambda: (s := m.ok("logs", "box", "-c", "one")).count("GPU-") and s, "it says what it sees")
    uuid = json.loads(m.object("pod", "box")["metadata"]["annotations"]["mete.dev/devices"])["containers"]["main"][0]
    check("trap 'exit 0' TERM" in said and "nvidiactl" in said and uuid in said, said)
    equal([d for d in said.split() if d in ("nvidia0", "nvidia1")], m.ok("exec", "box", "--", "sh", "-c", "ls /dev | grep nvidia[0-9]").split())
    equal(m.ok("exec", "box", "-c", "one", "--", "echo", "inside").strip(), "inside")
    # Without a target there are other processes and no gpu.
    debug(m, "box", "two", "cat /proc/1/cmdline; ls /dev; echo said; exit 7")
    equal(wait_state(m, "box", "two", "terminated")["exitCode"], 7)
    said = m.ok("logs", "box", "-c", "two")
    check("said" in said and "trap" not in said and "nvidia" not in said, said)
    main = m.object("pod", "box")["status"]
    equal((main["phase"], main["containerStatuses"][0]["ready"], main["containerStatuses"][0]["restartCount"]), ("Running", True, 0))


def sees_it_from_the_machine(m):
    check(debug(m, "box", "host", "cat /proc/1/cmdline; test -e /proc/1/root/bin/busybox && echo rooted; exit 3", "host", "--target=main").code == 0)
    equal(wait_state(m, "box", "host", "terminated")["exitCode"], 3)
    said = m.ok("logs", "box", "-c", "host")
    check("trap 'exit 0' TERM" in said and "rooted" in said, said)


def a_terminal_is_attached(m):
    t = Terminal([KUBECTL, "debug", "-it", "box", f"--image={IMAGE}", "--image-pull-policy=IfNotPresent", "--container=shell", "--target=main", "--", "sh"], m.env)
    wait_state(m, "box", "shell", "running")
    t.type("\n")
    t.expect("# ")
    t.type("echo ca''lled\n")
    t.expect("called")
    t.type("exit 4\n")
    equal(wait_state(m, "box", "shell", "terminated")["exitCode"], 4)
    t.end()


def ask(m, container, *words):
    patch = {"spec": {"ephemeralContainers": [{"name": "x", "image": IMAGE, **container}]}}
    return m.kubectl("patch", "pod", "box", "--subresource=ephemeralcontainers", "--type=strategic", "-p", json.dumps(patch), *words)


def only_additions_pass(m):
    door = Door(m)
    at = "spec.ephemeralContainers[0]"  # a strategic patch puts new items first
    for container, said in (({"resources": {"limits": {"cpu": 1}}}, f"{at}.resources: Forbidden: cannot be set for an Ephemeral Container"),
                            ({"ports": [{"containerPort": 80}]}, f"{at}.ports: Forbidden: cannot be set"),
                            ({"livenessProbe": {"exec": {"command": ["true"]}}}, f"{at}.livenessProbe: Forbidden: cannot be set"),
                            ({"lifecycle": {"preStop": {"sleep": {"seconds": 1}}}}, f"{at}.lifecycle: Forbidden: cannot be set"),
                            ({"targetContainerName": "who"}, f'{at}.targetContainerName: Not found: "who"'),
                            ({"name": "main"}, f'{at}.name: Duplicate value: "main"'),
                            ({"name": "one", "args": ["more"]}, 'existing ephemeral containers "one" may not be changed'),
                            ({"name": "one", "$patch": "delete"}, 'existing ephemeral containers "one" may not be removed')):
        body = {"spec": {"ephemeralContainers": [{"name": "x", "image": IMAGE, **container}]}}
        code, answer = door.ask("PATCH", PODS + "/box/ephemeralcontainers", body, "application/strategic-merge-patch+json")
        check(code == 422 and said in answer["message"], container, code, answer)
    found = m.object("pod", "box")
    equal([c["name"] for c in found["spec"]["ephemeralContainers"]], ["one", "two", "host", "shell"])
    # The subresource changes nothing else, and the pod itself nothing here.
    found["spec"]["ephemeralContainers"] = []
    code, answer = door.ask("PUT", PODS + "/box", found)
    check(code == 422 and "pod updates may not change fields" in answer["message"], answer)
    new = json.loads(pod("new", "true"))
    new["spec"]["ephemeralContainers"] = [{"name": "x", "image": IMAGE}]
    code, answer = door.ask("POST", PODS, new)
    check(code == 422 and "spec.ephemeralContainers: Forbidden: cannot be set on create" in answer["message"], answer)
    code, answer = door.ask("POST", "/apis/apps/v1/namespaces/default/deployments", {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}, "spec": {
        "selector": {"matchLabels": {"a": "b"}}, "template": {"metadata": {"labels": {"a": "b"}}, "spec": {**new["spec"], "restartPolicy": "Always"}}}})
    check(code == 422 and "spec.template.spec.ephemeralContainers: Forbidden: ephemeral containers not allowed in pod template" in answer["message"], answer)


def users_act_as_themselves(m):
    m.ok("create", "rolebinding", "guest", "--clusterrole=edit", "--user=guest")
    m.ok("create", "rolebinding", "viewer", "--clusterrole=view", "--user=viewer")
    for user, container, said in (("viewer", {}, "cannot get resource \"pods/ephemeralcontainers\""),
                                  ("guest", {"image": "host"}, "image `host` runs as the calling user, and guest has no uid"),
                                  ("guest", {"image": "host", "securityContext": {"runAsUser": 0}}, "guest may run as -1 only"),
                                  ("guest", {"securityContext": {"privileged": True}}, "privileged is for administrators")):
        r = ask(m, container, f"--as={user}")
        check(r.code != 0 and said in r.err, user, container, r)
    r = m.kubectl("exec", "box", "-c", "one", "--as=guest", "--", "true")
    check(r.code == 0, r)


def test_jobs_of_the_machine_have_no_debug_containers():
    with Mete("none") as m, Home() as home:
        submit(m, home, "job", "sleep 1000")
        name = pod_of(m, "job")
        m.wait_phase(name, "Running")
        r = debug(m, name, "x", "true", "host")
        check(r.code != 0 and "spec.ephemeralContainers: Forbidden: the pod is a job of Slurm" in r.err, r)
        m.ok("apply", "-f", "-", stdin=pod("native", "exec sleep 1000"))
        m.wait_phase("native", "Running")
        r = m.kubectl("debug", "native", f"--image={IMAGE}", "--target=main", "--", "true")
        check(r.code != 0 and "only an ephemeral container with the image host can see its processes" in r.err, r)
        check(debug(m, "native", "host", "cat /proc/1/cmdline; exit 5", "host", "--target=main").code == 0)
        equal(wait_state(m, "native", "host", "terminated")["exitCode"], 5)
        check("sleep" in m.ok("logs", "native", "-c", "host"))
