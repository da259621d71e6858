"""The programs of Helm, built from their Go modules in tests/kube/helm and tests/kube/helm4: some minutes of two cores, once."""

import os
import subprocess
import sys

from harness import ROOT

HELM = os.environ.get("HELM", os.path.join(ROOT, "build", "go", "helm"))
HELM4 = os.environ.get("HELM4", os.path.join(ROOT, "build", "go", "helm4"))
MODULES = {HELM: ("helm", "helm.sh/helm/v3/cmd/helm"), HELM4: ("helm4", "helm.sh/helm/v4/cmd/helm")}


def build(program):
    if os.path.exists(program):
        return
    folder, package = MODULES[program]
    print(f"building {folder}", file=sys.stderr)
    os.makedirs(os.path.dirname(program), exist_ok=True)
    subprocess.run(["go", "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w", "-o", program, package], check=True,
                   cwd=os.path.join(ROOT, "tests", "kube", folder), env={**os.environ, "CGO_ENABLED": "0"}, stdout=sys.stderr)
