"""Thousands of host lists, and of words for time limits, begin times, arrays, dependencies, generic resources, memory and nodes, from a seed:
Mete and Debian's Slurm 22.05 take or refuse the same, and make the same of them.

A job is submitted held with each word; the keys of `scontrol show job` tell what it came to. SEED and CASES (of each kind) choose the cases."""

import os
import random
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from fnmatch import fnmatchcase

from harness import Mete, Result, check, wait
from slurm_fields import CPUS, GPUS, SITE, Ours, Real, Theirs, shape_of
from slurm_fuzz_exceptions import EXCEPTIONS

SEED = int(os.environ.get("SEED", "1"))
CASES = int(os.environ.get("CASES", "1000"))


# ---- generators: each gives a word; most are right, or nearly ----

def spoil(rng, text, letters="0123456789abgkKM:,-+[]%=.x "):
    """Sometimes a byte goes, comes or changes."""
    while text and rng.random() < 0.25:
        at = rng.randrange(len(text))
        text = rng.choice([text[:at] + text[at + 1:], text[:at] + rng.choice(letters) + text[at:], text[:at] + rng.choice(letters) + text[at + 1:]])
    return text


def make_range(rng, most, zeros=True):
    low = rng.randrange(most)
    high = low + rng.randrange(6) if rng.random() < 0.95 else rng.randrange(most)
    width = rng.choice([0, 0, 0, 2, 3]) if zeros else 0
    return f"{low:0{width}}" if rng.random() < 0.4 else f"{low:0{width}}-{high:0{width}}"


def make_hosts(rng):
    words = []
    for _ in range(rng.choice([1, 1, 2, 3, 5])):
        name = rng.choice(["n", "node", "gpu-", "r1x", "a.b", "x_y", "", "n0"])
        for _ in range(rng.choice([0, 1, 1, 1, 2])):
            name += "[" + ",".join(make_range(rng, 30) for _ in range(rng.choice([1, 1, 2, 4]))) + "]"
            if rng.random() < 0.03:
                name += rng.choice(["-", "i", "x", ".z", "s1"])
        if "[" not in name and rng.random() < 0.5:
            name += str(rng.randrange(12))
        words.append(name)
    return spoil(rng, ",".join(words), "0123456789an-,[]").replace(" ", "")


def make_limit(rng):
    n = lambda most: str(rng.randrange(most))  # noqa: E731
    form = rng.choice(["{m}", "{m}:{s}", "{h}:{m}:{s}", "{d}-{h}", "{d}-{h}:{m}", "{d}-{h}:{m}:{s}", "INFINITE", "UNLIMITED", "unlimited", "-1", "0", "infinite"])
    text = form.format(m=n(100), s=n(70), h=n(30), d=n(10))
    return spoil(rng, text, "0123456789:-x ")


def make_begin(rng):
    unit = rng.choice(["", "seconds", "second", "minutes", "minute", "hours", "hour", "days", "day", "weeks", "week", "min", "h", "fortnights"])
    day = f"{rng.randrange(1, 13):02}{rng.choice(['', '/', '.'])}{rng.randrange(1, 30):02}"
    text = rng.choice([f"now+{rng.randrange(100)}{unit}", "now", "today", "tomorrow", "midnight", "noon", "elevenses", "fika", "teatime",
                       f"{rng.randrange(25)}:{rng.randrange(61):02}", f"{rng.randrange(13)}:{rng.randrange(60):02}{rng.choice(['am', 'pm', 'AM', 'PM'])}",
                       f"{rng.randrange(24)}:{rng.randrange(60):02}:{rng.randrange(61):02}", f"2031-{rng.randrange(14):02}-{rng.randrange(33):02}",
                       f"2031-{rng.randrange(1, 13):02}-{rng.randrange(1, 29):02}T{rng.randrange(25):02}:{rng.randrange(61):02}",
                       f"2031-{rng.randrange(1, 13):02}-{rng.randrange(1, 29):02}T{rng.randrange(24):02}:{rng.randrange(60):02}:{rng.randrange(60):02}",
                       day, f"{day}{rng.choice(['', '/', '.'])}31", f"{day}-{rng.randrange(24):02}:{rng.randrange(60):02}", f"uts{2000000000 + rng.randrange(1000)}"])
    return spoil(rng, text, "0123456789:-+/T") if rng.random() < 0.5 else text


