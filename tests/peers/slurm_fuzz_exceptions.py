"""Differences of the fuzz that are meant: (kind or *, pattern of the case, a line break, and what differs, reason). The first that matches counts."""

NEVER = "what the machine can never hold is refused at once; 22.05 does not look at a job that is held"
MALFORMED = "malformed words are refused; 22.05 reads their beginning, or takes 0"

EXCEPTIONS = [
    ("*", r"ours refuses: .*(Requested node configuration is not available|Memory required by task is not available)", NEVER),
    ("*", r"ours refuses: .*is not available yet", "what restricts and is not there yet is refused by name"),
    ("hostnames", r"\][^,\[\n]+.*\n.*real \['Invalid hostlist", "22.05 takes nothing behind a bracket; later versions do"),
    ("hostlist", r"\][^,\[\n]+.*\n.*real \['Invalid hostlist", "22.05 takes nothing behind a bracket; later versions do"),
    ("hostlistsorted", r"\][^,\[\n]+.*\n.*real \['Invalid hostlist", "22.05 takes nothing behind a bracket; later versions do"),
    ("host*", r"\][^,\[\n]*\[[^\]\n]*\][^,\[\n]*\[[^\n]*\nours 0", "of three lists in a name, the last one counts fastest, then the second"),
    ("hostnames", r"\nours 1", MALFORMED),
    ("hostlist", r"\nours 1", MALFORMED),
    ("hostlistsorted", r"\nours 1", MALFORMED),
    ("hostlistsorted", r"\nours 0", "a sorted list has each name once, and numbers in their order"),
    ("least times", r"ours accepts; real refuses: .*Invalid time-min", "a least time beyond the limit is taken, and the limit counts"),
    ("begin times", r"^elevenses", "the manual has elevenses; 22.05 does not read it"),
    ("deadlines", r"^elevenses", "the manual has elevenses; 22.05 does not read it"),
    ("deadlines", r"ours accepts; real refuses: .*Requested time limit is invalid", "a job with a deadline that is over ends as DEADLINE"),
    ("deadlines", r"ours accepts; real refuses: Invalid time spec", "units and years beyond those of 22.05 are read"),
    ("begin times", r"ours accepts; real refuses: Invalid time spec", "units and years beyond those of 22.05 are read"),
    ("dependencies", r"Dependency: ours .*<2>.*real .*<2>_\*", "an array as a whole is its number; 22.05 adds _*"),
    ("dependencies", r"ours refuses: .*Job dependency problem", "an unknown job is refused wherever it stands, and minutes belong to after alone"),
    ("dependencies", r"ours accepts; real refuses", "a job that is over meets what waits for its end"),
    ("*", r"real 'gres/\w+.*:0'", "no gpus are no request"),
    ("*", r"Tres\w+: ours '(gres/gpu.*)', real '(?i:\1)'", "types are in lower case"),
    ("*", r"Tres\w+: ours .*:2', real .*:02'", "counts have no zeros before"),
    ("gres", r"Tres\w+: ours 'gres/gpu:\w+', real 'gres/disk:0", "no disks are no request"),
    ("*", r"Invalid generic resource \(gres\) specification; real accepts", MALFORMED + ", and types with untyped"),
    ("*", r"ours refuses: (sbatch: error: )?(Invalid --|Invalid numeric|Invalid nice|\")", MALFORMED),
    ("arrays", r"ours refuses: .*Invalid job array specification", MALFORMED),
    ("gres", r"gres/gpu.*\nours accepts", "gres/gpu is read; 22.05 reads gpu alone"),
    ("gres", r"real 'gres/none:0", "none is no request"),
    ("*", r"ours refuses: .*want at most \d+ either way", "memory has a bound"),
    ("nodes", r"ours refuses: .*Node count specification invalid", "a job has 4096 nodes at most"),
    ("time limits", r"^-", MALFORMED),
    ("nodes", r"NumNodes: ours '1(-1)?', real '0", "a job has a node at least"),
]
