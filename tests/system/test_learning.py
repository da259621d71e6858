"""The server learns placement values from requests, reports the learning, and keeps it over a restart."""

import json
import os
import tempfile

from harness import Mete, check, equal, pod, wait

CONFIG = "apiVersion: mete.dev/v1\nkind: Config\nlearnEvery: 200ms\nlearnAfter: \"{}\"\n"


def configured(directory, after):
    path = f"{directory}/mete.yaml"
    with open(path, "w", encoding="utf-8") as out:
        out.write(CONFIG.format(after))
    return ("--config", path)


def fill(m):
    """Fills all gpus, and submits a job that waits."""
    m.ok("apply", "-f", "-", stdin=pod("holder", "sleep 1000", gpus=8))
    m.wait_phase("holder", ["Running"])
    m.ok("apply", "-f", "-", stdin=pod("waiter", "true", gpus=2))


def reason(m):
    r = m.mete("why", "waiter", "-o", "json")
    return json.loads(r.out)["status"]["reason"] if r.code == 0 else {}


def test_learned_used_and_kept():
    with tempfile.TemporaryDirectory() as d, Mete(arguments=configured(d, 2)) as m:
        fill(m)
        wait(lambda: reason(m).get("values"), "a table of values")
        told = reason(m)
        equal(told["valuesFrom"], 2, told)
        text = m.mete("why", "waiter").out
        check(f"table {told['values']} (from 2 arrivals, {told['valuesAt']})" in text, text)
        # A recording has the learned values.
        r = m.mete("sim", "record", f"{d}/recording")
        equal(r.code, 0, r)
        with open(f"{d}/recording", encoding="utf-8") as recording:
            check(f'values_set values={{id="{told["values"]}"' in recording.read(), "no table")
        m.stop()
        m.start()
        wait(lambda: reason(m).get("code"), "the server's answer")
        equal({key: reason(m).get(key) for key in ("values", "valuesFrom", "valuesAt")},
              {key: told[key] for key in ("values", "valuesFrom", "valuesAt")})
        # Earlier arrivals are not counted again.
        with open(os.path.join(m.data, "server", "learned", "arrivals.json"), encoding="utf-8") as state:
            equal(json.load(state)["total"], 2)


def test_not_learned_without_enough():
    with tempfile.TemporaryDirectory() as d, Mete(arguments=configured(d, 1000)) as m:
        fill(m)
        wait(lambda: reason(m).get("code"), "the reason")
        equal(reason(m)["values"], None)
        check("was learned" not in m.mete("why", "waiter").out, m.mete("why", "waiter").out)


def test_what_is_broken_is_left_alone():
    with tempfile.TemporaryDirectory() as d, Mete(arguments=configured(d, 2)) as m:
        fill(m)
        wait(lambda: reason(m).get("values"), "a table of values")
        m.stop()
        values = os.path.join(m.data, "server", "learned", "values")
        with open(values, "r+", encoding="utf-8") as out:
            out.truncate(100)
        m.start()
        wait(lambda: reason(m).get("code"), "the reason")
        equal(reason(m)["values"], None)
        check("learned placement values are not used" in m.log_text(), m.log_text())


def test_configuration_is_checked():
    with tempfile.TemporaryDirectory() as d:
        for line, message in (("learnEvery: often", "learnEvery: "), ("learnAfter: \"0\"", "learnAfter: ")):
            with open(f"{d}/mete.yaml", "w", encoding="utf-8") as out:
                out.write(f"apiVersion: mete.dev/v1\nkind: Config\n{line}\n")
            try:
                with Mete(arguments=("--config", f"{d}/mete.yaml")):
                    raise RuntimeError("it started")
            except Exception as e:  # the harness tells what mete up said
                check(message in str(e), e)
