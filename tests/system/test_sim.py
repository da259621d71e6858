"""`mete sim`: small traces written here; with METE_TRACES also public traces, against their published figures."""

import csv
import gzip
import io
import json
import os
import subprocess
import tempfile

from harness import METE, Mete, Skip, check, equal

TINY = """submit_s,duration_s,gpus,user
0,100,4,ann
1,50,8,bob
2,10,2,ann
3,20,1,bob
"""

# protocols.md, part B: trace, virtual cluster, nodes, then mean JCT, mean wait and p99 wait of FIFO and SJF.
LINES = [
    ("itp/cluster06", None, 13, (258398.5, 233964.7, 762043), (48845.7, 24411.9, 261916)),
    ("itp/cluster03", None, 20, (292065.5, 269917.4, 852832), (69053.1, 46905.0, 793363)),
    ("itp/cluster02", None, 13, (474232.1, 451262.5, 1021060), (41491.6, 18522.0, 163314)),
    ("itp/cluster10", None, 2, (73376.9, 40651.2, 168062), (57702.7, 24977.0, 246983)),
    ("philly/jobs", "6c71a0", 6, (1535361.0, 1519325.5, 2385658), (54624.5, 38589.0, 466898)),
    ("philly/jobs", "b436b2", 9, (1409919.6, 1400154.1, 2184349), (80870.6, 71105.0, 280305)),
    ("philly/jobs", "ee9e8c", 19, (333709.1, 241368.9, 799206), (139343.5, 47003.3, 1133944)),
    ("philly/jobs", "103959", 3, (368783.9, 343040.5, 764238), (68059.4, 42316.1, 931062)),
]
SRTF = {"itp/cluster06": (36503.7, 12057.5), "itp/cluster03": (47035.3, 24872.2)}
UTILIZATION = {"itp/cluster06": 0.796, "itp/cluster03": 0.728, "itp/cluster02": 0.691, "itp/cluster10": 0.305,
               "6c71a0": 0.688, "b436b2": 0.774, "ee9e8c": 0.764, "103959": 0.813}


def sim(*words):
    return subprocess.run([METE, "sim", *words], capture_output=True, text=True, timeout=300, check=False)


def traces():
    where = os.environ.get("METE_TRACES")
    if not where:
        raise Skip("METE_TRACES names no folder of traces")
    return where


def write(path, text):
    data = text.encode()
    with open(path, "wb") as out:
        out.write(gzip.compress(data) if path.endswith(".gz") else data)
    return path


def test_sim_jobs_tiny():
    with tempfile.TemporaryDirectory() as d:
        for name in ("jobs.csv", "jobs.csv.gz"):
            path = write(f"{d}/{name}", TINY)
            r = sim("jobs", "--trace", path, "--nodes", "2", "--gpus-per-node", "4", "-o", "json")
            equal(r.returncode, 0, r)
            rows = {row["policy"]: row for row in json.loads(r.stdout)}
            equal(list(rows), ["fifo", "sjf", "srtf", "mete"], r)
            # Ends at 100, 150, 160, 170 and at 100, 150, 12, 23.
            equal(rows["fifo"]["mean_jct_s"], (100 + 149 + 158 + 167) / 4, r)
            equal(rows["sjf"]["mean_jct_s"], (100 + 149 + 10 + 20) / 4, r)
            equal(rows["fifo"]["preemptions"], 0, r)
            for row in rows.values():
                equal(row["jobs"], 4, r)
                check(0 < row["utilization"] <= 1 and row["wall_s"] < 5, row)
        r = sim("jobs", "--trace", path, "--nodes", "2", "--gpus-per-node", "4", "-o", "csv", "--policies", "sjf")
        rows = list(csv.DictReader(io.StringIO(r.stdout)))
        equal((rows[0]["policy"], float(rows[0]["mean_jct_s"])), ("sjf", 69.75), r)


