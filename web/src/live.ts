// One stream of changes for all tabs of a browser: the tab that holds the lock reads it, and tells the others.
import { signal } from "@preact/signals";
import { ask } from "./api";

export interface News {
  revision: number;
  changed: string[];
}

type Listener = (news: News) => void;

const listeners = new Set<Listener>();
const channel = new BroadcastChannel("mete-live");

/** Is the stream open, as far as this tab knows? */
export const isLive = signal(true);

function tell(news: News): void {
  isLive.value = true;
  for (const listener of listeners) listener(news);
}

export function onNews(listener: Listener): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

/** Calls `fn` for each line of a stream, until it ends. */
export async function eachLine(answer: Response, fn: (line: string) => void): Promise<void> {
  const reader = answer.body!.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    const lines = (rest + value).split("\n");
    rest = lines.pop() ?? "";
    lines.forEach(fn);
  }
  if (rest) fn(rest);
}

function take(line: string): void {
  const news = JSON.parse(line) as News & { end?: boolean };
  if (news.end) {
    location.assign("/in");
    return;
  }
  channel.postMessage(news);
  tell(news);
}

const sleep = (ms: number) => new Promise((done) => setTimeout(done, ms));

async function lead(): Promise<void> {
  for (let wait = 500; ; wait = Math.min(wait * 2, 15000)) {
    try {
      const answer = await ask("/page/live");
      wait = 500;
      // Whatever changed while the stream was closed is asked for again.
      tell({ revision: 0, changed: ["*"] });
      await eachLine(answer, take);
    } catch {
      // The server is away: the loop tries again.
    }
    isLive.value = false;
    await sleep(wait);
  }
}

export function startLive(): void {
  channel.onmessage = (event: MessageEvent<News>) => tell(event.data);
  void navigator.locks.request("mete-live", lead);
}
