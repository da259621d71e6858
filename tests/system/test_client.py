"""What people meet at the command line: which server a command talks to, its words, and what it loads."""

import os

from harness import METE, Mete, check, equal, execute


def test_client_words():
    with Mete() as m:
        a_kubeconfig_names_the_server(m)


def a_kubeconfig_names_the_server(m):
    kubeconfig = os.path.join(m.data, "kubeconfig")
    nowhere = os.path.join(m.dir, "nowhere")
    bare = {k: v for k, v in m.env.items() if k not in ("METE_DATA", "KUBECONFIG")}
    node = m.mete("nodes", "-o", "name").out
    check(node.startswith("node/"), node)

    def ask(*words, **variables):
        return execute([METE, "nodes", "-o", "name", *words], env={**bare, **variables})

    equal(ask(KUBECONFIG=kubeconfig).out, node)
    equal(ask(KUBECONFIG=f"{nowhere}:{kubeconfig}").out, node, "absent files are passed over")
    equal(ask("--kubeconfig", kubeconfig, "--context", "mete", KUBECONFIG=nowhere).out, node)
    equal(ask(KUBECONFIG=nowhere, METE_DATA=m.data).out, node, "METE_DATA goes before it")
    equal(ask("--data", m.data, KUBECONFIG=nowhere).out, node, "a flag goes before it")
    r = ask(KUBECONFIG=nowhere)
    check(r.code == 3 and nowhere in r.err and "  try: mend $KUBECONFIG" in r.err, r)
    r = ask("--context", "other", KUBECONFIG=kubeconfig)
    check(r.code == 1 and f'$KUBECONFIG: {kubeconfig}: no context "other"' in r.err, r)
    r = ask("--context", "other")
    check(r.code == 2 and "--kubeconfig FILE or $KUBECONFIG" in r.err, r)
