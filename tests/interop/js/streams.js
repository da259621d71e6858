// Streams of a running container: exec, attach, cp, logs.
import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import * as k8s from '@kubernetes/client-node';
import { NS, Screen, Sink, Typed, claims, config, core, start, wait } from './world.js';

const COPY_SIZE = 20 * 1000 * 1000;
const directory = process.argv[3];
const exec = new k8s.Exec(config);

/** Runs a program in the pod `box` to its end: its exit code and what it wrote. */
async function run(command, { stdin = null, tty = false, out = new Sink() } = {}) {
  const err = tty ? null : new Sink();
  let status;
  const socket = await exec.exec(NS, 'box', 'main', command, out, err, stdin, tty, (s) => (status = s));
  await wait(() => status, `${command} ends`);
  const cause = status.details?.causes?.find((c) => c.reason === 'ExitCode');
  return { code: status.status === 'Success' ? 0 : Number(cause?.message), out: out.text, err: err?.text, protocol: socket.protocol };
}

async function programsRunAndTellTheirEnd() {
  await start('box', 'exec sleep 1000', {}, { workingDir: directory, env: [{ name: 'GREETING', value: 'hello' }] });
  const done = await run(['sh', '-c', 'echo $GREETING; echo wrong >&2; exit 7']);
  assert.deepEqual(done, { code: 7, out: 'hello\n', err: 'wrong\n', protocol: 'v5.channel.k8s.io' });
  assert.equal((await run(['true'])).code, 0);
}

async function inputEndsWhenItsStreamEnds() {
  const stdin = new Typed();
  stdin.push('a line\n');
  stdin.push(null);
  assert.equal((await run(['sh', '-c', 'cat; echo end'], { stdin })).out, 'a line\nend\n');
}

