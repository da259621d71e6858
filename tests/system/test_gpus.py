"""A container sees its own gpus and no others."""

import json
import os

from harness import BUILD, Mete, Skip, check, equal, execute, pod, wait

PROBE = r"""
nvidia-smi -L 2>&1 | grep -c UUID
ls /dev | grep -c '^nvidia[0-9]'
for minor in 0 1 2 3 4 5 6 7; do
    mknod /tmp/probe-$$-$minor c 384 $minor 2>/dev/null || { echo "mknod $minor refused"; continue; }
    if (exec 3<>/tmp/probe-$$-$minor) 2>&1 | grep -q 'No such device'; then echo "open $minor allowed"; fi
    rm -f /tmp/probe-$$-$minor
done
"""


def lines_of(m, name):
    m.wait_phase(name, ("Succeeded", "Failed"))
    return m.ok("logs", name).splitlines()


def test_the_environment_gives_nothing_that_was_not_given():
    with Mete() as m:
        env = [{"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"}, {"name": "CUDA_VISIBLE_DEVICES", "value": "0,1,2,3"},
               {"name": "METE_GPUSIM_ALL", "value": "1"}, {"name": "NVIDIA_DRIVER_CAPABILITIES", "value": "all"}]
        for name, gpus in (("none", 0), ("two", 2)):
            c = {"name": "main", "image": "host", "command": ["sh", "-c", PROBE], "env": env}
            if gpus:
                c["resources"] = {"limits": {"nvidia.com/gpu": gpus}}
            m.ok("apply", "-f", "-", stdin=pod(name, "", containers=[c]))
            out = lines_of(m, name)
            equal(out[0], str(gpus), out)
            equal(out[1], str(gpus), out)
            equal(len([line for line in out if line.endswith("allowed")]), gpus if any("allowed" in x for x in out) else 0, out)


def test_two_pods_never_share_a_gpu():
    with Mete() as m:
        for i in range(4):
            m.ok("apply", "-f", "-", stdin=pod(f"p{i}", "nvidia-smi -L; sleep 1000", gpus=2))
        for i in range(4):
            m.wait_phase(f"p{i}", "Running")

        def uuids():
            found = []
            for i in range(4):
                found += [line.split("UUID: ")[1] for line in m.ok("logs", f"p{i}").splitlines()]
            return found if len(found) == 8 else None

        found = wait(uuids, "each pod prints two gpus")
        equal(len(set(found)), 8, found)
        table = json.loads(m.mete("gpus", "-o", "json").out)
        check("emulated" in json.dumps(table).lower())


def break_gpu(m, index, fault):
    machine = os.path.join(m.data, "node", "gpusim", "machine.bin")
    r = execute([os.path.join(BUILD, "gpusim", "gpusim"), "set", machine, str(index), fault])
    check(r.code == 0, r)


def wait_offered(m, n):
    wait(lambda: m.object("nodes")["items"][0]["status"]["allocatable"]["nvidia.com/gpu"] == str(n),
         f"the node offers {n} gpus")


def test_a_container_learns_which_gpus_it_has():
    with Mete(gpus="emulated:4xT4") as m:
        m.ok("apply", "-f", "-", stdin=pod("two", "echo $NVIDIA_VISIBLE_DEVICES; nvidia-smi -L", gpus=2))
        said, *listed = lines_of(m, "two")
        uuids = [line.split("UUID: ")[1].rstrip(")") for line in listed]
        equal(len(uuids), 2)
        equal(sorted(said.split(",")), sorted(uuids))


def test_each_xid_of_a_burst_is_told():
    with Mete(gpus="emulated:4xT4") as m, m.unharmed():
        def is_heard(xid):  # the driver's events begin a moment after the node
            break_gpu(m, 2, f"xid={xid}")
            return f"xid={xid}" in m.log_text()

        wait(lambda: is_heard(13), "XIDs are heard")
        codes = [31, 43, 45, 48]
        for xid in codes:
            break_gpu(m, 2, f"xid={xid}")
        wait(lambda: all(f"xid={xid}" in m.log_text() for xid in codes), "each is in the log")
        wait_offered(m, 3)
        check("XID 48" in m.mete("gpus", "-o", "json").out)


def test_a_sick_gpu_is_not_given_and_the_others_are():
    with Mete(gpus="emulated:4xT4") as m, m.unharmed():
        break_gpu(m, 1, "lost=1")
        wait_offered(m, 3)
        m.ok("apply", "-f", "-", stdin=pod("three", "nvidia-smi -L | grep -c UUID", gpus=3))
        equal(lines_of(m, "three"), ["3"])
        m.ok("apply", "-f", "-", stdin=pod("four", "true", gpus=4))
        wait(lambda: "gpu" in m.ok("get", "pod", "four", "-o", "jsonpath={.status.conditions[*].message}").lower() or
             "T4" in m.ok("get", "pod", "four", "-o", "jsonpath={.status.conditions[*].message}"), "the reason")
        break_gpu(m, 1, "lost=0")
        wait_offered(m, 4)
        m.wait_phase("four", "Succeeded")


def test_without_a_driver_it_says_why_there_are_no_gpus():
    if os.path.exists("/dev/nvidiactl"):
        raise Skip("this machine has gpus")
    with Mete(gpus="auto") as m:
        wait(lambda: 'msg="gpus are not managed" cause="no nvidia driver here' in m.log_text(), "the cause in the log")
