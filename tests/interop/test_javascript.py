"""The JavaScript client, unchanged: the scripts of js/ print `ok CLAIM` for each claim that holds."""

import os
import re
import shutil
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "system"))

from harness import Mete, check, equal, execute  # noqa: E402

NODE = os.environ.get("NODE", "node")


def run(script):
    """Runs it against a Mete of its own; every claim that it names has to hold."""
    path = os.path.join(HERE, "js", script)
    check(shutil.which(NODE) and os.path.isdir(os.path.join(HERE, "js", "node_modules")),
          f"{NODE} or js/node_modules is not there: tools/bootstrap --tests makes them")
    with open(path) as f:
        claims = re.search(r"claims\(\[(.*?)\]\)", f.read(), re.S)[1].replace(",", " ").split()
    check(len(claims) > 1, claims)
    with Mete() as m:
        shared = os.path.join(m.dir, "shared")
        os.mkdir(shared)
        r = execute([NODE, path, m.env["KUBECONFIG"], shared], env=m.env, deadline_s=120)
        equal((r.code, r.out.splitlines()), (0, [f"ok {c}" for c in claims]), r)


def test_the_javascript_client_keeps_objects():
    run("objects.js")


def test_the_javascript_client_streams():
    run("streams.js")
