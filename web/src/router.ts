// The path and query of the page are the state of its view.
import { signal } from "@preact/signals";

export const here = signal(new URL(location.href));

function moved(): void {
  here.value = new URL(location.href);
}

export function go(to: string, replace = false): void {
  if (replace) history.replaceState(null, "", to);
  else history.pushState(null, "", to);
  const isOther = here.value.pathname !== location.pathname;
  moved();
  if (isOther) {
    document.getElementById("main")?.focus();
    window.scrollTo(0, 0);
  }
}

/** Changes parameters of the query; "" removes one. */
export function setQuery(values: Record<string, string>, replace = false): void {
  const url = new URL(here.value);
  for (const [key, value] of Object.entries(values))
    if (value) url.searchParams.set(key, value);
    else url.searchParams.delete(key);
  go(url.pathname + url.search, replace);
}

export function param(key: string): string {
  return here.value.searchParams.get(key) ?? "";
}

export function startRouter(): void {
  addEventListener("popstate", moved);
  document.addEventListener("click", (event) => {
    const link = (event.target as Element).closest?.("a");
    if (!link || event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey) return;
    if (link.target || link.hasAttribute("download") || link.origin !== location.origin || link.hash) return;
    if (link.pathname.startsWith("/assets/") || link.pathname.startsWith("/api")) return;
    event.preventDefault();
    go(link.pathname + link.search);
  });
}
