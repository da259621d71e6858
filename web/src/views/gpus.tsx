// GPUs: a wall of cells by node; slices drawn where they lie, to scale; what is held but idle.
import { paths, type Tree } from "../api";
import { GpuCare } from "../care";
import { bytes, load } from "../format";
import { param, setQuery } from "../router";
import { Loading, Table, useData } from "../ui";

const idleBelow = 5; // percent

/** The load of a sample in percent; null: unknown. Slices tell the activity of their multiprocessors alone. */
function busyOf(sample: Tree): number | null {
  if (typeof sample?.utilizationPct === "number") return sample.utilizationPct;
  return typeof sample?.smActiveMilli === "number" ? sample.smActiveMilli / 10 : null;
}

const isIdleSample = (sample: Tree) => busyOf(sample) !== null && busyOf(sample)! < idleBelow;

export const isSick = (g: Tree) => g.status?.health !== "healthy";
export const isHeld = (g: Tree) => Boolean(g.status?.holders?.length);
export const isIdle = (g: Tree) => isHeld(g) && (g.spec.slices?.length ? partsOf(g).some((p) => p.isIdle) : isIdleSample(g.status?.sample));

const shows: Record<string, (g: Tree) => boolean> = {
  all: () => true, free: (g) => !isHeld(g) && !isSick(g), held: isHeld, idle: isIdle, sick: isSick,
};
const names: Record<string, string> = { all: "all", free: "free", held: "held", idle: "held but idle", sick: "out of service" };
const modes = ["allocation", "load", "memory"];

interface Part {
  at: number; // of 1000, as the width
  width: number;
  name: string;
  holder: Tree | null;
  isIdle: boolean;
}

/** Slices lie where they are on the gpu, in memory slices; without a known geometry side by side, by their memory. */
function slicesOf(g: Tree): Part[] {
  const total: number | undefined = g.spec.memorySlices;
  let next = 0;
  return g.spec.slices.map((s: Tree): Part => {
    const isPlaced = Boolean(total && s.memorySlices);
    const at = isPlaced ? (1000 * s.start) / total! : next;
    const width = isPlaced ? (1000 * s.memorySlices) / total! : Math.min(1000 - at, (1000 * (s.memoryBytes ?? 0)) / (g.spec.memoryBytes || 1));
    const holder = (g.status?.holders ?? []).find((h: Tree) => String(h.device).includes(`/slice:${s.profile}@${s.start}`)) ?? null;
    const sample = (g.status?.slices ?? []).find((one: Tree) => one.uuid === s.uuid)?.sample;
    next = at + width;
    return { at, width, name: s.profile, holder, isIdle: Boolean(holder) && isIdleSample(sample) };
  });
}

/** The parts of a gpu: slices, or what its holders have of it. */
function partsOf(g: Tree): Part[] {
  if (g.spec.slices?.length) return slicesOf(g);
  let at = 0;
  return (g.status?.holders ?? []).map((h: Tree): Part => {
    const part = { at, width: Math.min(h.milli, 1000 - at), name: `${h.milli / 10} %`, holder: h, isIdle: isIdleSample(g.status?.sample) };
    at = Math.min(1000, at + h.milli);
    return part;
  });
}

const partText = (p: Part) => `${p.name} ${p.holder ? p.holder.pod : "free"}${p.isIdle ? ", held but idle" : ""}`;

function Bar({ g, mode }: { g: Tree; mode: string }) {
  const used = g.status?.sample?.memoryUsedBytes;
  const busy = busyOf(g.status?.sample);
  const level = mode === "load" ? busy === null ? null : busy * 10
    : mode === "memory" ? used === undefined || used === null ? null : (1000 * used) / (g.spec.memoryBytes || 1) : null;
  const parts = partsOf(g);
  const label = mode === "allocation" ? parts.map(partText).join("; ") || "free" : level === null ? "no sample" : `${mode} ${Math.round(level / 10)} %`;
  return (
    <svg class="bar" viewBox="0 0 1000 100" preserveAspectRatio="none" role="img" aria-label={label}>
      <rect class="ground" width="1000" height="100" />
      {mode === "allocation"
        ? parts.map((p) => <rect class={`part edge ${p.isIdle ? "idle" : p.holder ? "busy" : "open"}`} x={p.at} width={p.width} height="100" vector-effect="non-scaling-stroke"><title>{partText(p)}</title></rect>)
        : level === null ? null : <rect class={level > 800 ? "hot" : "busy"} width={level} height="100" />}
    </svg>
  );
}

