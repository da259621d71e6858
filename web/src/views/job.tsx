// Job: state and why first, then its time line, devices, log and events.
import { useEffect, useRef, useState } from "preact/hooks";
import { cancelJob, holdJob, isOver, moveJob, releaseJob, requeueJob, setPriority } from "../actions";
import { ask, paths, query, type Tree } from "../api";
import { age, bytes, count, load, since } from "../format";
import { eachLine } from "../live";
import { go, param, setQuery } from "../router";
import { History } from "./history";
import { Action, Loading, Problem, State, Table, useClock, useData, useMay } from "../ui";

function Why({ workload, job }: { workload: Tree | null; job: Tree }) {
  const reason = workload?.status?.reason;
  const text = reason?.message ?? job?.reason;
  if (!text) return null;
  const columns = [
    { name: "Node", cell: (n: Tree) => n.name },
    { name: "Free", isNumber: true, cell: (n: Tree) => (n.free === null || n.free === undefined ? "" : `${n.free} of ${n.capacity ?? "?"}`) },
    { name: "Why not", cell: (n: Tree) => [n.text, n.until ? `room by ${n.until}` : ""].filter(Boolean).join("; ") },
  ];
  return (
    <section class="panel" aria-labelledby="why">
      <h2 id="why">Why</h2>
      <p><strong>{reason?.code ? `${reason.code}: ` : ""}</strong>{text}</p>
      {reason?.position ? <p>Place {reason.position} of {reason.queueLength} in queue {workload.spec?.queue}.</p> : null}
      {reason?.nodes?.length ? <Table caption="Nodes" columns={columns} rows={reason.nodes} keyOf={(n) => n.name + n.resource} /> : null}
      {reason?.quotas?.length ? <ul>{reason.quotas.map((q: Tree) => (
        <li>Quota {q.queue}: holds {q.held} {q.resource === "gpu" ? "GPUs" : q.resource}, nominal {q.nominal}</li>))}</ul> : null}
      {reason?.estimate?.from ? <p>Estimated start: {reason.estimate.from}{reason.estimate.to ? ` to ${reason.estimate.to}` : ""} ({reason.estimate.basis}; not a promise)</p> : null}
      {reason?.wouldStartIf?.length ? <><p>Would start now if:</p><ul>{reason.wouldStartIf.map((one: string) => <li>{one}</li>)}</ul></> : null}
    </section>
  );
}

function Facts({ job, object }: { job: Tree; object: Tree }) {
  useClock();
  const facts: [string, Tree][] = [
    ["Namespace", job.namespace], ["User", job.user], ["Queue", job.queue], ["GPUs", job.gpus], ["Priority", object?.metadata?.annotations?.["mete.dev/priority"]], ["Node", job.node && <a href={`/nodes/${encodeURIComponent(job.node)}`}>{job.node}</a>],
    ["Submitted", job.submittedAt && `${job.submittedAt} (${since(job.submittedAt)} ago)`],
    ["Started", job.startedAt && `${job.startedAt} (${age(Date.parse(job.startedAt) - Date.parse(job.submittedAt))} after that)`],
    ["Ended", job.endedAt && `${job.endedAt} (ran ${job.startedAt ? age(Date.parse(job.endedAt) - Date.parse(job.startedAt)) : "never"})`],
    ["Exit code", job.exitCode],
    ["Image", (object?.spec?.containers ?? object?.spec?.template?.spec?.containers)?.map((c: Tree) => c.image).join(", ")],
    ["Command", (object?.spec?.containers ?? object?.spec?.template?.spec?.containers)?.map((c: Tree) => [...(c.command ?? []), ...(c.args ?? [])].join(" ")).join(" | ")],
  ];
  return <dl>{facts.filter(([, v]) => v !== null && v !== undefined && v !== "").map(([k, v]) => <><dt>{k}</dt><dd>{v}</dd></>)}</dl>;
}

const linesMax = 10000;