async function aTerminalHasASize() {
  const stdin = new Typed();
  const out = new Screen();
  const session = run(['sh'], { stdin, tty: true, out });
  // Matches only at the ends of lines: a prompt may precede a program's output.
  stdin.push('tty; echo begin; while [ "$(stty size)" != "41 99" ]; do :; done; stty size\n');
  await wait(() => out.text.includes('41 99\r\n'), 'the size it was opened with');
  out.rows = 20;
  out.emit('resize');
  stdin.push('while [ "$(stty size)" != "20 99" ]; do :; done; stty size\n');
  await wait(() => out.text.includes('20 99\r\n'), 'its new size');
  stdin.push('sh -c "echo run""ning; exec sleep 1000"\n');
  await wait(() => out.text.includes('running'), 'what is to be interrupted runs');
  stdin.push('\x03');
  stdin.push('exit 9\n');
  const done = await session;
  assert.equal(done.code, 9);
  assert.match(done.out, /\/dev\/pts\//);
}

async function whoIsAttachedHearsAndSpeaks() {
  await start('listens', 'while read word; do echo got $word; done', {}, { stdin: true, stdinOnce: true });
  const stdin = new Typed();
  const out = new Sink();
  await new k8s.Attach(config).attach(NS, 'listens', 'main', out, null, stdin, false);
  stdin.push('one\n');
  await wait(() => out.text === 'got one\n', 'it answers');
  stdin.push(null);
  await wait(async () => (await core.readNamespacedPod({ name: 'listens', namespace: NS })).status.phase === 'Succeeded', 'its input ends');
  assert.equal(await core.readNamespacedPodLog({ name: 'listens', namespace: NS }), 'got one\n');
}

function digest(file) {
  return createHash('sha256').update(fs.readFileSync(file)).digest('hex');
}

// The client unpacks its file while still writing it. If that is too early, no caller can catch the exception: retry.
async function copyBack(cp, back, isThere) {
  let tooEarly = true;
  const onEarly = (e) => {
    if (e.code !== 'Z_BUF_ERROR' && e.code !== 'TAR_BAD_ARCHIVE') throw e;
    tooEarly = true;
  };
  process.on('unhandledRejection', onEarly);
  for (let i = 0; tooEarly && i < 10; i++) {
    tooEarly = false;
    await cp.cpFromPod(NS, 'box', 'main', 'there/large', back);
    await wait(() => tooEarly || isThere(), 'it is back');
  }
  process.off('unhandledRejection', onEarly);
}

async function copiesArriveWhole() {
  const there = path.join(directory, 'there');
  const back = path.join(directory, 'back');
  process.chdir(directory);
  fs.writeFileSync('large', randomBytes(COPY_SIZE));
  fs.mkdirSync(there);
  fs.mkdirSync(back);
  const want = digest('large');
  const size = (file) => fs.statSync(file, { throwIfNoEntry: false })?.size;
  const cp = new k8s.Cp(config);
  await cp.cpToPod(NS, 'box', 'main', 'large', there); // the client does not report the end
  await wait(() => size(path.join(there, 'large')) === COPY_SIZE, 'it is in the container');
  assert.equal((await run(['sha256sum', 'there/large'])).out.split(' ')[0], want);
  await copyBack(cp, back, () => size(path.join(back, 'there', 'large')) === COPY_SIZE);
  assert.equal(digest(path.join(back, 'there', 'large')), want);
}

async function logsFollow() {
  const go = path.join(directory, 'go');
  await start('talks', `echo first; while [ ! -e ${go} ]; do sleep 0.05; done; echo second`);
  const log = new k8s.Log(config);
  const out = new Sink();
  await log.log(NS, 'talks', 'main', out, { follow: true });
  await wait(() => out.text === 'first\n', 'what was said before');
  fs.writeFileSync(go, '');
  await wait(() => out.writableEnded, 'the stream ends with the container');
  assert.equal(out.text, 'first\nsecond\n');
  const tail = new Sink();
  await log.log(NS, 'talks', 'main', tail, { tailLines: 1, timestamps: true, sinceSeconds: 600 });
  await wait(() => tail.writableEnded, 'it ends');
  assert.match(tail.text, /^\d{4}-\d\d-\d\dT[\d:.]+Z second\n$/);
  const none = await log.log(NS, 'talks', 'other', new Sink(), {}).catch((e) => e);
  assert.equal(none.code, 400);
}

const SERVER = `
import socket, sys
s = socket.socket()
s.bind(("127.0.0.1", int(sys.argv[1])))
s.listen()
while True:
    c, _ = s.accept()
    word = c.recv(100)
    c.sendall(b"got " + word if word else b"nothing")
    c.sendall(b"x" * 1000000)
    c.close()
`;

async function portsAreForwarded() {
  const probe = net.createServer().listen(0, '127.0.0.1');
  await wait(() => probe.listening, 'a free port');
  const port = probe.address().port;
  await new Promise((resolve) => probe.close(resolve));
  await start('serves', 'exec python3 -c "$SERVER" "$PORT"', {}, {
    env: [{ name: 'SERVER', value: SERVER }, { name: 'PORT', value: String(port) }],
  });
  const forward = new k8s.PortForward(config);
  const ask = async (number) => {
    const [out, err, input] = [new Sink(), new Sink(), new Typed()];
    const socket = await forward.portForward(NS, 'serves', [number], out, err, input);
    input.push('a word');
    await wait(() => socket.readyState === 3, 'the connection ends');
    return [out.text, err.text];
  };
  let answer;
  await wait(async () => (answer = await ask(port))[1] === '', 'the pod listens');
  assert.equal(answer[0].length, 'got a word'.length + 1000000);
  assert.ok(answer[0].startsWith('got a word'), answer[0].slice(0, 20));
  assert.match((await ask(port === 1 ? 2 : 1))[1], /no process of the pod listens on port/);
}

await claims([
  programsRunAndTellTheirEnd, inputEndsWhenItsStreamEnds, aTerminalHasASize, whoIsAttachedHearsAndSpeaks, copiesArriveWhole, logsFollow,
  portsAreForwarded,
]);
