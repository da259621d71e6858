// Objects: lists, watches, patches, deletions, dry runs; jobs and cron jobs, quotas, accounts, questions of rights.
import assert from 'node:assert/strict';
import * as k8s from '@kubernetes/client-node';
import { NS, batch, claims, config, core, isGone, patchAs, phase, pod, refusal, start, wait } from './world.js';

const GPU = 'nvidia.com/gpu';

async function versionAndResources() {
  const version = await config.makeApiClient(k8s.VersionApi).getCode();
  assert.match(version.gitVersion, /^v1\.\d+/);
  const groups = await config.makeApiClient(k8s.ApisApi).getAPIVersions();
  assert.ok(groups.groups.some((g) => g.name === 'batch'));
  const node = (await core.listNode()).items[0];
  assert.equal(node.status.allocatable[GPU], '8');
  assert.equal(node.kind ?? 'Node', 'Node');
}

async function listsComeInPages() {
  const first = await core.listNamespace({ limit: 1 });
  assert.equal(first.items.length, 1);
  const rest = await core.listNamespace({ limit: 100, _continue: first.metadata._continue });
  assert.ok(!rest.items.some((n) => n.metadata.name === first.items[0].metadata.name));
  const none = await core.listNamespacedPod({ namespace: NS, fieldSelector: 'metadata.name=nobody' });
  assert.deepEqual(none.items, []);
}

async function aWatchTellsALife() {
  const seen = [];
  const resourceVersion = (await core.listNamespacedPod({ namespace: NS })).metadata.resourceVersion;
  const path = `/api/v1/namespaces/${NS}/pods`;
  let ended;
  const watch = await new k8s.Watch(config).watch(
    path,
    { resourceVersion, allowWatchBookmarks: true },
    (type, object) => seen.push([type, object.status?.phase]),
    (e) => (ended = e ?? true),
  );
  await core.createNamespacedPod({ namespace: NS, body: pod('seen', 'nvidia-smi -L', {}, { resources: { limits: { [GPU]: '1' } } }) });
  await wait(() => seen.some(([type, p]) => type === 'MODIFIED' && p === 'Succeeded'), 'the watch tells its end');
  assert.deepEqual(seen[0], ['ADDED', 'Pending']);
  assert.match(await core.readNamespacedPodLog({ name: 'seen', namespace: NS }), /^GPU 0: NVIDIA H100.*\n$/);
  await core.deleteNamespacedPod({ name: 'seen', namespace: NS });
  await wait(() => seen.at(-1)[0] === 'DELETED', 'the watch tells that it is gone');
  watch.abort();
  await wait(() => ended, 'the watch ends when it is told to');
}

async function anInformerKeepsUp() {
  const informer = k8s.makeInformer(config, `/api/v1/namespaces/${NS}/configmaps`, () => core.listNamespacedConfigMap({ namespace: NS }));
  const told = [];
  for (const event of ['add', 'update', 'delete']) informer.on(event, (o) => told.push(`${event} ${o.metadata.name}`));
  informer.on('error', (e) => told.push(`error ${e}`));
  await informer.start();
  await core.createNamespacedConfigMap({ namespace: NS, body: { metadata: { name: 'told' }, data: { a: '1' } } });
  await wait(() => told.includes('add told'), 'it is added');
  await core.patchNamespacedConfigMap({ name: 'told', namespace: NS, body: { data: { a: '2' } } }, patchAs(k8s.PatchStrategy.MergePatch));
  await wait(() => told.includes('update told') && informer.get('told', NS).data.a === '2', 'it is changed');
  await core.deleteNamespacedConfigMap({ name: 'told', namespace: NS });
  await wait(() => told.includes('delete told') && !informer.get('told', NS), 'it is gone');
  assert.ok(!told.some((t) => t.startsWith('error')), told.join());
  await informer.stop();
}

