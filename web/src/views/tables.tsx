// Queue, Nodes, Node, Quota, Usage, Events, Audit and System: tables of what the API tells.
import { useEffect, useState } from "preact/hooks";
import { setHard, setQueue, setQueueQuota } from "../actions";
import { ask, get, paths, query, type Tree } from "../api";
import { GpuCare, NodeCare } from "../care";
import { bytes, load, since } from "../format";
import { param, setQuery } from "../router";
import { Action, JobLink, Loading, Problem, SaveCsv, Table, useClock, useData, useMay, type Column, type Values } from "../ui";
import { History } from "./history";
import { useMe } from "./now";

const isTrue = (node: Tree, type: string) => node.status?.conditions?.find((c: Tree) => c.type === type);

/* ---- Queue ---- */

function Place({ job }: { job: Tree }) {
  const [text, setText] = useState("");
  useEffect(() => {
    if (job.object !== "pod") return;
    let isOver = false;
    get(paths.workload(job.namespace, job.name)).then((w: Tree) => {
      const r = w.status?.reason;
      if (!isOver && r) setText(`${r.position ? `${r.position} of ${r.queueLength}` : ""}${r.estimate?.from ? `, from ${r.estimate.from}` : ""}`);
    }, () => undefined);
    return () => { isOver = true; };
  }, [job.name, job.namespace]);
  return <>{text}</>;
}

function QueueActions({ queue, done }: { queue: Tree; done: () => void }) {
  const name = queue.metadata.name;
  const about = `queue ${name}`;
  return (
    <span class="row tight">
      {queue.spec?.stopped
        ? <Action label="Start" about={about} question={`Let jobs of queue ${name} start again?`} act={() => setQueue(name, { stopped: null })} done={done} />
        : <Action label="Stop" about={about} question={`Stop queue ${name}? Its waiting jobs do not start until it is started again; running jobs continue.`} act={() => setQueue(name, { stopped: true })} done={done} />}
      <Action label="Weight" about={about} question={`The weight of queue ${name} among the queues with the same parent.`}
        fields={[{ name: "weight", label: "Weight, 1 to 1,000,000", value: String(queue.spec?.weight ?? 1), isRequired: true }]}
        act={async ({ weight }) => {
          if (!/^\d+$/.test(weight!.trim())) throw new Error(`weight "${weight}": want a whole number`);
          return setQueue(name, { weight: Number(weight) });
        }} done={done} />
    </span>
  );
}

export function Queue() {
  useClock();
  const mayChange = useMay("patch", "mete.dev", "queues");
  const queues = useData(paths.queues, ["queues"]);
  const sums = useData(paths.jobs({ limit: 0 }), ["pods", "jobs"]);
  const chosen = param("queue") || "default";
  const jobs = useData(paths.jobs({ queue: chosen, state: "waiting", sort: "submitted", limit: 20 }), ["pods", "jobs"]);
  const sumOf = (name: string) => sums.tree?.queues?.find((q: Tree) => q.name === name);
  return (
    <>
      <h1>Queues</h1>
      <Loading data={queues}>{(tree) => (
        <Table caption="Queues" rows={tree.items.filter((q: Tree) => q.metadata.name !== "root")} keyOf={(q) => q.metadata.name} columns={[
          { name: "Queue", cell: (q) => <><a href={`/queue?queue=${encodeURIComponent(q.metadata.name)}`} aria-current={chosen === q.metadata.name ? "true" : undefined}>{q.metadata.name}</a>{q.spec?.stopped ? " (stopped)" : ""}</> },
          { name: "Parent", cell: (q) => q.spec?.parent },
          { name: "Weight", isNumber: true, cell: (q) => q.spec?.weight },
          { name: "Held GPUs", isNumber: true, cell: (q) => gpusOf(q.status?.gpus) },
          { name: "Share", isNumber: true, cell: (q) => (q.status?.sharePpm === undefined ? "" : `${(q.status.sharePpm / 10000).toFixed(1)} %`) },
          { name: "Running", isNumber: true, cell: (q) => q.status?.running },
          { name: "Waiting", isNumber: true, cell: (q) => q.status?.waiting },
          { name: "On hold", isNumber: true, cell: (q) => q.status?.onHold },
          { name: "Oldest wait", isNumber: true, cell: (q) => since(sumOf(q.metadata.name)?.oldestWaitSince) },
          ...(mayChange ? [{ name: "Change", cell: (q: Tree) => <QueueActions queue={q} done={queues.again} /> }] : []),
        ]} />)}
      </Loading>
      <h2>Waiting in {chosen}</h2>
      <Loading data={jobs}>{(tree) => (
        <>
          <Table caption={`Waiting in ${chosen}`} rows={tree.items} keyOf={(j) => `${j.object}/${j.namespace}/${j.name}`} columns={[
            { name: "Place and estimate", cell: (j) => <Place job={j} /> },
            { name: "Job", isNumber: true, cell: (j) => j.id },
            { name: "Name", cell: (j) => <JobLink job={j} /> },
            { name: "User", cell: (j) => j.user },
            { name: "GPUs", isNumber: true, cell: (j) => j.gpus },
            { name: "Waits", isNumber: true, cell: (j) => since(j.submittedAt) },
            { name: "Reason", cell: (j) => j.reason },
          ]} />
          <p class="quiet">{tree.items.length} of {tree.total}, the longest wait first. <a href={`/jobs?state=waiting&queue=${encodeURIComponent(chosen)}`}>All</a></p>
        </>)}
      </Loading>
    </>
  );
}

