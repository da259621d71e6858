// Submit: a form, the manifest and the command of the same job, each of which may be edited; what would happen; tried before it is sent.
import { useEffect, useRef, useState } from "preact/hooks";
import { get, paths, query, send, type Done, type Tree } from "../api";
import { age, count } from "../format";
import { askOf, commandOf, differences, emptyAsk, faultOf, placeOf, podOf, readCommand, yaml, type Ask } from "../manifest";
import { go, param } from "../router";
import { keptText } from "./now";
import { Problem, useData, useMay } from "../ui";

const pauseMs = 600; // after the last key, before the server reads a manifest
const namedMax = 4;

interface Draft {
  ask: Ask;
  manifest: string;
  command: string;
  /** Members of the manifest that the form and the command cannot say. */
  beyond: string[];
  manifestError: string;
  commandError: string;
}

const draftOf = (ask: Ask): Draft => ({ ask, manifest: yaml(podOf(ask)), command: commandOf(ask), beyond: [], manifestError: "", commandError: "" });

function collection(kind: string, namespace: string): string {
  if (kind === "Pod") return paths.pods(namespace);
  if (kind === "Job") return `/apis/batch/v1/namespaces/${encodeURIComponent(namespace)}/jobs`;
  throw new Error(kind ? `kind: ${kind}: this page submits Pod and Job; for others: mete apply -f FILE` : "the manifest has no kind: want kind: Pod or kind: Job");
}

function sendManifest(manifest: string, isTrial: boolean): Promise<Done> {
  const { kind, namespace } = placeOf(manifest);
  return send("POST", `${collection(kind, namespace)}${query({ fieldValidation: "Strict", dryRun: isTrial ? "All" : undefined })}`, manifest, "application/yaml");
}

/** The server reads the manifest; what it answers is compared with its answer to what the form says of it. */
async function readManifest(manifest: string): Promise<{ ask: Ask; beyond: string[] }> {
  const { tree } = await sendManifest(manifest, true);
  const ask = askOf(tree);
  if (tree.kind !== "Pod") return { ask, beyond: [`kind: ${tree.kind}`] };
  if (faultOf(ask)) return { ask, beyond: [faultOf(ask)] };
  const { tree: same } = await send("POST", `${paths.pods(ask.namespace)}?dryRun=All`, podOf(ask));
  // The queue that the server adds is not one that the manifest names.
  const asked = manifest.includes("mete.dev/queue") ? ask : { ...ask, queue: "" };
  return { ask: asked, beyond: differences(tree, same) };
}

/* ---- what would happen ---- */

/** The most healthy gpus of one node that may be given whole. */
function mostOfOneNode(gpus: Tree[], model: string): number {
  const n = new Map<string, number>();
  for (const g of gpus)
    if (g.status?.health === "healthy" && (!model || g.spec.model === model) && (g.spec.flexible || g.spec.mode !== "slices")) n.set(g.spec.node, (n.get(g.spec.node) ?? 0) + 1);
  return Math.max(0, ...n.values());
}

function freeQuery(a: Ask): string | null {
  if (a.kind === "whole" && !/^[1-9]\d*$/.test(a.gpus)) return null;
  const size = a.kind === "whole" ? { gpus: a.gpus } : { part: a.kind === "slice" ? `mig-${a.gpus}` : a.gpus };
  return faultOf({ ...a, name: "x", command: "x" }) ? null : paths.free({ ...size, queue: a.queue, namespace: a.namespace, time: a.time });
}

function WouldWait({ a, models, waiting }: { a: Ask; models: Tree[]; waiting: number }) {
  const gpus = useData(a.kind === "whole" ? paths.gpus : null, ["nodes"]);
  const best = models.reduce((x, y) => (y.mostOnOneNode > (x?.mostOnOneNode ?? -1) ? y : x), null as Tree | null);
  const wanted = Number(a.gpus);
  const most = gpus.tree ? mostOfOneNode(gpus.tree.items, a.model) : null;
  if (a.kind === "whole" && most !== null && wanted > most)
    return <p><strong>Would never start:</strong> it needs {count(wanted, "GPU")} on one node, and no node has more than {most} healthy {a.model || "ones"}.</p>;
  if (a.kind === "whole" && best && best.mostOnOneNode < wanted)
    return <p><strong>Would wait:</strong> it needs {count(wanted, "GPU")} on one node; the most free on one node is {best.mostOnOneNode}{best.node ? ` (${best.node})` : ""}.</p>;
  return <p><strong>Would wait:</strong> {best?.free ? `${count(best.free, `${best.model} is`, `${best.model} are`)} free${keptText(best, waiting) || ", but not in this form"}` : "there is no room for it now"}.</p>;
}