def test_sim_says_what_is_wrong():
    with tempfile.TemporaryDirectory() as d:
        path = write(f"{d}/jobs.csv", TINY)
        bad = write(f"{d}/bad.csv", "submit_s,duration_s,gpus\n1,2\n")
        broken = f"{d}/broken.csv.gz"
        with open(broken, "wb") as out:
            out.write(gzip.compress(TINY.encode())[:40])
        for words, code, text in (
            (["jobs", "--nodes", "2"], 2, "needs --trace FILE"),
            (["jobs", "--trace", path], 2, "needs --nodes N"),
            (["jobs", "--trace", path, "--nodes", "1"], 1, "wants 8 gpus: the pool has 4"),
            (["jobs", "--trace", path, "--nodes", "9", "--policies", "lifo"], 2, "want fifo, sjf, srtf, mete, engine, easy or conservative"),
            (["jobs", "--trace", path, "--nodes", "9", "--estimates", "sigma=9"], 2, "--estimates: sigma"),
            (["jobs", "--trace", path, "--nodes", "9", "--estimates", "sigma=5.5"], 2, "sigma: '5.5': want a number from 0 to 5"),
            (["jobs", "--trace", bad, "--nodes", "9"], 1, "bad.csv:2: 2 fields: want 3"),
            (["jobs", "--trace", broken, "--nodes", "9"], 1, "broken.csv.gz"),
            (["jobs", "--trace", f"{d}/none", "--nodes", "9"], 3, "no such file"),
            (["openb", "--nodes", path], 1, "no column 'cpu_milli'"),
            (["record"], 2, "needs the FILE"),
            (["replay", path], 1, "jobs.csv:1: 'submit_s,duration_s,gpus,user' is no call of the engine"),
            (["chess"], 2, "sim has no \"chess\""),
        ):
            r = sim(*words, "--gpus-per-node", "4")
            equal(r.returncode, code, r)
            check(text in r.stderr, r)


def test_sim_openb_tiny():
    with tempfile.TemporaryDirectory() as d:
        words = ["openb", "--nodes", write(f"{d}/nodes.csv", "sn,cpu_milli,memory_mib,gpu,model\n"
                                           "a,4000,1024,1,T4\nb,4000,1024,1,T4\n"),
                 "--pods", write(f"{d}/pods.csv.gz", "cpu_milli,memory_mib,num_gpu,gpu_milli\n1000,1,1,500\n"),
                 "--arrivals", write(f"{d}/arrivals.txt", "1 0 0 0 0 0\n2 0\n"),
                 "--noderank", write(f"{d}/ranks.txt", "1 1 0\n2 0 1\n"), "--policies", "fgd,bestfit"]
        r = sim(*words, "--seeds", "1-2", "-o", "csv")
        equal(r.returncode, 0, r)
        rows = list(csv.DictReader(io.StringIO(r.stdout)))
        equal([(x["metric"], x["policy"], x["seed"]) for x in rows[:4]],
              [("alloc_pct", p, s) for p in ("fgd", "bestfit") for s in "12"], r)
        equal([float(rows[0][k]) for k in ("25", "50", "75", "100", "125")], [25, 50, 75, 100, 100], r)
        equal(rows[0]["26"], "", r)
        r = sim(*words, "--seeds", "3")
        equal(r.returncode, 1, r)
        check("seed 3: no order of arrival" in r.stderr, r)


CLUSTER = """apiVersion: mete.dev/v1
kind: Cluster
nodes:
- {name: big, count: 2, gpus: 8, model: h100, cpu: 64, memory: 512Gi}
- {name: small, gpus: 4, model: a100}
---
apiVersion: mete.dev/v1
kind: Queue
metadata: {name: prod}
spec: {parent: all, quotas: [{resource: gpu, nominal: "16"}], preemption: {reclaim: Any}}
---
apiVersion: mete.dev/v1
kind: Queue
metadata: {name: research}
spec: {parent: all, quotas: [{resource: gpu, nominal: "4"}]}
---
apiVersion: mete.dev/v1
kind: Queue
metadata: {name: all}
spec: {quotas: [{resource: gpu, nominal: "20"}]}
"""
ASKING = """submit_s,duration_s,gpus,user,queue,model,gpu_milli,pods,limit_s,priority
0,1000,8,ann,research,,,,,
0,1000,8,bob,research,,,,,
20,300,16,eve,prod,h100,,2,,
30,90,4,dan,prod,a100,,,50,5
40,100,1,ann,research,a100,500,,,
40,100,1,ann,research,a100,500,,,
"""


