// The one place that knows the drawing library: a chart of readings over time, with a table of the same.
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { useEffect, useRef } from "preact/hooks";

export interface Series {
  title: string;
  unit: string;
  /** Seconds since 1970, and a value; null: unknown. */
  points: [number, number | null][];
}

const clock = (at: number, isFine: boolean) => new Date(at * 1000).toISOString().slice(11, isFine ? 19 : 16);

function color(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

export function Chart({ title, unit, points }: Series) {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const data: uPlot.AlignedData = [points.map((p) => p[0]), points.map((p) => p[1])];
  useEffect(() => {
    const target = box.current!;
    const dark = matchMedia("(prefers-color-scheme: dark)");
    const draw = () => {
      plot.current?.destroy();
      const axis = { stroke: color("--quiet"), grid: { stroke: color("--line"), width: 1 }, ticks: { stroke: color("--line") } };
      plot.current = new uPlot({
        width: Math.max(240, target.clientWidth), height: 150,
        scales: {
          x: { range: (_u, min, max) => [Math.min(min, max - 60), max] },
          y: { range: (_u, _min, max) => [0, Math.max(max ?? 0, 0.1) * 1.1] },
        },
        axes: [
          { ...axis, space: 70, values: (_u, at, _i, _space, step) => at.map((t) => clock(t, step < 60)) },
          { ...axis, size: 60 },
        ],
        series: [{ label: "UTC", value: (_u, at) => (at === null || at === undefined ? "" : clock(at, true)) }, { label: unit, stroke: color("--busy"), fill: color("--free"), width: 2, spanGaps: false }],
        legend: { live: true },
      }, data, target);
    };
    draw();
    const resized = new ResizeObserver(() => plot.current?.setSize({ width: Math.max(240, target.clientWidth), height: 150 }));
    resized.observe(target);
    dark.addEventListener("change", draw);
    return () => {
      resized.disconnect();
      dark.removeEventListener("change", draw);
      plot.current?.destroy();
      plot.current = null;
    };
  }, []);
  useEffect(() => plot.current?.setData(data), [points]);
  const known = points.filter((p) => p[1] !== null);
  const step = Math.max(1, Math.ceil(known.length / 50));
  return (
    <figure class="panel" aria-label={`${title}, in ${unit}`}>
      <figcaption><strong>{title}</strong> <span class="quiet">{unit}</span></figcaption>
      <div class="chart" ref={box} aria-hidden="true" />
      <details>
        <summary>As a table</summary>
        <table>
          <thead><tr><th scope="col">Time</th><th scope="col" class="n">{unit}</th></tr></thead>
          <tbody>{known.filter((_, i) => i % step === 0).map(([at, value]) => (
            <tr><td>{new Date(at * 1000).toISOString()}</td><td class="n">{value}</td></tr>))}</tbody>
        </table>
      </details>
    </figure>
  );
}