/** "1500m" as 1.5 */
function gpusOf(text: string | undefined): string {
  return text === undefined ? "" : text.endsWith("m") ? String(parseInt(text, 10) / 1000) : text;
}

/* ---- nodes ---- */

export function Nodes() {
  const data = useData(paths.nodes, ["nodes"]);
  return (
    <>
      <h1>Nodes</h1>
      <Loading data={data}>{(tree) => (
        <Table caption="Nodes" rows={tree.items} keyOf={(n) => n.metadata.name} columns={[
          { name: "Node", cell: (n) => <a href={`/nodes/${encodeURIComponent(n.metadata.name)}`}>{n.metadata.name}</a> },
          { name: "Ready", cell: (n) => isTrue(n, "Ready")?.status },
          { name: "Takes jobs", cell: (n) => (n.spec?.unschedulable ? "no" : "yes") },
          { name: "GPUs", isNumber: true, cell: (n) => n.status?.capacity?.["nvidia.com/gpu"] ?? "" },
          { name: "Model", cell: (n) => n.metadata.labels?.["nvidia.com/gpu.product"] },
          { name: "Driver", cell: (n) => n.metadata.labels?.["nvidia.com/cuda.driver-version.full"] },
          { name: "CPU", isNumber: true, cell: (n) => n.status?.capacity?.cpu },
        ]} />)}
      </Loading>
    </>
  );
}

export function Node({ rest }: { rest: string[] }) {
  const name = rest[0] ?? "";
  const data = useData(paths.node(name), ["nodes"]);
  const gpus = useData(paths.gpus, ["pods", "nodes", "samples"]);
  const mine: Tree[] = (gpus.tree?.items ?? []).filter((g: Tree) => g.spec.node === name);
  const chosen = mine.find((g) => String(g.spec.index) === param("gpu"));
  return (
    <>
      <h1>Node {name}</h1>
      <Loading data={data}>{(n) => (
        <>
          {n.spec?.unschedulable ? <p class="problem">Drained: no job starts here. {n.metadata.annotations?.["mete.dev/drain-reason"]}</p> : null}
          <p><NodeCare node={n} done={data.again} /></p>
          <dl>
            <dt>Driver</dt><dd>{n.metadata.labels?.["nvidia.com/cuda.driver-version.full"] ?? "none"}</dd>
            <dt>CPU, memory</dt><dd>{n.status?.capacity?.cpu}, {n.status?.capacity?.memory}</dd>
          </dl>
          <h2>Conditions</h2>
          <Table caption="Conditions" rows={n.status?.conditions ?? []} keyOf={(c) => c.type} columns={[
            { name: "Condition", cell: (c) => c.type }, { name: "Status", cell: (c) => c.status },
            { name: "Reason", cell: (c) => c.reason }, { name: "Message", cell: (c) => c.message }, { name: "Since", cell: (c) => c.lastTransitionTime },
          ]} />
        </>)}
      </Loading>
      <h2>GPUs</h2>
      <Table caption="GPUs of the node" rows={mine} keyOf={(g) => g.metadata.name} columns={[
        { name: "GPU", isNumber: true, cell: (g) => <a href={`/nodes/${encodeURIComponent(name)}?gpu=${g.spec.index}`}>{g.spec.index}</a> },
        { name: "Model", cell: (g) => g.spec.product },
        { name: "Health", cell: (g) => [g.status?.health, g.status?.healthReason].filter(Boolean).join(": ") },
        { name: "Jobs", cell: (g) => (g.status?.holders ?? []).map((h: Tree) => <><a href={`/jobs/pod/${encodeURIComponent(h.namespace)}/${encodeURIComponent(h.pod)}`}>{h.pod}</a> </>) },
        { name: "Load", isNumber: true, cell: load },
        { name: "Memory", isNumber: true, cell: (g) => bytes(g.status?.sample?.memoryUsedBytes) },
        { name: "NUMA", isNumber: true, cell: (g) => g.spec.numaNode },
        { name: "Links", isNumber: true, cell: (g) => g.spec.links },
        { name: "ECC", isNumber: true, cell: (g) => g.status?.sample?.eccUncorrected },
        { name: "Last XID", isNumber: true, cell: (g) => g.status?.sample?.xidLast },
        { name: "Change", cell: (g) => <GpuCare gpu={g} done={gpus.again} /> },
      ]} />
      {chosen ? <><h2>GPU {chosen.spec.index}, the last hour</h2><History of={{ uuid: chosen.spec.uuid }} /></> : null}
    </>
  );
}

