// Changes of jobs, nodes, gpus and quotas, as requests to the API. Each function throws the server's refusal.
import { get, paths, query, Refusal, send, type Tree } from "./api";

const merge = "application/merge-patch+json";
const tries = 10; // the node's own reports change a Node between a read and a write

export const jobPath = (j: Tree) => (j.object === "job" ? paths.batch(j.namespace, j.name) : paths.pod(j.namespace, j.name));
export const jobTitle = (j: Tree) => `${j.id} ${j.name} (${j.state})`;
export const isOver = (j: Tree) => j.state === "finished" || j.state === "failed";

/** Does `fn` for each job, and says at the end which were refused. */
export async function eachJob(jobs: Tree[], fn: (job: Tree) => Promise<unknown>): Promise<void> {
  const faults: string[] = [];
  for (const job of jobs)
    try {
      await fn(job);
    } catch (e) {
      faults.push(jobs.length > 1 ? `${job.id} ${job.name}: ${(e as Error).message}` : (e as Error).message);
    }
  if (faults.length === 1 && jobs.length === 1) throw new Error(faults[0]);
  if (faults.length) throw new Error(`${faults.length} of ${jobs.length} refused. ${faults.join(". ")}`);
}

const isGone = (e: unknown) => e instanceof Refusal && e.status === 404;

/** The pods of a Job that `fieldSelector` chooses. */
async function podsOf(job: Tree, fieldSelector: string): Promise<Tree[]> {
  const { metadata } = await get(jobPath(job));
  const labelSelector = `batch.kubernetes.io/controller-uid=${metadata.uid}`;
  const pods: Tree[] = [];
  let token = "";
  do {
    const list: Tree = await get(`${paths.pods(job.namespace)}${query({ labelSelector, fieldSelector, limit: 500, continue: token })}`);
    pods.push(...list.items);
    token = list.metadata?.continue ?? "";
  } while (token);
  return pods;
}

const podPath = (pod: Tree) => paths.pod(pod.metadata.namespace, pod.metadata.name);

/** Changes a waiting job; of a Job also its waiting pods. Pods that have started stay as they are. */
async function changeWaiting(job: Tree, metadata: Tree): Promise<void> {
  if (isOver(job) || (job.object === "pod" && job.state !== "waiting"))
    throw new Error(`it is ${job.state}, and only waiting jobs are held, released or moved`);
  await send("PATCH", jobPath(job), { metadata }, merge);
  if (job.object !== "job") return;
  for (const pod of await podsOf(job, "spec.nodeName=,status.phase=Pending"))
    await send("PATCH", podPath(pod), { metadata }, merge).catch((e) => {
      if (!isGone(e)) throw e;
    });
}

export const holdJob = (job: Tree, by: "user" | "admin" = "user") => changeWaiting(job, { annotations: { "mete.dev/hold": by } });
export const releaseJob = (job: Tree) => changeWaiting(job, { annotations: { "mete.dev/hold": null } });
/** The priority in the queue; "" is that of the job's class. A Job's waiting pods have it, and the Job does not. */
export async function setPriority(job: Tree, priority: string): Promise<void> {
  const metadata = { annotations: { "mete.dev/priority": priority === "" ? null : priority } };
  if (job.object !== "job") return changeWaiting(job, metadata);
  const pods = await podsOf(job, "spec.nodeName=,status.phase=Pending");
  if (!pods.length) throw new Error("it has no waiting pods");
  for (const pod of pods) await send("PATCH", podPath(pod), { metadata }, merge);
}
export const moveJob = (job: Tree, queue: string) => changeWaiting(job, { labels: { "mete.dev/queue": queue } });
export const cancelJob = (job: Tree) => send("DELETE", jobPath(job), { propagationPolicy: "Background" });

const evict = (path: string, name: string) => send("POST", `${path}/eviction`,
  { apiVersion: "policy/v1", kind: "Eviction", metadata: { name, annotations: { "mete.dev/requeue": "now" } } });

/** Ends a running job, and puts it back into its queue; of a Job its running pods. */
export async function requeueJob(job: Tree): Promise<void> {
  if (job.object !== "job") {
    await evict(jobPath(job), job.name);
    return;
  }
  const pods = (await podsOf(job, "spec.nodeName!=,status.phase!=Succeeded,status.phase!=Failed")).filter((p) => !p.metadata.deletionTimestamp);
  if (!pods.length) throw new Error("it has no running pods");
  for (const pod of pods) await evict(podPath(pod), pod.metadata.name);
}

/** Takes a node out of use; reason null: puts it back into use. */
export const drainNode = (name: string, reason: string | null) => send("PATCH", paths.node(name),
  { metadata: { annotations: { "mete.dev/drain-reason": reason } }, spec: { unschedulable: reason === null ? null : true } }, merge);

function parsed(text: string | undefined, fallback: Tree): Tree {
  try {
    return JSON.parse(text ?? "") ?? fallback;
  } catch {
    return fallback;
  }
}

/** What an administrator says about a gpu: drained for a reason, or (null) resumed. */
function careOf(node: Tree, uuid: string, reason: string | null): string | null {
  const gpu = (parsed(node.metadata.annotations?.["mete.dev/gpus"], []) as Tree[]).find((g) => g.uuid === uuid);
  const { [uuid]: before, ...care } = parsed(node.metadata.annotations?.["mete.dev/gpu-care"], {});
  const { drained: _drained, ...rest } = before ?? {};
  if (!gpu) throw new Error("the node has no such GPU any more");
  const own = reason === null ? { ...rest, ...(gpu.healthSince ? { resumed: gpu.healthSince } : {}) } : { ...rest, drained: reason };
  if (Object.keys(own).length) care[uuid] = own;
  return Object.keys(care).length ? JSON.stringify(care) : null;
}

export async function drainGpu(nodeName: string, uuid: string, reason: string | null): Promise<void> {
  for (let i = 1; ; i++) {
    const node = await get(paths.node(nodeName));
    const annotations = { "mete.dev/gpu-care": careOf(node, uuid, reason) };
    try {
      await send("PATCH", paths.node(nodeName), { metadata: { resourceVersion: node.metadata.resourceVersion, annotations } }, merge);
      return;
    } catch (e) {
      if (!(e instanceof Refusal) || e.status !== 409 || i === tries) throw e;
    }
  }
}

/** Sets a queue's quota of one resource; `quota` null: removes it. Refused when another change came between. */
export function setQueueQuota(queue: Tree, resource: string, quota: Tree | null): Promise<unknown> {
  const others = (queue.spec?.quotas ?? []).filter((q: Tree) => q.resource !== resource);
  const { name, resourceVersion } = queue.metadata;
  return send("PATCH", `${paths.queues}/${encodeURIComponent(name)}`,
    { metadata: { resourceVersion }, spec: { quotas: quota ? [...others, { resource, ...quota }] : others } }, merge);
}

export const setQueue = (name: string, spec: Tree) => send("PATCH", `${paths.queues}/${encodeURIComponent(name)}`, { spec }, merge);

/** Sets one limit of a namespace's quota. */
export const setHard = (namespace: string, name: string, resource: string, amount: string) =>
  send("PATCH", `/api/v1/namespaces/${encodeURIComponent(namespace)}/resourcequotas/${encodeURIComponent(name)}`, { spec: { hard: { [resource]: amount } } }, merge);
