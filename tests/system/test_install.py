"""An installation is complete: every command has its manual page, completions load, the unit starts the program."""

import contextlib
import glob
import json
import os
import re
import shutil
import subprocess
import tempfile

from harness import BUILD, METE, check, equal


def said(*words, **options):
    return subprocess.run(words, check=True, capture_output=True, text=True, **options).stdout


def commands():
    listed = said(METE, "help").split("commands:\n")[1].split("\n\n")[0]
    return [line.split()[0] for line in listed.splitlines()]


@contextlib.contextmanager
def installed():
    """Installs the build below a root of its own; returns the root and the prefix."""
    options = {o["name"]: o["value"] for o in json.loads(said("meson", "introspect", "--buildoptions", BUILD))}
    with tempfile.TemporaryDirectory(prefix="mete-install-") as root:
        said("meson", "install", "-C", BUILD, "--no-rebuild", env={**os.environ, "DESTDIR": root})
        yield root, options["prefix"]


def test_every_command_has_a_manual_page():
    with installed() as (root, prefix):
        pages = os.path.join(root + prefix, "share/man/man1")
        equal(sorted(os.listdir(pages)), sorted(["mete.1"] + [f"mete-{name}.1" for name in commands()]))
        for name in os.listdir(pages):
            with open(os.path.join(pages, name), encoding="utf-8") as page:
                text = page.read()
            for part in ("NAME", "SYNOPSIS", "COMMANDS" if name == "mete.1" else "EXAMPLES"):
                check(f".SH {part}" in text, name, part)


def test_the_unit_starts_the_installed_program():
    with installed() as (root, prefix):
        with open(os.path.join(root + prefix, "lib/systemd/system/mete.service"), encoding="utf-8") as unit:
            program = re.search(r"^ExecStart=(\S+) up", unit.read(), re.M)[1]
        equal(said(root + program, "--version").split()[0], "mete")
        for name in ("libnvidia-ml.so.1", "libcuda.so.1", "nvidia-smi", "gpusim"):
            equal(len(glob.glob(f"{root}{prefix}/lib*/**/mete/gpusim/{name}", recursive=True)), 1, name)


def bash_offers(script, *words):
    """The completions of bash for Tab after the last of `words`, which are as bash splits a line."""
    return said("bash", "--norc", "-c", '. "$1"; shift; COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)); _mete; '
                'printf "%s\\n" "${COMPREPLY[@]}"', "bash", script, *words,
                env={**os.environ, "PATH": os.path.dirname(METE) + ":" + os.environ["PATH"]}).split()


def test_completions_load_and_offer():
    with installed() as (root, prefix):
        share = os.path.join(root + prefix, "share")
        bash = os.path.join(share, "bash-completion/completions/mete")
        equal(bash_offers(bash, "mete", "dr"), ["drain"])
        equal(bash_offers(bash, "mete", "run", "--gp"), ["--gpus"])
        equal(bash_offers(bash, "mete", "ps", "--output", "=", "js"), ["json", "jsonl"])
        equal(bash_offers(bash, "mete", "image", "import", "--node", "=", ""), [])
        for shell, files in (("bash", [bash]), ("zsh", glob.glob(f"{share}/zsh/*/_mete")),
                             ("fish", [f"{share}/fish/vendor_completions.d/mete.fish"])):
            equal(len(files), 1, shell)
            if shutil.which(shell):
                said(shell, "-n", files[0])