/* ---- Quota ---- */

const amount = (values: Values, key: string) => (values[key]?.trim() ? { [key]: values[key]!.trim() } : {});
const quotaOf = (values: Values) => ({ ...amount(values, "nominal"), ...amount(values, "borrowLimit"), ...amount(values, "lendLimit") });

const quotaFields = (quota: Tree) => [
  { name: "nominal", label: "Nominal", value: quota.nominal ?? "", isRequired: true, hint: "8" },
  { name: "borrowLimit", label: "Borrows at most", value: quota.borrowLimit ?? "", hint: "no limit" },
  { name: "lendLimit", label: "Lends at most", value: quota.lendLimit ?? "", hint: "all" },
];

/** Changes of one quota of a queue. */
function QueueQuotaActions({ queue, resource, done }: { queue: Tree; resource: string; done: () => void }) {
  const quota = queue.spec?.quotas?.find((q: Tree) => q.resource === resource) ?? {};
  const what = `${resource} of queue ${queue.metadata.name}`;
  return (
    <span class="row tight">
      <Action label="Edit" about={what} question={`The quota of ${what}. Jobs that run continue.`} fields={quotaFields(quota)} done={done}
        act={(values) => setQueueQuota(queue, resource, quotaOf(values))} />
      <Action label="Remove" about={what} question={`Remove the quota of ${what}? The queue then has no limit of its own for it.`} done={done}
        act={() => setQueueQuota(queue, resource, null)} />
    </span>
  );
}

function AddQuota({ queues, done }: { queues: Tree[]; done: () => void }) {
  const fields = [
    { name: "queue", label: "Queue", options: queues.map((q) => q.metadata.name as string), isRequired: true },
    { name: "resource", label: "Resource", value: "gpu", isRequired: true, hint: "gpu, gpu:H100, cpu, memory" },
    ...quotaFields({}),
  ];
  const add = (values: Values) => {
    const queue = queues.find((q) => q.metadata.name === values.queue);
    if (queue?.spec?.quotas?.some((q: Tree) => q.resource === values.resource)) throw new Error(`queue ${values.queue} has a quota of ${values.resource} already: edit it`);
    return setQueueQuota(queue, values.resource!.trim(), quotaOf(values));
  };
  return <Action label="Add a quota" question="A quota of a queue and the queues below it." fields={fields} act={async (values) => add(values)} done={done} />;
}

function HardAction({ row, done }: { row: Tree; done: () => void }) {
  const may = useMay("patch", "", "resourcequotas", row.namespace);
  return may ? <Action label="Edit" about={`${row.resource} of ${row.namespace}/${row.name}`} question={`The limit of ${row.resource} in namespace ${row.namespace}; ${row.used ?? 0} is used.`}
    fields={[{ name: "hard", label: "Limit", value: row.hard, isRequired: true }]} done={done}
    act={({ hard }) => setHard(row.namespace, row.name, row.resource, hard!.trim())} /> : null;
}

