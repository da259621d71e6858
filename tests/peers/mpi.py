"""Programs of Debian's MPICH as tasks of steps, on one Mete and over two in network namespaces.

build/peers/mpi has the libraries and headers, unpacked from Debian's packages: nothing is installed. gcc compiles the
program."""

import glob
import os
import subprocess

from harness import ROOT, Mete, check, wait
from test_nodes import Node, is_ready, port_of, token
from test_slurm_commands import Slurm
from test_slurm_nodes import network_of_its_own

PLACE = os.path.join(ROOT, "build", "peers", "mpi")
PACKAGES = ("libmpich12", "libmpich-dev", "libhwloc15", "libucx0", "libgfortran5", "libquadmath0", "libibverbs1", "librdmacm1",
            "libnl-3-200", "libnl-route-3-200", "libnuma1")
LIBRARIES = os.path.join(PLACE, "usr", "lib", "x86_64-linux-gnu")

PROGRAM = r"""
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    int rank, size, sum, length;
    char name[MPI_MAX_PROCESSOR_NAME];
    MPI_Comm near;
    int near_size;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Get_processor_name(name, &length);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &near);
    MPI_Comm_size(near, &near_size);
    dprintf(1, "%d of %d: %d, %d near\n", rank, size, sum, near_size);
    if (argc > 1 && rank == 1)
        MPI_Abort(MPI_COMM_WORLD, 3);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
"""


def unpack():
    """Unpacks Debian's packages where they are missing."""
    if not os.path.exists(os.path.join(LIBRARIES, "libmpich.so.12")):
        os.makedirs(PLACE, exist_ok=True)
        subprocess.run(["apt-get", "download", *PACKAGES], cwd=PLACE, check=True, capture_output=True)
        for package in glob.glob(os.path.join(PLACE, "*.deb")):
            subprocess.run(["dpkg", "-x", package, PLACE], check=True)


def compile_program(s):
    path = s.write("hello.c", PROGRAM)
    program = os.path.join(s.dir, "hello")
    subprocess.run(["gcc", "-o", program, os.path.join(s.dir, path), "-I", os.path.join(PLACE, "usr/include/x86_64-linux-gnu/mpich"),
                    "-L", LIBRARIES, f"-Wl,-rpath-link,{LIBRARIES}", f"-Wl,-rpath,{LIBRARIES}", "-Wl,--disable-new-dtags", "-lmpich"], check=True)
    return program


def says(near, n=8):
    return sorted(f"{rank} of {n}: {sum(range(n))}, {near} near" for rank in range(n))


def on_one_node(s, program):
    r = s.call("srun", "-n", "8", "-O", "--mpi=pmi2", program)
    check(r.code == 0 and sorted(r.out.splitlines()) == says(8), r)
    r = s.call("srun", "-n", "8", "-O", "--mpi=pmi2", program, "abort")
    check(r.code != 0 and "task 1 ends the step" in r.err, r)


def on_two_nodes():
    with network_of_its_own("second") as (space, cable, here, there), Mete("none", ["--listen", f"{here}:0", "--cpus", "8"]) as m:
        s = Slurm(m)
        program = compile_program(s)
        on_one_node(s, program)
        first = m.object("nodes")["items"][0]["metadata"]["name"]
        last = "zz-" + first
        with Node(m, port_of(m), last, "none", host=here, space=space, arguments=["--cpus", "8"]) as node:
            node.start(token(m))
            wait(lambda: is_ready(m, last), "the node is ready")
            r = s.call("srun", "-N2", "--ntasks-per-node=4", "-O", "--mpi=pmi2", program)
            check(r.code == 0 and sorted(r.out.splitlines()) == says(4), r)
            r = s.call("srun", "-N2", "-n4", "-O", "-m", "cyclic", "--mpi=pmi2", program)
            check(r.code == 0 and sorted(r.out.splitlines()) == says(2, 4), r)


def main():
    unpack()
    on_two_nodes()
