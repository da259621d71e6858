"""Programs of Debian's MPICH (PMI) and of its Open MPI (PMIx) as tasks of steps, and the latter under mpirun in an allocation, on one
Mete and over two in network namespaces.

build/peers/mpi and build/peers/openmpi have the libraries, headers and programs, unpacked from Debian's packages: nothing is
installed. gcc compiles the program against each."""

import glob
import os
import subprocess

from harness import ROOT, Mete, check, equal, wait
from test_nodes import Node, is_ready, port_of, token
from test_slurm_commands import Slurm
from test_slurm_nodes import network_of_its_own

MPICH = os.path.join(ROOT, "build", "peers", "mpi")
OPEN_MPI = os.path.join(ROOT, "build", "peers", "openmpi")
COMMON = ("libhwloc15", "libucx0", "libgfortran5", "libquadmath0", "libibverbs1", "librdmacm1", "libnl-3-200", "libnl-route-3-200", "libnuma1")
PACKAGES = {MPICH: ("libmpich12", "libmpich-dev", *COMMON),
            OPEN_MPI: ("openmpi-bin", "openmpi-common", "libopenmpi3", "libopenmpi-dev", "libpmix2", "libmunge2", "libevent-core-2.1-7",
                       "libevent-pthreads-2.1-7", "libhwloc-plugins", "libfabric1", "libpsm-infinipath1", "libpsm2-2", *COMMON)}


def libraries(place):
    return os.path.join(place, "usr", "lib", "x86_64-linux-gnu")


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


def unpack(place):
    """Unpacks Debian's packages where they are missing."""
    if not os.path.exists(libraries(place)):
        os.makedirs(place, exist_ok=True)
        subprocess.run(["apt-get", "download", *PACKAGES[place]], cwd=place, check=True, capture_output=True)
        for package in glob.glob(os.path.join(place, "*.deb")):
            subprocess.run(["dpkg", "-x", package, place], check=True)


def compile_program(s, name, *words):
    program = os.path.join(s.dir, name)
    subprocess.run(["gcc", "-o", program, os.path.join(s.dir, s.write("hello.c", PROGRAM)), *words], check=True)
    return program


def with_mpich(s):
    where = libraries(MPICH)
    return compile_program(s, "mpich", "-I", f"{MPICH}/usr/include/x86_64-linux-gnu/mpich", "-L", where, f"-Wl,-rpath-link,{where}",
                           f"-Wl,-rpath,{where}", "-Wl,--disable-new-dtags", "-lmpich")


def with_open_mpi(s):
    where = libraries(OPEN_MPI)
    return compile_program(s, "openmpi", "-I", f"{where}/openmpi/include", "-L", f"{where}/openmpi/lib", f"-Wl,-rpath-link,{where}", "-lmpi")


def says(near, n=8):
    return sorted(f"{rank} of {n}: {sum(range(n))}, {near} near" for rank in range(n))


def on_one_node(s, program):
    r = s.call("srun", "-n", "8", "-O", "--mpi=pmi2", program)
    check(r.code == 0 and sorted(r.out.splitlines()) == says(8), r)
    r = s.call("srun", "-n", "8", "-O", "--mpi=pmi2", program, "abort")
    check(r.code != 0 and "task 1 ends the step" in r.err, r)


def mpirun(s, program, *words):
    """In an allocation: mpirun starts its daemons by srun. Both nodes are this machine by its name, so shared memory is left out;
    their addresses are those of the cable."""
    usr = os.path.join(OPEN_MPI, "usr")
    env = {"PATH": f"{s.links}:{usr}/bin:{os.environ['PATH']}", "LD_LIBRARY_PATH": libraries(OPEN_MPI), "OPAL_PREFIX": usr, "PMIX_PREFIX": usr,
           "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    r = s.call("salloc", "-O", *words, "mpirun.openmpi", "--mca", "pml", "ob1", "--mca", "btl", "tcp,self", "--mca", "btl_tcp_if_include",
               "10.213.0.0/16", "--mca", "oob_tcp_if_include", "10.213.0.0/16", program, env=env.items())
    check(r.code == 0, r)
    return sorted(line.split(",")[0] for line in r.out.splitlines())


def with_pmix(s, words, command, **settings):
    """The lines of the tasks by srun --mpi=pmix. Open MPI's parameters keep its connections on the cable; without shared memory, whose files
    would have the same names on both nodes: they are this machine."""
    parameters = {"pml": "ob1", "btl": "tcp,self", "btl_tcp_if_include": "10.213.0.0/16", "mca_base_component_show_load_errors": "0", **settings}
    env = {"LD_LIBRARY_PATH": libraries(OPEN_MPI), "OPAL_PREFIX": os.path.join(OPEN_MPI, "usr"),
           **{"OMPI_MCA_" + name: value for name, value in parameters.items()}}
    return s.call("srun", "-O", "--mpi=pmix", *words, *command, env=env.items())


def open_mpi_on_one_node(s, program):
    r = with_pmix(s, ["-n", "4"], [program], btl="vader,self")
    check(r.code == 0 and sorted(r.out.splitlines()) == says(4, 4) and not r.err, r)
    r = with_pmix(s, ["-n", "4"], [program, "abort"])
    check(r.code != 0 and "task 1 ends the step: code 3" in r.err, r)


def open_mpi_on_two_nodes(s, program):
    for settings in ({}, {"pmix_base_async_modex": "1"}):  # addresses at the first fence, or each when it is needed
        r = with_pmix(s, ["-N2", "--ntasks-per-node=4"], [program], **settings)
        check(r.code == 0 and sorted(r.out.splitlines()) == says(4) and not r.err, settings, r)
        r = with_pmix(s, ["-N2", "-n4", "-m", "cyclic"], [program], **settings)
        check(r.code == 0 and sorted(r.out.splitlines()) == says(2, 4) and not r.err, settings, r)
    r = with_pmix(s, ["-N2", "-n4"], [program, "abort"])
    check(r.code != 0 and "task 1 ends the step: code 3" in r.err, r)


def on_two_nodes():
    with network_of_its_own("second") as (space, cable, here, there), Mete("none", ["--listen", f"{here}:0", "--cpus", "8"]) as m:
        s = Slurm(m)
        program = with_mpich(s)
        other = with_open_mpi(s)
        on_one_node(s, program)
        open_mpi_on_one_node(s, other)
        equal(mpirun(s, other, "-n", "4"), [f"{rank} of 4: 6" for rank in range(4)])
        first = m.object("nodes")["items"][0]["metadata"]["name"]
        last = "zz-" + first
        with Node(m, port_of(m), last, "none", host=here, space=space, arguments=["--cpus", "8"]) as node:
            node.start(token(m))
            wait(lambda: is_ready(m, last), "the node is ready")
            r = s.call("srun", "-N2", "--ntasks-per-node=4", "-O", "--mpi=pmi2", program)
            check(r.code == 0 and sorted(r.out.splitlines()) == says(4), r)
            r = s.call("srun", "-N2", "-n4", "-O", "-m", "cyclic", "--mpi=pmi2", program)
            check(r.code == 0 and sorted(r.out.splitlines()) == says(2, 4), r)
            open_mpi_on_two_nodes(s, other)
            equal(mpirun(s, other, "-N2", "--ntasks-per-node=4"), [f"{rank} of 8: 28" for rank in range(8)])


def main():
    for place in PACKAGES:
        unpack(place)
    on_two_nodes()