function Plan({ a }: { a: Ask }) {
  const [asked, setAsked] = useState(a);
  useEffect(() => {
    const timer = setTimeout(() => setAsked(a), pauseMs);
    return () => clearTimeout(timer);
  }, [a]);
  const path = freeQuery(asked);
  const free = useData(path, ["pods", "nodes", "queues", "reservations"]);
  const jobs = useData(paths.jobs({ limit: 0 }), ["pods", "jobs"]);
  const report = path ? free.tree : null; // the last answer stays after its question
  const models: Tree[] = (report?.models ?? []).filter((m: Tree) => !asked.model || m.model === asked.model);
  const fits = models.filter((m) => (m.starts ?? []).some((s: Tree) => s.jobs > 0));
  const queue = asked.queue || report?.queue || "default";
  const before = jobs.tree?.queues?.find((q: Tree) => q.name === queue);
  return (
    <section class="panel" aria-labelledby="plan">
      <h2 id="plan">What would happen</h2>
      <div role="status">
        {!report ? <p class="quiet">{(path && free.error) || (path ? "Loading…" : "A job without GPUs starts where there is room for its CPU and memory.")}</p>
          : fits.length ? <p><strong>Would start now on:</strong> {fits.map((m) => {
            const s = m.starts.find((one: Tree) => one.jobs > 0);
            return `${m.model} (room for ${s.jobs}${s.orMore ? " or more" : ""} such ${s.jobs === 1 ? "job" : "jobs"})`;
          }).join(", ")}</p>
            : <WouldWait a={asked} models={models} waiting={jobs.tree?.counts?.waiting ?? 0} />}
        {before?.waiting ? <p>In queue {queue} {count(before.waiting, "job waits", "jobs wait")} before it, for {count(before.gpusWaiting, "GPU")}
          {before.oldestWaitSince ? `; the oldest since ${age(Date.now() - Date.parse(before.oldestWaitSince))}` : ""}.</p> : report ? <p>No job waits in queue {queue}.</p> : null}
      </div>
    </section>
  );
}

/* ---- the view ---- */

function Fields({ a, set }: { a: Ask; set: (ask: Ask) => void }) {
  const queues = useData(paths.queues, ["queues"]);
  const field = (key: keyof Ask) => ({ id: key, value: a[key], onInput: (e: Event) => set({ ...a, [key]: (e.currentTarget as HTMLInputElement).value }) });
  const start = { whole: "1", part: "0.5", slice: "1g.10gb" };
  const names: string[] = (queues.tree?.items ?? []).map((q: Tree) => q.metadata.name).filter((n: string) => n !== "root");
  if (a.queue && !names.includes(a.queue)) names.push(a.queue);
  return (
    <div class="fields">
      <label for="name">Name</label><input {...field("name")} required autocomplete="off" />
      <label for="command">Command</label><textarea {...field("command")} rows={3} required spellcheck={false} />
      <label for="kind">Wants</label>
      <select id="kind" value={a.kind} onChange={(e) => { const kind = e.currentTarget.value as Ask["kind"]; set({ ...a, kind, gpus: start[kind] }); }}>
        <option value="whole">whole GPUs</option><option value="part">a part of a GPU</option><option value="slice">a MIG slice</option>
      </select>
      <label for="gpus">{a.kind === "whole" ? "Number of GPUs" : a.kind === "part" ? "Part, such as 0.5" : "Profile, such as 1g.10gb"}</label><input {...field("gpus")} size={8} />
      <label for="model">GPU model</label><input {...field("model")} placeholder="any" size={10} />
      <label for="image">Image</label><input {...field("image")} />
      <label for="queue">Queue</label>
      <select id="queue" value={a.queue} onChange={(e) => set({ ...a, queue: e.currentTarget.value })}>
        <option value="">that of the namespace</option>{names.map((n) => <option>{n}</option>)}
      </select>
      <label for="namespace">Namespace</label><input {...field("namespace")} />
      <label for="time">Time limit</label><input {...field("time")} placeholder="2h" size={8} />
    </div>
  );
}