def test_sim_jobs_on_a_cluster():
    with tempfile.TemporaryDirectory() as d:
        jobs, cluster = write(f"{d}/jobs.csv", ASKING), write(f"{d}/cluster.yaml", CLUSTER)
        words = ["jobs", "--trace", jobs, "--cluster", cluster]
        r = sim(*words, "--policies", "engine,engine:fgd,fifo", "--price", "2", "-o", "json")
        equal(r.returncode, 0, r)
        rows = json.loads(r.stdout)
        equal([row["policy"] for row in rows], ["engine", "engine:fgd", "fifo"], r)
        for row in rows[:2]:
            users = {u["user"]: u for u in row["by_user"]}
            # prod's gang takes its nominal quota back at once; the limit ends dan's job after 50 s.
            equal((row["preemptions"], users["eve"]["mean_wait_s"], users["dan"]["mean_jct_s"]), (2, 0, 50), row)
            equal(users["eve"]["share"], 1.0, row)
            check(0 < row["jain"] < 1 and row["idle_cost"] > 0, row)
            # 20 s of the preempted work are kept, but each preemption cost 30 s of 8 gpus.
            hours = (8 * 1000 * 2 + 16 * 300 + 4 * 50 + 2 * 0.5 * 100 + 2 * 8 * 30) / 3600
            check(abs(row["cost"] - 2 * hours) < 1e-6, row)
            equal([(s["size"], s["jobs"]) for s in row["by_size"]], [("<1", 2), ("2-4", 1), ("5-8", 2), ("9-16", 1)], row)
        fifo = {u["user"]: u for u in rows[2]["by_user"]}
        equal((fifo["eve"]["mean_wait_s"], rows[2]["preemptions"]), (980, 0), r)
        r = sim(*words, "--policies", "fifo", "--by", "user", "-o", "csv")
        lines = list(csv.DictReader(io.StringIO(r.stdout)))
        equal([line["group"] for line in lines], ["ann", "bob", "eve", "dan"], r)
        r = sim(*words, "--policies", "engine", "--what-if", "add 2 x 8xH100", "--report", f"{d}/x.html", "-o", "json")
        equal([(row["nodes"], row["preemptions"]) for row in json.loads(r.stdout)], [(3, 2), (5, 0)], r)
        with open(f"{d}/x.html", encoding="utf-8") as page:
            check(page.read().count("<svg") == 4, "two curves, and the users' shares of two runs")
        prices = write(f"{d}/prices.yaml", "currency: EUR\ngpuHour: {h100: 9, default: 1}\n")
        row = json.loads(sim(*words, "--policies", "engine", "--prices", prices, "-o", "json").stdout)[0]
        check(row["currency"] == "EUR" and abs(row["cost"] - (hours + 8 * 16 * 300 / 3600)) < 1e-6, row)


def test_sim_cluster_says_what_is_wrong():
    with tempfile.TemporaryDirectory() as d:
        jobs, cluster = write(f"{d}/jobs.csv", ASKING), write(f"{d}/cluster.yaml", CLUSTER)
        for text, code, message in (
            ("kind: Cluster\nnodes: [{name: a, colour: red}]", 1, "nodes[0]: 'colour' is not known"),
            ("kind: Cluster\nnodes: [{name: a, gpus: 65}]", 1, "gpus: want a number from 0 to 64"),
            ("kind: Cluster\nnodes: [{name: a, cpu: lots}]", 1, "cpu: "),
            ("kind: Pod", 1, "kind 'Pod': want Cluster or Queue"),
            (CLUSTER.replace("parent: all", "parent: none", 1), 1, "queue prod: its parent is not there"),
            (CLUSTER.replace("count: 2", "count: 1"), 1, "never starts: NeverFits"),
            (CLUSTER.replace("name: prod", "name: dev"), 1, "never starts: NoSuchQueue"),
        ):
            r = sim("jobs", "--trace", jobs, "--cluster", write(f"{d}/wrong.yaml", text), "--policies", "engine")
            equal(r.returncode, code, r)
            check(message in r.stderr, message, r)
        for words, message in (
            (["--nodes", "3"], "does not support 'gpu_milli'"),
            (["--cluster", cluster, "--nodes", "3"], "omit them with a cluster"),
            (["--cluster", cluster, "--policies", "srtf"], "want engine, priority, fifo or sjf"),
            (["--cluster", cluster, "--policies", "fifo:chess"], "there is no placement 'chess'"),
            (["--cluster", cluster, "--price", "x"], "--price: "),
            (["--cluster", cluster, "--what-if", "remove 3"], "there are 3 nodes"),
            (["--from", "dead"], "want live"),
        ):
            r = sim("jobs", "--trace", jobs, *words)
            check(r.returncode in (1, 2) and message in r.stderr, message, r)