export function Quota() {
  const queues = useData(paths.queues, ["queues"]);
  const quotas = useData("/api/v1/resourcequotas", ["resourcequotas"]);
  const mayQueues = useMay("patch", "mete.dev", "queues");
  const all: Tree[] = (queues.tree?.items ?? []).filter((q: Tree) => q.metadata.name !== "root");
  const rows: Tree[] = all.flatMap((q) => (q.spec?.quotas ?? []).map((one: Tree) =>
    ({ object: q, queue: q.metadata.name, ...one, ...(q.status?.quotas ?? []).find((s: Tree) => s.resource === one.resource) })));
  const hard = (quotas.tree?.items ?? []).flatMap((q: Tree) => Object.keys(q.spec?.hard ?? {}).map((resource) =>
    ({ namespace: q.metadata.namespace, name: q.metadata.name, resource, hard: q.spec.hard[resource], used: q.status?.used?.[resource] })));
  const change: Column[] = mayQueues ? [{ name: "Change", cell: (r) => <QueueQuotaActions queue={r.object} resource={r.resource} done={queues.again} /> }] : [];
  return (
    <>
      <h1>Quota</h1>
      <h2>Of queues</h2>
      <Problem text={queues.error} />
      <Table caption="Quotas of queues" rows={rows} keyOf={(r) => `${r.queue}/${r.resource}`} columns={[
        { name: "Queue", cell: (r) => r.queue }, { name: "Resource", cell: (r) => r.resource },
        { name: "Held", isNumber: true, cell: (r) => gpusOf(r.held) }, { name: "Nominal", isNumber: true, cell: (r) => gpusOf(r.nominal) },
        { name: "Borrowed", isNumber: true, cell: (r) => gpusOf(r.borrowed) }, { name: "Borrows at most", isNumber: true, cell: (r) => r.borrowLimit },
        { name: "Lends at most", isNumber: true, cell: (r) => r.lendLimit }, ...change,
      ]} />
      {mayQueues && all.length ? <p><AddQuota queues={all} done={queues.again} /></p> : null}
      <h2>Of namespaces</h2>
      <Problem text={quotas.status === 403 ? "Only users who may read all namespaces see them here. For one namespace: mete quota -n NAMESPACE" : quotas.error} />
      <Table caption="Quotas of namespaces" rows={hard} keyOf={(r) => `${r.namespace}/${r.name}/${r.resource}`} columns={[
        { name: "Namespace", cell: (r) => r.namespace }, { name: "Quota", cell: (r) => r.name }, { name: "Resource", cell: (r) => r.resource },
        { name: "Used", isNumber: true, cell: (r) => r.used }, { name: "Hard", isNumber: true, cell: (r) => r.hard },
        { name: "Change", cell: (r) => <HardAction row={r} done={quotas.again} /> },
      ]} />
    </>
  );
}

/* ---- Usage ---- */

const hours = (d: Tree) => (d ? ((d.seconds + d.nanos / 1e9) / 3600).toFixed(3) : "");
const groups = ["user", "namespace", "queue", "model"];

