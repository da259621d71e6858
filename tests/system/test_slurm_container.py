"""Slurm jobs in containers, by the options of pyxis: the image's files, the user's rights and files, shares of GPUs."""

import os
import pwd
import shutil
import tempfile

from harness import METE, Mete, check, equal, execute_as, wait
from image_kit import Image, Layer, base_layer, write
from test_driver import debian, import_image

UID = 5  # games of Debian's passwd: no login
GID = pwd.getpwuid(UID).pw_gid
IMAGE = "registry.example#team/tools:1"

SCRIPT = """#!/bin/sh
echo "$(id -u):$(id -g) $SLURM_JOB_ID $KEPT $OWN $# $1 $PWD"
cat /image /mine/secret
echo new >/mine/new
touch /mine/others/x 2>/dev/null && echo wrote
cat /ours/theirs 2>/dev/null && echo read
touch /ours/y 2>/dev/null && echo wrote
echo bad >&2
read line; echo "$line"
touch /free && echo free
exit 7
"""


class User:
    """A user of the machine with files of their own."""

    def __init__(self, m, home):
        self.m, self.home = m, home
        self.write("secret", "of the user\n")
        os.chmod(self.path("secret"), 0o600)
        os.mkdir(self.path("others"), 0o755)
        os.mkdir(self.path("root"), 0o700)
        write(self.path("others/theirs"), b"of another\n")
        os.chmod(self.path("others/theirs"), 0o600)
        write(self.path("others/open"), b"of another\n")
        os.chmod(self.path("others/open"), 0o666)
        self.write("script", SCRIPT)
        self.write("in", "input\n")

    def path(self, name):
        return os.path.join(self.home, name)

    def write(self, name, text):
        write(self.path(name), text.encode())
        os.chown(self.path(name), UID, GID)

    def read(self, name):
        with open(self.path(name), encoding="utf-8") as f:
            return f.read()

    def call(self, *words):
        env = {**self.m.env, "HOME": self.home, "KEPT": "kept", "OWN": "of the shell"}
        return execute_as(UID, GID, [METE, *words], env=env)

    def submit(self, *words, image=IMAGE):
        r = self.call("sbatch", "--parsable", "-D", self.home, f"--container-image={image}", *words)
        check(r.code == 0, r)
        return r.out.strip()

    def end(self, job, want):
        def look():
            return self.call("squeue", "-h", "-t", "all", "-o", "%T", "-j", job).out.strip()
        wait(lambda: look() not in ("PENDING", "RUNNING", "COMPLETING"), f"job {job} ends", 120)
        equal(look(), want, self.call("scontrol", "show", "job", job), self.m.kubectl("get", "events"))

    def refused(self, *words):
        r = self.call("sbatch", *words, "--wrap=true")
        equal(r.code, 1, r)
        return r.err


def bring_image(m):
    layer = Layer().text("image", "of the image\n").octets()
    config = {"WorkingDir": "/data", "Env": ["OWN=of the image", "PATH=/bin"]}
    path = write(os.path.join(m.dir, "image.tar"), Image([base_layer(), layer], config).layout())
    r = m.mete("image", "import", path, "registry.example/team/tools:1")
    equal(r.code, 0, r)


def test_a_job_runs_in_its_image():
    home = tempfile.mkdtemp(prefix="mete-job-")
    os.chown(home, UID, GID)
    os.chmod(home, 0o700)
    try:
        with Mete("emulated:1xH100") as m, m.unharmed():
            bring_image(m)
            import_image(m, "test/debian:1", debian())
            u = User(m, home)
            the_script_has_the_image_and_the_users_files(u)
            a_container_has_the_home_and_no_more_rights(u)
            shares_of_a_gpu_are_given(u)
            streams_are_opened_as_the_user(u)
            errors_are_clear(u)
    finally:
        shutil.rmtree(home)


