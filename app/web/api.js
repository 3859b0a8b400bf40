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

export async function call(method, path, body, headers = {}) {
  const options = {
    method,
    headers: { ...headers, Authorization: `Bearer ${session.key}` },
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
    throw new Problem(0, "The service cannot be reached.");
  }
  const answer = parsed(text);
  if (response.ok) return answer;
  const detail = answer?.detail ?? answer?.title ?? `The service answered with status ${response.status}.`;
  throw new Problem(response.status, sentence(detail), Number(response.headers.get("Retry-After")) || 0);
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
