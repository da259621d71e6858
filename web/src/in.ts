// The page to sign in: sends the code behind '#', which browsers do not send themselves.
import "./icon.svg?url";

async function isSignedIn(): Promise<boolean> {
  return (await fetch("/page/me")).ok;
}

const code = new URLSearchParams(location.hash.slice(1)).get("k");
const form = document.querySelector<HTMLFormElement>("#in");
const input = document.querySelector<HTMLInputElement>("#k");

if (code && form && input) {
  history.replaceState(null, "", "/in");
  input.value = code;
  form.submit();
} else if (!document.querySelector("[role=alert]")) {
  // A link from another site arrives without the cookie, which this page then has.
  void isSignedIn().then((yes) => yes && location.replace("/"));
}