def the_script_has_the_image_and_the_users_files(u):
    job = u.submit(f"--container-mounts={u.home}:/mine,{u.path('others')}:/ours:ro", "-i", "in", "-o", "%j.out", "-e", "%j.err",
                   u.path("script"), "a $(HOME)")
    u.end(job, "FAILED")
    lines = u.read(f"{job}.out").splitlines()
    equal(lines, [f"{UID}:{GID} {job} kept of the image 1 a $(HOME) /data", "of the image", "of the user", "input"])
    equal(u.read(f"{job}.err").splitlines()[-1], "touch: /free: Permission denied")
    equal(u.read("new"), "new\n")
    for name in ("new", f"{job}.out"):
        is_ = os.stat(u.path(name))
        equal((is_.st_uid, is_.st_gid), (UID, GID), name)
    equal(u.call("squeue", "-h", "-t", "all", "-j", job, "-o", "%T|%N").out.split("|")[0], "FAILED")
    check(f"{job}|7:0" in u.call("sacct", "-X", "-n", "-P", "-j", job, "-o", "jobid,exitcode").out)


def a_container_has_the_home_and_no_more_rights(u):
    job = u.submit("--container-mount-home", "--container-workdir=/tmp", "-o", "%j.out", "-e", "/dev/null",
                   "--wrap=pwd; cat $HOME/secret; cat $HOME/others/theirs; ls $HOME/root; chown 7 $HOME/new; echo $HOME $OWN")
    u.end(job, "COMPLETED")
    equal(u.read(f"{job}.out").splitlines(), ["/tmp", "of the user", f"{u.home} of the image"])
    equal(os.stat(u.path("new")).st_uid, UID)
    job = u.submit("--container-readonly", "--container-env=OWN", "-o", "ro.out", "-e", "/dev/null",
                   "--wrap=touch /tmp/x || echo closed $OWN")
    u.end(job, "COMPLETED")
    equal(u.read("ro.out"), "closed of the shell\n")
    job = u.submit("-o", "token.out", "--wrap=ls /var/run/secrets 2>&1; env | grep -c ^KUBERNETES_")
    u.end(job, "FAILED")
    check(u.read("token.out").endswith("No such file or directory\n0\n"), u.read("token.out"))


def shares_of_a_gpu_are_given(u):
    for gres in ("gpu:1", "mps:50"):
        u.end(u.submit(f"--gres={gres}", "-o", "gpu.out", "--wrap=nvidia-smi -L", image="test/debian:1"), "COMPLETED")
        check(u.read("gpu.out").startswith("GPU 0: NVIDIA H100") and u.read("gpu.out").count("\n") == 1, gres, u.read("gpu.out"))


def streams_are_opened_as_the_user(u):
    for words in (["-o", "root/out"], ["-i", "others/theirs"], ["-o", "others/open"], ["-o", "/dev/zero"], ["-i", "absent"],
                  ["--container-mounts=/absent"], [f"--container-mounts={u.path('root')}/x"]):
        u.end(u.submit(*words, "--wrap=true"), "FAILED")
    check(not os.listdir(u.path("root")))
    equal(os.stat(u.path("others/open")).st_uid, 0)
    os.mkfifo(u.path("fifo"))
    os.chown(u.path("fifo"), UID, GID)
    u.end(u.submit("-o", "fifo", "--wrap=true"), "FAILED")
    u.write("kept", "before\n")
    os.chown(u.path("kept"), UID, 7)
    u.end(u.submit("-o", "kept", "--open-mode=append", "--wrap=echo after"), "COMPLETED")
    equal((u.read("kept"), os.stat(u.path("kept")).st_gid), ("before\nafter\n", 7))
    u.end(u.submit("-o", "kept", "--wrap=echo anew"), "COMPLETED")
    equal(u.read("kept"), "anew\n")
    job = u.submit("-o", "long", "--wrap=echo here; exec sleep 1000")
    wait(lambda: os.path.exists(u.path("long")) and u.read("long") == "here\n", "the job runs", 60)
    pod = u.m.object("pods", "-l", f"mete.dev/job-id={job}")["items"][0]["metadata"]["name"]
    check(f"'{u.home}/long'" in u.m.mete("logs", pod).err)
    u.call("scancel", job)
    u.end(job, "CANCELLED")


def errors_are_clear(u):
    check("--container-image: missing" in u.refused("--container-mounts=/a"))
    check("is not SOURCE[:TARGET[:ro]]" in u.refused("--container-image=a", "--container-mounts=/proc:/x"))
    check("only ro and rw" in u.refused("--container-image=a", "--container-mounts=/a:/b:suid"))
    check("image files are not read" in u.refused("--container-image=/a/b.sqsh"))
    check("--container-name is not available" in u.refused("--container-image=a", "--container-name=x"))
