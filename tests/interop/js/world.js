// The common parts of the scripts: the client set up from a kubeconfig, waiting with deadlines, streams.
import { Readable, Writable } from 'node:stream';
import * as k8s from '@kubernetes/client-node';

export const NS = 'default';
export const config = new k8s.KubeConfig();
config.loadFromFile(process.argv[2]);

export const core = config.makeApiClient(k8s.CoreV1Api);
export const batch = config.makeApiClient(k8s.BatchV1Api);

export function patchAs(strategy) {
  return k8s.setHeaderOptions('Content-Type', strategy);
}

/** Looks at `condition` until it is true and gives its value; fails loudly after the deadline. */
export async function wait(condition, what, deadlineMs = 30000) {
  const end = Date.now() + deadlineMs;
  for (;;) {
    const value = await condition();
    if (value) return value;
    if (Date.now() > end) throw new Error(`not within ${deadlineMs} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** The HTTP status that a promise is refused with, and what was said. */
export async function refusal(promise) {
  try {
    await promise;
  } catch (e) {
    const body = typeof e.body === 'string' ? JSON.parse(e.body) : e.body;
    return { code: e.code, message: body?.message ?? '', reason: body?.reason };
  }
  throw new Error('it was accepted');
}

export class Sink extends Writable {
  text = '';

  _write(piece, encoding, done) {
    this.text += piece.toString();
    done();
  }
}

/** An output that has a size, as a terminal has. */
export class Screen extends Sink {
  rows = 41;
  columns = 99;
}

export class Typed extends Readable {
  _read() {}
}

/** A pod's manifest; `script` is for sh -c. */
export function pod(name, script, spec = {}, container = {}) {
  return {
    metadata: { name, labels: { app: name } },
    spec: {
      restartPolicy: 'Never',
      containers: [{ name: 'main', image: 'host', command: ['sh', '-c', script], ...container }],
      ...spec,
    },
  };
}

export async function phase(name) {
  return (await core.readNamespacedPod({ name, namespace: NS })).status.phase;
}

export async function start(name, script, spec, container) {
  await core.createNamespacedPod({ namespace: NS, body: pod(name, script, spec, container) });
  await wait(async () => (await phase(name)) === 'Running', `pod ${name} runs`);
}

export async function isGone(read) {
  try {
    await read();
    return false;
  } catch (e) {
    if (e.code === 404) return true;
    throw e;
  }
}

/** Runs the claims one after another; one that fails ends the program with its name. */
export async function claims(all) {
  for (const claim of all) {
    try {
      await claim();
    } catch (e) {
      console.error(`not ok ${claim.name}: ${e.stack}${e.body ? `\n${e.body}` : ''}`);
      process.exit(1);
    }
    console.log(`ok ${claim.name}`);
  }
  process.exit(0);
}