function Log({ ns, pod, containers }: { ns: string; pod: string; containers: string[] }) {
  const container = containers.includes(param("container")) ? param("container") : containers[0] ?? "";
  const [error, setError] = useState("");
  const [find, setFind] = useState("");
  const [isFollowing, setFollowing] = useState(true);
  const [lines, setLines] = useState<string[]>([]);
  const box = useRef<HTMLPreElement>(null);
  useEffect(() => {
    let dead = new AbortController();
    let timer = 0;
    let kept: string[] = [];
    const show = () => {
      timer = 0;
      setLines(kept.slice());
    };
    const add = (line: string) => {
      kept.push(line);
      if (kept.length > linesMax) kept = kept.slice(-linesMax);
      if (!timer) timer = window.setTimeout(show, 100);
    };
    const read = async () => {
      dead = new AbortController();
      kept = [];
      setError("");
      try {
        await eachLine(await ask(`${paths.pod(ns, pod)}/log${query({ container, follow: "true", tailLines: linesMax })}`, { signal: dead.signal }), add);
      } catch (e) {
        if ((e as Error).name !== "AbortError") setError((e as Error).message);
      }
    };
    const turn = () => {
      dead.abort();
      if (!document.hidden) void read();
    };
    document.addEventListener("visibilitychange", turn);
    turn();
    return () => {
      dead.abort();
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", turn);
    };
  }, [ns, pod, container]);
  useEffect(() => {
    if (isFollowing && box.current) box.current.scrollTop = box.current.scrollHeight;
  }, [lines, isFollowing]);
  const shown = find ? lines.filter((line) => line.toLowerCase().includes(find.toLowerCase())) : lines;
  return (
    <section aria-labelledby="log">
      <h2 id="log">Log</h2>
      <div class="row">
        {containers.length > 1 ? <label>Container <select value={container} onChange={(e) => setQuery({ container: e.currentTarget.value }, true)}>
          {containers.map((c) => <option>{c}</option>)}</select></label> : null}
        <label>Find <input type="search" value={find} onInput={(e) => setFind(e.currentTarget.value)} /></label>
        <label><input type="checkbox" checked={isFollowing} onChange={(e) => setFollowing(e.currentTarget.checked)} /> Follow</label>
        <span class="quiet">{shown.length.toLocaleString("en")} lines{lines.length === linesMax ? " (the last)" : ""}</span>
      </div>
      <Problem text={error} />
      <pre class="log" ref={box} tabIndex={0} role="log" aria-live="off" aria-label="Log of the container">{shown.join("\n")}</pre>
    </section>
  );
}

function Events({ ns, name }: { ns: string; name: string }) {
  const path = `/api/v1/namespaces/${encodeURIComponent(ns)}/events${query({ fieldSelector: `involvedObject.name=${name}` })}`;
  const data = useData(path, ["events"]);
  return (
    <section aria-labelledby="events">
      <h2 id="events">Events</h2>
      <Loading data={data}>{(tree) => (
        <Table caption="Events" rows={tree.items} keyOf={(e) => e.metadata.uid} columns={[
          { name: "Time", cell: (e) => e.lastTimestamp ?? e.eventTime ?? e.metadata.creationTimestamp },
          { name: "Reason", cell: (e) => e.reason },
          { name: "Message", cell: (e) => e.message },
        ]} />)}
      </Loading>
    </section>
  );
}

function Devices({ object, gpus }: { object: Tree; gpus: Tree[] }) {
  const name = object.metadata.name;
  const held = gpus.flatMap((g) => (g.status?.holders ?? []).filter((h: Tree) => h.pod === name && h.namespace === object.metadata.namespace)
    .map((h: Tree) => ({ g, h })));
  if (!held.length) return null;
  return (
    <section aria-labelledby="devices">
      <h2 id="devices">GPUs</h2>
      <Table caption="GPUs of the job" rows={held} keyOf={({ h }) => h.device} columns={[
        { name: "Node", cell: ({ g }) => g.spec.node },
        { name: "GPU", isNumber: true, cell: ({ g }) => g.spec.index },
        { name: "Model", cell: ({ g }) => g.spec.product },
        { name: "Device", cell: ({ h }) => h.device },
        { name: "Load of the GPU", isNumber: true, cell: ({ g }) => load(g) },
        { name: "Memory of the GPU", isNumber: true, cell: ({ g }) => bytes(g.status.sample?.memoryUsedBytes) },
      ]} />
    </section>
  );
}

