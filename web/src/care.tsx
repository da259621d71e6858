// Buttons that take a node or a gpu out of use, and put it back; for those who may.
import { drainGpu, drainNode } from "./actions";
import type { Tree } from "./api";
import { Action, useMay } from "./ui";

const reason = { name: "reason", label: "Reason, which all users see", isRequired: true };

export function NodeCare({ node, done }: { node: Tree; done?: () => void }) {
  const may = useMay("patch", "", "nodes");
  const name = node.metadata.name;
  if (!may) return null;
  return node.spec?.unschedulable
    ? <Action label="Resume" about={`node ${name}`} question={`Let jobs start on node ${name} again?`} act={() => drainNode(name, null)} done={done} />
    : <Action label="Drain" about={`node ${name}`} fields={[reason]} done={done} act={(v) => drainNode(name, v.reason!.trim())}
        question={`Take node ${name} out of use? No new job starts on it; running jobs continue. mete drain ${name} --evict ends them, too.`} />;
}

export function GpuCare({ gpu, done }: { gpu: Tree; done?: () => void }) {
  const may = useMay("patch", "", "nodes");
  const { node, uuid, index } = gpu.spec;
  const about = `GPU ${index} of ${node}`;
  if (!may) return null;
  if (gpu.status?.health === "healthy")
    return <Action label="Drain" about={about} fields={[reason]} done={done} act={(v) => drainGpu(node, uuid, v.reason!.trim())}
      question={`Take GPU ${index} of node ${node} out of use? No new job gets it; its jobs continue.`} />;
  return <Action label="Resume" about={about} done={done} act={() => drainGpu(node, uuid, null)}
    question={gpu.status?.health === "drained" ? `Let jobs start on GPU ${index} of node ${node} again?`
      : `Is the reset, reboot or inspection of GPU ${index} of node ${node} done? It is checked then; if it passes, jobs start on it again.`} />;
}
