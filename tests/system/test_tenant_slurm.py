"""One user of the machine against another at the Slurm door: Eve attacks Ann with Slurm's commands, through the API, from
her own jobs, and with options that nobody would write. Both have the rights that each user of the machine has."""

import contextlib
import http.client
import json
import os
import pty
import re
import shutil
import socket
import stat

from harness import METE, Mete, check, equal, execute_as, pod, wait

ANN, EVE = 5, 13  # games and proxy of Debian's passwd: no login
MARK = "only-for-ann"
JOBS = "/apis/mete.dev/v1/namespaces/default/slurmjobs"
STEPS = JOBS.replace("slurmjobs", "slurmsteps")
PODS = "/api/v1/namespaces/default/pods"
MERGE = "application/merge-patch+json"


class User:
    """A user of the machine, with a directory that nobody else may enter."""

    def __init__(self, m, uid):
        self.m, self.uid = m, uid
        self.dir = os.path.join(m.dir, f"of-{uid}")
        os.mkdir(self.dir, 0o700)
        os.chown(self.dir, uid, uid)

    def call(self, *words, stdin=None, env=()):
        return execute_as(self.uid, self.uid, [METE, *words], stdin=stdin,
                          env={**self.m.env, "HOME": self.dir, "KUBECONFIG": "/nonexistent", **dict(env)})

    def ok(self, *words, **options):
        r = self.call(*words, **options)
        check(r.code == 0, words, r)
        return r.out

    def submit(self, *words, **options):
        return self.ok("sbatch", "--parsable", "-D", self.dir, *words, **options).strip()

    def ask(self, method, path, body=None, kind="application/json", headers=()):
        """The status and the text of an answer at the unix socket."""
        child, parent = socket.socketpair()
        pid = os.fork()
        if pid == 0:  # the server asks the kernel for the uid of the connection
            with contextlib.suppress(BaseException):
                os.setgroups([])
                os.setgid(self.uid)
                os.setuid(self.uid)
                child.sendall(self.exchange(method, path, body, kind, headers))
            os._exit(0)
        child.close()
        with parent:
            answer = b"".join(iter(lambda: parent.recv(1 << 20), b""))
        os.waitpid(pid, 0)
        status, _, text = answer.decode(errors="replace").partition("\n")
        check(status, method, path, "no answer")
        return int(status), text

    def exchange(self, method, path, body, kind, headers):
        c = http.client.HTTPConnection("unix", timeout=60)
        c.sock = socket.socket(socket.AF_UNIX)
        c.sock.settimeout(60)
        c.sock.connect(os.path.join(self.m.data, "mete.sock"))
        c.request(method, path, json.dumps(body) if body is not None else None, {"Content-Type": kind, **dict(headers)})
        r = c.getresponse()
        return str(r.status).encode() + b"\n" + r.read()

    def states(self, job):
        return dict(line.split("|") for line in self.ok("squeue", "-h", "-t", "all", "-o", "%i|%T", "-j", job).split())

    def wait_state(self, job, want):
        wait(lambda: set(self.states(job).values()) == {want}, f"job {job} is {want}", 120)


@contextlib.contextmanager
def two_users(**options):
    """One job has run: the node keeps the launcher that it started."""
    with Mete(**options) as m:
        ann, eve = User(m, ANN), User(m, EVE)
        ann.wait_state(ann.submit("-o", "/dev/null", "--wrap=true"), "COMPLETED")
        with m.unharmed():
            yield m, ann, eve


def row_of(m, job):
    found = m.read(f"/apis/mete.dev/v1/slurm?what=jobs&states=all&ids={job}")["jobs"]
    check(found, f"no job {job}")
    return found[0]


def name_of(m, job):
    """The name of the SlurmJob."""
    return row_of(m, job)["object"].split("/")[1]


# ---- another's job ----