async function patchesOfThreeKinds() {
  const at = { name: 'patched', namespace: NS };
  await core.createNamespacedConfigMap({ namespace: NS, body: { metadata: { name: 'patched' }, data: { a: '1' } } });
  let now = await core.patchNamespacedConfigMap(
    { ...at, body: [{ op: 'test', path: '/data/a', value: '1' }, { op: 'add', path: '/data/b', value: '2' }] },
    patchAs(k8s.PatchStrategy.JsonPatch),
  );
  assert.deepEqual(now.data, { a: '1', b: '2' });
  const wrong = [{ op: 'add', path: '/data/c', value: '3' }, { op: 'test', path: '/data/a', value: '9' }];
  assert.equal((await refusal(core.patchNamespacedConfigMap({ ...at, body: wrong }, patchAs(k8s.PatchStrategy.JsonPatch)))).code, 422);
  now = await core.patchNamespacedConfigMap({ ...at, body: { data: { a: null, d: '4' } } }, patchAs(k8s.PatchStrategy.MergePatch));
  assert.deepEqual(now.data, { b: '2', d: '4' });
  await start('labelled', 'exec sleep 1000');
  const changed = await core.patchNamespacedPod(
    { name: 'labelled', namespace: NS, body: { spec: { containers: [{ name: 'main', image: 'host' }] }, metadata: { labels: { x: 'y' } } } },
    patchAs(k8s.PatchStrategy.StrategicMergePatch),
  );
  assert.deepEqual(changed.metadata.labels.x, 'y');
  assert.deepEqual(changed.spec.containers[0].command, ['sh', '-c', 'exec sleep 1000']);
  const apply = (body) => core.patchNamespacedConfigMap({ ...at, fieldManager: 'me', body }, patchAs(k8s.PatchStrategy.ServerSideApply));
  assert.equal((await refusal(apply({ data: {} }))).code, 400);
  const applied = await apply({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: at.name }, data: { e: '5' } });
  assert.deepEqual(applied.data, { b: '2', d: '4', e: '5' });
  now.metadata.resourceVersion = '1';
  assert.equal((await refusal(core.replaceNamespacedConfigMap({ ...at, body: now }))).code, 409);
  await core.deleteNamespacedPod({ name: 'labelled', namespace: NS, gracePeriodSeconds: 0 });
}

async function aDryRunStoresNothing() {
  const made = await core.createNamespacedPod({ namespace: NS, body: pod('dry', 'true'), dryRun: 'All' });
  assert.equal(made.spec.schedulerName, 'default-scheduler');
  assert.ok(await isGone(() => core.readNamespacedPod({ name: 'dry', namespace: NS })));
  await core.deleteNamespacedConfigMap({ name: 'patched', namespace: NS, dryRun: 'All' });
  assert.equal((await core.readNamespacedConfigMap({ name: 'patched', namespace: NS })).data.d, '4');
  const twice = await refusal(core.createNamespacedConfigMap({ namespace: NS, dryRun: 'All', body: { metadata: { name: 'patched' } } }));
  assert.deepEqual([twice.code, twice.reason], [409, 'AlreadyExists']);
}

function job(name, script, spec = {}, container = {}) {
  return { metadata: { name }, spec: { ...spec, template: { spec: pod(name, script, {}, container).spec } } };
}

const podsOf = async (name) => (await core.listNamespacedPod({ namespace: NS, labelSelector: `batch.kubernetes.io/job-name=${name}` })).items;

async function anIndexedJobCompletes() {
  const body = job('indexed', 'echo I am $JOB_COMPLETION_INDEX of $HOSTNAME', { completions: 3, parallelism: 2, completionMode: 'Indexed' });
  await batch.createNamespacedJob({ namespace: NS, body });
  const done = await wait(async () => {
    const now = await batch.readNamespacedJobStatus({ name: 'indexed', namespace: NS });
    return now.status.conditions?.some((c) => c.type === 'Complete' && c.status === 'True') && now;
  }, 'the job completes');
  assert.deepEqual([done.status.succeeded, done.status.completedIndexes], [3, '0-2']);
  assert.ok(done.status.completionTime >= done.status.startTime);
  const said = [];
  for (const p of await podsOf('indexed')) said.push((await core.readNamespacedPodLog({ name: p.metadata.name, namespace: NS })).slice(0, 6));
  assert.deepEqual(said.sort(), ['I am 0', 'I am 1', 'I am 2']);
}

async function ownersGoAsTheyAreTold() {
  for (const propagationPolicy of ['Background', 'Foreground', 'Orphan']) {
    const at = { name: `parent-${propagationPolicy.toLowerCase()}`, namespace: NS };
    await batch.createNamespacedJob({ namespace: NS, body: job(at.name, 'exec sleep 1000', { template: {} }) });
    const child = await wait(async () => (await podsOf(at.name)).find((p) => p.status.phase === 'Running'), 'its pod runs');
    await batch.deleteNamespacedJob({ ...at, propagationPolicy });
    await wait(() => isGone(() => batch.readNamespacedJob(at)), `${at.name} is gone`);
    const left = await podsOf(at.name);
    if (propagationPolicy === 'Foreground') assert.deepEqual(left, []);
    if (propagationPolicy === 'Background') await wait(async () => !(await podsOf(at.name)).length, 'its pod follows');
    if (propagationPolicy === 'Orphan') {
      assert.equal(await phase(child.metadata.name), 'Running');
      assert.equal((await core.readNamespacedPod({ name: child.metadata.name, namespace: NS })).metadata.ownerReferences, undefined);
      await core.deleteCollectionNamespacedPod({ namespace: NS, labelSelector: `job-name=${at.name}`, gracePeriodSeconds: 0 });
    }
  }
}

