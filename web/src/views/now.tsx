// Now: what could start, my jobs, queues with their oldest wait, sick gpus.
import { paths, get, type Tree } from "../api";
import { age, count } from "../format";
import { jobColumns, Loading, Table, useClock, useData } from "../ui";
import { useEffect, useState } from "preact/hooks";

let me: Promise<Tree> | null = null;

export function useMe(): Tree | null {
  const [tree, setTree] = useState<Tree | null>(null);
  useEffect(() => {
    me ??= get("/page/me");
    void me.then(setTree, () => undefined);
  }, []);
  return tree;
}

/** Why a job gets fewer gpus than are free on one node; as far as the server tells. */
export function keptText(m: Tree, waiting: number): string {
  if (m.largest >= m.mostOnOneNode) return "";
  const by = m.kept > 0 ? `${m.kept} free ${m.kept === 1 ? "one is" : "ones are"} kept by reservation ${m.keptBy} until ${m.keptUntil}`
    : waiting > 0 ? `free ones are kept for the ${count(waiting, "job that waits", "jobs that wait")}, unless a quota is full` : "a quota is full, or room is reserved for later";
  return `: ${by}${m.largestBrief > m.largest ? `; a job of at most a minute gets up to ${m.largestBrief}` : ""}`;
}

function Free() {
  const jobs = useData(paths.jobs({ limit: 0 }), ["pods", "jobs"]);
  const waiting: number = jobs.tree?.counts?.waiting ?? 0;
  const data = useData(paths.free(), ["pods", "nodes", "queues", "reservations"]);
  return (
    <section class="panel" aria-labelledby="free">
      <h2 id="free">You can start now</h2>
      <Loading data={data}>{(tree) => (tree.models ?? []).length === 0 ? <p>This cluster has no GPU.</p> : (
        <ul>{tree.models.map((m: Tree) => (
          <li>
            <strong>{m.model}</strong>: {m.free} of {m.gpus} free, {m.largest > 0 ? `up to ${m.largest} for one job` : "none for a job now"}{keptText(m, waiting)}
            <ul>{(m.starts ?? []).filter((s: Tree) => s.jobs > 0).map((s: Tree) => (
              <li><a href={`/submit?gpus=${s.gpus}`}>{s.gpus} × {m.model}</a>: {s.orMore ? `${s.jobs} or more` : s.jobs} {s.jobs === 1 ? "job" : "jobs side by side"}</li>))}
            </ul>
          </li>))}
        </ul>)}
      </Loading>
    </section>
  );
}

function Mine() {
  const user = useMe()?.user as string | undefined;
  const data = useData(user ? paths.jobs({ user, state: "waiting,starting,running,ending", limit: 10 }) : null, ["pods", "jobs"]);
  return (
    <section aria-labelledby="mine">
      <h2 id="mine">My jobs</h2>
      <Loading data={data}>{(tree) => (
        <>
          <Table caption="My jobs" rows={tree.items} keyOf={(j) => `${j.object}/${j.namespace}/${j.name}`}
            columns={[...jobColumns.map((c) => ({ ...c, sort: undefined })), { name: "Reason", cell: (j) => j.reason }]} />
          <p><a href={`/jobs?user=${encodeURIComponent(user ?? "")}`}>All my jobs</a></p>
        </>)}
      </Loading>
    </section>
  );
}

function Queues() {
  useClock();
  const data = useData(paths.jobs({ limit: 0 }), ["pods", "jobs"]);
  return (
    <section class="panel" aria-labelledby="queues">
      <h2 id="queues">Queues</h2>
      <Loading data={data}>{(tree) => (
        <Table caption="Queues" rows={tree.queues} keyOf={(q) => q.name} columns={[
          { name: "Queue", cell: (q) => <a href={`/jobs?queue=${encodeURIComponent(q.name)}`}>{q.name}</a> },
          { name: "Running", isNumber: true, cell: (q) => q.running },
          { name: "Waiting", isNumber: true, cell: (q) => q.waiting },
          { name: "GPUs wanted", isNumber: true, cell: (q) => q.gpusWaiting },
          { name: "Oldest wait", isNumber: true, cell: (q) => q.oldestWaitSince ? age(Date.now() - Date.parse(q.oldestWaitSince)) : "" },
        ]} />)}
      </Loading>
    </section>
  );
}

function Sick() {
  const data = useData(paths.gpus, ["nodes", "samples"]);
  const sick = (data.tree?.items ?? []).filter((g: Tree) => g.status?.health !== "healthy");
  if (!sick.length) return null;
  return (
    <section class="panel" aria-labelledby="sick">
      <h2 id="sick">Out of service</h2>
      <ul>{sick.map((g: Tree) => <li><a href="/gpus">{g.spec.node} GPU {g.spec.index}</a>: {g.status?.health} {g.status?.healthReason}</li>)}</ul>
    </section>
  );
}

export function Now() {
  return (
    <>
      <h1>Now</h1>
      <div class="grid"><Free /><Queues /><Sick /></div>
      <Mine />
    </>
  );
}