function HolderLink({ h }: { h: Tree }) {
  return <><a href={`/jobs/pod/${encodeURIComponent(h.namespace)}/${encodeURIComponent(h.pod)}`}>{h.jobId ?? ""} {h.pod}</a> {h.user}</>;
}

function Cell({ g, mode }: { g: Tree; mode: string }) {
  const holders: Tree[] = g.status?.holders ?? [];
  return (
    <li class={`gpu${isSick(g) ? " sick" : ""}`}>
      <p><strong>GPU {g.spec.index}</strong> {g.spec.model}{g.spec.emulated ? " (emulated)" : ""}</p>
      <Bar g={g} mode={mode} />
      {isSick(g) ? <p>✕ {g.status?.health}: {g.status?.healthReason}</p> : null}
      {g.spec.slices?.length ? <ul class="plain">{partsOf(g).map((p) => (
        <li>{p.name} {p.holder ? <HolderLink h={p.holder} /> : "free"}{p.isIdle ? <strong> held but idle</strong> : null}</li>))}</ul>
        : holders.length ? holders.slice(0, 8).map((h) => <p><HolderLink h={h} /></p>) : <p>{isSick(g) ? "not held" : "free"}</p>}
      {!g.spec.slices?.length && isIdle(g) ? <p><strong>held but idle</strong></p> : null}
      <p class="quiet">{load(g) === "unknown" ? "no sample" : `load ${load(g)}, ${bytes(g.status.sample.memoryUsedBytes)}`}</p>
      <GpuCare gpu={g} />
    </li>
  );
}

export function Gpus() {
  const data = useData(paths.gpus, ["pods", "nodes", "samples"]);
  const show = shows[param("show")] ? param("show") : "all";
  const mode = modes.includes(param("mode")) ? param("mode") : "allocation";
  const isTable = param("as") === "table";
  return (
    <>
      <h1>GPUs</h1>
      <Loading data={data}>{(tree) => {
        const all: Tree[] = tree.items;
        const shown = all.filter(shows[show]!);
        const nodes = [...new Set(shown.map((g) => g.spec.node as string))].sort();
        return (
          <>
            <p class="row chips" role="group" aria-label="Which GPUs">
              {Object.keys(shows).map((k) => (
                <a href={k === "all" ? "/gpus" : `/gpus?show=${k}`} aria-current={show === k ? "true" : undefined}>{all.filter(shows[k]!).length} {names[k]}</a>))}
            </p>
            <div class="row">
              <label>Colour by <select value={mode} onChange={(e) => setQuery({ mode: e.currentTarget.value }, true)}>{modes.map((m) => <option>{m}</option>)}</select></label>
              <label><input type="checkbox" checked={isTable} onChange={(e) => setQuery({ as: e.currentTarget.checked ? "table" : "" }, true)} /> As a table</label>
            </div>
            {isTable ? (
              <Table caption="GPUs" rows={shown} keyOf={(g) => g.metadata.name} columns={[
                { name: "Node", cell: (g) => g.spec.node },
                { name: "GPU", isNumber: true, cell: (g) => g.spec.index },
                { name: "Model", cell: (g) => g.spec.product },
                { name: "Health", cell: (g) => [g.status?.health, g.status?.healthReason].filter(Boolean).join(": ") },
                { name: "Held by", cell: (g) => (g.status?.holders ?? []).map((h: Tree) => `${h.pod} (${h.user ?? ""}, ${h.milli / 10} %)`).join(", ") },
                { name: "Load", isNumber: true, cell: load },
                { name: "Memory", isNumber: true, cell: (g) => bytes(g.status?.sample?.memoryUsedBytes) },
              ]} />
            ) : nodes.map((node) => (
              <section key={node} aria-label={node}>
                <h2><a href={`/nodes/${encodeURIComponent(node)}`}>{node}</a></h2>
                <ul class="wall" style={{ listStyle: "none", padding: 0 }}>
                  {shown.filter((g) => g.spec.node === node).map((g) => <Cell key={g.metadata.name} g={g} mode={mode} />)}
                </ul>
              </section>))}
            {shown.length === 0 ? <p class="quiet">None.</p> : null}
          </>
        );
      }}</Loading>
    </>
  );
}
