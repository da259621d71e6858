"""Credential plugins of a kubeconfig (client.authentication.k8s.io): the program that gives the token, or the certificate, of a user."""

import base64
import hashlib
import json
import os

from harness import Mete, check, equal, execute, pod, wait
from test_kube_scheduler import NAME, scheduler

V1 = "client.authentication.k8s.io/v1"
# Counts its runs, and prints the file "answer" beside it.
PLUGIN = """#!/bin/sh
here=$(dirname "$0")
echo run >> $here/runs
echo "$KUBERNETES_EXEC_INFO" > $here/info
echo "to the user" >&2
cat $here/answer
exit $EXIT
"""


class Plugin:
    """A plugin in a directory of its own, and kubeconfigs that name it."""

    def __init__(self, m):
        self.m = m
        self.dir = os.path.join(m.dir, "plugin")
        os.mkdir(self.dir)
        self.path = os.path.join(self.dir, "get-token")
        with open(self.path, "w", encoding="utf-8") as f:
            f.write(PLUGIN)
        os.chmod(self.path, 0o755)
        self.admin = json.loads(m.ok("config", "view", "--raw", "--flatten", "-o", "json"))

    def answer(self, version=V1, **status):
        self.print(json.dumps({"apiVersion": version, "kind": "ExecCredential", "status": status}))

    def print(self, text):
        with open(os.path.join(self.dir, "new"), "w", encoding="utf-8") as f:
            f.write(text)
        os.rename(os.path.join(self.dir, "new"), os.path.join(self.dir, "answer"))

    def kubeconfig(self, code=0, **more):
        path = os.path.join(self.dir, "kubeconfig")
        run = {"apiVersion": V1, "command": "./get-token", "interactiveMode": "IfAvailable", "env": [{"name": "EXIT", "value": str(code)}], **more}
        with open(path, "w", encoding="utf-8") as f:
            json.dump({**self.admin, "users": [{"name": self.admin["users"][0]["name"], "user": {"exec": run}}]}, f)
        return path

    def runs(self):
        path = os.path.join(self.dir, "runs")
        return len(open(path, encoding="utf-8").readlines()) if os.path.exists(path) else 0

    def mete(self, *words, **more):
        return self.m.mete(*words, env={"METE_DATA": "", "KUBECONFIG": self.kubeconfig(**more)})


def allow(m, token):
    with open(os.path.join(m.data, "server", "users.yaml"), "w", encoding="utf-8") as f:
        f.write(f"users:\n- {{name: ann, tokenSha256: {hashlib.sha256(token.encode()).hexdigest()}, roles: [{{role: cluster-admin}}]}}\n")


def is_known(m, token):
    return m.kubectl("auth", "whoami", "--kubeconfig", "/dev/null", "--server", address(m), "--insecure-skip-tls-verify", "--token", token).code == 0


def address(m):
    return json.loads(m.ok("config", "view", "-o", "json"))["clusters"][0]["cluster"]["server"]


def test_a_program_gives_the_credential():
    with Mete("emulated:2xH100") as m:
        p = Plugin(m)
        allow(m, "first")
        wait(lambda: is_known(m, "first"), "the first token")
        p.answer(token="first")
        r = p.mete("ps", provideClusterInfo=True)
        check(r.code == 0 and "to the user" in r.err, r)
        equal(p.runs(), 1)
        info = json.load(open(os.path.join(p.dir, "info"), encoding="utf-8"))
        equal((info["kind"], info["apiVersion"], info["spec"]["interactive"]), ("ExecCredential", V1, False))
        cluster = p.admin["clusters"][0]["cluster"]
        equal(info["spec"]["cluster"], {k: cluster[k] for k in ("server", "certificate-authority-data")})
        equal(execute([os.path.join(p.dir, "get-token")], env={**m.env, "EXIT": "0"}).code, 0)
        user = p.admin["users"][0]["user"]
        p.answer(**{their: base64.b64decode(user[ours]).decode() for their, ours in (("clientCertificateData", "client-certificate-data"),
                                                                                   ("clientKeyData", "client-key-data"))})
        equal(p.mete("ps").code, 0)
        p.answer("client.authentication.k8s.io/v1beta1", token="first")
        for said, r in (("want kind ExecCredential", p.mete("ps")), ("exited with 3", p.mete("ps", code=3)),
                        ("needs a terminal", p.mete("ps", interactiveMode="Always")),
                        ("dnf install it", p.mete("ps", command="no-such-program", installHint="dnf install it")),
                        ("exec.interactiveMode: want", p.mete("ps", interactiveMode="Sometimes"))):
            check(r.code != 0 and said in r.err, said, r)
        equal(p.mete("ps", apiVersion="client.authentication.k8s.io/v1beta1").code, 0)
        p.print("secret")
        r = p.mete("ps")
        check(r.code != 0 and "no JSON" in r.err and "secret" not in r.err, r)


def test_a_role_that_runs_long_renews_its_credential():
    with Mete("emulated:2xH100") as m:
        p = Plugin(m)
        allow(m, "first")
        wait(lambda: is_known(m, "first"), "the first token")
        p.answer(token="first")
        with scheduler(m, env={"METE_DATA": "", "KUBECONFIG": p.kubeconfig()}):
            m.ok("apply", "-f", "-", stdin=pod("one", "true", 1, schedulerName=NAME))
            m.wait_phase("one", "Succeeded")
            equal(p.runs(), 1, "a credential serves until it is refused")
            p.answer(token="second")
            allow(m, "second")  # the first is refused from now on, and its watches end
            wait(lambda: p.runs() == 2, "the program runs again", 60)
            m.ok("apply", "-f", "-", stdin=pod("two", "true", 1, schedulerName=NAME))
            m.wait_phase("two", "Succeeded")
            p.answer(token="third", expirationTimestamp="2000-01-01T00:00:00Z")
            allow(m, "third")
            wait(lambda: p.runs() > 4, "an expired credential is asked for anew", 60)