export function Usage() {
  const by = groups.includes(param("by")) ? param("by") : "user";
  const data = useData(`/apis/mete.dev/v1/usage${query({ by, from: param("from"), to: param("to") })}`, []);
  const money = (tree: Tree, one: Tree) => (one.costMicro === null ? "" : `${(one.costMicro / 1e6).toFixed(2)} ${tree.currency ?? ""}`);
  const rowsOf = (tree: Tree) => [[by, "attempts", "gpu_hours", "cpu_hours", "cost_micro"],
    ...tree.items.map((i: Tree) => [i[by], i.attempts, hours(i.gpuTime), hours(i.cpuTime), i.costMicro])];
  return (
    <>
      <h1>Usage and cost</h1>
      <form class="row" onSubmit={(e) => {
        e.preventDefault();
        const f = new FormData(e.currentTarget);
        setQuery({ from: String(f.get("from")), to: String(f.get("to")) });
      }}>
        <label>By <select value={by} onChange={(e) => setQuery({ by: e.currentTarget.value })}>{groups.map((g) => <option>{g}</option>)}</select></label>
        <label>From <input name="from" value={param("from")} placeholder="2026-11-01" size={12} /></label>
        <label>To <input name="to" value={param("to")} size={12} /></label>
        <button>Show</button>
      </form>
      <Loading data={data}>{(tree) => (
        <>
          <p class="quiet">{tree.from} to {tree.to}</p>
          <Table caption="Usage" rows={[...tree.items, { ...tree.total, [by]: "all" }]} keyOf={(r) => r[by]} columns={[
            { name: by[0]!.toUpperCase() + by.slice(1), cell: (r) => r[by] },
            { name: "Attempts", isNumber: true, cell: (r) => r.attempts },
            { name: "GPU hours", isNumber: true, cell: (r) => hours(r.gpuTime) },
            { name: "Busy GPU hours", isNumber: true, cell: (r) => hours(r.gpuBusyTime) },
            { name: "CPU hours", isNumber: true, cell: (r) => hours(r.cpuTime) },
            { name: "Cost", isNumber: true, cell: (r) => money(tree, r) },
          ]} />
          <SaveCsv name={`usage-by-${by}`} rows={() => rowsOf(tree)} />
          <h2>GPUs</h2>
          <Table caption="GPU hours by model" rows={tree.gpus ?? []} keyOf={(r) => r.model} columns={[
            { name: "Model", cell: (r) => r.model }, { name: "GPUs", isNumber: true, cell: (r) => r.gpus },
            { name: "Hours there", isNumber: true, cell: (r) => hours(r.capacity) }, { name: "Held", isNumber: true, cell: (r) => hours(r.held) },
            { name: "Free", isNumber: true, cell: (r) => hours(r.free) }, { name: "Out of service", isNumber: true, cell: (r) => hours(r.outOfService) },
          ]} />
        </>)}
      </Loading>
    </>
  );
}

/* ---- Events and Audit ---- */

const eventsMax = 2000;

export function Events() {
  const ns = param("namespace");
  const path = `${ns ? `/api/v1/namespaces/${encodeURIComponent(ns)}/events` : "/api/v1/events"}${query({ limit: eventsMax, fieldSelector: param("type") ? `type=${param("type")}` : "" })}`;
  const data = useData(path, ["events"]);
  const find = param("q").toLowerCase();
  const at = (e: Tree) => e.lastTimestamp ?? e.eventTime ?? e.metadata.creationTimestamp ?? "";
  return (
    <>
      <h1>Events</h1>
      <form class="row" role="search" onSubmit={(e) => {
        e.preventDefault();
        const f = new FormData(e.currentTarget);
        setQuery({ q: String(f.get("q")), namespace: String(f.get("namespace")), type: String(f.get("type")) });
      }}>
        <label>Find <input name="q" value={param("q")} /></label>
        <label>Namespace <input name="namespace" value={ns} size={12} /></label>
        <label>Type <select name="type" value={param("type")}><option value="">all</option><option>Warning</option><option>Normal</option></select></label>
        <button>Filter</button> <a href="/audit">Audit</a>
      </form>
      <Loading data={data}>{(tree) => {
        const rows = (tree.items as Tree[]).filter((e) => !find || [e.reason, e.message, e.involvedObject?.name].join(" ").toLowerCase().includes(find))
          .sort((a, b) => at(b).localeCompare(at(a)));
        return (
          <>
            <Table caption="Events" rows={rows.slice(0, 50)} keyOf={(e) => e.metadata.uid} columns={[
              { name: "Time", cell: at }, { name: "Type", cell: (e) => e.type }, { name: "Namespace", cell: (e) => e.metadata.namespace },
              { name: "Object", cell: (e) => (e.involvedObject?.kind === "Pod" ? <a href={`/jobs/pod/${encodeURIComponent(e.metadata.namespace)}/${encodeURIComponent(e.involvedObject.name)}`}>{e.involvedObject.name}</a> : `${e.involvedObject?.kind} ${e.involvedObject?.name}`) },
              { name: "Reason", cell: (e) => e.reason }, { name: "Message", cell: (e) => e.message },
            ]} />
            <SaveCsv name="events" rows={() => [["time", "type", "namespace", "kind", "object", "reason", "message"],
              ...rows.map((e) => [at(e), e.type, e.metadata.namespace, e.involvedObject?.kind, e.involvedObject?.name, e.reason, e.message])]} />
            <p class="quiet">The newest {Math.min(50, rows.length)} of {rows.length}{tree.metadata?.continue ? `, out of the first ${eventsMax}: choose a namespace or a type` : ""}.</p>
          </>
        );
      }}</Loading>
    </>
  );
}