def make_array(rng):
    items = []
    for _ in range(rng.choice([1, 1, 1, 2, 4])):
        text = make_range(rng, 40, zeros=rng.random() < 0.1)
        if "-" in text and rng.random() < 0.3:
            text += f":{rng.randrange(5)}"
        items.append(text)
    text = ",".join(items)
    if rng.random() < 0.3:
        text += f"%{rng.randrange(6)}"
    if rng.random() < 0.1:
        text = f"[{text}]"
    if rng.random() < 0.05:
        text = rng.choice(["0-1000", "0-1001", "1000", "1001", "999-1002", "0-2000:2"])
    return spoil(rng, text, "0123456789:-,%[]x")


def make_dependency(rng):
    items = []
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        kind = rng.choice(["after", "afterany", "afterok", "afternotok", "aftercorr", "afterok", "AFTEROK", "singleton", "expand", "later"])
        ids = ":".join(rng.choice(["<0>", "<1>", "<2>", "<2>_1", "<2>_*", "<2>_[1-2]", "99999999", "<0>+5", "<1>+0", ""] + ["<0>", "<1>"] * 6)
                       for _ in range(rng.choice([1, 1, 2])))
        items.append(kind if kind == "singleton" else f"{kind}:{ids}")
    text = rng.choice([",", ",", "?", ":"]).join(items)
    return spoil(rng, text, "0123456789:,?+_") if rng.random() < 0.2 else text


def make_gres(rng):
    items = []
    for _ in range(rng.choice([1, 1, 1, 2])):
        count = rng.choice(["", ":1", ":2", ":4", ":5", ":0", ":1K", ":1k", ":02", ":-1", ":x", "=2"])
        items.append(rng.choice(["gpu", "gpu", "gpu", "GPU", "gpus", "none", "", "gres/gpu", "disk"]) + rng.choice(["", "", ":h100", ":a100", ":H100"]) + count)
    return spoil(rng, ",".join(items), "0123456789:,xgpuh") if rng.random() < 0.3 else ",".join(items)


def make_gpus(rng):
    text = rng.choice(["", "h100:", "a100:", "gpu:", "h100=", "H100:"]) + rng.choice(["1", "2", "4", "5", "0", "x", "", "-1", "1K", "02", "1,h100:1"])
    return spoil(rng, text, "0123456789:,x") if rng.random() < 0.3 else text


def make_memory(rng):
    text = rng.choice(["0", "1", "10", "100", "999", "1000", "1024", "2048", "5000", "1.5", "-1", "007", "0x10", "99999999999999999999"])
    text += rng.choice(["", "", "K", "M", "G", "T", "k", "m", "g", "KB", "MB", "GB", "Mi", "B", "P", "x", "MiB", "m "])
    return spoil(rng, text, "0123456789KMG.x-") if rng.random() < 0.3 else text


def make_nodes(rng):
    text = rng.choice(["1", "1-1", "1-2", "2", "0", "0-1", "2-1", "1-", "-1", "1k", "1-1k", "1m", "x", "1,2", "1-3:2", "1-2-3", "", "+1", "01", "1.5"])
    return spoil(rng, text, "0123456789:,-kx") if rng.random() < 0.3 else text


def make_signal(rng):
    text = rng.choice(["", "B:", "R:", "RB:", "b:", "BR:", "X:"]) + rng.choice(["USR1", "SIGUSR1", "usr1", "10", "9", "KILL", "0", "64", "65", "FOO", "", "-1", "TERM", "URG", "CONT",
                                                                             "STOP", "HUP", "INT", "ALRM"])
    text += rng.choice(["", "@60", "@0", "@65535", "@65536", "@x", "@", "@-1", "@10"])
    return spoil(rng, text, "0123456789@:BR") if rng.random() < 0.2 else text


def make_count(rng):
    text = rng.choice(["1", "2", "8", "9", "0", "-1", "x", "1k", "", "1.5", "01", "+2", "2147483648", "99999999999", "1K", "1-2"])
    return spoil(rng, text, "0123456789x-") if rng.random() < 0.3 else text


def make_nice(rng):
    return spoil(rng, rng.choice(["0", "1", "100", "-1", "-100", "2147483645", "2147483646", "-2147483645", "-2147483646", "x", "1.5", "+5", "99999999999"]), "0123456789x-")


def make_exclusive(rng):
    return rng.choice(["user", "mcs", "USER", "x", "us", "exclusive", "no", "topo", "true"])


