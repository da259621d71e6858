// Jobs: filtered, sorted and counted by the server, 50 at a time; the URL is the state.
import { useState } from "preact/hooks";
import { cancelJob, eachJob, holdJob, jobTitle, moveJob, releaseJob, requeueJob } from "../actions";
import { paths, type Tree } from "../api";
import { jobTime, states, shapes } from "../format";
import { go, here, param, setQuery } from "../router";
import { Action, jobColumns, Loading, Table, useClock, useData, useMay } from "../ui";

const pageSize = 50;
const filters = ["user", "queue", "namespace"] as const;

function Filters() {
  const submit = (event: Event) => {
    event.preventDefault();
    const form = new FormData(event.target as HTMLFormElement);
    setQuery({ ...Object.fromEntries(["q", ...filters].map((k) => [k, String(form.get(k) ?? "").trim()])), offset: "" });
  };
  return (
    <form class="row" role="search" onSubmit={submit} key={here.value.search}>
      <label>Name or number <input name="q" size={16} value={param("q")} /></label>
      {filters.map((k) => <label>{k[0]!.toUpperCase() + k.slice(1)} <input name={k} size={10} value={param(k)} /></label>)}
      <button>Filter</button>
      {here.value.search ? <a href="/jobs">Clear</a> : null}
    </form>
  );
}

function Counts({ counts }: { counts: Record<string, number> }) {
  const chosen = param("state");
  const link = (state: string) => {
    const q = new URLSearchParams(here.value.search);
    q.delete("offset");
    if (state) q.set("state", state);
    else q.delete("state");
    return `/jobs${q.size ? `?${q}` : ""}`;
  };
  return (
    <p class="row chips" role="group" aria-label="Jobs by state">
      <a href={link("")} aria-current={chosen ? undefined : "true"}>all</a>
      {states.filter((s) => counts[s] || chosen === s).map((s) => (
        <a href={link(s)} aria-current={chosen === s ? "true" : undefined}>
          <span aria-hidden="true">{shapes[s]}</span> {(counts[s] ?? 0).toLocaleString("en")} {s}
        </a>))}
    </p>
  );
}

function Pages({ tree }: { tree: Tree }) {
  const first = tree.offset + 1;
  const last = tree.offset + tree.items.length;
  return (
    <p class="row">
      <span>{tree.items.length ? `${first.toLocaleString("en")} to ${last.toLocaleString("en")} of ` : ""}{tree.total.toLocaleString("en")}</span>
      <button type="button" disabled={tree.offset === 0}
        onClick={() => setQuery({ offset: tree.offset > pageSize ? String(tree.offset - pageSize) : "" })}>Previous</button>
      <button type="button" disabled={last >= tree.total || last > 10000}
        onClick={() => setQuery({ offset: String(tree.offset + pageSize) })}>Next</button>
    </p>
  );
}

/** What can be done with the picked jobs. */
function Bulk({ jobs, may, done }: { jobs: Tree[]; may: Record<"cancel" | "change" | "requeue", boolean>; done: () => void }) {
  const queues = useData(may.change ? paths.queues : null, ["queues"]);
  const names: string[] = (queues.tree?.items ?? []).map((q: Tree) => q.metadata.name).filter((n: string) => n !== "root");
  const n = jobs.length;
  const common = { list: jobs.map(jobTitle), done, about: n === 1 ? `job ${jobs[0].id}` : `${n} jobs` };
  return (
    <div class="row" role="group" aria-label="Picked jobs">
      <span>{n} picked</span>
      {may.change ? (
        <>
          <Action {...common} label="Hold" question="Keep these waiting jobs from starting, until they are released?" act={() => eachJob(jobs, (j) => holdJob(j))} />
          <Action {...common} label="Release" question="Let these held jobs start?" act={() => eachJob(jobs, releaseJob)} />
          <Action {...common} label="Move" question="Move these waiting jobs to another queue? They keep their age."
            fields={[{ name: "queue", label: "Queue", options: names, isRequired: true }]} act={({ queue }) => eachJob(jobs, (j) => moveJob(j, queue!))} />
        </>) : null}
      {may.requeue ? <Action {...common} label="Requeue" question="End these running jobs, and put them back into their queues?" act={() => eachJob(jobs, requeueJob)} /> : null}
      {may.cancel ? <Action {...common} label="Cancel" question="Cancel these jobs? Running containers are stopped." act={() => eachJob(jobs, cancelJob)} /> : null}
      <button type="button" onClick={done}>Pick none</button>
    </div>
  );
}

export function Jobs() {
  useClock();
  const [chosen, setChosen] = useState<Record<string, Tree>>({});
  const q = Object.fromEntries(["state", "user", "queue", "namespace", "q", "sort", "offset"].map((k) => [k, param(k)]));
  const data = useData(paths.jobs({ ...q, limit: pageSize }), ["pods", "jobs"]);
  const where = param("namespace") || "default";
  const may = {
    cancel: useMay("delete", "", "pods", where), change: useMay("patch", "", "pods", where), requeue: useMay("create", "", "pods", where, "eviction"),
  };
  const keyOf = (j: Tree) => `${j.object}/${j.namespace}/${j.name}`;
  const list = Object.values(chosen);
  const pick = {
    name: "Pick",
    cell: (j: Tree) => <input type="checkbox" aria-label={`pick job ${j.id} ${j.name}`} checked={keyOf(j) in chosen}
      onChange={() => setChosen((old) => {
        const { [keyOf(j)]: was, ...others } = old;
        return was ? others : { ...others, [keyOf(j)]: j };
      })} />,
  };
  return (
    <>
      <div class="row"><h1>Jobs</h1> <button type="button" class="main" onClick={() => go("/submit")}>Submit a job</button></div>
      <Filters />
      <Loading data={data}>{(tree) => (
        <>
          <Counts counts={tree.counts} />
          {list.length > 0 ? <Bulk jobs={list} may={may} done={() => { setChosen({}); data.again(); }} /> : null}
          <Table caption="Jobs" rows={tree.items} keyOf={keyOf} columns={[
            ...(may.cancel || may.change || may.requeue ? [pick] : []), ...jobColumns,
            { name: "Time", isNumber: true, cell: jobTime },
            { name: "Reason", cell: (j) => j.reason },
          ]} />
          <Pages tree={tree} />
        </>)}
      </Loading>
    </>
  );
}