async function aCronJobIsSuspendedAndRunByHand() {
  const body = { metadata: { name: 'nightly' }, spec: { schedule: '0 3 * * *', timeZone: 'Europe/Berlin', suspend: true, jobTemplate: job('x', 'echo night') } };
  const made = await batch.createNamespacedCronJob({ namespace: NS, body });
  assert.deepEqual([made.spec.concurrencyPolicy, made.spec.successfulJobsHistoryLimit], ['Allow', 3]);
  const now = job('by-hand', '');
  now.spec = made.spec.jobTemplate.spec;
  now.metadata.ownerReferences = [{ apiVersion: 'batch/v1', kind: 'CronJob', name: 'nightly', uid: made.metadata.uid, controller: true }];
  await batch.createNamespacedJob({ namespace: NS, body: now });
  await wait(async () => (await batch.readNamespacedJob({ name: 'by-hand', namespace: NS })).status.succeeded === 1, 'it runs');
  await batch.deleteNamespacedCronJob({ name: 'nightly', namespace: NS });
  await wait(() => isGone(() => batch.readNamespacedJob({ name: 'by-hand', namespace: NS })), 'its job goes with it');
  body.spec.schedule = 'at night';
  const wrong = await refusal(batch.createNamespacedCronJob({ namespace: NS, body }));
  assert.equal(wrong.code, 422);
  assert.match(wrong.message, /spec\.schedule/);
}

async function fourAndSevenAreNotTen() {
  const namespace = 'team-js';
  const ask = (name, n) => core.createNamespacedPod({ namespace, body: pod(name, 'exec sleep 1000', {}, { resources: { limits: { [GPU]: `${n}` } } }) });
  await core.createNamespace({ body: { metadata: { name: namespace } } });
  await core.createNamespacedResourceQuota({ namespace, body: { metadata: { name: 'gpus' }, spec: { hard: { [`requests.${GPU}`]: '10' } } } });
  await ask('four', 4);
  const refused = await refusal(ask('seven', 7));
  assert.equal(refused.code, 403);
  assert.equal(refused.message, `pods "seven" is forbidden: exceeded quota: gpus, requested: requests.${GPU}=7, used: requests.${GPU}=4, limited: requests.${GPU}=10`);
  const quota = await core.readNamespacedResourceQuota({ name: 'gpus', namespace });
  assert.equal(quota.status.used[`requests.${GPU}`], '4');
  await core.createNamespacedLimitRange({ namespace, body: { metadata: { name: 'each' }, spec: { limits: [{ type: 'Container', min: { [GPU]: '1' }, max: { [GPU]: '2' } }] } } });
  assert.match((await refusal(ask('three', 3))).message, /maximum nvidia.com\/gpu usage per Container is 2, but limit is 3/);
  await core.deleteNamespace({ name: namespace });
  await wait(() => isGone(() => core.readNamespace({ name: namespace })), 'the namespace goes with all in it');
}