def test_sim_published_tiny():
    with tempfile.TemporaryDirectory() as d:
        nodes = write(f"{d}/openb_node_list_gpu_node.csv", "sn,cpu_milli,memory_mib,gpu,model\n"
                      "a,4000,1024,1,T4\nb,4000,1024,1,T4\n")
        pods = write(f"{d}/openb_pod_list_half.csv.gz", "cpu_milli,memory_mib,num_gpu,gpu_milli\n1000,1,1,500\n")
        arrivals = write(f"{d}/arrivals_half.txt", "1 0 0 0 0 0 0\n")
        ranks = write(f"{d}/noderank_half.txt.gz", "1 1 0\n")
        r = sim("openb", "--nodes", nodes, "--pods", pods, "--arrivals", arrivals, "--noderank", ranks, "--policies", "fgd",
                "--seeds", "1", "-o", "csv")
        equal(r.returncode, 0, r)
        published = [line.split(",") for line in r.stdout.splitlines()]
        for line in published[1:]:  # the columns between the arrivals have no value here; published files have all
            for k, cell in enumerate(line):
                line[k] = cell or "0.0000"
        write(f"{d}/published_half.csv", "\n".join(",".join(line) for line in published) + "\n")
        words = ["openb", "--published", d, "--seeds", "1", "-o", "json"]
        r = sim(*words, "--policies", "fgd,bestfit")
        equal(r.returncode, 1, r)  # two pods of a half are no curve of 131 points
        rows = json.loads(r.stdout)
        equal([(x["variant"], x["policy"]) for x in rows], [("half", "fgd"), ("half", "bestfit")], r)
        check("largest" in rows[0] and "gain_100" not in rows[0] and not rows[0]["ok"], rows)
        equal((rows[1]["gain_100"], rows[1]["worst_130"], rows[1]["ok"]), (0.0, 0.0, True), rows)
        os.remove(ranks)
        r = sim(*words)
        equal(r.returncode, 3, r)
        check("no noderank_half.txt, nor noderank_half.txt.gz" in r.stderr, r)
        r = sim("openb", "--published", "/nowhere")
        equal(r.returncode, 3, r)


def test_sim_what_if_and_report():
    with tempfile.TemporaryDirectory() as d:
        path, page = write(f"{d}/jobs.csv", TINY), f"{d}/page.html"
        words = ["jobs", "--trace", path, "--nodes", "2", "--gpus-per-node", "4", "--policies", "fifo", "-o", "json"]
        r = sim(*words, "--what-if", "add 1 x 4xH100", "--report", page)
        equal(r.returncode, 0, r)
        rows = json.loads(r.stdout)
        equal([(row["policy"], row["nodes"]) for row in rows], [("fifo", 2), ("fifo", 3)], r)
        # With three nodes all but the last start at once: the wide job takes the two idle nodes.
        equal(rows[1]["mean_jct_s"], (100 + 50 + 59 + 68) / 4, r)
        with open(page, encoding="utf-8") as text:
            html = text.read()
        check(html.count("<svg") == 4 and "fifo, 3 nodes" in html and "http" not in html, html[:2000])
        for change, text in (("add 1 x 8xH100", "all nodes must be equal"), ("paint it", "no change"), ("remove 2", "0 nodes")):
            r = sim(*words, "--what-if", change)
            equal(r.returncode, 2, r)
            check(text in r.stderr, r)


def test_sim_churn_tiny():
    with tempfile.TemporaryDirectory() as d:
        nodes = write(f"{d}/nodes.csv", "cpu_milli,memory_mib,gpu,model\n" + "64000,262144,8,T4\n" * 4)
        pods = write(f"{d}/pods.csv", "cpu_milli,memory_mib,num_gpu,gpu_milli,scheduled_time,deletion_time\n"
                     "1000,1,1,500,0,100\n1000,1,1,1000,0,300\n1000,1,4,1000,5,50\n")
        words = ["churn", "--nodes", nodes, "--pods", pods, "--policies", "bestfit,fgd", "--seeds", "1-3", "-o", "json",
                 "--arrivals", "3000"]
        light, heavy = (json.loads(sim(*words, "--load", load).stdout) for load in ("20", "150"))
        for row in light:
            check(15 < row["allocated_pct"] < 25 and row["rejected_pct"] < 1, light)
        for row in heavy:
            check(75 < row["allocated_pct"] <= 100 and row["rejected_pct"] > 5, heavy)
        again = json.loads(sim(*words, "--load", "150", "--threads", "1").stdout)
        for row, same in zip(heavy, again):
            equal({**row, "wall_s": 0}, {**same, "wall_s": 0})
        bare = write(f"{d}/bare.csv", "cpu_milli,memory_mib,num_gpu,gpu_milli\n1000,1,1,500\n")
        r = sim("churn", "--nodes", nodes, "--pods", bare, "--policies", "fgd")
        equal(r.returncode, 1, r)
        check("scheduled_time and deletion_time" in r.stderr, r)


