// The page: the header stays from the server, the views are drawn into <main>.
import "./app.css";
import "./icon.svg?url";
import { render, type ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { isLive, startLive } from "./live";
import { here, startRouter } from "./router";
import { Now } from "./views/now";
import { Jobs } from "./views/jobs";

type View = ComponentType<{ rest: string[] }>;

const later: Record<string, () => Promise<View>> = {
  job: async () => (await import("./views/job")).Job,
  gpus: async () => (await import("./views/gpus")).Gpus,
  submit: async () => (await import("./views/submit")).Submit,
  queue: async () => (await import("./views/tables")).Queue,
  nodes: async () => (await import("./views/tables")).Nodes,
  node: async () => (await import("./views/tables")).Node,
  quota: async () => (await import("./views/tables")).Quota,
  usage: async () => (await import("./views/tables")).Usage,
  events: async () => (await import("./views/tables")).Events,
  audit: async () => (await import("./views/tables")).Audit,
  system: async () => (await import("./views/tables")).System,
};

const titles: Record<string, string> = {
  "": "Now", jobs: "Jobs", gpus: "GPUs", submit: "Submit", queue: "Queues", nodes: "Nodes", quota: "Quota", usage: "Usage and cost",
  events: "Events", audit: "Audit", system: "System",
};

function NotFound() {
  return <><h1>Not found</h1><p>There is no such view. <a href="/">Now</a></p></>;
}

const loaded: Record<string, View> = { "": Now, jobs: Jobs };

function viewName(words: string[]): string {
  return words[0] === "jobs" && words.length > 1 ? "job" : words[0] === "nodes" && words.length > 1 ? "node" : words[0]!;
}

function App() {
  const words = here.value.pathname.slice(1).split("/").map(decodeURIComponent);
  const name = viewName(words);
  const [, again] = useState(0);
  useEffect(() => {
    document.title = `${titles[name] ?? words.at(-1)} - Mete`;
    for (const link of document.querySelectorAll("nav a")) {
      const isHere = link.getAttribute("href") === `/${words[0]}`;
      if (isHere) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
    if (!loaded[name])
      void (later[name]?.() ?? Promise.resolve(NotFound)).then((view) => {
        loaded[name] = view as View;
        again((n) => n + 1);
      });
  }, [here.value.pathname]);
  const Shown = loaded[name];
  return (
    <>
      {isLive.value ? null : <p class="offline" role="status">The server does not answer. This is the last state known.</p>}
      {Shown ? <Shown key={here.value.pathname} rest={words.slice(1)} /> : <p class="quiet">Loading…</p>}
    </>
  );
}

const main = document.getElementById("main");
if (main) {
  main.textContent = "";
  startRouter();
  startLive();
  render(<App />, main);
}
