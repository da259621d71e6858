"""Differences between Mete and Slurm 22.05 that are meant, with the reason: (command, key), * for all of a command or all commands."""

EXCEPTIONS = {
}
