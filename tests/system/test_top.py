"""mete top: its screens in a real terminal (tmux), its actions, --local, and once for programs."""

import itertools
import json
import os
import shutil
import subprocess

from harness import METE, Mete, Skip, check, equal, pod, wait
from test_gpu_modes import set_driver


class Screen:
    """A program in a tmux of its own."""

    numbers = itertools.count()

    def __init__(self, m, size, *words, env=None):
        if not shutil.which("tmux"):
            raise Skip("tmux is not here: tools/bootstrap --tests installs it")
        # A socket of its own: the server of an earlier screen may not have ended yet.
        self.tmux = ["tmux", "-S", os.path.join(m.dir, f"tmux-{next(Screen.numbers)}"), "-f", "/dev/null"]
        columns, rows = size
        env = {**m.env, "LC_ALL": "C.UTF-8", "TERM": "screen", **(env or {})}
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

    def resize(self, columns, rows):
        subprocess.run([*self.tmux, "resize-window", "-x", str(columns), "-y", str(rows)], check=True)

    def wait(self, *words, absent=()):
        def seen():
            text = self.text()
            return text if all(w in text for w in words) and not any(w in text for w in absent) else None

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
                s.wait("waits", "filter wai", absent=["works"])
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


def test_each_screen_shows_its_list_and_a_job_its_reason_and_log():
    with Mete() as m:
        m.ok("apply", "-f", "-", stdin=pod("works", "echo first line; echo \x1b[31mred; sleep 1000", gpus=3))
        m.wait_phase("works", "Running")
        m.ok("apply", "-f", "-", stdin=pod("waits", "true", gpus=6))
        m.ok("apply", "-f", "-", stdin=pod("waits-too", "true", gpus=7))
        node = once(m)["gpus"][0]["node"]
        m.ok("create", "-f", "-", stdin=json.dumps({
            "apiVersion": "v1", "kind": "Event", "metadata": {"name": "hostile", "namespace": "default"}, "reason": "Evil\x1b[2J",
            "involvedObject": {"kind": "Pod", "name": "x\x1b]0;title\x07", "namespace": "default"}, "message": "\x1b[31m\u202eattack"}))
        with Screen(m, (80, 24)) as s:
            s.wait("8 GPUs: 5 free")
            s.press("3")
            text = s.wait("PLACE", "waits-too", "queue default", "1 of 2")
            equal([line.split()[:3] for line in text.splitlines() if "waits" in line],
                  [["1", "2", "waits"], ["2", "3", "waits-too"]], text)
            s.wait("start not known")
            s.press("w")
            s.wait("job 2 waits", "needs 6")
            s.press("Escape")
            s.wait("PLACE")
            s.press("4")
            text = s.wait("NODE", node, "ready")
            check(any(node in line and "5/8" in line for line in text.splitlines()), text)
            s.press("5")
            s.wait("ABOUT", "Pod/works", "Evil ", "Pod/x ", " attack")
            s.press("/")
            s.press("s", "c", "h", "e", "d", "Enter")
            s.wait("Scheduled")
            s.press("2")
            s.press("s")
            s.wait("by -id")
            s.press("S")
            s.wait("by id", "works", "waits-too")
            wait(lambda: 0 < s.text().find("works") < s.text().find("waits-too"), "the order turns around")
            s.press("Enter")
            s.wait("job 1 default/works", "running", "util", "log", "first line", "red", absent=["\x1b"])
            s.resize(60, 16)
            text = s.wait("first line")
            check(all(len(line) <= 60 for line in text.splitlines()) and len(text.splitlines()) <= 16, text)
            s.press("y")
            s.wait("kind: Pod")
            s.press("Escape")
            s.wait("first line")
            s.press("e")
            s.wait("#", absent=["GPUs"])
            s.press("echo in the shell; exit", "Enter")
            s.wait("GPUs:", "first line", absent=["in the shell"])
            s.press("Down")  # the first key after the shell: read as Escape, it would leave the job
            s.press("y")
            s.wait("kind: Pod")
            s.press("Escape")
            s.wait("first line")
            s.press("Escape")
            s.press("Down")
            s.press("Enter")
            s.wait("job 2", "needs 6 ")
            s.press("?")
            s.wait("Space mark")
            s.press("Down")
            s.wait("Ctrl-d cancel")


def test_actions_ask_first_and_readonly_refuses_them():
    with Mete() as m:
        for name in ("one", "two", "three"):
            m.ok("apply", "-f", "-", stdin=pod(name, "sleep 1000", gpus=5))
        m.wait_phase("one", "Running")
        with Screen(m, (80, 24), "--readonly") as s:
            s.press("2")
            s.wait("three")
            s.press("C-d")
            s.wait("--readonly")
        with Screen(m, (80, 24)) as s:
            s.press("3")
            s.wait("two", "three")
            s.press(":")
            s.press("h", "o", "l", "d", "Enter")
            s.wait("hold 2? y or n")
            s.press("n")
            s.wait("nothing was changed")
            s.press("Space")
            s.wait("*")
            s.press("Space")
            s.press(":")
            s.press("h", "o", "l", "d", "Enter")
            s.wait("hold 2 jobs of namespace default? y or n")
            s.press("y")
            wait(lambda: [p["metadata"]["annotations"].get("mete.dev/hold") for p in m.object("pods")["items"]].count("user") == 2,
                 "both are on hold")
            s.press("2")
            s.wait("running")
            s.press("C-d")
            s.wait("cancel 1? y or n")
            s.press("y")
            wait(lambda: len([p for p in m.object("pods")["items"] if "deletionTimestamp" not in p["metadata"]]) == 2, "job 1 goes")
            s.press("1")
            s.wait("8 GPUs", "/0 ")
            s.press(":")
            s.press("d", "r", "a", "i", "n", " ", "f", "a", "n", "s", "Enter")
            s.wait("/0: fans? y or n")
            s.press("y")
            s.wait("1 drained")


def test_local_needs_no_server():
    with Mete() as m:
        root = os.path.join(m.data, "node", "gpusim")
        env = {"METE_DRIVER_ROOT": os.path.join(root, "root"), "METE_GPUSIM_MACHINE": os.path.join(root, "machine.bin")}
        m.stop()
        r = m.mete("top", "--local", "--once", "-o", "json", env=m.env | env)
        equal(r.code, 0, r)
        top = json.loads(r.out)
        equal(top["counts"]["free"], 8, top)
        check(all(g["memoryUsedBytes"] is not None for g in top["gpus"]) and "jobs" not in top, top)
        with Screen(m, (60, 16), "--local", env=env) as s:
            s.wait("8 GPUs: 8 free", "this machine")
            s.press("2")
            s.wait("--local shows")
            s.press("q")
            wait(s.is_over, "q ends it")
