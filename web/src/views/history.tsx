// What a pod or a gpu used over time, from the server's history.
import { query, type Tree } from "../api";
import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { Series } from "../chart";
import { Problem, useData } from "../ui";

const shown: Record<string, { title: string; unit: string; scale: number }> = {
  gpuMilli: { title: "GPU busy", unit: "GPUs", scale: 1e-3 },
  gpuMemoryKib: { title: "GPU memory", unit: "GiB", scale: 1 / (1 << 20) },
  gpuPowerMilliwatts: { title: "GPU power", unit: "W", scale: 1e-3 },
  cpuMilli: { title: "CPU", unit: "cores", scale: 1e-3 },
  memoryKib: { title: "Memory", unit: "GiB", scale: 1 / (1 << 20) },
  utilizationPct: { title: "Load", unit: "%", scale: 1 },
  smActiveMilli: { title: "SM active", unit: "%", scale: 0.1 },
  memoryUsedKib: { title: "Memory", unit: "GiB", scale: 1 / (1 << 20) },
  temperatureC: { title: "Temperature", unit: "°C", scale: 1 },
  powerMilliwatts: { title: "Power", unit: "W", scale: 1e-3 },
};

export function History({ of }: { of: { pod: string } | { uuid: string } }) {
  const data = useData(`/apis/mete.dev/v1/history${query(of as Record<string, string>)}`, ["samples"]);
  const [Chart, setChart] = useState<ComponentType<Series> | null>(null);
  useEffect(() => void import("../chart").then((m) => setChart(() => m.Chart)), []);
  const fields: string[] = data.tree?.fields ?? [];
  const rows: Tree[] = data.tree?.rows ?? [];
  if (data.status === 404) return <p class="quiet">Nothing was measured yet, or the server has restarted since.</p>;
  const charts = fields.map((f, i) => ({ f, i: i + 1 }))
    .filter(({ f, i }) => shown[f] && rows.some((r) => r[i] !== null));
  return (
    <>
      <Problem text={data.error} />
      <div class="grid">{Chart && charts.map(({ f, i }) => (
        <Chart key={f} title={shown[f]!.title} unit={shown[f]!.unit}
          points={rows.map((r): [number, number | null] => [r[0], r[i] === null ? null : +(r[i] * shown[f]!.scale).toFixed(3)])} />))}
      </div>
      {data.tree && charts.length === 0 ? <p class="quiet">No readings yet.</p> : null}
    </>
  );
}
