// Parts that all views share: data that follows the stream, tables, states, dialogs.
import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { get, Refusal, send, type Done, type Tree } from "./api";
import { shapes } from "./format";
import { onNews } from "./live";
import { param, setQuery } from "./router";

export interface Data {
  tree: Tree | null;
  error: string;
  status: number;
  again: () => void;
}

const quietMs = 1000; // between two requests of one view

/** The answer of `path`, asked again when one of the resources changes and the tab is visible. */
export function useData(path: string | null, resources: string[]): Data {
  const [state, setState] = useState<{ tree: Tree | null; error: string; status: number }>({ tree: null, error: "", status: 0 });
  const askNow = useRef<() => void>(() => undefined);
  useEffect(() => {
    if (!path) return;
    let dead = new AbortController();
    let isOver = false;
    let last = 0;
    let timer = 0;
    let isStale = false;
    const load = async () => {
      last = Date.now();
      isStale = false;
      dead.abort();
      dead = new AbortController();
      const { signal } = dead;
      try {
        const tree = await get(path, signal);
        if (!isOver && !signal.aborted) setState({ tree, error: "", status: 200 });
      } catch (e) {
        if (!isOver && !signal.aborted)
          setState((old) => ({ tree: e instanceof Refusal ? null : old.tree, error: (e as Error).message, status: e instanceof Refusal ? e.status : 0 }));
      }
    };
    const soon = () => {
      isStale = true;
      if (document.hidden || timer) return;
      timer = window.setTimeout(() => {
        timer = 0;
        void load();
      }, Math.max(0, last + quietMs - Date.now()));
    };
    const off = onNews((news) => {
      if (news.changed.some((one) => one === "*" || resources.includes(one))) soon();
    });
    const shown = () => void (!document.hidden && isStale && soon());
    document.addEventListener("visibilitychange", shown);
    askNow.current = soon;
    void load();
    return () => {
      isOver = true;
      off();
      clearTimeout(timer);
      dead.abort();
      document.removeEventListener("visibilitychange", shown);
    };
  }, [path, resources.join()]);
  return { ...state, again: () => askNow.current() };
}

/** Renders again each second, for ages. */
export function useClock(): void {
  const [, tick] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => !document.hidden && tick((n) => n + 1), 1000);
    return () => clearInterval(timer);
  }, []);
}

export function Problem({ text }: { text: string }) {
  return text ? <p class="problem" role="alert">{text}</p> : null;
}

export function Loading({ data, children }: { data: Data; children: (tree: Tree) => ComponentChildren }) {
  return (
    <>
      <Problem text={data.error} />
      {data.tree ? children(data.tree) : data.error ? null : <p class="quiet">Loading…</p>}
    </>
  );
}

export function State({ name }: { name: string }) {
  return <span class={`state state-${name}`}><span aria-hidden="true">{shapes[name] ?? "·"}</span> {name}</span>;
}

export interface Column {
  name: string;
  sort?: string;
  isNumber?: boolean;
  cell: (row: Tree) => ComponentChildren;
}

/** A table; columns with `sort` set the parameter of the page. */
export function Table({ columns, rows, caption, keyOf }: { columns: Column[]; rows: Tree[]; caption: string; keyOf: (row: Tree) => string }) {
  const sort = param("sort");
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label={caption}>
      <table>
        <caption class="sr">{caption}</caption>
        <thead>
          <tr>{columns.map((c) => (
            <th scope="col" class={c.isNumber ? "n" : ""}
              aria-sort={c.sort && sort === c.sort ? "ascending" : c.sort && sort === `-${c.sort}` ? "descending" : undefined}>
              {c.sort
                ? <button type="button" onClick={() => setQuery({ sort: sort === c.sort ? `-${c.sort}` : c.sort!, offset: "" })}>
                    {c.name}{sort === c.sort ? " ▲" : sort === `-${c.sort}` ? " ▼" : ""}
                  </button>
                : c.name}
            </th>))}
          </tr>
        </thead>
        <tbody>{rows.map((row) => <tr key={keyOf(row)}>{columns.map((c) => <td class={c.isNumber ? "n" : ""}>{c.cell(row)}</td>)}</tr>)}</tbody>
      </table>
      {rows.length === 0 ? <p class="quiet">None.</p> : null}
    </div>
  );
}

export function JobLink({ job }: { job: Tree }) {
  const path = `/jobs/${job.object}/${encodeURIComponent(job.namespace)}/${encodeURIComponent(job.name)}`;
  return <a href={path}>{job.name}</a>;
}

export const jobColumns: Column[] = [
  { name: "Job", sort: "id", isNumber: true, cell: (j) => j.id },
  { name: "Name", sort: "name", cell: (j) => <JobLink job={j} /> },
  { name: "User", sort: "user", cell: (j) => j.user },
  { name: "Queue", sort: "queue", cell: (j) => j.queue },
  { name: "State", sort: "state", cell: (j) => <State name={j.state} /> },
  { name: "GPUs", sort: "gpus", isNumber: true, cell: (j) => j.gpus },
  { name: "Node", cell: (j) => j.node },
];