# Kind: the words of sbatch with the case as {}, its generator, and the keys that tell what came of it.
KINDS = {
    "time limits": (["-t", "{}"], make_limit, ["TimeLimit"]),
    "least times": (["-t", "10-0", "--time-min={}"], make_limit, ["TimeMin"]),
    "begin times": (["--begin={}"], make_begin, ["+StartTime"]),
    "deadlines": (["-t", "1", "--deadline={}"], make_begin, ["+Deadline"]),
    "arrays": (["--array={}"], make_array, ["ArrayTaskId", "ArrayTaskThrottle"]),
    "dependencies": (["-d", "{}"], make_dependency, ["Dependency"]),
    "gres": (["--gres={}"], make_gres, ["TresPerNode"]),
    "gpus": (["-N1", "--gpus={}"], make_gpus, ["TresPerJob"]),
    "gpus of tasks": (["-n2", "--gpus-per-task={}"], make_gpus, ["TresPerTask"]),
    "gpus of nodes": (["--gpus-per-node={}"], make_gpus, ["TresPerNode"]),
    "memory": (["--mem={}"], make_memory, ["MinMemoryNode"]),
    "memory of cpus": (["--mem-per-cpu={}"], make_memory, ["MinMemoryCPU"]),
    "memory of gpus": (["--gpus=1", "--mem-per-gpu={}"], make_memory, ["MemPerTres"]),
    "nodes": (["-N", "{}"], make_nodes, ["NumNodes"]),
    "signals": (["--signal={}"], make_signal, []),
    "tasks": (["-n", "{}"], make_count, ["NumTasks", "NumCPUs"]),
    "cpus": (["-c", "{}"], make_count, ["CPUs/Task", "NumCPUs"]),
    "nice": (["--nice={}"], make_nice, ["Nice"]),
    "exclusive": (["--exclusive={}"], make_exclusive, ["OverSubscribe"]),
}


# ---- jobs ----

def jobs_of(side):
    """The records of scontrol show job, by the first id; elements that wait are one record."""
    found = {}
    for line in side.call("scontrol", "-o", "show", "job").out.splitlines():
        keys = dict(re.findall(r"(?:^|\s)([A-Z][A-Za-z/:]*)=(\S*)", line))
        if "JobId" in keys:
            found[keys.get("ArrayJobId", keys["JobId"])] = keys
    return found


def seconds(stamp):
    try:
        return datetime.fromisoformat(stamp).timestamp()
    except ValueError:
        return None


def plain(side, key, record):
    """What came of a case, comparable: moments as they are, and by their distance from the submission."""
    value = record.get(key.lstrip("+"))
    if key == "Dependency" and value:
        for tag, job in side.ids.items():
            value = re.sub(rf"(?<![\d_<]){job}(?!\d)", f"<{tag}>", value)
    if key.startswith(("Tres", "MemPerTres")) and value:
        value = value.replace("gres:", "gres/")  # since 23.02
    if key.startswith("+") and seconds(value or "") is not None:
        return (value, seconds(value) - seconds(record["SubmitTime"]))
    return value


def agree(one, other):
    """A moment is the same, or as far from now."""
    if isinstance(one, tuple) and isinstance(other, tuple):
        return one[0] == other[0] or abs(one[1] - other[1]) <= 3
    return one == other


def submit(side, words, case):
    for tag, job in side.ids.items():
        case = case.replace(f"<{tag}>", job)
    r = side.call("sbatch", "-H", "--parsable", *[w.replace("{}", case) for w in words], "--wrap=true")
    return r.out.strip() if r.code == 0 else None, r.err


def run_kind(sides, name, d):
    words, make, keys = KINDS[name]
    rng = random.Random(f"{SEED} {name}")
    cases = sorted({make(rng) for _ in range(CASES)})
    cases = [c for c in cases if "\0" not in c]
    with ThreadPoolExecutor(3) as pool:
        results = [list(pool.map(lambda case, s=side: submit(s, words, case), cases)) for side in sides]
    records = [jobs_of(side) for side in sides]
    different = []
    for i, case in enumerate(cases):
        (ours, err), (real, other) = [r[i] for r in results]
        if (ours is None) != (real is None):
            different.append((case, f"ours {'refuses: ' + err.strip() if ours is None else 'accepts'}; real {'refuses: ' + other.strip() if real is None else 'accepts'}"))
            continue
        for key in keys if ours else ():
            values = [plain(side, key, record.get(job, {})) for side, record, job in zip(sides, records, (ours, real))]
            if not agree(*values):
                different.append((case, f"{key}: ours {values[0]!r}, real {values[1]!r}"))
    for side, known in zip(sides, results):
        jobs = [job for job, _ in known if job]
        for i in range(0, len(jobs), 500):
            side.call("scancel", *jobs[i:i + 500])
        wait(lambda s=side: len(s.call("squeue", "-h").out.splitlines()) <= len(s.ids), f"{side.name}: the jobs are gone", 200)
    taken = sum(1 for job, _ in results[1] if job)
    d.judge(name, len(cases), taken, different)