/** What the user may do with the job. */
function Actions({ job, object }: { job: Tree; object: Tree }) {
  const isBatch = job.object === "job";
  const [group, resource] = isBatch ? ["batch", "jobs"] : ["", "pods"];
  const mayCancel = useMay("delete", group!, resource!, job.namespace);
  const mayChange = useMay("patch", group!, resource!, job.namespace);
  const mayRequeue = useMay("create", "", "pods", job.namespace, "eviction");
  const isAdmin = useMay("patch", "", "nodes");
  const queues = useData(mayChange ? paths.queues : null, ["queues"]);
  const title = `job ${job.id} ${job.name}`;
  const hold = object.metadata.annotations?.["mete.dev/hold"];
  const names: string[] = (queues.tree?.items ?? []).map((q: Tree) => q.metadata.name).filter((n: string) => n !== "root" && n !== job.queue);
  const isWaiting = job.state === "waiting" || (isBatch && !isOver(job));
  const isRunning = job.state === "running" || job.state === "starting";
  if (isOver(job))
    return mayCancel ? <Action label="Delete" question={`Delete ${title}, with its log?`} act={() => cancelJob(job)} done={() => go("/jobs")} /> : null;
  return (
    <>
      {mayCancel ? <Action label="Cancel" question={`Cancel ${title}? Its containers are stopped.`} act={() => cancelJob(job)} /> : null}
      {mayChange && isWaiting && !hold ? (
        <Action label="Hold" question={`Keep ${title} from starting, until it is released? It keeps its place and its age.`}
          fields={isAdmin ? [{ name: "admin", label: "Only an administrator can release it", isCheck: true }] : []}
          act={({ admin }) => holdJob(job, admin ? "admin" : "user")} />) : null}
      {mayChange && isWaiting && hold && (hold !== "admin" || isAdmin) ? <Action label="Release" question={`Let ${title} start when its turn comes?`} act={() => releaseJob(job)} /> : null}
      {mayChange && isWaiting && names.length ? (
        <Action label="Move" question={`Move ${title} from queue ${job.queue} to another one? It keeps its age.`}
          fields={[{ name: "queue", label: "Queue", options: names, isRequired: true }]} act={({ queue }) => moveJob(job, queue!)} />) : null}
      {mayChange && isWaiting ? (
        <Action label="Priority" question={`The priority of ${title} among the waiting jobs of its queue. Its class gives ${object.spec?.priority ?? 0}; only administrators set more.`}
          fields={[{ name: "priority", label: "Priority", value: object.metadata.annotations?.["mete.dev/priority"] ?? "", hint: "that of its class" }]}
          act={({ priority }) => setPriority(job, priority!.trim())} />) : null}
      {mayRequeue && isRunning ? <Action label="Requeue" question={`End ${title}, and put it back into its queue? It starts again from its beginning, or from its checkpoint.`} act={() => requeueJob(job)} /> : null}
    </>
  );
}