async function tokensAreOfTheirAccount() {
  await core.createNamespacedServiceAccount({ namespace: NS, body: { metadata: { name: 'ci' } } });
  const made = await core.createNamespacedServiceAccountToken({ name: 'ci', namespace: NS, body: { spec: { audiences: [], expirationSeconds: 600 } } });
  assert.ok(Math.abs(made.status.expirationTimestamp - Date.now() - 600000) < 60000, `${made.status.expirationTimestamp}`);
  const review = await config.makeApiClient(k8s.AuthenticationV1Api).createTokenReview({ body: { spec: { token: made.status.token } } });
  assert.deepEqual([review.status.authenticated, review.status.user.username], [true, `system:serviceaccount:${NS}:ci`]);
  const theirs = new k8s.KubeConfig();
  theirs.loadFromOptions({
    clusters: config.clusters, users: [{ name: 'ci', token: made.status.token }],
    contexts: [{ name: 'x', cluster: config.getCurrentCluster().name, user: 'ci' }], currentContext: 'x',
  });
  const self = await theirs.makeApiClient(k8s.AuthenticationV1Api).createSelfSubjectReview({ body: {} });
  assert.equal(self.status.userInfo.username, `system:serviceaccount:${NS}:ci`);
  assert.equal((await refusal(theirs.makeApiClient(k8s.CoreV1Api).listNamespacedSecret({ namespace: NS }))).code, 403);
  const ask = { spec: { resourceAttributes: { verb: 'list', resource: 'secrets', namespace: NS } } };
  const rights = [theirs, config].map((c) => c.makeApiClient(k8s.AuthorizationV1Api).createSelfSubjectAccessReview({ body: ask }));
  assert.deepEqual((await Promise.all(rights)).map((r) => r.status.allowed), [false, true]);
  const rules = await config.makeApiClient(k8s.AuthorizationV1Api).createSelfSubjectRulesReview({ body: { spec: { namespace: NS } } });
  assert.ok(rules.status.resourceRules.some((r) => r.verbs.includes('*') || r.verbs.includes('create')));
  await core.deleteNamespacedServiceAccount({ name: 'ci', namespace: NS });
  assert.equal((await refusal(theirs.makeApiClient(k8s.CoreV1Api).listNamespacedPod({ namespace: NS }))).code, 401);
}

async function anEvictionAsksTheBudget() {
  const policy = config.makeApiClient(k8s.PolicyV1Api);
  const evict = () => core.createNamespacedPodEviction({ name: 'guarded', namespace: NS, body: { metadata: { name: 'guarded', namespace: NS } } });
  await start('guarded', 'exec sleep 1000');
  await policy.createNamespacedPodDisruptionBudget({
    namespace: NS, body: { metadata: { name: 'all' }, spec: { maxUnavailable: 0, selector: { matchLabels: { app: 'guarded' } } } },
  });
  const refused = await refusal(evict());
  assert.equal(refused.code, 429);
  assert.match(refused.message, /disruption budget/);
  await policy.patchNamespacedPodDisruptionBudget({ name: 'all', namespace: NS, body: { spec: { maxUnavailable: 1 } } }, patchAs(k8s.PatchStrategy.MergePatch));
  await evict();
  await wait(() => isGone(() => core.readNamespacedPod({ name: 'guarded', namespace: NS })), 'it went');
}

async function objectsOfAnyKind() {
  const objects = k8s.KubernetesObjectApi.makeApiClient(config);
  const body = { apiVersion: 'scheduling.k8s.io/v1', kind: 'PriorityClass', metadata: { name: 'gold' }, value: 1000, description: 'first' };
  assert.equal((await objects.create(body)).value, 1000);
  const lease = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { name: 'leader', namespace: NS }, spec: { holderIdentity: 'a', leaseTransitions: 1 } };
  await objects.create(lease);
  assert.equal((await objects.read(lease)).spec.leaseTransitions, 1);
  await objects.patch({ ...lease, spec: { holderIdentity: 'b' } }, undefined, undefined, undefined, undefined, k8s.PatchStrategy.MergePatch);
  assert.equal((await objects.list('coordination.k8s.io/v1', 'Lease', NS)).items[0].spec.holderIdentity, 'b');
  await core.createNamespacedPod({ namespace: NS, body: pod('golden', 'exec sleep 1000', { priorityClassName: 'gold' }) });
  assert.equal((await core.readNamespacedPod({ name: 'golden', namespace: NS })).spec.priority, 1000);
  await objects.delete(lease);
  assert.ok(await isGone(() => objects.read(lease)));
}

async function whatIsUsedIsTold() {
  await start('busy', 'while :; do :; done');
  const metrics = new k8s.Metrics(config);
  const used = await wait(async () => {
    const found = (await metrics.getPodMetrics(NS)).items.find((p) => p.metadata.name === 'busy');
    return found?.containers[0].usage.cpu;
  }, 'it is measured');
  assert.match(used, /^\d+[num]?$/);
  const top = await k8s.topNodes(core);
  assert.equal(top.length, 1);
  await core.deleteNamespacedPod({ name: 'busy', namespace: NS, gracePeriodSeconds: 0 });
}

await claims([
  versionAndResources, listsComeInPages, aWatchTellsALife, anInformerKeepsUp, patchesOfThreeKinds, aDryRunStoresNothing,
  anIndexedJobCompletes, ownersGoAsTheyAreTold, aCronJobIsSuspendedAndRunByHand, fourAndSevenAreNotTen, tokensAreOfTheirAccount,
  anEvictionAsksTheBudget, objectsOfAnyKind, whatIsUsedIsTold,
]);