/** What an action asks before it is done. With `options` a list to choose from; `isCheck`: "yes" or "". */
export interface Field {
  name: string;
  label: string;
  value?: string;
  options?: string[];
  isCheck?: boolean;
  isRequired?: boolean;
  hint?: string;
}

function FieldInput({ field, id, value, set }: { field: Field; id: string; value: string; set: (text: string) => void }) {
  if (field.isCheck)
    return <><span /><label><input id={id} type="checkbox" checked={value !== ""} onChange={(e) => set(e.currentTarget.checked ? "yes" : "")} /> {field.label}</label></>;
  return (
    <>
      <label for={id}>{field.label}</label>
      {field.options
        ? <select id={id} value={value} required={field.isRequired} onChange={(e) => set(e.currentTarget.value)}>
            {field.options.map((one) => <option>{one}</option>)}
          </select>
        : <input id={id} value={value} required={field.isRequired} placeholder={field.hint} autocomplete="off" onInput={(e) => set(e.currentTarget.value)} />}
    </>
  );
}

export type Values = Record<string, string>;

const valuesOf = (fields: Field[]): Values => Object.fromEntries(fields.map((f) => [f.name, f.value ?? f.options?.[0] ?? ""]));

/** A change that people confirm first: a button, and the dialog that it opens. An error stays in the dialog. */
export function Action({ label, about, question, list, fields = [], act, done }: {
  label: string; about?: string; question: string; list?: string[]; fields?: Field[]; act: (values: Values) => Promise<unknown>; done?: () => void;
}) {
  const box = useRef<HTMLDialogElement>(null);
  const id = useId();
  const [isOpen, setOpen] = useState(false);
  const [values, setValues] = useState<Values>({});
  const [error, setError] = useState("");
  const [isBusy, setBusy] = useState(false);
  // A closed action is a button alone: a wall has thousands of them.
  useEffect(() => void (isOpen && box.current?.showModal()), [isOpen]);
  const open = () => {
    setError("");
    setValues(valuesOf(fields));
    setOpen(true);
  };
  const run = async (event: Event) => {
    event.preventDefault();
    if (isBusy) return;
    setBusy(true);
    setError("");
    try {
      await act(values);
      box.current?.close();
      done?.();
    } catch (e) {
      setError((e as Error).message);
    }
    setBusy(false);
  };
  const title = about ? `${label} ${about}` : label;
  return (
    <>
      <button type="button" aria-label={title} aria-haspopup="dialog" onClick={open}>{label}</button>
      {isOpen ? (
        <dialog ref={box} aria-label={title} onClose={() => setOpen(false)}>
          <form onSubmit={(e) => void run(e)}>
            <p>{question}</p>
            {list ? <ul class="list" tabIndex={0} aria-label="What is changed">{list.map((one) => <li>{one}</li>)}</ul> : null}
            {fields.length ? <div class="fields">{fields.map((f) => (
              <FieldInput key={f.name} field={f} id={`${id}-${f.name}`} value={values[f.name] ?? ""} set={(text) => setValues((old) => ({ ...old, [f.name]: text }))} />))}</div> : null}
            <Problem text={error} />
            <div class="row">
              <button class="main" aria-disabled={isBusy}>{label}</button>
              <button type="button" onClick={() => box.current?.close()}>Close</button>
            </div>
          </form>
        </dialog>) : null}
    </>
  );
}

/** A text that no spreadsheet takes for a formula. */
const quoted = (value: unknown) => `"${String(value ?? "").replace(/"/g, '""').replace(/^[=+@\t\r-]/, "'$&")}"`;

/** Saves rows, the names of the columns first, as a file. */
export function SaveCsv({ name, rows }: { name: string; rows: () => unknown[][] }) {
  const save = () => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([rows().map((l) => l.map(quoted).join(",")).join("\r\n")], { type: "text/csv" }));
    link.download = `${name}.csv`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  };
  return <p><button type="button" onClick={save}>Save as CSV</button></p>;
}

/** May the user do this? Asked once for each question. */
const rights = new Map<string, Promise<boolean>>();
export function useMay(verb: string, group: string, resource: string, namespace = "", subresource = ""): boolean {
  const [may, setMay] = useState(false);
  useEffect(() => {
    const key = [verb, group, resource, namespace, subresource].join();
    const spec = { resourceAttributes: { verb, group, resource, namespace, subresource } };
    const asked = rights.get(key) ??
      send("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
        { apiVersion: "authorization.k8s.io/v1", kind: "SelfSubjectAccessReview", spec })
        .then(({ tree }: Done) => Boolean(tree.status?.allowed), () => false);
    rights.set(key, asked);
    let isOver = false;
    void asked.then((yes) => void (!isOver && setMay(yes)));
    return () => { isOver = true; };
  }, [verb, group, resource, namespace, subresource]);
  return may;
}
