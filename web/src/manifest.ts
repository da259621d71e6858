// A job in three forms: what the form asks, its manifest, and the command that submits the same.
import type { Tree } from "./api";

export interface Ask {
  name: string; namespace: string; queue: string; image: string; command: string;
  kind: "whole" | "part" | "slice"; gpus: string; model: string; time: string;
}

export const emptyAsk: Ask = { name: "", namespace: "default", queue: "", image: "host", command: "", kind: "whole", gpus: "1", model: "", time: "" };

/** "90m", "1h30m" in seconds; null: malformed. */
export function seconds(text: string): number | null {
  const m = /^(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?$/.exec(text.trim());
  if (!m || !text.trim()) return null;
  return (+(m[1] ?? 0) * 24 + +(m[2] ?? 0)) * 3600 + +(m[3] ?? 0) * 60 + +(m[4] ?? 0);
}

function duration(s: number): string {
  const parts: [number, string][] = [[Math.floor(s / 86400), "d"], [Math.floor(s / 3600) % 24, "h"], [Math.floor(s / 60) % 60, "m"], [s % 60, "s"]];
  return parts.filter(([n]) => n > 0).map(([n, unit]) => `${n}${unit}`).join("");
}

/** What is wrong with the form; "": nothing. */
export function faultOf(a: Ask): string {
  if (!/^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/.test(a.name)) return "Name: want lower-case letters, digits, '-' and '.'";
  if (!a.command.trim()) return "Command: is missing";
  if (a.kind === "whole" && !/^\d+$/.test(a.gpus)) return "GPUs: want a whole number";
  if (a.kind === "part" && !(Number(a.gpus) > 0 && Number(a.gpus) < 1)) return "GPUs: want a part such as 0.5";
  if (a.kind === "slice" && !/^[0-9a-z.+]+$/.test(a.gpus)) return "GPUs: want a profile such as 1g.10gb";
  if (a.time && seconds(a.time) === null) return "Time limit: want 30m, 2h or 1d";
  return "";
}

export function podOf(a: Ask): Tree {
  const limits = a.kind === "whole" && a.gpus !== "0" ? { "nvidia.com/gpu": a.gpus } : a.kind === "slice" ? { [`nvidia.com/mig-${a.gpus}`]: "1" } : undefined;
  const metadata: Tree = { name: a.name, namespace: a.namespace };
  if (a.queue) metadata.labels = { "mete.dev/queue": a.queue };
  if (a.kind === "part") metadata.annotations = { "gpu-fraction": a.gpus };
  const spec: Tree = { restartPolicy: "Never" };
  const limit = seconds(a.time);
  if (limit) spec.activeDeadlineSeconds = limit;
  if (a.model) spec.nodeSelector = { "mete.dev/gpu.model": a.model };
  spec.containers = [{ name: "main", image: a.image, command: ["sh", "-c", a.command], ...(limits ? { resources: { limits } } : {}) }];
  return { apiVersion: "v1", kind: "Pod", metadata, spec };
}

const podSpec = (object: Tree): Tree => (object.kind === "Job" ? object.spec?.template?.spec : object.spec) ?? {};

/** What the form can say of an object of the server. */
export function askOf(object: Tree): Ask {
  const spec = podSpec(object);
  const c = spec.containers?.[0];
  const limits: Record<string, string> = c?.resources?.limits ?? {};
  const slice = Object.keys(limits).find((k) => k.startsWith("nvidia.com/mig-"));
  const part = object.metadata.annotations?.["gpu-fraction"];
  const words: string[] = [...(c?.command ?? []), ...(c?.args ?? [])];
  return {
    name: object.metadata.name ?? "", namespace: object.metadata.namespace ?? "default", image: c?.image ?? "host",
    queue: object.metadata.labels?.["mete.dev/queue"] ?? "",
    command: words.length === 3 && words[0] === "sh" && words[1] === "-c" ? words[2]! : words.map(quote).join(" "),
    kind: slice ? "slice" : part ? "part" : "whole",
    gpus: slice ? slice.slice("nvidia.com/mig-".length) : part ?? limits["nvidia.com/gpu"] ?? "0",
    time: spec.activeDeadlineSeconds ? duration(spec.activeDeadlineSeconds) : "",
    model: spec.nodeSelector?.["mete.dev/gpu.model"] ?? "",
  };
}

/* ---- YAML ---- */

/** Every text is quoted, so that no value reads as something else. */
export function yaml(tree: Tree, indent = ""): string {
  if (Array.isArray(tree))
    return tree.map((one) => `${indent}- ${typeof one === "object" ? yaml(one, `${indent}  `).trimStart() : `${JSON.stringify(one)}\n`}`).join("");
  return Object.entries(tree).map(([key, value]) => {
    const name = /^[A-Za-z][A-Za-z0-9]*$/.test(key) ? key : JSON.stringify(key);
    return typeof value === "object" && value !== null ? `${indent}${name}:\n${yaml(value, `${indent}  `)}` : `${indent}${name}: ${JSON.stringify(value)}\n`;
  }).join("");
}

/** Where a manifest belongs. Its content is for the server to read. */
export function placeOf(manifest: string): { kind: string; namespace: string } {
  return {
    kind: /^kind:\s*["']?(\w+)/m.exec(manifest)?.[1] ?? "",
    namespace: /^metadata:.*\n(?:[ \t]+.*\n|\s*\n)*?[ \t]+namespace:[ \t]*["']?([a-z0-9.-]+)/m.exec(`${manifest}\n`)?.[1] ?? "default",
  };
}

/* ---- what two answers of the server differ in ---- */

const given = new Set(["uid", "resourceVersion", "creationTimestamp", "managedFields", "generation"]);

function leaves(tree: Tree, at: string, into: Map<string, string>): Map<string, string> {
  if (typeof tree !== "object" || tree === null) into.set(at, JSON.stringify(tree));
  else for (const [key, value] of Object.entries(tree)) leaves(value, at ? `${at}.${key}` : key, into);
  return into;
}

function written(object: Tree): Map<string, string> {
  const metadata = Object.fromEntries(Object.entries(object.metadata).filter(([key]) => !given.has(key)));
  const all = leaves({ kind: object.kind, metadata, spec: object.spec }, "", new Map());
  all.delete("metadata.labels.mete.dev/job-id");
  return all;
}

/** The members of `a` that `b` lacks or has otherwise, and the other way round. */
export function differences(a: Tree, b: Tree): string[] {
  const [one, other] = [written(a), written(b)];
  return [...new Set([...one.keys(), ...other.keys()])].filter((key) => one.get(key) !== other.get(key));
}

/* ---- the command ---- */

const quote = (text: string) => (/^[A-Za-z0-9_./:@=,+-]+$/.test(text) ? text : `'${text.replace(/'/g, "'\\''")}'`);

export function commandOf(a: Ask): string {
  const words = ["mete", "run", "-d"];
  const gpus = a.kind === "slice" ? `mig-${a.gpus}` : a.gpus;
  if (gpus !== "0") words.push("--gpus", a.model ? `${a.model}:${gpus}` : gpus);
  if (a.name) words.push("--name", a.name);
  if (a.namespace !== "default") words.push("-n", a.namespace);
  if (a.queue) words.push("--queue", a.queue);
  if (a.time) words.push("--time", a.time);
  if (a.image !== "host") words.push("--image", a.image);
  return [...words, "--", "sh", "-c", a.command].map(quote).join(" ");
}

/** The words of a command, by a shell's rules for quotes; nothing is expanded. */
function wordsOf(text: string): string[] {
  const words: string[] = [];
  let word: string | null = null;
  for (let i = 0; i < text.length; i++) {
    const c = text[i]!;
    if (c === "'" || c === '"') {
      let end = i + 1;
      word ??= "";
      for (; end < text.length && text[end] !== c; end++) {
        if (c === '"' && text[end] === "\\" && /["\\$`]/.test(text[end + 1] ?? "")) end++;
        word += text[end];
      }
      if (end >= text.length) throw new Error(`the quote ${c} at character ${i + 1} has no end`);
      i = end;
    } else if (c === "\\" && i + 1 < text.length) {
      if (text[++i] !== "\n") word = (word ?? "") + text[i];
    } else if (/\s/.test(c)) {
      if (word !== null) words.push(word);
      word = null;
    } else {
      word = (word ?? "") + c;
    }
  }
  if (word !== null) words.push(word);
  return words;
}

const flags: Record<string, "name" | "namespace" | "queue" | "time" | "image"> = {
  "--name": "name", "-n": "namespace", "--namespace": "namespace", "--queue": "queue", "--time": "time", "--image": "image",
};

/** "2", "H100:2", "0.5", "mig-1g.10gb" */
function readGpus(text: string, a: Ask): void {
  const [, model, rest] = /^(?:([A-Za-z][\w.-]*):)?(.*)$/.exec(text)!;
  a.model = model ?? "";
  if (/^\d+$/.test(rest!)) a.kind = "whole";
  else if (/^0?\.\d+$/.test(rest!)) a.kind = "part";
  else if (rest!.startsWith("mig-")) a.kind = "slice";
  else throw new Error(`--gpus ${text}: the form has no such part of a GPU; write it in the manifest`);
  a.gpus = a.kind === "slice" ? rest!.slice("mig-".length) : rest!;
}

/** What a command asks. Throws: it is no command that the form can say. */
export function readCommand(text: string): Ask {
  const words = wordsOf(text);
  const a: Ask = { ...emptyAsk, gpus: "0" };
  let i = 2;
  if (words[0] !== "mete" || words[1] !== "run") throw new Error("want a command that begins with: mete run");
  for (; i < words.length && words[i]!.startsWith("-") && words[i] !== "--"; i++) {
    const [flag, ...joined] = words[i]!.startsWith("--") ? words[i]!.split("=") : [words[i]!];
    if (flag === "-d" || flag === "--detach") continue;
    if (flag !== "--gpus" && !flags[flag!]) throw new Error(`the form has no ${flag}: write it in the manifest`);
    const value = joined.length ? joined.join("=") : words[++i];
    if (value === undefined) throw new Error(`${flag}: its value is missing`);
    if (flag === "--gpus") readGpus(value, a);
    else a[flags[flag!]!] = value;
  }
  const rest = words.slice(words[i] === "--" ? i + 1 : i);
  if (!rest.length) throw new Error("the program to run is missing: want -- PROGRAM ARGUMENTS");
  a.command = rest.length === 3 && rest[0] === "sh" && rest[1] === "-c" ? rest[2]! : rest.map(quote).join(" ");
  return a;
}