def test_jobs_of_another_user_are_out_of_reach():
    with two_users(gpus="emulated:1xH100") as (m, ann, eve):
        secret = {"MARK": MARK}.items()
        runs = ann.submit("-J", "train", f"--wrap=: {MARK}; echo {MARK}; exec sleep 1000", "-o", "out", env=secret)
        array = ann.submit("-J", "sweep", "-H", "--array=0-3%2", f"--wrap=: {MARK}", env=secret)
        ended = ann.submit("-J", "past", f"--wrap=: {MARK}", env=secret)
        ann.wait_state(runs, "RUNNING")
        ann.wait_state(ended, "COMPLETED")
        before = [row_of(m, j) for j in (runs, array, ended)]
        commands_change_nothing(eve, runs, array)
        the_api_changes_nothing(m, eve, runs, array)
        nothing_secret_is_read(m, eve, (runs, array, ended))
        the_machine_shows_nothing(eve)
        equal([row_of(m, j) for j in (runs, array, ended)], before, "nothing has changed")
        r = eve.call("sbatch", "-D", eve.dir, "--nice=-5", "--wrap=true")
        check(r.code != 0 and "Access/permission denied" in r.err, r)
        mine = eve.submit("-H", "--nice=5", "--wrap=true")
        r = eve.call("scontrol", "update", f"JobId={mine}", "Nice=4")
        check(r.code != 0 and "Access/permission denied" in r.err, r)
        eve.ok("scontrol", "update", f"JobId={mine}", "Nice=6")
        eve.ok("scancel", mine)
        ann.ok("strigger", "--set", f"--jobid={runs}", "--fini", "--program=/bin/true")
        r = eve.call("strigger", "--clear", f"--jobid={runs}")
        equal((r.code, r.err), (1, "slurm_clear_trigger: Access/permission denied\n"))
        ann.ok("strigger", "--clear", f"--jobid={runs}")
        check(MARK in ann.ok("get", "slurmjob", name_of(m, runs), "-o", "yaml"), "the user reads the own script")
        check(MARK in ann.ok("sacct", "-X", "-n", "-j", ended, "-o", "SubmitLine%200"))
        equal(ann.call("scancel", runs, array).code, 0)
        ann.wait_state(runs, "CANCELLED")
        ann.wait_state(array, "CANCELLED")


def commands_change_nothing(eve, runs, array):
    denied = "Access/permission denied"
    for words in (("scancel", runs), ("scancel", f"{array}_2"), ("scancel", f"{array}_[0-3]"), ("scancel", "-n", "train"),
                  ("scancel", "-u", "games"), ("scancel", "-t", "PENDING"),
                  ("scontrol", "hold", runs), ("scontrol", "release", array), ("scontrol", "release", f"{array}_1"),
                  ("scontrol", "requeue", runs), ("scontrol", "requeuehold", runs),
                  ("scontrol", "update", f"JobId={runs}", "TimeLimit=00:00:01"), ("scontrol", "update", f"JobId={array}", "Name=x"),
                  ("scontrol", "update", f"JobId={array}", "ArrayTaskThrottle=1"),
                  ("scontrol", "update", f"JobId={runs}", "Comment=x"), ("scancel", "-s", "USR1", runs), ("scancel", "-b", "-s", "KILL", runs),
                  ("srun", f"--jobid={runs}", "--overlap", "id")):
        r = eve.call(*words)
        check(r.code != 0 and denied in r.err, words, r)
    equal(eve.call("scancel", "--me").code, 0)
    equal(eve.ok("squeue", "--me", "-h"), "")


