// Requests to the API of the server that served this page.

export class Refusal extends Error {
  constructor(readonly status: number, message: string) {
    super(message);
  }
}

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
// Objects of the API are read with care at each use: any member may be missing.
// eslint-disable-next-line @typescript-eslint/no-explicit-any
export type Tree = any;

async function refusalOf(answer: Response): Promise<Refusal> {
  if (answer.status === 401) location.assign("/in");
  const text = await answer.text();
  try {
    return new Refusal(answer.status, (JSON.parse(text) as Tree).message ?? text);
  } catch {
    return new Refusal(answer.status, `the server answered ${answer.status}`);
  }
}

export async function ask(path: string, init: RequestInit = {}): Promise<Response> {
  const answer = await fetch(path, { ...init, headers: { "X-Mete": "1", ...init.headers } });
  if (!answer.ok) throw await refusalOf(answer);
  return answer;
}

export async function get(path: string, signal?: AbortSignal): Promise<Tree> {
  return (await ask(path, { signal: signal ?? null })).json();
}

export interface Done {
  tree: Tree;
  warnings: string[];
}

/** Sends a change. `body` is a tree, or text with its type. */
export async function send(method: string, path: string, body?: Tree, type = "application/json"): Promise<Done> {
  const answer = await ask(path, {
    method,
    headers: body === undefined ? {} : { "Content-Type": type },
    body: body === undefined ? null : typeof body === "string" ? body : JSON.stringify(body),
  });
  const warnings = (answer.headers.get("Warning") ?? "").split(/, (?=299 )/).filter(Boolean)
    .map((one) => one.replace(/^299 - "?|"$/g, "").replace(/\\(.)/g, "$1"));
  return { tree: await answer.json(), warnings };
}

export function query(values: Record<string, string | number | undefined>): string {
  const q = new URLSearchParams();
  for (const [key, value] of Object.entries(values)) if (value !== undefined && value !== "") q.set(key, String(value));
  const text = q.toString();
  return text ? `?${text}` : "";
}

const seg = encodeURIComponent;

export const paths = {
  jobs: (q: Record<string, string | number | undefined>) => `/apis/mete.dev/v1/jobs${query(q)}`,
  free: (q: Record<string, string | number | undefined> = {}) => `/apis/mete.dev/v1/free${query(q)}`,
  gpus: "/apis/mete.dev/v1/gpus",
  queues: "/apis/mete.dev/v1/queues",
  nodes: "/api/v1/nodes",
  node: (name: string) => `/api/v1/nodes/${seg(name)}`,
  pods: (ns: string) => `/api/v1/namespaces/${seg(ns)}/pods`,
  pod: (ns: string, name: string) => `/api/v1/namespaces/${seg(ns)}/pods/${seg(name)}`,
  batch: (ns: string, name: string) => `/apis/batch/v1/namespaces/${seg(ns)}/jobs/${seg(name)}`,
  workload: (ns: string, name: string) => `/apis/mete.dev/v1/namespaces/${seg(ns)}/workloads/${seg(name)}`,
};