const auditMembers = ["number", "time", "user", "as", "from", "page", "agent", "verb", "group", "resource", "subresource", "namespace", "name", "path", "stage", "code", "hash"];

export function Audit() {
  const [lines, setLines] = useState<Tree[] | null>(null);
  const [error, setError] = useState("");
  const hoursBack = Math.max(1, Number(param("hours")) || 1);
  const user = param("user");
  useEffect(() => {
    const dead = new AbortController();
    setLines(null);
    setError("");
    const since = new Date(Date.now() - hoursBack * 3600e3).toISOString().replace(/\.\d+Z/, "Z");
    ask(`/mete.dev/v1/audit${query({ since, user })}`, { signal: dead.signal }).then((r) => r.text())
      .then((text) => setLines(text.split("\n").filter(Boolean).map((l) => JSON.parse(l) as Tree).reverse()))
      .catch((e: Error) => void (e.name !== "AbortError" && setError(e.message)));
    return () => dead.abort();
  }, [hoursBack, user]);
  return (
    <>
      <h1>Audit</h1>
      <form class="row" role="search" onSubmit={(e) => {
        e.preventDefault();
        const f = new FormData(e.currentTarget);
        setQuery({ hours: String(f.get("hours")), user: String(f.get("user")) });
      }}>
        <label>Hours back <input name="hours" type="number" min={1} value={hoursBack} /></label>
        <label>User <input name="user" value={user} size={12} /></label>
        <button>Filter</button>
      </form>
      <Problem text={error} />
      {lines ? (
        <>
          <Table caption="Audit" rows={lines.slice(0, 200)} keyOf={(l) => String(l.number)} columns={[
            { name: "Number", isNumber: true, cell: (l) => l.number }, { name: "Time", cell: (l) => l.time }, { name: "User", cell: (l) => (l.as ? `${l.user} as ${l.as}` : l.user) },
            { name: "From", cell: (l) => (l.page ? `page, ${l.page}` : l.from) }, { name: "Program", cell: (l) => l.agent }, { name: "Did", cell: (l) => l.verb },
            { name: "What", cell: (l) => [l.resource, l.namespace, l.name, l.path].filter(Boolean).join(" ") }, { name: "Outcome", isNumber: true, cell: (l) => l.code },
          ]} />
          <SaveCsv name="audit" rows={() => [auditMembers, ...lines.map((l) => auditMembers.map((m) => l[m]))]} />
          <p class="quiet">The newest {Math.min(200, lines.length)} of {lines.length}. mete audit --verify checks the chain.</p>
        </>) : error ? null : <p class="quiet">Loading…</p>}
    </>
  );
}

/* ---- System ---- */

export function System() {
  const version = useData("/version", []);
  const nodes = useData(paths.nodes, ["nodes"]);
  const me = useMe();
  const [own, setOwn] = useState<[string, string][]>([]);
  const [error, setError] = useState("");
  useEffect(() => {
    // Of the metrics, those of the system as a whole: without labels.
    ask("/metrics?families=mete").then((r) => r.text())
      .then((text) => setOwn(text.split("\n").map((l) => /^(mete_[a-z_]+) ([-+0-9.eE]+)/.exec(l)).filter((m) => m !== null).map((m): [string, string] => [m[1]!, m[2]!])))
      .catch((e: Error) => setError(e.message));
  }, []);
  const late = (nodes.tree?.items ?? []).filter((n: Tree) => isTrue(n, "Ready")?.status !== "True");
  return (
    <>
      <h1>System</h1>
      <dl>
        <dt>Version</dt><dd>{version.tree?.gitVersion ?? version.error}</dd>
        <dt>Machine</dt><dd>{me?.machine}</dd>
        <dt>This session</dt><dd>{me ? `of ${me.user}, ends in ${Math.round(me.expiresInSeconds / 3600)} h` : ""}</dd>
        <dt>Nodes</dt><dd>{nodes.tree ? `${nodes.tree.items.length - late.length} of ${nodes.tree.items.length} ready` : nodes.error}{late.length ? `; late: ${late.map((n: Tree) => n.metadata.name).join(", ")}` : ""}</dd>
      </dl>
      <h2>Figures</h2>
      <Problem text={error} />
      <Table caption="Figures" rows={own} keyOf={(r) => r[0]} columns={[{ name: "Metric", cell: (r) => r[0] }, { name: "Value", isNumber: true, cell: (r) => r[1] }]} />
    </>
  );
}