def test_sim_record_and_replay():
    with Mete() as m, tempfile.TemporaryDirectory() as d:
        path = f"{d}/recording.txt"
        for gpus in ("5", "5", "3"):
            equal(m.mete("run", "-d", "--gpus", gpus, "--image", "host", "--", "sleep", "0.3").code, 0)
        equal(m.mete("run", "--gpus", "8", "--image", "host", "--", "true").code, 0)
        r = m.mete("sim", "record", path, "-o", "json")
        equal(r.code, 0, r)
        row = json.loads(r.out)[0]
        check(row["differing"] == 0 and row["decisions"] == 4, row)
        check("decides the same, to the byte" in r.err, r)
        head, *lines = TINY.splitlines()
        limited = [f"{head},limit_s", *(f"{line},{line.split(',')[1]}" for line in lines)]
        jobs = write(f"{d}/jobs.csv", "\n".join(limited) + "\n")
        r = m.mete("sim", "jobs", "--trace", jobs, "--from", "live", "--policies", "fifo,engine", "-o", "json")
        equal(r.code, 0, r)
        live = json.loads(r.out)
        # 8 gpus, as the pool of test_sim_jobs_tiny: the jobs with 4, 8, 2 and 1.
        equal([(x["nodes"], x["mean_jct_s"]) for x in live[:1]], [(1, (100 + 149 + 158 + 167) / 4)], r)
        # The engine starts jobs whose limits end before the start of the job that waits for all gpus.
        equal(live[1]["mean_jct_s"], (100 + 149 + 10 + 20) / 4, r)
        r = sim("replay", path)
        equal(r.returncode, 0, r)
        with open(path, encoding="utf-8") as recorded:
            text = recorded.read()
        at = text.index("decided ")
        write(path, text[:at] + text[at:].replace('gpus=["GPU', 'gpus=["XPU', 1))
        r = sim("replay", path)
        equal(r.returncode, 1, r)
        check("differs in 1 of" in r.stderr and "XPU" in r.stderr, r)


def test_sim_jobs_as_published():
    where = traces()
    for name, vc, nodes, fifo, sjf in LINES:
        r = sim("jobs", "--trace", f"{where}/{name}.csv.gz", "--nodes", str(nodes), "--policies", "fifo,sjf,srtf",
                "-o", "json", *(["--vc", vc] if vc else []))
        equal(r.returncode, 0, r)
        rows = {row["policy"]: row for row in json.loads(r.stdout)}
        for policy, want in (("fifo", fifo), ("sjf", sjf)):
            got = rows[policy]
            equal((round(got["mean_jct_s"], 1), round(got["mean_wait_s"], 1), got["p99_wait_s"]), want, (name, vc))
        equal(round(rows["fifo"]["utilization"], 3), UTILIZATION[vc or name], (name, vc))
        if name in SRTF:
            equal((round(rows["srtf"]["mean_jct_s"], 1), round(rows["srtf"]["mean_wait_s"], 1)), SRTF[name], name)


def test_sim_mete_beats_sjf_with_guesses():
    where = traces()
    for name, vc, nodes, _, sjf in LINES:
        r = sim("jobs", "--trace", f"{where}/{name}.csv.gz", "--nodes", str(nodes), "--policies", "mete",
                "--estimates", "sigma=1,seed=7", "-o", "json", *(["--vc", vc] if vc else []))
        equal(r.returncode, 0, r)
        row = json.loads(r.stdout)[0]
        check(row["mean_jct_s"] <= 1.15 * sjf[0], (name, vc, row))
        check(row["p99_wait_s"] <= sjf[2], (name, vc, row))


def test_sim_openb_as_published():
    where = traces() + "/openb"
    for variant in ("default", "gpushare40", "gpuspec20", "multigpu20"):
        r = sim("openb", "--nodes", f"{where}/openb_node_list_gpu_node.csv.gz", "--pods",
                f"{where}/openb_pod_list_{variant}.csv.gz", "--arrivals", f"{where}/arrivals_{variant}.txt.gz",
                "--noderank", f"{where}/noderank_{variant}.txt.gz", "--check", f"{where}/published_{variant}.csv.gz",
                "-o", "json")
        equal(r.returncode, 0, r)
        rows = json.loads(r.stdout)
        equal(len(rows), 3 * 5 * 10 + 1, rows)
        check(all(row["ok"] for row in rows), rows)
