// Times, sizes and states as text.
import type { Tree } from "./api";

export function age(ms: number): string {
  const s = Math.max(0, Math.floor(ms / 1000));
  if (s < 60) return `${s} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min ${s % 60} s`;
  if (s < 86400) return `${Math.floor(s / 3600)} h ${Math.floor((s % 3600) / 60)} min`;
  return `${Math.floor(s / 86400)} d ${Math.floor((s % 86400) / 3600)} h`;
}

export function since(stamp: string | null | undefined, now = Date.now()): string {
  return stamp ? age(now - Date.parse(stamp)) : "";
}

/** How long a job waits, runs, or ran. */
export function jobTime(job: Tree): string {
  const from = job.startedAt ?? job.submittedAt;
  if (!from) return "";
  return age((job.endedAt ? Date.parse(job.endedAt) : Date.now()) - Date.parse(from));
}

export function bytes(n: number | null | undefined): string {
  if (n === null || n === undefined) return "unknown";
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let i = 0;
  while (n >= 1024 && i < units.length - 1) {
    n /= 1024;
    i++;
  }
  return `${n >= 100 || i === 0 ? Math.round(n) : n.toFixed(1)} ${units[i]}`;
}

export const shapes: Record<string, string> = {
  waiting: "◌", starting: "◔", running: "●", ending: "◑", suspended: "⏸", finished: "✓", failed: "✕",
};

export const states = Object.keys(shapes);

export function count(n: number, one: string, many = one + "s"): string {
  return `${n.toLocaleString("en")} ${n === 1 ? one : many}`;
}

/** The load of a gpu by its newest sample. */
export function load(gpu: Tree): string {
  const busy = gpu.status?.sample?.utilizationPct;
  return busy === undefined || busy === null ? "unknown" : `${busy} %`;
}
