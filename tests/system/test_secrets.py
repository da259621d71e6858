"""Secrets on disk: sealed with a key in a file, rotated while the server runs, over kills and restarts."""

import base64
import hashlib
import json
import os
import signal
import subprocess

from harness import METE, Mete, check, equal, execute, patience, wait

WORD = "Tr0ub4dor-and-3-staples"
SECRETS = 300


def secret(name, value):
    return json.dumps({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "stringData": {"word": value}})


def value_of(m, name):
    return base64.b64decode(m.object("secret", name)["data"]["word"]).decode()


def key_file(m):
    return os.path.join(m.data, "server", "secrets.key")


def keys(m):
    with open(key_file(m), encoding="utf-8") as f:
        return [line.split()[1] for line in f if line.startswith("KEY ")]


def is_on_disk(m, word):
    """Does a file of the server hold the word, or what base64 makes of it?"""
    directory = os.path.join(m.data, "server")
    words = [word.encode(), base64.b64encode(word.encode())]
    for name in os.listdir(directory):
        path = os.path.join(directory, name)
        if os.path.isfile(path):
            with open(path, "rb") as f:
                content = f.read()
            if any(w in content for w in words):
                return True
    return False


def rotate(m):
    r = m.mete("rotate-key")
    equal(r.code, 0, r)
    return r.out.strip()


def is_back(m):
    return m.kubectl("get", "--raw", "/readyz").code == 0


def a_secret_is_sealed_and_the_key_rotates(m):
    m.ok("create", "-f", "-", stdin=secret("one", WORD))
    m.ok("create", "configmap", "open", f"--from-literal=word=open-{WORD[:6]}")
    check(is_on_disk(m, f"open-{WORD[:6]}"), "a ConfigMap is not sealed")
    check(not is_on_disk(m, WORD), "the Secret is sealed")
    equal(oct(os.stat(key_file(m)).st_mode & 0o777), "0o600")
    before, version = keys(m), m.object("secret", "one")["metadata"]["resourceVersion"]
    after = rotate(m)
    equal((len(before), keys(m)), (1, [after]))
    check(before != [after], after)
    equal((value_of(m, "one"), m.object("secret", "one")["metadata"]["resourceVersion"]), (WORD, version))
    check(not is_on_disk(m, WORD), "the Secret is sealed")
    check(m.kubectl("get", "--raw", "/mete.dev/v1/secret-key", "--as=nobody").code != 0, "administrators only")


def a_kill_during_rotations_loses_nothing(m):
    items = [json.loads(secret(f"s{i}", f"{WORD}-{i}")) for i in range(SECRETS)]
    m.ok("create", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    for _ in range(3):
        asked = subprocess.Popen([METE, "rotate-key"], env=m.env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        known = keys(m)
        wait(lambda: keys(m) != known, "the new key is in the file")
        os.kill(m.child("server"), signal.SIGKILL)
        asked.wait()
        wait(lambda: is_back(m), "the server is back")
        wait(lambda: len(keys(m)) == 1, "the server went on with the rotation")
    found = {s["metadata"]["name"]: s["data"]["word"] for s in m.object("secrets")["items"]}
    for i in range(SECRETS):
        equal(base64.b64decode(found[f"s{i}"]).decode(), f"{WORD}-{i}")
    check(not is_on_disk(m, WORD), "all Secrets are sealed")


def test_secrets_at_rest():
    with Mete("emulated:1xH100") as m:
        a_secret_is_sealed_and_the_key_rotates(m)
        a_kill_during_rotations_loses_nothing(m)


def test_the_key_is_needed():
    with Mete("emulated:1xH100") as m:
        m.ok("create", "-f", "-", stdin=secret("one", WORD))
        m.stop()
        with open(key_file(m), encoding="utf-8") as f:
            right = f.read()
        os.remove(key_file(m))
        refused(m, "which '" + key_file(m) + "' does not hold (the file is missing)")
        check(not os.path.exists(key_file(m)), "no other key takes its place")
        other = "0" * 64
        write(m, f"KEY {hashlib.sha256(bytes.fromhex(other)).hexdigest()[:16]} {other}\n")
        refused(m, "Secrets are sealed with the key " + right.split("KEY ")[1][:16])
        write(m, right.replace("KEY ", "KEY 00"))
        refused(m, "want KEY, an id and a key in hexadecimal")
        write(m, right, 0o644)
        refused(m, "has mode 0644: others may read it; want 0600")
        write(m, right)
        m.start()
        equal(value_of(m, "one"), WORD)


def write(m, text, mode=0o600):
    with open(key_file(m), "w", encoding="utf-8") as f:
        f.write(text)
    os.chmod(key_file(m), mode)
    st = os.stat(os.path.join(m.data, "server", "state.db"))
    os.chown(key_file(m), st.st_uid, st.st_gid)


def refused(m, words):
    """`mete up` does not start; its message says why."""
    r = execute([METE, "up", "--data", m.data, "--gpus", "emulated:1xH100", "--listen", "127.0.0.1:0", "--metrics", "127.0.0.1:0", "--dashboard", "off"],
                env=m.env, deadline_s=120 * patience())
    check(r.code != 0 and words in r.err, words, r)
