// Submit: a form, and beside it the same job as YAML and as a command; tried before it is sent.
import { useEffect, useState } from "preact/hooks";
import { get, paths, send, type Tree } from "../api";
import { go, param } from "../router";
import { Problem, useData, useMay } from "../ui";

interface Ask {
  name: string; namespace: string; queue: string; image: string; command: string;
  kind: "whole" | "part" | "slice"; gpus: string; model: string; time: string;
}

const empty: Ask = { name: "", namespace: "default", queue: "", image: "host", command: "", kind: "whole", gpus: "1", model: "", time: "" };

/** "90m", "1h30m" in seconds; null: malformed. */
export function seconds(text: string): number | null {
  const m = /^(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?$/.exec(text.trim());
  if (!m || !text.trim()) return null;
  return (+(m[1] ?? 0) * 24 + +(m[2] ?? 0)) * 3600 + +(m[3] ?? 0) * 60 + +(m[4] ?? 0);
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

/** Every text is quoted, so that no value reads as something else. */
export function yaml(tree: Tree, indent = ""): string {
  if (Array.isArray(tree))
    return tree.map((one) => `${indent}- ${typeof one === "object" ? yaml(one, `${indent}  `).trimStart() : `${JSON.stringify(one)}\n`}`).join("");
  return Object.entries(tree).map(([key, value]) => {
    const name = /^[A-Za-z][A-Za-z0-9]*$/.test(key) ? key : JSON.stringify(key);
    return typeof value === "object" && value !== null ? `${indent}${name}:\n${yaml(value, `${indent}  `)}` : `${indent}${name}: ${JSON.stringify(value)}\n`;
  }).join("");
}

const quote = (text: string) => (/^[A-Za-z0-9_./:@=-]+$/.test(text) ? text : `'${text.replace(/'/g, "'\\''")}'`);

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

function askOf(object: Tree): Partial<Ask> {
  const c = object.spec?.containers?.[0] ?? object.spec?.template?.spec?.containers?.[0];
  const limits: Record<string, string> = c?.resources?.limits ?? {};
  const slice = Object.keys(limits).find((k) => k.startsWith("nvidia.com/mig-"));
  const part = object.metadata.annotations?.["gpu-fraction"];
  const words: string[] = [...(c?.command ?? []), ...(c?.args ?? [])];
  return {
    name: `${object.metadata.name}-again`.slice(0, 63), namespace: object.metadata.namespace, image: c?.image ?? "host",
    queue: object.metadata.labels?.["mete.dev/queue"] ?? "",
    command: words[0] === "sh" && words[1] === "-c" ? words[2] ?? "" : words.map(quote).join(" "),
    kind: slice ? "slice" : part ? "part" : "whole",
    gpus: slice ? slice.slice("nvidia.com/mig-".length) : part ?? limits["nvidia.com/gpu"] ?? "0",
    time: object.spec?.activeDeadlineSeconds ? `${object.spec.activeDeadlineSeconds}s` : "",
    model: object.spec?.nodeSelector?.["mete.dev/gpu.model"] ?? "",
  };
}

function faultOf(a: Ask): string {
  if (!/^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/.test(a.name)) return "Name: want lower-case letters, digits, '-' and '.'";
  if (!a.command.trim()) return "Command: is missing";
  if (a.kind === "whole" && !/^\d+$/.test(a.gpus)) return "GPUs: want a whole number";
  if (a.kind === "part" && !(Number(a.gpus) > 0 && Number(a.gpus) < 1)) return "GPUs: want a part such as 0.5";
  if (a.kind === "slice" && !/^[0-9a-z.+]+$/.test(a.gpus)) return "GPUs: want a profile such as 1g.10gb";
  if (a.time && seconds(a.time) === null) return "Time limit: want 30m, 2h or 1d";
  return "";
}

export function Submit() {
  const [a, set] = useState<Ask>({ ...empty, gpus: param("gpus") || "1", model: param("model") });
  const [error, setError] = useState("");
  const [said, setSaid] = useState<string[]>([]);
  const may = useMay("create", "", "pods", a.namespace);
  const queues = useData(paths.queues, []);
  const free = useData(a.kind === "whole" && /^[1-9]\d*$/.test(a.gpus) ? paths.free({ gpus: a.gpus, queue: a.queue }) : null, ["pods"]);
  useEffect(() => {
    const [kind, ns, name] = param("like").split("/");
    if (!ns || !name) return;
    get(kind === "job" ? paths.batch(ns, name) : paths.pod(ns, name)).then((o) => set((old) => ({ ...old, ...askOf(o) })), (e: Error) => setError(e.message));
  }, []);
  const field = (key: keyof Ask) => ({ id: key, value: a[key], onInput: (e: Event) => set({ ...a, [key]: (e.currentTarget as HTMLInputElement).value }) });
  const post = async (isTrial: boolean) => {
    setError("");
    setSaid([]);
    const fault = faultOf(a);
    if (fault) {
      setError(fault);
      return;
    }
    try {
      const { warnings } = await send("POST", `${paths.pods(a.namespace)}${isTrial ? "?dryRun=All" : ""}`, podOf(a));
      if (!isTrial) go(`/jobs/pod/${encodeURIComponent(a.namespace)}/${encodeURIComponent(a.name)}`);
      setSaid(["The server accepts this job.", ...warnings]);
    } catch (e) {
      setError((e as Error).message);
    }
  };
  const fits = (free.tree?.models ?? []).flatMap((m: Tree) => (m.starts ?? []).filter((s: Tree) => s.jobs > 0).map(() => m.model as string));
  return (
    <>
      <h1>Submit a job</h1>
      <div class="grid">
        <form class="panel" onSubmit={(e) => { e.preventDefault(); void post(false); }}>
          <div class="fields">
            <label for="name">Name</label><input {...field("name")} required autocomplete="off" />
            <label for="command">Command</label><textarea {...field("command")} rows={3} required spellcheck={false} />
            <label for="kind">Wants</label>
            <select id="kind" value={a.kind} onChange={(e) => { const kind = e.currentTarget.value as Ask["kind"]; set({ ...a, kind, gpus: kind === "whole" ? "1" : kind === "part" ? "0.5" : "1g.10gb" }); }}>
              <option value="whole">whole GPUs</option><option value="part">a part of a GPU</option><option value="slice">a MIG slice</option>
            </select>
            <label for="gpus">{a.kind === "whole" ? "Number of GPUs" : a.kind === "part" ? "Part, such as 0.5" : "Profile, such as 1g.10gb"}</label><input {...field("gpus")} size={8} />
            <label for="model">GPU model</label><input {...field("model")} placeholder="any" size={10} />
            <label for="image">Image</label><input {...field("image")} />
            <label for="queue">Queue</label>
            <select id="queue" value={a.queue} onChange={(e) => set({ ...a, queue: e.currentTarget.value })}>
              <option value="">that of the namespace</option>{(queues.tree?.items ?? []).filter((q: Tree) => q.metadata.name !== "root").map((q: Tree) => <option>{q.metadata.name}</option>)}
            </select>
            <label for="namespace">Namespace</label><input {...field("namespace")} />
            <label for="time">Time limit</label><input {...field("time")} placeholder="2h" size={8} />
          </div>
          {free.tree ? <p role="status">{fits.length ? `Would start now on: ${[...new Set(fits)].join(", ")}` : "Would wait: there is no room for it now."}</p> : null}
          <Problem text={error} />
          {said.map((one) => <p role="status">{one}</p>)}
          <div class="row">
            {may ? <button class="main">Submit</button> : <p>You may not create jobs in this namespace.</p>}
            <button type="button" onClick={() => void post(true)}>Try without submitting</button>
          </div>
        </form>
        <section aria-label="The same job">
          <h2>As a manifest</h2>
          <pre tabIndex={0} aria-label="Manifest">{yaml(podOf(a))}</pre>
          <h2>As a command</h2>
          <pre tabIndex={0} aria-label="Command">{commandOf(a)}</pre>
        </section>
      </div>
    </>
  );
}