/** What would start if the job ended: a trial of the scheduler, made when it is opened. */
function WithoutIt({ ns, pods }: { ns: string; pods: Tree[] }) {
  const [isOpen, setOpen] = useState(false);
  const changes = pods.filter((p) => p.spec?.nodeName).map((p) => `end:${ns}/${p.metadata.name}`).join(";");
  const data = useData(isOpen && changes ? `/apis/mete.dev/v1/what-if${query({ changes })}` : null, ["pods", "nodes", "queues"]);
  const others = (data.tree?.othersStarted ?? 0) as number;
  if (!changes) return null;
  return (
    <details onToggle={(e) => setOpen(e.currentTarget.open)}>
      <summary>If this job ended now</summary>
      {isOpen ? <Loading data={data}>{(tree) => (
        <>
          {tree.started?.length ? <p>These jobs would start:</p> : <p>{others ? "" : "No job would start."}</p>}
          {tree.started?.length ? <ul>{tree.started.map((w: Tree) => <li><a href={`/jobs/pod/${encodeURIComponent(w.namespace)}/${encodeURIComponent(w.name)}`}>{w.jobId ?? ""} {w.name}</a></li>)}</ul> : null}
          {others ? <p>{count(others, "job")} of namespaces that you may not see would start.</p> : null}
        </>)}
      </Loading> : null}
    </details>
  );
}

export function Job({ rest }: { rest: string[] }) {
  const [kind = "", ns = "", name = ""] = rest;
  const isBatch = kind === "job";
  const data = useData(isBatch ? paths.batch(ns, name) : paths.pod(ns, name), ["pods", "jobs"]);
  const facts = useData(paths.jobs({ namespace: ns, q: name, limit: 500 }), ["pods", "jobs"]);
  const workload = useData(isBatch ? null : paths.workload(ns, name), ["pods", "nodes", "queues"]);
  const uid = data.tree?.metadata?.uid;
  const parts = useData(isBatch && uid ? `${paths.pods(ns)}${query({ labelSelector: `batch.kubernetes.io/controller-uid=${uid}`, limit: 100 })}` : null, ["pods"]);
  const gpus = useData(paths.gpus, ["pods", "samples"]);
  const job = facts.tree?.items?.find((j: Tree) => j.name === name && j.namespace === ns && j.object === kind);
  const object = data.tree;
  const isEnded = Boolean(job && isOver(job));
  const pods: Tree[] = isBatch ? parts.tree?.items ?? [] : object ? [object] : [];
  const shown = pods.find((p) => p.metadata.name === param("pod")) ?? pods[0];
  return (
    <>
      <div class="row">
        <h1>Job {job?.id ?? ""} {name}</h1>
        {job ? <State name={job.state} /> : null}
      </div>
      <p class="sr" role="status">{job ? `Job ${job.id} is ${job.state}` : ""}</p>
      <Problem text={data.error} />
      {job && object ? <Why workload={isEnded ? null : workload.tree} job={job} /> : null}
      <div class="row">
        {job && object ? <Actions job={job} object={object} /> : null}
        {object ? <a href={`/submit?like=${encodeURIComponent(`${kind}/${ns}/${name}`)}`}>Submit one like it</a> : null}
        {job ? <code>mete show {job.id}</code> : null}
      </div>
      {job && object ? <Facts job={job} object={object} /> : null}
      {job && !isEnded ? <WithoutIt ns={ns} pods={pods} /> : null}
      {!isBatch && object ? <Devices object={object} gpus={gpus.tree?.items ?? []} /> : null}
      {!isBatch && object?.spec?.nodeName ? <section aria-labelledby="use"><h2 id="use">Use over its life</h2><History of={{ pod: `${ns}/${name}` }} /></section> : null}
      {isBatch && pods.length ? (
        <section aria-labelledby="pods"><h2 id="pods">Pods</h2>
          <Table caption="Pods" rows={pods} keyOf={(p) => p.metadata.uid} columns={[
            { name: "Pod", cell: (p) => <a href={`?pod=${encodeURIComponent(p.metadata.name)}`}>{p.metadata.name}</a> },
            { name: "Phase", cell: (p) => p.status?.phase },
            { name: "Node", cell: (p) => p.spec?.nodeName },
          ]} />
        </section>) : null}
      {shown?.spec?.nodeName ? <Log ns={ns} pod={shown.metadata.name} containers={shown.spec.containers.map((c: Tree) => c.name)} /> : null}
      <Events ns={ns} name={name} />
      {object ? <details><summary>Object as JSON</summary><pre tabIndex={0}>{JSON.stringify(object, null, 2)}</pre></details> : null}
    </>
  );
}
