"""mete top: the wall and the jobs in a real terminal (tmux), and once for programs."""

import contextlib
import json
import os
import shutil
import subprocess

from harness import METE, Mete, Skip, check, equal, pod, wait
from test_gpu_modes import set_driver


class Screen:
    """A program in a tmux of its own."""

    def __init__(self, m, size, *words):
        if not shutil.which("tmux"):
            raise Skip("tmux is not here: tools/bootstrap --tests installs it")
        self.tmux = ["tmux", "-S", os.path.join(m.dir, "tmux"), "-f", "/dev/null"]
        columns, rows = size
        env = {**m.env, "LC_ALL": "C.UTF-8", "TERM": "screen"}
        subprocess.run([*self.tmux, "new-session", "-d", "-x", str(columns), "-y", str(rows), METE, "top", *words],
                       env=env, check=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        subprocess.run([*self.tmux, "kill-server"], check=False, stderr=subprocess.DEVNULL)

    def text(self):
        r = subprocess.run([*self.tmux, "capture-pane", "-p"], capture_output=True, text=True, check=False)
        return r.stdout

    def press(self, *keys):
        subprocess.run([*self.tmux, "send-keys", *keys], check=True)

    def wait(self, *words):
        def seen():
            text = self.text()
            return text if all(w in text for w in words) else None

        try:
            return wait(seen, f"the screen shows {words}")
        except AssertionError as e:
            raise AssertionError(f"{e}\n{self.text()}") from None

    def is_over(self):
        return subprocess.run([*self.tmux, "has-session"], check=False, stderr=subprocess.DEVNULL).returncode != 0


def once(m):
    r = m.mete("top", "--once", "-o", "json")
    equal(r.code, 0, r)
    return json.loads(r.out)


def test_top_shows_the_wall_and_the_jobs():
    with Mete() as m:
        m.ok("apply", "-f", "-", stdin=pod("works", "sleep 1000", gpus=3))
        m.wait_phase("works", "Running")
        m.ok("apply", "-f", "-", stdin=pod("waits", "true", gpus=6))
        wait(lambda: all(g["utilizationPct"] is not None for g in once(m)["gpus"]), "samples of all GPUs")
        top = once(m)
        equal(len(top["gpus"]), 8)
        equal(sum(top["counts"].values()), 8)
        equal((top["counts"]["free"], top["counts"]["sick"], top["counts"]["noAnswer"]), (5, 0, 0), top["counts"])
        equal([g["holder"] for g in top["gpus"]], ["job 1 works"] * 3 + [None] * 5)
        equal({j["name"]: j["state"] for j in top["jobs"]}, {"works": "running", "waits": "waiting"})
        check("needs 6" in top["jobs"][1]["reason"], top["jobs"])
        equal(top["hasMoreJobs"], False)
        node = top["gpus"][0]["node"]
        for size in ((80, 24), (60, 16)):
            with Screen(m, size) as s:
                text = s.wait("8 GPUs: 5 free", node, "job 1 works")
                check(all(len(line) <= size[0] for line in text.splitlines()), text)
                equal(len([line for line in text.splitlines() if "G -" in line or "G i" in line]), -(-8 // (size[0] // 20)), text)
                s.press("Down")
                s.wait(f"{node}/{size[0] // 20} ")
                s.press("2")
                s.wait("JOB", "works", "waiting")
                s.press("/")
                s.press("w", "a", "i", "Enter")
                wait(lambda: "works" not in s.text() and "waits" in s.text(), "the filter holds")
                s.press("x")
                s.wait("no such key")
                s.press("q")
                wait(s.is_over, "q ends it")


def test_a_gpu_without_an_answer_says_how_long():
    with Mete(gpus="emulated:2xT4") as m, Screen(m, (80, 24)) as s:
        s.wait("2 GPUs: 2 free")
        set_driver(m, "mismatched")
        s.wait("2 no answer", "no answer 1")
        wait(lambda: {g["state"] for g in once(m)["gpus"]} == {"no answer"}, "the same in JSON")


def test_top_goes_on_without_the_server_and_needs_a_terminal():
    with Mete() as m:
        r = m.mete("top")
        check(r.code == 2 and "--once" in r.err, r)
        with Screen(m, (80, 24)) as s:
            s.wait("8 GPUs")
            m.stop()
            s.wait("numbers are")
            m.start()
            wait(lambda: "numbers are" not in s.text() and "8 GPUs" in s.text(), "it goes on by itself")
            s.press("q")
            wait(s.is_over, "q ends it")
        with contextlib.suppress(FileNotFoundError):
            os.unlink(os.path.join(m.dir, "tmux"))
