// Calls to the service, with the key of this tab.

const KEY = "asknext.key";
const PATIENCE = 30_000; // milliseconds for an answer

export const session = {
  get key() {
    return sessionStorage.getItem(KEY);
  },
  set key(value) {
    if (value) sessionStorage.setItem(KEY, value);
    else sessionStorage.removeItem(KEY);
  },
};

/** An error as the service tells it (problem+json), or status 0 when it could not be reached. */
export class Problem extends Error {
  constructor(status, detail, retryAfter = 0) {
    super(detail);
    this.status = status;
    this.retryAfter = retryAfter; // seconds
  }

  /** Whether the same request may well succeed later. */
  get passes() {
    return this.status === 0 || this.status === 408 || this.status === 429 || this.status >= 500;
  }
}

const unreachable = () => new Problem(0, "The service cannot be reached. Check your connection.");
const authorization = () => ({ Authorization: `Bearer ${session.key}` });

/** The path of a project, or of something in it: projectPath(id, "items", key). */
export const projectPath = (...parts) => ["/projects", ...parts.map(encodeURIComponent)].join("/");

export async function call(method, path, body, headers = {}) {
  const options = {
    method,
    headers: { ...headers, ...authorization() },
    cache: "no-store",
    credentials: "omit",
    signal: AbortSignal.timeout(PATIENCE),
  };
  if (body !== undefined) {
    options.headers["Content-Type"] = "application/json";
    options.body = JSON.stringify(body);
  }
  let response, text;
  try {
    response = await fetch(`v1${path}`, options);
    text = await response.text();
  } catch {
    throw unreachable();
  }
  if (response.ok) return parsed(text);
  throw problemOf(response.status, text, response.headers.get("Retry-After"));
}

/** The same, or null where the service has nothing of the kind. */
export async function callIfThere(method, path, body) {
  try {
    return await call(method, path, body);
  } catch (problem) {
    if (problem.status === 404) return null;
    throw problem;
  }
}

/** What is stored at an address of this server, as a Blob. */
export async function blob(address) {
  let response;
  try {
    response = await fetch(address, { headers: authorization(), credentials: "omit", redirect: "error" });
    if (response.ok) return await response.blob();
  } catch {
    throw unreachable();
  }
  throw problemOf(response.status, await response.text(), null);
}

/** Send a file as the body; `onSent(share)` is told how much of it went. Only XMLHttpRequest knows that. */
export function upload(path, file, onSent, signal) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("POST", `v1${path}`);
    request.setRequestHeader("Authorization", authorization().Authorization);
    request.setRequestHeader("Content-Type", "application/octet-stream");
    request.upload.addEventListener("progress", (event) => onSent(event.loaded / Math.max(event.total, 1)));
    request.addEventListener("error", () => reject(unreachable()));
    request.addEventListener("abort", () => reject(new Problem(0, "The upload was stopped.")));
    request.addEventListener("load", () => {
      if (request.status < 300) resolve(parsed(request.responseText));
      else reject(problemOf(request.status, request.responseText, request.getResponseHeader("Retry-After")));
    });
    signal?.addEventListener("abort", () => request.abort());
    request.send(file);
  });
}

function problemOf(status, text, retryAfter) {
  const answer = parsed(text);
  const detail = answer?.detail ?? answer?.title ?? `The service answered with status ${status}.`;
  return new Problem(status, sentence(detail), Number(retryAfter) || 0);
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function sentence(text) {
  const whole = String(text).replace(/^entry 0: /, ""); // this page sends one at a time
  return whole.charAt(0).toUpperCase() + whole.slice(1) + (/[.!?]$/.test(whole) ? "" : ".");
}