function Beyond({ paths: all }: { paths: string[] }) {
  if (!all.length) return null;
  const more = all.length - namedMax;
  return <p class="note" role="status">The manifest says more than the form and the command can: {all.slice(0, namedMax).join(", ")}{more > 0 ? `, and ${more} more` : ""}. It is submitted as it stands; a change in the form or the command writes it anew.</p>;
}

export function Submit() {
  const [draft, setDraft] = useState<Draft>(() => draftOf({ ...emptyAsk, gpus: param("gpus") || "1", model: param("model") }));
  const [error, setError] = useState("");
  const [said, setSaid] = useState<string[]>([]);
  const turn = useRef(0); // of the edits: an answer to an older one is dropped
  const timer = useRef(0);
  const may = useMay("create", "", "pods", draft.ask.namespace);
  const edited = () => {
    clearTimeout(timer.current);
    setError("");
    setSaid([]);
    return ++turn.current;
  };
  const setAsk = (ask: Ask) => {
    edited();
    setDraft(draftOf(ask));
  };
  const setCommand = (command: string) => {
    edited();
    try {
      setDraft({ ...draftOf(readCommand(command)), command });
    } catch (e) {
      setDraft((old) => ({ ...old, command, commandError: (e as Error).message }));
    }
  };
  const setManifest = (manifest: string) => {
    const mine = edited();
    setDraft((old) => ({ ...old, manifest, manifestError: "" }));
    timer.current = window.setTimeout(() => {
      readManifest(manifest).then(
        ({ ask, beyond }) => mine === turn.current && setDraft({ ask, manifest, beyond, command: commandOf(ask), manifestError: "", commandError: "" }),
        (e: Error) => mine === turn.current && setDraft((old) => ({ ...old, manifestError: e.message })));
    }, pauseMs);
  };
  useEffect(() => {
    const [kind, ns, name] = param("like").split("/");
    if (!ns || !name) return;
    get(kind === "job" ? paths.batch(ns, name) : paths.pod(ns, name))
      .then((o) => setAsk({ ...askOf(o), name: `${name}-again`.slice(0, 63) }), (e: Error) => setError(e.message));
  }, []);
  useEffect(() => () => clearTimeout(timer.current), []);
  const isWritten = draft.beyond.length > 0 || draft.manifestError !== "";
  const post = async (isTrial: boolean) => {
    const fault = draft.commandError ? `Command line: ${draft.commandError}` : isWritten ? "" : faultOf(draft.ask);
    setError(fault);
    setSaid([]);
    if (fault) return;
    try {
      const { tree, warnings } = await sendManifest(draft.manifest, isTrial);
      const { namespace, name } = tree.metadata;
      if (!isTrial) go(`/jobs/${tree.kind === "Job" ? "job" : "pod"}/${encodeURIComponent(namespace)}/${encodeURIComponent(name)}`);
      else setSaid(["The server accepts this job.", ...warnings]);
    } catch (e) {
      setError((e as Error).message);
    }
  };
  return (
    <>
      <h1>Submit a job</h1>
      <div class="grid">
        <div>
          <form class="panel" aria-label="Form" onSubmit={(e) => { e.preventDefault(); void post(false); }} noValidate>
            <Fields a={draft.ask} set={setAsk} />
            <Beyond paths={draft.beyond} />
            <Problem text={error} />
            {said.map((one) => <p role="status">{one}</p>)}
            <div class="row">
              {may ? <button class="main">Submit</button> : <p>You may not create jobs in this namespace.</p>}
              <button type="button" onClick={() => void post(true)}>Try without submitting</button>
            </div>
          </form>
          <Plan a={draft.ask} />
        </div>
        <section class="panel" aria-label="The same job">
          <h2><label for="manifest">As a manifest</label></h2>
          <textarea id="manifest" rows={19} spellcheck={false} value={draft.manifest} aria-invalid={draft.manifestError !== ""} onInput={(e) => setManifest(e.currentTarget.value)} />
          <Problem text={draft.manifestError} />
          <h2><label for="line">As a command</label></h2>
          <textarea id="line" rows={3} spellcheck={false} value={draft.command} aria-invalid={draft.commandError !== ""} onInput={(e) => setCommand(e.currentTarget.value)} />
          <Problem text={draft.commandError} />
        </section>
      </div>
    </>
  );
}