def the_api_changes_nothing(m, eve, runs, array):
    job, other = (f"{JOBS}/{name_of(m, j)}" for j in (runs, array))
    at = f"{PODS}/{row_of(m, runs)['pod']}"
    body = wait(lambda: (b := json.loads(eve.ask("GET", job)[1]))["status"]["state"] == "RUNNING" and b,
                "the controller has written the job's state, and writes no more")
    tries = [("DELETE", job, None), ("DELETE", at, None), ("DELETE", at + "?gracePeriodSeconds=0", None),
             ("PUT", job, body), ("PATCH", job, {"spec": {"cancelled": "*"}}), ("PATCH", other, {"spec": {"hold": "none"}}),
             ("PATCH", job, {"metadata": {"labels": {"a": "b"}}}), ("PATCH", job, {"metadata": {"annotations": {"mete.dev/user": "proxy"}}}),
             ("PATCH", job + "/status", {"status": {"state": "FAILED"}}), ("PATCH", job, {"spec": {"user": {"uid": EVE}}}),
             ("PATCH", at, {"metadata": {"labels": {"a": "b"}}}), ("PATCH", at, {"spec": {"activeDeadlineSeconds": 1}}),
             ("PATCH", at, {"metadata": {"finalizers": None}}), ("PATCH", at + "/status", {"status": {"phase": "Failed"}}),
             ("POST", at + "/eviction", {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": at.rsplit("/")[-1]}}),
             ("GET", at + "/exec?command=id&stdout=true", None), ("POST", at + "/exec?command=id&stdout=true", None),
             ("POST", at + "/attach?stdout=true", None), ("POST", at + "/signal", {"signal": 9}),
             ("POST", STEPS, {"apiVersion": "mete.dev/v1", "kind": "SlurmStep", "metadata": {"name": "x"}, "spec": {
                 "job": job.rsplit("/")[-1], "tasks": 1, "nodes": [{"node": "vm", "pod": at.rsplit("/")[-1], "tasks": 1}]}}), ("POST", at + "/portforward?ports=22", None), ("GET", at + "/log", None)]
    for method, path, what in tries:
        status, text = eve.ask(method, path, what, MERGE if method == "PATCH" else "application/json")
        check(status in (403, 422) and MARK not in text, method, path, what, status, text)


def nothing_secret_is_read(m, eve, jobs):
    """Each way to read a job, with all that the reader may ask for."""
    texts = [eve.ok("scontrol", "-dd", "show", "job", j) for j in jobs]
    texts += [eve.ok("squeue", "-t", "all", "--json"), eve.ok("squeue", "-t", "all", "-O", "Command:200,Comment:200,StdOut:200"),
              eve.ok("sacct", "-a", "-P", "-o", "ALL"), eve.ok("sacct", "-a", "-X", "-o", "JobID,SubmitLine%500")]
    names = [name_of(m, j) for j in jobs]
    paths = [JOBS, PODS, "/apis/mete.dev/v1/slurm?what=jobs&states=all&detail=1", "/apis/mete.dev/v1/accounting",
             "/apis/mete.dev/v1/jobs", "/apis/mete.dev/v1/namespaces/default/workloads", "/api/v1/namespaces/default/events"]
    paths += [f"{JOBS}/{name}{more}" for name in names for more in ("", "/status")]
    paths += [f"{JOBS}?watch=1&timeoutSeconds=1", f"{PODS}?watch=1&timeoutSeconds=1", f"{PODS}?fieldSelector=status.phase%3DRunning"]
    for path in paths:
        for accept in ("application/json", "application/json;as=Table;v=v1;g=meta.k8s.io",
                       "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"):
            for query in ("", "includeObject=Object"):
                if query and ("as=Table" not in accept or not path.startswith((JOBS, PODS))):
                    continue
                at = path + ("&" if "?" in path else "?") + query if query else path
                status, text = eve.ask("GET", at, headers={"Accept": accept}.items())
                equal(status, 200, at, text)
                texts.append(text)
    for text in texts:
        check(MARK not in text, text)
    check(any("train" in text for text in texts), "jobs are seen, their secrets are not")


def the_machine_shows_nothing(eve):
    look = "cat /run/mete/jobs/*/script; for p in $(ls /proc); do cat /proc/$p/environ 2>/dev/null | tr '\\0' '\\n' | grep ^MARK=; done; true"
    r = execute_as(EVE, EVE, ["sh", "-c", look])
    check(MARK not in r.out, r)


CONNECT = """import re, socket
for name in re.findall(r"@(mete-step\\.\\S+)", open("/proc/net/unix").read()):
    with socket.socket(socket.AF_UNIX) as s:
        try:  # those of other tests are there, too, and end at any time
            s.connect("\\0" + name)
            print("told", s.recv(1000))
        except (ConnectionResetError, ConnectionRefusedError):
            print("told", b"")
"""


def program_for_all(m):
    """Mete where each user may execute it: the build may be below a directory of root's."""
    for name in ("mete", "mete-slurm"):
        shutil.copy(os.path.join(os.path.dirname(METE), name), m.dir)
    return os.path.join(m.dir, "mete")


def test_a_step_of_another_user_is_out_of_reach():
    with two_users(gpus="none") as (m, ann, eve):
        job = ann.submit("-o", "/dev/null", "--wrap", f"exec {program_for_all(m)} srun -O -n 2 sh -c 'echo {MARK}; exec sleep 1000'")
        found = wait(lambda: (r := ann.call("sattach", "--layout", f"{job}.0")).code == 0 and r, "the user's own step is reached", 120)
        check("2 tasks, 1 nodes" in found.out, found)
        at = f"{PODS}/{row_of(m, job)['pod']}/exec?command=mete-step&command=0&command=attach&stdin=true&stdout=true"
        for words in ((), ("--layout",), ("-l", "--pty")):
            r = eve.call("sattach", *words, f"{job}.0", stdin="input\n")
            check(r.code == 1 and "Access/permission denied" in r.err and MARK not in r.out + r.err, r)
        for method in ("GET", "POST"):
            status, text = eve.ask(method, at)
            equal(status, 403, text)
        r = execute_as(EVE, EVE, ["python3", "-c", CONNECT])
        check(r.code == 0 and set(r.out.splitlines()) == {"told b''"}, r, "the manager of a step answers its own user alone")
        equal(ann.call("scancel", job).code, 0)


def test_a_command_in_another_users_pod_is_refused():
    """The right to create pods in a namespace is no right to act as another user of the machine."""
    with two_users(gpus="none") as (m, ann, eve):
        equal(ann.call("apply", "-f", "-", stdin=pod("theirs", "id -u; exec sleep 1000")).code, 0)
        m.wait_phase("theirs", "Running")
        for words in (("exec", "theirs", "--", "id"), ("attach", "theirs")):
            r = eve.call(*words)
            check(r.code != 0 and f"cannot act as uid {ANN}" in r.err, words, r)
        equal(ann.ok("exec", "theirs", "--", "id", "-u"), f"{ANN}\n")
        equal(m.mete("exec", "theirs", "--", "id", "-u").out, f"{ANN}\n")


# ---- another uid ----


def body_of(script="#!/bin/sh\nid\n", **spec):
    return {"apiVersion": "mete.dev/v1", "kind": "SlurmJob", "metadata": {"generateName": "try-"},
            "spec": {"name": "try", "script": script, "workDir": "/tmp", "stdout": "/dev/null", **spec}}


LOOK = """#!/bin/sh
id -u; id -g; id -G
grep -E '^(NoNewPrivs|CapPrm|CapEff|CapBnd|CapAmb)' /proc/self/status
ls /proc/self/fd | tr '\\n' ' '; echo
ls -A {data} 2>/dev/null | wc -l
for f in {data}/kubeconfig {data}/node/token {data}/server/state.db /etc/shadow; do cat $f >/dev/null 2>&1 && echo read $f; done
for d in mem kmsg sda vda nvidia0 nvidiactl; do (exec 3<>/dev/$d) 2>/dev/null && echo opened $d; done
echo $$ 2>/dev/null >/sys/fs/cgroup/cgroup.procs && echo left
echo end
"""


def test_a_script_stays_its_user():
    with two_users(gpus="emulated:1xH100") as (m, _, eve):
        for uid in (0, ANN, 99999, -1):
            status, text = eve.ask("POST", JOBS, body_of(user={"uid": uid}))
            check(status in (400, 403, 422), uid, status, text)
        for option, why in (("--uid=0", "jobs run as the user who submits them"), ("--gid=0", "jobs have the group of their user")):
            r = eve.call("sbatch", option, "--wrap=id")
            check(r.code != 0 and why in r.err, option, r)
        script = os.path.join(eve.dir, "look.sh")
        with open(script, "w") as f:
            f.write(LOOK.format(data=m.data))
        os.chmod(script, 0o755)
        job = eve.submit("-o", "look", "--export=ALL,LD_PRELOAD=/tmp/none.so,SLURM_JOB_UID=0,USER=root", script)
        eve.wait_state(job, "COMPLETED")
        lines = read(eve, "look").splitlines()
        lines = [x for x in lines if "ld.so" not in x]
        equal(lines[:3], [str(EVE)] * 3, lines)
        equal([x.split()[1].strip("0") for x in lines[3:8]], ["", "", "", "1", ""] if lines[6].startswith("NoNew") else lines_of_caps(lines[3:8]), lines)
        equal(lines[8:], ["0 1 2 3 ", "0", "end"], "of the descriptors 3 is that of ls", lines)
        held = eve.submit("-H", "--wrap=true")
        with open(script, "w") as f:
            f.write("#!/bin/sh\nid -u >told\nmv told whole\n".replace("told", f"{eve.dir}/told").replace("whole", f"{eve.dir}/whole"))
        eve.ok("strigger", "--set", f"--jobid={held}", "--fini", f"--program={script}")
        eve.ok("scontrol", "release", held)
        wait(lambda: os.path.exists(f"{eve.dir}/whole") and read(eve, "whole") == f"{EVE}\n", "the trigger's program ran as its user", 120)
        # what the server writes is the server's
        status, text = eve.ask("POST", JOBS, {**body_of(hold="user"), "status": {"jobId": 1, "state": "COMPLETED", "exitCode": 0}})
        equal(status, 201, text)
        made = json.loads(text)
        check(made["status"]["jobId"] > 1 and made["status"].get("state") != "COMPLETED", made)
        equal((made["spec"]["user"]["uid"], made["metadata"]["annotations"]["mete.dev/user"]), (EVE, "proxy"))
        for meta in ({"annotations": {"mete.dev/user": "games"}}, {"labels": {"mete.dev/job-id": "1"}}):
            body = body_of()
            body["metadata"].update(meta)
            status, text = eve.ask("POST", JOBS, body)
            check(status in (403, 422), meta, status, text)
        forged = json.loads(pod("forged", "true"))
        for key, value in (("host-process", '{"script":"#!/bin/sh\\nid\\n"}'), ("slurm-environment", "[]"), ("slurm-account", "{}")):
            forged["metadata"]["annotations"] = {"mete.dev/" + key: value}
            status, text = eve.ask("POST", PODS, forged)
            check(status in (403, 422), key, status, text)


def lines_of_caps(lines):
    return ["1" if line.startswith("NoNewPrivs") else "" for line in lines]


def read(user, name):
    with open(os.path.join(user.dir, name), errors="replace") as f:
        return f.read()


# ---- paths of files ----


def test_paths_of_files_give_nothing():
    with two_users(gpus="none") as (m, ann, eve):
        for name in ("mine", "shared"):
            path = os.path.join(ann.dir, name)
            with open(path, "w") as f:
                f.write(MARK)
            os.chown(path, ANN, ANN)
            os.chmod(path, 0o600)
        root = os.path.join(m.dir, "roots")
        with open(root, "w") as f:
            f.write("of root")
        os.chmod(root, 0o644)
        for name, to in (("to-ann", os.path.join(ann.dir, "mine")), ("to-root", root), ("to-shadow", "/etc/shadow"),
                         ("to-data", os.path.join(m.data, "kubeconfig")), ("to-dir", ann.dir)):
            os.symlink(to, os.path.join(eve.dir, name))
        os.mkfifo(os.path.join(eve.dir, "fifo"))
        os.chown(os.path.join(eve.dir, "fifo"), EVE, EVE)
        refused_paths(m, ann, eve, root)
        a_fifo_holds_up_nobody_else(eve)
        special_files_are_those_of_the_user(eve)
        equal(read(ann, "mine"), MARK)
        with open(root) as f:
            equal(f.read(), "of root")
        equal(sorted(os.listdir(ann.dir)), ["mine", "shared"], "no file was made there")


def refused_paths(m, ann, eve, root):
    """What the user could not open by hand ends the job; all of them at once."""
    up = "../" * 20
    out = [os.path.join(ann.dir, "new"), "to-ann", "to-root", "to-dir/new", root, "/etc/passwd", "/root/x", "/etc/cron.d/x",
           up + "etc/ld.so.preload", "/proc/1/environ", "/proc/sys/kernel/core_pattern", "/proc/self/mem", "/proc/1/root/tmp/x",
           "/sys/kernel/uevent_helper", "/dev/mem", "/dev/kmsg", os.path.join(m.data, "server", "users.yaml"), "/run/mete/x",
           "/dev/nothing/x", "/proc/sysrq-trigger", "/proc/self/exe", "x" * 300]
    into = ["/etc/shadow", "to-shadow", "to-ann", "to-data", os.path.join(m.data, "node", "token"), "/proc/1/environ", "/dev/mem"]
    jobs = {eve.submit("-o", path, "--wrap=echo hello"): path for path in out}
    jobs.update({eve.submit("-o", "/dev/null", "-i", path, "--wrap=cat"): path for path in into})
    # numbers of descriptors that the launcher may have open
    open_ones = [eve.submit("-o", f"read-{n}", "-i", f"/proc/self/fd/{n}", "--wrap=cat") for n in range(10)]
    jobs[eve.submit("-D", ann.dir, "-o", "/dev/null", "--wrap=true")] = "chdir"
    ids = ",".join([*jobs, *open_ones])

    def ended():
        found = eve.states(ids)
        return not set(found.values()) & {"PENDING", "RUNNING", "COMPLETING"} and found

    states = wait(ended, "all jobs have ended", 120)
    equal([path for job, path in jobs.items() if (states[job], row_of(m, job)["exitCode"]) != ("FAILED", 128)], [])
    equal([n for n in range(10) if os.path.exists(f"{eve.dir}/read-{n}") and read(eve, f"read-{n}")], [], "descriptors of the launcher")
    named = eve.submit("-J", up + "etc/cron.d/named", "-o", "%x", "--wrap=true")
    eve.wait_state(named, "COMPLETED")
    equal(read(eve, "named"), "", "%x is the last part of the name")
    events = eve.ok("events")
    check(f"to-shadow as uid {EVE}: permission denied" in events, events)


def a_fifo_holds_up_nobody_else(eve):
    stuck = eve.submit("-o", "fifo", "--wrap=true")
    after = eve.submit("-o", "plain", "--wrap=echo hello")
    eve.wait_state(after, "COMPLETED")
    equal(read(eve, "plain"), "hello\n")
    check(eve.states(stuck)[stuck] in ("PENDING", "RUNNING"), eve.states(stuck))
    eve.ok("scancel", stuck)
    eve.wait_state(stuck, "CANCELLED")
    check(stat.S_ISFIFO(os.stat(os.path.join(eve.dir, "fifo")).st_mode))


def special_files_are_those_of_the_user(eve):
    job = eve.submit("-o", "/dev/full", "-e", "errors", "--wrap=echo hello")
    eve.wait_state(job, "FAILED")
    check("error" in read(eve, "errors"), "the shell says that it cannot write")
    made = os.stat(os.path.join(eve.dir, "errors"))
    equal((made.st_uid, made.st_gid), (EVE, EVE))


# ---- hostile names and sizes ----


def test_hostile_options_get_clear_errors():
    with two_users(gpus="none") as (m, _, eve):
        before = m.processes()
        hostile_values(eve)
        hostile_names(m, eve)
        many_dependencies(m, eve)
        equal(m.processes(), before, "nothing of ours ended")


def hostile_values(eve):
    long = "x" * 100000
    array, nodes = "Invalid job array specification", "node"
    cases = [(("--array=0-4294967295",), array), (("--array=0-999999999999999999999",), array), (("--array=-1",), array),
             (("--array=1-2:0",), array), (("--array=5-1",), array), (("--array=1-3%-1",), array), (("--array=1,x",), array),
             (("--array=",), array), (("-w", "n[1-999999999]"), nodes), (("-w", "n[1-"), nodes), (("-w", "n[[1-2]]"), nodes),
             (("-w", "n[1-99999][1-99999]"), nodes), (("-x", "n[0-18446744073709551616]"), nodes), (("-w", long), None),
             (("-N", "2-1"), None), (("-N", "999999999"), None), (("-n", "99999999999999"), None), (("-c", "-1"), None),
             (("--mem=999999999999T",), None), (("--mem=-1",), None), (("-t", "99999999999999"), None), (("-t", "-5"), None),
             (("--gres=gpu:99999999999999999999",), None), (("--gres=gpu:-1",), None), (("--gres=" + "gpu:1," * 20000 + "gpu:1",), None),
             (("--begin=now+99999999999999days",), None), (("--begin=yesterdayish",), None),
             (("--dependency=afterok:99999999999999",), "dependency"), (("--dependency=afterok:",), "dependency"),
             (("--dependency=sometimes:1",), "dependency"), (("-J", long), None), (("--comment=" + long,), None),
             (("-C", "a&&b|(("), None), (("--signal=B:NONSENSE@99999999",), None), (("-p", "main," * 20000 + "main"), None),
             (("--nice=99999999999",), "nice"), (("--kill-on-invalid-dep=maybe",), None), (("--nonsense",), "unrecognized option"), (("-o", "%" + "9" * 30 + "j", "-e", long), None)]
    for words, text in cases:
        r = eve.call("sbatch", "-D", "/tmp", *words, "--wrap=true")
        check(r.code != 0 and "error: " in r.err or "unrecognized" in r.err, [w[:80] for w in words], r)
        check(text is None or text.lower() in r.err.lower(), [w[:80] for w in words], r.err[:500], text)
        check(len(r.err) < 3000, "errors are bounded", r.err[:3000])
    equal(eve.ok("squeue", "--me", "-h", "-t", "all"), "", "none of them is a job")
    big = "#!/bin/sh\n" + "# nothing\n" * 110000
    r = eve.call("sbatch", "-D", "/tmp", stdin=big)
    check(r.code != 0 and "too long" in r.err, r.err[:500])
    r = eve.call("sbatch", "-D", "/tmp", "--wrap=true", env={f"V{i}": "v" * 1000 for i in range(300)}.items())
    check(r.code != 0 and "environment" in r.err, r.err[:500])
    for words in (("scontrol", "show", "hostnames", "n[1-999999999]"), ("scancel", "99999999999999999999"), ("scancel", "1_[0-4294967295]"),
                  ("squeue", "-j", "1_[0-99999999]"), ("sacct", "-j", "x" * 100000),
                  ("scontrol", "show", "job", "9" * 1000), ("scontrol", "update", "JobId=1", "TimeLimit=" + "9" * 1000)):
        r = eve.call(*words)
        check(r.code != 0 and r.err and len(r.err) < 3000, [w[:80] for w in words], r.code, r.err[:500])


def hostile_names(m, eve):
    name = "a\x1b]0;title\x07b\nFAKE 1 R\x9b2J\u202ec"
    job = eve.submit("-H", "-J", name, "--comment", "x\ny=z\x1b[31m", "--wrap=true")
    for words in (("squeue", "-h", "-j", job, "-o", "%j %k"), ("scontrol", "-o", "show", "job", job),
                  ("sacct", "-n", "-X", "-P", "-j", job, "-o", "JobID,JobName,Comment"), ("squeue", "-h", "-j", job, "-O", "Name:100")):
        out = eve.ok(*words)
        equal((out.count("\n"), [c for c in out if c != "\n" and not c.isprintable()]), (1, []), words, repr(out))
    primary, secondary = pty.openpty()
    with contextlib.ExitStack() as stack:
        stack.callback(os.close, primary)
        pid = os.fork()
        if pid == 0:
            os.dup2(secondary, 1)
            os.execve(METE, [METE, "squeue"], m.env)
        os.close(secondary)
        said = b""
        with contextlib.suppress(OSError):
            while piece := os.read(primary, 65536):
                said += piece
        os.waitpid(pid, 0)
    check(b"\x1b" not in said and job.encode() in said, said)
    for bad in ("", "-", "%", "%%%j%", "..", "/", "a" * 1000, "'; rm -rf /; '", "$(id)", "\u4e2d\u6587"):
        other = eve.submit("-H", "-J", bad, "-o", "%x-" + "%" * 7 + "j", "--wrap=true")
        equal(eve.ok("squeue", "-h", "-j", other, "-o", "%T"), "PENDING\n", bad)
    eve.ok("scancel", "--me")


def many_dependencies(m, eve):
    first = int(eve.submit("-H", "--wrap=true"))
    others = [first + i for i in range(10000)]  # each counts once
    for text in (":".join(["afterany", *map(str, others)]), ",".join(f"afterok:{n}" for n in others)):
        r = eve.call("sbatch", "-D", "/tmp", "-d", text, "--wrap=true")
        check(r.code != 0 and "dependency" in r.err.lower() and len(r.err) < 3000, r.err[:500])
    # a job that waits for itself, or for one that does not exist yet
    for ahead in (1, 1000000):
        r = eve.call("sbatch", "-D", "/tmp", "-d", f"afterok:{first + ahead}", "--wrap=true")
        check(r.code != 0 and "Job dependency problem" in r.err, r)
    eve.ok("scancel", "--me")
    wait(lambda: not re.search(r"\d", eve.ok("squeue", "--me", "-h")), "no job is left")