# ---- host lists ----

def real_hosts(side, what, cases):
    """Many in one process: scontrol reads commands from stdin. A case that ends the process counts as refused."""
    found = []
    while len(found) < len(cases):
        script = "".join(f"show {what} {c}\nshow hostnames end{i}.\n" for i, c in enumerate(cases) if i >= len(found))
        r = subprocess.run(["stdbuf", "-oL", "scontrol"], input=script + "quit\n", env=side.env, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        begun = len(found)
        block = []
        for line in r.stdout.replace("scontrol: ", "").splitlines():
            if line.startswith("show ") or "\x1b" in line:  # what scontrol echoes
                continue
            if line.startswith("end") and line.endswith("."):
                found.append(block)
                block = []
            elif line:
                block.append(line)
        if len(found) < len(cases) and len(found) == begun + max(0, len(found) - begun):
            found.append(["(died)"])
    return found[:len(cases)]


def run_hosts(sides, d):
    rng = random.Random(f"{SEED} hosts")
    cases = sorted({make_hosts(rng) for _ in range(CASES * 2)} - {""})
    cases = [c for c in cases if not c.startswith("-")]
    ours, real = sides
    with ThreadPoolExecutor(3) as pool:
        for what in ("hostnames", "hostlist", "hostlistsorted"):
            mine = list(pool.map(lambda c, w=what: ours.call("scontrol", "show", w, c), cases))
            theirs = real_hosts(real, what, cases)
            if what != "hostnames":  # the text may differ, the names may not
                mine = [names(ours, m) for m in mine]
                theirs = [t if is_refusal(t) else names(ours, Result(0, "\n".join(t), "")).out.split("\n") for t in theirs]
            different = [(c, f"ours {m.code} {(m.out + m.err).split()!r}, real {t!r}") for c, m, t in zip(cases, mine, theirs)
                         if (m.out.split() if m.code == 0 else None) != (None if is_refusal(t) else [n for n in t if n])]
            d.judge(what, len(cases), sum(1 for t in theirs if not is_refusal(t)), different)


def names(side, r):
    """The names of a list, one a line."""
    return side.call("scontrol", "show", "hostnames", r.out.strip()) if r.code == 0 else r


def is_refusal(lines):
    return not lines or any(word in line for line in lines for word in ("(died)", "nvalid", "error"))


# ---- results ----

class Judge:
    def __init__(self):
        self.bad = []
        self.used = set()

    def judge(self, kind, n, taken, different):
        left = []
        for case, what in different:
            reason = next((i for i, (k, pattern, _) in enumerate(EXCEPTIONS) if fnmatchcase(kind, k) and re.search(pattern, f"{case}\n{what}")), None)
            if reason is None:
                left.append(f"{kind}: {case!r}: {what}")
            else:
                self.used.add(reason)
        print(f"{kind}: {n} cases, {taken} taken: {n - len(different)} the same, {len(different) - len(left)} by exception, {len(left)} wrong", flush=True)
        self.bad += left


def main():
    m = Mete(f"emulated:{GPUS}xH100")
    conf = os.path.join(m.dir, "slurm.conf")
    m.arguments = ["--cpus", str(CPUS), "--slurm-conf", conf]
    with open(conf, "w") as f:
        f.write("ClusterName=mete\n" + SITE)
    kinds = os.environ.get("KINDS", "").split(",") if os.environ.get("KINDS") else ["hosts", *KINDS]
    with m:
        ours = Ours("ours", m.dir, {**m.env, "PATH": os.environ["PATH"]})
        with Real(shape_of(ours)) as real:
            sides = (ours, Theirs("real", real.dir, real.env))
            for side in sides:
                side.host = real.host
                for tag, words in (("0", []), ("1", []), ("2", ["-a", "1-3"])):
                    side.submit(tag, "-H", *words, "--wrap=true")
            d = Judge()
            for kind in kinds:
                if kind == "hosts":
                    run_hosts(sides, d)
                else:
                    run_kind(sides, kind, d)
    check(not d.bad, *d.bad)
