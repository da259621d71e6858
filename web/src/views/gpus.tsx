// GPUs: a wall of cells by node; slices drawn to the scale of their memory; what is held but idle.
import { paths, type Tree } from "../api";
import { bytes, load } from "../format";
import { param, setQuery } from "../router";
import { Loading, Table, useData } from "../ui";

const idleBelow = 5; // percent

export function busyOf(g: Tree): number | null {
  const text = load(g);
  return text === "unknown" ? null : parseFloat(text);
}

export const isSick = (g: Tree) => g.status?.health !== "healthy";
export const isHeld = (g: Tree) => Boolean(g.status?.holders?.length);
export const isIdle = (g: Tree) => isHeld(g) && busyOf(g) !== null && busyOf(g)! < idleBelow;

const shows: Record<string, (g: Tree) => boolean> = {
  all: () => true, free: (g) => !isHeld(g) && !isSick(g), held: isHeld, idle: isIdle, sick: isSick,
};
const names: Record<string, string> = { all: "all", free: "free", held: "held", idle: "held but idle", sick: "out of service" };
const modes = ["allocation", "load", "memory"];

/** The parts of a gpu in 1/1000 of its width: slices, shares, or the whole. */
function partsOf(g: Tree): { at: number; width: number; label: string; isHeld: boolean }[] {
  const slices: Tree[] = g.spec.slices ?? [];
  const holders: Tree[] = g.status?.holders ?? [];
  if (slices.length) {
    const total = g.spec.memoryBytes || 1;
    let at = 0;
    return slices.map((s) => {
      // "1g.10gb": the profile tells the memory.
      const memory = Number(/(\d+)gb/.exec(s.profile)?.[1] ?? 0) * (1 << 30);
      const width = Math.min(1000 - at, memory ? (1000 * memory) / total : 1000 / slices.length);
      const holder = holders.find((h) => String(h.device).includes(`/slice:${s.profile}@${s.start}`));
      const part = { at, width, label: `${s.profile}${holder ? ` ${holder.pod}` : " free"}`, isHeld: Boolean(holder) };
      at += width;
      return part;
    });
  }
  let at = 0;
  return holders.map((h) => {
    const part = { at, width: Math.min(h.milli, 1000 - at), label: `${h.pod} ${h.milli / 10} %`, isHeld: true };
    at = Math.min(1000, at + h.milli);
    return part;
  });
}

function Bar({ g, mode }: { g: Tree; mode: string }) {
  const busy = busyOf(g);
  const used = g.status?.sample?.memoryUsedBytes;
  const level = mode === "load" ? busy === null ? null : busy * 10
    : mode === "memory" ? used === undefined || used === null ? null : (1000 * used) / (g.spec.memoryBytes || 1) : null;
  const parts = partsOf(g);
  const label = mode === "allocation" ? parts.map((p) => p.label).join(", ") || "free" : level === null ? "no sample" : `${mode} ${Math.round(level / 10)} %`;
  return (
    <svg class="bar" viewBox="0 0 1000 100" preserveAspectRatio="none" role="img" aria-label={label}>
      <rect class="ground" width="1000" height="100" />
      {mode === "allocation"
        ? parts.map((p) => <rect class={p.isHeld ? "busy" : "ground"} x={p.at} width={p.width} height="100" />)
        : level === null ? null : <rect class={level > 800 ? "hot" : "busy"} width={level} height="100" />}
      {mode === "allocation" ? parts.map((p) => <rect class="edge" x={p.at} width={p.width} height="100" vector-effect="non-scaling-stroke" />) : null}
    </svg>
  );
}

function Cell({ g, mode }: { g: Tree; mode: string }) {
  const holders: Tree[] = g.status?.holders ?? [];
  return (
    <li class={`gpu${isSick(g) ? " sick" : ""}`}>
      <p><strong>GPU {g.spec.index}</strong> {g.spec.model}{g.spec.emulated ? " (emulated)" : ""}</p>
      <Bar g={g} mode={mode} />
      {isSick(g) ? <p>✕ {g.status?.health}: {g.status?.healthReason}</p> : null}
      {holders.length ? holders.slice(0, 8).map((h) => (
        <p><a href={`/jobs/pod/${encodeURIComponent(h.namespace)}/${encodeURIComponent(h.pod)}`}>{h.jobId ?? ""} {h.pod}</a> {h.user}</p>))
        : <p>free</p>}
      {isIdle(g) ? <p>held but idle</p> : null}
      <p class="quiet">{load(g) === "unknown" ? "no sample" : `load ${load(g)}, ${bytes(g.status.sample.memoryUsedBytes)}`}</p>
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
